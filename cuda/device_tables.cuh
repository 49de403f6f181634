// SPDX-License-Identifier: Apache-2.0
/* device_tables.cuh - tables that the host computes and kernels read, kept on the device from batch
 * to batch.
 *
 * Used by:  device_cuda.cu, which has one for each lane; twins, through cuda_context.
 * Owns:     a piece of device memory and as much pinned memory, until device_tables_release().
 * Fails:    as check.cuh says; STATUS_NO_MEMORY where a table's maker has none.
 * Threads:  the lane's. Lanes share no tables, so nothing is locked or waited for.
 * Limits:   DEVICE_TABLES_BYTES, DEVICE_TABLES_MAX tables.
 *
 * How it works. A table is made in pinned memory and copied to the same place of the device's, in
 * the stream's order. The table used longest ago makes room for a new one, but no table of the
 * present batch does: its copy may still be waiting.
 */
#ifndef BURIN_DEVICE_TABLES_CUH
#define BURIN_DEVICE_TABLES_CUH

#include "pipeline/status.h"

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DEVICE_TABLES_BYTES = 8 << 20,
    DEVICE_TABLES_MAX = 192,
    DEVICE_TABLE_ALIGN = 256,
    DEVICE_TABLE_NUMBERS = 6,
};

struct device_table_key {
    uint32_t numbers[DEVICE_TABLE_NUMBERS];
};

/* Writes the table of KEY to MEMORY and returns its note, or 0 where it finds no memory to work
 * in. */
typedef uint32_t device_table_make(const struct device_table_key *key, void *memory);

struct device_table {
    const uint8_t *memory; /* device memory */
    uint32_t note;         /* returned by its maker */
};

struct device_tables_entry {
    struct device_table_key key;
    size_t offset, bytes;
    uint32_t note;
    uint64_t batch; /* the last one that used it */
};

struct device_tables {
    uint8_t *device, *pinned;
    uint64_t batch; /* number of the present batch */
    int count;
    struct device_tables_entry entries[DEVICE_TABLES_MAX]; /* in order of `offset` */
};

enum status device_tables_init(struct device_tables *tables, struct failure *failure);
void device_tables_release(struct device_tables *tables); /* may be zeroed, or half made */

/* Begins another batch; the kernels of the last one are done. */
void device_tables_next_batch(struct device_tables *tables);

/* Forgets all tables. Nothing queued may use them any more. */
void device_tables_empty(struct device_tables *tables);

/* Returns the table of KEY, of up to BYTES, and lets MAKE make it if it is not kept. `memory` is
 * NULL where this batch's other tables leave no room; a batch's only table has
 * DEVICE_TABLES_BYTES. */
enum status device_tables_get(struct device_tables *tables, cudaStream_t stream,
                              const struct device_table_key *key, size_t bytes,
                              device_table_make *make, struct device_table *table,
                              struct failure *failure);

/* ---- places alone, without memory */

/* Returns NULL for a table that is not kept. */
struct device_tables_entry *device_tables_find(struct device_tables *tables,
                                               const struct device_table_key *key);

/* Returns a new entry, after dropping old ones for it; NULL: no room. Moves other entries. */
struct device_tables_entry *device_tables_place(struct device_tables *tables,
                                                const struct device_table_key *key, size_t bytes);

#endif

// SPDX-License-Identifier: Apache-2.0
/* device_tables.cuh - tables that the host computes and kernels read, kept on the device from batch
 * to batch.
 *
 * Used by:  device_cuda.cu, which has one for each lane; twins, through cuda_context.
 * Owns:     a piece of device memory and as much pinned memory, until device_tables_release().
 * Fails:    as check.cuh says; STATUS_NO_MEMORY where a table's maker has none.
 * Threads:  the lane's: what one lane keeps no other one sees, so nothing is locked or waited for.
 * Limits:   DEVICE_TABLES_BYTES, DEVICE_TABLES_MAX tables.
 *
 * How it works. A table is made in pinned memory and copied to the same place of the device's, in
 * the stream's order. The one that was used longest ago makes room, but none of the batch under
 * way: its copy may still be waiting.
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

/* Writes the table of KEY to MEMORY and returns what is to be known of it, or 0 where there is no
 * memory for making it. */
typedef uint32_t device_table_make(const struct device_table_key *key, void *memory);

struct device_table {
    const uint8_t *memory; /* the device's */
    uint32_t note;         /* as its maker returned it */
};

struct device_tables_entry {
    struct device_table_key key;
    size_t offset, bytes;
    uint32_t note;
    uint64_t batch; /* the last that used it */
};

struct device_tables {
    uint8_t *device, *pinned;
    uint64_t batch; /* under way */
    int count;
    struct device_tables_entry entries[DEVICE_TABLES_MAX]; /* in order of their places */
};

enum status device_tables_init(struct device_tables *tables, struct failure *failure);
void device_tables_release(struct device_tables *tables); /* may be zeroed, or half made */

/* Another batch begins; what was queued for the last one is done. */
void device_tables_next_batch(struct device_tables *tables);

/* Forgets all of them. Nothing queued may use them any more. */
void device_tables_empty(struct device_tables *tables);

/* The table of KEY, of up to BYTES, which MAKE makes where it is not kept. `memory` is NULL where
 * the others of this batch leave no room; alone in a batch DEVICE_TABLES_BYTES have it. */
enum status device_tables_get(struct device_tables *tables, cudaStream_t stream,
                              const struct device_table_key *key, size_t bytes,
                              device_table_make *make, struct device_table *table,
                              struct failure *failure);

/* ---- places alone, without any memory */

/* NULL: not kept. */
struct device_tables_entry *device_tables_find(struct device_tables *tables,
                                               const struct device_table_key *key);

/* A new entry, after as many old ones were dropped as had to be; NULL: no room. Entries that were
 * found before are not where they were. */
struct device_tables_entry *device_tables_place(struct device_tables *tables,
                                                const struct device_table_key *key, size_t bytes);

#endif

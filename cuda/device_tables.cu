// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_tables.cuh"

#include "cuda/check.cuh"

#include <string.h>

/* ---- memory */

enum status device_tables_init(struct device_tables *tables, struct failure *failure) {
    CUDA_TRY(failure, cudaMalloc((void **)&tables->device, DEVICE_TABLES_BYTES));
    CUDA_TRY(failure, cudaHostAlloc((void **)&tables->pinned, DEVICE_TABLES_BYTES, 0));
    return STATUS_OK;
}

void device_tables_release(struct device_tables *tables) {
    cudaFree(tables->device);
    cudaFreeHost(tables->pinned);
    *tables = {};
}

void device_tables_next_batch(struct device_tables *tables) {
    tables->batch++;
}

void device_tables_empty(struct device_tables *tables) {
    tables->count = 0;
}

/* ---- places */

static size_t aligned(size_t bytes) {
    return (bytes + DEVICE_TABLE_ALIGN - 1) / DEVICE_TABLE_ALIGN * DEVICE_TABLE_ALIGN;
}

static void drop(struct device_tables *tables, int index) {
    struct device_tables_entry *const entry = &tables->entries[index];
    tables->count--;
    memmove(entry, entry + 1, (size_t)(tables->count - index) * sizeof *entry);
}

/* Returns the entry used longest ago; -1 where the present batch uses all. */
static int oldest(const struct device_tables *tables) {
    int found = -1;
    for (int i = 0; i < tables->count; i++) {
        const uint64_t batch = tables->entries[i].batch;
        if (batch != tables->batch && (found < 0 || batch < tables->entries[found].batch))
            found = i;
    }
    return found;
}

/* Returns where the entry before INDEX ends: the place of a new entry. */
static size_t end_before(const struct device_tables *tables, int index) {
    if (index == 0) return 0;
    const struct device_tables_entry *const before = &tables->entries[index - 1];
    return before->offset + before->bytes;
}

/* Returns the first entry that BYTES fit before, or the number of entries; -1: they fit nowhere. */
static int find_gap(const struct device_tables *tables, size_t bytes) {
    if (tables->count == DEVICE_TABLES_MAX) return -1;
    for (int i = 0; i <= tables->count; i++) {
        const size_t end =
            i < tables->count ? tables->entries[i].offset : (size_t)DEVICE_TABLES_BYTES;
        if (end - end_before(tables, i) >= bytes) return i;
    }
    return -1;
}

struct device_tables_entry *device_tables_find(struct device_tables *tables,
                                               const struct device_table_key *key) {
    for (int i = 0; i < tables->count; i++)
        if (memcmp(&tables->entries[i].key, key, sizeof *key) == 0) return &tables->entries[i];
    return NULL;
}

struct device_tables_entry *device_tables_place(struct device_tables *tables,
                                                const struct device_table_key *key, size_t bytes) {
    int index;
    bytes = aligned(bytes);
    while ((index = find_gap(tables, bytes)) < 0) {
        const int old = oldest(tables);
        if (old < 0) return NULL;
        drop(tables, old);
    }
    struct device_tables_entry *const entry = &tables->entries[index];
    memmove(entry + 1, entry, (size_t)(tables->count - index) * sizeof *entry);
    tables->count++;
    *entry = { *key, end_before(tables, index), bytes, 0, tables->batch };
    return entry;
}

/* ---- tables */

static enum status make_and_copy(struct device_tables *tables, cudaStream_t stream,
                                 struct device_tables_entry *entry, device_table_make *make,
                                 struct failure *failure) {
    uint8_t *const made = tables->pinned + entry->offset;
    entry->note = make(&entry->key, made);
    if (!entry->note) return fail(failure, STATUS_NO_MEMORY, "no memory to make a table in");
    CUDA_TRY(failure, cudaMemcpyAsync(tables->device + entry->offset, made, entry->bytes,
                                      cudaMemcpyHostToDevice, stream));
    return STATUS_OK;
}

enum status device_tables_get(struct device_tables *tables, cudaStream_t stream,
                              const struct device_table_key *key, size_t bytes,
                              device_table_make *make, struct device_table *table,
                              struct failure *failure) {
    *table = {};
    struct device_tables_entry *entry = device_tables_find(tables, key);
    if (!entry) {
        entry = device_tables_place(tables, key, bytes);
        if (!entry) return STATUS_OK;
        const enum status status = make_and_copy(tables, stream, entry, make, failure);
        if (status) {
            drop(tables, (int)(entry - tables->entries));
            return status;
        }
    }
    entry->batch = tables->batch;
    *table = { tables->device + entry->offset, entry->note };
    return STATUS_OK;
}

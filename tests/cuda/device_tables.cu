// SPDX-License-Identifier: Apache-2.0
/* Tables kept on the device: what is found again, what makes room and what may not, and that the
 * device has what the host made. The first tests need no GPU.
 *
 * covers: cuda/device_tables.cu cuda/device_tables.cuh
 */
#include "cuda/device_tables.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

static const size_t MIB = 1 << 20, ALL = DEVICE_TABLES_BYTES;

static struct device_table_key key_of(uint32_t number) {
    return { { number, 2, 3, 4, 5, 6 } };
}

static struct device_tables_entry *place(struct device_tables *tables, uint32_t number,
                                         size_t bytes) {
    const struct device_table_key key = key_of(number);
    return device_tables_place(tables, &key, bytes);
}

/* Finds a table and marks it as used by the current batch. */
static bool use(struct device_tables *tables, uint32_t number) {
    const struct device_table_key key = key_of(number);
    struct device_tables_entry *const entry = device_tables_find(tables, &key);
    if (entry) entry->batch = tables->batch;
    return entry;
}

/* No table reaches into another, and all lie within the bound. */
static void check_places(const struct device_tables *tables) {
    size_t end = 0;
    for (int i = 0; i < tables->count; i++) {
        assert_true(tables->entries[i].offset >= end);
        assert_int_equal(tables->entries[i].offset % DEVICE_TABLE_ALIGN, 0);
        end = tables->entries[i].offset + tables->entries[i].bytes;
    }
    assert_true(end <= ALL);
}

static void test_found(void **) {
    static struct device_tables tables;
    tables = {};
    assert_false(use(&tables, 1));
    assert_non_null(place(&tables, 1, 1000));
    assert_non_null(place(&tables, 2, 1000));
    assert_true(use(&tables, 1) && use(&tables, 2));
    assert_false(use(&tables, 3));
    device_tables_empty(&tables);
    assert_false(use(&tables, 1));
}

/* Four of two mebibytes; the fifth takes the place of the one that was used longest ago. */
static void test_oldest_goes(void **) {
    static struct device_tables tables;
    tables = {};
    for (uint32_t i = 0; i < 4; i++, device_tables_next_batch(&tables))
        assert_non_null(place(&tables, i, 2 * MIB));
    assert_true(use(&tables, 0));
    device_tables_next_batch(&tables);
    assert_non_null(place(&tables, 4, 2 * MIB));
    assert_true(use(&tables, 0) && !use(&tables, 1) && use(&tables, 2) && use(&tables, 3));
    check_places(&tables);
    device_tables_next_batch(&tables);
    assert_non_null(place(&tables, 5, ALL));
    assert_int_equal(tables.count, 1);
}

static void test_present_batch_stays(void **) {
    static struct device_tables tables;
    tables = {};
    assert_non_null(place(&tables, 1, ALL / 2));
    device_tables_next_batch(&tables);
    assert_non_null(place(&tables, 2, ALL / 4));
    assert_non_null(place(&tables, 3, ALL / 2)); /* in the place of 1 */
    assert_null(place(&tables, 4, ALL / 2));
    assert_true(use(&tables, 2) && use(&tables, 3) && !use(&tables, 1));
    device_tables_next_batch(&tables);
    assert_non_null(place(&tables, 4, ALL / 2));
    assert_null(place(&tables, 5, ALL + 1));
}

static void test_many(void **) {
    static struct device_tables tables;
    tables = {};
    uint32_t random = 1;
    for (uint32_t i = 0; i < 5000; i++) {
        random = random * 1664525 + 1013904223;
        assert_non_null(place(&tables, i, 1 + (random >> 8) % (ALL / 40)));
        assert_true(use(&tables, i));
        if (i % 3 == 0) check_places(&tables);
        device_tables_next_batch(&tables);
    }
}

/* ---- with a GPU */

static int made;

static uint32_t make_numbers(const struct device_table_key *key, void *memory) {
    made++;
    for (uint32_t i = 0; i < 5000; i++) ((uint32_t *)memory)[i] = key->numbers[0] + i;
    return key->numbers[0] == 99 ? 0 : 7 + key->numbers[0];
}

static void check_numbers(struct device_tables *tables, cudaStream_t stream, uint32_t number) {
    const struct device_table_key key = key_of(number);
    struct failure failure = {};
    struct device_table table;
    std::vector<uint32_t> got(5000);
    assert_int_equal(device_tables_get(tables, stream, &key, 20000, make_numbers, &table, &failure),
                     STATUS_OK);
    assert_int_equal(table.note, 7 + number);
    TRY(cudaMemcpyAsync(got.data(), table.memory, 20000, cudaMemcpyDeviceToHost, stream));
    TRY(cudaStreamSynchronize(stream));
    for (uint32_t i = 0; i < 5000; i++) assert_int_equal(got[i], number + i);
}

static void test_on_device(void **) {
    static struct device_tables tables;
    struct failure failure = {};
    cudaStream_t stream;
    tables = {};
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_int_equal(device_tables_init(&tables, &failure), STATUS_OK);
    for (uint32_t i = 0; i < 3; i++) check_numbers(&tables, stream, i % 2);
    assert_int_equal(made, 2);
    const struct device_table_key bad = key_of(99);
    struct device_table table;
    assert_int_equal(
        device_tables_get(&tables, stream, &bad, 20000, make_numbers, &table, &failure),
        STATUS_NO_MEMORY);
    assert_int_equal(tables.count, 2);
    for (uint32_t i = 0; i < 1000; i++, device_tables_next_batch(&tables))
        check_numbers(&tables, stream, 100 + i);
    check_numbers(&tables, stream, 1);
    assert_int_equal(made, 2 + 1 + 1000 + 1);
    device_tables_release(&tables);
    TRY(cudaStreamDestroy(stream));
}

int main(void) {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess) gpus = 0;
    const struct CMUnitTest places[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_oldest_goes),
        cmocka_unit_test(test_present_batch_stays),
        cmocka_unit_test(test_many),
    };
    const struct CMUnitTest device[] = { cmocka_unit_test(test_on_device) };
    int failed = cmocka_run_group_tests(places, NULL, NULL);
    if (gpus == 0)
        puts("no GPU here: nothing was copied");
    else
        failed += cmocka_run_group_tests(device, NULL, NULL);
    return failed;
}

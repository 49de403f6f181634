// SPDX-License-Identifier: Apache-2.0
/* The order and the tables, beside those that libjpeg takes when nobody asks for others. */
#include "pipeline/codecs/jpeg/zigzag.h"

#include "tests/pipeline/codecs/made_files.h"

static void test_the_order_and_its_inverse(void **state) {
    (void)state;
    static const uint8_t order[] = JPEG_ZIGZAG, number[] = JPEG_ZIGZAG_NUMBER;
    int row = 0, column = 0; /* walked: up to the right, down to the left */
    for (int i = 0; i < JPEG_BLOCK; i++) {
        assert_int_equal(order[i], 8 * row + column);
        assert_int_equal(number[order[i]], i);
        const int up = (row + column) % 2 == 0, last_column = column == 7, last_row = row == 7;
        column += up ? !last_column : last_row ? 1 : column ? -1 : 0;
        row += up ? (last_column ? 1 : row ? -1 : 0) : last_row ? 0 : 1;
    }
}

static void check_table(const struct jpeg_huffman_table *table, const JHUFF_TBL *theirs) {
    unsigned sum = 0;
    for (int i = 0; i < JPEG_CODE_BITS_MAX; i++) {
        assert_int_equal(table->counts[i], theirs->bits[i + 1]);
        sum += table->counts[i];
    }
    assert_int_equal(table->symbol_count, sum);
    assert_memory_equal(table->symbols, theirs->huffval, sum);
}

static void test_the_standard_tables(void **state) {
    (void)state;
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    cinfo.in_color_space = JCS_RGB;
    cinfo.input_components = 3;
    jpeg_set_defaults(&cinfo);
    for (int i = 0; i < 2; i++) {
        check_table(&jpeg_standard_dc[i], cinfo.dc_huff_tbl_ptrs[i]);
        check_table(&jpeg_standard_ac[i], cinfo.ac_huff_tbl_ptrs[i]);
    }
    jpeg_destroy_compress(&cinfo);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_and_its_inverse),
        cmocka_unit_test(test_the_standard_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

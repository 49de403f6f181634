// SPDX-License-Identifier: Apache-2.0
/* The forward transform beside libjpeg-turbo's own, on blocks of samples that it takes as they are
 * and gives back as coefficients; the division beside the one of the standard's words, all of it.
 *
 * covers: pipeline/codecs/jpeg/packed_bytes.h
 */
#include "pipeline/codecs/jpeg/forward.h"

#include "tests/pipeline/codecs/made_files.h"

enum { BLOCKS = 4096, SAMPLES = BLOCKS * JPEG_BLOCK, COEFFICIENT_MAX = 16384 };

/* ---- libjpeg's coefficients of a gray picture that is one block wide */

static struct bytes encode_blocks(const uint8_t *samples, unsigned step) {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long length = 0;
    unsigned table[JPEG_BLOCK];
    for (int i = 0; i < JPEG_BLOCK; i++) table[i] = step;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &data, &length);
    cinfo.image_width = 8;
    cinfo.image_height = BLOCKS * 8;
    cinfo.input_components = 1;
    cinfo.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&cinfo);
    jpeg_add_quant_table(&cinfo, 0, table, 100, TRUE);
    cinfo.dct_method = JDCT_ISLOW;
    jpeg_start_compress(&cinfo, TRUE);
    for (uint32_t y = 0; y < cinfo.image_height; y++) {
        JSAMPROW line = (JSAMPROW)(samples + 8 * y);
        jpeg_write_scanlines(&cinfo, &line, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    return (struct bytes){ data, length };
}

static void check_block(const uint8_t *samples, const JCOEF *theirs, const float *reciprocals) {
    static const uint8_t order[] = JPEG_ZIGZAG;
    uint32_t words[JPEG_BLOCK_WORDS];
    int16_t ours[JPEG_BLOCK];
    memcpy(words, samples, sizeof words);
    for (int i = 0; i < JPEG_BLOCK_WORDS; i++) words[i] ^= 0x80808080u;
    const uint64_t mask = jpeg_forward(words, reciprocals, ours);
    for (int k = 0; k < JPEG_BLOCK; k++) {
        assert_int_equal(ours[k], theirs[order[k]]);
        if (k) assert_int_equal(mask >> (64 - k) & 1, ours[k] != 0);
    }
    assert_false(mask & 1);
    _Alignas(16) int16_t rolled[JPEG_BLOCK];
    _Alignas(16) uint8_t places[JPEG_BLOCK];
    jpeg_places_init(places);
    assert_true(jpeg_forward_rolled(words, reciprocals, places, rolled) == mask);
    assert_memory_equal(rolled, ours, sizeof ours);
    assert_int_equal(jpeg_forward_dc(words, reciprocals), theirs[0]);
}

static void check_blocks(const uint8_t *samples, unsigned step) {
    struct bytes bytes = encode_blocks(samples, step);
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    float reciprocals[JPEG_BLOCK];
    for (int i = 0; i < JPEG_BLOCK; i++) reciprocals[i] = jpeg_reciprocal(step);
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, bytes.data, bytes.length);
    jpeg_read_header(&cinfo, TRUE);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&cinfo);
    for (JDIMENSION b = 0; b < BLOCKS; b++) {
        JBLOCKARRAY rows =
            cinfo.mem->access_virt_barray((j_common_ptr)&cinfo, arrays[0], b, 1, FALSE);
        check_block(samples + JPEG_BLOCK * b, rows[0][0], reciprocals);
    }
    jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    free(bytes.data);
}

/* ---- blocks */

static uint8_t sample_of(int kind, int i, uint32_t *state) {
    const uint8_t noise = (uint8_t)next_random(state);
    const int block = i / JPEG_BLOCK, x = i % 8, y = i / 8 % 8;
    switch (kind) {
    case 0: return noise;
    case 1: return noise < 128 ? 0 : 255;
    case 2: return (uint8_t)(block >> (x + y) % 12 & 1 ? 255 : 0);
    case 3: return (uint8_t)(128 + (noise % 5) - 2);
    default: return (uint8_t)(block % 256); /* one colour */
    }
}

/* The sign of each coefficient in turn: the block that makes it the largest, and the smallest. */
static void add_extremes(uint8_t *samples) {
    for (int k = 0; k < JPEG_BLOCK; k++)
        for (int i = 0; i < JPEG_BLOCK; i++) {
            const double wave = cos((2 * (i % 8) + 1) * (k % 8) * 3.14159265358979 / 16) *
                                cos((2 * (i / 8) + 1) * (k / 8) * 3.14159265358979 / 16);
            samples[JPEG_BLOCK * 2 * k + i] = wave > 0 ? 255 : 0;
            samples[JPEG_BLOCK * (2 * k + 1) + i] = wave > 0 ? 0 : 255;
        }
}

static void test_blocks_of_every_kind(void **state) {
    (void)state;
    static const unsigned steps[] = { 1, 2, 3, 7, 16, 99, 255 };
    uint8_t *samples = malloc(SAMPLES);
    uint32_t random = 7;
    for (int kind = 0; kind < 5; kind++) {
        for (int i = 0; i < SAMPLES; i++) samples[i] = sample_of(kind, i, &random);
        add_extremes(samples);
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) check_blocks(samples, steps[s]);
    }
    free(samples);
}

/* ---- division */

static void test_every_quotient(void **state) {
    (void)state;
    for (int step = 1; step <= 255; step++) {
        const float reciprocal = jpeg_reciprocal((unsigned)step);
        for (int x = -COEFFICIENT_MAX; x <= COEFFICIENT_MAX; x++) {
            const int quotient = (abs(x) + 4 * step) / (8 * step);
            const int found = (int)(jpeg_quotient(x, reciprocal) - JPEG_ROUNDER_BITS);
            if (found != (x < 0 ? -quotient : quotient))
                fail_msg("%d / %d is taken for %d", x, 8 * step, found);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_of_every_kind),
        cmocka_unit_test(test_every_quotient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* Configurations that are written here bit by bit, after ISO/IEC 14496-15 and ITU-T H.265 7.3.2.2:
 * what is read of them, each cut of them, and contradictions. */
#include "pipeline/codecs/heic/configuration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A sequence parameter set in bits; then its bytes, with those that keep a start code away. */
struct writer {
    uint8_t bits[4096];
    size_t count;
};

static void put(struct writer *writer, unsigned count, uint64_t value) {
    for (unsigned i = count; i--;) writer->bits[writer->count++] = value >> i & 1;
}

static void put_golomb(struct writer *writer, uint32_t value) {
    unsigned length = 0;
    while ((value + 1) >> (length + 1)) length++;
    put(writer, length, 0);
    put(writer, length + 1, value + 1);
}

struct recipe {
    uint32_t width, height, chroma, luma_bits, chroma_bits, layers;
    uint32_t window[4]; /* left, right, top, bottom, in samples of chroma */
    bool separate;
};

static size_t write_sps(const struct recipe *recipe, uint8_t *to) {
    struct writer writer = { .count = 0 };
    put(&writer, 16, 33 << 9 | 1);
    put(&writer, 4, 0);
    put(&writer, 3, recipe->layers);
    put(&writer, 1, 1);
    put(&writer, 8, 0x03);                      /* profile */
    put(&writer, 32, 0);                        /* zeros, which need bytes against start codes */
    put(&writer, 48, UINT64_C(0x010000000003)); /* a 3 behind zeros that is not such a byte */
    put(&writer, 8, 93);
    for (uint32_t i = 0; i < recipe->layers; i++) put(&writer, 2, i % 4); /* both, none... */
    if (recipe->layers) put(&writer, 2 * (8 - recipe->layers), 0);
    for (uint32_t i = 0; i < recipe->layers; i++) {
        if (i % 4 & 2) put(&writer, 64, 0), put(&writer, 24, 0);
        if (i % 4 & 1) put(&writer, 8, 30);
    }
    put_golomb(&writer, 0);
    put_golomb(&writer, recipe->chroma);
    if (recipe->chroma == 3) put(&writer, 1, recipe->separate);
    put_golomb(&writer, recipe->width);
    put_golomb(&writer, recipe->height);
    const uint32_t *window = recipe->window;
    put(&writer, 1, window[0] || window[1] || window[2] || window[3]);
    for (int i = 0; i < 4 && (window[0] || window[1] || window[2] || window[3]); i++)
        put_golomb(&writer, window[i]);
    put_golomb(&writer, recipe->luma_bits - 8);
    put_golomb(&writer, recipe->chroma_bits - 8);
    put(&writer, 8, 0x80);
    size_t length = 0;
    for (size_t i = 0, zeros = 0; i + 8 <= writer.count; i += 8) {
        uint8_t byte = 0;
        for (size_t b = 0; b < 8; b++) byte = (uint8_t)(byte << 1 | writer.bits[i + b]);
        if (zeros >= 2 && byte <= 3) {
            to[length++] = 3;
            zeros = 0;
        }
        zeros = byte ? 0 : zeros + 1;
        to[length++] = byte;
    }
    return length;
}

struct bytes {
    uint8_t data[2048];
    size_t length;
};

/* An hvcC with one VPS, and the sets of COUNT recipes. */
static struct bytes write_all(const struct recipe *recipes, unsigned count) {
    struct bytes out = { .data = { 1 }, .length = 23 };
    out.data[21] = 0xfc | 1; /* lengths of two bytes */
    out.data[22] = 2;
    memcpy(out.data + out.length, "\x20\0\1\0\3\x40\1\x0c", 8);
    out.length += 8;
    memcpy(out.data + out.length, (uint8_t[]){ 0x80 | 33, 0, (uint8_t)count }, 3);
    out.length += 3;
    for (unsigned i = 0; i < count; i++) {
        const size_t size = write_sps(&recipes[i], out.data + out.length + 2);
        out.data[out.length] = (uint8_t)(size >> 8);
        out.data[out.length + 1] = (uint8_t)size;
        out.length += 2 + size;
    }
    return out;
}

static const char *read_made(const struct recipe *recipes, unsigned count,
                             struct hevc_configuration *configuration) {
    static struct bytes out;
    out = write_all(recipes, count);
    return hevc_configuration_read(out.data, out.length, configuration);
}

static const struct recipe usual = {
    .width = 512, .height = 512, .chroma = 1, .luma_bits = 8, .chroma_bits = 8
};

static void test_what_is_promised(void **state) {
    (void)state;
    struct hevc_configuration found;
    for (uint32_t chroma = 0; chroma <= 3; chroma++)
        for (uint32_t layers = 0; layers <= 6; layers++)
            for (uint32_t bits = 8; bits <= 12; bits += 2) {
                const struct recipe recipe = { 4032, 3024,   chroma,         bits,
                                               bits, layers, { 1, 2, 3, 4 }, false };
                assert_null(read_made(&recipe, 1, &found));
                assert_true(found.shape.width == 4032 && found.shape.height == 3024);
                assert_int_equal(found.shape.shown_width,
                                 4032 - 3 * (chroma == 1 || chroma == 2 ? 2 : 1));
                assert_int_equal(found.shape.shown_height, 3024 - 7 * (chroma == 1 ? 2 : 1));
                assert_true(found.shape.chroma == chroma && found.shape.bits == bits);
                assert_true(found.count == 2 && found.length_bytes == 2);
                assert_int_equal(hevc_unit_type(found.sets[0].bytes), 32);
                assert_int_equal(hevc_unit_type(found.sets[1].bytes), 33);
            }
    assert_null(read_made(&usual, 1, &found));
    assert_true(found.shape.shown_width == 512 && found.shape.shown_height == 512);
}

static void test_contradictions(void **state) {
    (void)state;
    struct hevc_configuration found;
    struct recipe two[17];
    for (int i = 0; i < 17; i++) two[i] = usual;
    assert_null(read_made(two, 15, &found));
    assert_non_null(strstr(read_made(two, 16, &found), "16 parameter sets"));
    assert_non_null(strstr(read_made(two, 0, &found), "no SPS"));
    two[1].width = 520;
    assert_non_null(strstr(read_made(two, 2, &found), "contradict"));
    two[1] = usual;
    two[1].window[3] = 1;
    assert_non_null(strstr(read_made(two, 2, &found), "contradict"));
    two[1] = usual;
    two[1].luma_bits = two[1].chroma_bits = 10;
    assert_non_null(strstr(read_made(two, 2, &found), "contradict"));
    struct recipe bad = usual;
    bad.chroma_bits = 10;
    assert_non_null(strstr(read_made(&bad, 1, &found), "chroma has other bits"));
    bad = usual;
    bad.window[0] = 256;
    assert_non_null(strstr(read_made(&bad, 1, &found), "shows nothing"));
    bad.window[0] = UINT32_MAX / 2 - 1;
    assert_non_null(strstr(read_made(&bad, 1, &found), "shows nothing"));
    bad = usual;
    bad.chroma = 4;
    assert_non_null(strstr(read_made(&bad, 1, &found), "chroma"));
    bad.chroma = 3;
    bad.separate = true;
    assert_non_null(strstr(read_made(&bad, 1, &found), "three pictures"));
    bad = usual;
    bad.width = 0;
    assert_non_null(strstr(read_made(&bad, 1, &found), "side"));
    bad.width = 65537;
    assert_non_null(strstr(read_made(&bad, 1, &found), "side"));
    bad = usual;
    bad.layers = 7;
    assert_non_null(strstr(read_made(&bad, 1, &found), "layers"));
}

/* However a configuration is cut or changed, the reader stays in it, and so do its sets. */
static void test_cut_and_changed(void **state) {
    (void)state;
    const struct bytes whole = write_all(&usual, 1);
    struct hevc_configuration found;
    for (size_t length = 0; length < whole.length; length++) {
        uint8_t *part = malloc(length + !length);
        memcpy(part, whole.data, length);
        assert_non_null(hevc_configuration_read(part, length, &found));
        free(part);
    }
    uint32_t random = 1;
    for (int round = 0; round < 50000; round++) {
        uint8_t *changed = malloc(whole.length);
        memcpy(changed, whole.data, whole.length);
        for (int i = 0; i < 1 + round % 4; i++) {
            random = random * 1664525 + 1013904223;
            changed[(random >> 8) % whole.length] = (uint8_t)(random >> 24);
        }
        if (!hevc_configuration_read(changed, whole.length, &found)) {
            assert_true(found.shape.shown_width && found.shape.shown_width <= found.shape.width);
            assert_true(found.shape.shown_height && found.shape.shown_height <= found.shape.height);
            for (unsigned i = 0; i < found.count; i++)
                assert_true(found.sets[i].bytes >= changed &&
                            found.sets[i].bytes + found.sets[i].length <= changed + whole.length);
        }
        free(changed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_promised),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_cut_and_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

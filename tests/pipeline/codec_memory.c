// SPDX-License-Identifier: Apache-2.0
/* Predicted memory of codecs: none where rows go straight through, and bounds elsewhere. */
#include "pipeline/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MIB = 1 << 20, ANY = INT32_MAX };

static void decoders(void **state) {
    (void)state;
    struct probe probe = { .format = FORMAT_JPEG,
                           .shape = image_shape(1024, 1024, 3, 8),
                           .components = 3,
                           .orientation = 6 };
    assert_int_equal(codec_memory_decode(&probe, ANY), 0);
    probe.progressive = true;
    assert_int_equal(codec_memory_decode(&probe, ANY), 6 * MIB);
    assert_int_equal(codec_memory_decode(&probe, MIB), MIB); /* it fails beyond that */
    probe.format = FORMAT_PNG;
    assert_int_equal(codec_memory_decode(&probe, ANY), 0);
    probe.interlaced = true;
    assert_int_equal(codec_memory_decode(&probe, ANY), 0);
    probe.orientation = 1;
    probe.format = FORMAT_WEBP;
    assert_int_equal(codec_memory_decode(&probe, ANY), 5 * MIB);
    probe.format = FORMAT_GIF;
    assert_int_equal(codec_memory_decode(&probe, ANY), 0);
}

/* All frames are wanted: a GIF's decoder keeps a canvas, a WebP's a frame of four channels. */
static void animations(void **state) {
    (void)state;
    struct probe probe = { .shape = image_shape(1024, 1024, 3, 8), .orientation = 1, .frames = 2 };
    probe.format = FORMAT_GIF;
    assert_int_equal(codec_memory_decode(&probe, ANY), 3 * MIB);
    probe.format = FORMAT_WEBP;
    assert_int_equal(codec_memory_decode(&probe, ANY), (5 + 4) * MIB);
}

static size_t encode(enum format format, unsigned channels, bool lossless, int effort) {
    const struct image image = image_shape(1024, 1024, (uint8_t)channels, 8);
    struct encode_options options = encode_options_default;
    options.format = format;
    options.lossless = lossless;
    options.effort = effort;
    return codec_memory_encode(&image, &options) / MIB;
}

static void encoders(void **state) {
    (void)state;
    assert_int_equal(encode(FORMAT_JPEG, 3, false, 4), 0);
    assert_int_equal(encode(FORMAT_PNG, 4, false, 4), 0);
    assert_int_equal(encode(FORMAT_WEBP, 3, false, 6), 24);
    assert_int_equal(encode(FORMAT_WEBP, 4, false, 4), 38);
    assert_int_equal(encode(FORMAT_WEBP, 4, false, 6), 54);
    assert_int_equal(encode(FORMAT_WEBP, 4, true, 6), 36);
    assert_int_equal(encode(FORMAT_AVIF, 3, false, 4), 30);
    assert_int_equal(encode(FORMAT_AVIF, 3, true, 4), 60);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(decoders), cmocka_unit_test(animations),
                                        cmocka_unit_test(encoders) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

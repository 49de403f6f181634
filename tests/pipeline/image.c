// SPDX-License-Identifier: Apache-2.0
/* Shapes and digests of images. */
#include "pipeline/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void rows_are_aligned(void **state) {
    (void)state;
    const struct image shape = image_shape(5, 3, 3, 16);
    assert_int_equal(image_row_bytes(&shape), 30);
    assert_int_equal(shape.stride, 32);
    assert_int_equal(image_bytes(&shape), 96);
    assert_null(shape.pixels);
    assert_int_equal(image_shape(16, 1, 1, 8).stride, 16);
}

static void sameness_is_of_shape_alone(void **state) {
    (void)state;
    const struct image one = image_shape(5, 3, 3, 8);
    struct image other = one;
    other.stride += 16;
    assert_true(image_same_shape(&one, &other));
    other.depth = 16;
    assert_false(image_same_shape(&one, &other));
    other = image_shape(3, 5, 3, 8);
    assert_false(image_same_shape(&one, &other));
    other = image_shape(5, 3, 1, 8);
    assert_false(image_same_shape(&one, &other));
}

/* FNV-1a of 16 bytes of shape (4 words, little endian) and the samples, by the definition. */
static uint64_t digest_by_hand(const struct image *image) {
    const uint32_t words[4] = { image->width, image->height, image->channels, image->depth };
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < 16; i++)
        hash = (hash ^ (words[i / 4] >> (8 * (i % 4)) & 255)) * UINT64_C(1099511628211);
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t i = 0; i < image_row_bytes(image); i++)
            hash = (hash ^ image_row(image, y)[i]) * UINT64_C(1099511628211);
    return hash;
}

static void digest_leaves_padding_out(void **state) {
    (void)state;
    uint8_t memory[3 * 32];
    struct image image = image_shape(5, 3, 3, 16);
    image.pixels = memory;
    for (size_t i = 0; i < sizeof memory; i++) memory[i] = (uint8_t)(37 * i);
    const uint64_t digest = image_digest(&image);
    assert_true(digest == digest_by_hand(&image));
    memory[30] ^= 1, memory[31] ^= 1;
    assert_true(image_digest(&image) == digest);
    memory[29] ^= 1;
    assert_true(image_digest(&image) != digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_aligned),
        cmocka_unit_test(sameness_is_of_shape_alone),
        cmocka_unit_test(digest_leaves_padding_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

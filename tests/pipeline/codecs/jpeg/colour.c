// SPDX-License-Identifier: Apache-2.0
/* Every colour, by turns at one of the four places that a pixel has in three words, beside the sums
 * that libjpeg makes of its tables; chroma of half the size beside its own rule. That whole files
 * are libjpeg's is what jpeg_tiles.c tests. */
#include "pipeline/codecs/jpeg/colour.h"

#include "tests/pipeline/codecs/made_files.h"

static const struct jpeg_chroma_weights cb = JPEG_CB_WEIGHTS, cr = JPEG_CR_WEIGHTS;

struct ycc {
    int y, cb, cr;
};

static struct ycc convert(int r, int g, int b) {
    const int centre = (128 << 16) + 32767;
    return (struct ycc){ (19595 * r + 38470 * g + 7471 * b + 32768) >> 16,
                         (-11059 * r - 21709 * g + 32768 * b + centre) >> 16,
                         (32768 * r - 27439 * g - 5329 * b + centre) >> 16 };
}

/* Four colours with the same red and blue: green, green + 1, + 2, + 3. */
static void check_four(int r, int g, int b) {
    uint8_t bytes[12];
    uint32_t words[3];
    for (int i = 0; i < 4; i++) {
        bytes[3 * i] = (uint8_t)r;
        bytes[3 * i + 1] = (uint8_t)(g + i);
        bytes[3 * i + 2] = (uint8_t)b;
    }
    memcpy(words, bytes, sizeof words);
    const uint32_t y4 = jpeg_luma4(words), cb4 = jpeg_chroma4(words, cb),
                   cr4 = jpeg_chroma4(words, cr);
    for (int i = 0; i < 4; i++) {
        const struct ycc wanted = convert(r, bytes[3 * i + 1], b);
        if ((int8_t)(y4 >> 8 * i) != wanted.y - 128 || (int8_t)(cb4 >> 8 * i) != wanted.cb - 128 ||
            (int8_t)(cr4 >> 8 * i) != wanted.cr - 128)
            fail_msg("colour %d %d %d at place %d", r, bytes[3 * i + 1], b, i);
    }
}

static void test_every_colour(void **state) {
    (void)state;
    for (int r = 0; r < 256; r++)
        for (int b = 0; b < 256; b++)
            for (int g = -((r + b) % 4); g < 256; g += 4) check_four(r, g, b);
}

static int average(const uint8_t *bytes, int x, bool red) {
    int sum = 1 + (x & 1);
    for (int i = 0; i < 4; i++) {
        const uint8_t *at = bytes + 24 * (i / 2) + 3 * (2 * x + i % 2);
        const struct ycc one = convert(at[0], at[1], at[2]);
        sum += red ? one.cr : one.cb;
    }
    return sum >> 2;
}

static void test_chroma_of_half_the_size(void **state) {
    (void)state;
    uint32_t seed = 3;
    for (int round = 0; round < 100000; round++) {
        uint8_t bytes[48];
        uint32_t words[12];
        for (int i = 0; i < 48; i++) {
            const uint8_t value = (uint8_t)next_random(&seed);
            bytes[i] = round % 2 ? value : value < 128 ? 0 : 255;
        }
        memcpy(words, bytes, sizeof words);
        const uint32_t cb4 = jpeg_chroma_halved4(words, words + 6, cb);
        const uint32_t cr4 = jpeg_chroma_halved4(words, words + 6, cr);
        for (int x = 0; x < 4; x++) {
            assert_int_equal((int8_t)(cb4 >> 8 * x), average(bytes, x, false) - 128);
            assert_int_equal((int8_t)(cr4 >> 8 * x), average(bytes, x, true) - 128);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_colour),
        cmocka_unit_test(test_chroma_of_half_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

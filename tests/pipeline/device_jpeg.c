// SPDX-License-Identifier: Apache-2.0
/* Which JPEGs a device may be given: the plain ones, and nothing that a second reader could take
 * for something else. */
#include "pipeline/device_jpeg.h"

#include "tests/pipeline/codec_make.h"

enum { WIDTH = 61, HEIGHT = 43 };

static bool plain(const uint8_t *data, size_t length, struct device_jpeg *out) {
    struct probe probe;
    struct failure failure;
    return probe_image(data, length, &codec_limits_default.probe, &probe, &failure) == STATUS_OK &&
           device_jpeg_of(data, length, &probe, &codec_limits_default, out);
}

static struct bytes sample(int channels, int h, int v, struct jpeg_recipe recipe) {
    struct image image = new_image(WIDTH, HEIGHT, (unsigned)channels, 8);
    fill_noise(image.pixels, image_bytes(&image), 3);
    recipe.image = &image;
    recipe.h = h, recipe.v = v;
    const struct bytes bytes = make_jpeg(&recipe);
    free(image.pixels);
    return bytes;
}

static void plain_kinds(void **state) {
    (void)state;
    static const int kinds[][3] = { { 3, 1, 1 }, { 3, 2, 1 }, { 3, 2, 2 }, { 1, 1, 1 } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct device_jpeg jpeg;
        struct bytes bytes =
            sample(kinds[i][0], kinds[i][1], kinds[i][2], (struct jpeg_recipe){ .orientation = 6 });
        assert_true(plain(bytes.data, bytes.length, &jpeg));
        assert_int_equal(jpeg.across, kinds[i][1]);
        assert_int_equal(jpeg.down, kinds[i][2]);
        assert_true(jpeg.width == WIDTH && jpeg.height == HEIGHT && jpeg.orientation == 6);
        assert_true(jpeg.into.width == HEIGHT && jpeg.into.height == WIDTH);
        assert_int_equal(jpeg.into.channels, kinds[i][0]);
        free(bytes.data);
    }
}

static void other_kinds(void **state) {
    (void)state;
    static const struct {
        int channels, h, v;
        struct jpeg_recipe recipe;
    } kinds[] = {
        { 3, 2, 2, { .progressive = true } },
        { 1, 1, 1, { .progressive = true } },
        { 3, 2, 2, { .arithmetic = true } },
        { 3, 1, 1, { .space = JCS_RGB } },
        { 4, 1, 1, { .space = JCS_CMYK } },
        { 4, 1, 1, { .space = JCS_YCCK } },
        { 3, 1, 2, { .h = 0 } },
        { 3, 4, 1, { .h = 0 } },
        { 1, 2, 2, { .h = 0 } },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct device_jpeg jpeg;
        struct bytes bytes = sample(kinds[i].channels, kinds[i].h, kinds[i].v, kinds[i].recipe);
        if (plain(bytes.data, bytes.length, &jpeg)) fail_msg("kind %zu was taken", i);
        free(bytes.data);
    }
}

/* Cut off anywhere, or with anything behind its end, it is for the cores to judge. */
static void whole_files_only(void **state) {
    (void)state;
    struct device_jpeg jpeg;
    struct bytes bytes = sample(3, 2, 2, (struct jpeg_recipe){ .orientation = 1 });
    for (size_t length = 0; length < bytes.length; length++) {
        uint8_t *cut = malloc(length + 1); /* exact, so that a read beyond it is seen */
        memcpy(cut, bytes.data, length);
        uint8_t *exact = realloc(cut, length ? length : 1);
        assert_false(plain(exact, length, &jpeg));
        free(exact);
    }
    uint8_t *longer = malloc(bytes.length + 2);
    memcpy(longer, bytes.data, bytes.length);
    longer[bytes.length] = 0, longer[bytes.length + 1] = 0xd9;
    assert_false(plain(longer, bytes.length + 1, &jpeg));
    longer[bytes.length] = 0xff;
    assert_false(plain(longer, bytes.length + 2, &jpeg));
    free(longer);
    free(bytes.data);
}

/* Where MARKER first stands. */
static size_t find_marker(const struct bytes *bytes, unsigned marker) {
    for (size_t i = 0; i + 1 < bytes->length; i++)
        if (bytes->data[i] == 0xff && bytes->data[i + 1] == marker) return i;
    fail_msg("no marker %x", marker);
    return 0;
}

static void insert(struct bytes *bytes, size_t at, const void *what, size_t length) {
    bytes->data = realloc(bytes->data, bytes->length + length);
    memmove(bytes->data + at + length, bytes->data + at, bytes->length - at);
    memcpy(bytes->data + at, what, length);
    bytes->length += length;
}

/* A second frame, a second scan, a restart out of turn: what one reader skips another may follow.
 */
static void one_reading_only(void **state) {
    (void)state;
    struct device_jpeg jpeg;
    static const uint8_t frame[] = { 0xff, 0xc0, 0, 17, 8,    0x10, 0, 0x10, 0, 3,
                                     1,    0x22, 0, 2,  0x11, 1,    3, 0x11, 1 };
    static const uint8_t restart[] = { 0xff, 0xd1 }, comment[] = { 0xff, 0xfe, 0, 2 };
    const struct jpeg_recipe recipe = { .orientation = 0 };
    struct bytes bytes = sample(3, 2, 2, recipe);
    insert(&bytes, find_marker(&bytes, 0xda), frame, sizeof frame);
    assert_false(plain(bytes.data, bytes.length, &jpeg));
    free(bytes.data);
    bytes = sample(3, 2, 2, recipe);
    insert(&bytes, find_marker(&bytes, 0xda), comment, sizeof comment);
    assert_true(plain(bytes.data, bytes.length, &jpeg));
    insert(&bytes, bytes.length - 2, comment, sizeof comment);
    assert_false(plain(bytes.data, bytes.length, &jpeg));
    free(bytes.data);
    bytes = sample(3, 2, 2, recipe);
    insert(&bytes, bytes.length - 2, restart, sizeof restart);
    assert_false(plain(bytes.data, bytes.length, &jpeg));
    free(bytes.data);
    bytes = sample(3, 2, 2, recipe);
    const size_t scan = find_marker(&bytes, 0xda);
    uint8_t again[14];
    memcpy(again, bytes.data + scan, sizeof again);
    insert(&bytes, bytes.length - 2, again, sizeof again);
    assert_false(plain(bytes.data, bytes.length, &jpeg));
    free(bytes.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_kinds),
        cmocka_unit_test(other_kinds),
        cmocka_unit_test(whole_files_only),
        cmocka_unit_test(one_reading_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

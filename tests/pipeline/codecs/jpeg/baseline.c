// SPDX-License-Identifier: Apache-2.0
/* Which JPEGs a device may be given: the plain ones, and nothing that a second reader could take
 * for something else; and the notes on them. */
#include "pipeline/codecs/jpeg/baseline.h"

#include "tests/pipeline/codecs/made_files.h"

enum { WIDTH = 61, HEIGHT = 43 };

static bool plain(const uint8_t *data, size_t length, struct jpeg_baseline *out) {
    struct probe probe;
    struct failure failure;
    return probe_image(data, length, &codec_limits_default.probe, &probe, &failure) == STATUS_OK &&
           jpeg_baseline_read(data, length, &probe, &codec_limits_default, out);
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
        struct jpeg_baseline jpeg;
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
        { 3, 1, 1, { .space = JCS_RGB, .no_adobe = true } },
        { 4, 1, 1, { .space = JCS_CMYK } },
        { 4, 1, 1, { .space = JCS_YCCK } },
        { 3, 1, 2, { .h = 0 } },
        { 3, 2, 2, { .chroma_v = 2 } },
        { 3, 2, 2, { .chroma_v = 2, .interval = 3 } },
        { 3, 1, 2, { .chroma_v = 2 } },
        { 3, 4, 1, { .h = 0 } },
        { 1, 2, 2, { .h = 0 } },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct jpeg_baseline jpeg;
        struct bytes bytes = sample(kinds[i].channels, kinds[i].h, kinds[i].v, kinds[i].recipe);
        if (plain(bytes.data, bytes.length, &jpeg)) fail_msg("kind %zu was taken", i);
        free(bytes.data);
    }
}

/* Cut off anywhere, or with anything behind its end, it is for the cores to judge. */
static void whole_files_only(void **state) {
    (void)state;
    struct jpeg_baseline jpeg;
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

/* Returns the offset of the first MARKER. */
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

/* Number and bytes of comments: a reader of too many keeps other jobs waiting. */
static void long_headers_are_left_to_the_cores(void **state) {
    (void)state;
    static const size_t rows[][3] = {
        { 900, 4, 1 }, { 1000, 4, 0 }, { 31, 65000, 1 }, { 33, 65000, 0 }
    };
    for (int r = 0; r < 4; r++) {
        const size_t size = rows[r][1] - 2;
        const uint8_t comment[65000] = { 0xff, 0xfe, (uint8_t)(size >> 8), (uint8_t)size };
        struct jpeg_baseline jpeg;
        struct bytes bytes = sample(3, 2, 2, (struct jpeg_recipe){ .orientation = 0 });
        for (size_t i = 0; i < rows[r][0]; i++) insert(&bytes, 2, comment, size + 2);
        assert_int_equal(plain(bytes.data, bytes.length, &jpeg), rows[r][2]);
        free(bytes.data);
    }
}

/* A second frame, a second scan, a restart out of turn: what one reader skips another may follow.
 */
static void one_reading_only(void **state) {
    (void)state;
    struct jpeg_baseline jpeg;
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

/* ---- one change of a sound file each */

/* Bytes of a segment behind its marker, and of a component within the frame and the scan. */
enum { BODY = 4, FRAME_SAMPLING = BODY + 7, SCAN_ID = BODY + 1, SCAN_TABLES = BODY + 2 };

static struct bytes copy_of(const struct bytes *bytes) {
    struct bytes copy = { malloc(bytes->length), bytes->length };
    memcpy(copy.data, bytes->data, bytes->length);
    return copy;
}

/* Gives BYTES back as well. */
static bool taken(struct bytes bytes) {
    struct jpeg_baseline jpeg;
    const bool is = plain(bytes.data, bytes.length, &jpeg);
    free(bytes.data);
    return is;
}

static bool taken_with(const struct bytes *bytes, size_t at, unsigned value) {
    struct bytes copy = copy_of(bytes);
    copy.data[at] = (uint8_t)value;
    return taken(copy);
}

/* With WHAT in front of the scan's header. */
static bool taken_before_scan(const struct bytes *bytes, const void *what, size_t length) {
    struct bytes copy = copy_of(bytes);
    insert(&copy, find_marker(&copy, 0xda), what, length);
    return taken(copy);
}

static void cut_segment(struct bytes *bytes, size_t at) {
    const size_t length = 2 + ((size_t)bytes->data[at + 2] << 8 | bytes->data[at + 3]);
    memmove(bytes->data + at, bytes->data + at + length, bytes->length - at - length);
    bytes->length -= length;
}

static void restarts(void **state) {
    (void)state;
    struct bytes bytes = sample(3, 2, 2, (struct jpeg_recipe){ .interval = 2 });
    const size_t interval = find_marker(&bytes, 0xdd) + BODY;
    const size_t second = find_marker(&bytes, 0xd1);
    assert_true(taken(copy_of(&bytes)));
    assert_false(taken_with(&bytes, interval + 1, 3));
    assert_false(taken_with(&bytes, interval + 1, 0));
    assert_false(taken_with(&bytes, interval, 1));
    assert_false(taken_with(&bytes, second + 1, 0xd2));
    assert_false(taken_with(&bytes, second + 1, 0xd0));
    assert_false(taken_with(&bytes, find_marker(&bytes, 0xd0) + 1, 0xd1));
    struct bytes without = copy_of(&bytes);
    cut_segment(&without, interval - BODY);
    assert_false(taken(without));
    free(bytes.data);
    bytes = sample(1, 1, 1, (struct jpeg_recipe){ .interval = 1 }); /* 48 MCUs: 0xd7, then 0xd0 */
    assert_true(taken(bytes));
    bytes = sample(3, 1, 1, (struct jpeg_recipe){ .interval = 0 });
    assert_true(taken_before_scan(&bytes, "\xff\xdd\0\4\0\0", 6));
    assert_false(taken_before_scan(&bytes, "\xff\xdd\0\4\0\1", 6));
    assert_true(taken_before_scan(&bytes, "\xff\xdd\0\4\0\60", 6)); /* 48: all of them */
    assert_false(taken_before_scan(&bytes, "\xff\xdd\0\4\0\57", 6));
    assert_false(taken_before_scan(&bytes, "\xff\xdd\0\5\0\0\0", 7));
    free(bytes.data);
}

static void other_sampling(void **state) {
    (void)state;
    static const uint8_t factors[] = { 0x00, 0x01, 0x0b, 0x10, 0x12, 0x1b, 0x1c, 0x20, 0x41, 0x44 };
    for (int channels = 1; channels <= 3; channels += 2) {
        struct bytes bytes = sample(channels, 1, 1, (struct jpeg_recipe){ .h = 0 });
        const size_t frame = find_marker(&bytes, 0xc0);
        assert_int_equal(bytes.data[frame + FRAME_SAMPLING], 0x11);
        for (size_t i = 0; i < sizeof factors; i++)
            for (int c = 0; c < channels; c++)
                if (taken_with(&bytes, frame + FRAME_SAMPLING + 3 * (size_t)c, factors[i]))
                    fail_msg("%d channels, %02x of %d were taken", channels, factors[i], c);
        free(bytes.data);
    }
}

static void components_in_turn(void **state) {
    (void)state;
    struct bytes bytes = sample(3, 2, 2, (struct jpeg_recipe){ .h = 0 });
    const size_t frame = find_marker(&bytes, 0xc0), scan = find_marker(&bytes, 0xda);
    struct bytes other = copy_of(&bytes);
    other.data[scan + SCAN_ID + 2] = 3; /* of like tables and sampling, but Cr is first now */
    other.data[scan + SCAN_ID + 4] = 2;
    assert_false(taken(other));
    other = copy_of(&bytes);
    other.data[frame + FRAME_SAMPLING - 1 + 6] = other.data[scan + SCAN_ID + 4] = 2;
    assert_false(taken(other)); /* two of one name */
    assert_false(taken_with(&bytes, scan + BODY, 2));
    assert_false(taken_with(&bytes, scan + SCAN_TABLES, 0x20));
    assert_false(taken_with(&bytes, scan + SCAN_TABLES, 0x02));
    assert_false(taken_with(&bytes, frame + FRAME_SAMPLING + 1, 2)); /* no such steps */
    assert_false(taken_with(&bytes, frame + FRAME_SAMPLING + 1, 4));
    free(bytes.data);
}

/* None of the tables of a colour file may be missing: two of steps, four of codes. */
static void tables_all_there(void **state) {
    (void)state;
    struct bytes bytes = sample(3, 2, 2, (struct jpeg_recipe){ .h = 0 });
    int cut = 0;
    for (size_t at = 2; bytes.data[at + 1] != 0xda;) {
        const unsigned marker = bytes.data[at + 1];
        if (marker == 0xdb || marker == 0xc4) {
            struct bytes without = copy_of(&bytes);
            cut_segment(&without, at);
            assert_false(taken(without));
            cut++;
        }
        at += 2 + ((size_t)bytes.data[at + 2] << 8 | bytes.data[at + 3]);
    }
    assert_int_equal(cut, 6);
    free(bytes.data);
}

static void steps_of_8_bits(void **state) {
    (void)state;
    struct bytes bytes = sample(1, 1, 1, (struct jpeg_recipe){ .h = 0 });
    const size_t at = find_marker(&bytes, 0xdb);
    uint8_t wide[BODY + 1 + 128] = { 0xff, 0xdb, 0, 131, 0x10 };
    for (int i = 0; i < 64; i++) wide[BODY + 1 + 2 * i + 1] = bytes.data[at + BODY + 1 + i];
    assert_false(taken_before_scan(&bytes, wide, sizeof wide));
    struct bytes other = copy_of(&bytes);
    cut_segment(&other, at);
    insert(&other, at, wide, sizeof wide); /* the same steps */
    assert_false(taken(other));
    assert_true(taken_with(&bytes, at + BODY + 1 + 63, 98));
    assert_false(taken_with(&bytes, at + BODY + 1 + 63, 0));
    assert_false(taken_with(&bytes, at + BODY, 4));
    assert_false(taken_with(&bytes, at + BODY, 1));
    assert_false(taken_before_scan(&bytes, "\xff\xdb\0\3\0", 5));
    assert_false(taken_before_scan(&bytes, "\xff\xdb\0\2", 4));
    free(bytes.data);
}

/* The last DC code is for 11 bits, which no block of noise uses. */
static void codes_of_sizes(void **state) {
    (void)state;
    struct bytes bytes = sample(1, 1, 1, (struct jpeg_recipe){ .h = 0 });
    const size_t last = find_marker(&bytes, 0xc4) + BODY + 1 + 16 + 11;
    assert_int_equal(bytes.data[last], 11);
    assert_true(taken_with(&bytes, last, 10));
    assert_false(taken_with(&bytes, last, 12));
    assert_false(taken_with(&bytes, last, 16));
    assert_false(taken_with(&bytes, last, 255));
    assert_false(taken_before_scan(&bytes, "\xff\xc4\0\24\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21));
    assert_false(taken_before_scan(&bytes, "\xff\xc4\0\2", 4));
    free(bytes.data);
}

static void colours_not_in_doubt(void **state) {
    (void)state;
    static uint8_t adobe[16] = { 0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100 };
    for (int channels = 1; channels <= 3; channels += 2) {
        struct bytes bytes = sample(channels, 1, 1, (struct jpeg_recipe){ .h = 0 });
        const size_t jfif = find_marker(&bytes, 0xe0) + BODY;
        assert_memory_equal(bytes.data + jfif, "JFIF", 5);
        assert_true(taken_with(&bytes, jfif + 6, 2)); /* 1.02 */
        for (int transform = 0; transform <= 3; transform++) {
            adobe[15] = (uint8_t)transform;
            assert_int_equal(taken_before_scan(&bytes, adobe, sizeof adobe),
                             channels == 1 || transform == 1);
        }
        free(bytes.data);
    }
}

/* BYTES with LENGTH bytes of WHAT at AT, in the place of as many where OVER, have these NOTES. */
static void check_notes(const struct bytes *bytes, size_t at, const void *what, size_t length,
                        bool over, uint32_t notes) {
    struct jpeg_baseline jpeg;
    struct bytes copy = copy_of(bytes);
    if (over)
        memcpy(copy.data + at, what, length);
    else
        insert(&copy, at, what, length);
    assert_true(plain(copy.data, copy.length, &jpeg));
    assert_int_equal(jpeg.notes, notes);
    free(copy.data);
}

/* libjpeg warns of these although no pixel depends on them. */
static void odd_headers_are_noted(void **state) {
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        struct bytes bytes = sample(channels, 1, 1, (struct jpeg_recipe){ .h = 0 });
        const size_t jfif = find_marker(&bytes, 0xe0) + BODY, scan = find_marker(&bytes, 0xda);
        const size_t band = scan + BODY + 1 + 2 * (size_t)channels;
        const uint8_t steps[] = { 0xff, 0xdb, 0, 4, 0, 0 };
        check_notes(&bytes, jfif + 5, "\1", 1, true, 0);
        check_notes(&bytes, jfif + 5, "\2", 1, true, NOTE_HEADER_ODD);
        check_notes(&bytes, jfif + 5, "\0", 1, true, NOTE_HEADER_ODD);
        check_notes(&bytes, band, "\0\77\0", 3, true, 0);
        check_notes(&bytes, band, "\1\77\0", 3, true, NOTE_HEADER_ODD);
        check_notes(&bytes, band, "\0\76\0", 3, true, NOTE_HEADER_ODD);
        check_notes(&bytes, band, "\0\77\20", 3, true, NOTE_HEADER_ODD);
        check_notes(&bytes, jfif + 14, "spare", 5, false, NOTE_BYTES_SKIPPED);
        check_notes(&bytes, scan, (char[4000]){ 0 }, 4000, false, NOTE_BYTES_SKIPPED);
        check_notes(&bytes, scan, "\376\0\4ab", 5, false, NOTE_BYTES_SKIPPED); /* a comment */
        assert_false(taken_before_scan(&bytes, steps + 1, sizeof steps - 1));
        free(bytes.data);
    }
}

static void segments_of_other_kinds(void **state) {
    (void)state;
    struct bytes bytes = sample(3, 2, 2, (struct jpeg_recipe){ .h = 0 });
    assert_true(taken_before_scan(&bytes, "\xff\xed\0\4ab", 6));
    assert_false(taken_before_scan(&bytes, "\xff\xd8", 2));
    assert_false(taken_before_scan(&bytes, "\xff\xd8\0\2", 4));
    assert_false(taken_before_scan(&bytes, "\xff\xdc\0\4\0\53", 6)); /* DNL: 43 lines, as in SOF */
    assert_false(taken_before_scan(&bytes, "\xff\xcc\0\4\0\20", 6)); /* DAC */
    assert_false(taken_before_scan(&bytes, "\xff\xd0", 2));
    assert_false(taken_before_scan(&bytes, "\xff\1", 2));
    const struct bytes frame = copy_of(&bytes); /* the same frame twice */
    assert_false(taken_before_scan(&bytes, frame.data + find_marker(&frame, 0xc0), 19));
    free(frame.data);
    struct bytes late = copy_of(&bytes);
    insert(&late, late.length - 2, "\xff\xdc\0\4\0\53", 6);
    assert_false(taken(late));
    free(bytes.data);
}

/* 61x43 in MCUs of 16x16: 4x3 of them. */
static void scan_of_the_frame(void **state) {
    (void)state;
    struct bytes bytes = sample(3, 2, 2, (struct jpeg_recipe){ .h = 0 });
    const size_t height = find_marker(&bytes, 0xc0) + BODY + 2, width = height + 2;
    assert_true(taken_with(&bytes, height, 48));
    assert_true(taken_with(&bytes, height, 33));
    assert_false(taken_with(&bytes, height, 49));
    assert_false(taken_with(&bytes, height, 32));
    assert_false(taken_with(&bytes, height - 1, 1));
    assert_true(taken_with(&bytes, width, 64));
    assert_false(taken_with(&bytes, width, 65));
    assert_false(taken_with(&bytes, width, 48));
    free(bytes.data);
}

static void within_the_limits(void **state) {
    (void)state;
    struct bytes bytes = sample(3, 2, 2, (struct jpeg_recipe){ .h = 0 });
    struct codec_limits limits = codec_limits_default;
    struct jpeg_baseline jpeg;
    struct probe probe;
    assert_int_equal(probe_image(bytes.data, bytes.length, &limits.probe, &probe, NULL), STATUS_OK);
    limits.scan_pixels_max = WIDTH * HEIGHT;
    assert_true(jpeg_baseline_read(bytes.data, bytes.length, &probe, &limits, &jpeg));
    limits.scan_pixels_max--;
    assert_false(jpeg_baseline_read(bytes.data, bytes.length, &probe, &limits, &jpeg));
    limits = codec_limits_default;
    limits.scans_max = 0;
    assert_false(jpeg_baseline_read(bytes.data, bytes.length, &probe, &limits, &jpeg));
    free(bytes.data);
}

/* A gray block of 8x8 whose coefficients, by row and column, are DATA's. */
static struct bytes file_of_block(const JCOEF data[64], unsigned step) {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long length = 0;
    unsigned steps[64];
    for (int i = 0; i < 64; i++) steps[i] = step;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, &length);
    cinfo.image_width = cinfo.image_height = 8;
    cinfo.input_components = 1;
    cinfo.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&cinfo);
    jpeg_add_quant_table(&cinfo, 0, steps, 100, TRUE);
    jvirt_barray_ptr blocks =
        cinfo.mem->request_virt_barray((j_common_ptr)&cinfo, JPOOL_IMAGE, TRUE, 1, 1, 1);
    jpeg_write_coefficients(&cinfo, &blocks);
    JBLOCKARRAY rows = cinfo.mem->access_virt_barray((j_common_ptr)&cinfo, blocks, 0, 1, TRUE);
    memcpy(rows[0][0], data, sizeof rows[0][0]);
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    return (struct bytes){ bytes, length };
}

/* libjpeg's transform overflows 16 bits in the second, which any reader in 32 bits takes for
 * another picture. */
static void transforms_without_overflow(void **state) {
    (void)state;
    struct jpeg_baseline jpeg;
    JCOEF block[64] = { [0] = 737 };
    struct bytes bytes = file_of_block(block, 8);
    assert_true(plain(bytes.data, bytes.length, &jpeg));
    free(bytes.data);
    block[4] = 737; /* the fifteenth in zigzag order */
    bytes = file_of_block(block, 8);
    const struct image image = plain_jpeg(&bytes);
    assert_int_equal(image.pixels[0], 0); /* the exact sum is above 255 */
    assert_false(plain(bytes.data, bytes.length, &jpeg));
    free(image.pixels);
    free(bytes.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_kinds),
        cmocka_unit_test(other_kinds),
        cmocka_unit_test(whole_files_only),
        cmocka_unit_test(long_headers_are_left_to_the_cores),
        cmocka_unit_test(one_reading_only),
        cmocka_unit_test(restarts),
        cmocka_unit_test(other_sampling),
        cmocka_unit_test(components_in_turn),
        cmocka_unit_test(tables_all_there),
        cmocka_unit_test(steps_of_8_bits),
        cmocka_unit_test(codes_of_sizes),
        cmocka_unit_test(colours_not_in_doubt),
        cmocka_unit_test(odd_headers_are_noted),
        cmocka_unit_test(segments_of_other_kinds),
        cmocka_unit_test(scan_of_the_frame),
        cmocka_unit_test(transforms_without_overflow),
        cmocka_unit_test(within_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

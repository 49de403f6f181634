// SPDX-License-Identifier: Apache-2.0
/* JPEGs with bytes too many, and damaged ones, refused or accepted.
 * covers: pipeline/codecs/jpeg/segment.h pipeline/codecs/jpeg/guard.c
 * covers: pipeline/codecs/jpeg/lost.c */
#include "tests/pipeline/codecs/made_files.h"

/* ---- bytes that belong to nothing */

/* Decoding BYTES must give STATUS and, if that is STATUS_OK, EXPECTED's pixels and NOTES. */
static void check_extra(const struct bytes *bytes, enum status status, uint32_t notes,
                        const struct image *expected) {
    struct image image;
    uint32_t seen = 0;
    struct failure failure = { .message = "" };
    const enum status got = try_decode(bytes, &codec_limits_default, &image, NULL, &seen, &failure);
    if (got != status) print_error("%s\n", failure.message);
    assert_int_equal(got, status);
    if (status != STATUS_OK) return;
    assert_int_equal(seen, notes);
    assert_same(&image, expected);
    free(image.pixels);
}

static void check_inserted(const struct bytes *bytes, size_t at, const void *extra, size_t length,
                           enum status status, const struct image *expected) {
    struct bytes more = insert_bytes(bytes, at, extra, length);
    check_extra(&more, status, NOTE_BYTES_SKIPPED, expected);
    free(more.data);
}

/* Puts where the segments after SOI begin, up to SOS, into STARTS; returns their number. */
static size_t segment_starts(const struct bytes *bytes, size_t starts[16]) {
    size_t count = 0;
    for (size_t at = 2; count < 16;
         at += 2 + (size_t)(bytes->data[at + 2] << 8) + bytes->data[at + 3]) {
        starts[count++] = at;
        if (bytes->data[at + 1] == 0xda) return count;
    }
    return 0;
}

static void test_bytes_between_segments_are_skipped(void **state) {
    (void)state;
    static const uint8_t extra[16] = "\x01"
                                     "Exif\xff\0\xffx\xff\0\0zzzz"; /* no marker */
    struct image image = new_waves(61, 35, 3);
    for (int progressive = 0; progressive < 2; progressive++) {
        struct bytes bytes = make_jpeg(
            &(struct jpeg_recipe){ .image = &image, .progressive = progressive, .orientation = 1 });
        struct image expected = plain_jpeg(&bytes);
        size_t starts[16];
        const size_t count = segment_starts(&bytes, starts);
        assert_in_range(count, 6, 16);
        check_inserted(&bytes, 2, extra, 4, STATUS_NOT_AN_IMAGE, &expected); /* no magic number */
        for (size_t i = 1; i < count; i++) {
            check_inserted(&bytes, starts[i], extra, 1, STATUS_OK, &expected);
            check_inserted(&bytes, starts[i], extra, 4, STATUS_OK, &expected);
            check_inserted(&bytes, starts[i], extra, 9, STATUS_CORRUPT, &expected); /* 0xff 'x' */
            check_inserted(&bytes, starts[i], "123456789012345", 15, STATUS_OK, &expected);
            check_inserted(&bytes, starts[i], (char[4000]){ 0 }, 4000, STATUS_OK, &expected);
            check_inserted(&bytes, starts[i], "\xff\0\xff\0", 4, STATUS_OK, &expected);
            struct bytes filled = insert_bytes(&bytes, starts[i], "\xff\xff\xff", 3);
            check_extra(&filled, STATUS_OK, 0, &expected); /* what the standard allows */
            free(filled.data);
        }
        free(expected.pixels);
        free(bytes.data);
    }
    free(image.pixels);
}

/* A marker's byte lost, its segment is passed over. Only the standard's codes are there without.
 * Small pictures are read by wrong codes to their end without a warning. */
static void test_lost_segments(void **state) {
    (void)state;
    for (int kind = 0; kind < 12; kind++) {
        const bool optimal = kind & 1, small = kind & 2;
        struct image image =
            small ? new_noise(8, 8, 1, 8, (uint32_t)kind) : new_waves(61, 35, kind & 4 ? 1 : 3);
        struct bytes bytes =
            make_jpeg(&(struct jpeg_recipe){ .image = &image,
                                             .space = image.channels == 3 ? JCS_RGB : JCS_UNKNOWN,
                                             .optimal = optimal });
        struct image expected = plain_jpeg(&bytes);
        size_t starts[16];
        const size_t count = segment_starts(&bytes, starts);
        for (size_t i = 1; i < count; i++) { /* SOI's neighbour, whose loss is no magic number */
            const bool spare = bytes.data[starts[i] + 1] == 0xc4 && !optimal;
            bytes.data[starts[i]] ^= 0x10;
            check_extra(&bytes, spare ? STATUS_OK : STATUS_CORRUPT, NOTE_BYTES_SKIPPED, &expected);
            bytes.data[starts[i]] ^= 0x10;
        }
        free(expected.pixels);
        free(bytes.data);
        free(image.pixels);
    }
}

/* The first of three scans is lost, so its bytes come before the first that is found. */
static void test_a_lost_scan(void **state) {
    (void)state;
    static const jpeg_scan_info scans[] = { { 1, { 0 }, 0, 63, 0, 0 },
                                            { 1, { 1 }, 0, 63, 0, 0 },
                                            { 1, { 2 }, 0, 63, 0, 0 } };
    struct image image = new_waves(61, 35, 3);
    struct bytes bytes =
        make_jpeg(&(struct jpeg_recipe){ .image = &image, .scans = scans, .scan_count = 3 });
    struct image expected = plain_jpeg(&bytes);
    uint8_t *scan = memmem(bytes.data, bytes.length, "\xff\xda", 2);
    check_inserted(&bytes, (size_t)(scan - bytes.data), "spare", 5, STATUS_OK, &expected);
    *scan = 0;
    check_extra(&bytes, STATUS_CORRUPT, 0, NULL);
    free(expected.pixels);
    free(bytes.data);
    free(image.pixels);
}

static void test_bytes_behind_the_scan(void **state) {
    (void)state;
    struct image image = new_waves(61, 35, 3);
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image });
    struct image expected = plain_jpeg(&bytes);
    const size_t end = bytes.length - 2;
    check_inserted(&bytes, end, (char[15]){ 0 }, 15, STATUS_OK, &expected);
    check_inserted(&bytes, end, (char[64]){ 0 }, 64, STATUS_CORRUPT, &expected);
    check_inserted(&bytes, end, (char[15]){ [14] = 1 }, 15, STATUS_CORRUPT, &expected);
    check_inserted(&bytes, bytes.length, "and a trailer", 13, STATUS_OK, &expected);
    check_inserted(&bytes, 0, "\0", 1, STATUS_NOT_AN_IMAGE, &expected);
    free(expected.pixels);
    free(bytes.data);
    free(image.pixels);
}

/* PADDING goes before EVERY restart marker, or before the second alone. */
static struct bytes pad_restarts(const struct bytes *bytes, const uint8_t *padding, size_t length,
                                 bool every) {
    struct bytes padded = { NULL, 0 };
    int count = 0;
    padded.data = malloc(bytes->length * (1 + length));
    for (size_t i = 0; i < bytes->length; i++) {
        const bool marker =
            bytes->data[i] == 0xff && i + 1 < bytes->length && (bytes->data[i + 1] & 0xf8) == 0xd0;
        if (marker && (++count == 2 || every)) {
            memcpy(padded.data + padded.length, padding, length);
            padded.length += length;
        }
        padded.data[padded.length++] = bytes->data[i];
    }
    assert_true(count > 4);
    return padded;
}

/* An arithmetic code has no end of its own: other bytes than zeros may be read as code. */
static void test_padding_before_restarts(void **state) {
    (void)state;
    static const struct {
        uint8_t padding[40];
        size_t length;
        bool sound;
    } rows[] = {
        { { 0 }, 1, true },       { { 0 }, 40, true },
        { { 0xff, 0 }, 2, true }, { { 0, 0xff, 0, 0 }, 4, true },
        { { 1 }, 1, false },      { { 0, 0, 0x80 }, 3, false },
        { { 1 }, 20, false },     { { [19] = 1 }, 20, false },
    };
    for (size_t i = 0; i < 16 * sizeof rows / sizeof *rows; i++) {
        const bool arithmetic = i & 1, progressive = i & 2, every = i & 4, gray = i & 8;
        const size_t row = i / 16;
        struct image image = new_waves(61, 35, gray ? 1 : 3);
        struct bytes bytes = make_jpeg(&(struct jpeg_recipe){
            .image = &image, .arithmetic = arithmetic, .progressive = progressive, .interval = 2 });
        struct bytes padded = pad_restarts(&bytes, rows[row].padding, rows[row].length, every);
        struct image expected = plain_jpeg(&bytes), read;
        uint32_t notes = 0;
        const enum status status =
            try_decode(&padded, &codec_limits_default, &read, NULL, &notes, NULL);
        if (!arithmetic) assert_int_equal(status, rows[row].sound ? STATUS_OK : STATUS_CORRUPT);
        if (status == STATUS_OK && !arithmetic) assert_int_equal(notes, NOTE_BYTES_SKIPPED);
        if (arithmetic && row < 2) assert_int_equal(status, STATUS_OK);
        if (status == STATUS_OK && (!arithmetic || row < 2)) assert_same(&read, &expected);
        free(read.pixels);
        free(expected.pixels);
        free(padded.data);
        free(bytes.data);
        free(image.pixels);
    }
}

/* ---- damage that is accepted */

/* A file cut behind the first scan's header is read with a note. PLAINLY: it is read as by plain
 * libjpeg, which gives up where a later scan's header is cut. */
static void check_accepted_cut(const struct bytes *bytes, size_t length, bool plainly) {
    struct bytes cut = { malloc(length), length };
    struct image read;
    uint32_t notes;
    char warning[WARNING_MAX];
    memcpy(cut.data, bytes->data, length);
    assert_int_equal(take_damaged(&cut, &read, &notes, warning), STATUS_OK);
    assert_int_equal(notes, NOTE_DAMAGED);
    assert_true(strlen(warning) > 10);
    if (plainly) {
        struct image plain = plain_jpeg(&cut);
        assert_same(&read, &plain);
        free(plain.pixels);
    }
    free(read.pixels);
    free(cut.data);
}

static void test_accepted_cuts_equal_libjpeg(void **state) {
    (void)state;
    struct image image = new_waves(123, 66, 3);
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image });
    const uint8_t *scan = memmem(bytes.data, bytes.length, "\xff\xda", 2);
    for (size_t length = (size_t)(scan - bytes.data) + 14; length < bytes.length; length += 97)
        check_accepted_cut(&bytes, length, true);
    free(bytes.data);
    free(image.pixels);
}

/* Cut anywhere; within a later header it is as if cut before it. */
static void test_accepted_cuts_of_a_progressive_one(void **state) {
    (void)state;
    struct image image = new_waves(123, 66, 3);
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image, .progressive = true });
    const uint8_t *scan = memmem(bytes.data, bytes.length, "\xff\xda", 2);
    for (size_t length = (size_t)(scan - bytes.data) + 14; length < bytes.length; length += 13)
        check_accepted_cut(&bytes, length, false);
    const size_t first = (size_t)(scan - bytes.data) + 14;
    const uint8_t *next = memmem(scan + 14, bytes.length - first, "\xff\xc4", 2);
    struct bytes within = { bytes.data, (size_t)(next - bytes.data) + 10 }, before = within;
    struct image a, b;
    uint32_t notes;
    char warning[WARNING_MAX];
    before.length -= 10;
    assert_int_equal(take_damaged(&within, &a, &notes, warning), STATUS_OK);
    assert_int_equal(take_damaged(&before, &b, &notes, warning), STATUS_OK);
    struct image plain = plain_jpeg(&before);
    assert_same(&a, &b);
    assert_same(&b, &plain);
    free(a.pixels);
    free(b.pixels);
    free(plain.pixels);
    free(bytes.data);
    free(image.pixels);
}

static void test_accepted_sound_files_are_not_noted(void **state) {
    (void)state;
    struct image image = new_waves(61, 35, 3), read;
    struct bytes bytes = make_jpeg(&(struct jpeg_recipe){ .image = &image });
    struct image plain = plain_jpeg(&bytes);
    uint32_t notes;
    char warning[WARNING_MAX];
    assert_int_equal(take_damaged(&bytes, &read, &notes, warning), STATUS_OK);
    assert_int_equal(notes, 0);
    assert_string_equal(warning, "");
    assert_same(&read, &plain);
    free(read.pixels);
    free(plain.pixels);
    free(bytes.data);
    free(image.pixels);
}

/* libjpeg gives up at a marker that it does not know, with all rows read: they are taken. */
static void test_accepted_after_libjpeg_gave_up(void **state) {
    (void)state;
    for (unsigned orientation = 1; orientation <= 8; orientation += 5) {
        struct image image = new_waves(61, 35, 3), read;
        struct bytes sound =
            make_jpeg(&(struct jpeg_recipe){ .image = &image, .orientation = orientation });
        struct bytes bytes = insert_bytes(&sound, sound.length - 2, "\xff\x02", 2);
        struct image expected = must_decode(&sound, NULL, NULL);
        uint32_t notes;
        char warning[WARNING_MAX];
        check_extra(&bytes, STATUS_CORRUPT, 0, NULL);
        assert_int_equal(take_damaged(&bytes, &read, &notes, warning), STATUS_OK);
        assert_int_equal(notes, NOTE_DAMAGED);
        assert_non_null(strstr(warning, "0x02"));
        assert_same(&read, &expected);
        free(read.pixels);
        free(expected.pixels);
        free(bytes.data);
        free(sound.data);
        free(image.pixels);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_between_segments_are_skipped),
        cmocka_unit_test(test_lost_segments),
        cmocka_unit_test(test_a_lost_scan),
        cmocka_unit_test(test_bytes_behind_the_scan),
        cmocka_unit_test(test_padding_before_restarts),
        cmocka_unit_test(test_accepted_cuts_equal_libjpeg),
        cmocka_unit_test(test_accepted_cuts_of_a_progressive_one),
        cmocka_unit_test(test_accepted_sound_files_are_not_noted),
        cmocka_unit_test(test_accepted_after_libjpeg_gave_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* The probe reads the chunks of a WebP in every order and refuses wrong ones.
 * covers: pipeline/codecs/webp.c */
#include "tests/pipeline/codecs/webp_files.h"

static enum status probe_bytes(const struct bytes *bytes, struct probe *probe,
                               struct failure *failure) {
    return probe_image(bytes->data, bytes->length, &codec_limits_default.probe, probe, failure);
}

static void facts_of_still_pictures(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const bool lossless = i & 1, alpha = i >> 1;
        struct image image = new_noise(31, 17, 3 + alpha, 8, i);
        struct bytes bytes = make_webp(&image, lossless);
        struct probe probe;
        assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_OK);
        assert_int_equal(probe.format, FORMAT_WEBP);
        assert_int_equal(probe.width, 31);
        assert_int_equal(probe.shape.height, 17);
        assert_int_equal(probe.shape.channels, 3 + alpha);
        assert_int_equal(probe.shape.depth, 8);
        assert_int_equal(probe.bits, 8);
        assert_int_equal(probe.lossless, lossless);
        assert_int_equal(probe.orientation, 1);
        assert_string_equal(probe.space, lossless ? "rgb" : "ycbcr");
        assert_true(!probe.animated && !probe.profile && !probe.progressive);
        assert_true(probe.data_bytes >= probe.data_bytes_least);
        free(bytes.data);
        free(image.pixels);
    }
}

/* EXIF stands behind the picture, with a JPEG's six bytes before it or without. */
static struct bytes extended(unsigned flags, unsigned orientation, bool named) {
    struct image image = new_waves(40, 30, 3);
    struct bytes picture = picture_chunks(&image, false);
    struct bytes bytes = begin_extended(flags, 40, 30), profile = new_profile(301, "RGB ");
    uint8_t exif[32] = "Exif\0";
    write_tiff(exif + 6, orientation, named);
    append_chunk(&bytes, "ICCP", profile.data, profile.length);
    append_chunk(&bytes, "what", "ever", 3);
    append(&bytes, picture.data, picture.length);
    append_chunk(&bytes, "EXIF", named ? exif : exif + 6, named ? 32 : 26);
    append_chunk(&bytes, "XMP ", "<x/>", 4);
    free(picture.data);
    free(profile.data);
    free(image.pixels);
    return end_riff(bytes);
}

static void flags_decide_what_counts(void **state) {
    (void)state;
    for (unsigned flags = 0; flags < 64; flags += 4) {
        struct bytes bytes = extended(flags, 6, flags & VP8X_ICC);
        struct probe probe;
        assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_OK);
        assert_int_equal(probe.profile, (flags & VP8X_ICC) != 0);
        assert_int_equal(probe.orientation, flags & VP8X_EXIF ? 6 : 1);
        assert_int_equal(probe.shape.width, flags & VP8X_EXIF ? 30 : 40);
        assert_int_equal(probe.shape.channels, flags & VP8X_ALPHA ? 4 : 3);
        free(bytes.data);
    }
}

static void nonsense_in_exif_is_upright(void **state) {
    (void)state;
    for (int i = 0; i < 32; i++) {
        struct bytes bytes = extended(VP8X_EXIF, 6, i & 1);
        uint8_t *exif = memmem(bytes.data, bytes.length, "EXIF", 4);
        struct probe probe;
        fill_noise(exif + 8, i & 1 ? 32 : 26, (uint32_t)i);
        assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_OK);
        assert_int_equal(probe.orientation, 1);
        free(bytes.data);
    }
}

/* ---- animations */

static struct bytes animation(int frames, uint32_t left, uint32_t width, bool alpha) {
    struct image image = new_waves(width, 10, 3);
    struct bytes picture = picture_chunks(&image, false);
    struct bytes bytes = begin_extended(VP8X_ANIMATED | (alpha ? VP8X_ALPHA : 0), 40, 10);
    append_chunk(&bytes, "ANIM", "\0\0\0\0\0", 6);
    for (int i = 0; i < frames; i++)
        append_frame(&bytes, i ? 0 : left, 0, image.width, image.height, &picture);
    free(picture.data);
    free(image.pixels);
    return end_riff(bytes);
}

static void facts_of_animations(void **state) {
    (void)state;
    static const struct {
        int frames;
        uint32_t left, width;
        bool alpha, animated;
        int channels;
    } cases[] = {
        { 1, 0, 40, false, false, 3 }, { 2, 0, 40, false, true, 3 }, { 2, 0, 40, true, true, 4 },
        { 3, 0, 39, false, true, 4 },  { 2, 5, 30, false, true, 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes bytes =
            animation(cases[i].frames, cases[i].left, cases[i].width, cases[i].alpha);
        struct probe probe;
        assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_OK);
        assert_int_equal(probe.animated, cases[i].animated);
        assert_int_equal(probe.shape.width, 40);
        assert_int_equal(probe.shape.channels, cases[i].channels);
        free(bytes.data);
    }
}

/* ---- what is refused */

/* Takes BYTES. */
static void assert_refused(struct bytes bytes, const char *words) {
    struct probe probe;
    struct failure failure = { .message = "" };
    uint8_t *exact = malloc(bytes.length); /* sanitizers see a byte too many */
    memcpy(exact, bytes.data, bytes.length);
    const struct bytes copy = { exact, bytes.length };
    assert_int_equal(probe_bytes(&copy, &probe, &failure), STATUS_CORRUPT);
    if (!strstr(failure.message, words)) fail_msg("\"%s\" without %s", failure.message, words);
    free(exact);
    free(bytes.data);
}

static struct bytes with_chunk(struct bytes bytes, const char *name, const struct bytes *data) {
    append_chunk(&bytes, name, data->data, data->length);
    return end_riff(bytes);
}

static struct bytes with_bytes(struct bytes bytes, const struct bytes *more) {
    append(&bytes, more->data, more->length);
    return end_riff(bytes);
}

static void chunks_that_contradict(void **state) {
    (void)state;
    struct image image = new_waves(40, 30, 3), clear = new_waves(40, 30, 4);
    struct bytes lossy = picture_chunks(&image, false), lossless = picture_chunks(&image, true);
    struct bytes alpha = picture_chunks(&clear, false);
    struct bytes some = { (uint8_t *)(char[]){ "0123456789abcdef" }, 16 };
    const size_t alph = 8 + get_le32(alpha.data + 4) + (get_le32(alpha.data + 4) & 1);
    const struct bytes alone = { alpha.data, alph };
    assert_refused(end_riff(begin_riff()), "no length");
    assert_refused(with_chunk(begin_riff(), "JUNK", &some), "none of VP8");
    assert_refused(with_chunk(begin_riff(), "ALPH", &some), "none of VP8");
    assert_refused(with_chunk(begin_riff(), "VP8X", &some), "ten bytes");
    assert_refused(end_riff(begin_extended(0, 40, 30)), "no picture");
    assert_refused(with_bytes(begin_extended(VP8X_ALPHA, 40, 30), &alone), "no picture");
    assert_refused(with_bytes(begin_extended(0, 41, 30), &lossy), "differ in size");
    assert_refused(with_bytes(begin_extended(0, 40, 29), &lossless), "differ in size");
    assert_refused(with_bytes(with_bytes(begin_riff(), &lossy), &lossy), "two pictures");
    assert_refused(with_bytes(with_bytes(begin_extended(0, 40, 30), &lossless), &lossy),
                   "two pictures");
    assert_refused(with_bytes(with_bytes(begin_extended(16, 40, 30), &alone), &lossless),
                   "alpha of its own");
    assert_refused(with_bytes(begin_extended(VP8X_ANIMATED, 40, 30), &lossy), "no frames");
    free(lossy.data);
    free(lossless.data);
    free(alpha.data);
    free(image.pixels);
    free(clear.pixels);
}

static void frames_that_contradict(void **state) {
    (void)state;
    struct bytes bytes = animation(2, 6, 30, false); /* 12 + 30 is over 40 */
    assert_refused(bytes, "beyond the canvas");
    bytes = animation(2, 0, 40, false);
    uint8_t *frame = memmem(bytes.data, bytes.length, "ANMF", 4);
    put_le(frame + 8 + 9, 10, 3); /* a row more than its picture has */
    assert_refused(bytes, "differ in size");
    bytes = animation(2, 0, 40, false);
    frame = memmem(bytes.data, bytes.length, "ANMF", 4);
    memcpy(frame + 8 + 16, "XXXX", 4); /* in place of VP8 */
    assert_refused(bytes, "no picture");
    bytes = begin_extended(VP8X_ANIMATED, 40, 10);
    append_chunk(&bytes, "ANMF", "short", 5);
    assert_refused(end_riff(bytes), "a frame is cut off");
}

/* Setting the byte at AT of the picture's own head to VALUE makes the file refused. */
static void assert_bent_refused(bool lossless, size_t at, uint8_t value, const char *words) {
    struct image image = new_waves(40, 30, 3);
    struct bytes bytes = make_webp(&image, lossless);
    bytes.data[20 + at] = value;
    assert_refused(bytes, words);
    free(image.pixels);
}

static void heads_of_pictures(void **state) {
    (void)state;
    assert_bent_refused(false, 0, 1 | 1 << 4, "key frame"); /* one that builds on others */
    assert_bent_refused(false, 0, 4 << 1 | 1 << 4, "key frame");
    assert_bent_refused(false, 0, 0, "key frame"); /* not shown */
    assert_bent_refused(false, 2, 255, "first part");
    assert_bent_refused(false, 3, 0x9e, "key frame");
    assert_bent_refused(false, 6, 0, "a side of its VP8 is 0");
    assert_bent_refused(false, 8, 0, "a side of its VP8 is 0");
    assert_bent_refused(true, 0, 0x2e, "signature");
    assert_bent_refused(true, 4, 0x20, "version");
}

static void too_many_chunks(void **state) {
    (void)state;
    struct image image = new_waves(40, 30, 3);
    struct bytes picture = picture_chunks(&image, false), one = { 0 }, chunks;
    append_chunk(&one, "more", NULL, 0);
    chunks = (struct bytes){ .data = malloc(65536 * one.length), .length = 65536 * one.length };
    assert_non_null(chunks.data);
    for (size_t i = 0; i < 65536; i++) memcpy(chunks.data + i * one.length, one.data, one.length);
    struct bytes bytes = with_bytes(with_bytes(begin_extended(0, 40, 30), &picture), &chunks);
    assert_refused(bytes, "65536 chunks");
    free(picture.data);
    free(chunks.data);
    free(one.data);
    free(image.pixels);
}

/* Limits hold for sides whose product overflows 32 bits. */
static void limits_come_before_memory(void **state) {
    (void)state;
    struct image image = new_waves(16, 16, 3);
    struct bytes picture = picture_chunks(&image, true);
    static const uint32_t sides[][2] = { { 1 << 24, 1 << 24 }, { 65536, 65536 }, { 60000, 60000 } };
    for (int i = 0; i < 3; i++) {
        struct bytes bytes = begin_extended(VP8X_ANIMATED, sides[i][0], sides[i][1]);
        struct probe probe;
        struct failure failure;
        append_frame(&bytes, 0, 0, 16, 16, &picture);
        bytes = end_riff(bytes);
        assert_int_equal(probe_bytes(&bytes, &probe, &failure), STATUS_TOO_LARGE);
        assert_non_null(strstr(failure.message, i < 2 ? "side_max" : "pixels_max"));
        free(bytes.data);
    }
    free(picture.data);
    free(image.pixels);
}

/* At every length: no overread, and no header that is whole before it is. */
static void cut_headers(void **state) {
    (void)state;
    struct bytes files[] = { extended(60, 3, true), animation(2, 2, 20, true) };
    for (int f = 0; f < 2; f++) {
        bool whole = false;
        for (size_t length = 0; length <= files[f].length; length++) {
            struct bytes cut = { malloc(length + !length), length };
            struct probe probe;
            memcpy(cut.data, files[f].data, length);
            const enum status status = probe_bytes(&cut, &probe, NULL);
            assert_int_equal(status, length < 12                    ? STATUS_NOT_AN_IMAGE
                                     : whole || status == STATUS_OK ? STATUS_OK
                                                                    : STATUS_CORRUPT);
            whole = status == STATUS_OK;
            free(cut.data);
        }
        assert_true(whole);
        free(files[f].data);
    }
}

static void least_data(void **state) {
    (void)state;
    struct image image = new_image(600, 400, 3, 8); /* black: as few bytes as there can be */
    for (int lossless = 0; lossless < 2; lossless++) {
        struct bytes bytes = make_webp(&image, lossless);
        struct probe probe;
        struct failure failure;
        assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_OK);
        assert_int_equal(probe.data_bytes, get_le32(bytes.data + 16));
        assert_int_equal(probe.data_bytes_least, lossless ? 8 : 10 + 38 * 25 / 4);
        assert_int_equal(probe_check_data(&probe, false, &failure), STATUS_OK);
        bytes.length = 20 + (lossless ? 5 : 200); /* of 246 */
        assert_int_equal(probe_bytes(&bytes, &probe, NULL), STATUS_OK);
        assert_int_equal(probe_check_data(&probe, false, &failure), STATUS_CORRUPT);
        assert_int_equal(probe_check_data(&probe, true, &failure), STATUS_OK);
        free(bytes.data);
    }
    free(image.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_of_still_pictures),
        cmocka_unit_test(flags_decide_what_counts),
        cmocka_unit_test(nonsense_in_exif_is_upright),
        cmocka_unit_test(facts_of_animations),
        cmocka_unit_test(chunks_that_contradict),
        cmocka_unit_test(frames_that_contradict),
        cmocka_unit_test(heads_of_pictures),
        cmocka_unit_test(too_many_chunks),
        cmocka_unit_test(limits_come_before_memory),
        cmocka_unit_test(cut_headers),
        cmocka_unit_test(least_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

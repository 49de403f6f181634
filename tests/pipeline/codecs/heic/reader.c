// SPDX-License-Identifier: Apache-2.0
/* Small files that x265 has coded, kept for the fuzzer: who may decode them, when that stops, what
 * it may take, and what is left of a damaged one. tests/http/test_heic_in.py compares pixels. */
#include "pipeline/codecs/heic/library.h"
#include "tests/pipeline/codecs/made_files.h"

enum { FILE_MAX = 4096 };

struct file {
    uint8_t bytes[FILE_MAX];
    size_t length;
    struct probe probe;
};

static bool load(const char *name, struct file *file) {
    char path[128];
    struct failure failure;
    if (heic_reading_missing()) return false;
    snprintf(path, sizeof path, "tests/fuzz/corpus/heic/%s.heic", name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    file->length = fread(file->bytes, 1, FILE_MAX, in);
    fclose(in);
    if (probe_image(file->bytes, file->length, &codec_limits_default.probe, &file->probe, &failure))
        fail_msg("%s", failure.message);
    return true;
}

/* Decodes over memory that holds BEFORE; *DIGEST may be NULL. */
static enum status decode(const struct file *file, const struct codec_limits *limits,
                          struct progress *progress, int before, uint64_t *digest,
                          struct metadata *metadata, struct failure *failure) {
    struct image image = file->probe.shape;
    uint32_t notes = 0;
    image.pixels = malloc(image_bytes(&image));
    memset(image.pixels, before, image_bytes(&image));
    *metadata = (struct metadata){ .profile = NULL };
    const enum status status = codec_decode(file->bytes, file->length, &file->probe, limits,
                                            progress, &image, metadata, &notes, failure);
    if (digest) *digest = image_digest(&image);
    assert_int_equal(!(notes & NOTE_DAMAGED), !metadata->warning[0]);
    free(image.pixels);
    return status;
}

static void test_what_is_known_before(void **state) {
    (void)state;
    struct file file;
    if (!load("grid_turned_cropped", &file)) skip();
    assert_int_equal(file.probe.format, FORMAT_HEIC);
    assert_true(file.probe.width == 60 && file.probe.height == 48);
    assert_true(file.probe.shape.width == 48 && file.probe.shape.height == 60);
    assert_true(file.probe.shape.channels == 3 && file.probe.shape.depth == 8);
    assert_true(file.probe.data_bytes == file.probe.data_bytes_least);
    assert_true(load("twelve_bits_444", &file) && file.probe.bits == 12);
    assert_int_equal(file.probe.shape.depth, 16);
    assert_true(load("alpha_icc", &file) && file.probe.profile && file.probe.animated);
    assert_int_equal(file.probe.shape.channels, 4);
}

static void test_who_may_not_and_when_it_stops(void **state) {
    (void)state;
    struct codec_limits limits = codec_limits_default;
    struct progress cancelled = { .cancelled = 1 }, late = { .deadline_ns = 1 };
    struct metadata metadata;
    struct failure failure;
    struct file file;
    if (!load("grid_turned_cropped", &file)) skip();
    assert_int_equal(decode(&file, &limits, NULL, 0, NULL, &metadata, &failure), STATUS_OK);
    assert_int_equal(decode(&file, &limits, &cancelled, 0, NULL, &metadata, &failure),
                     STATUS_CANCELLED);
    assert_int_equal(decode(&file, &limits, &late, 0, NULL, &metadata, &failure), STATUS_DEADLINE);
    limits.memory_max = 1 << 20;
    assert_int_equal(decode(&file, &limits, NULL, 0, NULL, &metadata, &failure), STATUS_TOO_LARGE);
    limits = codec_limits_default;
    limits.exposed = true;
    assert_int_equal(decode(&file, &limits, NULL, 0, NULL, &metadata, &failure), STATUS_INTERNAL);
}

static void test_a_profile_is_kept(void **state) {
    (void)state;
    struct metadata metadata;
    struct failure failure;
    struct file file;
    if (!load("alpha_icc", &file)) skip();
    assert_int_equal(decode(&file, &codec_limits_default, NULL, 0, NULL, &metadata, &failure),
                     STATUS_OK);
    assert_int_equal(metadata.profile_length, 44);
    assert_memory_equal(metadata.profile, "ICC profileICC profile", 22);
    metadata_release(&metadata);
}

/* Neither the memory of before nor noise is seen. */
static void test_damage(void **state) {
    (void)state;
    struct codec_limits limits = codec_limits_default;
    struct metadata metadata;
    struct failure failure;
    struct file file;
    uint64_t digests[2];
    if (!load("one_slice_of_two", &file)) skip();
    assert_int_equal(decode(&file, &limits, NULL, 0, NULL, &metadata, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "missing"));
    limits.accept_damage = true;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(decode(&file, &limits, NULL, 77 * i, &digests[i], &metadata, &failure),
                         STATUS_OK);
        assert_non_null(strstr(metadata.warning, "missing"));
    }
    assert_int_equal(digests[0], digests[1]);
    assert_true(load("two_slices", &file));
    assert_int_equal(decode(&file, &limits, NULL, 0, NULL, &metadata, &failure), STATUS_OK);
    assert_false(metadata.warning[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_known_before),
        cmocka_unit_test(test_who_may_not_and_when_it_stops),
        cmocka_unit_test(test_a_profile_is_kept),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

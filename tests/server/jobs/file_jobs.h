// SPDX-License-Identifier: Apache-2.0
/* file_jobs.h - jobs of all kinds of files, run twice: one by one on the CPU, and together on the
 * device under test. Status, message, notes, values and bytes of the answers must be equal.
 *
 * Used by:  tests/server/jobs/file_scenes.h, codec_choice.c; tests/cuda/lane_codec.c.
 */
#ifndef BURIN_FILE_JOBS_H
#define BURIN_FILE_JOBS_H

#include "server/worker/executor.h"
#include "tests/pipeline/codecs/made_files.h"
#include "tests/pipeline/plan_text.h"

enum { FILE_JOBS_MAX = 64 };

/* Pairs of slots: slot 2 i is for the CPU, 2 i + 1 for the device. */
static struct file_jobs {
    struct slots *slots;
    struct lane *cpu, *device;
    struct executor executor;
    int taken[2 * FILE_JOBS_MAX], count;
    int answers;
    int decoded[CODEC_PLACES], encoded[CODEC_PLACES]; /* on the device's side, by place */
} file_jobs;

/* One of several results. */
struct wish_output {
    int part;
    enum format type;
    int quality;
};

/* The request, beside its plan. */
struct wish {
    enum format type;
    int quality; /* 0: 85 */
    bool json_only, accept_damage;
    uint8_t background;
    int64_t max_bytes;
    int min_quality;
    bool progressive;
    size_t margin; /* bytes in front of the file in the slot: parts of the body */
    const struct wish_output *outputs; /* NULL: one, with the members above */
    int output_count;
};

static void file_jobs_answer(void *context, int slot) {
    (void)context, (void)slot;
    __atomic_add_fetch(&file_jobs.answers, 1, __ATOMIC_RELAXED);
}

/* SPAN bytes a slot, HOT of them kept. */
static inline void file_jobs_open(struct lane *device, size_t hot, size_t span) {
    struct failure failure = { 0 };
    const struct slot_options options = {
        .count = 2 * FILE_JOBS_MAX,
        .base_bytes = hot,
        .span_bytes = span,
    };
    const struct lane_options lanes = { .staging_bytes = 1 << 20 };
    memset(&file_jobs, 0, sizeof file_jobs);
    file_jobs.slots = slots_create(&options, &failure);
    assert_non_null(file_jobs.slots);
    assert_int_equal(device_cpu.open(0, &lanes, &file_jobs.cpu, &failure), STATUS_OK);
    file_jobs.device = device;
    file_jobs.executor = (struct executor){ .slots = file_jobs.slots,
                                            .limits = codec_limits_default,
                                            .codecs = pool_create(3),
                                            .batch_bytes = 64 << 20,
                                            .arena_bytes = 256 << 20,
                                            .answer = file_jobs_answer };
}

static inline void file_jobs_close(void) {
    device_cpu.close(file_jobs.cpu);
    pool_destroy(file_jobs.executor.codecs);
    slots_destroy(file_jobs.slots);
}

/* PROBE: an image that the plan takes. */
static inline uint32_t count_values(const char *text, const struct image *in) {
    struct plan_tree plans;
    struct image shapes[PLAN_STEPS_MAX + 1], middle = *in;
    uint32_t count = 0;
    assert_int_equal(plan_tree_read(&plans, text, NULL), STATUS_OK);
    for (int p = 0; p < plans.count; p++) {
        const struct plan *plan = &plans.parts[p];
        if (plan_shapes(plan, p ? &middle : in, UINT64_MAX, shapes, NULL)) return 0;
        count += (uint32_t)plan_value_count(plan, shapes);
        if (!p) middle = shapes[plan->count];
    }
    return count;
}

static inline void wish_outputs(struct job *job, const struct wish *wish) {
    job->further = wish->outputs ? (uint32_t)wish->output_count - 1 : 0;
    job->checksums = wish->outputs != NULL;
    for (int o = 0; wish->outputs && o < wish->output_count; o++) {
        struct job_output *output = &job->outputs[o];
        output->encode = job->outputs[0].encode;
        output->encode.format = wish->outputs[o].type;
        output->encode.quality = wish->outputs[o].quality;
        output->part = wish->outputs[o].part;
    }
}

static inline void publish_file(int slot, const struct bytes *file, const char *text,
                                const struct wish *wish) {
    struct job *job = slot_job(file_jobs.slots, slot);
    struct failure failure = { 0 };
    memcpy(slot_bytes(file_jobs.slots, slot) + wish->margin, file->data, file->length);
    job->image_offset = wish->margin;
    job->image_length = file->length;
    job->body_length = wish->margin + file->length;
    struct encode_options *encode = &job->outputs[0].encode;
    *encode = encode_options_default;
    encode->format = wish->type;
    encode->quality = wish->quality ? wish->quality : 85;
    encode->max_bytes = wish->max_bytes;
    encode->min_quality = wish->min_quality;
    encode->progressive = wish->progressive;
    encode->metadata = (int)(file->length % METADATA_CHOICES); /* those turned have EXIF */
    if (strstr(text, "srgb")) encode->profile = PROFILE_SRGB;
    encode->background[1] = (uint8_t)(255 - wish->background);
    job->json_only = wish->json_only;
    job->accept_damage = wish->accept_damage;
    job->plan = plan_data_of(text);
    if (probe_image(file->data, file->length, &codec_limits_default.probe, &job->probe, &failure))
        fail_msg("%s", failure.message);
    wish_outputs(job, wish);
    job->value_count = count_values(text, &job->probe.shape);
}

/* FILE is copied. Returns the number of the pair. */
static inline int add_file_job(const struct bytes *file, const char *plan,
                               const struct wish *wish) {
    const int number = file_jobs.count++;
    assert_true(number < FILE_JOBS_MAX);
    for (int side = 0; side < 2; side++) {
        const int slot = slot_take(file_jobs.slots, 1, NULL);
        assert_true(slot >= 0);
        publish_file(slot, file, plan, wish);
        file_jobs.taken[2 * number + side] = slot;
    }
    return number;
}

/* Appends to the slots of pair NUMBER. */
static inline void add_mask(int number, int place, const struct bytes *mask) {
    for (int side = 0; side < 2; side++) {
        struct job *job = slot_job(file_jobs.slots, file_jobs.taken[2 * number + side]);
        struct job_aux *aux = &job->aux[place];
        struct failure failure = { 0 };
        aux->offset = slot_paged(job->body_length);
        aux->length = mask->length;
        job->body_length = aux->offset + aux->length;
        memcpy(slot_bytes(file_jobs.slots, file_jobs.taken[2 * number + side]) + aux->offset,
               mask->data, mask->length);
        assert_int_equal(probe_image(mask->data, mask->length, &codec_limits_default.probe,
                                     &aux->probe, &failure),
                         STATUS_OK);
    }
}

static inline void run_side(struct lane *lane, int side, bool together) {
    int slots[FILE_JOBS_MAX], count = 0;
    for (int i = 0; i < file_jobs.count; i++) slots[count++] = file_jobs.taken[2 * i + side];
    file_jobs.answers = 0;
    for (int i = 0; !together && i < count; i++) {
        struct failure failure = { 0 };
        assert_int_equal(executor_run(&file_jobs.executor, lane, &slots[i], 1, &failure), 0);
    }
    for (int left = count; together && left > 0;) {
        struct failure failure = { 0 };
        left = executor_run(&file_jobs.executor, lane, slots, left, &failure);
        if (failure.status == STATUS_DEVICE) fail_msg("%s", failure.message);
    }
    assert_int_equal(file_jobs.answers, count);
}

static inline void compare_bytes(int number, const char *what, const struct job *a,
                                 const uint8_t *one, size_t length, const uint8_t *other,
                                 size_t other_length) {
    size_t at = 0;
    if (length == other_length && memcmp(one, other, length) == 0) return;
    while (at < length && at < other_length && one[at] == other[at]) at++;
    fail_msg("job %d, %s, %ux%u of %u channels, to %s at quality %d: %s of %zu bytes are %zu on "
             "the device, the first other one at %zu",
             number, plan_text(&a->plan), a->probe.shape.width, a->probe.shape.height,
             a->probe.shape.channels, format_name(a->outputs[0].type), a->outputs[0].encode.quality,
             what, length, other_length, at);
}

/* The CRC-32 of ZIP, bit by bit. */
static inline uint32_t crc_32(const uint8_t *bytes, size_t length) {
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return ~sum;
}

static inline void compare_output(int number, int o, const struct job *a, const uint8_t *from,
                                  const struct job *b, const uint8_t *to) {
    const struct job_output *one = &a->outputs[o], *other = &b->outputs[o];
    char what[32];
    snprintf(what, sizeof what, "result %d", o);
    file_jobs.encoded[other->encoded_by]++;
    if (a->failure.status) return;
    assert_true(image_same_shape(&one->image, &other->image));
    assert_int_equal(one->type, other->type);
    const uint32_t noted[2] = { a->notes | one->notes, b->notes | other->notes };
    if (noted[0] != noted[1])
        fail_msg("job %d: notes %x on the CPU, %x on the device", number, noted[0], noted[1]);
    assert_int_equal(one->fitting.tries, other->fitting.tries);
    assert_int_equal(one->fitting.quality, other->fitting.quality);
    compare_bytes(number, what, a, from + one->offset, one->length, to + other->offset,
                  other->length);
    assert_int_equal(one->checksum, other->checksum);
    if (a->checksums && one->length)
        assert_int_equal(one->checksum, crc_32(from + one->offset, one->length));
    assert_true(other->offset >= b->body_length || !other->length);
    assert_true(other->offset >= b->values_offset + b->values_length || !other->length);
    for (int before = 0; before < o && other->length; before++)
        assert_true(other->offset >= b->outputs[before].offset + b->outputs[before].length ||
                    b->outputs[before].offset >= other->offset + other->length);
}

static inline void compare_pair(int number) {
    const int one = file_jobs.taken[2 * number], other = file_jobs.taken[2 * number + 1];
    const struct job *a = slot_job(file_jobs.slots, one), *b = slot_job(file_jobs.slots, other);
    const uint8_t *from = slot_bytes(file_jobs.slots, one);
    const uint8_t *to = slot_bytes(file_jobs.slots, other);
    if (a->failure.status != b->failure.status ||
        (a->failure.status && strcmp(a->failure.message, b->failure.message) != 0))
        fail_msg("job %d, %s: \"%s\" on the CPU, \"%s\" on the device (decoded by %d, encoded by "
                 "%d)",
                 number, plan_text(&a->plan), a->failure.status ? a->failure.message : "fine",
                 b->failure.status ? b->failure.message : "fine", b->decoded_by,
                 b->outputs[0].encoded_by);
    file_jobs.decoded[b->decoded_by]++;
    for (int o = 0; o < job_output_count(a); o++) compare_output(number, o, a, from, b, to);
    if (a->failure.status) return;
    assert_string_equal(a->warning, b->warning);
    compare_bytes(number, "values", a, from + a->values_offset, a->values_length,
                  to + b->values_offset, b->values_length);
    compare_bytes(number, "the upload", a, from, a->body_length, to, b->body_length);
}

/* Runs all that were added, compares, and forgets them. */
static inline void run_file_jobs(void) {
    run_side(file_jobs.cpu, 0, false);
    run_side(file_jobs.device, 1, true);
    for (int i = 0; i < file_jobs.count; i++) compare_pair(i);
    for (int i = 0; i < 2 * file_jobs.count; i++) slot_give(file_jobs.slots, file_jobs.taken[i]);
    file_jobs.count = 0;
}

/* ---- files */

static inline struct bytes jpeg_of(uint32_t width, uint32_t height, unsigned channels, int h, int v,
                                   unsigned orientation, const struct bytes *profile) {
    struct image image = new_waves(width, height, channels);
    const struct jpeg_recipe recipe = { .image = &image,
                                        .h = channels == 1 ? 1 : h,
                                        .v = channels == 1 ? 1 : v,
                                        .orientation = orientation,
                                        .interval = width % 3,
                                        .profile = profile };
    struct bytes bytes = make_jpeg(&recipe);
    free(image.pixels);
    return bytes;
}

static inline struct bytes progressive_jpeg(uint32_t width, uint32_t height) {
    struct image image = new_waves(width, height, 3);
    const struct jpeg_recipe recipe = { .image = &image, .progressive = true };
    struct bytes bytes = make_jpeg(&recipe);
    free(image.pixels);
    return bytes;
}

static inline struct bytes png_of(uint32_t width, uint32_t height, int type, int depth,
                                  const struct bytes *profile) {
    const struct png_recipe recipe = { .width = width,
                                       .height = height,
                                       .type = type,
                                       .depth = depth,
                                       .profile = profile,
                                       .seed = width };
    return make_png(&recipe);
}

/* A marker in the middle of the scan, which libjpeg reports. */
static inline void damage_jpeg(struct bytes *bytes) {
    const uint8_t *scan = memmem(bytes->data, bytes->length, "\xff\xda", 2);
    const size_t start = (size_t)(scan - bytes->data);
    memcpy(bytes->data + start + (bytes->length - start) / 2, "\xff\xe5", 2);
}

static inline void add_and_free(struct bytes file, const char *plan, const struct wish *wish) {
    add_file_job(&file, plan, wish);
    free(file.data);
}

/* Files of every kind in different sizes, at least WIDTH x HEIGHT. */
static inline void add_all_kinds(const char *plan, const struct wish *wish, uint32_t width,
                                 uint32_t height) {
    struct bytes rgb = new_profile(600, "RGB "), gray = new_profile(400, "GRAY");
    struct bytes long_one = new_profile(40000, "RGB "), damaged;
    static const int samplings[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 } };
    for (unsigned o = 1; o <= 8; o++)
        add_and_free(jpeg_of(width + o, height + 2 * o, 3, 2, 2, o, NULL), plan, wish);
    for (int s = 0; s < 4; s++) {
        const int h = samplings[s][0], v = samplings[s][1];
        add_and_free(jpeg_of(width + 9, height, 3, h, v, 0, s % 2 ? &rgb : NULL), plan, wish);
    }
    add_and_free(jpeg_of(width, height + 3, 1, 1, 1, 5, &gray), plan, wish);
    add_and_free(jpeg_of(width, height + 4, 1, 1, 1, 0, &rgb), plan, wish);
    add_and_free(jpeg_of(width, height + 5, 3, 2, 2, 0, &gray), plan, wish);
    add_and_free(jpeg_of(width, height + 6, 3, 2, 2, 0, &long_one), plan, wish);
    add_and_free(jpeg_of(width, height + 7, 4, 1, 1, 0, NULL), plan, wish);
    add_and_free(progressive_jpeg(width + 3, height), plan, wish);
    damaged = jpeg_of(width + 40, height + 40, 3, 2, 2, 0, NULL);
    damage_jpeg(&damaged);
    add_and_free(damaged, plan, wish);
    add_and_free(png_of(width, height, PNG_COLOR_TYPE_RGB, 8, NULL), plan, wish);
    add_and_free(png_of(width + 7, height, PNG_COLOR_TYPE_RGB, 8, &rgb), plan, wish);
    add_and_free(png_of(width + 8, height, PNG_COLOR_TYPE_GRAY, 8, NULL), plan, wish);
    add_and_free(png_of(width + 1, height, PNG_COLOR_TYPE_RGB, 16, NULL), plan, wish);
    add_and_free(png_of(width + 2, height, PNG_COLOR_TYPE_RGB_ALPHA, 8, NULL), plan, wish);
    add_and_free(png_of(width + 3, height, PNG_COLOR_TYPE_GRAY_ALPHA, 8, NULL), plan, wish);
    damaged = png_of(width + 4, height, PNG_COLOR_TYPE_RGB, 8, NULL);
    memset(damaged.data + damaged.length / 2, 0, 9);
    add_and_free(damaged, plan, wish);
    free(rgb.data);
    free(gray.data);
    free(long_one.data);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* Batches of which a device decodes some files by itself: who decodes what, and that every job gets
 * the answer that it gets without. The device is the CPU, with a decoder put in. */
#include "server/jobs/carry.h"

#include "pipeline/registry.h"
#include "tests/pipeline/codec_make.h"

enum {
    JOBS = 6,
    WIDTH = 40,
    HEIGHT = 24,
    FILE_MAX = 32 << 10,
    STAGING = 1 << 20,
    PLANE_BYTES = 20000, /* of `work` for each JPEG: more than the operators here take */
    STALE = 0x3c,        /* what lies in memory before anybody writes there */
    DECODE_MS = 1000000, /* no core takes as long */
};

static struct slots *slots;
static struct lane *lane;
static struct carrier carrier;
static int answers;

/* ---- a device whose memory is its own: it has what was uploaded or decoded, and nothing else */

static struct {
    uint8_t *in, *work;
    size_t in_bytes, work_bytes;
    bool queued;  /* work that nobody has waited for */
    bool refuses; /* its decoder */
    int calls, jpegs;
} device;

static enum status reserve(struct lane *of, const struct lane_need *need, struct failure *failure) {
    assert_false(device.queued);
    const enum status status = device_cpu.reserve(of, need, failure);
    assert_int_equal(status, STATUS_OK);
    free(device.in);
    free(device.work);
    device.in = malloc(device.in_bytes = need->in); /* exact, so that a sanitizer sees more */
    device.work = malloc((device.work_bytes = need->work) + 1);
    memset(of->host_in, STALE, need->in);
    memset(device.in, STALE + 1, need->in);
    of->in = device.in;
    of->work = device.work;
    return STATUS_OK;
}

static enum status upload(struct lane *of, size_t bytes, struct failure *failure) {
    (void)failure;
    assert_in_range(bytes, 0, device.in_bytes);
    memcpy(of->in, of->host_in, bytes);
    return STATUS_OK;
}

static enum status finish(struct lane *of, struct lane_times *times, struct timing *spans,
                          struct failure *failure) {
    device.queued = false;
    const enum status status = device_cpu.finish(of, times, spans, failure);
    times->decode_ms = DECODE_MS;
    return status;
}

static size_t decode_work(struct lane *of, const struct device_jpeg *jpegs, int count) {
    (void)of, (void)jpegs;
    return (size_t)count * PLANE_BYTES;
}

/* Spoils all of `work` that it asked for, as planes of samples do. */
static bool decode(struct lane *of, const struct device_jpeg *jpegs, int count) {
    device.calls++;
    if (device.refuses) return false;
    device.jpegs += count;
    device.queued = true;
    assert_in_range(decode_work(of, jpegs, count), 0, device.work_bytes);
    memset(of->work, 0xa5, decode_work(of, jpegs, count));
    for (int i = 0; i < count; i++) {
        struct probe probe;
        struct failure failure;
        uint32_t notes = 0;
        const struct image *into = &jpegs[i].into;
        assert_true(into->pixels >= device.in &&
                    into->pixels + image_bytes(into) <= device.in + device.in_bytes);
        probe_image(jpegs[i].bytes, jpegs[i].length, &carrier.limits.probe, &probe, &failure);
        assert_int_equal(codec_decode(jpegs[i].bytes, jpegs[i].length, &probe, &carrier.limits,
                                      NULL, into, NULL, &notes, &failure),
                         STATUS_OK);
    }
    return true;
}

static void decoder_begin(bool on, bool refuses) {
    lane->jpegs = on;
    device.refuses = refuses;
    device.calls = device.jpegs = answers = 0;
}

static void note_answer(void *context, int slot) {
    (void)context, (void)slot;
    answers++;
}

/* ---- jobs */

/* What the jobs of carry_all are beside their plan. */
static struct {
    enum format type; /* of the answers; FORMAT_NONE: PNM */
    bool mask, profiled;
} request;

static struct bytes profile_of(unsigned channels) {
    return new_profile(700, channels == 1 ? "GRAY" : "RGB ");
}

/* A slope, other for every SEED, as FORMAT. */
static size_t make_file(enum format format, unsigned channels, unsigned seed, uint8_t *bytes) {
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    struct image image = image_shape(WIDTH, HEIGHT, (uint8_t)channels, 8);
    struct encode_options options = encode_options_default;
    struct failure failure;
    uint32_t notes = 0;
    size_t length = 0;
    image.stride = WIDTH * channels;
    image.pixels = pixels;
    for (unsigned i = 0; i < WIDTH * HEIGHT * channels; i++)
        pixels[i] = (uint8_t)(i * 7 / channels % 200 + seed * 9);
    options.format = format;
    const struct bytes profile = profile_of(channels);
    const struct metadata metadata = { profile.data, profile.length };
    assert_int_equal(codec_encode(&image, request.profiled ? &metadata : NULL, &options, NULL,
                                  bytes, FILE_MAX, &length, &notes, &failure),
                     STATUS_OK);
    free(profile.data);
    return length;
}

/* A mask behind the image: its left half is white. */
static void add_mask(struct job *job, uint8_t *bytes) {
    struct failure failure;
    struct job_part *part = &job->parts[0];
    part->offset = job->body_length;
    uint8_t *to = bytes + part->offset;
    const int head = sprintf((char *)to, "P5\n%d %d\n255\n", WIDTH, HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) to[head + i] = i % WIDTH < WIDTH / 2 ? 255 : 0;
    part->length = (uint64_t)head + WIDTH * HEIGHT;
    job->body_length += part->length;
    assert_int_equal(probe_image(to, part->length, &carrier.limits.probe, &part->probe, &failure),
                     STATUS_OK);
}

static int publish(const char *plan, enum format format, unsigned channels, unsigned seed) {
    struct failure failure = { 0 };
    const int slot = slot_take(slots, FILE_MAX, &failure);
    assert_true(slot >= 0);
    struct job *job = slot_job(slots, slot);
    uint8_t *to = slot_bytes(slots, slot);
    job->image_length = job->body_length = make_file(format, channels, seed, to);
    job->type = request.type ? request.type : FORMAT_PNM;
    if (request.mask) add_mask(job, to);
    job->quality = 85;
    snprintf(job->plan, sizeof job->plan, "%s", plan);
    assert_int_equal(
        probe_image(to, job->image_length, &carrier.limits.probe, &job->probe, &failure),
        STATUS_OK);
    return slot;
}

static const enum format formats[JOBS] = { FORMAT_JPEG, FORMAT_PNM,  FORMAT_JPEG,
                                           FORMAT_PNG,  FORMAT_JPEG, FORMAT_JPEG };

/* What is demanded of an answered job besides. */
static void (*look_at)(int index, const struct job *job, const uint8_t *answer);

/* All JOBS in one batch; their answers one behind the other. */
static size_t carry_all(const char *plan, unsigned channels, uint8_t *answer_bytes) {
    int of[JOBS], all[JOBS];
    size_t length = 0;
    for (int i = 0; i < JOBS; i++)
        of[i] = all[i] = publish(plan, formats[i], channels, (unsigned)i);
    struct failure failure = { 0 };
    assert_int_equal(carry_batch(&carrier, lane, of, JOBS, &failure), 0);
    assert_int_equal(answers, JOBS);
    assert_false(device.queued);
    for (int i = 0; i < JOBS; i++) {
        const struct job *job = slot_job(slots, all[i]);
        if (job->failure.status) fail_msg("job %d: %s", i, job->failure.message);
        if (look_at) look_at(i, job, slot_bytes(slots, all[i]) + job->result_offset);
        memcpy(answer_bytes + length, slot_bytes(slots, all[i]) + job->result_offset,
               job->result_length);
        length += job->result_length;
        slot_give(slots, all[i]);
    }
    return length;
}

/* ---- tests */

static void same_answers_whoever_decodes(void **state) {
    (void)state;
    static const char *const plans[] = { "brightness:shift=10", "histeq", "edge",
                                         "grayscale;histeq;threshold:level=90" };
    static uint8_t plain[JOBS * FILE_MAX], ours[JOBS * FILE_MAX];
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++)
        for (unsigned channels = 1; channels <= 3; channels += 2) {
            decoder_begin(false, false);
            const size_t length = carry_all(plans[p], channels, plain);
            assert_int_equal(device.calls, 0);
            decoder_begin(true, false);
            assert_int_equal(carry_all(plans[p], channels, ours), length);
            assert_int_equal(device.calls, 1);
            assert_int_equal(device.jpegs, 4);
            assert_memory_equal(plain, ours, length);
            decoder_begin(true, true);
            assert_int_equal(carry_all(plans[p], channels, ours), length);
            assert_int_equal(device.calls, 1);
            assert_memory_equal(plain, ours, length);
        }
}

/* Parts are uploaded with their images in one piece, and no operator waits for a plan without one:
 * the cores decode all of such batches. */
static void cores_decode_where_the_device_cannot(void **state) {
    (void)state;
    static uint8_t plain[JOBS * FILE_MAX], ours[JOBS * FILE_MAX];
    if (!registry_find("carve")) skip(); /* the one that takes parts; left out of the program */
    for (int mask = 0; mask <= 1; mask++) {
        const char *plan = mask ? "carve:dx=-3" : "";
        request.mask = mask;
        decoder_begin(false, false);
        const size_t length = carry_all(plan, 3, plain);
        decoder_begin(true, false);
        assert_int_equal(carry_all(plan, 3, ours), length);
        assert_int_equal(device.calls, 0);
        assert_memory_equal(plain, ours, length);
    }
    request.mask = false;
    decoder_begin(true, false);
    carry_all("carve:dx=-3", 3, ours); /* without a mask it can */
    assert_int_equal(device.jpegs, 4);
    assert_memory_not_equal(plain, ours, JOBS * (WIDTH - 3) * HEIGHT);
}

static void look_at_profile(int index, const struct job *job, const uint8_t *answer) {
    (void)index;
    const struct bytes profile = profile_of(job->result.channels);
    const struct bytes bytes = { (uint8_t *)(uintptr_t)answer, job->result_length };
    struct metadata metadata = { 0 };
    struct image image = must_decode(&bytes, &metadata, NULL);
    assert_int_equal(metadata.profile_length, formats[index] == FORMAT_PNM ? 0 : profile.length);
    if (metadata.profile_length)
        assert_memory_equal(metadata.profile, profile.data, profile.length);
    metadata_release(&metadata);
    free(image.pixels);
    free(profile.data);
}

static void profiles_are_kept(void **state) {
    (void)state;
    static uint8_t ours[JOBS * FILE_MAX];
    request.type = FORMAT_PNG;
    request.profiled = true;
    look_at = look_at_profile;
    for (unsigned channels = 1; channels <= 3; channels += 2)
        for (int refuses = 0; refuses <= 1; refuses++) {
            decoder_begin(true, refuses);
            carry_all("brightness:shift=10", channels, ours);
            assert_int_equal(device.jpegs, refuses ? 0 : 4);
        }
    look_at = NULL;
    request.type = FORMAT_NONE;
    request.profiled = false;
}

/* The time of the device's decoder is told of those that it decodes, on top of the core's. */
static void look_at_time(int index, const struct job *job, const uint8_t *answer) {
    (void)answer;
    const double ms = job->timing.stage_ms[STAGE_DECODE];
    const bool device_decoded = formats[index] == FORMAT_JPEG && !device.refuses;
    assert_true(ms > (device_decoded ? DECODE_MS : 0));
    assert_true(ms < (device_decoded ? 2 * DECODE_MS : DECODE_MS));
}

static void times_are_told(void **state) {
    (void)state;
    static uint8_t ours[JOBS * FILE_MAX];
    look_at = look_at_time;
    for (int refuses = 0; refuses <= 1; refuses++) {
        decoder_begin(true, refuses);
        carry_all("edge", 3, ours);
    }
    look_at = NULL;
}

/* A file cut off goes to the cores, which refuse it; its neighbours are decoded by the device. */
static void broken_files_go_to_the_cores(void **state) {
    (void)state;
    int of[3], all[3];
    decoder_begin(true, false);
    for (int i = 0; i < 3; i++)
        of[i] = all[i] = publish("brightness:shift=10", FORMAT_JPEG, 3, (unsigned)i);
    slot_job(slots, all[0])->image_length -= 40;
    struct failure failure = { 0 };
    assert_int_equal(carry_batch(&carrier, lane, of, 3, &failure), 0);
    assert_int_equal(answers, 3);
    assert_int_equal(device.jpegs, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(slot_job(slots, all[i])->failure.status, i ? STATUS_OK : STATUS_CORRUPT);
        slot_give(slots, all[i]);
    }
}

/* Even where nobody is left to be answered, what the device was given is waited for: its bytes lie
 * in slots that go to others. */
static void cancelled_ones_are_told_so(void **state) {
    (void)state;
    for (int left = 0; left <= 1; left++) {
        int of[2], all[2];
        decoder_begin(true, false);
        for (int i = 0; i < 2; i++)
            of[i] = all[i] = publish("brightness:shift=10", FORMAT_JPEG, 3, (unsigned)i);
        for (int i = left; i < 2; i++) slot_job(slots, all[i])->progress.cancelled = 1;
        struct failure failure = { 0 };
        assert_int_equal(carry_batch(&carrier, lane, of, 2, &failure), 0);
        assert_int_equal(answers, 2);
        assert_true(device.jpegs >= 2); /* where all fail, each is tried once more by itself */
        assert_false(device.queued);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(slot_job(slots, all[i])->failure.status,
                             i < left ? STATUS_OK : STATUS_CANCELLED);
            slot_give(slots, all[i]);
        }
    }
}

static int open_all(void **state) {
    (void)state;
    static struct device_driver driver;
    struct failure failure = { 0 };
    const struct slot_options options = {
        .classes = { { JOBS, 64 << 10 }, { 0, 0 }, { 0, 0 } },
        .span_bytes = 4 << 20,
    };
    const struct lane_options lanes = { .staging_bytes = STAGING };
    slots = slots_create(&options, &failure);
    if (!slots || device_cpu.open(0, &lanes, &lane, &failure)) return 1;
    driver = device_cpu;
    driver.reserve = reserve;
    driver.upload = upload;
    driver.finish = finish;
    driver.decode_work = decode_work;
    driver.decode = decode;
    lane->driver = &driver;
    carrier = (struct carrier){ .slots = slots,
                                .limits = codec_limits_default,
                                .batch_bytes = STAGING,
                                .answer = note_answer };
    return 0;
}

static int close_all(void **state) {
    (void)state;
    free(device.in);
    free(device.work);
    device_cpu.close(lane);
    slots_destroy(slots);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_answers_whoever_decodes),
        cmocka_unit_test(cores_decode_where_the_device_cannot),
        cmocka_unit_test(profiles_are_kept),
        cmocka_unit_test(times_are_told),
        cmocka_unit_test(broken_files_go_to_the_cores),
        cmocka_unit_test(cancelled_ones_are_told_so),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}

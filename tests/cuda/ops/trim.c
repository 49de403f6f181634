// SPDX-License-Identifier: Apache-2.0
/* find_trim and trim on framed pictures, one frame beside another in a batch: both devices find and
 * cut the same, and what follows in the plan gets the same.
 * covers: cuda/ops/find_trim.cu cuda/ops/trim.cu
 */
#include "pipeline/registry.h"
#include "pipeline/sample.h"
#include "tests/cuda/twin_batch.h"
#include "tests/noise.h"

enum { SIZES = 8 };

static const uint32_t sizes[SIZES][2] = { { 1, 1 },    { 1, 40 },    { 70, 1 },  { 61, 50 },
                                          { 200, 90 }, { 1023, 77 }, { 33, 33 }, { 640, 480 } };

/* A frame of level 80, then noise from 100 on; both as wide as NUMBER says. Every eighth picture is
 * frame alone. Of one pixel in nine alpha is 0, whatever its colour. */
static void draw(const struct image *in, int number) {
    uint32_t state = 7u + (uint32_t)number;
    const uint32_t n = (uint32_t)number, scale = in->depth == 16 ? 257 : 1;
    const uint32_t left = n * 5 % (in->width + 1) / 2, top = n * 3 % (in->height + 1) / 2;
    const uint32_t right = n * 11 % (in->width + 1) / 3, bottom = n * 7 % (in->height + 1) / 3;
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            const bool inner = x >= left && x + right < in->width && y >= top &&
                               y + bottom < in->height && number % 8 != 7;
            noise_next(&state);
            const bool hidden = in->channels % 2 == 0 && (state >> 16) % 9 == 0 && x + y;
            for (unsigned c = 0; c < in->channels; c++) {
                noise_next(&state);
                const bool alpha = in->channels % 2 == 0 && c == in->channels - 1u;
                const uint32_t sample = alpha    ? 255 * !hidden
                                        : hidden ? (state >> 16) % 256
                                        : inner  ? 100 + (state >> 16) % 156
                                                 : 80 + (state >> 16) % 6;
                sample_put(image_row(in, y), (size_t)x * in->channels + c, in->depth,
                           sample * scale);
            }
        }
}

static void finders(void **state) {
    (void)state;
    static const char *const plans[] = { "find_trim", "find_trim:tolerance=0",
                                         "find_trim:color=525252", "find_trim:color=52525200" };
    struct job *job = calloc(1, sizeof *job);
    job->draw = draw;
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++)
        for (unsigned kind = 0; kind < 8; kind++)
            for (int padding = 0; padding < PADDINGS; padding++) {
                assert_int_equal(plan_parse(&job->plan, plans[p], NULL), STATUS_OK);
                snprintf(job->name, sizeof job->name, "%s, kind %u, padding %d", plans[p], kind,
                         padding);
                job->count = 0;
                for (int i = 0; i < RUN_BATCH_MAX; i++)
                    add_image(job,
                              image_shape(sizes[i % SIZES][0], sizes[i % SIZES][1], 1 + kind % 4,
                                          kind < 4 ? 8 : 16),
                              (enum padding)padding);
                compare(job);
            }
    free(job);
}

/* ---- plans */

enum { COUNT = 2 * SIZES };

/* The image as it comes must be large enough for each operator's example. */
static const uint32_t framed[SIZES][2] = { { 300, 260 }, { 261, 290 }, { 401, 350 }, { 320, 270 },
                                           { 523, 277 }, { 283, 263 }, { 340, 280 }, { 299, 301 } };

static enum status run_plan(struct lane *on, const struct plan *plan, unsigned kind,
                            struct run_item items[COUNT], struct failure *failure) {
    memset(items, 0, COUNT * sizeof *items);
    for (int i = 0; i < COUNT; i++)
        items[i].in = image_shape(framed[i % SIZES][0], framed[i % SIZES][1], 1 + kind % 4,
                                  kind < 4 ? 8 : 16);
    const enum status status = run_reserve(on, plan, items, COUNT, UINT64_C(1) << 30, failure);
    for (int i = 0; i < COUNT && !status; i++) draw(&items[i].in, i);
    return status ? status : run_batch(on, plan, items, COUNT, failure);
}

static void compare_plan(struct lane *cpu, const char *text, unsigned kind) {
    static struct run_item on_cpu[COUNT], on_gpu[COUNT];
    struct plan plan;
    struct failure failure = { 0 };
    if (plan_parse(&plan, text, &failure)) fail_msg("%s: %s", text, failure.message);
    const enum status status = run_plan(cpu, &plan, kind, on_cpu, &failure);
    if (status || run_plan(lane, &plan, kind, on_gpu, &failure))
        fail_msg("%s, kind %u: %s", text, kind, failure.message);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(on_cpu[i].failure.status, on_gpu[i].failure.status);
        if (on_cpu[i].failure.status) continue;
        if (image_digest(&on_cpu[i].out) != image_digest(&on_gpu[i].out))
            fail_msg("%s, kind %u: picture %d differs", text, kind, i);
        for (int s = 0; s < plan.count; s++)
            if (memcmp(on_cpu[i].values[s].numbers, on_gpu[i].values[s].numbers,
                       values_bytes(&on_cpu[i].values[s].shape)) != 0)
                fail_msg("%s, kind %u: values %d of picture %d differ", text, kind, s, i);
    }
}

/* Every operator with its examples, for which some pictures are too small when they are cut. */
static void every_operator_behind_trim(void **state) {
    (void)state;
    struct lane *cpu;
    const struct lane_options options = { .staging_bytes = STAGING };
    assert_int_equal(device_cpu.open(0, &options, &cpu, NULL), STATUS_OK);
    for (int o = 0; o < registry_count(); o++) {
        const struct op *op = registry_at(o);
        struct plan plan = { .count = 1, .steps = { { .op = op } } };
        char text[512] = "trim;";
        params_init(&plan.steps[0].params, op->params);
        for (int i = 0; op->params[i].type; i++) {
            if (op->params[i].example) plan.steps[0].params.number[i] = op->params[i].example;
            if (!param_is_list(op->params[i].type)) continue;
            plan.steps[0].params.tap_count = 9;
            for (int t = 0; t < 9; t++) plan.steps[0].params.taps[t] = 1 + t % 2;
        }
        if (op->by_profile || op->aux[0].kind == AUX_PICTURE ||
            plan_print(&plan, text + 5, sizeof text - 5, NULL))
            continue;
        for (unsigned kind = 0; kind < 8; kind++) compare_plan(cpu, text, kind);
    }
    compare_plan(cpu, "mean;flip;trim;resize:width=500;histogram;trim;mean", 2);
    compare_plan(cpu, "trim;trim;trim;trim;trim;trim;trim;trim;trim;trim", 3);
    device_cpu.close(cpu);
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finders),
        cmocka_unit_test(every_operator_behind_trim),
    };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}

// SPDX-License-Identifier: Apache-2.0
#include "server/bench.h"

#include "pipeline/pool.h"
#include "server/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- options */

static bool set_device(struct bench_options *options, const char *value) {
    options->device = value; /* bench_open judges it */
    return true;
}

static bool set_pixels_max(struct bench_options *options, const char *value) {
    return param_integer(value, &options->pixels_max) && options->pixels_max >= 0;
}

static bool set_repeats(struct bench_options *options, const char *value) {
    long number = 0;
    const bool good = param_integer(value, &number) && number >= 1 && number <= 1000;
    options->repeats = (int)number;
    return good;
}

static const struct option {
    const char *name, *range;
    bool (*set)(struct bench_options *options, const char *value);
} table[] = {
    { "--device", "all, cpu, cuda or cuda:N", set_device },
    { "--pixels-max", "a number of pixels, or 0 for every size", set_pixels_max },
    { "--repeats", "1..1000", set_repeats },
};

/* VALUE may be NULL. A message, and false, where it is not understood. */
static bool take_option(struct bench_options *options, const char *name, const char *value) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(name, table[i].name) != 0) continue;
        if (value && table[i].set(options, value)) return true;
        if (value)
            fprintf(stderr, "burin bench: %s must be %s, not \"%s\"\n", name, table[i].range,
                    value);
        else
            fprintf(stderr, "burin bench: %s needs a value: %s\n", name, table[i].range);
        return false;
    }
    fprintf(stderr, "burin bench: there is no option \"%s\"; see burin bench --help\n", name);
    return false;
}

/* Words that are no options stay, moved to the front. */
bool bench_options(struct bench_options *options, int argc, char **argv) {
    *options = (struct bench_options){ .device = "all", .repeats = BENCH_REPEATS };
    options->files = argv + 1;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            options->files[options->file_count++] = argv[i];
        } else if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else {
            if (!take_option(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) return false;
            i++;
        }
    }
    return true;
}

bool bench_takes_no_words(const struct bench_options *options) {
    if (options->file_count == 0) return true;
    fprintf(stderr, "burin bench: this one takes no files, and \"%s\" is no option of it\n",
            options->files[0]);
    return false;
}

/* ---- lanes */

static int add_lane(struct bench_lane *lanes, int count, const struct device_driver *driver,
                    int index, int threads, bool *whole) {
    struct bench_lane *lane = &lanes[count];
    struct failure failure = { 0 };
    *lane = (struct bench_lane){ .gpu = driver != &device_cpu };
    if (lane->gpu)
        snprintf(lane->name, sizeof lane->name, "%s:%d", driver->kind, index);
    else
        snprintf(lane->name, sizeof lane->name, "cpu, %d core%s", threads, threads == 1 ? "" : "s");
    if (threads > 1) lane->pool = pool_create(threads);
    const struct lane_options options = { .staging_bytes = 64 << 20,
                                          .arena_bytes = 256 << 20,
                                          .pool = lane->pool };
    if (driver->open(index, &options, &lane->lane, &failure)) {
        fprintf(stderr, "burin bench: %s: %s\n", lane->name, failure.message);
        pool_destroy(lane->pool);
        *whole = false;
        return count;
    }
    return count + 1;
}

static int add_cpu(struct bench_lane *lanes, int count, bool *whole) {
    struct device_info facts;
    device_cpu.describe(0, &facts, NULL);
    count = add_lane(lanes, count, &device_cpu, 0, 1, whole);
    if (facts.multiprocessors == 1) return count;
    return add_lane(lanes, count, &device_cpu, 0, facts.multiprocessors, whole);
}

int bench_open(const struct bench_options *options, struct bench_lane lanes[BENCH_LANES_MAX],
               bool *whole) {
    const struct device_driver *driver;
    struct failure failure = { 0 };
    int index, count = 0;
    *whole = true;
    if (strcmp(options->device, "all") != 0) {
        if (device_choose(options->device, &driver, &index, &failure)) {
            fprintf(stderr, "burin bench: %s\n", failure.message);
            return -1;
        }
        return driver == &device_cpu ? add_cpu(lanes, 0, whole)
                                     : add_lane(lanes, 0, driver, index, 1, whole);
    }
    count = add_cpu(lanes, 0, whole);
    for (index = 0; index < device_cuda.count() && count < BENCH_LANES_MAX; index++)
        count = add_lane(lanes, count, &device_cuda, index, 1, whole);
    return count;
}

void bench_close(struct bench_lane *lanes, int count) {
    for (int i = 0; i < count; i++) {
        lanes[i].lane->driver->close(lanes[i].lane);
        pool_destroy(lanes[i].pool);
    }
}

/* ---- measuring */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

static double median(const struct timing *runs, int count, size_t offset) {
    double *values = malloc((size_t)count * sizeof *values);
    if (!values) return 0;
    for (int i = 0; i < count; i++)
        memcpy(&values[i], (const char *)&runs[i] + offset, sizeof *values);
    const double middle = bench_median(values, count);
    free(values);
    return middle;
}

static void take_medians(const struct timing *runs, int count, struct bench_times *times) {
#define STAGE(stage)                                                                               \
    median(runs, count, offsetof(struct timing, stage_ms) + (stage) * sizeof(double))
    times->upload = STAGE(STAGE_UPLOAD);
    times->compute = STAGE(STAGE_COMPUTE);
    times->download = STAGE(STAGE_DOWNLOAD);
#undef STAGE
    times->span_count = 0;
    for (int i = 0; i < runs->span_count && times->span_count < BENCH_SPANS_MAX; i++) {
        if (runs->spans[i].level == 0) continue;
        struct span *span = &times->spans[times->span_count++];
        *span = runs->spans[i];
        span->ms = median(runs, count,
                          offsetof(struct timing, spans) + (size_t)i * sizeof(struct span) +
                              offsetof(struct span, ms));
    }
}

/* Not counted: a core that was idle takes some time to reach its clock. */
static enum status warm_up(struct lane *lane, const struct plan *plan, struct run_item *item,
                           struct failure *failure) {
    enum { WARM_MS = 100 };
    const int64_t until = clock_ns() + WARM_MS * INT64_C(1000000);
    enum status status;
    item->timing = NULL;
    do status = run_batch(lane, plan, item, 1, failure);
    while (!status && clock_ns() < until);
    return status;
}

enum status bench_measure(struct lane *lane, const struct plan *plan, struct image shape,
                          void (*draw)(const struct image *image, const void *context),
                          const void *context, int repeats, struct bench_times *times,
                          struct failure *failure) {
    struct run_item item = { .in = shape };
    struct timing *runs = calloc((size_t)repeats, sizeof *runs);
    enum status status = runs ? run_reserve(lane, plan, &item, 1, UINT64_MAX, failure)
                              : fail(failure, STATUS_NO_MEMORY, "no memory for the measurements");
    if (!status) draw(&item.in, context);
    if (!status) status = warm_up(lane, plan, &item, failure);
    for (int i = 0; !status && i < repeats; i++) {
        item.timing = &runs[i];
        status = run_batch(lane, plan, &item, 1, failure);
    }
    if (!status) take_medians(runs, repeats, times);
    free(runs);
    return status;
}

enum status bench_check(const struct bench_lane *lane, const struct image *expected,
                        struct failure *failure) {
    struct image got = *expected;
    got.pixels = lane->lane->host_out;
    for (uint32_t y = 0; expected->pixels && y < got.height; y++)
        if (memcmp(image_row(&got, y), image_row(expected, y), image_row_bytes(&got)) != 0)
            return fail(failure, STATUS_INTERNAL, "its result is wrong in row %u", y);
    return STATUS_OK;
}

bool bench_has_both(const struct bench_lane *lanes, int count) {
    return !lanes[0].gpu && lanes[count - 1].gpu;
}

void bench_noise(const struct image *image, const void *context) {
    (void)context;
    uint64_t state = 88172645463325252u;
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t *row = image_row(image, y);
        for (size_t i = 0; i < image_row_bytes(image); i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* xorshift64 */
            row[i] = (uint8_t)(state >> 32);
        }
    }
}

/* ---- where it was measured */

static void today(char *text, size_t size) {
    const time_t now = time(NULL);
    struct tm utc;
    strftime(text, size, "%Y-%m-%d", gmtime_r(&now, &utc));
}

json_t *bench_machine(void) {
    char date[16];
    struct device_info facts;
    today(date, sizeof date);
    device_cpu.describe(0, &facts, NULL);
    json_t *gpus = json_array();
    json_t *machine =
        json_pack("{s:s, s:s, s:s, s:i, s:o}", "date", date, "version", version_text(), "cpu",
                  facts.name, "cores", facts.multiprocessors, "gpus", gpus);
    for (int i = 0; i < device_cuda.count(); i++)
        if (device_cuda.describe(i, &facts, NULL) == STATUS_OK)
            json_array_append_new(gpus, json_string(facts.name));
    return machine;
}

void bench_print_machine(void) {
    json_t *machine = bench_machine();
    const json_t *gpus = json_object_get(machine, "gpus");
    printf("%s, burin %s, %s (%lld cores)", json_string_value(json_object_get(machine, "date")),
           version_text(), json_string_value(json_object_get(machine, "cpu")),
           (long long)json_integer_value(json_object_get(machine, "cores")));
    for (size_t i = 0; i < json_array_size(gpus); i++)
        printf(", %s", json_string_value(json_array_get(gpus, i)));
    printf("\n\n");
    json_decref(machine);
}

/* ---- a subcommand */

int bench_command(const char *name, bench_words words, bench_rows measure, int argc, char **argv) {
    struct bench_options options;
    struct bench_lane lanes[BENCH_LANES_MAX];
    bool whole;
    if (!bench_options(&options, argc, argv) || !words(&options)) return 2;
    const int count = bench_open(&options, lanes, &whole);
    if (count <= 0) return count ? 2 : 1;
    if (!options.json) bench_print_machine();
    json_t *rows = json_array();
    const bool good = measure(&options, lanes, count, rows);
    bench_close(lanes, count);
    json_t *result =
        json_pack("{s:s, s:o, s:o}", "bench", name, "machine", bench_machine(), "rows", rows);
    if (options.json) json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    json_decref(result);
    return good && whole ? 0 : 1;
}

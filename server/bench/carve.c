// SPDX-License-Identifier: Apache-2.0
/* burin bench carve: the figures 5.8 to 5.16 of work 5 - the share of each step by width and by
 * height, CPU against GPU by width, height, square size and number of seams - and a sweep over
 * sizes up to 64 megapixels. */
#include "server/bench/bench.h"

#include "server/bench/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 16, REPEATS_MAX = 5 };

struct carve_case {
    uint32_t width, height;
    int columns, rows; /* seams to take out */
};

/* One figure: its cases differ in one thing. */
struct series {
    const char *name, *summary;
    struct carve_case cases[CASES_MAX]; /* width 0 ends them */
};

static const struct series all_series[] = {
    { "width",
      "height 2048, by width (figures 5.8, 5.9, 5.12)",
      { { 64, 2048, 16, 0 },
        { 128, 2048, 16, 0 },
        { 256, 2048, 16, 0 },
        { 512, 2048, 16, 0 },
        { 1024, 2048, 16, 0 },
        { 2048, 2048, 16, 0 },
        { 4096, 2048, 16, 0 },
        { 8192, 2048, 16, 0 } } },
    { "height",
      "width 2048, by height (figures 5.10, 5.11, 5.13)",
      { { 2048, 32, 16, 0 },
        { 2048, 64, 16, 0 },
        { 2048, 128, 16, 0 },
        { 2048, 256, 16, 0 },
        { 2048, 512, 16, 0 },
        { 2048, 1024, 16, 0 },
        { 2048, 2048, 16, 0 },
        { 2048, 4096, 16, 0 },
        { 2048, 8192, 16, 0 } } },
    { "square",
      "squares (figures 5.14, 5.15) of 0.25 to 64 megapixels",
      { { 128, 128, 16, 0 },
        { 256, 256, 16, 0 },
        { 512, 512, 16, 0 },
        { 1024, 1024, 16, 0 },
        { 2048, 2048, 16, 0 },
        { 4096, 4096, 16, 0 },
        { 8192, 8192, 16, 0 } } },
    { "seams",
      "1024 x 1024, by the number of seams (figure 5.16)",
      { { 1024, 1024, 1, 0 },
        { 1024, 1024, 5, 0 },
        { 1024, 1024, 10, 0 },
        { 1024, 1024, 15, 0 },
        { 1024, 1024, 20, 0 },
        { 1024, 1024, 25, 0 },
        { 1024, 1024, 30, 0 },
        { 1024, 1024, 35, 0 },
        { 1024, 1024, 100, 0 },
        { 1024, 1024, 300, 0 } } },
    { "screen",
      "1080p, 4K and 8K, and both directions weighed",
      { { 1920, 1080, 480, 0 },
        { 1920, 1080, 0, 270 },
        { 1920, 1080, 50, 50 },
        { 3840, 2160, 100, 0 },
        { 3840, 2160, 25, 25 },
        { 7680, 4320, 50, 0 } } },
};
enum { SERIES_COUNT = sizeof all_series / sizeof *all_series };

/* Waves of three sizes and a little noise: smooth and busy regions, as photographs have them. */
static void draw_scene(const struct image *image, const void *context) {
    (void)context;
    uint32_t state = 2463534242u;
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t *row = image_row(image, y);
        for (uint32_t x = 0; x < image->width; x++) {
            state ^= state << 13, state ^= state >> 17, state ^= state << 5; /* xorshift32 */
            const int wide = (int)((x + y / 2) % 1024) - 512, narrow = (int)((x * 3 + y) % 96) - 48;
            const int busy = (x / 300 + y / 200) % 3 == 0 ? (int)(state >> 27) : (int)(state >> 30);
            const int level = (wide < 0 ? -wide : wide) / 4 + (narrow < 0 ? -narrow : narrow) / 2;
            for (unsigned c = 0; c < image->channels; c++)
                row[(size_t)x * image->channels + c] = (uint8_t)(level + busy + 20 * (int)c);
        }
    }
}

static struct image picture_of(const struct carve_case *one) {
    return image_shape(one->width, one->height, 3, 8);
}

/* What of the computing is in no step: work before the first seam, hand-overs between kernels. Each
 * is a median of its own, so that a little may be too much. */
static double other_ms(const struct bench_times *times) {
    double other = times->compute;
    for (int i = 0; i < times->span_count; i++) other -= times->spans[i].ms;
    return other > 0 ? other : 0;
}

static json_t *case_json(const struct series *series, const struct carve_case *one,
                         const struct bench_lane *lane, const struct bench_times *times,
                         double cpu_ms) {
    const int seams = one->columns + one->rows;
    const double copies = times->upload + times->download;
    json_t *steps = json_object();
    for (int i = 0; i < times->span_count; i++)
        json_object_set_new(steps, times->spans[i].name, json_real(times->spans[i].ms));
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:f, s:f}",
                     "series", series->name, "width", (int)one->width, "height", (int)one->height,
                     "columns", one->columns, "rows", one->rows, "device", lane->name, "upload_ms",
                     times->upload, "compute_ms", times->compute, "download_ms", times->download,
                     "total_ms", copies + times->compute, "us_a_seam", 1e3 * times->compute / seams,
                     "steps_ms", steps, "other_ms", other_ms(times), "copies_ms", copies, "ratio",
                     cpu_ms > 0 ? cpu_ms / times->compute : 1.0);
}

#define NUMBER(key) json_number_value(json_object_get(row, key))

/* Steps, what is in none, and copies: they sum to the total. */
static void print_shares(const json_t *row) {
    json_t *steps = json_object_get(row, "steps_ms");
    const char *name;
    json_t *ms;
    double sum = NUMBER("other_ms") + NUMBER("copies_ms");
    json_object_foreach (steps, name, ms) {
        sum += json_number_value(ms);
    }
    json_object_foreach (steps, name, ms) {
        printf(" %s %2.0f %%", name, 100 * json_number_value(ms) / sum);
    }
    printf(" other %2.0f %% copies %2.0f %%\n", 100 * NUMBER("other_ms") / sum,
           100 * NUMBER("copies_ms") / sum);
}

static void print_case(const json_t *row) {
    printf("%5.0fx%-5.0f %4.0f+%-4.0f %-13.13s %10.3f %10.3f %9.1f %7.1f ", NUMBER("width"),
           NUMBER("height"), NUMBER("columns"), NUMBER("rows"),
           json_string_value(json_object_get(row, "device")), NUMBER("compute_ms"),
           NUMBER("total_ms"), NUMBER("us_a_seam"), NUMBER("ratio"));
    print_shares(row);
}

#undef NUMBER

/* A lane's row. EXPECTED has no pixels where the others are held against this lane's result. */
static bool measure_lane(const struct bench_options *options, const struct bench_lane *lane,
                         const struct series *series, const struct carve_case *one,
                         const struct image *expected, double *cpu_ms, json_t *rows) {
    char text[64];
    struct plan plan;
    struct failure failure = { 0 };
    struct bench_times times;
    const int repeats = options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX;
    snprintf(text, sizeof text, "carve:dx=-%d,dy=-%d", one->columns, one->rows);
    if (plan_parse(&plan, text, &failure) ||
        bench_measure(lane->lane, &plan, picture_of(one), draw_scene, NULL, repeats, &times,
                      &failure) ||
        bench_check(lane, expected, &failure)) {
        fprintf(stderr, "burin bench: %s of %u x %u on %s: %s\n", text, one->width, one->height,
                lane->name, failure.message);
        return false;
    }
    if (!lane->gpu && *cpu_ms == 0) *cpu_ms = times.compute;
    json_array_append_new(rows, case_json(series, one, lane, &times, *cpu_ms));
    if (!options->json) print_case(json_array_get(rows, json_array_size(rows) - 1));
    return true;
}

/* The case carved by straightforward C, heap; NULL: no memory. */
static uint8_t *plain_pixels(const struct carve_case *one, struct image carved) {
    struct image picture = picture_of(one);
    picture.pixels = malloc(image_bytes(&picture));
    carved.pixels = malloc(image_bytes(&carved));
    if (picture.pixels && carved.pixels) draw_scene(&picture, NULL);
    if (!picture.pixels || !carved.pixels || !plain_carve(&picture, &carved)) {
        free(carved.pixels);
        carved.pixels = NULL;
    }
    free(picture.pixels);
    return carved.pixels;
}

static bool measure_case(const struct bench_options *options, const struct bench_lane *lanes,
                         int count, const struct series *series, const struct carve_case *one,
                         json_t *rows) {
    const bool both = bench_has_both(lanes, count);
    struct image expected =
        image_shape(one->width - (uint32_t)one->columns, one->height - (uint32_t)one->rows, 3, 8);
    uint8_t *plain = both ? NULL : plain_pixels(one, expected);
    double cpu_ms = 0;
    bool good = both || plain;
    if (!good)
        fprintf(stderr, "burin bench: no memory to check %u x %u\n", one->width, one->height);
    expected.pixels = plain;
    for (int i = 0; i < count && (expected.pixels || (both && i == 0)); i++) {
        good &= measure_lane(options, &lanes[i], series, one, &expected, &cpu_ms, rows);
        if (both && i == 0 && good) expected.pixels = lanes[0].lane->host_out;
    }
    free(plain);
    return good;
}

static bool measure_series(const struct bench_options *options, const struct bench_lane *lanes,
                           int count, const struct series *series, json_t *rows) {
    bool good = true;
    if (!options->json)
        printf("%s\n%-11s %-9s %-13s %10s %10s %9s %7s  shares\n", series->summary, "size", "seams",
               "device", "compute ms", "with copies", "us/seam", "ratio");
    for (const struct carve_case *one = series->cases; one->width; one++) {
        if (options->pixels_max && (long)one->width * one->height > options->pixels_max) continue;
        good &= measure_case(options, lanes, count, series, one, rows);
    }
    if (!options->json) putchar('\n');
    return good;
}

static bool wanted(const struct bench_options *options, const char *name) {
    for (int i = 0; i < options->file_count; i++)
        if (strcmp(options->files[i], name) == 0) return true;
    return options->file_count == 0;
}

static bool known(const char *name) {
    for (int s = 0; s < SERIES_COUNT; s++)
        if (strcmp(all_series[s].name, name) == 0) return true;
    fprintf(stderr,
            "burin bench: there is no series \"%s\"; there are width, height, square, seams, "
            "screen\n",
            name);
    return false;
}

/* Only series that there are. */
static bool takes_series(const struct bench_options *options) {
    for (int i = 0; i < options->file_count; i++)
        if (!known(options->files[i])) return false;
    return true;
}

static bool measure_all(const struct bench_options *options, struct bench_lane *lanes, int count,
                        json_t *rows) {
    bool good = true;
    if (!options->json)
        printf("us/seam: the computing, energies before the first seam and the moving of pixels\n"
               "included, by the seams; shares: of the total with copies\n\n");
    for (int s = 0; s < SERIES_COUNT; s++)
        if (wanted(options, all_series[s].name))
            good &= measure_series(options, lanes, count, &all_series[s], rows);
    return good;
}

int bench_carve(int argc, char **argv) {
    return bench_command("carve", takes_series, measure_all, argc, argv);
}

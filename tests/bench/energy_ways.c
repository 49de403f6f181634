// SPDX-License-Identifier: Apache-2.0
/* energy_ways - carving's three energies by size: plain C on a core, the operator on a core and on
 * a GPU, and two simple kernels there, with and without shared memory. plot.py draws figures 5.3 to
 * 5.6 of the thesis of 2010 from the JSON.
 *
 * How it works. Plain C makes the energies of one side and kind; they are what the operator's
 * picture of them (show=energy) and the results of the simple kernels are compared with. A row is
 * printed with the times that there are: without a GPU, or built without carve, columns stay
 * empty. */
#include "tests/bench/energy_ways.h"

#include "pipeline/ops/carve/definition.h"
#include "pipeline/registry.h"
#include "tests/bench/burin-bench/bench.h"
#include "tests/bench/burin-bench/measurement.h"
#include "tests/bench/burin-bench/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_REPEATS = 3, PLAIN_LONG_MS = 1000 };

static const uint32_t sides[] = { 64, 128, 256, 512, 1024, 2048, 4096, 8192 };
static const char *const kinds[ENERGY_KINDS] = { "gradient", "sobel3", "sobel5" };

/* ---- plain C, a pixel at a time: timed, and what all other results are compared with */

static int at(const struct image *luma, int x, int y) {
    const int right = (int)luma->width - 1, bottom = (int)luma->height - 1;
    x = x < 0 ? 0 : x > right ? right : x;
    y = y < 0 ? 0 : y > bottom ? bottom : y;
    return image_row(luma, (uint32_t)y)[x];
}

static uint32_t root(uint32_t n) {
    uint32_t r = 0;
    for (uint32_t bit = 1u << 14; bit; bit >>= 1)
        if ((r + bit) * (r + bit) <= n) r += bit;
    return r;
}

static uint32_t sobel(const struct image *luma, int x, int y, int reach) {
    static const int smooth[2][5] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 } };
    static const int slope[2][5] = { { -1, 0, 1 }, { -1, -2, 0, 2, 1 } };
    int gx = 0, gy = 0;
    for (int j = 0; j <= 2 * reach; j++)
        for (int i = 0; i <= 2 * reach; i++) {
            const int value = at(luma, x + i - reach, y + j - reach);
            gx += smooth[reach - 1][j] * slope[reach - 1][i] * value;
            gy += slope[reach - 1][j] * smooth[reach - 1][i] * value;
        }
    return root((uint32_t)(gx * gx) + (uint32_t)(gy * gy));
}

static void plain_energy(const struct image *luma, int kind, uint16_t *energy) {
    for (int y = 0; y < (int)luma->height; y++)
        for (int x = 0; x < (int)luma->width; x++)
            *energy++ =
                (uint16_t)(kind == CARVE_GRADIENT ? carve_gradient((uint32_t)at(luma, x, y),
                                                                   (uint32_t)at(luma, x + 1, y),
                                                                   (uint32_t)at(luma, x, y + 1),
                                                                   (uint32_t)at(luma, x + 1, y + 1))
                                                  : sobel(luma, x, y, carve_reach(kind)));
}

static double plain_once_ms(const struct image *luma, int kind, uint16_t *energy) {
    const int64_t start = clock_ns();
    plain_energy(luma, kind, energy);
    return ns_to_ms(clock_ns() - start);
}

/* The first run only warms up, unless it is so long that nothing of that shows. */
static double plain_ms(const struct image *luma, int kind, uint16_t *energy) {
    double ms[PLAIN_REPEATS];
    const double first = plain_once_ms(luma, kind, energy);
    if (first >= PLAIN_LONG_MS) return first;
    for (int i = 0; i < PLAIN_REPEATS; i++) ms[i] = plain_once_ms(luma, kind, energy);
    return measurement_median(ms, PLAIN_REPEATS);
}

/* ---- rows of the table; a time of 0 is one that was not taken */

struct row {
    uint32_t side;
    int kind;
    double plain_ms, cpu_ms, gpu_global_ms, gpu_shared_ms, gpu_ms;
};

static json_t *row_json(const struct row *row) {
    return json_pack("{s:i, s:s, s:f, s:f, s:f, s:f, s:f}", "side", (int)row->side, "energy",
                     kinds[row->kind], "cpu_plain_ms", row->plain_ms, "cpu_operator_ms",
                     row->cpu_ms, "gpu_global_ms", row->gpu_global_ms, "gpu_shared_ms",
                     row->gpu_shared_ms, "gpu_operator_ms", row->gpu_ms);
}

static void print_ms(const json_t *row, const char *key) {
    const double ms = report_number(row, key);
    if (ms > 0)
        printf(" %11.4f", ms);
    else
        printf(" %11s", "-");
}

static void print_row(const json_t *row) {
    printf("%5.0f x %-5.0f %-9s", report_number(row, "side"), report_number(row, "side"),
           report_text(row, "energy"));
    print_ms(row, "cpu_plain_ms");
    print_ms(row, "cpu_operator_ms");
    print_ms(row, "gpu_global_ms");
    print_ms(row, "gpu_shared_ms");
    print_ms(row, "gpu_operator_ms");
    putchar('\n');
}

/* Makes the picture that show=energy makes of these ENERGIES. */
static void show(const uint16_t *energies, const struct image *shown) {
    for (uint32_t y = 0; y < shown->height; y++)
        for (uint32_t x = 0; x < shown->width; x++, energies++)
            image_row(shown, y)[x] = (uint8_t)(*energies < 255 ? *energies : 255);
}

/* Prints a sentence and returns false where it could not be measured or the result is wrong. */
static bool measure_operator(const char *program, const struct bench_lane *lane, int kind,
                             const struct image *expected, int repeats, double *ms) {
    char text[64];
    struct plan plan;
    struct measurement times;
    struct failure failure = { 0 };
    const struct image shape = image_shape(expected->width, expected->height, 1, 8);
    snprintf(text, sizeof text, "carve:show=energy,energy=%s", kinds[kind]);
    enum status status = plan_parse(&plan, text, &failure);
    if (!status)
        status = measurement_take(&times, lane->lane, &plan, shape, picture_noise, NULL, repeats,
                                  &failure);
    if (!status) status = measurement_check(lane->lane, expected, &failure);
    if (status)
        fprintf(stderr, "%s: %s of %u x %u on %s: %s\n", program, text, expected->width,
                expected->height, lane->name, failure.message);
    else
        *ms = times.compute_ms;
    return !status;
}

/* NULL: none is measured on. */
static const struct bench_lane *first_gpu(const struct lanes *lanes) {
    for (const struct bench_lane *lane = lanes->all; lane < lanes->all + lanes->count; lane++)
        if (lane->gpu) return lane;
    return NULL;
}

/* The operator, on a core and on the first GPU; not where the program was built without it. */
static bool measure_operators(const struct bench_options *options, const struct lanes *lanes,
                              const struct image *expected, struct row *row) {
    const struct bench_lane *gpu = first_gpu(lanes);
    bool complete = true;
    if (!registry_find("carve")) return true;
    if (!lanes->all->gpu)
        complete &= measure_operator(options->program, lanes->all, row->kind, expected,
                                     options->repeats, &row->cpu_ms);
    if (gpu)
        complete &= measure_operator(options->program, gpu, row->kind, expected, options->repeats,
                                     &row->gpu_ms);
    return complete;
}

/* Every kind on one picture. PLAIN[kind] has room for its energies, SHOWN for a picture. */
static bool measure_side(const struct bench_options *options, const struct lanes *lanes,
                         const struct image *luma, uint16_t *const plain[ENERGY_KINDS],
                         const struct image *shown, struct report *report) {
    struct row row[ENERGY_KINDS];
    struct energy_way_times times = { { 0 }, { 0 } };
    struct failure failure = { 0 };
    const struct bench_lane *gpu = first_gpu(lanes);
    bool complete = true;
    for (int kind = 0; kind < ENERGY_KINDS; kind++) {
        row[kind] = (struct row){ .side = luma->width,
                                  .kind = kind,
                                  .plain_ms = plain_ms(luma, kind, plain[kind]) };
        show(plain[kind], shown);
        complete &= measure_operators(options, lanes, shown, &row[kind]);
    }
    if (gpu && energy_ways_measure(gpu->index, luma, (const uint16_t *const *)plain,
                                   options->repeats, &times, &failure)) {
        fprintf(stderr, "%s: %u x %u: %s\n", options->program, luma->width, luma->height,
                failure.message);
        times = (struct energy_way_times){ { 0 }, { 0 } };
        complete = false;
    }
    for (int kind = 0; kind < ENERGY_KINDS; kind++) {
        row[kind].gpu_global_ms = times.global_ms[kind];
        row[kind].gpu_shared_ms = times.shared_ms[kind];
        report_add(report, row_json(&row[kind]), print_row);
    }
    return complete;
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    bool complete = true;
    if (!options->json)
        printf("%-13s %-9s %11s %11s %11s %11s %11s\n", "size", "energy", "cpu plain", "cpu, ms",
               "gpu global", "gpu shared", "gpu, ms");
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        struct image luma = image_shape(sides[s], sides[s], 1, 8), shown = luma;
        const size_t pixels = (size_t)image_pixels(&luma);
        if (bench_options_skip(options, sides[s], sides[s])) break;
        uint16_t *energies = malloc(ENERGY_KINDS * pixels * sizeof *energies);
        luma.pixels = malloc(image_bytes(&luma));
        shown.pixels = malloc(image_bytes(&shown));
        if (energies && luma.pixels && shown.pixels) {
            uint16_t *const plain[ENERGY_KINDS] = { energies, energies + pixels,
                                                    energies + 2 * pixels };
            picture_noise(&luma, NULL);
            complete &= measure_side(options, lanes, &luma, plain, &shown, report);
        } else {
            fprintf(stderr, "%s: no memory for %u x %u\n", options->program, sides[s], sides[s]);
            complete = false;
        }
        free(energies);
        free(luma.pixels);
        free(shown.pixels);
    }
    return complete;
}

static const char help[] =
    "usage: energy_ways [OPTION]...\n\n"
    "The three energies of seam carving (gradient, sobel3, sobel5) of squares of 8-bit\n"
    "gray, sides 64 to 8192, in milliseconds:\n"
    "  cpu plain   straightforward C, a pixel at a time, on a core\n"
    "  cpu         the operator (carve with show=energy) on a core\n"
    "  gpu global  a simple kernel that reads its neighbours from global memory\n"
    "  gpu shared  the same with a tile in shared memory\n"
    "  gpu         the operator on the first GPU\n"
    "All in the device's memory, without copies. Medians of 15 runs (--repeats; the two\n"
    "kernels at most 64, plain C 3, or 1 where that takes a second). Every result is\n"
    "compared with that of plain C before its time is printed.\n"
    "\noptions:\n" BENCH_OPTIONS_HELP;

int main(int argc, char **argv) {
    static const struct bench ways = { .program = "energy_ways",
                                       .name = "energy",
                                       .measure = measure };
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    return bench_run(&ways, argc, argv);
}

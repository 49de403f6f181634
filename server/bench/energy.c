// SPDX-License-Identifier: Apache-2.0
/* burin bench energy: the figures 5.3 to 5.6 of work 5 - the three energies by size, on the GPU
 * with and without shared memory, on a core of the CPU, and inside the operator. */
#include "server/bench/bench.h"

#include "cuda/energy_variants.h"
#include "pipeline/ops/carve.h"
#include "pipeline/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_REPEATS = 3, PLAIN_LONG_MS = 1000 };

static const uint32_t sides[] = { 64, 128, 256, 512, 1024, 2048, 4096, 8192 };
static const char *const kinds[ENERGY_KINDS] = { "gradient", "sobel3", "sobel5" };

/* ---- plain C, a pixel at a time: the CPU's column, and what the GPU's results are held against */

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
    return bench_median(ms, PLAIN_REPEATS);
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

static void print_ms(double ms) {
    if (ms > 0)
        printf(" %11.4f", ms);
    else
        printf(" %11s", "-");
}

static void print_row(const struct row *row) {
    printf("%5u x %-5u %-9s", row->side, row->side, kinds[row->kind]);
    print_ms(row->plain_ms);
    print_ms(row->cpu_ms);
    print_ms(row->gpu_global_ms);
    print_ms(row->gpu_shared_ms);
    print_ms(row->gpu_ms);
    putchar('\n');
}

/* What show=energy makes of a picture with these ENERGIES. */
static void show(const uint16_t *energies, const struct image *shown) {
    for (uint32_t y = 0; y < shown->height; y++)
        for (uint32_t x = 0; x < shown->width; x++, energies++)
            image_row(shown, y)[x] = (uint8_t)(*energies < 255 ? *energies : 255);
}

/* False, and a message, where it could not be measured or the result is not EXPECTED. */
static bool measure_operator(const struct bench_lane *lane, int kind, const struct image *expected,
                             int repeats, double *ms) {
    char text[64];
    struct plan plan;
    struct bench_times times;
    struct failure failure = { 0 };
    snprintf(text, sizeof text, "carve:show=energy,energy=%s", kinds[kind]);
    if (plan_parse(&plan, text, &failure) ||
        bench_measure(lane->lane, &plan, image_shape(expected->width, expected->height, 1, 8),
                      bench_noise, NULL, repeats, &times, &failure) ||
        bench_check(lane, expected, &failure)) {
        fprintf(stderr, "burin bench: %s of %u x %u on %s: %s\n", text, expected->width,
                expected->height, lane->name, failure.message);
        return false;
    }
    *ms = times.compute;
    return true;
}

/* The operator, on a core and on the first GPU; not where the program was built without it: the
 * other columns need none. */
static bool measure_operators(const struct bench_options *options, const struct bench_lane *lanes,
                              int count, const struct image *expected, struct row *row) {
    bool good = true;
    if (!registry_find("carve")) return true;
    for (int i = 0; i < count; i++)
        if (i == 0 || (lanes[i].gpu && !lanes[i - 1].gpu))
            good &= measure_operator(&lanes[i], row->kind, expected, options->repeats,
                                     lanes[i].gpu ? &row->gpu_ms : &row->cpu_ms);
    return good;
}

/* Every kind on one picture. PLAIN[kind] has room for its energies, SHOWN for a picture. */
static bool measure_side(const struct bench_options *options, const struct bench_lane *lanes,
                         int count, const struct image *luma, uint16_t *const plain[ENERGY_KINDS],
                         const struct image *shown, json_t *rows) {
    struct row row[ENERGY_KINDS] = { { 0 } };
    struct energy_times times = { { 0 }, { 0 } };
    struct failure failure = { 0 };
    bool good = true;
    for (int kind = 0; kind < ENERGY_KINDS; kind++) {
        row[kind] = (struct row){ .side = luma->width,
                                  .kind = kind,
                                  .plain_ms = plain_ms(luma, kind, plain[kind]) };
        show(plain[kind], shown);
        good &= measure_operators(options, lanes, count, shown, &row[kind]);
    }
    if (lanes[count - 1].gpu && energy_variants_measure(0, luma, (const uint16_t *const *)plain,
                                                        options->repeats, &times, &failure)) {
        fprintf(stderr, "burin bench: %u x %u: %s\n", luma->width, luma->height, failure.message);
        times = (struct energy_times){ { 0 }, { 0 } };
        good = false;
    }
    for (int kind = 0; kind < ENERGY_KINDS; kind++) {
        row[kind].gpu_global_ms = times.global_ms[kind];
        row[kind].gpu_shared_ms = times.shared_ms[kind];
        if (!options->json) print_row(&row[kind]);
        json_array_append_new(rows, row_json(&row[kind]));
    }
    return good;
}

static bool measure_all(const struct bench_options *options, struct bench_lane *lanes, int count,
                        json_t *rows) {
    bool good = true;
    if (!options->json)
        printf("%-13s %-9s %11s %11s %11s %11s %11s\n", "size", "energy", "cpu plain", "cpu, ms",
               "gpu global", "gpu shared", "gpu, ms");
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        struct image luma = image_shape(sides[s], sides[s], 1, 8), shown = luma;
        const size_t pixels = (size_t)image_pixels(&luma);
        if (options->pixels_max && (long)pixels > options->pixels_max) break;
        uint16_t *energies = malloc(ENERGY_KINDS * pixels * sizeof *energies);
        luma.pixels = malloc(image_bytes(&luma));
        shown.pixels = malloc(image_bytes(&shown));
        const bool had = energies && luma.pixels && shown.pixels;
        uint16_t *const plain[ENERGY_KINDS] = { energies, energies + pixels,
                                                energies + 2 * pixels };
        if (had) bench_noise(&luma, NULL);
        if (!had) fprintf(stderr, "burin bench: no memory for %u x %u\n", sides[s], sides[s]);
        good &= had && measure_side(options, lanes, count, &luma, plain, &shown, rows);
        free(energies);
        free(luma.pixels);
        free(shown.pixels);
    }
    return good;
}

int bench_energy(int argc, char **argv) {
    return bench_command("energy", bench_takes_no_words, measure_all, argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
/* carve_band - whether it pays to keep all costs and to compute anew only what a removed seam has
 * changed, instead of sweeping every row from one end to the other (pipeline/ops/carve/dp_row.h).
 *
 * How it works. Gray, gradient energies kept in a plane, halves that meet in the middle, costs of
 * 16 bits, one thread. Both ways carve the same picture side by side and must choose the same
 * seams. What they share is not timed: pixels and energies close up, energies around the seam are
 * made anew. `plain` is the shipped sweep with its parents; `band` closes up the costs too,
 * computes of each row what can have changed, with 1 column more on either side than in the row
 * before, and narrows that to what has; it needs no parents. Where a cost does not fit 16 bits the
 * program says so and ends. */
#include "pipeline/ops/carve/definition.h"
#include "pipeline/ops/carve/dp_row.h"
#include "pipeline/timing.h"
#include "tests/noise.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct picture {
    int width, height, stride;
    uint8_t *luma;
    uint16_t *energies;
    uint16_t *costs;   /* band's: of all rows */
    uint16_t *rows[4]; /* plain's: two in turn of each half */
    uint64_t *parents;
    int *seam, *other; /* plain's and band's */
};

static void *take(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) exit(1);
    memset(memory, 0, (bytes + 63) / 64 * 64);
    return memory;
}

static uint16_t *energy_row(const struct picture *p, int y) {
    return p->energies + (size_t)y * p->stride + DP_SLACK;
}

static uint16_t *cost_row(const struct picture *p, int y) {
    return p->costs + (size_t)y * p->stride + DP_SLACK;
}

static int at(const struct picture *p, int x, int y) {
    if (x >= p->width) x = p->width - 1;
    if (y >= p->height) y = p->height - 1;
    return p->luma[(size_t)y * p->stride + x];
}

static void make_energies(const struct picture *p, int y, int first, int end) {
    for (int x = first < 0 ? 0 : first; x < end && x < p->width; x++)
        energy_row(p, y)[x] =
            (uint16_t)carve_gradient((uint32_t)at(p, x, y), (uint32_t)at(p, x + 1, y),
                                     (uint32_t)at(p, x, y + 1), (uint32_t)at(p, x + 1, y + 1));
}

/* Waves with noise, or what a binary gray PNM holds. */
static struct picture make_picture(int width, int height, FILE *from) {
    struct picture p = { .width = width, .height = height };
    p.stride = (width + 2 * DP_SLACK + 31) / 32 * 32;
    const size_t cells = (size_t)p.stride * height;
    p.luma = take(cells), p.energies = take(2 * cells + 256), p.costs = take(2 * cells + 256);
    p.parents = take(8 * (size_t)(width / 32 + 2) * height);
    p.seam = take(sizeof(int) * (size_t)height), p.other = take(sizeof(int) * (size_t)height);
    for (int i = 0; i < 4; i++) p.rows[i] = take(2 * (size_t)p.stride + 256);
    uint32_t state = 1;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            noise_next(&state);
            p.luma[(size_t)y * p.stride + x] =
                (uint8_t)(from
                              ? fgetc(from)
                              : 128 + ((x * x / 900 + y * y / 700) % 90) - 45 + (int)(state >> 29));
        }
    for (int y = 0; y < height; y++) make_energies(&p, y, 0, width);
    return p;
}

/* ---- the plain way */

static int half_row(const struct picture *p, int half, int i) {
    return half ? p->height - 1 - i : i;
}

static int half_rows(const struct picture *p, int half) {
    const int upper = (p->height - 1) / 2 + 1;
    return half ? p->height - upper : upper;
}

static uint64_t *parents_of(const struct picture *p, int y) {
    return p->parents + (size_t)y * (size_t)(p->width / 32 + 2);
}

static struct dp_meeting plain_sweep(const struct picture *p) {
    const uint16_t *ends[2];
    for (int half = 0; half < 2; half++) {
        uint16_t *rows[2] = { p->rows[2 * half] + DP_SLACK, p->rows[2 * half + 1] + DP_SLACK };
        const int count = half_rows(p, half);
        for (int i = 0; i < count; i++) {
            const int y = half_row(p, half, i);
            if (i == 0)
                dp_first_row(COST_16, energy_row(p, y), rows[0], (uint32_t)p->width);
            else
                dp_next_row(COST_16, rows[(i - 1) % 2], energy_row(p, y), rows[i % 2],
                            parents_of(p, y), (uint32_t)p->width);
        }
        ends[half] = rows[(count - 1) % 2];
    }
    return dp_meet(COST_16, ends[0], ends[1], (uint32_t)p->width);
}

static void plain_trace(const struct picture *p, struct dp_meeting meeting, int *seam) {
    for (int half = 0; half < 2; half++) {
        int x = (int)(half ? meeting.below : meeting.column);
        for (int i = half_rows(p, half) - 1; i >= 0; i--) {
            const int y = half_row(p, half, i);
            seam[y] = x;
            if (i) x += dp_step(parents_of(p, y), (uint32_t)x);
        }
    }
}

/* ---- the band */

static uint16_t least3(uint16_t a, uint16_t b, uint16_t c) {
    const uint16_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* TO[FIRST..END-1] from the row BEFORE; both have 65535 beside the image. */
__attribute__((target_clones("avx2", "default"))) static void
band_row(const uint16_t *before, const uint16_t *energies, uint16_t *to, int first, int end) {
    for (int x = first; x < end; x++) {
        const uint32_t sum =
            energies[x] + (uint32_t)least3(before[x - 1], before[x], before[x + 1]);
        to[x] = (uint16_t)(sum < 65535 ? sum : 65535);
    }
}

/* Computes a half's costs: WHOLE, or in each row only those that the last seam has changed. */
static void band_half(const struct picture *p, int half, bool whole, uint16_t *made) {
    int first = 0, end = p->width;
    for (int i = 0; i < half_rows(p, half); i++) {
        const int y = half_row(p, half, i), x = p->seam[y];
        uint16_t *costs = cost_row(p, y);
        if (!whole) {
            memmove(costs + x, costs + x + 1, 2 * (size_t)(p->width - x));
            /* Changed costs: where energies were made anew, and one beside the row before's. */
            first = i && first - 1 < x - 3 ? first - 1 : x - 3;
            end = i && end + 1 > x + 3 ? end + 1 : x + 3;
            if (first < 0) first = 0;
            if (end > p->width) end = p->width;
        }
        costs[-1] = costs[p->width] = 65535;
        if (i == 0)
            memcpy(made + first, energy_row(p, y) + first, 2 * (size_t)(end - first));
        else
            band_row(cost_row(p, half_row(p, half, i - 1)), energy_row(p, y), made, first, end);
        int last = end;
        if (!whole) {
            while (first < last && made[first] == costs[first]) first++;
            while (last > first && made[last - 1] == costs[last - 1]) last--;
        }
        memcpy(costs + first, made + first, 2 * (size_t)(last - first));
        end = last;
        if (first >= end) first = end = x; /* nothing: the next row has its seam's reach alone */
    }
}

static int leftmost_least(const uint16_t *costs, int x, int width) {
    int least = x;
    for (int c = x - 1; c <= x + 1; c++)
        if (c >= 0 && c < width &&
            (costs[c] < costs[least] || (costs[c] == costs[least] && c < least)))
            least = c;
    return least;
}

static struct dp_meeting band_meet(const struct picture *p) {
    const int middle = (p->height - 1) / 2;
    return dp_meet(COST_16, cost_row(p, middle), cost_row(p, middle + 1), (uint32_t)p->width);
}

static void band_trace(const struct picture *p, struct dp_meeting meeting, int *seam) {
    for (int half = 0; half < 2; half++) {
        int x = (int)(half ? meeting.below : meeting.column);
        for (int i = half_rows(p, half) - 1; i >= 0; i--) {
            seam[half_row(p, half, i)] = x;
            if (i) x = leftmost_least(cost_row(p, half_row(p, half, i - 1)), x, p->width);
        }
    }
}

/* ---- both */

static void remove_seam(struct picture *p) {
    p->width--;
    for (int y = 0; y < p->height; y++) {
        uint8_t *luma = p->luma + (size_t)y * p->stride + p->seam[y];
        uint16_t *energy = energy_row(p, y) + p->seam[y];
        memmove(luma, luma + 1, (size_t)(p->width - p->seam[y]));
        memmove(energy, energy + 1, 2 * (size_t)(p->width - p->seam[y]));
    }
    for (int y = 0; y < p->height; y++) make_energies(p, y, p->seam[y] - 2, p->seam[y] + 2);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(int width, int height, int seams, FILE *from) {
    struct picture p = make_picture(width, height, from);
    uint16_t *made = (uint16_t *)take(2 * (size_t)p.stride + 256) + DP_SLACK;
    double *plain_ms = take(sizeof(double) * (size_t)seams),
           *band_ms = take(sizeof(double) * (size_t)seams);
    for (int s = 0; s < seams; s++) {
        const int64_t start = clock_ns();
        for (int half = 0; half < 2; half++) band_half(&p, half, s == 0, made);
        struct dp_meeting meeting = band_meet(&p);
        band_trace(&p, meeting, p.other);
        const int64_t between = clock_ns();
        meeting = plain_sweep(&p);
        plain_trace(&p, meeting, p.seam);
        band_ms[s] = ns_to_ms(between - start), plain_ms[s] = ns_to_ms(clock_ns() - between);
        if (!meeting.exact || memcmp(p.seam, p.other, sizeof(int) * (size_t)height)) {
            printf("%dx%d, seam %d: %s\n", width, height, s,
                   meeting.exact ? "the ways differ" : "costs do not fit 16 bits");
            exit(1);
        }
        remove_seam(&p);
    }
    qsort(plain_ms + 1, (size_t)seams - 1, sizeof(double), by_size);
    qsort(band_ms + 1, (size_t)seams - 1, sizeof(double), by_size);
    printf("%5dx%-5d %6d seams   plain %8.3f ms a seam   band %8.3f   band / plain %5.2f\n", width,
           height, seams, plain_ms[seams / 2], band_ms[seams / 2],
           band_ms[seams / 2] / plain_ms[seams / 2]);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        puts("usage: carve_band [GRAY.pgm]\n\n"
             "Milliseconds to find a seam on one core of the CPU: the shipped sweep of all rows,\n"
             "beside a band of those costs that the last seam has changed; medians of 60 seams.\n"
             "On made pictures of 256x256 to 3840x2160, or on one photograph (binary PGM, 8 bit).\n"
             "Both must choose the same seams.");
        return 0;
    }
    if (count > 1) {
        FILE *file = fopen(arguments[1], "rb");
        int width, height, most;
        if (!file || fscanf(file, "P5 %d %d %d", &width, &height, &most) != 3 || most != 255) {
            fprintf(stderr, "carve_band: %s: a binary gray PNM of 8 bit is wanted\n", arguments[1]);
            return 2;
        }
        fgetc(file);
        compare(width, height, 60, file);
        return 0;
    }
    static const int sizes[][2] = { { 256, 256 },  { 1024, 1024 }, { 1920, 1080 },
                                    { 400, 2000 }, { 4000, 400 },  { 3840, 2160 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        compare(sizes[i][0], sizes[i][1], 60, NULL);
    return 0;
}

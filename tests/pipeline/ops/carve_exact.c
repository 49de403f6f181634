// SPDX-License-Identifier: Apache-2.0
/* carve against the slow program of carve_slow.h, and its rows of the dynamic programme, one at a
 * time, against their definition: every way, depth, mask and picture, and where 16 bits no longer
 * hold a cost. The seams of small images against all paths.
 * covers: pipeline/ops/carve/dp_row.c pipeline/ops/carve/energy_map.c
 * covers: pipeline/ops/carve/seam_search.c pipeline/ops/carve/column_shift.c
 * covers: pipeline/ops/carve/picture.c */
#include "pipeline/ops/carve/dp_row.h"
#include "pipeline/rows/simd.h"
#include "tests/noise.h"
#include "tests/pipeline/ops/carve_case.h"
#include "tests/pipeline/ops/carve_slow.h"
#include "tests/pipeline/ops/table.h"

/* ---- against the slow one */

static bool is_masked(const struct carve_case *job) {
    return job->aux[0].width || job->aux[1].width;
}

static struct slow carve_slowly(const struct carve_case *job, bool *touched) {
    return slow_carve(slow_load(&job->in, &job->aux[CARVE_KEEP], &job->aux[CARVE_REMOVE]),
                      (int)job->in.width + (int)job->params.number[CARVE_DX],
                      (int)job->in.height + (int)job->params.number[CARVE_DY],
                      (int)job->params.number[CARVE_ENERGY], is_masked(job), touched);
}

static void assert_sample(const struct carve_case *job, const struct image *out, uint32_t x,
                          uint32_t y, unsigned c, uint32_t expected) {
    const uint32_t got = sample_get(image_row(out, y), (size_t)x * out->channels + c, out->depth);
    if (got != expected)
        fail_msg("%ux%u, %u x %u bit, dx %ld, dy %ld, energy %ld, show %ld, %s: pixel %u, %u, "
                 "channel %u is %u, should be %u",
                 job->in.width, job->in.height, job->in.channels, job->in.depth,
                 job->params.number[CARVE_DX], job->params.number[CARVE_DY],
                 job->params.number[CARVE_ENERGY], job->params.number[CARVE_SHOW],
                 is_masked(job) ? "masked" : "not masked", x, y, c, got, expected);
}

static void check_result(struct carve_case *job, const struct slow *slow) {
    struct image out = run(job);
    assert_int_equal(out.width, slow->width);
    assert_int_equal(out.height, slow->height);
    assert_int_equal(out.channels, job->in.channels);
    for (uint32_t y = 0; y < out.height; y++)
        for (uint32_t x = 0; x < out.width; x++)
            for (unsigned c = 0; c < out.channels; c++)
                assert_sample(job, &out, x, y, c, dot_at(slow, (int)x, (int)y)->sample[c]);
    free(out.pixels);
}

/* Red where a seam went, else the input; alpha kept. */
static void check_seams(struct carve_case *job, const bool *touched) {
    struct image out = run(job);
    const struct image *in = &job->in;
    const unsigned colours = image_colours(in);
    assert_int_equal(out.width, in->width);
    assert_int_equal(out.height, in->height);
    assert_int_equal(out.channels, image_has_alpha(in) ? 4 : 3);
    for (uint32_t y = 0; y < out.height; y++)
        for (uint32_t x = 0; x < out.width; x++)
            for (unsigned c = 0; c < out.channels; c++) {
                const unsigned from = c == 3 ? colours : colours == 1 ? 0 : c;
                const uint32_t was =
                    sample_get(image_row(in, y), (size_t)x * in->channels + from, in->depth);
                const bool red = touched[y * in->width + x] && c < 3;
                assert_sample(job, &out, x, y, c, !red ? was : c == 0 ? image_max(in) : 0);
            }
    free(out.pixels);
}

static void check_job(struct carve_case *job) {
    bool *touched = calloc(image_pixels(&job->in), 1);
    struct slow slow = carve_slowly(job, touched);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_RESULT;
    if (!slow.dots) {
        struct image out;
        assert_int_equal(try_run(job, &out), STATUS_MISMATCH);
        free(out.pixels);
        free(touched);
        return;
    }
    check_result(job, &slow);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_SEAMS;
    check_seams(job, touched);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_RESULT;
    free(slow.dots);
    free(touched);
}

/* All energies for one way from size to size, each without masks and with both, or with one and
 * with the other; the next energy in the other way. */
static void check_way(uint32_t width, uint32_t height, long dx, long dy, unsigned channels,
                      unsigned depth, enum picture picture, struct pool *pool) {
    for (int energy = CARVE_GRADIENT; energy <= CARVE_SOBEL5; energy++)
        for (int other = 0; other < 2; other++) {
            const int turn = (energy + (int)width) & 1, masks = other ? 3 - turn : turn;
            struct carve_case job = job_make(width, height, channels, depth, picture);
            job.pool = pool;
            job.params.number[CARVE_ENERGY] = energy;
            goal(&job, dx, dy);
            if (masks & 1) add_mask(&job, CARVE_KEEP, width + 3, 3, 4);
            if (masks & 2) add_mask(&job, CARVE_REMOVE, height + 5, 2, 5);
            check_job(&job);
            job_free(&job);
        }
}

static const struct {
    uint32_t width, height;
    long dx, dy;
} ways[] = {
    { 1, 1, 0, 0 },       { 1, 1, 3, 0 },     { 1, 1, 2, 5 },     { 2, 2, -1, -1 },
    { 1, 19, 1, 0 },      { 1, 19, 0, -18 },  { 23, 1, -22, 0 },  { 23, 1, 0, 2 },
    { 2, 40, -1, 0 },     { 40, 2, 0, -1 },   { 2, 21, 5, -3 },   { 7, 9, -6, -8 },
    { 13, 42, -5, 0 },    { 13, 42, 0, -7 },  { 13, 42, -4, -9 }, { 13, 42, 9, 0 },
    { 13, 42, 0, 50 },    { 13, 42, 20, 11 }, { 13, 42, -6, 30 }, { 13, 42, 14, -20 },
    { 33, 32, -7, -7 },   { 31, 65, -3, -3 }, { 65, 31, -33, 0 }, { 100, 20, -20, -3 },
    { 20, 100, -3, -20 }, { 64, 64, 0, 0 },   { 140, 5, -9, 2 },  { 5, 140, 2, -9 },
};
enum { WAYS = sizeof ways / sizeof *ways };

static void every_way_is_as_slow(void **state) {
    (void)state;
    for (int w = 0; w < WAYS; w++)
        for (int p = 0; p < PICTURE_BLACK; p++) /* which is as flat as any constant */
            check_way(ways[w].width, ways[w].height, ways[w].dx, ways[w].dy, 1 + (unsigned)w % 4,
                      w / 4 % 2 ? 16 : 8, (enum picture)p, NULL);
}

/* A mask of a rectangle, from 1 x 1 up to all. */
static void add_object(struct carve_case *job, int place, uint32_t seed) {
    const uint32_t w = job->in.width, h = job->in.height;
    struct image *mask = &job->aux[place];
    uint32_t at[4];
    *mask = padded(image_shape(w, h, 1, 8));
    for (int i = 0; i < 4; i++) {
        noise_next(&seed);
        at[i] = (seed >> 10) % (i % 2 ? h : w);
    }
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++)
            image_row(mask, y)[x] =
                (x >= at[0]) != (x > at[2]) && (y >= at[1]) != (y > at[3]) ? 200 : 100;
}

/* No size asked for, or less than the object takes, or more; with and without pixels that are kept
 * across it. */
static void objects_are_removed(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 13, 42 }, { 42, 13 }, { 1, 30 },  { 30, 1 }, { 2, 25 },
                                         { 1, 1 },   { 5, 4 },   { 24, 24 }, { 70, 9 } };
    static const long changes[][2] = { { 0, 0 }, { -1, 0 }, { 0, -3 }, { 4, 0 },
                                       { 3, 5 }, { -2, 6 }, { 7, -1 }, { -1, -1 } };
    for (uint32_t i = 0; i < 9 * 8 * 6; i++) {
        const uint32_t *size = sizes[i % 9];
        const long *change = changes[i / 9 % 8];
        if (size[0] + change[0] < 1 || size[1] + change[1] < 1) continue;
        struct carve_case job = job_make(size[0], size[1], 1 + i % 4, i % 5 ? 8 : 16,
                                         i % 3 ? PICTURE_NOISE : PICTURE_GRADIENT);
        job.params.number[CARVE_ENERGY] = i / 72 % 3;
        goal(&job, change[0], change[1]);
        add_object(&job, CARVE_REMOVE, 77 * i);
        if (i / 72 % 2) add_object(&job, CARVE_KEEP, 91 * i + 5);
        check_job(&job);
        job_free(&job);
    }
}

/* Each number of channels in each depth, smaller in both directions and larger. */
static void every_kind_of_pixel(void **state) {
    (void)state;
    for (unsigned channels = 1; channels <= 4; channels++)
        for (unsigned depth = 8; depth <= 16; depth += 8) {
            check_way(123, 66, -2, -1, channels, depth, PICTURE_NOISE, NULL);
            check_way(66, 23, 2, -2, channels, depth, PICTURE_GRADIENT, NULL);
        }
}

/* Threads, bits and the vector twins change nothing. */
static void threads_and_twins_change_nothing(void **state) {
    (void)state;
    static const int chosen[] = { 4, 9, 11, 12, 16, 18, 20, 23 };
    for (size_t c = 0; c < sizeof chosen / sizeof *chosen; c++) {
        const int w = chosen[c];
        for (int threads = 1; threads <= 3; threads++) {
            struct pool *pool = pool_create(threads);
            simd_limit(threads == 1 ? SIMD_NONE : SIMD_BEST);
            check_way(ways[w].width, ways[w].height, ways[w].dx, ways[w].dy, 3, 8, PICTURE_NOISE,
                      pool);
            simd_limit(SIMD_BEST);
            pool_destroy(pool);
        }
    }
}

/* Noise of 300 rows costs several times 65535 by Sobel: the 16-bit sweeps saturate. Smooth images
 * of as many rows do not; stripes cost just about that. */
static void dear_seams_are_exact(void **state) {
    (void)state;
    static const enum picture pictures[] = { PICTURE_NOISE, PICTURE_GRADIENT };
    for (int energy = CARVE_GRADIENT; energy <= CARVE_SOBEL5; energy++)
        for (int p = 0; p < 2; p++)
            for (int turned = 0; turned < 3; turned++) {
                struct carve_case job =
                    job_make(turned == 1 ? 300 : 70, turned == 1 ? 70 : 300, 1, 8, pictures[p]);
                job.params.number[CARVE_ENERGY] = energy;
                goal(&job, turned == 1 ? 0 : -2, turned ? -2 : 0);
                check_job(&job);
                job_free(&job);
            }
}

/* A checkerboard of 255 and nearly 0: the last column is the cheapest, 255 below and 180 across,
 * 435 or a little less a row. A half of 150 rows stays below 65535, one of 151 does not: heights
 * around 301 try the edge, for both halves and for one beside a flat one. */
static void the_edge_of_sixteen_bits(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 36; i++) {
        const uint32_t height = 296 + i / 3, flat = i % 3;
        struct carve_case job = job_make(9, height, 1, 8, PICTURE_BLACK);
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < 9; x++)
                if (!flat || (flat == 1) == (y >= height / 2))
                    image_row(&job.in, y)[x] = (x + y) % 2 ? 255 : (uint8_t)(x * y % 7 / 5);
        goal(&job, -3, 0);
        check_job(&job);
        job_free(&job);
    }
}

/* ---- sweeps on their own */

struct rows {
    uint16_t energy[DP_MARGIN + 400 + DP_SLACK];
    uint64_t cost[2][DP_MARGIN + 400 + DP_SLACK];
    uint64_t parents[16];
};

static void *cost_row(struct rows *rows, int i, enum cost_bits bits) {
    return (uint8_t *)rows->cost[i] + DP_MARGIN * cost_bytes(bits);
}

/* Random costs up to MOST. */
static void fill_costs(struct rows *rows, enum cost_bits bits, uint32_t width, uint32_t most,
                       uint32_t seed) {
    uint16_t *energy = rows->energy + DP_MARGIN;
    memset(rows, FILL, sizeof *rows);
    for (uint32_t x = 0; x < width; x++) {
        noise_next(&seed);
        energy[x] = (uint16_t)((seed >> 12) % (most + 1));
    }
    dp_first_row(bits, energy, cost_row(rows, 0, bits), width);
}

static uint64_t cost_of(const void *row, enum cost_bits bits, int x) {
    return bits == COST_16   ? ((const uint16_t *)row)[x]
           : bits == COST_32 ? ((const uint32_t *)row)[x]
                             : ((const uint64_t *)row)[x] - (UINT64_C(1) << 63);
}

/* A row behind a row, by definition: the costs, and where each came from. */
static void check_row(enum cost_bits bits, uint32_t width, uint32_t most, uint32_t seed) {
    static struct rows rows;
    fill_costs(&rows, bits, width, most, seed);
    const void *before = cost_row(&rows, 0, bits), *after = cost_row(&rows, 1, bits);
    const uint16_t *energy = rows.energy + DP_MARGIN;
    dp_next_row(bits, before, energy, cost_row(&rows, 1, bits), rows.parents, width);
    for (int x = 0; x < (int)width; x++) {
        int from = x ? x - 1 : 0;
        for (int i = from + 1; i <= x + 1 && i < (int)width; i++)
            if (cost_of(before, bits, i) < cost_of(before, bits, from)) from = i;
        uint64_t own = energy[x];
        if (bits == COST_64)
            own = (uint64_t)(own >> 14 & 1) << 48 | (uint64_t) !(own >> 15) << 32 | (own & 0x3fff);
        uint64_t cost = cost_of(before, bits, from) + own;
        const bool saturated = bits == COST_16 && cost_of(before, bits, from) >= 65535;
        if (bits == COST_16 && cost > 65535) cost = 65535;
        assert_int_equal(cost_of(after, bits, x), cost);
        if (!saturated) assert_int_equal(x + dp_step(rows.parents, (uint32_t)x), from);
    }
    const struct dp_meeting met = dp_meet(bits, before, after, width);
    uint64_t best = UINT64_MAX;
    int column = 0;
    for (int x = 0; x < (int)width; x++)
        for (int i = x ? x - 1 : 0; i <= x + 1 && i < (int)width; i++) {
            const uint64_t sum = cost_of(before, bits, x) + cost_of(after, bits, i);
            if (sum < best) best = sum, column = x;
        }
    assert_int_equal(met.cost, best);
    assert_int_equal(met.column, column);
    assert_int_equal(cost_of(before, bits, column) + cost_of(after, bits, (int)met.below), best);
}

static void rows_of_every_width_and_lane(void **state) {
    (void)state;
    static const uint32_t most[] = { 0, 3, 1000, ENERGY_BITS, 65535 };
    for (int plain = 0; plain < 2; plain++) {
        simd_limit(plain ? SIMD_NONE : SIMD_BEST);
        for (uint32_t width = 1; width < 140; width++)
            for (int bits = COST_16; bits <= COST_64; bits++)
                for (size_t m = 0; m < sizeof most / sizeof *most; m++)
                    check_row((enum cost_bits)bits, width, most[m], width * 77 + (uint32_t)m);
    }
    simd_limit(SIMD_BEST);
}

/* ---- against all paths */

/* Least cost of a path from row FROM to (x, y), both with their own, by trying every path. */
static uint64_t least_path(const struct slow *slow, int x, int y, int from, int kind) {
    const uint64_t own = (uint64_t)slow_energy(slow, x, y, kind);
    if (y == from) return own;
    uint64_t least = UINT64_MAX;
    for (int i = x - 1; i <= x + 1; i++) {
        if (i < 0 || i >= slow->width) continue;
        const uint64_t path = least_path(slow, i, y < from ? y + 1 : y - 1, from, kind);
        least = path < least ? path : least;
    }
    return own + least;
}

/* definition.h: the middle row where T + B - cost is least, leftmost; then outward the neighbour of
 * least T or B, smallest column. */
static void seam_of_all_paths(const struct slow *slow, int kind, int *seam) {
    const int last = slow->height - 1, m = last / 2;
    uint64_t least = UINT64_MAX;
    for (int x = 0; x < slow->width; x++) {
        const uint64_t sum = least_path(slow, x, m, 0, kind) + least_path(slow, x, m, last, kind) -
                             (uint64_t)slow_energy(slow, x, m, kind);
        if (sum < least) least = sum, seam[m] = x;
    }
    for (int y = m + 1, up = 0; up < 2; up++, y = m - 1)
        for (; y >= 0 && y <= last; y += up ? -1 : 1) {
            const int next = seam[up ? y + 1 : y - 1];
            least = UINT64_MAX;
            for (int x = next - 1; x <= next + 1; x++) {
                if (x < 0 || x >= slow->width) continue;
                const uint64_t cost = least_path(slow, x, y, up ? 0 : last, kind);
                if (cost < least) least = cost, seam[y] = x;
            }
        }
}

static void check_all_paths(struct carve_case *job) {
    int seam[8];
    struct slow slow = slow_load(&job->in, &job->aux[0], &job->aux[1]);
    seam_of_all_paths(&slow, (int)job->params.number[CARVE_ENERGY], seam);
    slow = slow_remove(slow, seam);
    goal(job, -1, 0);
    check_result(job, &slow);
    free(slow.dots);
}

static void least_of_all_paths(void **state) {
    (void)state;
    for (uint32_t size = 0; size < 30; size++)
        for (int energy = CARVE_GRADIENT; energy <= CARVE_SOBEL5; energy++)
            for (int few = 0; few < 2; few++) {
                struct carve_case job = job_make(2 + size % 5, 1 + size / 5, 1, 8, PICTURE_NOISE);
                /* Few levels: many paths of equal cost. */
                for (uint32_t y = 0; few && y < job.in.height; y++)
                    for (uint32_t x = 0; x < job.in.width; x++) image_row(&job.in, y)[x] &= 1;
                job.params.number[CARVE_ENERGY] = energy;
                check_all_paths(&job);
                job_free(&job);
            }
}

/* Small squares of two levels: columns and rows often cost the same, and then a column goes. */
static void columns_go_on_a_tie(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < 60; seed++) {
        struct carve_case job = job_make(5, 5, 1, 8, PICTURE_NOISE);
        picture_draw(&job.in, PICTURE_NOISE, seed);
        for (uint32_t y = 0; y < 5; y++)
            for (uint32_t x = 0; x < 5; x++)
                image_row(&job.in, y)[x] = image_row(&job.in, y)[x] / 128;
        if (seed % 2) add_mask(&job, CARVE_REMOVE, seed, 1, 3);
        goal(&job, -2, -2);
        check_job(&job);
        job_free(&job);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_width_and_lane),
        cmocka_unit_test(every_way_is_as_slow),
        cmocka_unit_test(objects_are_removed),
        cmocka_unit_test(every_kind_of_pixel),
        cmocka_unit_test(threads_and_twins_change_nothing),
        cmocka_unit_test(dear_seams_are_exact),
        cmocka_unit_test(the_edge_of_sixteen_bits),
        cmocka_unit_test(least_of_all_paths),
        cmocka_unit_test(columns_go_on_a_tie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

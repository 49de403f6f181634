// SPDX-License-Identifier: Apache-2.0
/* carve against tables computed by hand, against all paths of small images, and against the slow
 * second implementation of carve_slow.h. */
#include "pipeline/ops/carve.h"
#include "pipeline/ops/carve/energy.h"
#include "pipeline/ops/carve/sweep.h"
#include "pipeline/registry.h"
#include "tests/ops/carve_slow.h"
#include "tests/ops/pictures.h"
#include "tests/ops/table.h"

#include <pthread.h>
#include <stdio.h>

enum { PADDING = 24, FILL = 0xa5 };

/* ---- one call */

struct job {
    struct params params;
    struct image in, parts[OP_PARTS_MAX];
    struct pool *pool;
    struct progress *progress;
    struct timing *timing;
};

static struct image padded(struct image shape) {
    shape.stride = image_row_bytes(&shape) + PADDING;
    shape.pixels = malloc(image_bytes(&shape));
    memset(shape.pixels, FILL, image_bytes(&shape));
    return shape;
}

static const struct op *carve(void) {
    const struct op *op = registry_find("carve");
    assert_non_null(op);
    return op;
}

static struct job job_make(uint32_t width, uint32_t height, unsigned channels, unsigned depth,
                           enum picture picture) {
    struct job job = { .in = padded(image_shape(width, height, channels, depth)) };
    params_init(&job.params, carve()->params);
    picture_draw(&job.in, picture, width * 31 + height);
    return job;
}

static void job_free(struct job *job) {
    free(job->in.pixels);
    for (int i = 0; i < OP_PARTS_MAX; i++) free(job->parts[i].pixels);
}

/* A mask whose blocks are set where noise says so. */
static void add_mask(struct job *job, int place, uint32_t seed, int block, int of) {
    struct image *part = &job->parts[place];
    *part = padded(image_shape(job->in.width, job->in.height, 1, 8));
    for (uint32_t y = 0; y < part->height; y++)
        for (uint32_t x = 0; x < part->width; x++) {
            const uint32_t cell = (x / (uint32_t)block) * 7919u + (y / (uint32_t)block) * 104729u;
            const uint32_t noise = (cell + seed) * 2654435761u >> 20;
            image_row(part, y)[x] = noise % (uint32_t)of == 0 ? 128 : 127;
        }
}

static struct op_call call_of(struct job *job, struct image out, struct failure *failure) {
    struct op_call call = { .params = &job->params,
                            .in = job->in,
                            .out = out,
                            .pool = job->pool,
                            .progress = job->progress,
                            .timing = job->timing,
                            .failure = failure };
    memcpy(call.parts, job->parts, sizeof call.parts);
    return call;
}

/* The result, in memory of its own, whose padding is checked. */
static enum status try_run(struct job *job, struct image *out) {
    struct failure failure = { 0 };
    struct image shape;
    if (carve()->size(&job->params, &job->in, &shape, &failure)) fail_msg("%s", failure.message);
    *out = padded(shape);
    struct op_call call = call_of(job, *out, &failure);
    const size_t scratch = carve()->scratch(&call);
    call.scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
    memset(call.scratch, FILL, scratch);
    const enum status status = carve()->run(&call);
    free(call.scratch);
    for (uint32_t y = 0; y < out->height; y++)
        for (int i = 0; i < PADDING; i++)
            assert_int_equal(image_row(out, y)[image_row_bytes(out) + (size_t)i], FILL);
    return status;
}

static struct image run(struct job *job) {
    struct image out;
    assert_int_equal(try_run(job, &out), STATUS_OK);
    return out;
}

static void goal(struct job *job, long dx, long dy) {
    job->params.number[CARVE_DX] = dx;
    job->params.number[CARVE_DY] = dy;
}

/* ---- against the slow one */

static bool is_masked(const struct job *job) {
    return job->parts[0].width || job->parts[1].width;
}

static struct slow carve_slowly(const struct job *job, bool *touched) {
    return slow_carve(slow_load(&job->in, &job->parts[CARVE_KEEP], &job->parts[CARVE_REMOVE]),
                      (int)job->in.width + (int)job->params.number[CARVE_DX],
                      (int)job->in.height + (int)job->params.number[CARVE_DY],
                      (int)job->params.number[CARVE_ENERGY], is_masked(job), touched);
}

static void assert_sample(const struct job *job, const struct image *out, uint32_t x, uint32_t y,
                          unsigned c, uint32_t expected) {
    const uint32_t got = sample_get(image_row(out, y), (size_t)x * out->channels + c, out->depth);
    if (got != expected)
        fail_msg("%ux%u, %u x %u bit, dx %ld, dy %ld, energy %ld, show %ld, %s: pixel %u, %u, "
                 "channel %u is %u, should be %u",
                 job->in.width, job->in.height, job->in.channels, job->in.depth,
                 job->params.number[CARVE_DX], job->params.number[CARVE_DY],
                 job->params.number[CARVE_ENERGY], job->params.number[CARVE_SHOW],
                 is_masked(job) ? "masked" : "not masked", x, y, c, got, expected);
}

static void check_result(struct job *job, const struct slow *slow) {
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
static void check_seams(struct job *job, const bool *touched) {
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

static void check_job(struct job *job) {
    bool *touched = calloc(image_pixels(&job->in), 1);
    struct slow slow = carve_slowly(job, touched);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_RESULT;
    check_result(job, &slow);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_SEAMS;
    check_seams(job, touched);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_RESULT;
    free(slow.dots);
    free(touched);
}

/* All energies, without and with masks, for one way from size to size. */
static void check_way(uint32_t width, uint32_t height, long dx, long dy, unsigned channels,
                      unsigned depth, enum picture picture, struct pool *pool) {
    for (int energy = CARVE_GRADIENT; energy <= CARVE_SOBEL5; energy++)
        for (int masks = 0; masks < 4; masks++) {
            struct job job = job_make(width, height, channels, depth, picture);
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
        for (int p = 0; p < PICTURES; p++)
            check_way(ways[w].width, ways[w].height, ways[w].dx, ways[w].dy, 1 + (unsigned)w % 4,
                      w / 4 % 2 ? 16 : 8, (enum picture)p, NULL);
}

/* Threads, lanes and the vector twins change nothing. */
static void threads_and_twins_change_nothing(void **state) {
    (void)state;
    static const int chosen[] = { 4, 9, 11, 12, 16, 18, 20, 23 };
    for (size_t c = 0; c < sizeof chosen / sizeof *chosen; c++) {
        const int w = chosen[c];
        for (int threads = 1; threads <= 3; threads++) {
            struct pool *pool = pool_create(threads);
            carve_force_plain(threads == 1);
            check_way(ways[w].width, ways[w].height, ways[w].dx, ways[w].dy, 3, 8, PICTURE_NOISE,
                      pool);
            carve_force_plain(false);
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
                struct job job =
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
        struct job job = job_make(9, height, 1, 8, PICTURE_BLACK);
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
    uint16_t energy[SWEEP_MARGIN + 400 + SWEEP_SLACK];
    uint64_t cost[2][SWEEP_MARGIN + 400 + SWEEP_SLACK];
    uint64_t parents[16];
};

static void *cost_row(struct rows *rows, int i, enum lanes lanes) {
    return (uint8_t *)rows->cost[i] + SWEEP_MARGIN * lane_bytes(lanes);
}

/* Random costs up to MOST. */
static void fill_costs(struct rows *rows, enum lanes lanes, uint32_t width, uint32_t most,
                       uint32_t seed) {
    uint16_t *energy = rows->energy + SWEEP_MARGIN;
    memset(rows, FILL, sizeof *rows);
    for (uint32_t x = 0; x < width; x++) {
        seed = seed * 1664525u + 1013904223u;
        energy[x] = (uint16_t)((seed >> 12) % (most + 1));
    }
    sweep_first(lanes, energy, cost_row(rows, 0, lanes), width);
}

static uint64_t cost_of(const void *row, enum lanes lanes, int x) {
    return lanes == LANES_16   ? ((const uint16_t *)row)[x]
           : lanes == LANES_32 ? ((const uint32_t *)row)[x]
                               : ((const uint64_t *)row)[x] - (UINT64_C(1) << 63);
}

/* A row behind a row, by definition: the costs, and where each came from. */
static void check_row(enum lanes lanes, uint32_t width, uint32_t most, uint32_t seed) {
    static struct rows rows;
    fill_costs(&rows, lanes, width, most, seed);
    const void *before = cost_row(&rows, 0, lanes), *after = cost_row(&rows, 1, lanes);
    const uint16_t *energy = rows.energy + SWEEP_MARGIN;
    sweep_row(lanes, before, energy, cost_row(&rows, 1, lanes), rows.parents, width);
    for (int x = 0; x < (int)width; x++) {
        int from = x ? x - 1 : 0;
        for (int i = from + 1; i <= x + 1 && i < (int)width; i++)
            if (cost_of(before, lanes, i) < cost_of(before, lanes, from)) from = i;
        uint64_t own = energy[x];
        if (lanes == LANES_64)
            own = (uint64_t)(own >> 14 & 1) << 48 | (uint64_t) !(own >> 15) << 32 | (own & 0x3fff);
        uint64_t cost = cost_of(before, lanes, from) + own;
        const bool saturated = lanes == LANES_16 && cost_of(before, lanes, from) >= 65535;
        if (lanes == LANES_16 && cost > 65535) cost = 65535;
        assert_int_equal(cost_of(after, lanes, x), cost);
        if (!saturated) assert_int_equal(x + sweep_step(rows.parents, (uint32_t)x), from);
    }
    const struct meeting met = sweep_meet(lanes, before, after, width);
    uint64_t best = UINT64_MAX;
    int column = 0;
    for (int x = 0; x < (int)width; x++)
        for (int i = x ? x - 1 : 0; i <= x + 1 && i < (int)width; i++) {
            const uint64_t sum = cost_of(before, lanes, x) + cost_of(after, lanes, i);
            if (sum < best) best = sum, column = x;
        }
    assert_int_equal(met.cost, best);
    assert_int_equal(met.column, column);
    assert_int_equal(cost_of(before, lanes, column) + cost_of(after, lanes, (int)met.below), best);
}

static void rows_of_every_width_and_lane(void **state) {
    (void)state;
    static const uint32_t most[] = { 0, 3, 1000, ENERGY_BITS, 65535 };
    for (int plain = 0; plain < 2; plain++) {
        carve_force_plain(plain);
        for (uint32_t width = 1; width < 140; width++)
            for (int lanes = LANES_16; lanes <= LANES_64; lanes++)
                for (size_t m = 0; m < sizeof most / sizeof *most; m++)
                    check_row((enum lanes)lanes, width, most[m], width * 77 + (uint32_t)m);
    }
    carve_force_plain(false);
}

/* ---- energies by hand */

/* show=energy of a gray image of 3 x 3. */
static void check_energy(const char *plan, const uint8_t *in, const uint8_t *out) {
    check_8(plan, 3, 3, 1, in, 1, out);
}

/* Right, lower and across: at the first pixel |10 - 14|, |10 - 13|, |10 - 20| * 0.7071 = 7. In the
 * last column the right neighbour is the pixel itself and across is below; in the last row across
 * is right: 235 + 0 + 166 is shown as 255. */
static void gradient_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 14, 30, 13, 20, 20, 0, 255, 20 };
    const uint8_t out[] = { 4 + 3 + 7, 16 + 6 + 4, 0 + 10 + 7, 7 + 13 + 171, 0 + 235 + 0, 0 + 0 + 0,
                            255,       255,        0 };
    check_energy("carve:show=energy", in, out);
    carve_force_plain(true);
    check_energy("carve:show=energy", in, out);
    carve_force_plain(false);
}

/* An edge of 20 between the last two columns: gx = 4 * 20 beside it, 0 elsewhere; a slope of 5 down
 * the rows and 3 to the right: gx = 8 * 3 = 24, gy = 8 * 5 = 40 in the middle, root of 2176 = 46;
 * on the border one difference is half. */
static void sobel3_by_hand(void **state) {
    (void)state;
    const uint8_t edge[] = { 7, 7, 27, 7, 7, 27, 7, 7, 27 };
    const uint8_t edges[] = { 0, 80, 80, 0, 80, 80, 0, 80, 80 };
    check_energy("carve:show=energy,energy=sobel3", edge, edges);
    const uint8_t slope[] = { 0, 3, 6, 5, 8, 11, 10, 13, 16 };
    /* corners: gx = 12, gy = 20: 23; sides: (24, 20): 31; (12, 40): 41 */
    const uint8_t slopes[] = { 23, 31, 23, 41, 46, 41, 23, 31, 23 };
    check_energy("carve:show=energy,energy=sobel3", slope, slopes);
}

/* One pixel of 1 in the middle of 0: taps of (1 4 6 4 1) x (-1 -2 0 2 1), of which the border folds
 * the outer two into one, so that each pixel sees the middle once. Beside it (4 or 6 across) * 2:
 * corners 4 * 2 twice: root of 128 = 11, sides 6 * 2 = 12. */
static void sobel5_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 0, 0, 0, 1, 0, 0, 0, 0 };
    const uint8_t out[] = { 11, 12, 11, 12, 0, 12, 11, 12, 11 };
    check_energy("carve:show=energy,energy=sobel5", in, out);
}

/* Over 255 is 255; 16 bit times 257; alpha stays. */
static void energy_is_shown_clamped(void **state) {
    (void)state;
    const uint8_t gray[] = { 0, 9, 255, 8 }, shown[] = { 255, 9, 0, 8 };
    check_8("carve:show=energy", 2, 1, 2, gray, 2, shown);
    const uint16_t deep[] = { 0x0100, 0x01ff, 0x0102, 5, 0x0300, 0x0399, 0x0320, 6 };
    const uint16_t drawn[] = { (2 + 1) * 257, 5, 0, 6 }; /* luma 1 and 3: 2, 0 and 2 * 0.7 */
    check_16("carve:show=energy", 2, 1, 4, deep, 2, drawn);
}

/* ---- seams by hand */

/* Between 90 and 90 nothing changes, nor at the end: of energies 153, 0, 153, 0 the leftmost least
 * goes. */
static void the_flat_column_goes(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 90, 90, 0, 0, 90, 90, 0, 0, 90, 90, 0 };
    const uint8_t out[] = { 0, 90, 0, 0, 90, 0, 0, 90, 0 };
    check_8("carve:dx=-1", 4, 3, 1, in, 1, out);
    check_8("carve:width=3", 4, 3, 1, in, 1, out);
    const uint8_t red[] = { 0, 0, 0, 255, 0, 0, 90, 90, 90, 0, 0, 0 };
    check_8("carve:width=3,show=seams", 4, 1, 1, in, 3, red);
}

/* Energies 0, 0, 17, 0: a new pixel right of column 0, (10 + 10 + 10) / 3. Energies 17, 0: right of
 * column 1, (10 + 20 + 20) / 3 = 16.7. */
static void growth_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 10, 10, 20 }, out[] = { 10, 10, 10, 10, 20 };
    check_8("carve:dx=1", 4, 1, 1, in, 1, out);
    const uint8_t step[] = { 10, 20 }, grown[] = { 10, 20, 17 };
    check_8("carve:dx=1", 2, 1, 1, step, 1, grown);
    const uint8_t one[] = { 77 }, many[] = { 77, 77, 77, 77, 77, 77 };
    check_8("carve:width=3,height=2", 1, 1, 1, one, 1, many);
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

/* carve.h: the middle row where T + B - cost is least, leftmost; then outward the neighbour of
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

static void check_all_paths(struct job *job) {
    int seam[8];
    struct slow slow = slow_load(&job->in, &job->parts[0], &job->parts[1]);
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
                struct job job = job_make(2 + size % 5, 1 + size / 5, 1, 8, PICTURE_NOISE);
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
        struct job job = job_make(5, 5, 1, 8, PICTURE_NOISE);
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

/* ---- masks */

static uint32_t count_of(const struct image *image, uint8_t level) {
    uint32_t count = 0;
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) count += image_row(image, y)[x] == level;
    return count;
}

/* A block of 255 in noise below 250, and a mask over it. */
static struct job block_job(int place) {
    struct job job = job_make(60, 40, 1, 8, PICTURE_NOISE);
    job.parts[place] = padded(image_shape(60, 40, 1, 8));
    for (uint32_t y = 0; y < 40; y++)
        for (uint32_t x = 0; x < 60; x++) {
            const bool inside = x >= 20 && x < 30 && y >= 8 && y < 30;
            uint8_t *pixel = image_row(&job.in, y) + x;
            *pixel = inside ? 255 : (uint8_t)(*pixel % 250);
            image_row(&job.parts[place], y)[x] = inside ? 255 : 0;
        }
    return job;
}

static uint32_t block_left(int place, long dx, long dy) {
    struct job job = block_job(place);
    goal(&job, dx, dy);
    struct image out = run(&job);
    const uint32_t left = count_of(&out, 255);
    free(out.pixels);
    job_free(&job);
    return left;
}

/* Flat and cheap, the block would go first; kept, it stays while there is a way round it. */
static void kept_pixels_stay(void **state) {
    (void)state;
    assert_int_equal(block_left(CARVE_KEEP, -45, 0), 10 * 22);
    assert_int_equal(block_left(CARVE_KEEP, 0, -17), 10 * 22);
    assert_int_equal(block_left(CARVE_KEEP, -20, -10), 10 * 22);
    assert_true(block_left(CARVE_KEEP, -51, 0) < 10 * 22);
}

static void removed_pixels_go(void **state) {
    (void)state;
    assert_int_equal(block_left(CARVE_REMOVE, -10, 0), 0);
    assert_int_equal(block_left(CARVE_REMOVE, 0, -22), 0);
    assert_int_equal(block_left(CARVE_REMOVE, -12, -24), 0);
    assert_true(block_left(CARVE_REMOVE, -9, 0) > 0);
}

static void masks_of_another_size_are_refused(void **state) {
    (void)state;
    struct job job = job_make(60, 40, 1, 8, PICTURE_NOISE);
    job.parts[CARVE_REMOVE] = padded(image_shape(40, 60, 1, 8));
    goal(&job, -1, 0);
    struct image out;
    assert_int_equal(try_run(&job, &out), STATUS_MISMATCH);
    free(out.pixels);
    job_free(&job);
}

/* ---- sizes */

static void refuse(const char *plan_text, const char *part) {
    struct plan plan;
    struct failure failure = { 0 };
    struct image shapes[PLAN_STEPS_MAX + 1], in = image_shape(1920, 1080, 3, 8);
    assert_int_equal(plan_parse(&plan, plan_text, &failure), STATUS_OK);
    assert_int_not_equal(plan_shapes(&plan, &in, UINT64_C(1) << 32, shapes, &failure), STATUS_OK);
    if (!strstr(failure.message, part)) fail_msg("%s: %s", plan_text, failure.message);
}

static void wrong_sizes_are_refused(void **state) {
    (void)state;
    refuse("carve:dx=-1920", "dx must be -1919..63615 for an image 1920 pixels wide, not -1920");
    refuse("carve:dy=64456", "dy must be -1079..64455 for an image 1080 pixels high, not 64456");
    refuse("carve:width=100,dx=0", "width or dx");
    refuse("carve:width=100,dx=-3", "width or dx");
    refuse("carve:height=1080,dy=5,show=energy", "height or dy");
    refuse("carve:width=20000,show=seams", "times as many");
}

/* Shapes and ways: scratch stays within 16 bytes a pixel of the largest of input, output and what
 * is carved to, and something for every row and column. */
static void scratch_is_bounded(void **state) {
    (void)state;
    static const uint32_t sides[] = { 1, 2, 63, 640, 1080, 8192, 65535 };
    static const long goals[] = { 1, 2, 500, 1081, 9000, 65535 };
    for (int i = 0; i < 7 * 7 * 6 * 6; i++) {
        struct job job = { .in = image_shape(sides[i % 7], sides[i / 7 % 7], 4, 16) };
        params_init(&job.params, carve()->params);
        const long width = goals[i / 49 % 6], height = goals[i / 294];
        job.params.number[CARVE_WIDTH] = width;
        job.params.number[CARVE_HEIGHT] = height;
        for (int kind = 0; kind < 12; kind++) {
            job.params.number[CARVE_ENERGY] = kind % 3;
            job.params.number[CARVE_SHOW] = kind / 3 % 2;
            job.parts[0] = image_shape(kind < 6 ? 0 : job.in.width, job.in.height, 1, 8);
            const struct op_call call = call_of(&job, job.in, NULL);
            const uint64_t in = image_pixels(&job.in), out = (uint64_t)(width * height);
            const uint64_t lines = job.in.width + job.in.height + (uint64_t)(width + height);
            const uint64_t most = 16 * (in > out ? in : out) + 640 * lines + 16384;
            const uint64_t scratch = carve()->scratch(&call);
            if (scratch > most)
                fail_msg("%ux%u to %ldx%ld, kind %d: %.1f bytes a pixel", job.in.width,
                         job.in.height, width, height, kind,
                         (double)scratch / (double)(in > out ? in : out));
        }
    }
}

/* ---- stopping, telling */

struct canceller {
    struct progress *progress;
    int64_t at_ns;
};

static void *cancel(void *argument) {
    struct canceller *canceller = argument;
    while (!__atomic_load_n(&canceller->progress->done, __ATOMIC_RELAXED)) {
    }
    canceller->at_ns = clock_ns();
    __atomic_store_n(&canceller->progress->cancelled, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* A seam or more into the work of minutes. */
static void cancel_stops_within(long dx, long dy, int64_t ns) {
    struct progress progress = { 0 };
    struct canceller canceller = { .progress = &progress };
    struct job job = job_make(3000, 2000, 1, 8, PICTURE_NOISE);
    struct image out;
    pthread_t thread;
    job.progress = &progress;
    job.pool = pool_create(2);
    goal(&job, dx, dy);
    assert_int_equal(pthread_create(&thread, NULL, cancel, &canceller), 0);
    assert_int_equal(try_run(&job, &out), STATUS_CANCELLED);
    const int64_t late = clock_ns();
    pthread_join(thread, NULL);
    assert_true(late - canceller.at_ns < ns);
    pool_destroy(job.pool);
    free(out.pixels);
    job_free(&job);
}

/* Far more than it takes, for a machine at other work. */
static void cancel_stops_soon(void **state) {
    (void)state;
    cancel_stops_within(-2900, 0, 1000000000);
    cancel_stops_within(-1500, -1900, 1000000000);
}

static void the_deadline_stops(void **state) {
    (void)state;
    struct progress progress = { .deadline_ns = clock_ns() + 30000000 };
    struct job job = job_make(3000, 2000, 1, 8, PICTURE_NOISE);
    struct image out;
    job.progress = &progress;
    goal(&job, 0, -1999);
    assert_int_equal(try_run(&job, &out), STATUS_DEADLINE);
    free(out.pixels);
    job_free(&job);
}

static void tells_progress_and_times(void **state) {
    (void)state;
    static const char *const names[] = { "energy", "seam", "trace", "remove" };
    struct progress progress = { 0 };
    struct timing timing = { .span_count = 0 };
    struct job job = job_make(40, 30, 3, 8, PICTURE_NOISE);
    job.progress = &progress;
    job.timing = &timing;
    goal(&job, -3, 40); /* 3 columns less; 30 to 45, 67, 70 rows */
    struct image out = run(&job);
    assert_int_equal(progress.done, 43);
    assert_int_equal(progress.total, 43);
    assert_int_equal(timing.span_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(timing.spans[i].name, names[i]);
        assert_int_equal(timing.spans[i].level, 1);
        assert_true(timing.spans[i].ms >= 0);
    }
    free(out.pixels);
    job_free(&job);
}

/* A seam of HEIGHT pixels of which so many are kept, so many removed, and the rest neither. */
static uint64_t rank_of(uint32_t height, uint32_t kept, uint32_t removed, uint32_t energy) {
    uint64_t key = kept * carve_key(0, true, false) + removed * carve_key(0, false, true) + energy;
    key += (height - kept - removed) * carve_key(0, false, false);
    return carve_rank(key, height);
}

/* Kept pixels first, then removed ones, then energy, whatever the length, up to the longest. */
static void seams_of_two_lengths_are_weighed(void **state) {
    (void)state;
    assert_true(rank_of(100, 0, 5, 900) < rank_of(65535, 0, 4, 0));
    assert_true(rank_of(65535, 0, 5, 0) < rank_of(100, 0, 4, 0));
    assert_true(rank_of(65535, 0, 0, 7) < rank_of(10, 0, 0, 8));
    assert_true(rank_of(10, 1, 9, 0) > rank_of(65535, 0, 0, 1u << 29));
    assert_true(rank_of(65535, 40000, 0, 0) > rank_of(65535, 32767, 0, 1u << 29));
    assert_true(rank_of(65535, 65535, 0, 1u << 29) > rank_of(65535, 65534, 0, 0));
    assert_true(rank_of(50, 0, 50, 3) == rank_of(60, 0, 50, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seams_of_two_lengths_are_weighed),
        cmocka_unit_test(gradient_by_hand),
        cmocka_unit_test(sobel3_by_hand),
        cmocka_unit_test(sobel5_by_hand),
        cmocka_unit_test(energy_is_shown_clamped),
        cmocka_unit_test(the_flat_column_goes),
        cmocka_unit_test(growth_by_hand),
        cmocka_unit_test(least_of_all_paths),
        cmocka_unit_test(columns_go_on_a_tie),
        cmocka_unit_test(rows_of_every_width_and_lane),
        cmocka_unit_test(every_way_is_as_slow),
        cmocka_unit_test(threads_and_twins_change_nothing),
        cmocka_unit_test(dear_seams_are_exact),
        cmocka_unit_test(the_edge_of_sixteen_bits),
        cmocka_unit_test(kept_pixels_stay),
        cmocka_unit_test(removed_pixels_go),
        cmocka_unit_test(masks_of_another_size_are_refused),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(scratch_is_bounded),
        cmocka_unit_test(cancel_stops_soon),
        cmocka_unit_test(the_deadline_stops),
        cmocka_unit_test(tells_progress_and_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

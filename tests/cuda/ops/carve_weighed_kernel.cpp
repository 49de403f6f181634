// SPDX-License-Identifier: Apache-2.0
/* The kernel of weighed searches, run on the CPU (simt.h) by one block and by two, against a plain
 * search written from the definition: seams of one direction and of both, by weights and by marks.
 * covers: cuda/ops/carve/weighed/kernel.cuh cuda/ops/carve/origin_walk.cuh
 */
#include "tests/fake/simt/simt.h"

#define SPIN_STUCK(where) abort()

static struct { uint32_t x; } gridDim;

static inline uint64_t __shfl_up_sync(uint32_t mask, uint64_t value, int by) {
    const uint64_t low = __shfl_up_sync(mask, (uint32_t)value, by);
    return (uint64_t)__shfl_up_sync(mask, (uint32_t)(value >> 32), by) << 32 | low;
}

static inline uint64_t __shfl_down_sync(uint32_t mask, uint64_t value, int by) {
    const uint64_t low = __shfl_down_sync(mask, (uint32_t)value, by);
    return (uint64_t)__shfl_down_sync(mask, (uint32_t)(value >> 32), by) << 32 | low;
}

static inline float __fsqrt_rn(float number) {
    return sqrtf(number);
}

static inline void __nanosleep(unsigned) {
    sched_yield();
}

static inline void add_release(uint64_t *counter, uint64_t by) {
    __atomic_fetch_add(counter, by, __ATOMIC_RELEASE);
}

static inline uint64_t load_acquire(const uint64_t *from) {
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

#include "cuda/ops/carve/weighed/kernel.cuh"

#include <csetjmp>
#include <cstdarg>

extern "C" {
#include <cmocka.h>
}

enum { SOFT = 4 }; /* beside bits of keep and remove */

/* The picture as seams of one direction see it: rows of pixels. */
struct pixel {
    int luma, mark;
    uint32_t origin;
};
typedef std::vector<std::vector<struct pixel>> picture;

struct rules {
    int energy;
    uint32_t rigidity;
    int masks;
};

struct seam {
    uint64_t total;
    std::vector<int> path;
};

/* ---- the plain search */

static int luma_at(const picture &p, int x, int y) {
    x = max(0, min(x, (int)p[0].size() - 1)), y = max(0, min(y, (int)p.size() - 1));
    return p[y][x].luma;
}

static uint64_t cost_of(const picture &p, const struct rules &rules, int x, int y) {
    const int here = luma_at(p, x, y), mark = p[y][x].mark;
    uint64_t cost = rules.energy == CARVE_FORWARD
                        ? abs(luma_at(p, x + 1, y) - luma_at(p, x - 1, y))
                        : abs(here - luma_at(p, x + 1, y)) + abs(here - luma_at(p, x, y + 1)) +
                              46341 * abs(here - luma_at(p, x + 1, y + 1)) / 65536;
    if (rules.masks & SOFT) return cost + 16 * (uint64_t)mark;
    if (rules.masks) cost += (uint64_t)(mark & 1) << 48 | (uint64_t) !(mark & 2) << 32;
    return cost;
}

/* A step between (X, Y) and (X + SIDE, Y + 1). */
static uint64_t step_of(const picture &p, const struct rules &rules, int x, int y, int side) {
    if (!side) return 0;
    const bool forward = rules.energy == CARVE_FORWARD;
    return rules.rigidity + forward * abs(luma_at(p, x + side, y) - luma_at(p, x, y + 1));
}

/* Least costs of paths from row FIRST to row LAST, one row after another. */
static std::vector<std::vector<uint64_t>> sums_of(const picture &p, const struct rules &rules,
                                                  int first, int last) {
    const int width = (int)p[0].size(), step = last >= first ? 1 : -1;
    std::vector<std::vector<uint64_t>> sums(p.size(), std::vector<uint64_t>(width));
    for (int y = first; y != last + step; y += step)
        for (int x = 0; x < width; x++) {
            uint64_t least = y == first ? 0 : UINT64_MAX;
            for (int side = -1; y != first && side <= 1; side++)
                if (x + side >= 0 && x + side < width)
                    least = min(least, sums[y - step][x + side] +
                                           (step > 0 ? step_of(p, rules, x + side, y - 1, -side)
                                                     : step_of(p, rules, x, y, side)));
            sums[y][x] = least + cost_of(p, rules, x, y);
        }
    return sums;
}

static struct seam best_seam(const picture &p, const struct rules &rules) {
    const int height = (int)p.size(), middle = (height - 1) / 2, width = (int)p[0].size();
    const auto top = sums_of(p, rules, 0, height - 1), bottom = sums_of(p, rules, height - 1, 0);
    struct seam seam = { UINT64_MAX, std::vector<int>(height) };
    for (int x = 0; x < width; x++) {
        const uint64_t total = top[middle][x] + bottom[middle][x] - cost_of(p, rules, x, middle);
        if (total < seam.total) seam.total = total, seam.path[middle] = x;
    }
    for (int way = -1; way <= 1; way += 2)
        for (int y = middle; y + way >= 0 && y + way < height; y += way) {
            uint64_t least = UINT64_MAX;
            const int x = seam.path[y];
            for (int to = max(0, x - 1); to <= min(width - 1, x + 1); to++) {
                const uint64_t cost = way < 0
                                          ? top[y - 1][to] + step_of(p, rules, to, y - 1, x - to)
                                          : bottom[y + 1][to] + step_of(p, rules, x, y, to - x);
                if (cost < least) least = cost, seam.path[y + way] = to;
            }
        }
    return seam;
}

static picture turned_of(const picture &p) {
    picture result(p[0].size(), std::vector<struct pixel>(p.size()));
    for (size_t y = 0; y < p.size(); y++)
        for (size_t x = 0; x < p[0].size(); x++) result[x][y] = p[y][x];
    return result;
}

static uint64_t plain_rank(const struct seam &seam, const struct rules &rules) {
    const uint64_t length = seam.path.size();
    if (rules.masks & SOFT) return seam.total + (65535 - length) * 2048;
    return seam.total + (rules.masks ? (65535 - length) << 32 : 0);
}

/* Removes the cheaper seam from P and returns its path; *TURNED: whether it is horizontal. */
static std::vector<int> take_plain(picture *p, const struct rules &rules, bool columns, bool rows,
                                   bool *turned) {
    struct seam seams[2] = {};
    picture ways[2] = { *p, turned_of(*p) };
    for (int way = 0; way < 2; way++)
        if (way ? rows : columns) seams[way] = best_seam(ways[way], rules);
    *turned = !columns || (rows && plain_rank(seams[1], rules) < plain_rank(seams[0], rules));
    for (size_t y = 0; y < ways[*turned].size(); y++)
        ways[*turned][y].erase(ways[*turned][y].begin() + seams[*turned].path[y]);
    *p = *turned ? turned_of(ways[1]) : ways[0];
    return seams[*turned].path;
}

/* ---- the kernel */

static void run_kernel(const void *args) {
    const struct weighed_args &mine = *(const struct weighed_args *)args;
    const bool keys = mine.marks[0] && !mine.soft;
    if (mine.rows)
        keys ? weighed_kernel<uint64_t, true>(mine) : weighed_kernel<uint32_t, true>(mine);
    else
        keys ? weighed_kernel<uint64_t, false>(mine) : weighed_kernel<uint32_t, false>(mine);
}

static void check(int width, int height, uint32_t columns, uint32_t rows, struct rules rules,
                  uint32_t blocks, uint32_t levels) {
    picture p(height, std::vector<struct pixel>(width));
    const uint32_t stride = (width + 15) / 16 * 16, side = (uint32_t)max(width, height);
    uint32_t noise = width * 31 + height + levels;
    std::vector<uint8_t> planes[4], turns[2], ways(columns + rows);
    for (auto &plane : planes) plane.resize(stride * height + 16);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            struct pixel &pixel = p[y][x];
            pixel.luma = (int)(noise_next(&noise) >> 16) % (int)levels * 255 / (int)(levels - 1);
            pixel.mark = noise_next(&noise) >> 20 & (rules.masks & SOFT ? 255 : rules.masks);
            pixel.origin = (uint32_t)(y * width + x);
            planes[0][y * stride + x] = (uint8_t)pixel.luma;
            planes[2][y * stride + x] = (uint8_t)pixel.mark;
        }
    std::vector<uint64_t> costs[8], barrier(2);
    std::vector<uint32_t> middles[2], words(4 * 32 * (side + 16)), origins(width * height);
    std::vector<uint16_t> seams(columns * height + rows * width);
    struct weighed_args args = {};
    args.width = width, args.height = height, args.columns = columns, args.rows = rows;
    args.energy = rules.energy, args.rigidity = rules.rigidity, args.soft = rules.masks & SOFT;
    for (int i = 0; i < 2; i++) {
        args.luma[i] = planes[i].data();
        args.marks[i] = rules.masks ? planes[2 + i].data() : NULL;
        const uint32_t across = i ? height : width, lines = i ? width : height;
        args.axes[i].stride = (across + 15) / 16 * 16;
        turns[i].resize(args.axes[i].stride / 4 * lines);
        middles[i].resize(across);
        args.axes[i].turns = turns[i].data(), args.axes[i].middle = middles[i].data();
        for (int k = 0; k < 4; k++) {
            costs[4 * i + k].resize(across);
            args.axes[i].costs[k / 2][k % 2] = costs[4 * i + k].data();
        }
    }
    args.plane_stride = stride, args.words = words.data(), args.seams = seams.data();
    args.turned = ways.data(), args.origins = origins.data(), args.origin_stride = width;
    args.barrier = barrier.data();
    gridDim.x = blocks;
    simt_run(blocks, blocks, WEIGHED_THREADS, run_kernel, &args);
    size_t at = 0;
    for (uint32_t step = 0, c = columns, r = rows; c + r; step++) {
        bool turned;
        const std::vector<int> path = take_plain(&p, rules, c, r, &turned);
        for (size_t y = 0; y < path.size(); y++) assert_int_equal(seams[at++], path[y]);
        if (rows) assert_int_equal(ways[step], turned);
        (turned ? r : c)--;
    }
    for (size_t y = 0; rows && y < p.size(); y++)
        for (size_t x = 0; x < p[0].size(); x++)
            assert_int_equal(origins[y * width + x], p[y][x].origin);
}

static void test_one_direction(void **) {
    check(1, 1, 1, 0, { CARVE_FORWARD, 0, 0 }, 1, 256);
    check(9, 1, 9, 0, { CARVE_FORWARD, 3, 1 }, 1, 4);
    check(1, 70, 1, 0, { CARVE_GRADIENT, 3, 7 }, 1, 256);
    check(13, 42, 5, 0, { CARVE_FORWARD, 0, 0 }, 2, 256);
    check(131, 67, 2, 0, { CARVE_FORWARD, 9, 7 }, 2, 4);
    check(64, 130, 2, 0, { CARVE_GRADIENT, 4095, 3 }, 1, 2);
    check(40, 20, 6, 0, { CARVE_FORWARD, 0, 0 }, 1, 2);
    check(300, 3, 2, 0, { CARVE_FORWARD, 40, 2 }, 2, 2);
}

static void test_both_directions(void **) {
    check(13, 42, 3, 3, { CARVE_FORWARD, 2, 7 }, 2, 256);
    check(37, 11, 3, 3, { CARVE_GRADIENT, 20, 3 }, 2, 3);
    check(70, 35, 2, 2, { CARVE_FORWARD, 0, 0 }, 1, 256);
}

int main() {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_direction),
                                        cmocka_unit_test(test_both_directions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* The kernel that carves an image with a block or two, run on the CPU (simt.h), against a plain
 * search: every seam of every image, so that it is tested where there is no GPU. Planes are filled
 * with a pattern at first, and so is the memory around what the layout gives, which must keep it.
 * covers: cuda/ops/carve/one_block/layout.cuh cuda/ops/carve/one_block/sweep.cuh
 * covers: cuda/ops/carve/one_block/trace.cuh cuda/ops/carve/one_block/kernel.cuh
 */
#include "tests/fake/simt/simt.h"

#include "cuda/ops/carve/one_block/kernel.cuh"
#include "tests/noise.h"

#include <csetjmp>
#include <cstdarg>

extern "C" {
#include <cmocka.h>
}

/* SEAMS: cheap only where one warp's columns end and another's begin, so that seams go there. */
enum content { NOISE, FEW, FLAT, RAMP, CHECKS, SEAMS, CONTENTS };

struct plane {
    int width, height;
    std::vector<uint8_t> luma;
};

static struct plane make_plane(int width, int height, int content) {
    struct plane plane = { width, height, std::vector<uint8_t>((size_t)(width * height)) };
    uint32_t noise = 99;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            noise_next(&noise);
            const uint32_t level = content == NOISE  ? noise >> 24
                                   : content == FEW  ? (noise >> 24) % 3
                                   : content == FLAT ? 77
                                   : content == RAMP ? (uint32_t)(x * 255 / width + y)
                                   : content == SEAMS
                                       ? (noise >> 24) % ((x + 15) % 480 < 30 ? 9 : 255)
                                   : (x ^ y) & 1 ? 255u
                                                 : 0u;
            plane.luma[(size_t)(y * width + x)] = (uint8_t)level;
        }
    return plane;
}

/* ---- the plain search */

static int energy_at(const struct plane &plane, int x, int y) {
    const int right = std::min(x + 1, plane.width - 1), below = std::min(y + 1, plane.height - 1);
    const auto at = [&](int column, int row) {
        return (int)plane.luma[(size_t)(row * plane.width + column)];
    };
    const int here = at(x, y);
    return abs(here - at(right, y)) + abs(here - at(x, below)) +
           46341 * abs(here - at(right, below)) / 65536;
}

/* The column beside X with the least cost, the leftmost of equals. */
static int least_beside(const std::vector<int> &costs, int x) {
    int best = -1;
    for (int i = std::max(x - 1, 0); i <= std::min(x + 1, (int)costs.size() - 1); i++)
        if (best < 0 || costs[(size_t)i] < costs[(size_t)best]) best = i;
    return best;
}

/* Costs of paths to each pixel of the rows FIRST, FIRST + STEP... up to LAST. */
static std::vector<std::vector<int>> costs_of(const struct plane &plane, int first, int last,
                                              int step) {
    std::vector<std::vector<int>> costs;
    for (int y = first; y != last + step; y += step) {
        std::vector<int> row;
        for (int x = 0; x < plane.width; x++) {
            const int before = y == first ? 0 : costs.back()[(size_t)least_beside(costs.back(), x)];
            row.push_back(before + energy_at(plane, x, y));
        }
        costs.push_back(row);
    }
    return costs;
}

/* Removes a seam and returns its columns. */
static std::vector<int> remove_seam(struct plane &plane) {
    const int middle = (plane.height - 1) / 2;
    const auto upper = costs_of(plane, 0, middle, 1);
    const auto lower = costs_of(plane, plane.height - 1, middle + 1, -1);
    std::vector<int> seam((size_t)plane.height), both;
    for (int x = 0; x < plane.width; x++)
        both.push_back(upper.back()[(size_t)x] +
                       lower.back()[(size_t)least_beside(lower.back(), x)]);
    seam[(size_t)middle] = (int)(std::min_element(both.begin(), both.end()) - both.begin());
    for (int y = middle - 1; y >= 0; y--)
        seam[(size_t)y] = least_beside(upper[(size_t)y], seam[(size_t)y + 1]);
    for (int y = middle + 1; y < plane.height; y++)
        seam[(size_t)y] = least_beside(lower[(size_t)(plane.height - 1 - y)], seam[(size_t)y - 1]);
    for (int y = plane.height - 1; y >= 0; y--)
        plane.luma.erase(plane.luma.begin() + y * plane.width + seam[(size_t)y]);
    plane.width--;
    return seam;
}

/* ---- the kernel */

enum { PATTERN = 0xa5, SEAM_PATTERN = 0x5a5a, AROUND = 4096 };

struct run {
    struct plane plane;
    std::vector<uint8_t> memory; /* AROUND bytes, the search's, AROUND bytes */
    std::vector<uint16_t> seams; /* AROUND elements more */
    struct kernel_progress progress;
};

template <int WORDS, int CLUSTER> static void run_kernel(const void *searches) {
    one_block_kernel<WORDS, CLUSTER>(*(const struct block_searches *)searches);
}

/* Fills plane 0 with the image and a column more, as its kernel does. */
static struct block_search search_of(struct run &run, int seams) {
    const uint32_t width = (uint32_t)run.plane.width, height = (uint32_t)run.plane.height;
    const struct block_shape shape = block_shape_of(width, height);
    run.memory.assign(block_search_bytes(width, height) + 2 * AROUND, (uint8_t)PATTERN);
    run.seams.assign((size_t)seams * height + AROUND, SEAM_PATTERN);
    run.progress = {};
    uint8_t *const memory = run.memory.data() + AROUND, *const to = block_plane(memory, shape, 0);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x <= width; x++)
            to[(size_t)y * shape.stride + x] =
                run.plane.luma[(size_t)y * width + std::min(x, width - 1)];
    return { memory,          run.seams.data(), &run.progress,   100,
             (uint16_t)width, (uint16_t)height, (uint16_t)seams, (uint16_t)block_warps(width) };
}

static void check_around(const struct run &run, int seams) {
    bool kept = true;
    for (size_t i = 0; i < AROUND; i++)
        kept &= run.memory[i] == PATTERN && run.memory[run.memory.size() - 1 - i] == PATTERN &&
                run.seams[(size_t)(seams * run.plane.height) + i] == SEAM_PATTERN;
    if (!kept) fail_msg("%dx%d: memory around was written", run.plane.width, run.plane.height);
}

static void check(struct run &run, int seams, int content, int cluster) {
    const int width = run.plane.width, height = run.plane.height;
    check_around(run, seams);
    assert_int_equal(run.progress.done, 100 + seams);
    for (int s = 0; s < seams; s++) {
        const std::vector<int> expected = remove_seam(run.plane);
        for (int y = 0; y < height; y++)
            if (run.seams[(size_t)(s * height + y)] != expected[(size_t)y])
                fail_msg(
                    "%dx%d, content %d, cluster %d, late %d: seam %d, row %d: %u, should be %d",
                    width, height, content, cluster, simt_late, s, y,
                    run.seams[(size_t)(s * height + y)], expected[(size_t)y]);
    }
}

/* One launch of some images, all of the same words a lane. STOPPED: the number of one that nobody
 * wants any more; -1: none. */
static void launch(const std::vector<std::vector<int>> &sizes, int seams, int content,
                   uint32_t cluster, int stopped = -1) {
    struct block_searches searches = {};
    std::vector<struct run> runs(sizes.size());
    uint32_t warps = 0, words = 0;
    for (size_t i = 0; i < sizes.size(); i++) {
        runs[i].plane = make_plane(sizes[i][0], sizes[i][1], content);
        searches.of[i] = search_of(runs[i], std::min(seams, sizes[i][0] - 1));
        runs[i].progress.stop = (int)i == stopped;
        warps = std::max(warps, (uint32_t)searches.of[i].warps);
        words = block_words((uint32_t)sizes[i][0]);
    }
    void (*const kernel)(const void *) = words == 3     ? run_kernel<3, 1>
                                         : cluster == 1 ? run_kernel<4, 1>
                                                        : run_kernel<4, 2>;
    simt_run((uint32_t)sizes.size() * cluster, cluster, 64 * warps / cluster, kernel, &searches);
    for (size_t i = 0; i < sizes.size(); i++)
        if ((int)i == stopped)
            assert_true(runs[i].progress.done == 0 && runs[i].seams[0] == SEAM_PATTERN);
        else
            check(runs[i], searches.of[i].seam_count, content, (int)cluster);
}

static void test_narrow(void **) {
    for (int content = 0; content < 2 * CONTENTS; content++) {
        simt_late = content % 2;
        launch({ { 33, 17 }, { 2, 9 }, { 13, 42 }, { 64, 2 }, { 40, 3 }, { 5, 65 } }, 6,
               content / 2, 1);
    }
    launch({ { 360, 23 }, { 359, 22 } }, 5, NOISE, 1);
}

static void test_wide(void **) {
    for (int content = 0; content < 2 * CONTENTS; content++) {
        simt_late = content % 2;
        launch({ { 361, 33 }, { 481, 32 }, { 500, 2 }, { 480, 3 } }, 4, content / 2, 1);
        launch({ { 361, 32 }, { 481, 33 }, { 500, 2 }, { 480, 3 } }, 4, content / 2, 2);
    }
    launch({ { 961, 31 }, { 1440, 16 } }, 4, NOISE, 1);
    launch({ { 961, 31 }, { 1440, 16 } }, 4, FEW, 2);
    launch({ { 500, 125 }, { 600, 160 } }, 4, SEAMS, 1);
    launch({ { 500, 160 }, { 1000, 125 } }, 4, SEAMS, 2);
}

static void test_stop(void **) {
    launch({ { 33, 17 }, { 40, 30 }, { 13, 42 } }, 5, NOISE, 1, 1);
    launch({ { 500, 17 }, { 400, 30 } }, 5, NOISE, 2, 0);
}

int main() {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_narrow), cmocka_unit_test(test_wide),
                                        cmocka_unit_test(test_stop) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

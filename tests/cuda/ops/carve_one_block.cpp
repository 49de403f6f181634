// SPDX-License-Identifier: Apache-2.0
/* The kernel that carves an image with a block or two, run on the CPU (simt.h), against a plain
 * search: every seam of every image, by each energy, with masks and without, so that it is tested
 * where there is no GPU. Planes are filled with a pattern at first, and so is the memory around
 * what the layout gives, which must keep it.
 * covers: cuda/ops/carve/one_block/layout.cuh cuda/ops/carve/one_block/sweep.cuh
 * covers: cuda/ops/carve/one_block/trace.cuh cuda/ops/carve/one_block/kernel.cuh
 * covers: cuda/ops/carve/one_block/flags.cuh cuda/ops/carve/one_block/sobel.cuh
 */
#include "tests/fake/simt/simt.h"

#include "cuda/ops/carve/one_block/kernel.cuh"
#include "tests/noise.h"

#include <csetjmp>
#include <cstdarg>

extern "C" {
#include <cmocka.h>
}

/* SEAMS: cheap only where one warp's columns end and another's begin, so that seams go there.
 * STAIRS: steps as steep as sobel can see, so that energies are the highest. SLOPE: a cheap seam is
 * on the left; then one moves a column each row, and comes to other columns of a warp in the last
 * row in which those are known; then a dearer one like that.
 * LEFTWARD, RIGHTWARD: cheap only in a band that goes from the middle row outward one column a row,
 * and then along the border; ZIGZAG: in one that turns every 40 rows. */
enum content {
    NOISE,
    FEW,
    FLAT,
    RAMP,
    CHECKS,
    SEAMS,
    STAIRS,
    SLOPE,
    LEFTWARD,
    RIGHTWARD,
    ZIGZAG,
    CONTENTS
};

/* Which pixels a mask marks: these, or none at all; the last four let seams end. */
enum marking { SPARSE, HALF_OF_ALL, ALL, NOTHING, BLOCKS, COLUMN, BAND_ACROSS, MARKINGS };

/* MARKS: bit 0 keep, bit 1 remove. */
struct plane {
    int width, height;
    std::vector<uint8_t> luma, marks;
};

static bool is_marked(const struct plane &plane, int marking, int x, int y, uint32_t noise) {
    switch (marking) {
    case SPARSE: return noise % 23 == 0;
    case HALF_OF_ALL: return noise % 2;
    case ALL: return true;
    case BLOCKS: return (x / 5 + y / 7) % 3 == 0;
    case COLUMN: return abs(x - plane.width / 2) < 3;
    case BAND_ACROSS: return y == plane.height / 3;
    default: return false;
    }
}

/* KEEP, REMOVE: the markings. */
static void mark(struct plane &plane, int keep, int remove) {
    uint32_t noise = 7;
    plane.marks.assign(plane.luma.size(), 0);
    for (int i = 0; i < plane.width * plane.height; i++) {
        const int x = i % plane.width, y = i / plane.width;
        noise_next(&noise);
        const bool kept = is_marked(plane, keep, x, y, noise >> 24);
        noise_next(&noise);
        const bool removed = is_marked(plane, remove, x, y, noise >> 24);
        plane.marks[(size_t)i] = (uint8_t)((kept ? 1 : 0) | (removed ? 2 : 0));
    }
}

static bool in_band(int width, int height, int content, int x, int y) {
    const int outward = abs(y - (height - 1) / 2), from_border = 2 * height / 5 - outward;
    const int middle = content == LEFTWARD    ? std::max(from_border, 0)
                       : content == RIGHTWARD ? width - 1 - std::max(from_border, 0)
                                              : width / 2 - abs((outward + 40) % 80 - 40);
    return abs(x - middle) < 5;
}

static struct plane make_plane(int width, int height, int content) {
    struct plane plane = { width, height, std::vector<uint8_t>((size_t)(width * height)), {} };
    uint32_t noise = 99;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            noise_next(&noise);
            const int slope = x + std::min(y, height - 1 - y) - (width - 36);
            const uint32_t sloping = abs(x - 40) < 3        ? 1
                                     : abs(slope) < 5       ? 2
                                     : abs(slope + 150) < 5 ? 3
                                                            : 255;
            const uint32_t level =
                content == NOISE      ? noise >> 24
                : content == FEW      ? (noise >> 24) % 3
                : content == FLAT     ? 77
                : content == SLOPE    ? (noise >> 24) % sloping
                : content == STAIRS   ? (x + y / 3) / 2 % 2 * 255u
                : content == RAMP     ? (uint32_t)(x * 255 / width + y)
                : content == SEAMS    ? (noise >> 24) % ((x + 15) % 480 < 30 ? 9 : 255)
                : content >= LEFTWARD ? (in_band(width, height, content, x, y) ? 99 : noise >> 24)
                : (x ^ y) & 1         ? 255u
                                      : 0u;
            plane.luma[(size_t)(y * width + x)] = (uint8_t)level;
        }
    return plane;
}

/* ---- the plain search */

/* A path's kept pixels in the upper bits, then those not to be removed, then its energy. */
typedef std::vector<int64_t> cost_row;

static int64_t cost_at(const struct plane &plane, int x, int y, int energy) {
    if (plane.marks.empty()) return energy;
    const int marks = plane.marks[(size_t)(y * plane.width + x)];
    return (int64_t)(marks & 1) << 50 | (int64_t) !(marks & 2) << 32 | energy;
}

/* The length of the slope that a kernel of SIDE rows and columns finds, its border repeated. */
static int sobel_at(const struct plane &plane, int x, int y, int side) {
    static const int smooth[2][5] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 } };
    static const int slope[2][5] = { { -1, 0, 1 }, { -1, -2, 0, 2, 1 } };
    const int which = side / 2 - 1;
    int64_t across = 0, down = 0;
    for (int i = 0; i < side * side; i++) {
        const int column = std::min(std::max(x + i % side - side / 2, 0), plane.width - 1);
        const int row = std::min(std::max(y + i / side - side / 2, 0), plane.height - 1);
        const int luma = plane.luma[(size_t)(row * plane.width + column)];
        across += luma * slope[which][i % side] * smooth[which][i / side];
        down += luma * smooth[which][i % side] * slope[which][i / side];
    }
    return (int)sqrt((double)(across * across + down * down)); /* exact below 2^52 */
}

static int energy_at(const struct plane &plane, int x, int y, enum search_kind kind) {
    if (kind == SOBEL3 || kind == SOBEL5) return sobel_at(plane, x, y, kind == SOBEL3 ? 3 : 5);
    const int right = std::min(x + 1, plane.width - 1), below = std::min(y + 1, plane.height - 1);
    const auto at = [&](int column, int row) {
        return (int)plane.luma[(size_t)(row * plane.width + column)];
    };
    const int here = at(x, y);
    return abs(here - at(right, y)) + abs(here - at(x, below)) +
           46341 * abs(here - at(right, below)) / 65536;
}

/* The column beside X with the least cost, the leftmost of equals. */
static int least_beside(const cost_row &costs, int x) {
    int best = -1;
    for (int i = std::max(x - 1, 0); i <= std::min(x + 1, (int)costs.size() - 1); i++)
        if (best < 0 || costs[(size_t)i] < costs[(size_t)best]) best = i;
    return best;
}

/* Costs of paths to each pixel of the rows FIRST, FIRST + STEP... up to LAST. */
static std::vector<cost_row> costs_of(const struct plane &plane, int first, int last, int step,
                                      enum search_kind kind) {
    std::vector<cost_row> costs;
    for (int y = first; y != last + step; y += step) {
        cost_row row;
        for (int x = 0; x < plane.width; x++) {
            const int64_t before =
                y == first ? 0 : costs.back()[(size_t)least_beside(costs.back(), x)];
            row.push_back(before + cost_at(plane, x, y, energy_at(plane, x, y, kind)));
        }
        costs.push_back(row);
    }
    return costs;
}

/* Removes a seam and returns its columns. COST gets its cost. */
static std::vector<int> remove_seam(struct plane &plane, enum search_kind kind, int64_t &cost) {
    const int middle = (plane.height - 1) / 2;
    const auto upper = costs_of(plane, 0, middle, 1, kind);
    const auto lower = costs_of(plane, plane.height - 1, middle + 1, -1, kind);
    std::vector<int> seam((size_t)plane.height);
    cost_row both;
    for (int x = 0; x < plane.width; x++)
        both.push_back(upper.back()[(size_t)x] +
                       lower.back()[(size_t)least_beside(lower.back(), x)]);
    seam[(size_t)middle] = (int)(std::min_element(both.begin(), both.end()) - both.begin());
    cost = both[(size_t)seam[(size_t)middle]];
    for (int y = middle - 1; y >= 0; y--)
        seam[(size_t)y] = least_beside(upper[(size_t)y], seam[(size_t)y + 1]);
    for (int y = middle + 1; y < plane.height; y++)
        seam[(size_t)y] = least_beside(lower[(size_t)(plane.height - 1 - y)], seam[(size_t)y - 1]);
    for (int y = plane.height - 1; y >= 0; y--)
        for (std::vector<uint8_t> *bytes : { &plane.luma, &plane.marks })
            if (!bytes->empty()) bytes->erase(bytes->begin() + y * plane.width + seam[(size_t)y]);
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
    uint32_t taken;
};

/* The masks of a launch. */
struct masks {
    uint32_t given;   /* enum pixel_flag */
    int keep, remove; /* enum marking */
    int least;        /* seams to take before the search may end; -1: all */
};

template <int WORDS, int CLUSTER, search_kind KIND> static void run_kernel(const void *searches) {
    one_block_kernel<WORDS, CLUSTER, KIND>(*(const struct block_searches *)searches);
}

typedef void (*kernel_pointer)(const void *searches);

template <search_kind KIND> static kernel_pointer kernel_of_kind(uint32_t words, uint32_t cluster) {
    if constexpr (!sobel_reach(KIND))
        if (words == 3) return run_kernel<3, 1, KIND>;
    return cluster == 1 ? run_kernel<4, 1, KIND> : run_kernel<4, 2, KIND>;
}

static kernel_pointer kernel_of(enum search_kind kind, uint32_t words, uint32_t cluster) {
    return kind == PLAIN    ? kernel_of_kind<PLAIN>(words, cluster)
           : kind == MASKED ? kernel_of_kind<MASKED>(words, cluster)
           : kind == SOBEL3 ? kernel_of_kind<SOBEL3>(words, cluster)
                            : kernel_of_kind<SOBEL5>(words, cluster);
}

/* Fills plane 0 with the image and the columns beside it that KIND needs, and its flags, as the
 * GPU's kernels do. */
static void fill_plane(const struct plane &plane, const struct block_shape &shape, uint8_t *to,
                       uint32_t masks, enum search_kind kind) {
    const int width = plane.width, columns = 4 * (int)block_words((uint32_t)width, kind);
    for (int y = 0; y < plane.height; y++) {
        uint8_t *const row = to + (size_t)y * shape.pitch;
        uint32_t *const flags = (uint32_t *)(row + flags_at(shape)) + 1;
        for (int x = 0; x < width + (kind == SOBEL5 ? 2 : 1); x++)
            row[x] = plane.luma[(size_t)(y * width + std::min(x, width - 1))];
        for (int x = 0; masks && x < width; x++) {
            const int marks = plane.marks[(size_t)(y * width + x)];
            const uint32_t pixel = (marks & 1 ? FLAG_KEPT : 0) | (marks & 2 ? 0 : FLAG_STAYS);
            if (x % columns == 0) flags[x / columns] = 0;
            flags[x / columns] |= (pixel & masks) << 2 * (x % columns);
        }
    }
}

static struct block_search search_of(struct run &run, int seams, const struct masks &masks,
                                     enum search_kind kind) {
    const uint32_t width = (uint32_t)run.plane.width, height = (uint32_t)run.plane.height;
    const struct block_shape shape = block_shape_of(width, height, kind);
    run.memory.assign(block_search_bytes(width, height, kind) + 2 * AROUND, (uint8_t)PATTERN);
    run.seams.assign((size_t)seams * height + AROUND, SEAM_PATTERN);
    run.progress = {};
    run.taken = 12345;
    uint8_t *const memory = run.memory.data() + AROUND;
    fill_plane(run.plane, shape, block_plane(memory, shape, 0), masks.given, kind);
    return { memory,
             run.seams.data(),
             &run.progress,
             &run.taken,
             100,
             (uint16_t)width,
             (uint16_t)height,
             (uint16_t)seams,
             (uint16_t)(masks.least < 0 ? seams : masks.least),
             (uint8_t)block_warps(width),
             (uint8_t)masks.given,
             (uint8_t)kind };
}

static void check_around(const struct run &run, int seams) {
    bool kept = true;
    for (size_t i = 0; i < AROUND; i++)
        kept &= run.memory[i] == PATTERN && run.memory[run.memory.size() - 1 - i] == PATTERN &&
                run.seams[(size_t)(seams * run.plane.height) + i] == SEAM_PATTERN;
    if (!kept) fail_msg("%dx%d: memory around was written", run.plane.width, run.plane.height);
}

/* Whether the search ends before SEAM, of COST; TAKEN is what the kernel says then. */
static bool ends_before(const struct masks &masks, const struct plane &plane, int seam,
                        int64_t cost, uint32_t &taken) {
    const bool walled = masks.given == (FLAG_KEPT | FLAG_STAYS) && cost >> 50;
    const bool clear = (cost >> 32 & 0xffff) == plane.height;
    taken = walled ? SEARCH_WALLED : (uint32_t)seam;
    return walled || (masks.least >= 0 && seam >= masks.least && clear);
}

static void check(struct run &run, int seams, const char *name, const struct masks &masks,
                  enum search_kind kind) {
    const int width = run.plane.width, height = run.plane.height;
    int s = 0;
    check_around(run, seams);
    for (; s < seams; s++) {
        int64_t cost;
        uint32_t taken;
        const std::vector<int> expected = remove_seam(run.plane, kind, cost);
        if (masks.given && ends_before(masks, run.plane, s, cost, taken)) {
            if (run.taken != taken)
                fail_msg("%dx%d, %s: %d seams taken, should be %d", width, height, name,
                         (int)run.taken, (int)taken);
            break;
        }
        for (int y = 0; y < height; y++)
            if (run.seams[(size_t)(s * height + y)] != expected[(size_t)y])
                fail_msg("%dx%d, %s: seam %d, row %d: %u, should be %d", width, height, name, s, y,
                         run.seams[(size_t)(s * height + y)], expected[(size_t)y]);
    }
    assert_int_equal(run.progress.done, s ? 100 + s : 0);
    if (masks.given && s == seams) assert_int_equal(run.taken, seams);
}

/* One launch of some images, all of the same words a lane. STOPPED: the number of one that nobody
 * wants any more; -1: none. */
static void launch(const std::vector<std::vector<int>> &sizes, int seams, int content,
                   uint32_t cluster, int stopped = -1, const struct masks &masks = {},
                   enum search_kind kind = PLAIN) {
    struct block_searches searches = {};
    std::vector<struct run> runs(sizes.size());
    uint32_t warps = 0, words = 0;
    char name[120];
    if (masks.given) kind = MASKED;
    snprintf(name, sizeof name,
             "kind %d, content %d, cluster %u, late %d, masks %u: %d and %d, least %d", kind,
             content, cluster, simt_late, masks.given, masks.keep, masks.remove, masks.least);
    for (size_t i = 0; i < sizes.size(); i++) {
        const int most = masks.given && masks.least >= 0 ? sizes[i][0] : sizes[i][0] - 1;
        runs[i].plane = make_plane(sizes[i][0], sizes[i][1], content);
        if (masks.given)
            mark(runs[i].plane, masks.given & FLAG_KEPT ? masks.keep : NOTHING,
                 masks.given & FLAG_STAYS ? masks.remove : NOTHING);
        searches.of[i] = search_of(runs[i], std::min(seams, most), masks, kind);
        runs[i].progress.stop = (int)i == stopped;
        warps = std::max(warps, (uint32_t)searches.of[i].warps);
        words = block_words((uint32_t)sizes[i][0], kind);
    }
    simt_run((uint32_t)sizes.size() * cluster, cluster, 64 * warps / cluster,
             kernel_of(kind, words, cluster), &searches);
    for (size_t i = 0; i < sizes.size(); i++)
        if ((int)i == stopped)
            assert_true(runs[i].progress.done == 0 && runs[i].seams[0] == SEAM_PATTERN);
        else
            check(runs[i], searches.of[i].seam_count, name, masks, kind);
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
        if (content / 2 % 2 == content % 2)
            launch({ { 361, 33 }, { 481, 32 }, { 500, 2 }, { 480, 3 } }, 4, content / 2, 1);
        else
            launch({ { 361, 32 }, { 481, 33 }, { 500, 2 }, { 480, 3 } }, 4, content / 2, 2);
    }
    launch({ { 961, 31 }, { 1440, 16 } }, 4, NOISE, 1);
    launch({ { 961, 31 }, { 1440, 16 } }, 4, FEW, 2);
    launch({ { 500, 125 }, { 600, 160 } }, 4, SEAMS, 1);
    launch({ { 500, 160 }, { 1000, 125 } }, 4, SEAMS, 2);
    launch({ { 563, 104 }, { 563, 104 } }, 3, SLOPE, 1);
}

/* Widths at which a warp's columns end, or a seam before it; 4 rows are the fewest. */
static void check_sobel(enum search_kind kind) {
    const struct masks none = {};
    for (int content = 0; content < CONTENTS; content++) {
        simt_late = content % 2;
        launch({ { 33, 17 }, { 2, 9 }, { 13, 42 }, { 64, 4 }, { 40, 5 }, { 5, 65 } }, 6, content, 1,
               -1, none, kind);
        if (content % 2)
            launch({ { 361, 33 }, { 481, 32 }, { 482, 4 }, { 480, 6 } }, 3, content, 1, -1, none,
                   kind);
        else
            launch({ { 479, 32 }, { 481, 33 }, { 960, 4 }, { 480, 7 } }, 3, content, 2, -1, none,
                   kind);
    }
    launch({ { 961, 31 }, { 1440, 16 } }, 4, NOISE, 1, -1, none, kind);
    launch({ { 500, 125 }, { 970, 90 } }, 4, SEAMS, 2, -1, none, kind);
    launch({ { 500, 29 }, { 970, 60 } }, 4, SEAMS, 1, -1, none, kind);
    launch({ { 563, 104 }, { 560, 104 } }, 3, SLOPE, 1, -1, none, kind);
    for (int content = LEFTWARD; content <= ZIGZAG; content++) { /* many rounds of a trace */
        if (content % 2)
            launch({ { 200, 260 }, { 1500, 199 } }, 2, content, 1, -1, none, kind);
        else
            launch({ { 600, 190 }, { 2000, 140 } }, 2, content, 2, -1, none, kind);
    }
}

static void test_sobel3(void **) {
    check_sobel(SOBEL3);
}

static void test_sobel5(void **) {
    check_sobel(SOBEL5);
}

/* Many rounds of a trace, by each number of warps, up to as many as there are. */
static void test_slopes(void **) {
    for (int content = LEFTWARD; content <= ZIGZAG; content++) {
        simt_late = content % 2;
        launch({ { 200, 260 }, { 81, 200 } }, 3, content, 1);
        launch({ { 1500, 275 }, { 1000, 190 }, { 600, 200 }, { 400, 140 } }, 2, content, 1);
        launch({ { 1500, 199 }, { 1000, 290 }, { 600, 160 }, { 400, 100 } }, 2, content, 2);
        launch({ { 3400, 155 } }, 1, content, content == ZIGZAG ? 1 : 2);
    }
    launch({ { 7300, 160 } }, 1, LEFTWARD, 2);
    launch({ { 7680, 95 } }, 1, NOISE, 2);
    launch({ { 3841, 124 } }, 1, RIGHTWARD, 2);
    launch({ { 3840, 129 } }, 1, NOISE, 1);
    launch({ { 1500, 260 } }, 3, NOISE, 1);
}

static void test_stop(void **) {
    launch({ { 33, 17 }, { 40, 30 }, { 13, 42 } }, 5, NOISE, 1, 1);
    launch({ { 500, 17 }, { 400, 30 } }, 5, NOISE, 2, 0);
}

/* Every marking of either mask with every one of the other. */
static void test_narrow_masks(void **) {
    for (int i = 0; i < 3 * MARKINGS * MARKINGS; i++) {
        const int keep = i / 3 % MARKINGS, remove = i / 3 / MARKINGS;
        const struct masks masks = { 1 + (uint32_t)i % 3, keep, remove,
                                     i % 3 && i % 2 ? i % 5 : -1 };
        if ((!(masks.given & FLAG_KEPT) && keep) || (!(masks.given & FLAG_STAYS) && remove))
            continue;
        simt_late = i / 2 % 2;
        launch({ { 33, 17 }, { 2, 9 }, { 13, 42 }, { 64, 2 }, { 25, 31 } }, 7, i % CONTENTS, 1, -1,
               masks);
    }
    launch({ { 40, 40 } }, 40, NOISE, 1, -1, { FLAG_STAYS, 0, ALL, 0 });
}

/* The highest costs that there may be. */
static void test_long_seams(void **) {
    launch({ { 21, ONE_BLOCK_ROWS_MAX } }, 2, CHECKS, 1);
    launch({ { 21, ONE_BLOCK_ROWS_MAX } }, 2, STAIRS, 1, -1, {}, SOBEL5);
    const std::vector<std::vector<int>> sizes = { { 13, MASKED_ROWS_MAX } };
    launch(sizes, 2, CHECKS, 1, -1, { FLAG_KEPT, ALL, 0, -1 });
    launch(sizes, 2, CHECKS, 1, -1, { FLAG_STAYS, 0, NOTHING, -1 });
    launch(sizes, 2, NOISE, 1, -1, { FLAG_KEPT | FLAG_STAYS, COLUMN, NOTHING, -1 });
}

static void test_wide_masks(void **) {
    for (int i = 0; i < 3 * MARKINGS; i++) {
        const struct masks masks = { 1 + (uint32_t)i % 3, i / 3, (i + i / 3) % MARKINGS,
                                     i % 3 && i % 2 ? 1 : -1 };
        simt_late = i % 2;
        if (i / 3 % 2)
            launch({ { 361, 33 }, { 481, 18 }, { 500, 2 } }, 3, i % CONTENTS, 1, -1, masks);
        else
            launch({ { 361, 18 }, { 481, 33 }, { 500, 3 } }, 3, i % CONTENTS, 2, -1, masks);
    }
    launch({ { 500, 125 }, { 970, 20 } }, 3, SEAMS, 2, -1, { FLAG_KEPT, HALF_OF_ALL, 0, -1 });
    for (int content = LEFTWARD; content <= ZIGZAG; content++) {
        const uint32_t given = 1 + (uint32_t)content % 3;
        simt_late = content % 2;
        launch({ { 150, 130 } }, 2, content, 1, -1, { given, SPARSE, NOTHING, -1 });
        launch({ { 1500, 199 }, { 600, 150 } }, 2, content, 1, -1, { given, SPARSE, BLOCKS, -1 });
        launch({ { 1500, 150 }, { 600, 199 } }, 2, content, 2, -1, { given, COLUMN, ALL, -1 });
    }
    launch({ { 3400, 160 } }, 1, NOISE, 2, -1, { FLAG_KEPT | FLAG_STAYS, SPARSE, SPARSE, -1 });
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow),     cmocka_unit_test(test_wide),
        cmocka_unit_test(test_sobel3),     cmocka_unit_test(test_sobel5),
        cmocka_unit_test(test_stop),       cmocka_unit_test(test_narrow_masks),
        cmocka_unit_test(test_wide_masks), cmocka_unit_test(test_long_seams),
        cmocka_unit_test(test_slopes)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

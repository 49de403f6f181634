// SPDX-License-Identifier: Apache-2.0
/* edge_sobel.cuh - rows of levels come in one by one, edges go out: windows that slide down in
 * registers.
 *
 * The weights of sobel3 are separable: of each row smooth (1 2 1) and slope (-1 0 1) are made once,
 * and those of three rows give gx and gy. Of the rows above only four numbers a slot are kept:
 * registers are what limits the threads at work. sobel5 is sobel3 of the levels smoothed by (1 2 1)
 * both ways: (1 2 1) * (1 2 1) = (1 4 6 4 1), (1 2 1) * (-1 0 1) = (-1 -2 0 2 1). That takes fewer
 * additions than its own weights do, and less is kept.
 */
#ifndef BURIN_EDGE_SOBEL_CUH
#define BURIN_EDGE_SOBEL_CUH

#include "cuda/ops/edge_levels.cuh"
#include "cuda/ops/edge_numbers.cuh"

template <class KIND> using number = typename number_of<KIND::DEPTH, KIND::REACH>::type;

/* ---- lines */

/* Numbers at every place of a row from REACH before the chunk's first slot to REACH behind its
 * last, STEP from slot to slot: slots of two pixels stand in between too, a pixel further on. */
template <class KIND, int REACH> struct level_line {
    static constexpr int FIRST = REACH, LAST = REACH + (KIND::SLOTS - 1) * KIND::STEP;
    number<KIND> at[LAST + REACH + 1];
};

static __device__ __forceinline__ uint32_t between(uint32_t left, uint32_t right) {
    return __byte_perm(left, right, 0x5432);
}

/* Where slots are pixels there is nothing in between. */
template <class KIND, int REACH>
static __device__ __forceinline__ void fill_between(struct level_line<KIND, REACH> &line) {
    if constexpr (KIND::STEP == 2)
#pragma unroll
        for (int i = REACH % 2 + 1; i < line.LAST + REACH; i += 2)
            line.at[i].bits = between(line.at[i - 1].bits, line.at[i + 1].bits);
}

template <class KIND>
static __device__ __forceinline__ void set_line(struct level_line<KIND, KIND::REACH> &line,
                                                const struct levels<KIND> &levels) {
    constexpr int REACH = KIND::REACH;
    if constexpr (KIND::STEP == 2) {
        line.at[0].bits = levels.before, line.at[line.LAST + REACH].bits = levels.behind;
#pragma unroll
        for (int s = 0; s < KIND::SLOTS; s++) line.at[REACH + 2 * s].bits = levels.pairs[s];
        fill_between(line);
    } else {
#pragma unroll
        for (int i = 0; i < REACH; i++) {
            line.at[i] = float_of_sample(levels.before, i - REACH == -1);
            line.at[line.LAST + 1 + i] = float_of_sample(levels.behind, i);
        }
#pragma unroll
        for (int s = 0; s < KIND::SLOTS; s++)
            line.at[REACH + s] = float_of_sample(levels.pairs[s / 2], s % 2);
    }
}

/* ---- what is kept of the rows above */

/* Per slot: smooth of the last two, the last slope, and the last slope plus the one before: gx is
 * the sum of two such sums, gy a difference of two smooths. For sobel5 first the last two rows of
 * levels, smoothed along the row, at each slot and one place beside the outermost. */
template <class KIND> struct above {
    static constexpr int COLUMNS = KIND::REACH == 2 ? KIND::SLOTS + 2 : 0;
    number<KIND> rows[2][COLUMNS + 1];
    number<KIND> smooth[2][KIND::SLOTS], slope[KIND::SLOTS], slopes[KIND::SLOTS];
};

template <class NUMBER> static __device__ __forceinline__ NUMBER smooth_of(const NUMBER *at) {
    return add(twice_add(at[0], at[-1]), at[1]);
}

/* ---- sobel5: levels smoothed */

/* Where a column stands in a line of reach 1. */
template <class KIND> static __device__ __forceinline__ int place_of_column(int column) {
    return column == 0             ? 0
           : column <= KIND::SLOTS ? (column - 1) * KIND::STEP + 1
                                   : (KIND::SLOTS - 1) * KIND::STEP + 2;
}

/* The first two rows of a strip's surroundings. */
template <class KIND>
static __device__ __forceinline__ void keep_row(struct above<KIND> &above, int which,
                                                const struct levels<KIND> &levels) {
    struct level_line<KIND, KIND::REACH> wide;
    set_line(wide, levels);
#pragma unroll
    for (int c = 0; c < above.COLUMNS; c++)
        above.rows[which][c] = smooth_of(wide.at + place_of_column<KIND>(c) + 1);
}

/* A row of levels comes in: the line that sobel3 is to see, which for sobel5 is that of the row
 * above. The halves of ROWS change places every row. */
template <class KIND>
static __device__ __forceinline__ void next_line(struct level_line<KIND, 1> &line,
                                                 struct above<KIND> &above, int oldest,
                                                 const struct levels<KIND> &levels) {
    if constexpr (KIND::REACH == 1) {
        set_line(line, levels);
    } else {
        struct level_line<KIND, 2> wide;
        set_line(wide, levels);
#pragma unroll
        for (int c = 0; c < above.COLUMNS; c++) {
            const int place = place_of_column<KIND>(c);
            const number<KIND> two = twice_add(above.rows[1 - oldest][c], above.rows[oldest][c]);
            above.rows[oldest][c] = smooth_of(wide.at + place + 1);
            line.at[place] = add(two, above.rows[oldest][c]);
        }
        fill_between(line);
    }
}

/* ---- sobel3 */

/* The first line of a strip's surroundings, and the second. */
template <class KIND>
static __device__ __forceinline__ void begin_with(struct above<KIND> &above, int which,
                                                  const struct level_line<KIND, 1> &line) {
#pragma unroll
    for (int s = 0; s < KIND::SLOTS; s++) {
        const auto *at = line.at + line.FIRST + s * KIND::STEP;
        const auto slope = subtract(at[1], at[-1]);
        above.smooth[which][s] = smooth_of(at);
        if (which) above.slopes[s] = add(above.slope[s], slope);
        above.slope[s] = slope;
    }
}

/* A row of levels comes in: EDGES of the row REACH above it. */
template <class KIND>
static __device__ __forceinline__ void go_on_with(uint32_t (&edges)[4], struct above<KIND> &above,
                                                  int oldest, const struct levels<KIND> &levels) {
    struct level_line<KIND, 1> line;
    next_line(line, above, oldest, levels);
#pragma unroll
    for (int w = 0; w < 4; w++) {
        uint32_t roots[2 * KIND::STEP];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int s = 2 * w + i;
            const auto *at = line.at + line.FIRST + s * KIND::STEP;
            const auto smooth = smooth_of(at), slope = subtract(at[1], at[-1]);
            const auto slopes = add(above.slope[s], slope);
            roots_of(roots + KIND::STEP * i, add(above.slopes[s], slopes),
                     subtract(smooth, above.smooth[oldest][s]));
            above.smooth[oldest][s] = smooth;
            above.slope[s] = slope, above.slopes[s] = slopes;
        }
        edges[w] = KIND::DEPTH == 8 ? pack_four(roots) : pack_two(roots);
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* trace.cuh - a warp follows the seam through one half, from the middle outward.
 *
 * Used by:  kernel.cuh.
 * Threads:  one whole warp a half.
 *
 * How it works: directions were not stored. From a kept row of costs a warp does STEP rows of 32
 * columns again, the seam in column MIDDLE_LANE, and keeps each row's directions as two ballots:
 * it went left, or right. The seam moves one column a row at most, so no wrong value at the
 * window's sides reaches it. While those rows are walked back, the next window is on its way.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_TRACE_CUH
#define BURIN_CARVE_ONE_BLOCK_TRACE_CUH

#include "cuda/ops/carve/one_block/sweep.cuh"

enum {
    WINDOW_BYTES = 112, /* of a row; 96 are used: 16 more spread the rows over the banks */
    WINDOW_COSTS = 72,
    WINDOW_REACH = 31, /* columns left of the seam, where the window was asked for */
    MIDDLE_LANE = 15
};

/* Rows of a window: a group's, and those beside that its energies need. */
template <int WORDS, search_kind KIND> HOST_DEVICE constexpr int window_rows() {
    return (int)block_step(WORDS, KIND) + (sobel_reach(KIND) ? 2 * sobel_reach(KIND) : 1);
}

template <int WORDS, search_kind KIND> struct window_flags {};
template <int WORDS> struct window_flags<WORDS, MASKED> {
    enum { ROW = 96 / (4 * WORDS) + 1 };
    uint32_t flags[window_rows<WORDS, MASKED>() * ROW];
};

template <int WORDS, search_kind KIND> struct trace_window : window_flags<WORDS, KIND> {
    alignas(16) uint8_t luma[window_rows<WORDS, KIND>()][WINDOW_BYTES];
    uint32_t costs[WINDOW_COSTS];
};

/* Group GROUP of a half's rows, STEP each, around COLUMN. */
struct trace_place {
    int group, column;
};

/* The first column of a window, of luma and of costs. */
DEVICE int window_luma_x(int column) {
    return (column - WINDOW_REACH) & ~15;
}

DEVICE int window_costs_x(int column) {
    return (column - WINDOW_REACH) & ~3;
}

/* By gradient the lower half's rows are asked for from the one below on: energies need it. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void ask_window(const struct block_view &view, const uint8_t *plane, int height,
                       const struct trace_place &at, struct trace_window<WORDS, KIND> &window) {
    const int lane = (int)(thread_index() % 32);
    constexpr int ROWS = window_rows<WORDS, KIND>(), REACH = sobel_reach(KIND);
    const int x = window_luma_x(at.column);
    const int first = at.group * (int)block_step(WORDS, KIND) - (REACH ? REACH : HALF);
    const auto row_at = [&](int i) {
        const int row = max(first + i, 0);
        const int y = HALF ? max(height - 1 - row, 0) : min(row, height - 1);
        return plane + (int64_t)y * view.shape.pitch;
    };
#pragma unroll
    for (int i = lane; i < 6 * ROWS; i += 32) {
        const int chunk = i % 6 * 16;
        copy_async16(shared_address(&window.luma[i / 6][chunk]), row_at(i / 6) + x + chunk);
    }
    if constexpr (KIND == MASKED) {
        constexpr int ROW = window_flags<WORDS, MASKED>::ROW;
        const int word = flag_word_of<WORDS>(x);
#pragma unroll 1
        for (int i = lane; i < ROW * ROWS; i += 32)
            copy_async4(shared_address(&window.flags[i]),
                        row_at(i / ROW) + flags_at(view.shape) + 4 * (word + i % ROW));
    }
    if (at.group > 0 && lane < 17)
        copy_async16(shared_address(&window.costs[4 * lane]),
                     kept_costs<HALF>(view) + (size_t)(at.group - 1) * view.shape.stride +
                         window_costs_x(at.column) + 4 * lane);
    copy_async_commit();
}

/* Directions of each row's paths: bit LANE of `left` or `right`, or neither. */
template <int STEP> struct directions { uint32_t left[STEP], right[STEP]; };

/* Energies by gradient of column X in the group's rows. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void window_energies(const struct trace_window<WORDS, KIND> &window, int first, int x,
                            int width, uint32_t (&energies)[block_step(WORDS, KIND)]) {
    constexpr int STEP = block_step(WORDS, KIND), REACH = sobel_reach(KIND);
    if constexpr (REACH) {
        uint32_t left[STEP + 2 * REACH],
            right[STEP + 2 * REACH]; /* sums of rows around the corners */
#pragma unroll
        for (int i = 0; i < STEP + 2 * REACH; i++) {
            uint32_t row[2 * REACH + 1];
#pragma unroll
            for (int d = -REACH; d <= REACH; d++)
                row[d + REACH] = window.luma[i][min(max(x + d, 0), width - 1) - first];
            left[i] = corner_sum<REACH>(row), right[i] = corner_sum<REACH>(row + 1);
        }
#pragma unroll
        for (int i = 0; i < STEP; i++) {
            const uint32_t down = corner_sum<REACH>(right + i + 1) - corner_sum<REACH>(left + i);
            const uint32_t up = corner_sum<REACH>(left + i + 1) - corner_sum<REACH>(right + i);
            energies[i] = sobel_root<REACH>((int)down, (int)up) & 0xffff;
        }
    } else {
        const uint8_t *const luma = &window.luma[0][x - first];
        uint32_t above = luma[0], above_right = luma[1];
#pragma unroll
        for (int i = 0; i < STEP; i++) {
            const uint32_t row = luma[(i + 1) * WINDOW_BYTES];
            const uint32_t row_right = luma[(i + 1) * WINDOW_BYTES + 1];
            const uint32_t here = HALF ? row : above, right = HALF ? row_right : above_right;
            const uint32_t below = HALF ? above : row, across = HALF ? above_right : row_right;
            energies[i] = carve_gradient(here, right, below, across);
            above = row, above_right = row_right;
        }
    }
}

/* The seam is in column COLUMN of the group's last row; WINDOW was asked for around WINDOW_AT. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void find_directions(const struct trace_window<WORDS, KIND> &window,
                            const struct trace_place &window_at, int column, int width,
                            const struct flag_costs &flag_costs,
                            struct directions<block_step(WORDS, KIND)> &directions) {
    constexpr int STEP = block_step(WORDS, KIND), COLUMNS = lane_shape<WORDS>::COLUMNS;
    constexpr uint32_t outside = outside_cost<KIND>();
    const int x = column - MIDDLE_LANE + (int)(thread_index() % 32);
    const bool inside = x >= 0 && x < width;
    const int word = flag_word_of<WORDS>(x), bit = FLAG_BITS * (x - (word - 1) * COLUMNS);
    const int in_row = word - flag_word_of<WORDS>(window_luma_x(window_at.column));
    uint32_t energies[STEP]; /* before the costs: they wait for nothing */
    window_energies<WORDS, HALF>(window, window_luma_x(window_at.column), x, width, energies);
#pragma unroll
    for (int i = 0; i < STEP; i++) {
        if (!inside) energies[i] = outside;
        if constexpr (KIND == MASKED) {
            const uint32_t flags = window.flags[(i + HALF) * window.ROW + in_row];
            if (inside) energies[i] = add_flags(energies[i], flags, bit, flag_costs);
        }
    }
    uint32_t cost = outside;
    if (inside) cost = window_at.group > 0 ? window.costs[x - window_costs_x(window_at.column)] : 0;
#pragma unroll
    for (int i = 0; i < STEP; i++) {
        const uint32_t left = __shfl_up_sync(~0u, cost, 1), right = __shfl_down_sync(~0u, cost, 1);
        directions.left[i] = __ballot_sync(~0u, left <= min(cost, right));
        directions.right[i] = __ballot_sync(~0u, right < min(cost, left));
        cost = min(left, min(cost, right)) + energies[i];
        if constexpr (KIND == MASKED) cost = min(cost, +COST_WALL);
    }
}

/* Writes the columns of ROWS rows to SEAM, from COLUMN in the half's last row on. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void trace_half(const struct block_view &view, const uint8_t *plane,
                       const struct sweep_args<WORDS> &args, int column,
                       struct trace_window<WORDS, KIND> (&windows)[2], uint16_t *seam) {
    constexpr int STEP = block_step(WORDS, KIND);
    const int lane = (int)(thread_index() % 32);
    struct trace_place at = { (args.rows - 1) / STEP, column };
    int last = args.rows - 1;
    ask_window<WORDS, HALF>(view, plane, args.height, at, windows[at.group & 1]);
    for (; at.group >= 0; at.group--) {
        const struct trace_place next = { at.group - 1, column };
        struct directions<STEP> directions;
        if (at.group > 0) {
            ask_window<WORDS, HALF>(view, plane, args.height, next, windows[next.group & 1]);
            copy_async_wait<1>();
        } else {
            copy_async_wait<0>();
        }
        __syncwarp();
        find_directions<WORDS, HALF>(windows[at.group & 1], at, column, args.width,
                                     flag_costs_of((uint32_t)args.height, args.masks), directions);
        const int end = last - at.group * STEP;
        int place = MIDDLE_LANE, mine = 0;
#pragma unroll
        for (int i = STEP - 1; i >= 0; i--) {
            if (i > end) continue;
            if (lane == i) mine = place;
            place +=
                (int)(directions.right[i] >> place & 1) - (int)(directions.left[i] >> place & 1);
        }
        const int row = at.group * STEP + lane;
        if (lane <= end && lane < STEP)
            __stcg(seam + (HALF ? args.height - 1 - row : row),
                   (uint16_t)(column - MIDDLE_LANE + mine));
        at.column = next.column;
        column += place - MIDDLE_LANE;
        last = at.group * STEP - 1;
        __syncwarp();
    }
}

#endif

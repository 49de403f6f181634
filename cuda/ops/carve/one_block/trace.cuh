// SPDX-License-Identifier: Apache-2.0
/* trace.cuh - warps follow the seam through their half, from the middle outward.
 *
 * Used by:  kernel.cuh.
 * Threads:  whole warps: those of a half whose number is below TRACE_WARPS.
 *
 * How it works: directions were not stored. A round follows a group of STEP rows with each warp,
 * from the kept row of costs outside the group; only the column where the round begins is known.
 * The seam moves one column a row at most. So the warp DISTANCE groups away from there adds up the
 * costs of a window that holds every column at which the seam may come and go, and no wrong value
 * at the window's sides reaches those columns. With each cost goes its path through the group, two
 * bits a row. Then the moves of all paths lie in shared memory; the warps meet, and each looks up
 * the columns where the groups begin, one after the other. The path from there is the warp's part
 * of the seam: a lane counts the moves up to its row. One warp alone needs no shared memory for
 * that: the path to its column says where the next group begins.
 *
 * A window lies in the warp's ring, which the sweep has left. Once a row has been read, that of the
 * next round's window is asked for, long before the column is known: so windows have REACH columns
 * more on each side. Where the seam goes further in a round, the window is asked for anew.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_TRACE_CUH
#define BURIN_CARVE_ONE_BLOCK_TRACE_CUH

#include "cuda/ops/carve/one_block/sweep.cuh"

/* A window is 2 * STEP columns wider for each group between, so that more warps would do more work
 * for a group than they save; four are one for each part of the multiprocessor. */
enum { TRACE_WARPS = 4 };

/* One warp alone sweeps 3 words, and its ring has room for two WINDOWS: the next one is asked for
 * whole, beside the present one. COLUMNS: the most that a lane has. */
template <int WORDS> struct trace_limits {
    enum {
        WARPS = WORDS == 3 ? 1 : +TRACE_WARPS,
        COLUMNS = WORDS == 3 ? 1 : 4,
        WINDOWS = WORDS == 3 ? 2 : 1
    };
};

/* Columns that a lane has of the window DISTANCE groups away; by sobel always 4. */
template <int WORDS, search_kind KIND> HOST_DEVICE constexpr int trace_columns(int distance) {
    return WORDS == 3 ? 1 : distance < 2 && !sobel_reach(KIND) ? 2 : 4;
}

/* A warp's window: that of GROUP around COLUMN, asked for or there; GROUP < 0: none. */
template <int WORDS, bool LOWER, search_kind KIND, int COLUMNS> struct trace_window {
    enum {
        STEP = block_step(WORDS, KIND),
        SOBEL = sobel_reach(KIND),
        AHEAD = SOBEL ? 2 * SOBEL : 1, /* rows that energies need beyond the first */
        ROWS = STEP + AHEAD,
        SIDE = 15 * COLUMNS, /* left of COLUMN; up to 3 more */
        REACH = SOBEL        ? 16
                : WORDS == 3 ? +STEP
                             : 2 * STEP,                      /* the most that fits */
        LUMA = (32 * COLUMNS + 2 * REACH + 2 * 15) / 16 * 16, /* bytes of a row */
        COSTS = (32 * COLUMNS + 2 * REACH + 2 * 3) / 4 * 4,   /* columns */
        FLAGS = LUMA / (4 * WORDS) + 2,                       /* words of a row */
        COSTS_AT = ROWS * LUMA,                               /* bytes before the costs */
        BYTES = COSTS_AT + 4 * COSTS,
        WINDOWS = trace_limits<WORDS>::WINDOWS
    };
    static_assert(SIDE >= STEP * COLUMNS + SOBEL / 2 &&
                      32 * COLUMNS - 1 - SIDE - 3 >= STEP * COLUMNS + SOBEL / 2,
                  "wide enough for COLUMNS groups: a row takes a column from each side, and the "
                  "first one by sobel5 two");
    static_assert(WINDOWS * BYTES <= (int)ring_shape<WORDS, KIND>::BYTES, "windows lie in a ring");
    const struct block_view &view;
    const uint8_t *plane;
    int height, width, lane;
    uint32_t ring, flags; /* shared addresses */
    int group, column;
    uint32_t other_ring, other_flags; /* the next window's, by turns */
};

/* A half's. FLAGS: [distance], of windows. MOVES: [round & 1][distance], columns to the right from
 * a group's last row to the kept one, of the path to each of the window's columns. */
template <int WORDS, search_kind KIND> struct trace_shared {
    typedef trace_window<WORDS, false, KIND, trace_limits<WORDS>::COLUMNS> widest;
    uint32_t flags[widest::WINDOWS * trace_limits<WORDS>::WARPS]
                  [KIND == MASKED ? widest::ROWS * widest::FLAGS : 1];
    int8_t moves[2][trace_limits<WORDS>::WARPS]
                [trace_limits<WORDS>::WARPS > 1 ? 32 * trace_limits<WORDS>::COLUMNS : 1];
};

/* ---- a window */

/* Its first column that is asked for, a multiple of UNIT. */
template <class WINDOW> DEVICE int asked_left(const WINDOW &window, int unit) {
    return max((window.column - WINDOW::SIDE - WINDOW::REACH) & -unit, -PLANE_LEFT);
}

/* The window's row I. Rows begin with those before the group that energies need: by gradient the
 * lower half's with the one below. */
template <int WORDS, bool LOWER, search_kind KIND, int COLUMNS>
DEVICE const uint8_t *window_row(const trace_window<WORDS, LOWER, KIND, COLUMNS> &window, int i) {
    typedef trace_window<WORDS, LOWER, KIND, COLUMNS> shape;
    const int before = shape::SOBEL > 0 ? +shape::SOBEL : LOWER;
    const int row = window.group * shape::STEP - before + i, least = before ? max(row, 0) : row;
    const int y = LOWER ? window.height - 1 - least : least;
    return window.plane + (int64_t)y * window.view.shape.pitch;
}

/* Asks for row I, as a group of copies. A lane's copies go where its last ones went. */
template <int WORDS, bool LOWER, search_kind KIND, int COLUMNS>
DEVICE void ask_window_row(const trace_window<WORDS, LOWER, KIND, COLUMNS> &window, int i) {
    typedef trace_window<WORDS, LOWER, KIND, COLUMNS> shape;
    const int lane = window.lane, x = asked_left(window, 16);
    const uint8_t *const from = window_row(window, i);
    if (window.group >= 0 && 16 * lane < shape::LUMA)
        copy_async16(window.ring + (uint32_t)(i * shape::LUMA + 16 * lane), from + x + 16 * lane);
    if (KIND == MASKED && window.group >= 0 && lane < shape::FLAGS)
        copy_async4(window.flags + 4 * (uint32_t)(i * shape::FLAGS + lane),
                    from + flags_at(window.view.shape) + 4 * (flag_word_of<WORDS>(x) + lane));
    copy_async_commit();
}

/* Asks for the kept costs, with the row that is asked for next. */
template <int WORDS, bool LOWER, search_kind KIND, int COLUMNS>
DEVICE void ask_window_costs(const trace_window<WORDS, LOWER, KIND, COLUMNS> &window) {
    typedef trace_window<WORDS, LOWER, KIND, COLUMNS> shape;
    const uint32_t *const from = kept_costs<LOWER>(window.view) + asked_left(window, 4) +
                                 (int64_t)(window.group - 1) * window.view.shape.stride;
#pragma unroll
    for (int i = 4 * window.lane; i < shape::COSTS; i += 4 * 32)
        if (window.group > 0)
            copy_async16(window.ring + (uint32_t)(shape::COSTS_AT + 4 * i), from + i);
}

/* Asks for all of it: row by row, or in as few copies as there are lanes for. */
template <int WORDS, bool LOWER, search_kind KIND, int COLUMNS>
DEVICE void ask_window(const trace_window<WORDS, LOWER, KIND, COLUMNS> &window) {
    typedef trace_window<WORDS, LOWER, KIND, COLUMNS> shape;
    ask_window_costs(window);
    if constexpr (shape::WINDOWS == 1) {
#pragma unroll 1
        for (int i = 0; i < shape::ROWS; i++) ask_window_row(window, i);
    } else if (window.group >= 0) {
        constexpr int CHUNKS = shape::LUMA / 16;
        const int x = asked_left(window, 16);
#pragma unroll 1
        for (int i = window.lane; i < CHUNKS * shape::ROWS; i += 32)
            copy_async16(window.ring + 16 * (uint32_t)i,
                         window_row(window, i / CHUNKS) + x + i % CHUNKS * 16);
#pragma unroll 1
        for (int i = window.lane; KIND == MASKED && i < shape::FLAGS * shape::ROWS; i += 32)
            copy_async4(window.flags + 4 * (uint32_t)i,
                        window_row(window, i / shape::FLAGS) + flags_at(window.view.shape) +
                            4 * (flag_word_of<WORDS>(x) + i % shape::FLAGS));
        copy_async_commit();
    }
}

/* Asks for the next window, or for its costs where its rows take the present one's place, each once
 * that has been read. */
template <class WINDOW> DEVICE void ask_next(WINDOW &window, int group, int column) {
    window.group = group, window.column = column;
    if (WINDOW::WINDOWS == 1) return ask_window_costs(window);
    const uint32_t ring = window.ring, flags = window.flags;
    window.ring = window.other_ring, window.other_ring = ring;
    window.flags = window.other_flags, window.other_flags = flags;
    ask_window(window);
}

/* The lane's columns of a row; two of them go to bytes 0 and 2. */
template <int COLUMNS> DEVICE uint32_t window_word(uint32_t at) {
    if (COLUMNS == 4) return load_shared32(at);
    if (COLUMNS == 1) return load_shared8(at);
    return __byte_perm((uint32_t)load_shared16(at), 0, 0x4140);
}

template <int COLUMNS> DEVICE uint32_t window_right_of(uint32_t word) {
    const uint32_t next = __shfl_down_sync(~0u, word, 1);
    return COLUMNS == 4   ? __funnelshift_r(word, next, 8)
           : COLUMNS == 2 ? __byte_perm(word, next, 0x1412)
                          : next;
}

/* Which half of two words of energies a column has. */
template <int COLUMNS> HOST_DEVICE constexpr int window_half_of(int column) {
    return COLUMNS == 4 ? column % 2 * 2 + column / 2 : column;
}

/* Rows of a window that the next energies need. */
template <search_kind KIND, int COLUMNS> struct window_rows : sobel_rows<1, sobel_reach(KIND)> {};
template <int COLUMNS> struct window_rows_by_gradient {
    uint32_t words[2]; /* the row that came last, and its right neighbours */
};
template <int COLUMNS> struct window_rows<PLAIN, COLUMNS> : window_rows_by_gradient<COLUMNS> {};
template <int COLUMNS> struct window_rows<MASKED, COLUMNS> : window_rows_by_gradient<COLUMNS> {};

/* Adds the window's next row, WORD at column X, and makes the energies, two to a word, of the row
 * that then has all it needs, and OUTSIDE more. */
template <bool LOWER, search_kind KIND, int COLUMNS>
DEVICE void window_energies(struct window_rows<KIND, COLUMNS> &rows, uint32_t word, int x,
                            const uint32_t (&outside)[2], uint32_t (&energies)[2]) {
    if constexpr (sobel_reach(KIND)) {
        const uint32_t words[1] = { word };
        add_sobel_row(rows, x, words, energies);
    } else {
        const uint32_t row[2] = { word, window_right_of<COLUMNS>(word) };
        const uint32_t(&last)[2] = rows.words;
        const uint32_t(&here)[2] = LOWER ? row : last, (&below)[2] = LOWER ? last : row;
        energies_of(here[0], here[1], below[0], below[1], energies[0], energies[1]);
        rows.words[0] = row[0], rows.words[1] = row[1];
    }
    energies[0] += outside[0], energies[1] += outside[1];
}

/* Adds row I to COSTS and PATHS. ENERGIES: the row's, two to a word; FLAGS: its masks. Paths end in
 * row LAST. Only the group beside the middle ends early; its warp has the fewest columns a lane.
 */
template <int WORDS, search_kind KIND, int COLUMNS>
DEVICE void add_to_paths(uint32_t (&costs)[COLUMNS], uint32_t (&paths)[COLUMNS],
                         const uint32_t (&energies)[2], uint32_t flags,
                         const struct flag_costs &flag_costs, int i, int last) {
    const uint32_t beyond = (uint32_t)((last - i) >> 31);
    uint32_t left = __shfl_up_sync(~0u, costs[COLUMNS - 1], 1);
    uint32_t left_path = __shfl_up_sync(~0u, paths[COLUMNS - 1], 1);
    const uint32_t right = __shfl_down_sync(~0u, costs[0], 1);
    const uint32_t right_path = __shfl_down_sync(~0u, paths[0], 1);
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        const uint32_t after = j + 1 < COLUMNS ? costs[(j + 1) % COLUMNS] : right;
        const uint32_t after_path = j + 1 < COLUMNS ? paths[(j + 1) % COLUMNS] : right_path;
        const uint32_t least = __vimin3_u32(left, costs[j], after);
        const uint32_t path = left == least       ? left_path | 1u << 2 * i
                              : costs[j] == least ? paths[j]
                                                  : after_path | 2u << 2 * i;
        left = costs[j], left_path = paths[j];
        paths[j] = COLUMNS == trace_columns<WORDS, KIND>(0) ? (path & ~beyond) | (paths[j] & beyond)
                                                            : path;
        const int half = window_half_of<COLUMNS>(j);
        uint32_t energy = half % 2 ? energies[half / 2] >> 16 : energies[half / 2] & 0xffff;
        if (KIND == MASKED) energy = add_flags(energy, flags, FLAG_BITS * j, flag_costs);
        costs[j] = KIND == MASKED ? __viaddmin_u32(least, energy, COST_WALL) : least + energy;
    }
}

/* PATHS gets the paths to the lane's columns, from X on, in row LAST: bit 2 i where one came to row
 * i from the left, bit 2 i + 1 from the right. Meanwhile the window of NEXT around COLUMN comes. */
template <int WORDS, bool LOWER, search_kind KIND, int COLUMNS>
DEVICE void find_paths(trace_window<WORDS, LOWER, KIND, COLUMNS> &window, int next, int column,
                       int x, int last, const struct flag_costs &flag_costs,
                       uint32_t (&paths)[COLUMNS]) {
    typedef trace_window<WORDS, LOWER, KIND, COLUMNS> shape;
    constexpr bool BY_ROWS = shape::WINDOWS == 1;
    const int luma_x = asked_left(window, 16), word_x = flag_word_of<WORDS>(x);
    const int flag_bit = FLAG_BITS * (x - (word_x - 1) * 4 * WORDS);
    const uint32_t luma_from = window.ring + (uint32_t)(x - luma_x);
    const uint32_t flags_from =
        window.flags + 4 * (uint32_t)(LOWER * shape::FLAGS + word_x - flag_word_of<WORDS>(luma_x));
    const auto luma = [&](int i) { return window_word<COLUMNS>(luma_from + i * shape::LUMA); };
    const auto flags_of = [&](int i) {
        const uint32_t flags = load_shared32(flags_from + 4 * i * shape::FLAGS);
        return flags >> flag_bit | flags_outside(x, window.width);
    };
    uint32_t costs[COLUMNS] = {}, outside[2] = {}, energies[2], flags = 0;
    copy_async_wait<BY_ROWS ? shape::ROWS - shape::AHEAD - 2 : 0>();
    __syncwarp();
    if (window.group > 0)
        load_shared_words(costs, window.ring +
                                     (uint32_t)(shape::COSTS_AT + 4 * (x - asked_left(window, 4))));
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
        const int half = window_half_of<COLUMNS>(i);
        paths[i] = 0;
        if (x + i >= 0 && x + i < window.width) continue;
        costs[i] = outside_cost<KIND>();
        if (KIND != MASKED) outside[half / 2] |= (uint32_t)OUTSIDE << half % 2 * 16;
    }
    struct window_rows<KIND, COLUMNS> rows = {};
#pragma unroll
    for (int i = 0; i < shape::AHEAD; i++)
        window_energies<LOWER>(rows, luma(i), x, outside, energies);
    if constexpr (!BY_ROWS && KIND == PLAIN) {
        /* All bytes and energies before the costs, which then wait for nothing but each other. */
        uint32_t words[shape::STEP], all[shape::STEP][2];
#pragma unroll
        for (int i = 0; i < shape::STEP; i++) words[i] = luma(i + shape::AHEAD);
#pragma unroll
        for (int i = 0; i < shape::STEP; i++)
            window_energies<LOWER>(rows, words[i], x, outside, all[i]);
        __syncwarp();
        ask_next(window, next, column);
#pragma unroll
        for (int i = 0; i < shape::STEP; i++)
            add_to_paths<WORDS, KIND>(costs, paths, all[i], 0, flag_costs, i, last);
        return;
    }
    window_energies<LOWER>(rows, luma(shape::AHEAD), x, outside, energies);
    uint32_t word = luma(shape::AHEAD + 1);
    if (KIND == MASKED) flags = flags_of(0);
    __syncwarp();
    ask_next(window, next, column);
    /* With masks, ptxas runs out of predicates in longer loops. */
#pragma unroll KIND == MASKED ? 1 : 5
    for (int i = 0; i < shape::STEP; i++) {
        const uint32_t present[2] = { energies[0], energies[1] }, present_flags = flags;
        window_energies<LOWER>(rows, word, x, outside, energies);
        if (BY_ROWS) copy_async_wait<shape::ROWS - shape::AHEAD - 3>();
        if (BY_ROWS) __syncwarp();
        if (i + shape::AHEAD + 2 < shape::ROWS) word = luma(i + shape::AHEAD + 2);
        if (KIND == MASKED && i + 1 < shape::STEP) flags = flags_of(i + 1);
        if (BY_ROWS) ask_window_row(window, i);
        add_to_paths<WORDS, KIND>(costs, paths, present, present_flags, flag_costs, i, last);
    }
    for (int i = shape::STEP; BY_ROWS && i < shape::ROWS; i++) ask_window_row(window, i);
}

/* Columns to the right that a path moves from its last row to its first. */
DEVICE int path_moves(uint32_t path) {
    return __popc(path & 0xaaaaaaaa) - __popc(path & 0x55555555);
}

/* ---- a half */

/* The first column of a window that is read, where the seam is known to be in COLUMN. */
DEVICE int window_left(int columns, int column) {
    return (column - 15 * columns) & ~3;
}

/* The column in the row below the middle, of the seam that has X in the middle row. */
template <search_kind KIND>
DEVICE int lower_start(const struct block_view &view, int x, int width) {
    constexpr uint32_t outside = outside_cost<KIND>();
    const uint32_t left = x > 0 ? __ldcg(view.middle + x - 1) : outside;
    const uint32_t here = __ldcg(view.middle + x);
    const uint32_t right = x + 1 < width ? __ldcg(view.middle + x + 1) : outside;
    return left <= min(here, right) ? x - 1 : right < here ? x + 1 : x;
}

/* Writes the rows of SEAM in the half's groups that are the warp's: those DISTANCE groups away from
 * a round's beginning. A lane has COLUMNS. The seam has COLUMN in the middle row. */
template <int COLUMNS, bool LOWER, int WORDS, search_kind KIND>
DEVICE void trace_groups(const struct block_search &search, const struct block_view &view,
                         uint32_t seam, int distance, int column, uint32_t ring,
                         struct trace_shared<WORDS, KIND> &shared) {
    typedef trace_window<WORDS, LOWER, KIND, COLUMNS> shape;
    const int lane = (int)(thread_index() % 32), middle = (int)view.middle_row;
    const int height = search.height, width = (int)(search.width - seam);
    const int rows = LOWER ? height - 1 - middle : middle + 1, outermost = (rows - 1) / shape::STEP;
    const int warps = min((int)search.warps, +trace_limits<WORDS>::WARPS);
    const struct flag_costs flag_costs = flag_costs_of(search.height, search.masks);
    uint16_t *const found = search.seams + (size_t)seam * search.height;
    const uint32_t flags = shared_address(shared.flags[distance]);
    shape window = { view,  plane_of(view, seam), height, width, lane, ring,
                     flags, outermost - distance, column, ring,  flags };
    if (shape::WINDOWS == 2) {
        window.other_ring += shape::BYTES;
        window.other_flags = shared_address(shared.flags[1]);
    }
    ask_window(window);
    if (LOWER) column = lower_start<KIND>(view, column, width);
    for (int first = outermost, round = 0; first >= 0; first -= warps, round ^= 1) {
        const int group = first - distance, left = window_left(COLUMNS, column);
        const int x = left + COLUMNS * lane;
        const int last = min(rows - group * shape::STEP, +shape::STEP) - 1;
        uint32_t paths[COLUMNS] = {};
        if (group >= 0) {
            if (abs(column - window.column) > shape::REACH) {
                copy_async_wait<0>();
                window.column = column;
                ask_window(window);
            }
            find_paths(window, group - warps, column, x, last, flag_costs, paths);
        }
        int mine = column;
        if constexpr (trace_limits<WORDS>::WARPS > 1) {
            auto &moves = shared.moves[round];
            const int begin = column;
#pragma unroll
            for (int i = 0; i < COLUMNS; i++)
                moves[distance][COLUMNS * lane + i] = (int8_t)path_moves(paths[i]);
            if (warps > 1)
                barrier_of<1 + LOWER>(32 * (uint32_t)warps);
            else
                __syncwarp();
            for (int i = 0; i < warps && i <= first; i++) {
                if (i == distance) mine = column;
                column += moves[i][column - window_left(trace_columns<WORDS, KIND>(i), begin)];
            }
            if (group < 0) continue;
        }
        uint32_t path = paths[0];
#pragma unroll
        for (int i = 1; i < COLUMNS; i++)
            if (x + i == mine) path = paths[i];
        path = __shfl_sync(~0u, path, (mine - left) / COLUMNS);
        if (trace_limits<WORDS>::WARPS == 1) column += path_moves(path);
        if (lane <= last) {
            const int row = group * shape::STEP + lane;
            path = (uint32_t)((uint64_t)path >> 2 * (lane + 1));
            __stcg(found + (LOWER ? height - 1 - row : row), (uint16_t)(mine + path_moves(path)));
        }
    }
}

/* A warp's part of the half's rows of SEAM. DISTANCE: its number, below TRACE_WARPS. */
template <bool LOWER, int WORDS, search_kind KIND>
DEVICE void trace_half(const struct block_search &search, const struct block_view &view,
                       uint32_t seam, int distance, int column, uint32_t ring,
                       struct trace_shared<WORDS, KIND> &shared) {
    if constexpr (WORDS == 3)
        trace_groups<1, LOWER>(search, view, seam, distance, column, ring, shared);
    else if constexpr (sobel_reach(KIND))
        trace_groups<4, LOWER>(search, view, seam, distance, column, ring, shared);
    else if (trace_columns<WORDS, KIND>(distance) == 2)
        trace_groups<2, LOWER>(search, view, seam, distance, column, ring, shared);
    else
        trace_groups<4, LOWER>(search, view, seam, distance, column, ring, shared);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* sweep.cuh - a warp's part of one half: removes the seam before, and adds up the costs of paths.
 *
 * Used by:  kernel.cuh.
 * Threads:  whole warps; those of a half exchange costs every few rows.
 * Source:   pipeline/ops/carve/definition.h defines costs and ties.
 *
 * How it works: for each row the bytes of a lane's columns come from a ring in shared memory that
 * cp.async fills; each lane reads only what it asked for itself. The gap of the seam before is
 * closed on the way by a funnel shift, and the row goes to the other plane. Energies are made from
 * bytes, two to a register, and never stored: those by gradient here, where (181 d + 2) >> 8 is
 * (46341 d) >> 16 for every byte d and its product fits 16 bits, the others in sobel.cuh. No
 * direction is stored either: every STEP rows the costs are kept, and the trace does those rows
 * again.
 * Flags of masks travel and close their gap with the row (flags.cuh).
 *
 * Columns outside the image cost OUTSIDE more a row than they seem to. No least path uses one: the
 * path beside it within the image costs at most CARVE_ENERGY_MAX a row.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_SWEEP_CUH
#define BURIN_CARVE_ONE_BLOCK_SWEEP_CUH

#include "cuda/ops/carve/one_block/flags.cuh"
#include "cuda/ops/carve/one_block/sobel.cuh"

enum { LOW_BYTES = 0x00ff00ff };

/* A warp's place in its half, and a lane's in the warp. */
struct sweep_place {
    uint32_t warp, lane; /* of the half, from the left; of the warp */
    int left, x;         /* the warp's first column, the lane's */
    bool own;            /* no other warp has the lane's columns */
};

/* Costs between the warps of a half, of two exchanges by turns: [parity][warp][side]. */
template <int WORDS> struct exchange { uint32_t costs[2][BLOCK_WARPS_MAX][2][4 * WORDS]; };

/* The bytes right of those in WORDS. */
template <int WORDS>
DEVICE void right_of(uint32_t (&right)[WORDS], const uint32_t (&words)[WORDS]) {
    const uint32_t next = __shfl_down_sync(~0u, words[0], 1);
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        right[i] = __funnelshift_r(words[i], i + 1 < WORDS ? words[(i + 1) % WORDS] : next, 8);
}

template <int WORDS> DEVICE void store_row(uint8_t *to, const uint32_t (&words)[WORDS]) {
    if constexpr (WORDS == 4)
        __stcg((uint4 *)to, make_uint4(words[0], words[1], words[2], words[3]));
    else
#pragma unroll
        for (int i = 0; i < WORDS; i++) __stcg((uint32_t *)to + i, words[i]);
}

/* Energies of a word's pixels 0 and 2, and of 1 and 3, from the word, its right neighbours, and the
 * same of the row below. */
DEVICE void energies_of(uint32_t here, uint32_t right, uint32_t below, uint32_t across,
                        uint32_t &even, uint32_t &odd) {
    const uint32_t dx = __vabsdiffu4(here, right), dy = __vabsdiffu4(here, below);
    const uint32_t dd = __vabsdiffu4(here, across);
    const uint32_t diagonal_even = (dd & LOW_BYTES) * 181u + 0x00020002u;
    const uint32_t diagonal_odd = __byte_perm(dd, 0, 0x4341) * 181u + 0x00020002u;
    even = (dx & LOW_BYTES) + (dy & LOW_BYTES) + __byte_perm(diagonal_even, 0, 0x4341);
    odd = __byte_perm(dx, 0, 0x4341) + __byte_perm(dy, 0, 0x4341) +
          __byte_perm(diagonal_odd, 0, 0x4341);
}

/* ---- the rows of a lane, in the order of the sweep */

template <int WORDS, int HALF, search_kind KIND> struct row_stream {
    const uint8_t *ask;          /* the next row to be fetched, from the old plane */
    uint8_t *put;                /* the next row to be written, in the new one */
    int64_t back;                /* from the new plane to the old one */
    int64_t hop;                 /* from a row to the next */
    uint32_t ring;               /* shared addresses: the lane's part of the ring */
    uint32_t ask_slot, get_slot; /* bytes from there */
    uint32_t gap_at;             /* where the seam before crosses the row that comes next */
    uint32_t words[WORDS];       /* the row that came last */
    int gap;                     /* where the seam crosses that one */

    uint32_t flag_ring; /* MASKED: the lane's flags in the ring */
    uint32_t flag_hop;  /* bytes from its luma to its flags in a plane */
    uint32_t flags;     /* of the row that came last */
};

template <int WORDS, search_kind KIND> DEVICE uint32_t next_slot(uint32_t slot) {
    slot += ring_shape<WORDS, KIND>::ROW_BYTES;
    return slot == ring_shape<WORDS, KIND>::BYTES ? 0 : slot;
}

/* Flags are read only by the half that writes them, so they may lie in the L1 cache. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void ask_row(struct row_stream<WORDS, HALF, KIND> &rows) {
    if constexpr (KIND == MASKED)
        copy_async4(rows.flag_ring + rows.ask_slot, rows.ask + rows.flag_hop);
    copy_async<WORDS>(rows.ring + rows.ask_slot, rows.ask);
    rows.ask += rows.hop;
    rows.ask_slot = next_slot<WORDS, KIND>(rows.ask_slot);
}

/* Takes the next row out of the ring, and asks for one more. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void take_row(struct row_stream<WORDS, HALF, KIND> &rows) {
    copy_async_wait<ring_shape<WORDS, KIND>::ROWS - 2>();
    load_shared_words(rows.words, rows.ring + rows.get_slot);
    if constexpr (KIND == MASKED) rows.flags = load_shared32(rows.flag_ring + rows.get_slot);
    rows.gap = load_shared16(rows.gap_at);
    rows.get_slot = next_slot<WORDS, KIND>(rows.get_slot);
    rows.gap_at += HALF ? 0u - 2 : 2u;
    ask_row(rows);
}

/* Closes the gap of a row that was taken out, WORDS and FLAGS. WIDTH: of the row afterwards. KEEP:
 * the row goes to the new plane. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void close_row(struct row_stream<WORDS, HALF, KIND> &rows, const struct sweep_place &place,
                      int width, int gap, bool keep, uint32_t (&words)[WORDS], uint32_t &flags) {
    uint32_t moved[WORDS], moved_flags = 0;
    right_of(moved, words);
    if constexpr (KIND == MASKED) moved_flags = flags_right_of<WORDS>(flags);
    if (gap < place.left + 32 * lane_shape<WORDS>::COLUMNS) {
        /* The last column goes: what follows repeats the one before. */
        if (gap == width) {
            const uint32_t last = __ldcg(rows.put + rows.back - place.x + width - 1);
#pragma unroll
            for (int i = 0; i < WORDS; i++) moved[i] = last * 0x01010101u;
        }
        const int bits = (gap - place.x) * 8;
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            const uint32_t mask = shift_left(~0u, (uint32_t)max(bits - 32 * i, 0));
            words[i] = (words[i] & ~mask) | (moved[i] & mask);
        }
        if constexpr (KIND == MASKED) flags = close_flags(flags, moved_flags, gap - place.x);
    }
    if (keep) {
        store_row(rows.put, words);
        if constexpr (KIND == MASKED) __stcg((uint32_t *)(rows.put + rows.flag_hop), flags);
    }
    rows.put += rows.hop;
}

/* ---- costs */

/* Adds a row's energies to the costs, and those of FLAGS: each path comes from the least of three
 * neighbours. LEFT, RIGHT: the costs beside the lane's. */
template <int WORDS, search_kind KIND>
DEVICE void add_row(uint32_t (&costs)[4 * WORDS], const uint32_t (&energies)[2 * WORDS],
                    uint32_t left, uint32_t right, uint32_t flags,
                    const struct flag_costs &flag_costs) {
    constexpr int COLUMNS = 4 * WORDS;
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
        const uint32_t next = i + 1 < COLUMNS ? costs[(i + 1) % COLUMNS] : right;
        const uint32_t least = __vimin3_u32(left, costs[i], next);
        const uint32_t pair = energies[i / 4 * 2 + i % 2];
        left = costs[i];
        const uint32_t energy = i & 2 ? pair >> 16 : pair & 0xffff;
        costs[i] = KIND == MASKED
                       ? __viaddmin_u32(least, add_flags(energy, flags, FLAG_BITS * i, flag_costs),
                                        COST_WALL)
                       : least + energy;
    }
}

template <int COUNT> DEVICE void store_costs(uint32_t *to, const uint32_t (&costs)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 4)
        __stcg((uint4 *)(to + i), make_uint4(costs[i], costs[i + 1], costs[i + 2], costs[i + 3]));
}

template <int COUNT> DEVICE void load_costs(uint32_t (&costs)[COUNT], const uint32_t *from) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
        const uint4 four = __ldcg((const uint4 *)(from + i));
        costs[i] = four.x, costs[i + 1] = four.y, costs[i + 2] = four.z, costs[i + 3] = four.w;
    }
}

/* The half's warps give each other the costs of the columns that both have. */
template <int WORDS, int HALF>
DEVICE void exchange_costs(struct exchange<WORDS> &box, uint32_t parity,
                           const struct sweep_place &place, uint32_t first, uint32_t warps,
                           uint32_t (&costs)[4 * WORDS]) {
    constexpr int COLUMNS = 4 * WORDS;
    if (warps == 1) return;
    const uint32_t lane = place.lane, warp = place.warp;
    const bool to_left = lane == 1 && warp > 0, to_right = lane == 30 && warp + 1 < warps;
    if (to_left || to_right) {
        uint32_t *const to = box.costs[parity][first + (to_left ? warp - 1 : warp + 1)][to_left];
#pragma unroll
        for (int i = 0; i < COLUMNS; i += 4)
            *(uint4 *)(to + i) = make_uint4(costs[i], costs[i + 1], costs[i + 2], costs[i + 3]);
    }
    barrier_of<1 + HALF>(32 * warps);
    if ((lane == 0 && warp > 0) || (lane == 31 && warp + 1 < warps)) {
        const uint32_t *const from = box.costs[parity][first + warp][lane == 31];
#pragma unroll
        for (int i = 0; i < COLUMNS; i += 4) {
            const uint4 four = *(const uint4 *)(from + i);
            costs[i] = four.x, costs[i + 1] = four.y, costs[i + 2] = four.z, costs[i + 3] = four.w;
        }
    }
}

/* ---- a half */

template <int WORDS> struct sweep_args {
    const uint8_t *from;    /* the lane's columns of row 0, with the seam before */
    uint8_t *to;            /* the same without it */
    int height, width;      /* without the seam */
    int rows;               /* of the half */
    uint32_t pitch, stride; /* bytes between rows of luma; columns of costs */
    uint32_t ring, gaps;    /* shared addresses: the warp's part; the entry of row 0 */
    uint32_t flags_at;      /* as flags_at() says */
    uint32_t masks;
    uint32_t *kept;        /* the lane's column of group 0 */
    uint32_t first, warps; /* the block's number of the half's first warp; warps of the half */
    bool closes;           /* there is a seam before: rows are written */
};

/* Rows of a lane that the next energies need. */
template <int WORDS, int REACH> struct made_rows : sobel_rows<WORDS, REACH> {};
template <int WORDS> struct made_rows<WORDS, 0> {
    uint32_t words[WORDS], right[WORDS]; /* the row made last, and its right neighbours */
};

/* Rows beyond the one whose energies are made. */
template <int HALF, search_kind KIND> HOST_DEVICE constexpr int rows_ahead() {
    return sobel_reach(KIND) ? sobel_reach(KIND) : HALF ? 0 : 1;
}

/* A lane on its way through a half. */
template <int WORDS, int HALF, search_kind KIND> struct sweep_state {
    struct row_stream<WORDS, HALF, KIND> rows;
    struct made_rows<WORDS, sobel_reach(KIND)> made;
    uint32_t energies[2 * WORDS];                        /* of the row that is added next */
    uint32_t outside[sobel_reach(KIND) ? 1 : 2 * WORDS]; /* see mark_outside() */
    bool ends;                    /* some of the warp's columns are outside */
    uint32_t flags[HALF ? 1 : 2]; /* of that row, and of the next one */
};

/* MARKS: what columns outside add to even and odd pixels of each word. By sobel, which needs the
 * registers, a bit for each column; bit i of the upper half is of column i + 2. */
template <int WORDS, search_kind KIND, int COUNT>
DEVICE void mark_outside(int x, int width, uint32_t (&marks)[COUNT]) {
    if constexpr (sobel_reach(KIND)) {
        const uint32_t columns = x < 0 ? ~0u : shift_left(~0u, (uint32_t)max(width - x, 0));
        marks[0] = (columns & 0xffff) | columns >> 2 << 16;
    } else {
#pragma unroll
        for (int i = 0; i < 2 * WORDS; i++) {
            const int low = x + i / 2 * 4 + i % 2, high = low + 2;
            marks[i] = (low < 0 || low >= width ? OUTSIDE : 0) |
                       (high < 0 || high >= width ? OUTSIDE << 16 : 0);
        }
    }
}

template <int WORDS, search_kind KIND, int COUNT>
DEVICE void add_outside(const uint32_t (&marks)[COUNT], uint32_t (&energies)[2 * WORDS]) {
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++)
        if constexpr (sobel_reach(KIND))
            energies[i] |= marks[0] << (14 - i / 2 * 4 - i % 2) & 0x00010001u * OUTSIDE;
        else
            energies[i] += marks[i];
}

template <int WORDS, int HALF, search_kind KIND>
DEVICE void begin_rows(const struct sweep_args<WORDS> &args, const struct sweep_place &place,
                       struct sweep_state<WORDS, HALF, KIND> &state) {
    const int start = HALF ? args.height - 1 : 0;
    struct row_stream<WORDS, HALF, KIND> &rows = state.rows;
    rows.hop = HALF ? -(int64_t)args.pitch : (int64_t)args.pitch;
    rows.ask = args.from + (int64_t)start * args.pitch;
    rows.put = args.to + (int64_t)start * args.pitch;
    rows.back = args.from - args.to;
    rows.ring = args.ring + place.lane * lane_shape<WORDS>::COLUMNS;
    if constexpr (KIND == MASKED) {
        rows.flag_ring = args.ring + ring_shape<WORDS, MASKED>::FLAGS + 4 * place.lane;
        rows.flag_hop =
            args.flags_at + 4 * (uint32_t)flag_word_of<WORDS>(place.x) - (uint32_t)place.x;
    }
    rows.ask_slot = rows.get_slot = 0;
    rows.gap_at = args.gaps + 2 * start;
    mark_outside<WORDS, KIND>(place.x, args.width, state.outside);
    state.ends = place.left < 0 || place.left + 32 * lane_shape<WORDS>::COLUMNS > args.width;
    for (int i = 0; i < ring_shape<WORDS, KIND>::ROWS - 1; i++) ask_row(rows);
    take_row(rows);
}

/* Takes the next row from STATE, with its flags, and asks for one more. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void next_row(const struct sweep_args<WORDS> &args, const struct sweep_place &place,
                     bool keep, struct sweep_state<WORDS, HALF, KIND> &state,
                     uint32_t (&words)[WORDS], uint32_t &flags) {
    const int gap = state.rows.gap;
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = state.rows.words[i];
    flags = state.rows.flags;
    take_row(state.rows);
    close_row(state.rows, place, args.width, gap, keep, words, flags);
}

/* By sobel the first row repeats beyond the border. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void begin_sobel(const struct sweep_args<WORDS> &args, const struct sweep_place &place,
                        bool writes, struct sweep_state<WORDS, HALF, KIND> &state) {
    uint32_t row[WORDS], flags;
    state.made = {};
#pragma unroll 1
    for (int i = -3; i <= sobel_reach(KIND); i++) {
        if (i == -3 || i > 0) next_row(args, place, writes && i < args.rows, state, row, flags);
        add_sobel_row(state.made, place.x, row, state.energies);
    }
}

/* The first row's energies, which need the row below: the lower half begins with the last row,
 * which is its own row below; the upper half needs one more row. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void begin_energies(const struct sweep_args<WORDS> &args, const struct sweep_place &place,
                           bool writes, struct sweep_state<WORDS, HALF, KIND> &state) {
    uint32_t first[WORDS], first_right[WORDS];
    next_row(args, place, writes, state, first, state.flags[0]);
    right_of(first_right, first);
    struct made_rows<WORDS, 0> &made = state.made;
    if constexpr (HALF) {
#pragma unroll
        for (int i = 0; i < WORDS; i++) made.words[i] = first[i], made.right[i] = first_right[i];
    } else {
        next_row(args, place, writes && args.rows > 1, state, made.words, state.flags[1]);
        right_of(made.right, made.words);
    }
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        energies_of(first[i], first_right[i], made.words[i], made.right[i], state.energies[2 * i],
                    state.energies[2 * i + 1]);
}

/* Adds a row's energies while those of the next one are made. KEEP: the row that comes for that is
 * the half's. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void sweep_row(const struct sweep_args<WORDS> &args, const struct sweep_place &place,
                      bool keep, struct sweep_state<WORDS, HALF, KIND> &state,
                      uint32_t (&costs)[4 * WORDS]) {
    uint32_t next[WORDS], next_flags = state.rows.flags;
    const int gap = state.rows.gap;
    if (state.ends) {
        if constexpr (KIND == MASKED)
            state.flags[0] |= flags_outside(place.x, args.width);
        else
            add_outside<WORDS, KIND>(state.outside, state.energies);
    }
#pragma unroll
    for (int i = 0; i < WORDS; i++) next[i] = state.rows.words[i];
    take_row(state.rows);
    const uint32_t left = __shfl_up_sync(~0u, costs[4 * WORDS - 1], 1);
    const uint32_t right = __shfl_down_sync(~0u, costs[0], 1);
    close_row(state.rows, place, args.width, gap, keep, next, next_flags);
    uint32_t next_right[WORDS];
    if constexpr (!sobel_reach(KIND)) right_of(next_right, next);
    add_row<WORDS, KIND>(costs, state.energies, left, right, state.flags[0],
                         flag_costs_of((uint32_t)args.height, args.masks));
    if constexpr (!HALF) state.flags[0] = state.flags[1];
    state.flags[!HALF] = next_flags;
    if constexpr (sobel_reach(KIND)) {
        add_sobel_row(state.made, place.x, next, state.energies);
    } else {
        struct made_rows<WORDS, 0> &made = state.made;
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            uint32_t &even = state.energies[2 * i], &odd = state.energies[2 * i + 1];
            if constexpr (HALF)
                energies_of(next[i], next_right[i], made.words[i], made.right[i], even, odd);
            else
                energies_of(made.words[i], made.right[i], next[i], next_right[i], even, odd);
            made.words[i] = next[i], made.right[i] = next_right[i];
        }
    }
}

/* COSTS: of the half's last row, where it meets the other half; outside the image anything. */
template <int WORDS, int HALF, search_kind KIND>
DEVICE void sweep_half(const struct sweep_args<WORDS> &args, const struct sweep_place &place,
                       struct exchange<WORDS> &box, uint32_t &parity,
                       uint32_t (&costs)[4 * WORDS]) {
    constexpr int STEP = block_step(WORDS, KIND), REACH = sobel_reach(KIND);
    /* By sobel5 lane 31 of the last warp keeps the second column that repeats the last one. */
    const bool last = REACH == 2 && place.lane == 31 && place.warp + 1 == args.warps;
    const bool writes = args.closes && (place.own || last);
    struct sweep_state<WORDS, HALF, KIND> state;
    begin_rows(args, place, state);
    if constexpr (REACH)
        begin_sobel(args, place, writes, state);
    else
        begin_energies(args, place, writes, state);
    /* With row i comes one further ahead. Rows of the other half are not written. */
    const int write_end = writes ? args.rows - 1 - rows_ahead<HALF, KIND>() : 0;
#pragma unroll
    for (int i = 0; i < 4 * WORDS; i++) costs[i] = 0;
    for (int i0 = 0, group = 0; i0 < args.rows; i0 += STEP, group++) {
        const int i1 = min(i0 + STEP, args.rows);
        if (i0) {
            if (place.own) store_costs(args.kept + (size_t)(group - 1) * args.stride, costs);
            exchange_costs<WORDS, HALF>(box, parity, place, args.first, args.warps, costs);
            parity ^= 1;
        }
#pragma unroll(REACH ? 1 : 2)
        for (int i = i0; i < i1; i++) sweep_row(args, place, i < write_end, state, costs);
    }
    copy_async_wait<0>();
}

#endif

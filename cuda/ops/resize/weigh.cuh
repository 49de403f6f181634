// SPDX-License-Identifier: Apache-2.0
/* weigh.cuh - pictures that are scaled by weights: their tables, the image between the two passes,
 * and both passes over a batch.
 *
 * Used by:  resize.cu, group.cuh.
 * Owns:     nothing; the image between is scratch.
 * Fails:    as tiles.cuh and device_tables.cuh say.
 * Limits:   between_bytes() of scratch a picture.
 *
 * How it works. The image between has the result's columns and the source's rows, and may be far
 * larger than both: then the result is made in strips of columns, the first strips of all pictures
 * in one pair of launches, then the second ones in the same scratch. Nearly always there is one
 * strip.
 */
#ifndef BURIN_RESIZE_WEIGH_CUH
#define BURIN_RESIZE_WEIGH_CUH

#include "cuda/cuda_op.h"
#include "cuda/ops/resize/down.cuh"
#include "cuda/ops/resize/table.cuh"

#include <algorithm>

enum {
    ACROSS_SHARED_BYTES = 72 << 10,
    ACROSS_FEW_BLOCKS = 4, /* of a multiprocessor */
    DOWN_FEW_BLOCKS = 16,
    ALONE_FEW_BLOCKS = 2, /* of a single image: see ALONE_STEPS */
    ALONE_STEPS = 3       /* steps whose words and weights a lane keeps together */
};

/* One picture. */
struct weighing {
    struct image in, to; /* `to`: of the wanted size */
    struct resample_axis x, y;
    struct device_table across, down;
    uint32_t *between;
};

/* ---- the image between */

/* Fours of rows from the first to the last one needed, as many as across.cuh writes. */
static inline uint32_t between_lines(const struct resample_axis *y) {
    const struct resample_window rows = resample_span(y);
    const uint32_t fours = (rows.first + rows.count + 3) / 4 - rows.first / 4;
    return tiles_over(fours, STAGE_ROWS / 4) * (STAGE_ROWS / 4);
}

/* Bytes of a column, of numbers of BYTES. The last step of down.cuh may read past its end. */
static inline size_t between_column_bytes(const struct weighing *weighing, unsigned bytes) {
    return (size_t)(between_lines(&weighing->y) + MATRIX_WORDS) * weighing->in.channels * bytes * 4;
}

/* Columns made at a time: all, unless that takes more than input and result. */
static inline uint32_t strip_columns(const struct weighing *weighing, unsigned bytes) {
    const size_t least = (size_t)16 << 20;
    const uint64_t pixels =
        image_pixels(&weighing->in) + (uint64_t)weighing->x.count * weighing->y.count;
    const size_t both = pixels * weighing->in.channels * bytes;
    const size_t most = (both > least ? both : least) / between_column_bytes(weighing, bytes);
    if (most >= weighing->x.count) return weighing->x.count;
    return most < 32 ? 32 : (uint32_t)(most / 32 * 32);
}

static inline size_t between_bytes(const struct weighing *weighing, unsigned bytes) {
    return between_pitch(strip_columns(weighing, bytes)) * between_column_bytes(weighing, bytes);
}

/* ---- tiles */

/* Whether there are fewer than EACH for each multiprocessor. */
static inline bool few_blocks(const struct cuda_context *context, uint64_t blocks, unsigned each) {
    return blocks < (uint64_t)context->multiprocessors * each;
}

/* The most words of a row that COLUMNS adjacent targets need, a multiple of 8: GROUP_WORDS after
 * the begin of their last group. */
static inline uint32_t across_span(const struct resample_axis *x, uint32_t columns,
                                   uint32_t group_words) {
    const uint64_t apart = (uint64_t)(columns - TABLE_GROUP) * x->from / x->to + 2;
    return tiles_over((uint32_t)(apart / 4) + 2 + group_words, MATRIX_WORDS) * MATRIX_WORDS;
}

/* Whether windows of GROUP_WORDS are long: see ACROSS_MORE_WARPS. */
template <class K> static inline bool across_long(uint32_t group_words) {
    return K::PLAIN && table_steps(group_words) >= ACROSS_LONG_STEPS;
}

/* For long windows a block has a warp for each group, so that a tile may have any number of
 * groups. */
template <class K> static inline uint32_t across_narrower(uint32_t columns, uint32_t group_words) {
    return across_long<K>(group_words) && columns > 16 ? columns - 16 : columns / 2;
}

/* Shared memory of a block. On GPUs of 9.0 three blocks then fit; with long windows as many as
 * registers have room for, but with at least as many bytes. */
template <class K>
static inline size_t across_room(const struct cuda_context *context, uint32_t group_words) {
    const size_t all = (size_t)context->shared_bytes, reserved = 1 << 10; /* by each block */
    const size_t share = all / (across_warps_most<K>() / ACROSS_MORE_WARPS) - reserved;
    const size_t room = ACROSS_SHARED_BYTES;
    return std::min(across_long<K>(group_words) ? std::max(room, share) : room, all);
}

/* The widest tile, of ACROSS_COLUMNS or fewer, that takes MOST bytes. */
template <class K>
static inline uint32_t across_widest(const struct resample_axis *x, uint32_t group_words,
                                     size_t most) {
    uint32_t columns = ACROSS_COLUMNS;
    while (columns > TABLE_GROUP && stage_bytes<K>(across_span(x, columns, group_words)) > most)
        columns = across_narrower<K>(columns, group_words);
    return columns;
}

/* The widest tile, or a narrower one where a launch of PICTURES, each LINES tiles high, has few
 * blocks with long windows. Where even one group is too much, its words come in pieces. Returns the
 * bytes of shared memory. */
template <class K>
static inline size_t across_choose(const struct cuda_context *context, const struct weighing &weigh,
                                   uint32_t pictures, uint32_t lines, struct across_image *image) {
    const uint32_t words = weigh.across.note;
    const size_t most = across_room<K>(context, words);
    uint32_t columns = across_widest<K>(&weigh.x, words, most);
    const uint64_t blocks = (uint64_t)tiles_over(image->columns, columns) * lines * pictures;
    if (across_long<K>(words) && columns > 16 && few_blocks(context, blocks, ACROSS_FEW_BLOCKS))
        columns = across_narrower<K>(columns, words);
    uint32_t span = across_span(&weigh.x, columns, words);
    while (stage_bytes<K>(span) > most) span = span / 2 / MATRIX_WORDS * MATRIX_WORDS;
    image->tile_columns = (uint16_t)columns;
    image->span = (uint16_t)span;
    return stage_bytes<K>(span);
}

/* Columns FIRST..FIRST+COUNT-1 of one of PICTURES. */
template <class K>
static inline void add_across(const struct cuda_context *context, const struct weighing &weighing,
                              uint32_t pictures, uint32_t first, uint32_t count,
                              struct tiles<across_batch> *tiles) {
    const uint32_t lines = between_lines(&weighing.y) / (STAGE_ROWS / 4);
    struct across_image image = {};
    image.in = weighing.in.pixels;
    image.groups = (const struct table_group *)weighing.across.memory + first / TABLE_GROUP;
    image.between = weighing.between;
    image.in_stride = (uint32_t)weighing.in.stride;
    image.width = (uint16_t)weighing.in.width;
    image.height = (uint16_t)weighing.in.height;
    image.columns = (uint16_t)count;
    image.first_row = (uint16_t)(resample_span(&weighing.y).first / 4);
    image.aligned = ((uintptr_t)image.in | image.in_stride) % (K::PLAIN ? 16 : 4) == 0;
    const size_t bytes = across_choose<K>(context, weighing, pictures, lines, &image);
    if (bytes > tiles->shared_bytes) tiles->shared_bytes = bytes;
    tiles->shared_most = (size_t)context->shared_bytes;
    const uint32_t across = tiles_over(count, image.tile_columns);
    image.share = tiles_share(across);
    if (tiles->batch.count == 0) tiles->batch.share = tiles_share(across * lines);
    tiles_add(tiles, image, across, lines);
}

/* The words that tiles of a batch's only IMAGE need, by the windows of their columns. */
static inline void get_alone_words(const struct weighing &weighing,
                                   const struct across_image &image, struct across_alone *alone) {
    const struct table_group *const all = (const struct table_group *)weighing.across.memory;
    const uint32_t first = (uint32_t)(image.groups - all) * TABLE_GROUP;
    for (uint32_t t = 0; t < image.tiles_across; t++) {
        const uint32_t column = t * image.tile_columns;
        struct resample_axis part = weighing.x;
        part.first += first + column;
        part.count = std::min((uint32_t)image.tile_columns, image.columns - column);
        const struct resample_window span = resample_span(&part);
        alone->word[t] = (uint16_t)(span.first / 4);
        alone->words[t] = (uint16_t)((span.first + span.count + 3) / 4 - span.first / 4);
    }
}

/* WINDOW: the steps of the longest window of any picture. */
template <class K>
static inline enum status across_launch(const struct cuda_context *context,
                                        const struct tiles<across_batch> &tiles, uint32_t window,
                                        struct failure *failure) {
    constexpr int FEW = ACROSS_WARPS, MORE = ACROSS_MORE_WARPS;
    void (*kernel)(struct across_batch) = across_kernel<K, FEW, 0, K::PLAIN>;
    int warps = FEW;
    if constexpr (K::PLAIN) {
        if (window >= ACROSS_LONG_STEPS)
            kernel = across_kernel<K, MORE, 0, false>, warps = MORE;
        else if (window == 1 && few_blocks(context, tiles.count, ACROSS_FEW_BLOCKS))
            kernel = across_kernel<K, MORE, 1, true>, warps = MORE;
        else if (window == 1)
            kernel = across_kernel<K, FEW, 1, true>;
    }
    return tiles_launch(tiles, kernel, 32 * (unsigned)warps, context->stream, failure);
}

/* The same for columns. With few blocks the kernel that runs more of them at once is slower: nearly
 * all are then bound to the multiprocessors where the first pass ends first. */
template <class K>
static inline enum status down_launch(const struct cuda_context *context,
                                      const struct tiles<down_batch> &tiles, uint32_t window,
                                      struct failure *failure) {
    void (*kernel)(struct down_batch) = down_kernel<K, 0>;
    if constexpr (!K::ALPHA)
        if (window == 1 && !few_blocks(context, tiles.count, DOWN_FEW_BLOCKS))
            kernel = down_kernel<K, 1>;
    return tiles_launch(tiles, kernel, DOWN_THREADS, context->stream, failure);
}

template <class K>
static inline void add_down(const struct weighing &weighing, uint32_t first, uint32_t count,
                            struct tiles<down_batch> *tiles) {
    struct down_image image = {};
    image.between = weighing.between;
    image.groups = (const struct table_group *)weighing.down.memory;
    image.out = weighing.to.pixels + first * image_pixel_bytes(&weighing.to);
    image.out_stride = (uint32_t)weighing.to.stride;
    image.columns = (uint16_t)count;
    image.rows = (uint16_t)weighing.y.count;
    image.first_row = (uint16_t)(resample_span(&weighing.y).first / 4);
    image.aligned = ((uintptr_t)image.out | image.out_stride) % 4 == 0;
    const uint32_t across = tiles_over(count, DOWN_COLUMNS);
    const uint32_t lines = tiles_over(image.rows, DOWN_ROWS);
    image.share = tiles_share(across);
    if (tiles->batch.count == 0) tiles->batch.share = tiles_share(across * lines);
    tiles_add(tiles, image, across, lines);
}

/* ---- both passes */

/* The launches of both passes; windows in steps. */
struct passes {
    struct tiles<across_batch> across;
    struct tiles<down_batch> down;
    uint32_t across_window, down_window;
};

/* Whether there is a single image, with long windows: with short ones the kernels of batches are
 * quicker. */
template <class K> static inline bool passes_are_alone(const struct passes &passes, int count) {
    const struct across_batch &across = passes.across.batch;
    return K::PLAIN && count == 1 && across.count == 1 &&
           passes.across_window >= ACROSS_LONG_STEPS &&
           across.images[0].tiles_across <= ACROSS_ALONE_TILES;
}

/* Whether its blocks are few, and no window has more steps than a lane keeps. */
template <class B>
static inline bool alone_is_few(const struct cuda_context *context, const struct tiles<B> &tiles,
                                uint32_t window) {
    return window <= ALONE_STEPS && few_blocks(context, tiles.count, ALONE_FEW_BLOCKS);
}

template <class K>
static inline enum status launch_alone(const struct cuda_context *context,
                                       const struct weighing &weighing, const struct passes &passes,
                                       struct failure *failure) {
    constexpr int WARPS = ACROSS_MORE_WARPS, STEPS = ALONE_STEPS;
    const struct across_batch &across = passes.across.batch;
    const struct down_batch &down = passes.down.batch;
    struct across_alone first = { 1, across.rule, { across.images[0] }, {}, {} };
    const struct down_alone then = { 1, down.channels, down.rule, { down.images[0] } };
    void (*across_pass)(struct across_alone) =
        alone_is_few(context, passes.across, passes.across_window)
            ? across_kernel<K, WARPS, STEPS, false, across_alone>
            : across_kernel<K, WARPS, 0, false, across_alone>;
    void (*down_pass)(struct down_alone) = alone_is_few(context, passes.down, passes.down_window)
                                               ? down_kernel<K, STEPS, down_alone>
                                               : down_kernel<K, 0, down_alone>;
    get_alone_words(weighing, across.images[0], &first);
    const enum status status = tiles_launch(tiles_with(passes.across, first), across_pass,
                                            32 * WARPS, context->stream, failure);
    if (status) return status;
    return tiles_launch(tiles_with(passes.down, then), down_pass, DOWN_THREADS, context->stream,
                        failure);
}

template <class K>
static inline enum status launch_passes(const struct cuda_context *context,
                                        const struct weighing &weighing, int count,
                                        const struct passes &passes, struct failure *failure) {
    if constexpr (K::PLAIN)
        if (passes_are_alone<K>(passes, count))
            return launch_alone<K>(context, weighing, passes, failure);
    const enum status status =
        across_launch<K>(context, passes.across, passes.across_window, failure);
    return status ? status : down_launch<K>(context, passes.down, passes.down_window, failure);
}

/* Makes the strips of number TURN; false where no picture has that many. */
template <class K>
static inline enum status
weigh_turn(const struct cuda_context *context, const struct weighing *weighings, int count,
           const struct work_rule &rule, uint32_t turn, bool *some, struct failure *failure) {
    struct passes passes = {};
    passes.across.batch.rule = passes.down.batch.rule = rule;
    for (int i = 0; i < count; i++) {
        const uint64_t columns = strip_columns(&weighings[i], K::between::BYTES);
        const uint64_t first = turn * columns, all = weighings[i].x.count;
        if (first >= all) continue;
        const uint32_t wanted = (uint32_t)(all - first < columns ? all - first : columns);
        add_across<K>(context, weighings[i], (uint32_t)count, (uint32_t)first, wanted,
                      &passes.across);
        add_down<K>(weighings[i], (uint32_t)first, wanted, &passes.down);
        passes.down.batch.channels = weighings[i].to.channels;
        passes.across_window =
            std::max(passes.across_window, table_steps(weighings[i].across.note));
        passes.down_window = std::max(passes.down_window, table_steps(weighings[i].down.note));
    }
    *some = passes.across.batch.count > 0;
    passes.down.overlaps = context->capability >= OVERLAP_CAPABILITY;
    const enum status status = launch_passes<K>(context, weighings[0], count, passes, failure);
    if (!status && *some) cuda_record_kernel(context, "weigh"); /* one time for both */
    return status;
}

template <class K>
static inline enum status weigh_kind(const struct cuda_context *context,
                                     const struct weighing *weighings, int count,
                                     const struct work_rule &rule, struct failure *failure) {
    enum status status = STATUS_OK;
    bool some = true;
    for (uint32_t turn = 0; !status && some; turn++)
        status = weigh_turn<K>(context, weighings, count, rule, turn, &some, failure);
    return status;
}

template <int CHANNELS>
static inline enum status weigh_channels(const struct cuda_context *context,
                                         const struct weighing *weighings, int count,
                                         const struct work_rule &rule, struct failure *failure) {
    if (weighings[0].in.depth == 16)
        return weigh_kind<work_kind<CHANNELS, 16, true>>(context, weighings, count, rule, failure);
    if (rule.to_light)
        return weigh_kind<work_kind<CHANNELS, 8, true>>(context, weighings, count, rule, failure);
    return weigh_kind<work_kind<CHANNELS, 8, false>>(context, weighings, count, rule, failure);
}

/* COUNT pictures of the same channels and depth. */
static inline enum status weigh(const struct cuda_context *context,
                                const struct weighing *weighings, int count,
                                const struct work_rule &rule, struct failure *failure) {
    if (count == 0) return STATUS_OK;
    switch (weighings[0].in.channels) {
    case 1: return weigh_channels<1>(context, weighings, count, rule, failure);
    case 2: return weigh_channels<2>(context, weighings, count, rule, failure);
    case 3: return weigh_channels<3>(context, weighings, count, rule, failure);
    default: return weigh_channels<4>(context, weighings, count, rule, failure);
    }
}

#endif

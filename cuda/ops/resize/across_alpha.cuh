// SPDX-License-Identifier: Apache-2.0
/* across_alpha.cuh - rows of pixels with alpha, scaled to the wanted width; and the kernel of both
 * kinds of rows.
 *
 * Used by:  down.cuh, weigh.cuh.
 * Threads:  as in across.cuh.
 *
 * How it works. The numbers of pipeline/rows/resample_alpha.h take twice the bytes of samples, and
 * one byte more between the passes. So a warp makes one channel of a group at a time, both halves
 * together, and any number of warps have work even in a tile of one group.
 */
#ifndef BURIN_RESIZE_ACROSS_ALPHA_CUH
#define BURIN_RESIZE_ACROSS_ALPHA_CUH

#include "cuda/ops/resize/across.cuh"

/* Sums of one channel of a group, and where they continue. */
template <class K> struct across_channel {
    struct across_part part;
    int channel;
    const uint2 *pairs; /* of the next step */
    uint32_t left;      /* steps */
    struct axis_sums<work_channel<K>> sums[AXIS_HALVES];
};

/* The UNIT-th channel of a tile; without steps where there are not as many. */
template <class K>
static __device__ __forceinline__ struct across_channel<K>
across_channel_of(const struct across_image &image, const struct across_tile &tile, uint32_t unit) {
    struct across_channel<K> one;
    one.part = across_group_of<K>(image, tile, unit / K::CHANNELS);
    one.channel = (int)(unit % K::CHANNELS);
    one.pairs = one.part.pairs, one.left = one.part.steps;
#pragma unroll
    for (int half = 0; half < AXIS_HALVES; half++) one.sums[half] = axis_begin<work_channel<K>>();
    return one;
}

/* Adds STEPS steps; DONE words of the tile came before those that are staged. */
template <class K>
static __device__ __forceinline__ void
across_channel_add(struct across_channel<K> &one, const struct stage_source &source, uint32_t pitch,
                   const uint32_t *staged, uint32_t steps, uint32_t done) {
    typedef work_channel<K> W;
    const uint32_t *at = across_at<K>(one.part, source, pitch, staged, 0, done) +
                         one.channel * K::BYTES * STAGE_ROWS * pitch;
    one.left -= steps;
#pragma unroll 1
    for (; steps; steps--, at += MATRIX_WORDS, one.pairs += TABLE_STEP_PAIRS) {
        uint2 digits[3];
        across_load_digits(digits, one.pairs);
#pragma unroll
        for (int half = 0; half < AXIS_HALVES; half++) {
            uint32_t planes[W::PLANES][4];
            across_read<W>(planes, at - half * MATRIX_ROWS * pitch, pitch);
            axis_add<W>(one.sums[half], planes, digits);
        }
    }
}

template <class K>
static __device__ __forceinline__ void across_channel_write(const struct across_channel<K> &one,
                                                            uint32_t to_pitch) {
    typedef work_layout<1, K::between::BYTES, true> between;
    uint32_t words[between::PLANES][2] = {};
#pragma unroll
    for (int half = 0; half < AXIS_HALVES; half++)
        axis_counts<work_channel<K>, between>(words, one.sums[half]);
    uint32_t *const to = one.part.to + one.channel * between::PLANES * to_pitch;
#pragma unroll
    for (int p = 0; p < between::PLANES; p++)
        *(uint2 *)(to + p * to_pitch) = make_uint2(words[p][0], words[p][1]);
}

/* A tile whose rows come SPAN words at a time is a single group: see across_choose(). */
template <class K, int WARPS>
static __device__ __forceinline__ void
across_channel_pieces(const struct across_image &image, const struct across_tile &tile,
                      struct stage_source source, const struct work_rule &rule, uint32_t *staged) {
    static_assert(WARPS >= K::CHANNELS, "a warp keeps the sums of one channel");
    const uint32_t pitch = stage_pitch<K>(image.span), most = image.span / MATRIX_WORDS;
    const uint32_t warp = threadIdx.x / 32;
    struct across_channel<K> one = across_channel_of<K>(image, tile, warp);
    for (uint32_t done = 0; done < tile.words; done += image.span) {
        __syncthreads(); /* all have read the last piece */
        source.word = tile.word + done;
        source.words = min(tile.words - done, (uint32_t)image.span);
        stage<K, WARPS>(source, rule, pitch, staged);
        __syncthreads();
        across_channel_add<K>(one, source, pitch, staged, min(one.left, most), done);
    }
    if (one.part.steps) across_channel_write<K>(one, between_pitch(image.columns));
}

template <class K, int WARPS, class B>
static __device__ __forceinline__ void across_alpha_block(const B &batch) {
    extern __shared__ uint4 across_shared[];
    uint32_t *const staged = (uint32_t *)across_shared;
    const struct across_image &image = tiles_image(batch, blockIdx.x);
    const struct across_tile tile = across_tile_of(image, blockIdx.x - image.first_tile);
    const struct stage_source source = across_source(image, tile);
    const uint32_t pitch = stage_pitch<K>(image.span);
    overlap_begin();
    if (tile.words > image.span)
        return across_channel_pieces<K, WARPS>(image, tile, source, batch.rule, staged);
    stage<K, WARPS>(source, batch.rule, pitch, staged);
    __syncthreads();
    for (uint32_t unit = threadIdx.x / 32; unit < tile.groups * K::CHANNELS; unit += WARPS) {
        struct across_channel<K> one = across_channel_of<K>(image, tile, unit);
        across_channel_add<K>(one, source, pitch, staged, one.left, 0);
        across_channel_write<K>(one, between_pitch(image.columns));
    }
}

/* ---- the kernel */

/* Warps of a block. With few, more blocks run at once, of which one stages while others sum; many
 * share the long sums of long windows, and those of short ones where all blocks run at once. Images
 * that are made ready first always use few. */
enum { ACROSS_WARPS = 4, ACROSS_MORE_WARPS = 8, ACROSS_LONG_STEPS = 3 };

/* Warps that a multiprocessor has registers for, by the number of sums that a lane keeps. */
template <class K> static constexpr int across_warps_most(void) {
    constexpr int SUMS = K::CHANNELS * K::PARTS * 4;
    if (K::ALPHA) return K::WORK_DEPTH > 8 ? 16 : 20; /* those of one channel, both halves */
    return SUMS > 36 ? 16 : SUMS > 12 ? 24 : 32;
}

/* The same for windows of few steps, of which a lane keeps one channel's sums. */
template <class K, int STEPS> static constexpr int across_warps(void) {
    if (STEPS == 1) return K::CHANNELS > 3 ? 24 : 32;
    return STEPS ? 16 : across_warps_most<K>();
}

template <class K, int WARPS, int STEPS, bool HALVES, class B = across_batch>
static __global__ void __launch_bounds__(32 * WARPS, across_warps<K, STEPS>() / WARPS)
    across_kernel(const __grid_constant__ B batch) {
    if constexpr (K::ALPHA)
        across_alpha_block<K, WARPS>(batch);
    else
        across_block<K, WARPS, STEPS, HALVES>(batch);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* passes.cuh - 16 bits, and windows that are too large for a tile: a pass across into scratch, and
 * a pass down out of it.
 *
 * Used by:  cuda/smooth.cu.
 * Threads:  each works alone: on four neighbours of a channel across, on four pixels of some rows
 *           down. No shared memory is used.
 * Limits:   PASS_AREAS_MAX areas a launch.
 *
 * How it works. Images are cut into areas whose sums fit into scratch. As a thread goes along its
 * samples, it adds each one to all results whose windows contain it, while weights slide through
 * registers: so a sample is read once for four results, across, or for several rows, down. Rows
 * beyond the borders are summed across like others, so that the pass down sees no border.
 *
 * Sums are stored in fours, [row][four pixels][channel][four]: 16 bits each for 8-bit samples, else
 * 32.
 */
#ifndef BURIN_SMOOTH_PASSES_CUH
#define BURIN_SMOOTH_PASSES_CUH

#include "cuda/smooth/finish.cuh"
#include "pipeline/gaussian.h"
#include "pipeline/reflect.h"

enum { PASS_THREADS = 128, PASS_AREAS_MAX = 32 };

/* An area of an image: PIXELS x ROWS from X, Y on. */
struct pass_area {
    const uint8_t *in;
    uint8_t *out, *sums;
    uint32_t in_stride, out_stride;
    uint32_t width, height; /* of the image */
    uint32_t x, y, pixels, rows;
    uint32_t groups;   /* of four pixels, in a row */
    uint32_t sum_rows; /* all that whole threads' windows reach */
};

struct pass_areas {
    struct pass_area area[PASS_AREAS_MAX];
};

template <int PASS_CHANNELS, int PASS_DEPTH> struct pass_traits {
    static constexpr int CHANNELS = PASS_CHANNELS, DEPTH = PASS_DEPTH;
    static constexpr int PIXEL = CHANNELS * (DEPTH / 8);
    static constexpr int ROWS = DEPTH == 8 ? 4 : 2; /* of a thread, down */
    static constexpr int SUM = DEPTH / 8 * 2;       /* in bytes */
    static constexpr int WORDS = four_words<CHANNELS, DEPTH>();
};

static __device__ __forceinline__ uint32_t weight_at(const struct gaussian &gaussian, int tap) {
    const int distance = tap - (int)gaussian.reach;
    const uint32_t size = (uint32_t)(distance < 0 ? -distance : distance);
    return size <= gaussian.reach ? gaussian.weight[size] : 0;
}

/* ---- across */

template <class T>
static __device__ __forceinline__ uint32_t pass_sample(const uint8_t *row, uint32_t x, int c) {
    const uint32_t sample = load_sample<T::DEPTH>(row, x * T::CHANNELS + c);
    if (T::CHANNELS % 2 || c == T::CHANNELS - 1) return sample;
    const uint32_t alpha = load_sample<T::DEPTH>(row, x * T::CHANNELS + T::CHANNELS - 1);
    return premultiply(sample, alpha, T::DEPTH);
}

/* Sums of four pixels from X on. */
template <class T>
static __device__ __forceinline__ uint4 sum_across(const struct pass_area &area,
                                                   const struct gaussian &gaussian,
                                                   const uint8_t *row, int x, int c) {
    const int reach = (int)gaussian.reach;
    uint32_t sums[FOUR] = {}, weights[FOUR] = {};
    for (int k = 0; k < 2 * reach + FOUR; k++) {
        const uint32_t sample = pass_sample<T>(row, reflect(x - reach + k, area.width), c);
#pragma unroll
        for (int i = FOUR - 1; i > 0; i--) weights[i] = weights[i - 1];
        weights[0] = weight_at(gaussian, k);
#pragma unroll
        for (int i = 0; i < FOUR; i++) sums[i] += weights[i] * sample;
    }
    return make_uint4(sums[0], sums[1], sums[2], sums[3]);
}

template <class T>
static __global__ void __launch_bounds__(PASS_THREADS)
    pass_across_kernel(const __grid_constant__ struct pass_areas areas,
                       const __grid_constant__ struct gaussian gaussian) {
    const struct pass_area &area = areas.area[blockIdx.y];
    const uint32_t number = blockIdx.x * PASS_THREADS + threadIdx.x;
    const uint32_t fours = area.groups * T::CHANNELS, line = number / fours;
    if (line >= area.sum_rows) return;
    const uint32_t four = number - line * fours, group = four / T::CHANNELS;
    const int y = (int)(area.y + line) - (int)gaussian.reach;
    const uint8_t *row = area.in + (size_t)reflect(y, area.height) * area.in_stride;
    const uint4 sums = sum_across<T>(area, gaussian, row, (int)(area.x + FOUR * group),
                                     (int)(four - group * T::CHANNELS));
    if (T::DEPTH == 8)
        ((uint2 *)area.sums)[number] = make_uint2(sums.x | sums.y << 16, sums.z | sums.w << 16);
    else
        ((uint4 *)area.sums)[number] = sums;
}

/* ---- down */

/* Sums of one channel of four pixels. */
template <int DEPTH>
static __device__ __forceinline__ void load_sums(uint32_t (&sums)[FOUR], const uint8_t *from) {
    if (DEPTH == 8) {
        const uint2 pairs = __ldg((const uint2 *)from);
        sums[0] = pairs.x & 0xffff, sums[1] = pairs.x >> 16;
        sums[2] = pairs.y & 0xffff, sums[3] = pairs.y >> 16;
    } else {
        unpack_vector(sums, __ldg((const uint4 *)from));
    }
}

template <int DEPTH> struct down_total;
template <> struct down_total<8> { typedef uint32_t type; };
template <> struct down_total<16> { typedef unsigned long long type; };

/* One channel of four pixels in ROWS rows. */
template <class T>
static __device__ __forceinline__ void pass_down(struct four_pixels<T::CHANNELS> (&rows)[T::ROWS],
                                                 int c, const struct gaussian &gaussian,
                                                 const uint8_t *from, uint32_t pitch) {
    typedef typename down_total<T::DEPTH>::type total;
    total totals[T::ROWS][FOUR];
    uint32_t weights[T::ROWS] = {};
#pragma unroll
    for (int i = 0; i < T::ROWS * FOUR; i++)
        totals[i / FOUR][i % FOUR] = (total)1 << (2 * T::DEPTH - 1);
    for (int k = 0; k < 2 * (int)gaussian.reach + T::ROWS; k++, from += pitch) {
        uint32_t sums[FOUR];
        load_sums<T::DEPTH>(sums, from);
#pragma unroll
        for (int i = T::ROWS - 1; i > 0; i--) weights[i] = weights[i - 1];
        weights[0] = weight_at(gaussian, k);
#pragma unroll
        for (int i = 0; i < T::ROWS * FOUR; i++)
            totals[i / FOUR][i % FOUR] += (total)weights[i / FOUR] * sums[i % FOUR];
    }
#pragma unroll
    for (int i = 0; i < T::ROWS * FOUR; i++)
        rows[i / FOUR].sample[c][i % FOUR] = (uint32_t)(totals[i / FOUR][i % FOUR] >> 2 * T::DEPTH);
}

template <class T>
static __device__ __forceinline__ void pass_store(const struct pass_area &area, uint32_t x,
                                                  uint32_t y, struct four_pixels<T::CHANNELS> &four,
                                                  const struct finish_rule &rule) {
    const uint32_t count = min(area.x + area.pixels - x, (uint32_t)FOUR);
    const uint8_t *in = area.in + (size_t)y * area.in_stride + x * T::PIXEL;
    uint8_t *out = area.out + (size_t)y * area.out_stride + x * T::PIXEL;
    uint32_t words[T::WORDS] = {};
    finish_four<T::CHANNELS, T::DEPTH>(words, four, rule, in, count);
    if (count == FOUR && (uintptr_t)out % 4 == 0) {
#pragma unroll
        for (int i = 0; i < T::WORDS; i++) ((uint32_t *)out)[i] = words[i];
        return;
    }
#pragma unroll
    for (int i = 0; i < 4 * T::WORDS; i++)
        if (i < (int)count * T::PIXEL) out[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
}

template <class T>
static __global__ void __launch_bounds__(PASS_THREADS)
    pass_down_kernel(const __grid_constant__ struct pass_areas areas,
                     const __grid_constant__ struct gaussian gaussian,
                     const __grid_constant__ struct finish_rule rule) {
    const struct pass_area &area = areas.area[blockIdx.y];
    const uint32_t number = blockIdx.x * PASS_THREADS + threadIdx.x;
    const uint32_t line = number / area.groups * T::ROWS, group = number % area.groups;
    if (line >= area.rows) return;
    const uint32_t pitch = area.groups * T::CHANNELS * FOUR * T::SUM;
    struct four_pixels<T::CHANNELS> rows[T::ROWS];
#pragma unroll
    for (int c = 0; c < T::CHANNELS; c++)
        pass_down<T>(rows, c, gaussian,
                     area.sums + (size_t)line * pitch + (group * T::CHANNELS + c) * (FOUR * T::SUM),
                     pitch);
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
        if (line + i < area.rows)
            pass_store<T>(area, area.x + FOUR * group, area.y + line + i, rows[i], rule);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* down.cuh - scales the image that across.cuh made to the wanted height, into the result.
 *
 * Used by:  weigh.cuh.
 * Threads:  a warp makes AXIS_PIXELS columns of a group of eight rows of a result; a block of
 *           DOWN_WARPS two such widths of two groups. No block waits for another.
 * Limits:   those of table.cuh.
 *
 * How it works. The image between has four rows a word, as tensor cores take them: a warp's words
 * come from memory right into registers. Then a lane has four pixels of two rows. With alpha sums
 * are made one channel after another, alpha first, and colours are divided by it at once. Where
 * all windows have one step, this is done for any number of channels: all words come in one trip,
 * and more blocks run at once. A single image's few blocks do so for a few steps too. Blocks begin
 * at the end, which across.cuh wrote last and the L2 cache still has.
 */
#ifndef BURIN_RESIZE_DOWN_CUH
#define BURIN_RESIZE_DOWN_CUH

#include "cuda/ops/resize/across_alpha.cuh"

enum { DOWN_WARPS = 4, DOWN_THREADS = 32 * DOWN_WARPS };
enum { DOWN_COLUMNS = 2 * AXIS_PIXELS, DOWN_ROWS = 2 * TABLE_GROUP };

struct down_image {
    const uint32_t *between;
    const struct table_group *groups;
    uint8_t *out;
    uint32_t out_stride, first_tile;
    uint32_t share;         /* see struct across_image */
    uint16_t columns, rows; /* of the result */
    uint16_t first_row;     /* see struct across_image */
    uint16_t tiles_across;
    bool aligned; /* fours of pixels of the result start at whole words */
};

struct down_batch {
    int count;
    uint32_t share;    /* see struct across_batch */
    unsigned channels; /* of the results */
    struct work_rule rule;
    struct down_image images[CUDA_BATCH_MAX];
};

/* A single image. */
struct down_alone {
    int count; /* 1 */
    unsigned channels;
    struct work_rule rule;
    struct down_image images[1];
};

/* A lane's words of a step. */
template <class W> struct down_words { uint4 near[W::PLANES], far[W::PLANES]; };

/* Volatile, so that it stays here, under way before later loads are waited for. */
static __device__ __forceinline__ uint4 down_load(const uint32_t *from) {
    uint4 words;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(from)
                 : "memory");
    return words;
}

/* FROM: the lane's first word; PITCH words between planes, HALF to the second half of a step. Not
 * through the read-only cache: the kernel before may still have been writing when this one began.
 */
template <class W>
static __device__ __forceinline__ struct down_words<W> down_read(const uint32_t *from,
                                                                 uint32_t pitch, uint32_t half) {
    struct down_words<W> words;
#pragma unroll
    for (int p = 0; p < W::PLANES; p++) {
        words.near[p] = down_load(from + p * pitch);
        words.far[p] = down_load(from + p * pitch + half);
    }
    return words;
}

/* Pixels 2 and 3 of each plane, which are summed first, and 0 and 1. */
template <class W>
static __device__ __forceinline__ void down_halves(uint32_t (&upper)[W::PLANES][4],
                                                   uint32_t (&lower)[W::PLANES][4],
                                                   const struct down_words<W> &words) {
#pragma unroll
    for (int p = 0; p < W::PLANES; p++) {
        const uint4 near = words.near[p], far = words.far[p];
        lower[p][0] = near.x, lower[p][1] = near.y, lower[p][2] = far.x, lower[p][3] = far.y;
        upper[p][0] = near.z, upper[p][1] = near.w, upper[p][2] = far.z, upper[p][3] = far.w;
    }
}

/* Adds both halves. */
template <class W>
static __device__ __forceinline__ void down_add(struct axis_sums<W> (&sums)[AXIS_HALVES],
                                                const uint2 (&digits)[3],
                                                const struct down_words<W> &words) {
    uint32_t lower[W::PLANES][4], upper[W::PLANES][4];
    down_halves<W>(upper, lower, words);
    axis_add<W>(sums[0], upper, digits);
    axis_add<W>(sums[1], lower, digits);
}

/* The sums of all channels. */
template <class K>
static __device__ __forceinline__ void
down_sum(uint32_t (&planes)[K::PLANES][2], uint2 (&digits)[3], const uint2 *pairs, uint32_t steps,
         const uint32_t *from, uint32_t pitch) {
    const uint32_t step = MATRIX_WORDS * K::PLANES * pitch;
    struct axis_sums<K> sums[AXIS_HALVES] = {
        axis_begin<K>(), axis_begin<K>()
    };
#pragma unroll 1
    for (uint32_t s = steps; s; s--, from += step) {
        const struct down_words<K> words = down_read<K>(from, pitch, step / 2);
        pairs += TABLE_STEP_PAIRS;
        down_add<K>(sums, digits, words);
#pragma unroll
        for (int d = 0; d < 3 && s > 1; d++) digits[d] = __ldg(pairs + 32 * d);
    }
#pragma unroll
    for (int p = 0; p < 2 * K::PLANES; p++) planes[p / 2][p % 2] = 0;
    axis_words<K>(planes, sums[0]);
    axis_words<K>(planes, sums[1]);
}

/* ---- with alpha */

/* Number PIXEL of the lane's four, of target I. */
template <class W>
static __device__ __forceinline__ auto down_total(const struct axis_sums<W> (&sums)[AXIS_HALVES],
                                                  int i, int pixel) {
    return axis_down<W>(sums[1 - pixel / 2], i + pixel % 2 * 2);
}

enum { DOWN_SHIFT = 7 + ALPHA_BITS, DOWN_HALF = 1 << (DOWN_SHIFT - 1) };

/* resample_alpha() and resample_colour() of 8 bits, in 32: numbers of 30 bits at most, and a
 * quotient in single precision is less than 1 off. */
static __device__ __forceinline__ uint32_t down_sample(int32_t a) {
    return (uint32_t)min(max((a + DOWN_HALF) >> DOWN_SHIFT, 0), 255);
}

static __device__ __forceinline__ uint32_t down_sample(int32_t c, int32_t a) {
    const int32_t dividend = (c + a) * 256 + a, divisor = 2 * a;
    int32_t quotient = (int32_t)__fdividef((float)dividend, (float)divisor);
    const int32_t rest = dividend - quotient * divisor;
    quotient += (rest >= divisor) - (rest < 0);
    return a < DOWN_HALF ? 0 : (uint32_t)min(max(quotient, 0), 255);
}

static __device__ __forceinline__ uint32_t down_sample(int64_t a) {
    return resample_alpha(a, 16);
}

static __device__ __forceinline__ uint32_t down_sample(int64_t c, int64_t a) {
    return resample_colour(c, a, 16);
}

/* Channel after channel, alpha first; the next one's first words are read ahead. */
template <class K>
static __device__ __forceinline__ void
down_alpha(uint32_t (&planes)[K::finished::PLANES][2], uint2 (&digits)[3], const uint2 *pairs,
           uint32_t steps, const uint32_t *from, uint32_t pitch) {
    typedef work_layout<1, K::between::BYTES, true> one;
    constexpr int BYTES = K::finished::BYTES;
    const uint32_t step = MATRIX_WORDS * K::between::PLANES * pitch;
    typename std::conditional<K::WORK_DEPTH == 8, int32_t, int64_t>::type alphas[2][4];
#pragma unroll
    for (int p = 0; p < 2 * K::finished::PLANES; p++) planes[p / 2][p % 2] = 0;
#pragma unroll
    for (int c = K::CHANNELS - 1; c >= 0; c--) {
        const uint32_t *at = from + c * one::PLANES * pitch;
        const uint2 *weights = pairs;
        struct axis_sums<one> sums[AXIS_HALVES] = {
            axis_begin<one>(), axis_begin<one>()
        };
#pragma unroll 1
        for (uint32_t s = steps; s; s--, at += step) {
            const struct down_words<one> words = down_read<one>(at, pitch, step / 2);
            weights = s > 1 ? weights + TABLE_STEP_PAIRS : pairs;
            down_add<one>(sums, digits, words);
#pragma unroll
            for (int d = 0; d < 3 && steps > 1; d++) digits[d] = __ldg(weights + 32 * d);
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int target = i / 4, pixel = i % 4;
            const auto total = down_total<one>(sums, target, pixel);
            if (c == K::CHANNELS - 1) alphas[target][pixel] = total;
            const uint32_t sample = c == K::CHANNELS - 1
                                        ? down_sample(total)
                                        : down_sample(total, alphas[target][pixel]);
#pragma unroll
            for (int b = 0; b < BYTES; b++)
                planes[c * BYTES + BYTES - 1 - b][target] |= (sample >> 8 * b & 255) << 8 * pixel;
        }
    }
}

/* The same for windows of at most STEPS steps: all words come at once. */
template <class K, int STEPS>
static __device__ __forceinline__ void down_short(uint32_t (&planes)[K::PLANES][2],
                                                  const uint2 (&digits)[STEPS][3], uint32_t steps,
                                                  const uint32_t *from, uint32_t pitch) {
    const uint32_t step = MATRIX_WORDS * K::PLANES * pitch;
    uint32_t lower[STEPS][K::PLANES][4], upper[STEPS][K::PLANES][4];
#pragma unroll
    for (uint32_t s = 0; s < STEPS; s++)
        down_halves<K>(upper[s], lower[s],
                       down_read<K>(from + (s ? min(s, steps - 1) : 0) * step, pitch, step / 2));
#pragma unroll
    for (int p = 0; p < 2 * K::PLANES; p++) planes[p / 2][p % 2] = 0;
    axis_short<K, STEPS>(planes, upper, digits);
    axis_short<K, STEPS>(planes, lower, digits);
}

/* Four pixels from column X on, or as many as exist. */
template <class K, class B>
static __device__ __forceinline__ void down_write(const B &batch, const struct down_image &image,
                                                  const uint32_t (&planes)[K::finished::PLANES],
                                                  uint32_t x, uint32_t y) {
    const uint32_t bytes = batch.channels * (K::DEPTH / 8);
    uint8_t *const to = image.out + (size_t)y * image.out_stride + (size_t)x * bytes;
    if (batch.channels == K::CHANNELS && image.aligned && x + 4 <= image.columns) {
        uint32_t words[K::WORDS];
        work_pack<K>(words, planes, batch.rule);
#pragma unroll
        for (int w = 0; w < K::WORDS; w++) ((uint32_t *)to)[w] = words[w];
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t samples[K::CHANNELS];
        if (x + i >= image.columns) return;
        work_samples<K>(samples, planes, i);
        work_finish<K>(samples, batch.rule);
        work_store<K>(to + i * bytes, batch.channels, samples);
    }
}

/* Blocks that a multiprocessor has registers for. */
template <class K, int STEPS> static constexpr int down_blocks(void) {
    if (K::ALPHA) return K::WORK_DEPTH > 8 ? 3 : 4;
    if (STEPS == 1) return K::PLANES > 4 ? 5 : 7;
    return K::PLANES == 3 ? 4 : 1; /* a few registers more would cost one block */
}

/* BLOCK of the launch. STEPS: no window has more; 0: any number. */
template <class K, int STEPS, class B>
static __device__ __forceinline__ void down_block(const B &batch, uint32_t block) {
    const struct down_image &image = tiles_image(batch, block);
    const uint32_t tile = block - image.first_tile;
    const uint32_t down = tiles_row(tile, image.tiles_across, image.share);
    const uint32_t warp = threadIdx.x / 32, pitch = between_pitch(image.columns);
    const uint32_t column =
        (tile - down * image.tiles_across) * DOWN_COLUMNS + warp % 2 * AXIS_PIXELS;
    const uint32_t row = down * DOWN_ROWS + warp / 2 * TABLE_GROUP;
    if (column >= image.columns || row >= image.rows) return;
    const struct table_group *const group = image.groups + row / TABLE_GROUP;
    const struct table_group own = table_load(group);
    const uint32_t x = column + axis_pixel(), y = row + axis_target();
    const uint32_t *from =
        image.between +
        (size_t)((own.first - image.first_row + threadIdx.x % 4) * K::between::PLANES) * pitch + x;
    const uint2 *pairs = table_pairs(group, own);
    uint32_t planes[K::finished::PLANES][2];
    const uint32_t steps = table_steps(own.words);
    uint2 digits[ACROSS_KEPT<STEPS>][3];
    across_load_steps(digits, pairs, steps);
    overlap_wait();
    if constexpr (K::ALPHA)
        down_alpha<K>(planes, digits[0], pairs, steps, from, pitch);
    else if constexpr (STEPS > 0)
        down_short<K, STEPS>(planes, digits, steps, from, pitch);
    else
        down_sum<K>(planes, digits[0], pairs, steps, from, pitch);
    if (x >= image.columns) return;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        uint32_t words[K::finished::PLANES];
#pragma unroll
        for (int p = 0; p < K::finished::PLANES; p++) words[p] = planes[p][i];
        if (y + i < image.rows) down_write<K>(batch, image, words, x, y + i);
    }
}

template <class K, int STEPS, class B = down_batch>
static __global__ void __launch_bounds__(DOWN_THREADS, down_blocks<K, STEPS>())
    down_kernel(const __grid_constant__ B batch) {
    down_block<K, STEPS>(batch, gridDim.x - 1 - blockIdx.x);
}

#endif

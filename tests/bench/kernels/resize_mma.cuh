// SPDX-License-Identifier: Apache-2.0
/* resize_mma.cuh - the first pass of resize by tensor cores: as across.cuh, but for how sums are
 * made of what is staged.
 *
 * Used by:  resize.cu, the ladder.
 * Limits:   compute capability 8.0; spans that shared memory holds.
 *
 * How it works. Eight neighbouring columns are a group. A warp multiplies 16 rows by 32 samples of
 * one plane with 32 weights of each of the group's columns, digit by digit, in one instruction
 * (m16n8k32), and goes on through all samples that the group needs: about 13 columns' worth where
 * one column needs 6, so that over half of the products are by 0. The weights lie as the
 * instruction wants them, two words a lane, and serve all planes.
 */
#ifndef BURIN_RESIZE_MMA_CUH
#define BURIN_RESIZE_MMA_CUH

#include "cuda/ops/resize/weigh.cuh"

enum { MMA_COLUMNS = 8, MMA_ROWS = 16, MMA_WORDS = 8, MMA_TILE = 32 };

/* ---- weights */

/* A group's first word, and how many times MMA_WORDS it needs. */
struct mma_group {
    uint32_t first, steps;
};

static uint32_t mma_groups(uint32_t columns) {
    return tiles_over(columns, MMA_COLUMNS);
}

static size_t mma_fragments_at(uint32_t columns) {
    return (mma_groups(columns) * sizeof(struct mma_group) + 255) / 256 * 256;
}

/* Of any group. */
static uint32_t mma_steps_max(const struct resample_axis *axis) {
    const struct resample_axis changed = table_axis(axis);
    const uint64_t apart = (uint64_t)(MMA_COLUMNS - 1) * axis->from / axis->to + 2;
    return tiles_over((uint32_t)(apart + resample_pitch(&changed) + 3 + 3) / 4, MMA_WORDS);
}

static size_t mma_bytes(const struct resample_axis *axis) {
    return mma_fragments_at(axis->count) +
           (size_t)mma_groups(axis->count) * mma_steps_max(axis) * 3 * 32 * sizeof(uint2);
}

/* The digits of four weights of WINDOW, of pixels 4 WORD and on. */
static void mma_digits(const struct resample_window &window, const int32_t *weights, uint32_t word,
                       uint32_t digits[3]) {
    digits[0] = digits[1] = digits[2] = 0;
    for (uint32_t b = 0; b < 4; b++) {
        const uint32_t place = 4 * word + b - window.first;
        if (place >= window.count) continue;
        const uint32_t all = table_digits(weights[place]);
        for (int d = 0; d < 3; d++) digits[d] |= (all >> 8 * d & 255) << 8 * b;
    }
}

static void mma_fill_step(const struct resample_weights &made, uint32_t column, uint32_t word,
                          uint2 *step) {
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t i = column + lane / 4;
        for (int half = 0; half < 2; half++) {
            uint32_t digits[3] = {};
            if (i < made.count)
                mma_digits(made.windows[i], made.weights + (size_t)i * made.pitch,
                           word + 4 * half + lane % 4, digits);
            for (int d = 0; d < 3; d++)
                *(half ? &step[32 * d + lane].y : &step[32 * d + lane].x) = digits[d];
        }
    }
}

/* A device_table_make; returns the steps that each group has room for. */
static uint32_t mma_make(const struct device_table_key *key, void *memory) {
    const uint32_t *const n = key->numbers;
    const struct resample_axis axis = { n[0], n[1], n[2], n[3], (enum resample_kernel)n[4] };
    void *const room = malloc(resample_weights_bytes(&axis));
    if (!room) return 0;
    const struct resample_weights made = resample_weights_make(room, &axis);
    const uint32_t steps = mma_steps_max(&axis);
    struct mma_group *const groups = (struct mma_group *)memory;
    uint2 *const fragments = (uint2 *)((uint8_t *)memory + mma_fragments_at(axis.count));
    for (uint32_t g = 0; g < mma_groups(axis.count); g++) {
        const uint32_t column = g * MMA_COLUMNS;
        const uint32_t behind =
            column + MMA_COLUMNS < made.count ? column + MMA_COLUMNS : made.count;
        const struct resample_window last = made.windows[behind - 1];
        const uint32_t first = made.windows[column].first / 4;
        const uint32_t end = (last.first + last.count + 3) / 4;
        groups[g] = { first, tiles_over(end - first, MMA_WORDS) };
        for (uint32_t s = 0; s < groups[g].steps; s++)
            mma_fill_step(made, column, first + s * MMA_WORDS,
                          fragments + ((size_t)g * steps + s) * 3 * 32);
    }
    free(room);
    return steps;
}

/* ---- the kernel */

struct mma_image {
    const uint8_t *in;
    const struct mma_group *groups;
    const uint2 *fragments;
    uint32_t *between;
    uint32_t in_stride, first_tile;
    uint16_t width, height; /* of the input */
    uint16_t columns;       /* wanted */
    uint16_t steps;         /* that a group has room for */
    uint16_t tiles_across;
    uint16_t span;      /* words of a row that a block has room for; 4 more than a multiple of 8 */
    uint16_t first_row; /* in fours: where the image between begins */
    bool aligned;
};

struct mma_batch {
    int count;
    struct work_rule rule;
    struct mma_image images[CUDA_BATCH_MAX];
};

#ifndef MMA_EMULATED
/* SUMS += 16 rows by 32 unsigned bytes times 32 by 8 signed ones. */
static __device__ __forceinline__ void mma_add(int32_t (&sums)[4], const uint32_t (&samples)[4],
                                               const uint2 &weights) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(samples[0]), "r"(samples[1]), "r"(samples[2]), "r"(samples[3]), "r"(weights.x),
          "r"(weights.y));
#endif
}
#endif

/* What a lane has of 16 rows by 8 columns: rows lane / 4 and 8 below, columns 2 (lane % 4) and the
 * next; parts as of struct axis_sums. */
template <class K> struct mma_sums { int32_t part[K::CHANNELS][K::PARTS][4]; };

/* STAGED: row lane / 4 of the warp's rows, word lane % 4 of its first step. */
template <class K>
static __device__ __forceinline__ void mma_group_sums(struct mma_sums<K> &sums,
                                                      const uint2 *weights, uint32_t steps,
                                                      const uint32_t *staged, uint32_t span) {
    const uint32_t plane_words = ACROSS_ROWS * span, lower = 8 * span;
    for (uint32_t s = 0; s < steps; s++, weights += 3 * 32, staged += MMA_WORDS) {
        const uint2 digits[3] = { __ldg(weights), __ldg(weights + 32), __ldg(weights + 64) };
#pragma unroll
        for (int p = 0; p < K::PLANES; p++) {
            const uint32_t *const from = staged + p * plane_words;
            const uint32_t samples[4] = { from[0], from[lower], from[4], from[lower + 4] };
            const int byte = K::BYTES - 1 - p % K::BYTES;
#pragma unroll
            for (int d = 0; d < 3; d++)
                mma_add(sums.part[p / K::BYTES][byte + d], samples, digits[d]);
        }
    }
}

/* RESULTS: of the lane's first row and column. */
template <class K>
static __device__ __forceinline__ void mma_keep(const struct mma_sums<K> &sums, uint8_t *results,
                                                uint32_t plane_bytes) {
#pragma unroll
    for (int c = 0; c < K::CHANNELS; c++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            struct axis_sums<K> one;
#pragma unroll
            for (int e = 0; e < K::PARTS; e++) one.part[c][e] = sums.part[c][e][i];
            const uint32_t sample = axis_sample<K>(one, c);
#pragma unroll
            for (int b = 0; b < K::BYTES; b++)
                results[(c * K::BYTES + b) * plane_bytes + i % 2 * (4 * ACROSS_RESULTS) +
                        i / 2 * 8] = (uint8_t)(sample >> 8 * (K::BYTES - 1 - b));
        }
}

/* As an image of across.cuh, for the parts that are the same. */
static __device__ __forceinline__ struct across_image mma_as_across(const struct mma_image &image) {
    struct across_image same = {};
    same.in = image.in, same.in_stride = image.in_stride;
    same.width = image.width, same.height = image.height;
    same.between = image.between, same.columns = image.columns;
    same.span = image.span, same.aligned = image.aligned;
    same.tile_columns = MMA_TILE;
    return same;
}

template <class K>
static __global__ void __launch_bounds__(ACROSS_THREADS)
    mma_kernel(const __grid_constant__ struct mma_batch batch) {
    extern __shared__ uint32_t across_shared[];
    const struct mma_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const struct across_image same = mma_as_across(image);
    const uint32_t index = blockIdx.x - image.first_tile, down = index / image.tiles_across;
    const uint32_t column = (index - down * image.tiles_across) * MMA_TILE;
    const uint32_t columns = min((uint32_t)MMA_TILE, image.columns - column);
    const uint32_t groups = (columns + MMA_COLUMNS - 1) / MMA_COLUMNS;
    const uint32_t first_group = column / MMA_COLUMNS, line = down * (ACROSS_ROWS / 4);
    const uint2 first = __ldg((const uint2 *)image.groups + first_group);
    const uint2 last = __ldg((const uint2 *)image.groups + first_group + groups - 1);
    const uint32_t words = last.x + last.y * MMA_WORDS - first.x;
    /* Products with 0 may take words behind the last row along. */
    uint32_t *const results = across_shared + K::PLANES * ACROSS_ROWS * image.span + MMA_WORDS;
    const struct across_step step = { words, ACROSS_THREADS / words, ACROSS_THREADS % words };
    struct across_batch ruled;
    ruled.rule = batch.rule;
    across_stage<K>(ruled, same, 4 * (image.first_row + line), first.x, step, across_shared);
    __syncthreads();
    const uint32_t lane = threadIdx.x % 32, plane_bytes = MMA_TILE * 4 * ACROSS_RESULTS;
    for (uint32_t task = threadIdx.x / 32; task < 2 * groups; task += ACROSS_WARPS) {
        const uint32_t group = task / 2, row = task % 2 * MMA_ROWS + lane / 4;
        const uint2 own = __ldg((const uint2 *)image.groups + first_group + group);
        struct mma_sums<K> sums = {};
        mma_group_sums<K>(
            sums, image.fragments + (size_t)(first_group + group) * image.steps * 3 * 32 + lane,
            own.y, across_shared + row * image.span + (own.x - first.x) + lane % 4, image.span);
        mma_keep<K>(sums,
                    (uint8_t *)results +
                        (group * MMA_COLUMNS + lane % 4 * 2) * (4 * ACROSS_RESULTS) + row,
                    plane_bytes);
    }
    __syncthreads();
    struct across_tile tile = {};
    tile.column = column, tile.columns = columns, tile.line = line;
    across_write<K>(same, tile, results);
}

/* ---- the host's side */

/* Shared bytes, or 0 where the image's rows are too long for them. */
template <class K>
static size_t mma_shape(struct mma_image *image, const struct resample_axis &x,
                        size_t shared_bytes) {
    const uint64_t apart = (uint64_t)(MMA_TILE - MMA_COLUMNS) * x.from / x.to + 2;
    const uint32_t words = (uint32_t)(apart / 4) + 2 + image->steps * MMA_WORDS;
    image->span = (uint16_t)((words + 3) / 8 * 8 + 4);
    const size_t bytes = across_bytes(K::PLANES, MMA_TILE, image->span) + 4 * MMA_WORDS;
    return bytes <= shared_bytes ? bytes : 0;
}

template <class K>
static void mma_add_image(const struct cuda_context &context, const struct weighing &weighing,
                          const struct device_table &table, struct tiles<mma_batch> *tiles) {
    struct mma_image image = {};
    image.in = weighing.in.pixels;
    image.groups = (const struct mma_group *)table.memory;
    image.fragments = (const uint2 *)(table.memory + mma_fragments_at(weighing.x.count));
    image.between = weighing.between;
    image.in_stride = (uint32_t)weighing.in.stride;
    image.width = (uint16_t)weighing.in.width;
    image.height = (uint16_t)weighing.in.height;
    image.columns = (uint16_t)weighing.x.count;
    image.steps = (uint16_t)table.note;
    image.first_row = (uint16_t)(resample_span(&weighing.y).first / 4);
    image.aligned = ((uintptr_t)image.in | image.in_stride) % 4 == 0;
    const size_t bytes = mma_shape<K>(&image, weighing.x, (size_t)context.shared_bytes);
    if (bytes > tiles->shared_bytes) tiles->shared_bytes = bytes;
    tiles_add(tiles, image, tiles_over(image.columns, MMA_TILE),
              between_lines(&weighing.y) / (ACROSS_ROWS / 4));
}

#endif

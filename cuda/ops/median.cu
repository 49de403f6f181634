// SPDX-License-Identifier: Apache-2.0
/* How it works. A thread has 16 bytes of a row, and goes down a strip as in
 * cuda/skeletons/neighbourhood.cuh, whose loads and borders it takes. Two samples are compared at
 * once, in the halves of a word. Of 8 bits, the even and the odd samples of a word are apart, each
 * in its half's upper byte: the lower byte, a neighbour's or 0, decides only between equals. Each
 * column of the window is sorted once a row. A neighbour's column is another word, or the upper
 * half of one and the lower half of the next. Of three, a GPU has the least and the greatest in one
 * instruction each. Images with alpha are laid over the background in a launch before. */
#include "pipeline/ops/median.h"

#include "cuda/lay_over.cuh"
#include "cuda/skeletons/launch.cuh"

#define EXCHANGE(a, b)                                                                             \
    {                                                                                              \
        const uint32_t lesser = __vminu2(v[a], v[b]);                                              \
        v[b] = __vmaxu2(v[a], v[b]);                                                               \
        v[a] = lesser;                                                                             \
    }

/* The middle one of three, in both halves: sums of words are the halves' sums, carries included. */
static __device__ __forceinline__ uint32_t middle_of(uint32_t a, uint32_t b, uint32_t c) {
    return a + b + c - __vimin3_u16x2(a, b, c) - __vimax3_u16x2(a, b, c);
}

/* A row's samples of each rank: PARTS pairs a word. */
template <class T> struct sorted_columns {
    static constexpr int PARTS = 2 / T::BYTES;
    uint32_t pairs[T::SIDE][PARTS][T::WORDS];
};

template <class T>
static __device__ __forceinline__ void sort_columns(struct sorted_columns<T> &sorted,
                                                    const struct strip_row<T> (&rows)[T::SIDE]) {
    constexpr int PARTS = sorted_columns<T>::PARTS;
#pragma unroll
    for (int i = 0; i < PARTS * T::WORDS; i++) {
        const int part = i % PARTS, word = i / PARTS;
        uint32_t v[T::SIDE];
#pragma unroll
        for (int r = 0; r < T::SIDE; r++) v[r] = rows[r].words[word] << (part + 1 < PARTS ? 8 : 0);
        if constexpr (T::SIDE == 3) {
            const uint32_t middle = middle_of(v[0], v[1], v[2]);
            const uint32_t least = __vimin3_u16x2(v[0], v[1], v[2]);
            v[2] = __vimax3_u16x2(v[0], v[1], v[2]);
            v[0] = least, v[1] = middle;
        } else {
            MEDIAN_SORT_5(EXCHANGE)
        }
#pragma unroll
        for (int r = 0; r < T::SIDE; r++) sorted.pairs[r][part][word] = v[r];
    }
}

/* The medians of the pair PART of a chunk's word WORD. */
template <class T>
static __device__ __forceinline__ uint32_t median_pair(const struct sorted_columns<T> &sorted,
                                                       int word, int part) {
    constexpr int PARTS = sorted_columns<T>::PARTS;
    uint32_t v[T::SIDE * T::SIDE];
#pragma unroll
    for (int i = 0; i < T::SIDE * T::SIDE; i++) {
        const int sample =
            (T::HALO_WORDS + word) * 2 * PARTS + part + (i % T::SIDE - T::REACH) * T::CHANNELS;
        const int half = sample / PARTS;
        const uint32_t(&pairs)[T::WORDS] = sorted.pairs[i / T::SIDE][sample % PARTS];
        v[i] =
            half % 2 ? __byte_perm(pairs[half / 2], pairs[half / 2 + 1], 0x5432) : pairs[half / 2];
    }
    if constexpr (T::SIDE == 3) {
        return middle_of(__vimax3_u16x2(v[0], v[1], v[2]), middle_of(v[3], v[4], v[5]),
                         __vimin3_u16x2(v[6], v[7], v[8]));
    } else {
        MEDIAN_OF_5(EXCHANGE)
        return v[MEDIAN_AT_5];
    }
}

template <class T>
static __device__ __forceinline__ void median_row(uint32_t (&out)[4],
                                                  const struct strip_row<T> (&rows)[T::SIDE]) {
    struct sorted_columns<T> sorted;
    sort_columns(sorted, rows);
#pragma unroll
    for (int word = 0; word < 4; word++) {
        out[word] = median_pair<T>(sorted, word, 0);
        if (T::BYTES == 1)
            out[word] = __byte_perm(out[word], median_pair<T>(sorted, word, 1), 0x7351);
    }
#pragma unroll
    for (int i = 0; i < T::SAMPLES; i++)
        if (is_alpha<T>(i)) chunk_set_sample<T::DEPTH>(out, i, rows[T::REACH].sample(T::HALO + i));
}

/* Rows of images whose rows do not start at 16 bytes are read sample by sample. */
template <class T>
static __device__ __forceinline__ void load_row(struct strip_row<T> &row, const struct strip &strip,
                                                int y, bool aligned) {
    if (aligned) return load_strip_row(row, strip, strip_row_at(strip, y));
#pragma unroll
    for (int i = 0; i < T::SPAN; i++)
        row.set_sample(i, clamped_sample<T>(strip, strip.column - T::HALO + i, y, as_loaded()));
}

template <class T>
static __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS, T::BLOCKS)
    median_kernel(const __grid_constant__ struct batch batch, int height) {
    const uint32_t number = blockIdx.x * NEIGHBOURHOOD_THREADS + threadIdx.x;
    if (number >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, number)];
    const struct chunk_position position = chunk_position_of(image, number - image.first_chunk);
    const struct strip strip = strip_of<T>(image, (int)position.x * T::SAMPLES);
    const int top = (int)position.y * height, end = min(top + height, (int)image.height);
    const bool aligned = image.aligned;
    uint8_t *to = image.out + (uint64_t)(uint32_t)top * image.out_stride + strip.column * T::BYTES;
    struct strip_row<T> rows[T::SIDE] = {}, next = {};
#pragma unroll 1
    for (int y = top - T::REACH - 1; y < end + T::REACH; y++) {
#pragma unroll
        for (int r = 0; r + 1 < T::SIDE; r++) rows[r] = rows[r + 1];
        rows[T::SIDE - 1] = next;
        load_row(next, strip, y + 1, aligned);
        if (aligned) replicate(rows[T::SIDE - 1], strip);
        settle(rows[T::SIDE - 1]);
        if (y < top + T::REACH) continue;
        uint32_t out[4];
        median_row(out, rows);
        if (aligned)
            store_strip_row(out, to, strip.rest);
        else
            store_chunk(out, to, (uint32_t)min(strip.rest, 16), false);
        to += image.out_stride;
    }
}

template <int DEPTH, int REACH>
static void launch(cudaStream_t stream, unsigned channels, const struct batch &batch, int height) {
    static void (*const kernels[])(struct batch, int) = {
        median_kernel<neighbourhood_traits<DEPTH, 1, REACH>>,
        median_kernel<neighbourhood_traits<DEPTH, 2, REACH>>,
        median_kernel<neighbourhood_traits<DEPTH, 3, REACH>>,
        median_kernel<neighbourhood_traits<DEPTH, 4, REACH>>,
    };
    const unsigned blocks = (batch.chunks + NEIGHBOURHOOD_THREADS - 1) / NEIGHBOURHOOD_THREADS;
    kernels[channels - 1]<<<blocks, NEIGHBOURHOOD_THREADS, 0, stream>>>(batch, height);
}

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    return laid_bytes(calls, count);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct op_call laid[CUDA_BATCH_MAX], samples[CUDA_BATCH_MAX];
    struct batch batch;
    const unsigned channels = calls[0].in.channels, depth = calls[0].in.depth;
    const bool large = calls[0].params->number[MEDIAN_SIZE] == MEDIAN_5;
    const uint32_t height = strip_rows(context, calls, count);
    enum status status = STATUS_OK;
    if (image_has_alpha(&calls[0].in)) {
        const long rgba = calls[0].params->number[MEDIAN_BACKGROUND];
        status = lay_batch(context, calls, count, rgba, laid);
        calls = laid;
    }
    batch_sample_calls(samples, calls, count);
    if (!status) status = batch_init_tiles(&batch, samples, count, 128 / depth, height);
    if (status) return status;
    (depth == 8 ? large ? launch<8, 2> : launch<8, 1>
     : large ? launch<16, 2>
                : launch<16, 1>)(context->stream, channels, batch, (int)height);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "median");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_median = { scratch, run };

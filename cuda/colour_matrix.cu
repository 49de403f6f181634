// SPDX-License-Identifier: Apache-2.0
/* How it works. A thread takes 16 bytes, or of three channels 48: 16-byte loads and stores. Where
 * all of a warp's pixels follow each other, its threads exchange the 48 bytes (chunk.cuh). A
 * pixel's bytes red, green, blue and 255 are one register, and a row of weights is two: dp2a
 * multiplies two bytes by two weights and adds, so that a sum is two instructions. Samples of 16
 * bits have one such register of their lower bytes and one of their upper. */
#include "cuda/colour_matrix.cuh"

#include "cuda/batch.cuh"

enum { THREADS = 256 };

/* The weights of a row in pairs: red and green, blue and white. */
struct weight_pairs {
    int pair[3][2];
};

/* Four bytes of PIXEL by a row's weights, plus START. */
static __device__ __forceinline__ int dot(const int (&pair)[2], uint32_t pixel, int start) {
    int sum;
    asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(pair[0]), "r"(pixel), "r"(start));
    asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair[1]), "r"(pixel));
    return sum;
}

/* A pixel's bytes in one register, white last. The three of RGB lie in one word or in two. */
template <int CHANNELS, int WORDS>
static __device__ __forceinline__ uint32_t pixel_bytes(const uint32_t (&in)[WORDS], int p) {
    if (CHANNELS < 3) return __byte_perm(chunk_sample<8>(in, p * CHANNELS), 255, 0x4000);
    const int word = p * CHANNELS / 4, shift = p * CHANNELS % 4 * 8;
    const uint32_t next = shift > 8 ? in[word + 1 < WORDS ? word + 1 : word] : 0;
    return __funnelshift_r(in[word], next, shift) | 255u << 24;
}

template <int CHANNELS, int WORDS>
static __device__ __forceinline__ uint32_t level8(const int (&pair)[2], const uint32_t (&in)[WORDS],
                                                  int p) {
    const uint32_t bytes = pixel_bytes<CHANNELS>(in, p);
    const int level = dot(pair, bytes, COLOUR_MATRIX_ONE / 2) >> COLOUR_MATRIX_BITS;
    return (uint32_t)min(max(level, 0), 255);
}

template <int CHANNELS, int WORDS>
static __device__ __forceinline__ uint32_t level16(const int (&pair)[2],
                                                   const uint32_t (&in)[WORDS], int p) {
    const int i = p * CHANNELS, step = CHANNELS < 3 ? 0 : 1;
    const uint32_t red = chunk_sample<16>(in, i), green = chunk_sample<16>(in, i + step);
    const uint32_t last = chunk_sample<16>(in, i + 2 * step) | 255u << 16;
    const uint32_t both = __byte_perm(red, green, 0x5140); /* lower bytes, then upper ones */
    const int low = dot(pair, __byte_perm(both, last, 0x6410), COLOUR_MATRIX_ONE / 2);
    const int level =
        dot(pair, __byte_perm(both, last, 0x6532), low >> 8) >> (COLOUR_MATRIX_BITS - 8);
    return (uint32_t)min(max(level, 0), 65535);
}

/* MADE: channels of the result, below 3 for a copy. */
template <int CHANNELS, int MADE, int DEPTH> struct layout {
    static constexpr int SAMPLE = DEPTH / 8, PIXEL = CHANNELS * SAMPLE, MADE_PIXEL = MADE * SAMPLE;
    static constexpr int PIXELS = (CHANNELS == 3 ? 48 : 16) / PIXEL; /* of a chunk */
    static constexpr int WORDS = PIXELS * PIXEL / 4, MADE_WORDS = PIXELS * MADE_PIXEL / 4;
};

template <int CHANNELS, int MADE, int DEPTH, class L>
static __device__ __forceinline__ void mix_chunk(const struct weight_pairs &matrix,
                                                 const uint32_t (&in)[L::WORDS],
                                                 uint32_t (&out)[L::MADE_WORDS]) {
#pragma unroll
    for (int p = 0; p < L::PIXELS; p++) {
#pragma unroll
        for (int c = 0; c < 3; c++)
            chunk_set_sample<DEPTH>(out, p * MADE + c,
                                    DEPTH == 8 ? level8<CHANNELS>(matrix.pair[c], in, p)
                                               : level16<CHANNELS>(matrix.pair[c], in, p));
        if (MADE == 4)
            chunk_set_sample<DEPTH>(out, p * MADE + 3,
                                    chunk_sample<DEPTH>(in, (p + 1) * CHANNELS - 1));
    }
}

/* RGB of a warp whose chunks, from FIRST of IMAGE on, are all there and follow each other. */
template <int DEPTH>
static __device__ __forceinline__ void mix_warp(const struct weight_pairs &matrix,
                                                const struct batch_image &image, uint32_t first,
                                                uint4 *stage) {
    const uint32_t lane = threadIdx.x % 32;
    const uint4 *from = (const uint4 *)image.in + 3ull * first + lane;
    uint4 *to = (uint4 *)image.out + 3ull * first + lane;
    uint32_t in[12], out[12] = {};
#pragma unroll
    for (int i = 0; i < 3; i++) unpack_vector(in + 4 * i, __ldg(from + 32 * i));
    striped_to_blocked(in, stage);
    mix_chunk<3, 3, DEPTH, layout<3, 3, DEPTH>>(matrix, in, out);
    blocked_to_striped(out, stage);
#pragma unroll
    for (int i = 0; i < 3; i++) __stcs(to + 32 * i, pack_vector(out + 4 * i));
}

template <int CHANNELS, int MADE, int DEPTH, int CAPACITY>
static __global__ void __launch_bounds__(THREADS)
    mix_kernel(const __grid_constant__ struct weight_pairs matrix,
               const __grid_constant__ struct batch_of<CAPACITY> batch) {
    typedef layout<CHANNELS, MADE, DEPTH> L;
    const uint32_t chunk = blockIdx.x * THREADS + threadIdx.x;
    if constexpr (CHANNELS == 3) {
        __shared__ uint4 stage[THREADS / 32][96];
        const uint32_t first = chunk - threadIdx.x % 32;
        if (first >= batch.chunks) return;
        const struct batch_image &image = batch.images[batch_find(batch, first)];
        if (image.contiguous && first + 32 <= image.first_chunk + image.chunks)
            return mix_warp<DEPTH>(matrix, image, first - image.first_chunk,
                                   stage[threadIdx.x / 32]);
    }
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_memory memory =
        chunk_memory_of<L::PIXELS, L::PIXEL, L::MADE_PIXEL>(image, chunk - image.first_chunk);
    uint32_t in[L::WORDS], out[L::MADE_WORDS] = {};
    load_chunk(in, memory.in, memory.pixels * L::PIXEL, image.aligned);
    if constexpr (MADE < 3)
        store_chunk(in, memory.out, memory.pixels * L::PIXEL, image.aligned);
    else {
        mix_chunk<CHANNELS, MADE, DEPTH, L>(matrix, in, out);
        store_chunk(out, memory.out, memory.pixels * L::MADE_PIXEL, image.aligned);
    }
}

/* ---- host */

/* One image's launch has a smaller parameter block, which reaches the GPU sooner. */
template <int CHANNELS, int MADE, int DEPTH, int CAPACITY>
static enum status launch_of(cudaStream_t stream, const struct weight_pairs &matrix,
                             const struct op_call *calls, int count) {
    struct batch_of<CAPACITY> batch;
    const enum status status =
        batch_init(&batch, calls, count, layout<CHANNELS, MADE, DEPTH>::PIXELS);
    if (status) return status;
    const unsigned blocks = (batch.chunks + THREADS - 1) / THREADS;
    mix_kernel<CHANNELS, MADE, DEPTH, CAPACITY><<<blocks, THREADS, 0, stream>>>(matrix, batch);
    CUDA_LAUNCHED(calls[0].failure);
    return STATUS_OK;
}

template <int CHANNELS, int MADE, int DEPTH>
static enum status launch(cudaStream_t stream, const struct weight_pairs &matrix,
                          const struct op_call *calls, int count) {
    return count == 1
               ? launch_of<CHANNELS, MADE, DEPTH, 1>(stream, matrix, calls, count)
               : launch_of<CHANNELS, MADE, DEPTH, CUDA_BATCH_MAX>(stream, matrix, calls, count);
}

template <int DEPTH>
static enum status run_depth(cudaStream_t stream, const struct weight_pairs &matrix,
                             const struct op_call *calls, int count, bool keeps_gray) {
    switch (calls[0].in.channels + (keeps_gray ? 0 : 4)) {
    case 1: return launch<1, 1, DEPTH>(stream, matrix, calls, count);
    case 2: return launch<2, 2, DEPTH>(stream, matrix, calls, count);
    case 5: return launch<1, 3, DEPTH>(stream, matrix, calls, count);
    case 6: return launch<2, 4, DEPTH>(stream, matrix, calls, count);
    case 3:
    case 7: return launch<3, 3, DEPTH>(stream, matrix, calls, count);
    default: return launch<4, 4, DEPTH>(stream, matrix, calls, count);
    }
}

enum status colour_matrix_run(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct colour_matrix &matrix, bool keeps_gray,
                              const char *name) {
    struct weight_pairs pairs;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 2; k++)
            pairs.pair[c][k] = (int)((uint32_t)(uint16_t)matrix.weight[c][2 * k + 1] << 16 |
                                     (uint16_t)matrix.weight[c][2 * k]);
    const enum status status =
        calls[0].in.depth == 8 ? run_depth<8>(context->stream, pairs, calls, count, keeps_gray)
                               : run_depth<16>(context->stream, pairs, calls, count, keeps_gray);
    if (!status) cuda_record_kernel(context, name);
    return status;
}

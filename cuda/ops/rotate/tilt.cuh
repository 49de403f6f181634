// SPDX-License-Identifier: Apache-2.0
/* tilt.cuh - turns by any angle: each pixel of the result is weighed from four of the image.
 *
 * Used by:  rotate.cu.
 * Fails:    as batch.cuh and check.cuh say.
 * Threads:  the lane's.
 *
 * How it works. A thread block makes 32 columns of 8 rows of the result, a warp 8 columns of 4 rows
 * of them, so that at every angle its threads read from few cache lines. Two neighbours in a row of
 * the image are read together, in whole words. Pixels are stored to shared memory, and rows of them
 * written from there in words.
 */
#ifndef BURIN_ROTATE_TILT_CUH
#define BURIN_ROTATE_TILT_CUH

#include "cuda/batch.cuh"
#include "pipeline/ops/rotate.h"

enum { TILT_ACROSS = 32, TILT_DOWN = 8, TILT_THREADS = TILT_ACROSS * TILT_DOWN };

struct tilt {
    struct rotation rotation;
    uint32_t background[4];
};

/* The image's pixels have IN channels, the result's OUT. */
template <int IN, int OUT, int DEPTH> struct tilt_kind {
    static constexpr int PIXEL = OUT * DEPTH / 8, WORDS = (2 * IN * DEPTH / 8 + 3) / 4;
    static constexpr int ROW_WORDS = TILT_ACROSS * PIXEL / 4; /* of a tile */

    /* The pixel whose first sample is FIRST of WORDS, a constant once loops are unrolled. */
    static __device__ __forceinline__ void take(const uint32_t (&words)[WORDS], int first,
                                                uint32_t (&tap)[4]) {
#pragma unroll
        for (int c = 0; c < OUT; c++)
            tap[c] = chunk_sample<DEPTH>(words, first + (int)rotation_source(c, IN, OUT));
        if (IN % 2 && OUT % 2 == 0) tap[OUT - 1] = DEPTH == 16 ? 65535 : 255;
    }
};

/* A batch's image has the result's sides; here are the image's own, and its memory. */
struct tilt_source {
    const uint8_t *pixels;
    uint32_t stride, width, height;
};

static __device__ __forceinline__ struct tilt_source
tilt_source_of(const struct batch_image &image) {
    return { image.in, image.in_stride, image.pixels >> 16, image.pixels & 65535 };
}

template <class K, int IN, int DEPTH>
static __device__ __forceinline__ void tilt_taps(const struct tilt_source &from, int32_t x,
                                                 int32_t y, const struct tilt &tilt,
                                                 uint32_t (&taps)[4][4]) {
    constexpr uint32_t PIXEL = IN * DEPTH / 8;
    uint32_t words[K::WORDS];
    if ((uint32_t)x < from.width - 1 && (uint32_t)y < from.height - 1) {
        const uint8_t *row = from.pixels + (uint64_t)(uint32_t)y * from.stride + x * PIXEL;
#pragma unroll
        for (int t = 0; t < 4; t += 2, row += from.stride) {
            load_unaligned(words, row, 2 * PIXEL);
            K::take(words, 0, taps[t]);
            K::take(words, IN, taps[t + 1]);
        }
        return;
    }
#pragma unroll
    for (int t = 0; t < 4; t++) {
        const uint32_t column = (uint32_t)(x + t % 2), line = (uint32_t)(y + t / 2);
        if (column < from.width && line < from.height) {
            load_unaligned(words, from.pixels + (uint64_t)line * from.stride + column * PIXEL,
                           PIXEL);
            K::take(words, 0, taps[t]);
        } else {
#pragma unroll
            for (int c = 0; c < 4; c++) taps[t][c] = tilt.background[c];
        }
    }
}

/* The first BYTES of WORD, at most 4. */
static __device__ __forceinline__ void store_word(uint8_t *to, uint32_t word, uint32_t bytes,
                                                  bool aligned) {
    if (aligned && bytes >= 4) {
        *(uint32_t *)to = word;
        return;
    }
    for (uint32_t b = 0; b < min(bytes, 4u); b++) to[b] = (uint8_t)(word >> 8 * b);
}

template <int IN, int OUT, int DEPTH>
static __global__ void __launch_bounds__(TILT_THREADS)
    tilt_kernel(const __grid_constant__ struct batch batch,
                const __grid_constant__ struct tilt tilt) {
    typedef tilt_kind<IN, OUT, DEPTH> K;
    __shared__ uint32_t tile[TILT_DOWN][K::ROW_WORDS];
    const struct batch_image &image = batch.images[batch_find(batch, blockIdx.x)];
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    const struct tilt_source from = tilt_source_of(image);
    const uint32_t left = position.x * TILT_ACROSS, top = position.y * TILT_DOWN;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t column = lane % 8 + warp % 4 * 8, line = lane / 8 + warp / 4 * 4;
    const int32_t x = 2 * (int32_t)(left + column) + 1 - (int32_t)image.width;
    const int32_t y = 2 * (int32_t)(top + line) + 1 - (int32_t)image.height;
    const struct rotation &r = tilt.rotation;
    const int32_t u = rotation_place(x, r.cosine, y, r.sine, from.width);
    const int32_t v = rotation_place(x, -r.sine, y, r.cosine, from.height);
    uint32_t taps[4][4], pixel[4];
    tilt_taps<K, IN, DEPTH>(from, u >> 8, v >> 8, tilt, taps);
    rotation_mix(taps, (uint32_t)u & 255, (uint32_t)v & 255, OUT, DEPTH, pixel);
#pragma unroll
    for (int c = 0; c < OUT; c++) {
        if (DEPTH == 8)
            ((uint8_t *)tile[line])[column * OUT + c] = (uint8_t)pixel[c];
        else
            ((uint16_t *)tile[line])[column * OUT + c] = (uint16_t)pixel[c];
    }
    __syncthreads();
    const uint32_t bytes = min(image.width - left, (uint32_t)TILT_ACROSS) * K::PIXEL;
    const bool aligned = ((uintptr_t)image.out | image.out_stride) % 4 == 0;
#pragma unroll
    for (uint32_t i = threadIdx.x; i < TILT_DOWN * K::ROW_WORDS; i += TILT_THREADS) {
        const uint32_t row = i / K::ROW_WORDS, first = i % K::ROW_WORDS * 4;
        if (top + row >= image.height || first >= bytes) continue;
        store_word(image.out + (uint64_t)(top + row) * image.out_stride + left * K::PIXEL + first,
                   tile[row][i % K::ROW_WORDS], bytes - first, aligned);
    }
}

/* ---- on the host */

typedef void tilt_function(struct batch, struct tilt);

template <int DEPTH> static tilt_function *tilt_function_of(unsigned in, unsigned out) {
    static tilt_function *const alike[] = { tilt_kernel<1, 1, DEPTH>, tilt_kernel<2, 2, DEPTH>,
                                            tilt_kernel<3, 3, DEPTH>, tilt_kernel<4, 4, DEPTH> };
    static tilt_function *const gray[] = { tilt_kernel<1, 2, DEPTH>, tilt_kernel<1, 3, DEPTH>,
                                           tilt_kernel<1, 4, DEPTH> };
    if (in == out) return alike[in - 1];
    if (in == 1) return gray[out - 2];
    return in == 2 ? tilt_kernel<2, 4, DEPTH> : tilt_kernel<3, 4, DEPTH>;
}

static enum status tilt_run(const struct cuda_context *context, const struct op_call *calls,
                            int count, const char *name) {
    struct op_call results[CUDA_BATCH_MAX];
    struct batch batch;
    struct tilt tilt = { rotation_of(calls[0].params), {} };
    const struct image &in = calls[0].in, &out = calls[0].out;
    rotation_background(&calls[0], tilt.background);
    for (int i = 0; i < count; i++) {
        results[i] = calls[i];
        results[i].in.width = calls[i].out.width, results[i].in.height = calls[i].out.height;
    }
    const enum status status = batch_init_tiles(&batch, results, count, TILT_ACROSS, TILT_DOWN);
    if (status) return status;
    for (int i = 0; i < count; i++)
        batch.images[i].pixels = calls[i].in.width << 16 | calls[i].in.height;
    tilt_function *const kernel = in.depth == 8 ? tilt_function_of<8>(in.channels, out.channels)
                                                : tilt_function_of<16>(in.channels, out.channels);
    kernel<<<batch.chunks, TILT_THREADS, 0, context->stream>>>(batch, tilt);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, name);
    return STATUS_OK;
}

#endif

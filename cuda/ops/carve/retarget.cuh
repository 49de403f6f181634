// SPDX-License-Identifier: Apache-2.0
/* retarget.cuh - a width of a picture from its map of seams, in the place of a carving.
 *
 * Used by:  carve.cu, for calls that op.common's serves.
 * Fails:    as check.cuh says.
 * Limits:   1 to 4 channels of 8 or 16 bits; rows of any alignment.
 *
 * How it works: a block does a row, a chunk after the other. A warp has 512 pixels next to each
 * other, a lane every 32nd: so ballots tell where seams go, and how many before a pixel. Behind the
 * warps' sums each pixel, and what is new behind it, goes to its place in shared memory; from there
 * the chunk is written 16 bytes at a time. */
#ifndef BURIN_CARVE_RETARGET_CUH
#define BURIN_CARVE_RETARGET_CUH

#include "cuda/cuda_op.h"
#include "cuda/ops/carve/apply.cuh"

enum {
    RETARGET_THREADS = 128,
    RETARGET_RESIDENT = 9, /* blocks of a multiprocessor: on 132 of them all rows of 1080p */
    RETARGET_WARPS = RETARGET_THREADS / 32,
    RETARGET_EACH = 16, /* pixels of a lane */
    RETARGET_AHEAD = 4, /* that are read before the first of them is written */
    RETARGET_CHUNK = RETARGET_THREADS * RETARGET_EACH,
    RETARGET_WORD = 16, /* bytes */
};

struct retarget_args {
    struct image in, map, out;
    uint32_t seams; /* so many are taken out or doubled */
    bool grows;
};

/* A warp's share of a chunk. */
struct retarget_share {
    uint32_t first, count;         /* pixels of the row */
    uint32_t masks[RETARGET_EACH]; /* bit l of word j: a seam goes through pixel 32 j + l */
    uint32_t made;                 /* pixels that come of them */
};

DEVICE struct retarget_share retarget_look(const struct retarget_args &args, uint32_t chunk,
                                           uint32_t y) {
    const uint16_t *const numbers = (const uint16_t *)(args.map.pixels + y * args.map.stride);
    const uint32_t lane = threadIdx.x % 32, width = args.in.width;
    struct retarget_share share;
    uint32_t number[RETARGET_EACH], crossed = 0;
    share.first = chunk + threadIdx.x / 32 * (32 * RETARGET_EACH);
    share.count = share.first < width ? min(width - share.first, 32 * RETARGET_EACH) : 0;
#pragma unroll
    for (int j = 0; j < RETARGET_EACH; j++)
        number[j] = 32 * j + lane < share.count ? numbers[share.first + 32 * j + lane] : 0;
#pragma unroll
    for (int j = 0; j < RETARGET_EACH; j++) {
        share.masks[j] = __ballot_sync(~0u, number[j] - 1 < args.seams); /* 0 is none, and wraps */
        crossed += (uint32_t)__popc(share.masks[j]);
    }
    share.made = args.grows ? share.count + crossed : share.count - crossed;
    return share;
}

/* How many pixels warps before this one make, and all of them together. */
DEVICE uint2 retarget_sums(uint32_t made) {
    __shared__ uint32_t counts[RETARGET_WARPS];
    uint2 sums = make_uint2(0, 0);
    if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = made;
    __syncthreads();
#pragma unroll
    for (uint32_t w = 0; w < RETARGET_WARPS; w++) {
        if (w < threadIdx.x / 32) sums.x += counts[w];
        sums.y += counts[w];
    }
    return sums;
}

/* PIXEL X of ROW is to come to PLACE of STAGED, and behind it a new one, if it is a seam's. */
template <class SAMPLE, int CHANNELS>
DEVICE void retarget_put(const struct retarget_args &args, const uint8_t *row, uint32_t x,
                         uint64_t pixel, bool crossed, uint8_t *staged, uint32_t place) {
    if (!crossed || args.grows) put_pixel<SAMPLE, CHANNELS>(staged, place, pixel);
    if (!crossed || !args.grows) return;
    const uint64_t left = get_pixel<SAMPLE, CHANNELS>(row, x ? x - 1 : 0);
    const uint64_t right = get_pixel<SAMPLE, CHANNELS>(row, min(x + 1, args.in.width - 1));
    put_pixel<SAMPLE, CHANNELS>(staged, place + 1, mean_pixel<CHANNELS>(left, pixel, right));
}

/* The share's pixels, from place BASE of STAGED on. */
template <class SAMPLE, int CHANNELS>
DEVICE void retarget_stage(const struct retarget_args &args, const struct retarget_share &share,
                           uint32_t y, uint8_t *staged, uint32_t base) {
    const uint8_t *const row = args.in.pixels + y * args.in.stride;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int from = 0; from < RETARGET_EACH; from += RETARGET_AHEAD) {
        uint64_t pixels[RETARGET_AHEAD];
#pragma unroll
        for (int j = 0; j < RETARGET_AHEAD; j++) {
            const uint32_t at = 32 * (from + j) + lane;
            pixels[j] = at < share.count ? get_pixel<SAMPLE, CHANNELS>(row, share.first + at) : 0;
        }
#pragma unroll
        for (int j = 0; j < RETARGET_AHEAD; j++) {
            const uint32_t at = 32 * (from + j) + lane, mask = share.masks[from + j];
            const uint32_t before = (uint32_t)__popc(mask & ((1u << lane) - 1));
            const uint32_t place = base + lane + (args.grows ? before : 0u - before);
            if (at < share.count)
                retarget_put<SAMPLE, CHANNELS>(args, row, share.first + at, pixels[j],
                                               mask >> lane & 1, staged, place);
            const uint32_t crossed = (uint32_t)__popc(mask);
            base += args.grows ? 32 + crossed : 32 - crossed;
        }
    }
}

/* BYTES of WORDS to TO, as they lie: both are PHASE bytes behind a multiple of RETARGET_WORD. */
DEVICE void retarget_write(const uint4 *words, uint8_t *to, uint32_t phase, uint32_t bytes) {
    uint8_t *const base = to - phase;
    const uint32_t end = phase + bytes;
    for (uint32_t w = threadIdx.x; w * RETARGET_WORD < end; w += RETARGET_THREADS) {
        const uint32_t first = w * RETARGET_WORD, last = first + RETARGET_WORD;
        if (first >= phase && last <= end)
            ((uint4 *)base)[w] = words[w];
        else
            for (uint32_t i = max(first, phase); i < min(last, end); i++)
                base[i] = ((const uint8_t *)words)[i];
    }
}

template <class SAMPLE, int CHANNELS>
static __global__ void __launch_bounds__(RETARGET_THREADS, RETARGET_RESIDENT)
    retarget_kernel(const __grid_constant__ struct retarget_args args) {
    extern __shared__ uint4 words[];
    const uint32_t y = blockIdx.x, bytes = sizeof(SAMPLE) * CHANNELS;
    uint8_t *to = args.out.pixels + y * args.out.stride;
    uint32_t left = args.out.width;
    for (uint32_t chunk = 0; chunk < args.in.width; chunk += RETARGET_CHUNK) {
        const struct retarget_share share = retarget_look(args, chunk, y);
        const uint2 sums = retarget_sums(share.made);
        const uint32_t phase = (uint32_t)((size_t)to % RETARGET_WORD);
        retarget_stage<SAMPLE, CHANNELS>(args, share, y, (uint8_t *)words + phase, sums.x);
        __syncthreads();
        /* The map of a search that was broken off lacks numbers, and more pixels seem to stay. */
        const uint32_t made = min(sums.y, left);
        retarget_write(words, to, phase, made * bytes);
        __syncthreads(); /* the next chunk takes the same place */
        to += (size_t)made * bytes;
        left -= made;
    }
}

/* ---- host */

typedef void (*retarget_function)(struct retarget_args);

static inline retarget_function retarget_kernel_of(const struct image &image) {
    static const retarget_function kernels[2][4] = {
        { retarget_kernel<uint8_t, 1>, retarget_kernel<uint8_t, 2>, retarget_kernel<uint8_t, 3>,
          retarget_kernel<uint8_t, 4> },
        { retarget_kernel<uint16_t, 1>, retarget_kernel<uint16_t, 2>, retarget_kernel<uint16_t, 3>,
          retarget_kernel<uint16_t, 4> },
    };
    return kernels[image.depth == 16][image.channels - 1];
}

/* CALL, of which `common` is the map of at least as many vertical seams as the width changes by. */
static inline enum status retarget_image(const struct launch_queue &queue,
                                         const struct op_call *call) {
    const struct image *in = &call->in, *out = &call->out;
    const bool grows = out->width > in->width;
    const struct retarget_args args = { *in, call->common, *out, carve_apart(in->width, out->width),
                                        grows };
    const uint32_t pixels = min(RETARGET_CHUNK, in->width) * (grows ? 2 : 1);
    const size_t bytes = pixels * image_pixel_bytes(in) + 2 * RETARGET_WORD;
    retarget_kernel_of(*in)<<<in->height, RETARGET_THREADS, bytes, queue.stream>>>(args);
    CUDA_LAUNCHED(queue.failure);
    return STATUS_OK;
}

#endif

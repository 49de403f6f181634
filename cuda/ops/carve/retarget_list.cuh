// SPDX-License-Identifier: Apache-2.0
/* retarget_list.cuh - where in shared memory each pixel of a chunk's new width comes from.
 *
 * Used by:  retarget.cuh.
 * Threads:  all of a block call retarget_list_all() together; the list is visible after the block's
 *           next barrier.
 * Limits:   1 to 4 channels of 8 or 16 bits.
 *
 * How it works: a warp has adjacent pixels, a lane every 32nd: so ballots show which pixels have
 * seams, and how many come before each pixel. */
#ifndef BURIN_CARVE_RETARGET_LIST_CUH
#define BURIN_CARVE_RETARGET_LIST_CUH

#include "cuda/cuda_op.h"
#include "cuda/ops/carve/row_copy.cuh"
#include "cuda/ops/carve/seam_mask.cuh"

enum {
    RETARGET_THREADS = 128,
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    RETARGET_RESIDENT = 8, /* it holds no more than 1024 threads */
#else
    RETARGET_RESIDENT = 9, /* blocks of a multiprocessor: on 132 of them all rows of 1080p */
#endif
    RETARGET_WARPS = RETARGET_THREADS / 32,
    RETARGET_EACH = 15,     /* pixels of a lane; a block then has 1920 */
    RETARGET_EACH_WIDE = 8, /* for pixels of more than 4 bytes: shared memory is 48 KiB */
};

/* A call; strides are bytes. */
struct retarget_call {
    const uint8_t *in, *map;
    uint8_t *out;
    uint32_t in_stride, map_stride, out_stride;
    uint32_t width, height; /* of the input */
    uint32_t out_width;
    uint32_t seams; /* number that are removed or doubled */
    bool grows;
};

template <class SAMPLE, int CHANNELS> struct retarget_shape {
    enum {
        BYTES = sizeof(SAMPLE) * CHANNELS, /* of a pixel */
        EACH = BYTES > 4 ? RETARGET_EACH_WIDE : RETARGET_EACH,
        CHUNK = RETARGET_THREADS * EACH,
        GROUP = BYTES % 4 == 0   ? 1
                : BYTES % 2 == 0 ? 2
                                 : 4,             /* pixels of whole 32-bit words */
        UNIT = BYTES > 4 ? BYTES / 2 : BYTES,     /* a pixel is one or two */
        SLOT = BYTES % 3 ? BYTES : BYTES / 3 * 4, /* bytes of a new pixel's place: one store */
    };
};

/* Offsets in shared memory, in bytes: first comes the chunk, with a pixel on either side. */
struct retarget_places {
    uint32_t list, seams, added, out, end;
};

static inline __host__ __device__ uint32_t round_words(uint32_t bytes) {
    return (bytes + ROW_WORD - 1) / ROW_WORD * ROW_WORD;
}

/* Places for CHUNK pixels of BYTES, and the most new ones, of SLOT bytes each. The chunk and the
 * result may begin anywhere in their first word; a group after the last pixel and 32 bits after the
 * last new one are read. */
static inline __host__ __device__ struct retarget_places
retarget_places_of(const struct retarget_call &call, uint32_t chunk, uint32_t bytes,
                   uint32_t slot) {
    const uint32_t added = call.grows ? min(chunk, call.seams) : 0, most = chunk + added + 4;
    struct retarget_places places;
    places.list = round_words((chunk + 2) * bytes + 3 * ROW_WORD);
    places.seams = places.list + round_words(most * sizeof(uint16_t));
    places.added = places.seams + round_words(added * sizeof(uint16_t));
    places.out = places.added + round_words(added * slot + sizeof(uint32_t));
    places.end = places.out + round_words(most * bytes + ROW_WORD);
    return places;
}

/* ---- sources of pixels */

/* A lane's pixels of a chunk: every 32nd from FIRST on. */
template <int EACH> struct retarget_share {
    uint32_t first;
    uint32_t seams[EACH]; /* the number through each pixel, less 1 */
    uint32_t crossed;     /* pixels with a seam, of this lane and those before it */
};

/* LEFT: pixels of the row from the chunk's first on. Pixels after those count as removed where the
 * picture shrinks; where it grows, they follow all others. */
template <int EACH>
DEVICE struct retarget_share<EACH> retarget_look(const struct retarget_call &call,
                                                 const uint16_t *numbers, uint32_t left) {
    const uint32_t behind = call.grows ? 0 : 1;
    struct retarget_share<EACH> share;
    uint32_t crossed = 0;
    share.first = threadIdx.x / 32 * (32 * EACH) + threadIdx.x % 32;
    numbers += share.first;
    if (left >= RETARGET_THREADS * EACH) {
#pragma unroll
        for (int j = 0; j < EACH; j++) share.seams[j] = numbers[32 * j];
    } else {
#pragma unroll
        for (int j = 0; j < EACH; j++)
            share.seams[j] = share.first + 32 * j < left ? numbers[32 * j] : behind;
    }
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        share.seams[j]--; /* 0 is none, and wraps */
        if (share.seams[j] < call.seams) crossed++;
    }
    share.crossed = sum_up_to(crossed);
    return share;
}

/* The sum over the warps before this one, and over all; COUNT: the sum up to this lane. */
DEVICE uint2
retarget_sums(uint32_t count) {
    __shared__ uint32_t counts[RETARGET_WARPS];
    uint2 sums = make_uint2(0, 0);
    if (threadIdx.x % 32 == 31) counts[threadIdx.x / 32] = count;
    __syncthreads();
#pragma unroll
    for (uint32_t w = 0; w < RETARGET_WARPS; w++) {
        if (w < threadIdx.x / 32) sums.x += counts[w];
        sums.y += counts[w];
    }
    return sums;
}

/* A chunk in shared memory. Bytes are counted from `words` on. */
struct retarget_chunk {
    uint32_t *words;
    uint16_t *list;  /* first byte of each pixel of the result */
    uint16_t *seams; /* first byte of each pixel with a seam, if the picture grows */
    uint32_t in;     /* byte of its first pixel */
    uint32_t added;  /* byte of the first new one */
};

/* The chunk begins in its first word where FROM does in its own. */
DEVICE struct retarget_chunk retarget_chunk_of(uint4 *words, const struct retarget_places &places,
                                               const uint8_t *from) {
    uint8_t *const shared = (uint8_t *)words;
    return { (uint32_t *)words, (uint16_t *)(shared + places.list),
             (uint16_t *)(shared + places.seams), ROW_WORD + (uint32_t)((size_t)from % ROW_WORD),
             places.added };
}

/* Lists the pixels of SHARE at their places; CROSSED pixels before its warp have seams. */
template <class SAMPLE, int CHANNELS, bool GROWS, int EACH>
DEVICE void retarget_list(const struct retarget_chunk &chunk,
                          const struct retarget_share<EACH> &share, uint32_t seams,
                          uint32_t crossed) {
    enum { BYTES = sizeof(SAMPLE) * CHANNELS };
    const uint32_t lane = threadIdx.x % 32, lower = (1u << lane) - 1;
    const uint32_t in = chunk.in + share.first * BYTES;
    uint16_t *to = chunk.list + share.first;
    if (!GROWS) to -= lane + crossed;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const bool seam = share.seams[j] < seams;
        const uint32_t mask = __ballot_sync(~0u, GROWS ? seam : !seam);
        const uint32_t before = (uint32_t)__popc(mask & lower);
        const uint16_t at = (uint16_t)(in + 32 * j * BYTES);
        if (GROWS) to[32 * j + crossed + before] = at;
        if (GROWS && seam) chunk.seams[crossed + before] = at;
        if (GROWS) crossed += (uint32_t)__popc(mask);
        if (!GROWS && !seam) to[before] = at;
        if (!GROWS) to += __popc(mask);
    }
}

/* Pixels of a list, and how many of them are new ones still to be listed. */
struct retarget_listed {
    uint32_t pixels, added;
};

/* Lists the chunk; where it grows, what follows the row's LEFT pixels is listed last. */
template <class SAMPLE, int CHANNELS>
DEVICE struct retarget_listed retarget_list_all(const struct retarget_call &call,
                                                const struct retarget_chunk &chunk,
                                                const uint16_t *numbers, uint32_t left) {
    typedef struct retarget_shape<SAMPLE, CHANNELS> shape;
    const struct retarget_share<shape::EACH> share =
        retarget_look<shape::EACH>(call, numbers, left);
    const uint2 crossed = retarget_sums(share.crossed);
    if (call.grows)
        retarget_list<SAMPLE, CHANNELS, true>(chunk, share, call.seams, crossed.x);
    else
        retarget_list<SAMPLE, CHANNELS, false>(chunk, share, call.seams, crossed.x);
    const uint32_t listed = call.grows ? shape::CHUNK + crossed.y : shape::CHUNK - crossed.y;
    if (threadIdx.x < shape::GROUP) chunk.list[listed + threadIdx.x] = 0; /* for whole words */
    return { call.grows && left < shape::CHUNK ? listed - (shape::CHUNK - left) : listed,
             crossed.y };
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode_place.cuh - the encoder's second kernel: from the tiles' descriptions to the place of
 * each tile's bytes and of each file, and to the results.
 *
 * Used by:  jpeg_encode.cu.
 *
 * How it works. A block an image: two prefix sums over its tiles, first of bits, which gives each
 * tile's phase, then of bytes with those stuffed in that phase. The block that finishes last does
 * the same for the files of the batch, which lie one after another, and resets both counters.
 */
#ifndef BURIN_JPEG_ENCODE_PLACE_CUH
#define BURIN_JPEG_ENCODE_PLACE_CUH

#include "cuda/codecs/jpeg_encode_batch.cuh"

namespace jpeg_encode {

enum { PLACE_THREADS = 256, PLACE_WARPS = PLACE_THREADS / WARP, END_BYTES = 2 /* EOI */ };

struct place_memory {
    uint32_t sums[2][PLACE_WARPS]; /* used in turn, so that one barrier is enough */
    uint32_t missing, last;
    uint2 size; /* of the batch's only image */
};

/* Returns the sum of VALUE over the threads before this one; TOTAL is that of all. TURN alternates
 * between 0 and 1. */
static __device__ __forceinline__ uint32_t sum_before(struct place_memory &memory, int turn,
                                                      uint32_t value, uint32_t &total) {
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    uint32_t sum = value;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == WARP - 1) memory.sums[turn][warp] = sum;
    __syncthreads();
    uint32_t before = 0;
    total = 0;
#pragma unroll
    for (uint32_t w = 0; w < PLACE_WARPS; w++) {
        if (w < warp) before += memory.sums[turn][w];
        total += memory.sums[turn][w];
    }
    return before + sum - value;
}

/* Returns the bytes of a file's tiles, which may be 2^32 or more. */
static __device__ __forceinline__ uint64_t place_tiles(const struct batch &batch,
                                                       const struct source &source,
                                                       struct place_memory &memory) {
    const struct jpeg_string *strings = batch.strings + source.first_tile;
    uint64_t bits = 0, bytes = source.prologue_bytes;
    for (uint32_t base = 0; base < source.tiles; base += PLACE_THREADS) {
        const uint32_t t = base + threadIdx.x;
        const bool there = t < source.tiles;
        const struct jpeg_string *string = strings + (there ? t : 0);
        const uint32_t own = there ? string->bits : 0;
        const uint8_t tail = there && t ? strings[t - 1].tail : 0;
        uint32_t all_bits, all_bytes;
        if (there && string->place == JPEG_NO_PLACE) memory.missing = 1;
        const uint64_t before = bits + sum_before(memory, 0, own, all_bits);
        struct jpeg_splice splice = { 0, 0, 0 };
        if (there) splice = jpeg_splice_of(string, before, tail, t + 1 == source.tiles);
        const uint32_t stuffed = splice.bytes + splice.stuffed;
        const uint32_t offset = sum_before(memory, 1, stuffed, all_bytes);
        if (there)
            batch.tile_places[source.first_tile + t] = { (uint32_t)bytes + offset, splice.phase };
        bits += all_bits;
        bytes += all_bytes;
    }
    return bytes;
}

/* Called by one thread. */
static __device__ __forceinline__ struct image_size
judge_image(const struct source &source, const struct place_memory &memory, uint64_t bytes) {
    if (memory.missing) return { 0, JPEG_ENCODE_NO_SCRATCH };
    if (bytes >> 32) return { 0, JPEG_ENCODE_TOO_LARGE };
    const bool fits = bytes <= source.room;
    return { (uint32_t)bytes, (uint32_t)(fits ? JPEG_ENCODE_WRITTEN : JPEG_ENCODE_TOO_LARGE) };
}

/* Called by the block that finishes last. */
static __device__ __forceinline__ void place_images(const struct batch &batch,
                                                    struct place_memory &memory) {
    uint64_t taken = 0;
    for (uint32_t base = 0; base < batch.count; base += PLACE_THREADS) {
        const uint32_t i = base + threadIdx.x;
        uint2 stored = make_uint2(0, JPEG_ENCODE_TOO_LARGE);
        if (batch.count == 1)
            stored = memory.size;
        else if (i < batch.count)
            stored = __ldcg((const uint2 *)batch.sizes + i);
        const struct image_size size = { stored.x, stored.y };
        const bool fits = size.verdict == JPEG_ENCODE_WRITTEN && size.bytes <= batch.out_bytes;
        /* in units of OUT_ALIGN, so that 256 files fit in 32 bits */
        const uint32_t units =
            fits ? (uint32_t)(((uint64_t)size.bytes + OUT_ALIGN - 1) / OUT_ALIGN) : 0;
        uint32_t all;
        const uint64_t offset =
            (taken + sum_before(memory, (base / PLACE_THREADS) & 1, units, all)) * OUT_ALIGN;
        const bool written = fits && offset + size.bytes <= batch.out_bytes;
        const uint32_t verdict = size.verdict == JPEG_ENCODE_NO_SCRATCH ? JPEG_ENCODE_NO_SCRATCH
                                 : written                              ? JPEG_ENCODE_WRITTEN
                                                                        : JPEG_ENCODE_TOO_LARGE;
        if (i < batch.count) {
            const uint4 result = make_uint4(written ? (uint32_t)offset : 0,
                                            written ? size.bytes : 0, verdict, size.bytes);
            *(uint4 *)(batch.results + i) = result;
            *(uint4 *)(batch.host_results + i) = result;
        }
        taken += all;
    }
    if (threadIdx.x) return;
    batch.tables->places_taken = 0;
    batch.tables->images_done = 0;
}

/* Called by one thread. The block of a single image need not count finished blocks. */
static __device__ __forceinline__ void publish_size(const struct batch &batch,
                                                    struct place_memory &memory, uint2 size) {
    memory.size = size;
    memory.last = 1;
    if (batch.count == 1) return;
    __stcg((uint2 *)batch.sizes + blockIdx.x, size);
    __threadfence();
    memory.last = atomicAdd(&batch.tables->images_done, 1u) == batch.count - 1;
    __threadfence();
}

static __global__ void __launch_bounds__(PLACE_THREADS)
    place_kernel(const __grid_constant__ struct batch batch) {
    __shared__ struct place_memory memory;
    let_next_begin();
    const struct source &source = sources(batch)[blockIdx.x];
    if (threadIdx.x == 0) memory.missing = 0;
    __syncthreads();
    wait_for_previous();
    const uint64_t bytes = place_tiles(batch, source, memory) + END_BYTES;
    __syncthreads();
    if (threadIdx.x == 0) {
        const struct image_size size = judge_image(source, memory, bytes);
        publish_size(batch, memory, make_uint2(size.bytes, size.verdict));
    }
    __syncthreads();
    if (memory.last) place_images(batch, memory);
}

} // namespace jpeg_encode

#endif

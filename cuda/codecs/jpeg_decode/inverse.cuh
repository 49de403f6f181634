// SPDX-License-Identifier: Apache-2.0
/* inverse.cuh - from lists of coefficients to planes of samples.
 *
 * Used by:  jpeg_decode.cu.
 *
 * How it works. Four threads share a block, which lies in shared memory, dequantized: each takes a
 * pair of columns whose sums are bounded together (jpeg/inverse.h), then two rows. Blocks are 68
 * words apart, so that a warp's eight blocks use all banks, in columns and in rows. They are
 * neighbours in their plane, not in the scan, so that a warp's stores fill whole sectors.
 */
#ifndef BURIN_JPEG_INVERSE_CUH
#define BURIN_JPEG_INVERSE_CUH

#include "cuda/codecs/jpeg_decode/units.cuh"
#include "pipeline/codecs/jpeg/inverse.h"

enum { JPEG_BLOCK_WORDS = 68 };

struct jpeg_inverse_shared {
    int32_t blocks[JPEG_BLOCKS_AT_ONCE * JPEG_BLOCK_WORDS];
    uint16_t steps[JPEG_PLANES][64];
};

static __device__ __forceinline__ void jpeg_load_steps(const struct jpeg_picture *picture,
                                                       struct jpeg_inverse_shared &shared) {
    static_assert(sizeof shared.steps / 4 <= JPEG_BLOCK_THREADS, "a word a thread");
    if (threadIdx.x < sizeof shared.steps / 4)
        ((uint32_t *)shared.steps)[threadIdx.x] = ((const uint32_t *)picture->steps)[threadIdx.x];
}

/* Fills VALUES with dequantized coefficients. QUARTER: the thread's number within the block's
 * four. */
static __device__ __forceinline__ void jpeg_read_block(const struct jpeg_picture *picture,
                                                       uint32_t block, uint32_t quarter,
                                                       const uint16_t *steps, int32_t *values) {
    const struct jpeg_head head = picture->heads[block];
    const uint32_t end = picture->heads[block + 1].first;
    int4 *quads = (int4 *)values;
#pragma unroll
    for (int i = 0; i < 4; i++) quads[quarter + 4 * i] = make_int4(0, 0, 0, 0);
    __syncwarp();
    if (quarter == 0) values[0] = head.dc * (steps[0] >> 6);
    for (uint32_t i = head.first + quarter; i < end; i += 4) {
        const int32_t entry = (int32_t)picture->list[i];
        const uint32_t step = steps[entry & 63];
        values[step & 63] = (entry >> 6) * (int32_t)(step >> 6);
    }
    __syncwarp();
}

/* Returns whether the sums are within the bound. */
static __device__ __forceinline__ bool jpeg_inverse_columns(int32_t *values, uint32_t quarter) {
    int32_t columns[2][8];
    const uint32_t first = jpeg_pair_first(quarter);
#pragma unroll
    for (int y = 0; y < 8; y++) {
        columns[0][y] = values[8 * y + first];
        columns[1][y] = values[8 * y + first + 4];
    }
    const bool fits =
        jpeg_inverse_fits(quarter, jpeg_magnitudes(columns[0]), jpeg_magnitudes(columns[1]));
    jpeg_inverse_column(columns[0]);
    jpeg_inverse_column(columns[1]);
#pragma unroll
    for (int y = 0; y < 8; y++) {
        values[8 * y + first] = columns[0][y];
        values[8 * y + first + 4] = columns[1][y];
    }
    __syncwarp();
    return fits;
}

static __device__ __forceinline__ void jpeg_store_samples(const int32_t *values, uint8_t *into) {
    const int4 left = *(const int4 *)values, right = *(const int4 *)(values + 4);
    int32_t row[8] = { left.x, left.y, left.z, left.w, right.x, right.y, right.z, right.w };
    jpeg_inverse_row(row);
    *(uint2 *)into = make_uint2(jpeg_pack(row[0], row[1], row[2], row[3]),
                                jpeg_pack(row[4], row[5], row[6], row[7]));
}

static __device__ __forceinline__ bool jpeg_inverse_block(const struct jpeg_picture *picture,
                                                          struct jpeg_inverse_shared &shared,
                                                          uint32_t number) {
    const uint32_t quarter = threadIdx.x % 4;
    const struct jpeg_block_place place = jpeg_block_place_of(picture, number);
    const uint32_t stride = picture->plane_stride[place.component];
    uint8_t *into = picture->planes[place.component] + (size_t)place.y * stride + place.x;
    int32_t *values = shared.blocks + threadIdx.x / 4 * JPEG_BLOCK_WORDS;
    jpeg_read_block(picture, place.block, quarter, shared.steps[place.component], values);
    const bool fits = jpeg_inverse_columns(values, quarter);
    jpeg_store_samples(values + 8 * quarter, into + (size_t)quarter * stride);
    jpeg_store_samples(values + 8 * quarter + 32, into + (size_t)(quarter + 4) * stride);
    __syncwarp();
    return fits;
}

static __global__ void __launch_bounds__(JPEG_BLOCK_THREADS)
    jpeg_inverse_kernel(const struct jpeg_units units) {
    __shared__ __align__(16) struct jpeg_inverse_shared shared;
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_BLOCKS);
    const struct jpeg_picture *picture = unit.picture;
    const uint32_t last = picture->blocks - 1;
    uint32_t block = unit.index * JPEG_BLOCKS_OF_UNIT + threadIdx.x / 4;
    bool fits = true;
    if (picture->facts->flags & ~JPEG_FLAG_SUM) return;
    jpeg_load_steps(picture, shared);
    __syncthreads();
    /* Threads behind the last block repeat it: all of a warp must meet at its barriers. */
    for (int i = 0; i < JPEG_BLOCK_ROUNDS; i++, block += JPEG_BLOCKS_AT_ONCE)
        fits &= jpeg_inverse_block(picture, shared, min(block, last));
    if (!__all_sync(~0u, fits) && threadIdx.x % 32 == 0)
        atomicOr(&picture->facts->flags, JPEG_FLAG_SUM);
}

#endif

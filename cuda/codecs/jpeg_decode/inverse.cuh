// SPDX-License-Identifier: Apache-2.0
/* inverse.cuh - from lists of coefficients to planes of samples.
 *
 * Used by:  jpeg_decode.cu.
 *
 * How it works. Four threads a block, which lies in shared memory, dequantized: each takes a pair
 * of columns, those whose sums are bounded together (jpeg_inverse.h), then two rows. Blocks are 68
 * words apart, so that a warp's eight use all banks, in columns and in rows.
 */
#ifndef BURIN_JPEG_INVERSE_CUH
#define BURIN_JPEG_INVERSE_CUH

#include "cuda/codecs/jpeg_decode/units.cuh"
#include "pipeline/codecs/jpeg_inverse.h"
#include "pipeline/codecs/jpeg_zigzag.h"

enum { JPEG_BLOCK_WORDS = 68 };

static __constant__ uint8_t jpeg_natural[64] = JPEG_ZIGZAG;

struct jpeg_inverse_shared {
    int32_t blocks[JPEG_BLOCKS_OF_UNIT * JPEG_BLOCK_WORDS];
    uint16_t steps[JPEG_PLANES][64]; /* step << 6 | place by row and column */
};

static __device__ __forceinline__ void jpeg_load_steps(const struct jpeg_picture *picture,
                                                       struct jpeg_inverse_shared &shared) {
    for (uint32_t i = threadIdx.x; i < JPEG_PLANES * 64; i += JPEG_BLOCK_THREADS)
        (&shared.steps[0][0])[i] =
            (uint16_t)((&picture->steps[0][0])[i] << 6 | jpeg_natural[i % 64]);
}

/* QUARTER of the block's four threads. */
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

/* Returns whether they are within the bound. */
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
    jpeg_inverse_line(columns[0], JPEG_COLUMN_SHIFT);
    jpeg_inverse_line(columns[1], JPEG_COLUMN_SHIFT);
#pragma unroll
    for (int y = 0; y < 8; y++) {
        values[8 * y + first] = columns[0][y];
        values[8 * y + first + 4] = columns[1][y];
    }
    __syncwarp();
    return fits;
}

static __device__ __forceinline__ void jpeg_inverse_row(const int32_t *values, uint8_t *into) {
    const int4 left = *(const int4 *)values, right = *(const int4 *)(values + 4);
    int32_t row[8] = { left.x, left.y, left.z, left.w, right.x, right.y, right.z, right.w };
    uint32_t words[2] = { 0, 0 };
    jpeg_inverse_line(row, JPEG_ROW_SHIFT);
#pragma unroll
    for (int x = 0; x < 8; x++) words[x / 4] |= jpeg_sample(row[x]) << 8 * (x % 4);
    *(uint2 *)into = make_uint2(words[0], words[1]);
}

static __global__ void __launch_bounds__(JPEG_BLOCK_THREADS)
    jpeg_inverse_kernel(const struct jpeg_units units) {
    __shared__ __align__(16) struct jpeg_inverse_shared shared;
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_BLOCKS);
    const struct jpeg_picture *picture = unit.picture;
    const uint32_t quarter = threadIdx.x % 4, within = threadIdx.x / 4;
    /* Threads behind the last block do it once more: all of a warp meet at its barriers. */
    const uint32_t block = min(unit.index * JPEG_BLOCKS_OF_UNIT + within, picture->blocks - 1);
    if (picture->facts->flags & ~JPEG_FLAG_SUM) return;
    jpeg_load_steps(picture, shared);
    __syncthreads();
    const struct jpeg_block_place place = jpeg_block_place_of(picture, block);
    int32_t *values = shared.blocks + within * JPEG_BLOCK_WORDS;
    jpeg_read_block(picture, block, quarter, shared.steps[place.component], values);
    const bool fits = jpeg_inverse_columns(values, quarter);
    const uint32_t stride = picture->plane_stride[place.component];
    uint8_t *into = picture->planes[place.component] + (size_t)place.y * stride + place.x;
    jpeg_inverse_row(values + 8 * quarter, into + (size_t)quarter * stride);
    jpeg_inverse_row(values + 8 * quarter + 32, into + (size_t)(quarter + 4) * stride);
    if (!__all_sync(~0u, fits) && threadIdx.x % 32 == 0)
        atomicOr(&picture->facts->flags, JPEG_FLAG_SUM);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* move.cuh - the real pixels follow the seams.
 *
 * Shrinking goes from one plane to another, a thread a pixel. Growing may stay in its plane: each
 * line goes from its end to its start, so that what is written lies behind what is still to be
 * read. A pixel of any kind travels as four 16-bit samples.
 */
#ifndef BURIN_CARVE_MOVE_CUH
#define BURIN_CARVE_MOVE_CUH

#include "cuda/ops/carve/lines.cuh"
#include "pipeline/ops/carve.h"

struct move_job {
    struct lines lines;
    const uint8_t *from;
    uint8_t *to;
    size_t from_stride, to_stride; /* bytes */
    uint32_t width, height;        /* before */
    uint32_t length;               /* of lines afterwards */
    bool copies;                   /* new pixels are as their seam's, not a mean */
};

template <class SAMPLE, int CHANNELS>
static __device__ __forceinline__ uint64_t get_pixel(const struct move_job &job, uint32_t x,
                                                     uint32_t y) {
    const SAMPLE *const at = (const SAMPLE *)(job.from + y * job.from_stride) + x * CHANNELS;
    uint64_t pixel = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) pixel |= (uint64_t)at[c] << 16 * c;
    return pixel;
}

template <class SAMPLE, int CHANNELS>
static __device__ __forceinline__ void put_pixel(const struct move_job &job, uint32_t x, uint32_t y,
                                                 uint64_t pixel) {
    SAMPLE *const at = (SAMPLE *)(job.to + y * job.to_stride) + x * CHANNELS;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) at[c] = (SAMPLE)(pixel >> 16 * c);
}

template <class SAMPLE, int CHANNELS>
static __device__ __forceinline__ void put_place(const struct move_job &job, uint32_t line,
                                                 uint32_t place, uint64_t pixel) {
    if (place >= job.length) return;
    put_pixel<SAMPLE, CHANNELS>(job, job.lines.turned ? line : place,
                                job.lines.turned ? place : line, pixel);
}

enum { MOVE_COLUMNS = 32, MOVE_ROWS = 8 };

template <class SAMPLE, int CHANNELS>
static __global__ void shrink_kernel(const __grid_constant__ struct move_job job) {
    const uint32_t x = blockIdx.x * MOVE_COLUMNS + threadIdx.x;
    const uint32_t y = blockIdx.y * MOVE_ROWS + threadIdx.y;
    if (x >= job.width || y >= job.height) return;
    const uint32_t line = line_of(job.lines, x, y), place = place_of(job.lines, x, y);
    const struct crossing crossing = crossing_at(job.lines, line, place);
    if (!crossing.seam)
        put_place<SAMPLE, CHANNELS>(job, line, place - crossing.before,
                                    get_pixel<SAMPLE, CHANNELS>(job, x, y));
}

template <int CHANNELS>
static __device__ __forceinline__ uint64_t mean_pixel(uint64_t left, uint64_t seam,
                                                      uint64_t right) {
    uint64_t pixel = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        pixel |= (uint64_t)carve_mean((uint16_t)(left >> 16 * c), (uint16_t)(seam >> 16 * c),
                                      (uint16_t)(right >> 16 * c))
                 << 16 * c;
    return pixel;
}

/* HERE goes to its new place, and behind it, if a seam goes through, a new pixel. */
template <class SAMPLE, int CHANNELS>
static __device__ __forceinline__ void put_grown(const struct move_job &job, uint32_t line,
                                                 uint32_t place, uint64_t left, uint64_t here,
                                                 uint64_t right) {
    const struct crossing crossing = crossing_at(job.lines, line, place);
    const uint32_t to = place + crossing.before;
    put_place<SAMPLE, CHANNELS>(job, line, to, here);
    if (!crossing.seam) return;
    const uint64_t added = job.copies ? here : mean_pixel<CHANNELS>(left, here, right);
    put_place<SAMPLE, CHANNELS>(job, line, to + 1, added);
}

/* A warp a row, 32 pixels a step. */
template <class SAMPLE, int CHANNELS>
static __global__ void grow_rows_kernel(const __grid_constant__ struct move_job job) {
    const uint32_t y = blockIdx.x * MOVE_ROWS + threadIdx.y, lane = threadIdx.x;
    if (y >= job.height) return;
    uint64_t behind = 0; /* the first pixel of the step before */
    for (int start = (int)(job.width - 1) / 32 * 32; start >= 0; start -= 32) {
        const uint32_t x = start + lane, last = job.width - 1;
        const uint64_t here = get_pixel<SAMPLE, CHANNELS>(job, min(x, last), y);
        const uint64_t left = get_pixel<SAMPLE, CHANNELS>(job, min(x ? x - 1 : 0, last), y);
        uint64_t right = __shfl_down_sync(~0u, here, 1);
        if (lane == 31) right = behind;
        if (x >= last) right = here;
        behind = __shfl_sync(~0u, here, 0);
        __syncwarp();
        if (x <= last) put_grown<SAMPLE, CHANNELS>(job, y, x, left, here, right);
        __syncwarp();
    }
}

/* A thread a column, a few pixels a step. */
template <class SAMPLE, int CHANNELS>
static __global__ void grow_columns_kernel(const __grid_constant__ struct move_job job) {
    enum { STEP = 8 };
    const uint32_t x =
        blockIdx.x * MOVE_COLUMNS * MOVE_ROWS + threadIdx.y * MOVE_COLUMNS + threadIdx.x;
    if (x >= job.width) return;
    uint64_t below = get_pixel<SAMPLE, CHANNELS>(job, x, job.height - 1);
    for (int start = (int)job.height - 1; start >= 0; start -= STEP) {
        uint64_t pixels[STEP + 1];
#pragma unroll
        for (int i = 0; i <= STEP; i++)
            pixels[i] = get_pixel<SAMPLE, CHANNELS>(job, x, (uint32_t)max(start - i, 0));
#pragma unroll
        for (int i = 0; i < STEP; i++) {
            if (start - i < 0) break;
            put_grown<SAMPLE, CHANNELS>(job, x, (uint32_t)(start - i), pixels[i + 1], pixels[i],
                                        i ? pixels[i - 1] : below);
        }
        below = pixels[STEP - 1];
    }
}

/* ---- both directions at once: every pixel knows where it comes from */

struct gather_job {
    const uint32_t *origins;
    uint32_t origin_stride; /* from row to row, and in the numbers */
    const uint8_t *from;
    uint8_t *to;
    size_t from_stride, to_stride;
    uint32_t width, height;           /* afterwards */
    uint32_t from_width, from_height; /* before */
};

/* Of a search that was broken off, numbers mean nothing. */
static __device__ __forceinline__ uint2 origin_at(const struct gather_job &job, uint32_t x,
                                                  uint32_t y) {
    const uint32_t number = job.origins[(size_t)y * job.origin_stride + x];
    return make_uint2(min(number % job.origin_stride, job.from_width - 1),
                      min(number / job.origin_stride, job.from_height - 1));
}

template <class SAMPLE, int CHANNELS>
static __global__ void gather_kernel(const __grid_constant__ struct gather_job job) {
    const uint32_t x = blockIdx.x * MOVE_COLUMNS + threadIdx.x;
    const uint32_t y = blockIdx.y * MOVE_ROWS + threadIdx.y;
    if (x >= job.width || y >= job.height) return;
    const uint2 origin = origin_at(job, x, y);
    const SAMPLE *const from =
        (const SAMPLE *)(job.from + origin.y * job.from_stride) + origin.x * CHANNELS;
    SAMPLE *const to = (SAMPLE *)(job.to + y * job.to_stride) + x * CHANNELS;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) to[c] = from[c];
}

/* ---- host */

/* The kernels for one kind of pixel. */
struct movers {
    void (*shrink)(struct move_job), (*grow_rows)(struct move_job),
        (*grow_columns)(struct move_job);
    void (*gather)(struct gather_job);
};

template <class SAMPLE, int CHANNELS> static inline struct movers movers_make(void) {
    return { shrink_kernel<SAMPLE, CHANNELS>, grow_rows_kernel<SAMPLE, CHANNELS>,
             grow_columns_kernel<SAMPLE, CHANNELS>, gather_kernel<SAMPLE, CHANNELS> };
}

template <class SAMPLE> static inline struct movers movers_of(int channels) {
    switch (channels) {
    case 1: return movers_make<SAMPLE, 1>();
    case 2: return movers_make<SAMPLE, 2>();
    case 3: return movers_make<SAMPLE, 3>();
    default: return movers_make<SAMPLE, 4>();
    }
}

static inline dim3 move_blocks(uint32_t width, uint32_t height) {
    return dim3((width + MOVE_COLUMNS - 1) / MOVE_COLUMNS, (height + MOVE_ROWS - 1) / MOVE_ROWS);
}

static inline enum status shrink_pixels(cudaStream_t stream, const struct movers &movers,
                                        const struct move_job &job, struct failure *failure) {
    return launch(movers.shrink, move_blocks(job.width, job.height), dim3(MOVE_COLUMNS, MOVE_ROWS),
                  stream, job, failure);
}

static inline enum status grow_pixels(cudaStream_t stream, const struct movers &movers,
                                      const struct move_job &job, struct failure *failure) {
    const uint32_t columns = MOVE_COLUMNS * MOVE_ROWS;
    const bool turned = job.lines.turned;
    const uint32_t blocks =
        turned ? (job.width + columns - 1) / columns : (job.height + MOVE_ROWS - 1) / MOVE_ROWS;
    return launch(turned ? movers.grow_columns : movers.grow_rows, dim3(blocks),
                  dim3(MOVE_COLUMNS, MOVE_ROWS), stream, job, failure);
}

static inline enum status gather_pixels(cudaStream_t stream, const struct movers &movers,
                                        const struct gather_job &job, struct failure *failure) {
    return launch(movers.gather, move_blocks(job.width, job.height), dim3(MOVE_COLUMNS, MOVE_ROWS),
                  stream, job, failure);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* show.cuh - draws a picture of the carving in place of its result. */
#ifndef BURIN_CARVE_SHOW_CUH
#define BURIN_CARVE_SHOW_CUH

#include "cuda/ops/carve/energy.cuh"
#include "cuda/ops/carve/move.cuh"
#include "cuda/ops/carve/past.cuh"
#include "cuda/ops/carve/planes.cuh"

enum show_what { SHOW_INPUT, SHOW_RED, SHOW_ENERGY };

struct show_job {
    struct image in, out;
    enum show_what what;
    struct plane luma; /* SHOW_ENERGY */
    int energy;
};

static __device__ __forceinline__ uint32_t sample_max(const struct image &image) {
    return image.depth == 16 ? 65535u : 255u;
}

/* A colour sample of the input as it is, gray or not. */
static __device__ __forceinline__ uint32_t colour_at(const struct image &in, uint32_t x, uint32_t y,
                                                     unsigned channel) {
    return sample_at(in, x, y, in.channels < 3 ? 0 : channel);
}

static __device__ __forceinline__ void put_red(const struct image &out, uint32_t x, uint32_t y) {
    put_sample(out, x, y, 0, sample_max(out));
    put_sample(out, x, y, 1, 0);
    put_sample(out, x, y, 2, 0);
}

static __device__ __forceinline__ void put_input(const struct image &in, const struct image &out,
                                                 uint32_t x, uint32_t y) {
    for (unsigned c = 0; c < 3; c++) put_sample(out, x, y, c, colour_at(in, x, y, c));
}

static __global__ void show_kernel(const __grid_constant__ struct show_job job) {
    const uint32_t x = blockIdx.x * MOVE_COLUMNS + threadIdx.x;
    const uint32_t y = blockIdx.y * MOVE_ROWS + threadIdx.y;
    if (x >= job.in.width || y >= job.in.height) return;
    if (job.what == SHOW_INPUT) put_input(job.in, job.out, x, y);
    if (job.what == SHOW_RED) put_red(job.out, x, y);
    if (job.what == SHOW_ENERGY) {
        const struct view view =
            whole_view(job.luma.bytes, job.luma.stride, job.in.width, job.in.height);
        const uint32_t level = min(energy_at(view, job.energy, (int)x, (int)y), 255u);
        put_sample(job.out, x, y, 0, job.out.depth == 16 ? 257 * level : level);
    }
    if (job.in.channels % 2 == 0)
        put_sample(job.out, x, y, job.out.channels - 1u,
                   sample_at(job.in, x, y, job.in.channels - 1u));
}

static inline enum status show_image(cudaStream_t stream, const struct show_job &job,
                                     struct failure *failure) {
    return launch(show_kernel, move_blocks(job.in.width, job.in.height),
                  dim3(MOVE_COLUMNS, MOVE_ROWS), stream, job, failure);
}

/* ---- one phase's seams on the picture */

struct paint_job {
    struct lines lines; /* of an image of WIDTH x HEIGHT */
    uint32_t width, height;
    struct past past; /* of that image */
    struct image out;
};

/* New pixels do not show: each leads to its seam's, which was painted when it was inserted. */
static __global__ void paint_kernel(const __grid_constant__ struct paint_job job) {
    const uint32_t x = blockIdx.x * MOVE_COLUMNS + threadIdx.x;
    const uint32_t y = blockIdx.y * MOVE_ROWS + threadIdx.y;
    if (x >= job.width || y >= job.height) return;
    if (!crossing_at(job.lines, line_of(job.lines, x, y), place_of(job.lines, x, y)).seam) return;
    uint32_t column = x, row = y;
    walk_back(job.past, column, row);
    put_red(job.out, column, row);
}

static inline enum status paint_seams(cudaStream_t stream, const struct paint_job &job,
                                      struct failure *failure) {
    return launch(paint_kernel, move_blocks(job.width, job.height), dim3(MOVE_COLUMNS, MOVE_ROWS),
                  stream, job, failure);
}

/* ---- both directions at once, on a red picture: the pixels that are left are as they were */

struct restore_job {
    uint32_t width, height; /* of what is left */
    const uint32_t *origins;
    uint32_t origin_stride;
    struct image in, out;
};

static __global__ void restore_kernel(const __grid_constant__ struct restore_job job) {
    const uint32_t x = blockIdx.x * MOVE_COLUMNS + threadIdx.x;
    const uint32_t y = blockIdx.y * MOVE_ROWS + threadIdx.y;
    if (x >= job.width || y >= job.height) return;
    const uint32_t number = job.origins[(size_t)y * job.origin_stride + x];
    const uint32_t column = number % job.origin_stride, row = number / job.origin_stride;
    if (column < job.in.width && row < job.in.height) put_input(job.in, job.out, column, row);
}

static inline enum status restore_pixels(cudaStream_t stream, const struct restore_job &job,
                                         struct failure *failure) {
    return launch(restore_kernel, move_blocks(job.width, job.height), dim3(MOVE_COLUMNS, MOVE_ROWS),
                  stream, job, failure);
}

#endif

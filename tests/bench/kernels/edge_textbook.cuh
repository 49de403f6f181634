// SPDX-License-Identifier: Apache-2.0
/* edge_textbook.cuh - sobel3 of 8-bit gray in two kernels as textbooks have them; borders are
 * replicated by clamping coordinates.
 *
 * Used by:  edge.cu, the ladder; tests/bench/edge_ways.cu.
 * Limits:   sides of at most 2^31 pixels.
 */
#ifndef BURIN_EDGE_TEXTBOOK_CUH
#define BURIN_EDGE_TEXTBOOK_CUH

#include "pipeline/image.h"

#include <cstdint>

enum { TEXTBOOK_ACROSS = 32, TEXTBOOK_DOWN = 8 };

static __device__ uint8_t textbook_at(const struct image &image, int x, int y) {
    const int row = min(max(y, 0), (int)image.height - 1);
    return image.pixels[row * image.stride + min(max(x, 0), (int)image.width - 1)];
}

static __device__ uint8_t textbook_magnitude(int gx, int gy) {
    return (uint8_t)min((int)sqrtf((float)(gx * gx + gy * gy)), 255);
}

/* WINDOW leads to the upper left of nine levels, rows PITCH apart. */
static __device__ uint8_t textbook_sobel(const uint8_t *window, int pitch) {
    const uint8_t *a = window, *b = window + pitch, *c = window + 2 * pitch;
    const int gx = a[2] - a[0] + 2 * (b[2] - b[0]) + c[2] - c[0];
    const int gy = c[0] - a[0] + 2 * (c[1] - a[1]) + c[2] - a[2];
    return textbook_magnitude(gx, gy);
}

/* A thread a pixel, all neighbours from global memory. */
static __global__ void textbook_plain_kernel(struct image in, struct image out) {
    const int x = blockIdx.x * TEXTBOOK_ACROSS + threadIdx.x;
    const int y = blockIdx.y * TEXTBOOK_DOWN + threadIdx.y;
    if (x >= (int)in.width || y >= (int)in.height) return;
    uint8_t window[9];
    for (int i = 0; i < 9; i++) window[i] = textbook_at(in, x + i % 3 - 1, y + i / 3 - 1);
    out.pixels[y * out.stride + x] = textbook_sobel(window, 3);
}

/* A block brings its tile, a pixel wider on each side, to shared memory first. */
static __global__ void textbook_shared_kernel(struct image in, struct image out) {
    enum { PITCH = TEXTBOOK_ACROSS + 2, LEVELS = PITCH * (TEXTBOOK_DOWN + 2) };
    __shared__ uint8_t tile[LEVELS];
    const int left = blockIdx.x * TEXTBOOK_ACROSS, top = blockIdx.y * TEXTBOOK_DOWN;
    const int x = left + threadIdx.x, y = top + threadIdx.y;
    for (int i = threadIdx.y * TEXTBOOK_ACROSS + threadIdx.x; i < LEVELS;
         i += TEXTBOOK_ACROSS * TEXTBOOK_DOWN)
        tile[i] = textbook_at(in, left + i % PITCH - 1, top + i / PITCH - 1);
    __syncthreads();
    if (x >= (int)in.width || y >= (int)in.height) return;
    out.pixels[y * out.stride + x] =
        textbook_sobel(tile + threadIdx.y * PITCH + threadIdx.x, PITCH);
}

static inline dim3 textbook_blocks(const struct image &in) {
    return dim3((in.width + TEXTBOOK_ACROSS - 1) / TEXTBOOK_ACROSS,
                (in.height + TEXTBOOK_DOWN - 1) / TEXTBOOK_DOWN);
}

static inline void textbook_plain(struct image in, struct image out, cudaStream_t stream) {
    textbook_plain_kernel<<<textbook_blocks(in), dim3(TEXTBOOK_ACROSS, TEXTBOOK_DOWN), 0, stream>>>(
        in, out);
}

static inline void textbook_shared(struct image in, struct image out, cudaStream_t stream) {
    textbook_shared_kernel<<<textbook_blocks(in), dim3(TEXTBOOK_ACROSS, TEXTBOOK_DOWN), 0,
                             stream>>>(in, out);
}

#endif

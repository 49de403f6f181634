// SPDX-License-Identifier: Apache-2.0
/* resize_textbook.cuh - resize as it is first written: a thread a sample, weights as they are, both
 * passes straight from memory. 8 bits, no alpha.
 *
 * Used by:  resize.cu, the ladder; to be included where TRY is known.
 */
#ifndef BURIN_RESIZE_TEXTBOOK_CUH
#define BURIN_RESIZE_TEXTBOOK_CUH

#include "pipeline/rows/resample_weights.h"

#include <vector>

/* An axis' windows and weights on the device. */
struct textbook_axis {
    struct resample_window *windows;
    int32_t *weights;
    uint32_t pitch;
};

static struct textbook_axis textbook_axis_make(const struct resample_axis *axis) {
    std::vector<uint64_t> room(resample_weights_bytes(axis) / 8 + 1);
    const struct resample_weights made = resample_weights_make(room.data(), axis);
    const size_t windows = made.count * sizeof *made.windows;
    const size_t weights = (size_t)made.count * made.pitch * sizeof *made.weights;
    struct textbook_axis uploaded = { NULL, NULL, made.pitch };
    TRY(cudaMalloc((void **)&uploaded.windows, windows));
    TRY(cudaMalloc((void **)&uploaded.weights, weights));
    TRY(cudaMemcpy(uploaded.windows, made.windows, windows, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(uploaded.weights, made.weights, weights, cudaMemcpyHostToDevice));
    return uploaded;
}

static void textbook_axis_free(struct textbook_axis *axis) {
    TRY(cudaFree(axis->windows));
    TRY(cudaFree(axis->weights));
}

/* Sample blockIdx.x * blockDim.x + threadIdx.x of row blockIdx.y of what comes out. */
static __global__ void textbook_across(struct textbook_axis axis, const uint8_t *in,
                                       uint32_t in_stride, uint8_t *out, uint32_t out_stride,
                                       uint32_t channels, uint32_t samples) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples) return;
    const struct resample_window window = axis.windows[i / channels];
    const int32_t *const weights = axis.weights + (size_t)(i / channels) * axis.pitch;
    const uint8_t *from =
        in + (size_t)blockIdx.y * in_stride + window.first * channels + i % channels;
    int32_t sum = 0;
    for (uint32_t k = 0; k < window.count; k++) sum += weights[k] * from[k * channels];
    out[(size_t)blockIdx.y * out_stride + i] = (uint8_t)resample_result(sum, 255);
}

static __global__ void textbook_down(struct textbook_axis axis, const uint8_t *in,
                                     uint32_t in_stride, uint8_t *out, uint32_t out_stride,
                                     uint32_t samples) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples) return;
    const struct resample_window window = axis.windows[blockIdx.y];
    const int32_t *const weights = axis.weights + (size_t)blockIdx.y * axis.pitch;
    const uint8_t *from = in + (size_t)window.first * in_stride + i;
    int32_t sum = 0;
    for (uint32_t k = 0; k < window.count; k++) sum += weights[k] * from[(size_t)k * in_stride];
    out[(size_t)blockIdx.y * out_stride + i] = (uint8_t)resample_result(sum, 255);
}

/* All of IN to OUT; BETWEEN has a row of OUT for each row of IN. */
static void textbook_resize(const struct textbook_axis *x, const struct textbook_axis *y,
                            const struct image &in, const struct image &out, uint8_t *between,
                            cudaStream_t stream) {
    const uint32_t samples = out.width * out.channels, stride = (uint32_t)out.stride;
    const unsigned blocks = (samples + 127) / 128;
    textbook_across<<<dim3(blocks, in.height), 128, 0, stream>>>(
        *x, in.pixels, (uint32_t)in.stride, between, stride, in.channels, samples);
    textbook_down<<<dim3(blocks, out.height), 128, 0, stream>>>(*y, between, stride, out.pixels,
                                                                stride, samples);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* A thread writes 16 bytes of a row of the result: loaded at once where they lie within the image
 * and it keeps its channels, else looked up one by one. */
#include "pipeline/ops/pad.h"

#include "cuda/ops/move/copy.cuh"

enum { PAD_OPAQUE = -1 };

struct pad {
    uint32_t left, top, right, bottom;
    uint32_t in_pixel, out_pixel; /* bytes */
    int around;
    uint8_t colour[8];
    int8_t from[8]; /* a result's byte in the image's pixel, or PAD_OPAQUE */
};

static struct pad pad_of(const struct op_call *call) {
    const long *number = call->params->number;
    const struct image &in = call->in, &out = call->out;
    const unsigned sample = in.depth / 8u, alpha = image_colours(&out);
    struct pad pad = {};
    pad.left = (uint32_t)number[PAD_LEFT], pad.right = (uint32_t)number[PAD_RIGHT];
    pad.top = (uint32_t)number[PAD_TOP], pad.bottom = (uint32_t)number[PAD_BOTTOM];
    pad.in_pixel = (uint32_t)image_pixel_bytes(&in);
    pad.out_pixel = (uint32_t)image_pixel_bytes(&out);
    pad.around = (int)number[PAD_AROUND];
    canvas_pixel_bytes((uint32_t)number[PAD_BACKGROUND], out.channels, out.depth, pad.colour);
    for (unsigned b = 0; b < pad.out_pixel; b++) {
        const unsigned c = b / sample;
        const unsigned source = c == alpha ? image_colours(&in) : in.channels < 3 ? 0 : c;
        const bool opaque = c == alpha && !image_has_alpha(&in);
        pad.from[b] = (int8_t)(opaque ? PAD_OPAQUE : (int)(source * sample + b % sample));
    }
    return pad;
}

static __global__ void __launch_bounds__(COPY_THREADS)
    pad_kernel(const __grid_constant__ struct batch batch, const __grid_constant__ struct pad pad) {
    const uint32_t chunk = blockIdx.x * COPY_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_position position = chunk_position_of(image, chunk - image.first_chunk);
    const uint32_t x = position.x * COPY_BYTES, bytes = min(image.width - x, (uint32_t)COPY_BYTES);
    const uint32_t columns = image.width / pad.out_pixel - pad.left - pad.right;
    const uint32_t rows = image.height - pad.top - pad.bottom, first = pad.left * pad.out_pixel;
    const bool repeats = pad.around != AROUND_BACKGROUND;
    const bool beside = position.y - pad.top >= rows && !repeats;
    const uint32_t row = canvas_source(position.y, pad.top, rows, pad.around) - pad.top;
    const uint8_t *in = image.in + (uint64_t)row * image.in_stride;
    uint32_t words[4] = {};
    if (!beside && pad.in_pixel == pad.out_pixel && x >= first &&
        x + bytes <= first + columns * pad.out_pixel) {
        load_any(words, in + x - first, bytes);
    } else {
        uint32_t column = x / pad.out_pixel, byte = x % pad.out_pixel;
#pragma unroll
        for (int i = 0; i < COPY_BYTES; i++) {
            const bool coloured = beside || (column - pad.left >= columns && !repeats);
            const int from = pad.from[byte];
            uint32_t value = coloured ? pad.colour[byte] : 255;
            if (!coloured && from != PAD_OPAQUE && i < (int)bytes)
                value = __ldg(in + from +
                              (canvas_source(column, pad.left, columns, pad.around) - pad.left) *
                                  pad.in_pixel);
            chunk_set_byte<0>(words, i, value);
            byte = byte + 1 == pad.out_pixel ? 0 : byte + 1;
            column += byte ? 0 : 1;
        }
    }
    store_chunk(words, image.out + (uint64_t)position.y * image.out_stride + x, bytes,
                is_aligned(image, 16));
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct op_call bytes[CUDA_BATCH_MAX];
    struct batch batch;
    for (int i = 0; i < count; i++) bytes[i] = copy_call(&calls[i], 0, 0);
    const enum status status = batch_init(&batch, bytes, count, COPY_BYTES);
    if (status) return status;
    const unsigned blocks = (batch.chunks + COPY_THREADS - 1) / COPY_THREADS;
    pad_kernel<<<blocks, COPY_THREADS, 0, context->stream>>>(batch, pad_of(&calls[0]));
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "pad");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_pad = { NULL, run };

// SPDX-License-Identifier: Apache-2.0
/* smartcrop.cu - the part of an image with the most detail, the twin of pipeline/ops/smartcrop.c.
 *
 * How it works. One image after the other: smartcrop/search.cuh leaves the best part of each of its
 * blocks, and every block of the kernel here takes the best of these before it copies its share of
 * the rows. The host never learns which part it is. Scratch is 8.25 bytes a pixel of the largest
 * image of the batch.
 */
#include "cuda/ops/smartcrop/search.cuh"

#include "cuda/check.cuh"
#include "cuda/cuda_op.h"
#include "cuda/ops/move/load_any.cuh"

enum { ALIGN = 256, COPY_BYTES = 16 };

/* ---- the part */

static __device__ __forceinline__ struct smartcrop_part best_of_all(const struct search &search) {
    struct smartcrop_part best = no_part();
    for (uint32_t i = threadIdx.x; i < SEARCH_PARTS; i += SEARCH_THREADS)
        if (smartcrop_better(&search.parts[i], &best)) best = search.parts[i];
    return best_of_block(best);
}

/* A block takes rows in turn, a thread 16 bytes of them. */
static __global__ void __launch_bounds__(SEARCH_THREADS)
    part_kernel(const __grid_constant__ struct search search,
                const __grid_constant__ struct image out) {
    const struct smartcrop_part part = best_of_all(search);
    const uint32_t pixel = out.channels * (out.depth / 8u), bytes = out.width * pixel;
    const bool aligned = ((uintptr_t)out.pixels | out.stride) % 16 == 0;
    for (uint32_t y = blockIdx.x; y < out.height; y += gridDim.x) {
        const uint8_t *from = search.in.pixels + (size_t)(part.top + y) * search.in.stride +
                              (size_t)part.left * pixel;
        uint8_t *to = out.pixels + (size_t)y * out.stride;
        for (uint32_t i = threadIdx.x * COPY_BYTES; i < bytes; i += SEARCH_THREADS * COPY_BYTES) {
            uint32_t words[4];
            const uint32_t here = min(bytes - i, (uint32_t)COPY_BYTES);
            load_any(words, from + i, here);
            store_chunk(words, to + i, here, aligned);
        }
    }
}

/* ---- memory */

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t sums_bytes(const struct image *in) {
    return aligned(image_pixels(in) * sizeof(uint64_t));
}

static size_t strips_bytes(const struct image *in) {
    return aligned((size_t)strips_of(in->height) * in->width * sizeof(uint64_t));
}

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    size_t most = 0;
    for (int i = 0; i < count; i++) {
        const struct image *in = &calls[i].in;
        const size_t bytes = sums_bytes(in) + strips_bytes(in) +
                             aligned(SEARCH_PARTS * sizeof(struct smartcrop_part));
        if (bytes > most) most = bytes;
    }
    return most;
}

static struct search search_of(const struct op_call *call, void *memory) {
    struct search search = {};
    uint8_t *base = (uint8_t *)memory;
    search.in = call->in;
    search.width = call->out.width;
    search.height = call->out.height;
    search.sums = (uint64_t *)base;
    search.strips = (uint64_t *)(base + sums_bytes(&call->in));
    search.parts =
        (struct smartcrop_part *)(base + sums_bytes(&call->in) + strips_bytes(&call->in));
    return search;
}

/* ---- one image */

static void (*rows_kernel_of(const struct image *in))(struct search) {
    static void (*const kernels[4][2])(struct search) = {
        { search_rows_kernel<1, 8>, search_rows_kernel<1, 16> },
        { search_rows_kernel<2, 8>, search_rows_kernel<2, 16> },
        { search_rows_kernel<3, 8>, search_rows_kernel<3, 16> },
        { search_rows_kernel<4, 8>, search_rows_kernel<4, 16> },
    };
    return kernels[in->channels - 1][in->depth / 16];
}

static enum status run_one(const struct cuda_context *context, const struct op_call *call,
                           const struct op_call *first) {
    const struct search search = search_of(call, first->scratch);
    const struct image *in = &call->in;
    const uint32_t strips = strips_of(in->height);
    const unsigned across = (in->width + SEARCH_THREADS - 1) / SEARCH_THREADS;
    const cudaStream_t stream = context->stream;
    void (*const rows_kernel)(struct search) = rows_kernel_of(in);
    rows_kernel<<<in->height, SEARCH_THREADS, 0, stream>>>(search);
    CUDA_LAUNCHED(first->failure);
    search_columns_kernel<<<dim3(across, strips), SEARCH_THREADS, 0, stream>>>(search);
    CUDA_LAUNCHED(first->failure);
    search_strips_kernel<<<across, SEARCH_THREADS, 0, stream>>>(search, strips);
    CUDA_LAUNCHED(first->failure);
    search_parts_kernel<<<SEARCH_PARTS, SEARCH_THREADS, 0, stream>>>(search);
    CUDA_LAUNCHED(first->failure);
    const unsigned blocks = min((unsigned)context->multiprocessors * 4, call->out.height);
    part_kernel<<<blocks, SEARCH_THREADS, 0, stream>>>(search, call->out);
    CUDA_LAUNCHED(first->failure);
    return STATUS_OK;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    enum status status = STATUS_OK;
    for (int i = 0; i < count && !status; i++) status = run_one(context, &calls[i], &calls[0]);
    if (!status) cuda_record_kernel(context, "smartcrop");
    return status;
}

extern "C" const struct cuda_op cuda_op_smartcrop = { scratch, run };

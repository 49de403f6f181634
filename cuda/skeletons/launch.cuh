// SPDX-License-Identifier: Apache-2.0
/* launch.cuh - launches a kernel made of a skeleton.
 *
 * Used by:  user_twin.cu; the ladder of tests/bench/kernels.
 * Fails:    as batch.cuh and check.cuh say.
 * Threads:  the lane's.
 *
 * How it works. Batch, grid and arguments come from the calls and the device. A kernel is given by
 * address, whoever compiled it. Its arguments, by value:
 *   P2P  batch, parameters, channels, alpha_mask
 *   N2P  batch, parameters, rows of a strip
 *   R2S  batch, parameters, partial numbers, blocks_done
 *   R2V  batch, parameters, bins, copies of the lists in shared memory
 */
#ifndef BURIN_SKELETON_LAUNCH_CUH
#define BURIN_SKELETON_LAUNCH_CUH

#include "cuda/pointwise.cuh"
#include "cuda/skeletons/neighbourhood.cuh"
#include "cuda/skeletons/parameters.cuh"
#include "cuda/skeletons/scalar.cuh"
#include "cuda/skeletons/vector.cuh"

/* A kernel, the parameters of all calls, and the name in the timing report, a constant. */
struct skeleton_kernel {
    const void *function;
    struct skeleton_parameters parameters;
    const char *name;
};

static inline enum status skeleton_launch(const struct cuda_context *context,
                                          const struct op_call *calls,
                                          const struct skeleton_kernel &kernel, dim3 blocks,
                                          unsigned threads, size_t shared_bytes, void **arguments) {
    CUDA_TRY(calls[0].failure, cudaLaunchKernel(kernel.function, blocks, dim3(threads), arguments,
                                                shared_bytes, context->stream));
    cuda_record_kernel(context, kernel.name);
    return STATUS_OK;
}

static inline enum status point_launch(const struct cuda_context *context,
                                       const struct op_call *calls, int count,
                                       struct skeleton_kernel kernel) {
    struct op_call samples[CUDA_BATCH_MAX];
    struct batch batch;
    unsigned channels = calls[0].in.channels;
    const unsigned depth = calls[0].in.depth;
    batch_sample_calls(samples, calls, count);
    const enum status status = batch_init(&batch, samples, count, 128 / depth);
    if (status) return status;
    struct alpha_mask alpha = alpha_mask_of(channels, depth);
    void *arguments[] = { &batch, &kernel.parameters, &channels, &alpha };
    const unsigned blocks = (batch.chunks + POINT_THREADS - 1) / POINT_THREADS;
    return skeleton_launch(context, calls, kernel, blocks, POINT_THREADS, 0, arguments);
}

static inline uint32_t strip_rows(const struct cuda_context *context, const struct op_call *calls,
                                  int count) {
    uint64_t chunks = 0;
    for (int i = 0; i < count; i++)
        chunks += (image_row_bytes(&calls[i].in) + 15) / 16 * calls[i].in.height;
    return neighbourhood_rows(chunks, context->multiprocessors);
}

static inline enum status neighbourhood_launch(const struct cuda_context *context,
                                               const struct op_call *calls, int count,
                                               struct skeleton_kernel kernel, uint32_t rows = 0) {
    struct op_call samples[CUDA_BATCH_MAX];
    struct batch batch;
    if (!rows) rows = strip_rows(context, calls, count);
    batch_sample_calls(samples, calls, count);
    const enum status status =
        batch_init_tiles(&batch, samples, count, 128 / calls[0].in.depth, rows);
    if (status) return status;
    void *arguments[] = { &batch, &kernel.parameters, &rows };
    const unsigned blocks = (batch.chunks + NEIGHBOURHOOD_THREADS - 1) / NEIGHBOURHOOD_THREADS;
    return skeleton_launch(context, calls, kernel, blocks, NEIGHBOURHOOD_THREADS, 0, arguments);
}

/* Of a reduction's chunk: pixels_traits::PIXELS. */
static inline unsigned chunk_pixels(const struct image *in) {
    return (in->channels == 3 ? 48 : 16) / (unsigned)image_pixel_bytes(in);
}

/* Blocks for an image: all together as many as run at once, or one for each. */
static inline unsigned image_blocks(const struct cuda_context *context, int count, int at_once) {
    return (unsigned)((at_once * context->multiprocessors + count - 1) / count);
}

/* A number takes up to 8 bytes and says whether it is there. */
static inline size_t scalar_scratch(const struct cuda_context *context, int count) {
    return (size_t)count * image_blocks(context, count, SCALAR_BLOCKS) *
           sizeof(struct partial_numbers<long long, 3>);
}

static inline enum status scalar_launch(const struct cuda_context *context,
                                        const struct op_call *calls, int count,
                                        struct skeleton_kernel kernel) {
    struct batch batch;
    const enum status status = batch_init_values(&batch, calls, count, chunk_pixels(&calls[0].in));
    if (status) return status;
    void *partials = calls[0].scratch;
    uint32_t *blocks_done = context->zeroed;
    void *arguments[] = { &batch, &kernel.parameters, &partials, &blocks_done };
    const dim3 blocks(image_blocks(context, count, SCALAR_BLOCKS), count);
    return skeleton_launch(context, calls, kernel, blocks, SCALAR_THREADS, 0, arguments);
}

static inline enum status vector_launch(const struct cuda_context *context,
                                        const struct op_call *calls, int count,
                                        struct skeleton_kernel kernel, int bins) {
    struct batch batch;
    const enum status status = batch_init_values(&batch, calls, count, chunk_pixels(&calls[0].in));
    if (status) return status;
    const size_t length = (size_t)bins * image_colours(&calls[0].in);
    int copies = vector_copies(length, context->shared_bytes);
    const size_t shared_bytes = copies * length * sizeof(int);
    for (int i = 0; i < count; i++)
        CUDA_TRY(calls[0].failure,
                 cudaMemsetAsync(calls[i].values, 0, length * sizeof(int), context->stream));
    CUDA_TRY(calls[0].failure,
             cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)shared_bytes));
    const dim3 blocks(image_blocks(context, count, VECTOR_BLOCKS), count);
    void *arguments[] = { &batch, &kernel.parameters, &bins, &copies };
    return skeleton_launch(context, calls, kernel, blocks, VECTOR_THREADS, shared_bytes, arguments);
}

#endif

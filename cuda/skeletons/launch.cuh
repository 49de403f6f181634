// SPDX-License-Identifier: Apache-2.0
/* launch.cuh - launches a kernel made of a skeleton.
 *
 * Used by:  user_twin.cu; cuda/ops/{brightness,threshold,convolve}.cu, which are skeletons with a
 *           rule; the ladder of tests/bench/kernels.
 * Fails:    as batch.cuh and check.cuh say.
 * Threads:  the lane's.
 *
 * How it works. Batch, grid and arguments come from the calls and the device. A kernel is given by
 * address, compiled by nvcc or at run time. Its arguments, by value:
 *   P2P  batch, parameters, channels, alpha_mask; of whole pixels batch, parameters
 *   N2P  batch, parameters, rows of a strip
 *   R2S  batch, parameters, partial numbers, blocks_done
 *   R2V  batch, parameters, bins, copies of the lists in shared memory
 * A built-in operator has a RULE in place of parameters, which contains the function: for a P2P
 * `uint32_t apply<DEPTH>(uint32_t sample) const`, for an N2P `uint32_t apply(window) const`.
 */
#ifndef BURIN_SKELETON_LAUNCH_CUH
#define BURIN_SKELETON_LAUNCH_CUH

#include "cuda/batch.cuh"
#include "cuda/skeletons/neighbourhood.cuh"
#include "cuda/skeletons/parameters.cuh"
#include "cuda/skeletons/pixel.cuh"
#include "cuda/skeletons/point.cuh"
#include "cuda/skeletons/scalar.cuh"
#include "cuda/skeletons/vector.cuh"

/* A kernel, its parameters, the same for all calls, and its name in the timing report, a
 * constant. */
struct skeleton_kernel {
    const void *function;
    const void *parameters; /* skeleton_parameters, or a RULE */
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

/* ---- P2P */

static inline struct alpha_mask alpha_mask_of(unsigned channels, unsigned depth) {
    struct alpha_mask alpha = {};
    const unsigned pixel = channels * depth / 8;
    for (unsigned i = 0; channels % 2 == 0 && i < 16; i++)
        if (i % pixel >= pixel - depth / 8) alpha.words[i / 4] |= 0xffu << 8 * (i % 4);
    return alpha;
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
    void *arguments[] = { &batch, (void *)kernel.parameters, &channels, &alpha };
    const unsigned blocks = (batch.chunks + POINT_THREADS - 1) / POINT_THREADS;
    return skeleton_launch(context, calls, kernel, blocks, POINT_THREADS, 0, arguments);
}

template <int DEPTH, class RULE>
static __global__ void __launch_bounds__(POINT_THREADS)
    point_kernel(const __grid_constant__ struct batch batch, const __grid_constant__ RULE rule,
                 unsigned channels, struct alpha_mask alpha) {
    const auto function = [&](uint32_t sample, const struct burin_place &) {
        return rule.template apply<DEPTH>(sample);
    };
    point_chunk<DEPTH>(batch, function, channels, alpha);
}

template <class RULE>
static enum status point_run(const struct cuda_context *context, const struct op_call *calls,
                             int count, const RULE &rule, const char *name) {
    const void *function = calls[0].in.depth == 8 ? (const void *)point_kernel<8, RULE>
                                                  : (const void *)point_kernel<16, RULE>;
    return point_launch(context, calls, count, { function, &rule, name });
}

/* ---- N2P */

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
    void *arguments[] = { &batch, (void *)kernel.parameters, &rows };
    const unsigned blocks = (batch.chunks + NEIGHBOURHOOD_THREADS - 1) / NEIGHBOURHOOD_THREADS;
    return skeleton_launch(context, calls, kernel, blocks, NEIGHBOURHOOD_THREADS, 0, arguments);
}

template <class T, class RULE>
static __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS, T::BLOCKS)
    neighbourhood_kernel(const __grid_constant__ struct batch batch,
                         const __grid_constant__ RULE rule, unsigned rows) {
    typedef typename T::sample window[T::SIDE][T::SIDE];
    const auto function = [&](const window &samples, const struct burin_place &) {
        return rule.apply(samples);
    };
    neighbourhood_strip<T>(batch, function, rows);
}

template <int DEPTH, int REACH, class RULE>
static const void *neighbourhood_function(unsigned channels) {
    static const void *const functions[] = {
        (const void *)neighbourhood_kernel<neighbourhood_traits<DEPTH, 1, REACH>, RULE>,
        (const void *)neighbourhood_kernel<neighbourhood_traits<DEPTH, 2, REACH>, RULE>,
        (const void *)neighbourhood_kernel<neighbourhood_traits<DEPTH, 3, REACH>, RULE>,
        (const void *)neighbourhood_kernel<neighbourhood_traits<DEPTH, 4, REACH>, RULE>,
    };
    return functions[channels - 1];
}

/* Windows of 2 * REACH + 1. */
template <int REACH, class RULE>
static enum status neighbourhood_run(const struct cuda_context *context,
                                     const struct op_call *calls, int count, const RULE &rule,
                                     const char *name) {
    const unsigned channels = calls[0].in.channels;
    const void *function = calls[0].in.depth == 8
                               ? neighbourhood_function<8, REACH, RULE>(channels)
                               : neighbourhood_function<16, REACH, RULE>(channels);
    return neighbourhood_launch(context, calls, count, { function, &rule, name });
}

/* ---- whole pixels */

/* Pixels of a chunk: pixels_traits::PIXELS. */
static inline unsigned chunk_pixels(const struct image *in) {
    return (in->channels == 3 ? 48 : 16) / (unsigned)image_pixel_bytes(in);
}

static inline enum status pixel_launch(const struct cuda_context *context,
                                       const struct op_call *calls, int count,
                                       struct skeleton_kernel kernel) {
    struct batch batch;
    const enum status status = batch_init(&batch, calls, count, chunk_pixels(&calls[0].in));
    if (status) return status;
    void *arguments[] = { &batch, (void *)kernel.parameters };
    const unsigned blocks = (batch.chunks + PIXEL_THREADS - 1) / PIXEL_THREADS;
    return skeleton_launch(context, calls, kernel, blocks, PIXEL_THREADS, 0, arguments);
}

/* ---- R2S and R2V */

/* Blocks for an image: together as many as run at once, or one for each image. */
static inline unsigned image_blocks(const struct cuda_context *context, int count, int at_once) {
    return (unsigned)((at_once * context->multiprocessors + count - 1) / count);
}

/* A number takes up to 8 bytes, and a flag that it is there. */
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
    void *arguments[] = { &batch, (void *)kernel.parameters, &partials, &blocks_done };
    const dim3 blocks(image_blocks(context, count, SCALAR_BLOCKS), count);
    return skeleton_launch(context, calls, kernel, blocks, SCALAR_THREADS, 0, arguments);
}

static inline enum status vector_launch(const struct cuda_context *context,
                                        const struct op_call *calls, int count,
                                        struct skeleton_kernel kernel, int bins) {
    struct batch batch;
    const enum status status = batch_init_values(&batch, calls, count, chunk_pixels(&calls[0].in));
    if (status) return status;
    const unsigned colours = image_colours(&calls[0].in);
    const size_t length = (size_t)bins * colours;
    int copies = vector_copies(bins, colours, context->shared_bytes);
    const size_t shared_bytes = copies * vector_copy_bytes(bins, colours);
    for (int i = 0; i < count; i++)
        CUDA_TRY(calls[0].failure,
                 cudaMemsetAsync(calls[i].values, 0, length * sizeof(int), context->stream));
    CUDA_TRY(calls[0].failure,
             cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)shared_bytes));
    const dim3 blocks(image_blocks(context, count, VECTOR_BLOCKS), count);
    void *arguments[] = { &batch, (void *)kernel.parameters, &bins, &copies };
    return skeleton_launch(context, calls, kernel, blocks, VECTOR_THREADS, shared_bytes, arguments);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* jpeg_operator.cuh - the operator between decoding and encoding, over a batch of one shape, and
 * what it needs of a device.
 *
 * Used by:  jpeg_batches.cu, nvjpeg_batches.cu.
 * Owns:     nothing; memory is the caller's.
 * Fails:    a status and its sentence.
 */
#ifndef BURIN_JPEG_OPERATOR_CUH
#define BURIN_JPEG_OPERATOR_CUH

#include "cuda/check.cuh"
#include "cuda/cuda_op.h"
#include "tests/bench/burin-bench/jpeg_batches.h"

static inline int jpeg_operator_attribute(int device, cudaDeviceAttr attribute) {
    int value = 0;
    cudaDeviceGetAttribute(&value, attribute, device);
    return value;
}

/* All but `zeroed`, which is the caller's memory. */
static inline struct cuda_context jpeg_operator_context(int device, cudaStream_t stream) {
    struct cuda_context context = {};
    context.stream = stream;
    context.multiprocessors = jpeg_operator_attribute(device, cudaDevAttrMultiProcessorCount);
    context.capability = 10 * jpeg_operator_attribute(device, cudaDevAttrComputeCapabilityMajor) +
                         jpeg_operator_attribute(device, cudaDevAttrComputeCapabilityMinor);
    context.shared_bytes = jpeg_operator_attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    return context;
}

/* COUNT calls of pictures that lie STRIDE bytes apart. */
static inline void jpeg_operator_calls(struct op_call *calls, const struct jpeg_batches *batches,
                                       int count, uint8_t *in, uint8_t *out, size_t stride,
                                       struct failure *failure) {
    for (int i = 0; i < count; i++) {
        calls[i] = {};
        calls[i].op = batches->op;
        calls[i].params = batches->params;
        calls[i].in = calls[i].out = batches->subjects[0].pixels;
        calls[i].in.pixels = in + i * stride;
        calls[i].out.pixels = out + i * stride;
        calls[i].failure = failure;
    }
}

static inline int jpeg_operator_part(int count) {
    return count < CUDA_BATCH_MAX ? count : (int)CUDA_BATCH_MAX;
}

static inline size_t jpeg_operator_scratch(const struct cuda_context *context,
                                           const struct jpeg_batches *batches) {
    struct op_call calls[CUDA_BATCH_MAX];
    const struct cuda_op *twin = cuda_twin(batches->op);
    const int count = jpeg_operator_part(batches->batch);
    if (!twin || !twin->scratch) return 0;
    jpeg_operator_calls(calls, batches, count, NULL, NULL, 0, NULL);
    return twin->scratch(context, calls, count);
}

/* The batch, as many pictures at once as an operator takes. */
static inline enum status jpeg_operator_run(const struct cuda_context *context,
                                            const struct jpeg_batches *batches, uint8_t *in,
                                            uint8_t *out, size_t stride, void *scratch,
                                            size_t scratch_bytes, struct failure *failure) {
    struct op_call calls[CUDA_BATCH_MAX];
    const struct cuda_op *twin = cuda_twin(batches->op);
    enum status status = STATUS_OK;
    if (!twin)
        return fail(failure, STATUS_BAD_PARAM, "%s does not run on a GPU", batches->op->name);
    for (int done = 0; !status && done < batches->batch; done += CUDA_BATCH_MAX) {
        const int count = jpeg_operator_part(batches->batch - done);
        jpeg_operator_calls(calls, batches, count, in + done * stride, out + done * stride, stride,
                            failure);
        calls[0].scratch = scratch;
        calls[0].scratch_bytes = scratch_bytes;
        status = twin->run(context, calls, count);
    }
    return status;
}

#endif

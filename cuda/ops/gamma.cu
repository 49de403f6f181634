// SPDX-License-Identifier: Apache-2.0
/* Each sample goes through the host's table: cuda/skeletons/point.cuh. A table of 8 bits is a
 * parameter of the launch, and every block copies it to shared memory, where threads may read
 * different places at once. A table of 16 bits stays on the device, and is read through the
 * cache. */
#include "pipeline/ops/gamma.h"

#include "cuda/device_tables.cuh"
#include "cuda/skeletons/launch.cuh"

enum { GAMMA_KEY = 0x67616d6d, LEVELS = 256, LEVELS16 = 65536 };

struct gamma8 {
    uint32_t words[LEVELS / 4];
};

static __global__ void __launch_bounds__(POINT_THREADS)
    gamma8_kernel(const __grid_constant__ struct batch batch,
                  const __grid_constant__ struct gamma8 table, unsigned channels,
                  struct alpha_mask alpha) {
    __shared__ uint32_t levels[LEVELS / 4];
    if (threadIdx.x < LEVELS / 4) levels[threadIdx.x] = table.words[threadIdx.x];
    __syncthreads();
    const auto function = [&](uint32_t sample, const struct burin_place &) -> uint32_t {
        return ((const uint8_t *)levels)[sample];
    };
    point_chunk<8>(batch, function, channels, alpha);
}

static __global__ void __launch_bounds__(POINT_THREADS)
    gamma16_kernel(const __grid_constant__ struct batch batch, const uint16_t *table,
                   unsigned channels, struct alpha_mask alpha) {
    const auto function = [&](uint32_t sample, const struct burin_place &) -> uint32_t {
        return __ldg(table + sample);
    };
    point_chunk<16>(batch, function, channels, alpha);
}

static uint32_t make_table16(const struct device_table_key *key, void *memory) {
    gamma_table16(key->numbers[0], 0, LEVELS16, (uint16_t *)memory);
    return 1;
}

/* If the batch's other tables leave no room, waits until their kernels are done. */
static enum status get_table16(const struct cuda_context *context, long gamma,
                               struct device_table *table, struct failure *failure) {
    const struct device_table_key key = { { (uint32_t)gamma, 0, 0, 0, 0, GAMMA_KEY } };
    const size_t bytes = LEVELS16 * sizeof(uint16_t);
    enum status status = device_tables_get(context->tables, context->stream, &key, bytes,
                                           make_table16, table, failure);
    if (status || table->memory) return status;
    CUDA_TRY(failure, cudaStreamSynchronize(context->stream));
    device_tables_next_batch(context->tables);
    return device_tables_get(context->tables, context->stream, &key, bytes, make_table16, table,
                             failure);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct op_call samples[CUDA_BATCH_MAX];
    struct batch batch;
    const unsigned channels = calls[0].in.channels, depth = calls[0].in.depth;
    const long gamma = calls[0].params->number[GAMMA_GAMMA];
    const struct alpha_mask alpha = alpha_mask_of(channels, depth);
    batch_sample_calls(samples, calls, count);
    enum status status = batch_init(&batch, samples, count, 128 / depth);
    if (status) return status;
    const unsigned blocks = (batch.chunks + POINT_THREADS - 1) / POINT_THREADS;
    if (depth == 8) {
        struct gamma8 table;
        gamma_table8(gamma, (uint8_t *)table.words);
        gamma8_kernel<<<blocks, POINT_THREADS, 0, context->stream>>>(batch, table, channels, alpha);
    } else {
        struct device_table table;
        status = get_table16(context, gamma, &table, calls[0].failure);
        if (status) return status;
        gamma16_kernel<<<blocks, POINT_THREADS, 0, context->stream>>>(
            batch, (const uint16_t *)table.memory, channels, alpha);
    }
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "gamma");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_gamma = { NULL, run };

// SPDX-License-Identifier: Apache-2.0
/* How it works. A row is a sequence of samples, for any number of channels; a thread takes
 * CHUNKS times 16 bytes, which it loads before it waits for the table. A table of 8 bits lies
 * in shared memory, where 256 bytes are two rows of banks: neighbours that read different places
 * wait for each other once at most. It gets there as a parameter of the launch. A table of 16 bits
 * stays in device memory, and is read through the cache. All samples are looked up, and those that
 * are kept are then taken from the input, by a mask that depends on the channel with which a chunk
 * begins: of three channels there are three. */
#include "cuda/tone.cuh"

#include "cuda/batch.cuh"

enum { THREADS = 256, CHUNKS = 2 };

struct table8 {
    uint32_t words[TONE_LEVELS8 / 4];
};

/* All ones in a chunk's bytes that are kept, by the channel of its first sample. */
struct kept_bytes {
    uint32_t words[3][4];
};

static inline struct kept_bytes kept_of(const struct image *in, int channel) {
    struct kept_bytes kept = {};
    const unsigned channels = in->channels, sample = in->depth / 8u;
    for (unsigned first = 0; first < 3; first++)
        for (unsigned i = 0; i < 16; i++) {
            const unsigned c = (first + i / sample) % channels;
            const bool alpha = image_has_alpha(in) && c == channels - 1;
            if (alpha || (channel != TONE_ALL && c != (unsigned)channel))
                kept.words[first][i / 4] |= 0xffu << 8 * (i % 4);
        }
    return kept;
}

/* A thread's chunks of the batch, THREADS apart. */
template <int DEPTH> struct thread_chunks {
    uint32_t words[CHUNKS][4];
    uint8_t *out[CHUNKS];
    uint32_t bytes[CHUNKS]; /* 0: there is none */
    uint32_t first[CHUNKS]; /* channel of the first sample, of three */
    bool aligned[CHUNKS];
};

template <int DEPTH, int CAPACITY>
static __device__ __forceinline__ void load_chunks(const struct batch_of<CAPACITY> &batch,
                                                   unsigned channels,
                                                   struct thread_chunks<DEPTH> &chunks) {
    constexpr int SAMPLES = 128 / DEPTH, BYTES = DEPTH / 8;
#pragma unroll
    for (int k = 0; k < CHUNKS; k++) {
        const uint32_t chunk = (blockIdx.x * CHUNKS + k) * THREADS + threadIdx.x;
        chunks.bytes[k] = 0;
        if (chunk >= batch.chunks) continue;
        const struct batch_image &image = batch.images[batch_find(batch, chunk)];
        const struct chunk_memory memory =
            chunk_memory_of<SAMPLES, BYTES, BYTES>(image, chunk - image.first_chunk);
        const uint32_t column = chunk_position_of(image, chunk - image.first_chunk).x;
        chunks.bytes[k] = memory.pixels * BYTES;
        chunks.out[k] = memory.out;
        chunks.aligned[k] = image.aligned;
        chunks.first[k] = channels == 3 ? column * SAMPLES % 3 : 0;
        load_chunk(chunks.words[k], memory.in, chunks.bytes[k], image.aligned);
    }
}

template <int DEPTH, class LOOKUP>
static __device__ __forceinline__ void store_chunks(const struct thread_chunks<DEPTH> &chunks,
                                                    const uint32_t (*kept)[4],
                                                    const LOOKUP &look_up) {
#pragma unroll
    for (int k = 0; k < CHUNKS; k++) {
        if (!chunks.bytes[k]) continue;
        uint32_t out[4] = {};
#pragma unroll
        for (int i = 0; i < 128 / DEPTH; i++)
            chunk_set_sample<DEPTH>(out, i, look_up(chunk_sample<DEPTH>(chunks.words[k], i)));
        const uint32_t *mask = kept[chunks.first[k]];
#pragma unroll
        for (int i = 0; i < 4; i++) out[i] = (out[i] & ~mask[i]) | (chunks.words[k][i] & mask[i]);
        store_chunk(out, chunks.out[k], chunks.bytes[k], chunks.aligned[k]);
    }
}

template <int CAPACITY>
static __global__ void __launch_bounds__(THREADS)
    tone8_kernel(const __grid_constant__ struct table8 table,
                 const __grid_constant__ struct kept_bytes kept, unsigned channels,
                 const __grid_constant__ struct batch_of<CAPACITY> batch) {
    __shared__ uint32_t levels[TONE_LEVELS8 / 4], masks[3][4];
    struct thread_chunks<8> chunks;
    load_chunks<8>(batch, channels, chunks);
    if (threadIdx.x < TONE_LEVELS8 / 4) levels[threadIdx.x] = table.words[threadIdx.x];
    if (threadIdx.x < 12)
        masks[threadIdx.x / 4][threadIdx.x % 4] = kept.words[threadIdx.x / 4][threadIdx.x % 4];
    __syncthreads();
    store_chunks<8>(chunks, masks,
                    [&](uint32_t sample) -> uint32_t { return ((const uint8_t *)levels)[sample]; });
}

static __global__ void __launch_bounds__(THREADS)
    tone16_kernel(const uint16_t *table, const __grid_constant__ struct kept_bytes kept,
                  unsigned channels, const __grid_constant__ struct batch batch) {
    struct thread_chunks<16> chunks;
    load_chunks<16>(batch, channels, chunks);
    store_chunks<16>(chunks, kept.words,
                     [&](uint32_t sample) -> uint32_t { return __ldg(table + sample); });
}

/* ---- host */

static inline unsigned blocks_of(uint32_t chunks) {
    return (chunks + CHUNKS * THREADS - 1) / (CHUNKS * THREADS);
}

/* If the batch's other tables leave no room, waits until their kernels are done. */
static enum status get_table16(const struct cuda_context *context, const struct params *params,
                               const struct tone_operator &op, struct device_table *table,
                               struct failure *failure) {
    struct device_table_key key = {};
    const size_t bytes = TONE_LEVELS16 * sizeof(uint16_t);
    for (int i = 0; i < TONE_KEY_PARAMS; i++) key.numbers[i] = (uint32_t)params->number[i];
    key.numbers[TONE_KEY_PARAMS] = op.number;
    enum status status =
        device_tables_get(context->tables, context->stream, &key, bytes, op.make16, table, failure);
    if (status || table->memory) return status;
    CUDA_TRY(failure, cudaStreamSynchronize(context->stream));
    device_tables_next_batch(context->tables);
    return device_tables_get(context->tables, context->stream, &key, bytes, op.make16, table,
                             failure);
}

/* One image's launch has a smaller parameter block, which reaches the GPU sooner. */
template <int CAPACITY>
static enum status launch8(const struct cuda_context *context, const struct op_call *calls,
                           const struct op_call *samples, int count, const struct table8 &table,
                           const struct kept_bytes &kept) {
    struct batch_of<CAPACITY> batch;
    const enum status status = batch_init(&batch, samples, count, 16);
    if (status) return status;
    tone8_kernel<CAPACITY><<<blocks_of(batch.chunks), THREADS, 0, context->stream>>>(
        table, kept, calls[0].in.channels, batch);
    return STATUS_OK;
}

enum status tone_run(const struct cuda_context *context, const struct op_call *calls, int count,
                     int channel, const struct tone_operator &op) {
    struct op_call samples[CUDA_BATCH_MAX];
    struct failure *failure = calls[0].failure;
    const struct kept_bytes kept = kept_of(&calls[0].in, channel);
    enum status status;
    batch_sample_calls(samples, calls, count);
    if (calls[0].in.depth == 8) {
        struct table8 table;
        op.fill(calls[0].params, 8, 0, TONE_LEVELS8, table.words);
        status = (count == 1 ? launch8<1> : launch8<CUDA_BATCH_MAX>)(context, calls, samples, count,
                                                                     table, kept);
        if (status) return status;
    } else {
        struct batch batch;
        struct device_table table;
        status = batch_init(&batch, samples, count, 8);
        if (!status) status = get_table16(context, calls[0].params, op, &table, failure);
        if (status) return status;
        tone16_kernel<<<blocks_of(batch.chunks), THREADS, 0, context->stream>>>(
            (const uint16_t *)table.memory, kept, calls[0].in.channels, batch);
    }
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, op.name);
    return STATUS_OK;
}

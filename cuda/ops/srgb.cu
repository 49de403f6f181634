// SPDX-License-Identifier: Apache-2.0
/* A thread reads 16 pixels (8 of 16 bits) and converts each by its image's table, which lies in
 * device memory beside the image: 16-byte loads and stores, and table lookups through the cache. */
#include "pipeline/ops/srgb.h"

#include "cuda/batch.cuh"

enum { THREADS = 128 };

/* Units of bytes in which the lane places inputs. Pointers would not fit beside a batch into the
 * parameters of a launch. */
enum { PLACE = 256 };

struct tables {
    const uint8_t *first;
    uint32_t at[CUDA_BATCH_MAX]; /* from `first`, in PLACE bytes; UINT32_MAX: pixels are copied */
};

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    srgb_kernel(const __grid_constant__ struct batch batch,
                const __grid_constant__ struct tables tables) {
    constexpr int PIXELS = 128 / DEPTH, PIXEL = CHANNELS * DEPTH / 8;
    const uint32_t chunk = blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const int number = batch_find(batch, chunk);
    const struct batch_image &image = batch.images[number];
    const struct srgb_table *table =
        tables.at[number] == UINT32_MAX
            ? NULL
            : (const struct srgb_table *)(tables.first + (size_t)tables.at[number] * PLACE);
    const struct chunk_memory memory =
        chunk_memory_of<PIXELS, PIXEL, PIXEL>(image, chunk - image.first_chunk);
    uint32_t words[4 * CHANNELS];
    load_chunk(words, memory.in, memory.pixels * PIXEL, image.aligned);
    if (table && table->side != SRGB_VOID) {
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            const int i = p * CHANNELS;
            if (CHANNELS < 3) {
                chunk_set_sample<DEPTH>(words, i,
                                        srgb_curves(table)[chunk_sample<DEPTH>(words, i)]);
                continue;
            }
            const uint32_t in[3] = { chunk_sample<DEPTH>(words, i),
                                     chunk_sample<DEPTH>(words, i + 1),
                                     chunk_sample<DEPTH>(words, i + 2) };
            uint32_t out[3];
            srgb_convert(table, in, out, DEPTH);
#pragma unroll
            for (int c = 0; c < 3; c++) chunk_set_sample<DEPTH>(words, i + c, out[c]);
        }
    }
    store_chunk(words, memory.out, memory.pixels * PIXEL, image.aligned);
}

template <int DEPTH>
static void launch(cudaStream_t stream, unsigned channels, const struct batch &batch,
                   const struct tables &tables) {
    const unsigned blocks = (batch.chunks + THREADS - 1) / THREADS;
    switch (channels) {
    case 1: srgb_kernel<1, DEPTH><<<blocks, THREADS, 0, stream>>>(batch, tables); break;
    case 2: srgb_kernel<2, DEPTH><<<blocks, THREADS, 0, stream>>>(batch, tables); break;
    case 3: srgb_kernel<3, DEPTH><<<blocks, THREADS, 0, stream>>>(batch, tables); break;
    default: srgb_kernel<4, DEPTH><<<blocks, THREADS, 0, stream>>>(batch, tables); break;
    }
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct batch batch;
    struct tables tables = {};
    const enum status status = batch_init(&batch, calls, count, 128 / calls[0].in.depth);
    if (status) return status;
    for (int i = 0; i < count; i++) {
        const struct image *table = &calls[i].table;
        if (table->width && (!tables.first || table->pixels < tables.first))
            tables.first = table->pixels;
    }
    for (int i = 0; i < count; i++) {
        const struct image *table = &calls[i].table;
        tables.at[i] =
            table->width ? (uint32_t)((table->pixels - tables.first) / PLACE) : UINT32_MAX;
    }
    if (calls[0].in.depth == 8)
        launch<8>(context->stream, calls[0].in.channels, batch, tables);
    else
        launch<16>(context->stream, calls[0].in.channels, batch, tables);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "srgb");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_srgb = { NULL, run };

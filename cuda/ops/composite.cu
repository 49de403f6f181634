// SPDX-License-Identifier: Apache-2.0
/* How it works. A thread makes four pixels of a row: it reads words of the picture, and the
 * overlay's four pixels by 16-byte loads from any address. Where the overlay ends within the four,
 * and where tiles meet, it reads pixel by pixel. Scaled overlays are made first, by resize's twin,
 * in one batch for each depth. */
#include "pipeline/ops/composite.h"

#include "cuda/batch.cuh"
#include "cuda/device_tables.cuh"
#include "cuda/ops/move/load_any.cuh"
#include "pipeline/arena.h"

enum { THREADS = 256, PIXELS = 4 };

/* An overlay, by its picture's place in the batch. */
struct overlay {
    const uint8_t *pixels;
    uint32_t stride;
    int32_t width, height, left, top; /* width 0: there is none */
    uint32_t deep;                    /* 16 bits */
};

struct overlays {
    uint32_t opacity;
    int blend;
    bool tile;
    struct overlay all[CUDA_BATCH_MAX];
};

/* ---- the kernel */

/* Four pixels of a row as samples, RGBA each. */
typedef uint32_t fronts[PIXELS][4];

template <int DEPTH>
static __device__ __forceinline__ void read_front(uint32_t (&front)[4], const uint8_t *row,
                                                  uint32_t x) {
    const uint8_t *const pixel = row + (size_t)x * (DEPTH / 2);
#pragma unroll
    for (int c = 0; c < 4; c++) front[c] = load_sample<DEPTH>(pixel, c);
}

/* X: the place in the overlay of the first pixel, which may be outside unless TILE. */
template <int DEPTH>
static __device__ __forceinline__ void read_fronts(fronts &front, const struct overlay &over,
                                                   const uint8_t *row, int32_t x, bool tile) {
    if (x >= 0 && x + PIXELS <= over.width) {
        uint32_t words[DEPTH / 2];
        load_any(words, row + (size_t)x * (DEPTH / 2), PIXELS * (DEPTH / 2));
#pragma unroll
        for (int p = 0; p < PIXELS; p++)
#pragma unroll
            for (int c = 0; c < 4; c++) front[p][c] = chunk_sample<DEPTH>(words, 4 * p + c);
        return;
    }
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        const int32_t at = tile ? (x + p) % over.width : x + p;
        front[p][3] = 0;
        if (at >= 0 && at < over.width) read_front<DEPTH>(front[p], row, (uint32_t)at);
    }
}

/* The overlay's part over the four pixels at X, Y; false: there is none. */
static __device__ __forceinline__ bool find_fronts(fronts &front, const struct overlays &overlays,
                                                   const struct overlay &over, uint32_t x,
                                                   uint32_t y) {
    if (over.width == 0) return false;
    int32_t column = (int32_t)x - over.left, line = (int32_t)y - over.top;
    if (overlays.tile) { /* of which the first begins at or before 0 */
        column %= over.width;
        line %= over.height;
    } else if (line < 0 || line >= over.height || column <= -PIXELS || column >= over.width) {
        return false;
    }
    const uint8_t *const row = over.pixels + (size_t)line * over.stride;
    if (over.deep)
        read_fronts<16>(front, over, row, column, overlays.tile);
    else
        read_fronts<8>(front, over, row, column, overlays.tile);
    return true;
}

/* Words of PIXELS pixels from an address that may be odd. */
template <int WORDS>
static __device__ __forceinline__ void load_words(uint32_t (&words)[WORDS], const uint8_t *from,
                                                  uint32_t bytes, bool aligned) {
    if (!aligned || bytes < 4 * WORDS) return load_unaligned(words, from, bytes);
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = __ldg((const uint32_t *)from + i);
}

template <int WORDS>
static __device__ __forceinline__ void store_words(const uint32_t (&words)[WORDS], uint8_t *to,
                                                   uint32_t bytes, bool aligned) {
    const bool whole = aligned && bytes == 4 * WORDS;
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        if (whole) __stcs((uint32_t *)to + i, words[i]);
    if (whole) return;
#pragma unroll
    for (int i = 0; i < 4 * WORDS; i++)
        if (i < bytes) to[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
}

/* OUT differs from IN where a gray picture becomes RGB. BLENDS: the blend is not `over`. */
template <int IN, int OUT, int DEPTH, bool BLENDS>
static __global__ void __launch_bounds__(THREADS)
    composite_kernel(const __grid_constant__ struct batch batch,
                     const __grid_constant__ struct overlays overlays) {
    constexpr int SAMPLE = DEPTH / 8, COLOURS = OUT < 3 ? 1 : 3;
    const uint32_t chunk = blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const int number = batch_find(batch, chunk);
    const struct batch_image &image = batch.images[number];
    const struct chunk_position position = chunk_position_of(image, chunk - image.first_chunk);
    const uint32_t x = position.x * PIXELS, y = position.y;
    const uint32_t pixels = min(image.width - x, (uint32_t)PIXELS);
    uint32_t in[IN * SAMPLE], out[OUT * SAMPLE] = {};
    fronts front;
    load_words(in, image.in + (uint64_t)y * image.in_stride + x * (IN * SAMPLE),
               pixels * IN * SAMPLE, image.aligned);
    const bool covered = find_fronts(front, overlays, overlays.all[number], x, y);
    const unsigned over_depth = overlays.all[number].deep ? 16 : 8;
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        uint32_t back[4];
#pragma unroll
        for (int c = 0; c < OUT; c++)
            back[c] = chunk_sample<DEPTH>(in, p * IN + (IN == OUT ? c : c == 3 ? 1 : 0));
        if (covered && front[p][3]) {
            composite_front(front[p], over_depth, COLOURS, DEPTH, overlays.opacity);
            composite_pixel(back, front[p], OUT, DEPTH, BLENDS ? overlays.blend : BLEND_OVER);
        }
#pragma unroll
        for (int c = 0; c < OUT; c++) chunk_set_sample<DEPTH>(out, p * OUT + c, back[c]);
    }
    store_words(out, image.out + (uint64_t)y * image.out_stride + x * (OUT * SAMPLE),
                pixels * OUT * SAMPLE, image.aligned);
}

template <int DEPTH, bool BLENDS>
static void launch(cudaStream_t stream, unsigned in, unsigned out, const struct batch &batch,
                   const struct overlays &overlays) {
    const unsigned blocks = (batch.chunks + THREADS - 1) / THREADS;
#define COMPOSITE(in, out)                                                                         \
    composite_kernel<in, out, DEPTH, BLENDS><<<blocks, THREADS, 0, stream>>>(batch, overlays)
    switch (in * 10 + out) {
    case 11: COMPOSITE(1, 1); break;
    case 13: COMPOSITE(1, 3); break;
    case 22: COMPOSITE(2, 2); break;
    case 24: COMPOSITE(2, 4); break;
    case 33: COMPOSITE(3, 3); break;
    default: COMPOSITE(4, 4); break;
    }
#undef COMPOSITE
}

/* ---- scaled overlays */

/* The calls of resize for the overlays of one depth. */
struct scaling {
    int count;
    struct op_call calls[CUDA_BATCH_MAX];
    struct params params[CUDA_BATCH_MAX];
};

/* Adds the calls for overlays of DEPTH; OVERS have composite_shape() and memory. */
static void scaling_make(struct scaling *scaling, const struct op_call *calls, int count,
                         const struct image *overs, unsigned depth) {
    scaling->count = 0;
    for (int i = 0; i < count; i++) {
        if (!composite_scales(&calls[i]) || calls[i].aux[0].depth != depth) continue;
        struct params *const params = &scaling->params[scaling->count];
        scaling->calls[scaling->count++] = composite_resize(&calls[i], &overs[i], params);
    }
}

/* Lays the overlays out in SCRATCH, which may be NULL; returns the bytes they take. */
static size_t lay_out(const struct op_call *calls, int count, uint8_t *scratch,
                      struct image *overs) {
    struct arena arena = { scratch, 0 };
    for (int i = 0; i < count; i++) {
        overs[i] = calls[i].aux[0];
        if (!composite_scales(&calls[i])) continue;
        overs[i] = composite_shape(calls[i].params, &calls[i].in, &calls[i].aux[0]);
        arena.used = (arena.used + 255) / 256 * 256; /* as an image begins */
        overs[i].pixels = (uint8_t *)arena_take(&arena, image_bytes(&overs[i]));
    }
    return (arena.used + 255) / 256 * 256;
}

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    struct image overs[CUDA_BATCH_MAX];
    struct scaling scaling;
    const size_t images = lay_out(calls, count, NULL, overs);
    size_t most = 0;
    for (unsigned depth = 8; depth <= 16; depth += 8) {
        scaling_make(&scaling, calls, count, overs, depth);
        if (!scaling.count) continue;
        const struct cuda_op *const resize = cuda_twin(scaling.calls[0].op);
        const size_t bytes = resize->scratch(context, scaling.calls, scaling.count);
        if (bytes > most) most = bytes;
    }
    return images + most;
}

/* Overlays of a second depth may need the room of the first ones' tables. */
static enum status scale_overlays(const struct cuda_context *context, const struct op_call *calls,
                                  int count, const struct image *overs, size_t images) {
    struct scaling scaling;
    bool again = false;
    enum status status = STATUS_OK;
    for (unsigned depth = 8; depth <= 16 && !status; depth += 8) {
        scaling_make(&scaling, calls, count, overs, depth);
        if (!scaling.count) continue;
        if (again) {
            CUDA_TRY(calls[0].failure, cudaStreamSynchronize(context->stream));
            device_tables_next_batch(context->tables);
        }
        again = true;
        scaling.calls[0].failure = calls[0].failure;
        scaling.calls[0].scratch = (uint8_t *)calls[0].scratch + images;
        scaling.calls[0].scratch_bytes = calls[0].scratch_bytes - images;
        status = cuda_twin(scaling.calls[0].op)->run(context, scaling.calls, scaling.count);
    }
    return status;
}

/* ---- the twin */

static struct overlay overlay_of(const struct op_call *call, const struct image *over) {
    struct overlay overlay = {};
    if (!over->width) return overlay;
    const struct composite_corner corner = composite_corner_of(call, over);
    const bool tile = call->params->number[COMPOSITE_TILE];
    overlay.pixels = over->pixels;
    overlay.stride = (uint32_t)over->stride;
    overlay.width = (int32_t)over->width, overlay.height = (int32_t)over->height;
    overlay.left = tile ? composite_first_tile(corner.left, over->width) : corner.left;
    overlay.top = tile ? composite_first_tile(corner.top, over->height) : corner.top;
    overlay.deep = over->depth == 16;
    return overlay;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct image overs[CUDA_BATCH_MAX];
    struct batch batch;
    struct overlays overlays = {};
    const long *const number = calls[0].params->number;
    const unsigned in = calls[0].in.channels, out = calls[0].out.channels;
    const size_t images = lay_out(calls, count, (uint8_t *)calls[0].scratch, overs);
    enum status status = scale_overlays(context, calls, count, overs, images);
    if (!status) status = batch_init(&batch, calls, count, PIXELS);
    if (status) return status;
    overlays.opacity = (uint32_t)number[COMPOSITE_OPACITY];
    overlays.blend = (int)number[COMPOSITE_BLEND];
    overlays.tile = number[COMPOSITE_TILE];
    for (int i = 0; i < count; i++) overlays.all[i] = overlay_of(&calls[i], &overs[i]);
    const bool blends = overlays.blend != BLEND_OVER;
    if (calls[0].in.depth == 8)
        (blends ? launch<8, true> : launch<8, false>)(context->stream, in, out, batch, overlays);
    else
        (blends ? launch<16, true> : launch<16, false>)(context->stream, in, out, batch, overlays);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "composite");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_composite = { scratch, run };

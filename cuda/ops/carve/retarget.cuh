// SPDX-License-Identifier: Apache-2.0
/* retarget.cuh - widths of pictures from the maps of their seams, in place of carving.
 *
 * Used by:  carve.cu, for calls with a map in op.common.
 * Fails:    as check.cuh says.
 * Limits:   1 to 4 channels of 8 or 16 bits; rows of any alignment; CUDA_BATCH_MAX calls.
 *
 * How it works: a block makes a row, chunk by chunk. While the chunk's pixels, and one on either
 * side, are on their way to shared memory, the block lists the source of each pixel of the result.
 * Where the picture grows, it lists seams too: from them it makes the new pixels, a thread one,
 * stores them behind the loaded ones, and lists them as well. Then it gathers pixels by the list, a
 * thread as many as fill whole 32-bit words, and writes them as a row. */
#ifndef BURIN_CARVE_RETARGET_CUH
#define BURIN_CARVE_RETARGET_CUH

#include "cuda/ops/carve/retarget_list.cuh"
#include "pipeline/ops/carve/definition.h"

/* A parameter by value: a single call must not pay for the parameters of a batch. */
template <int CAPACITY> struct retarget_batch { struct retarget_call calls[CAPACITY]; };

/* ---- new pixels */

/* A byte of the two pixels beside the chunk; at the row's ends, of the last pixel again. */
struct retarget_side {
    bool is; /* the first threads have one, if the picture grows */
    uint8_t value;
    uint32_t at; /* byte */
};

template <int BYTES>
DEVICE struct retarget_side retarget_side_of(const struct retarget_call &call,
                                             const struct retarget_chunk &chunk, const uint8_t *row,
                                             uint32_t start, uint32_t pixels) {
    const bool right = threadIdx.x >= BYTES;
    const uint32_t byte = threadIdx.x - (right ? BYTES : 0);
    const uint32_t x = right ? min(start + pixels, call.width - 1) : max(start, 1) - 1;
    struct retarget_side side = { call.grows && threadIdx.x < 2 * BYTES };
    if (side.is) side.value = row[(size_t)x * BYTES + byte];
    side.at = chunk.in + byte + (right ? pixels * BYTES : 0u - BYTES);
    return side;
}

/* A new pixel, the mean of three, whose bytes are adjacent from AT on. */
template <class SAMPLE, int CHANNELS>
DEVICE uint64_t retarget_mean(const uint32_t *words, uint32_t at) {
    enum {
        SAMPLES = 4 / sizeof(SAMPLE), /* in a word */
        PARTS = (3 * CHANNELS + SAMPLES - 1) / SAMPLES,
        WORDS = (3 * CHANNELS + 2 * SAMPLES - 2) / SAMPLES, /* that they span */
    };
    uint32_t parts[WORDS + 1] = { 0 };
    uint64_t pixel = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++) parts[i] = words[at / 4 + i];
#pragma unroll
    for (int i = 0; i < PARTS; i++) parts[i] = __funnelshift_r(parts[i], parts[i + 1], 8 * at);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        uint32_t sum = 1; /* carve_mean() of whole numbers is a third of it */
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            uint32_t which = 0; /* a byte a sample */
#pragma unroll
            for (int s = 0; s < SAMPLES; s++)
                if (i * SAMPLES + s < 3 * CHANNELS && (i * SAMPLES + s) % CHANNELS == c)
                    which |= 1u << 8 * s;
            sum = SAMPLES == 4 ? __dp4a(parts[i], which, sum) : __dp2a_lo(parts[i], which, sum);
        }
        pixel |= (uint64_t)(sum / 3) << 8 * sizeof(SAMPLE) * c;
    }
    return pixel;
}

/* Makes a new pixel behind each of the COUNT pixels with seams. */
template <class SAMPLE, int CHANNELS>
DEVICE void retarget_add(const struct retarget_chunk &chunk, uint32_t count) {
    typedef struct retarget_shape<SAMPLE, CHANNELS> shape;
    for (uint32_t n = threadIdx.x; n < count; n += RETARGET_THREADS) {
        const uint32_t here = chunk.seams[n], at = chunk.added + n * shape::SLOT;
        const uint64_t pixel = retarget_mean<SAMPLE, CHANNELS>(chunk.words, here - shape::BYTES);
        chunk.list[(here - chunk.in) / shape::BYTES + n + 1] = (uint16_t)at;
        memcpy(__builtin_assume_aligned((uint8_t *)chunk.words + at, shape::SLOT), &pixel,
               shape::SLOT);
    }
}

/* ---- pixels */

/* UNIT bytes from byte AT of WORDS on; the bits above them are undefined. */
template <class SAMPLE, int UNIT>
DEVICE uint32_t retarget_unit(const uint32_t *words, uint32_t at) {
    if (UNIT == sizeof(SAMPLE)) return ((const SAMPLE *)words)[at / sizeof(SAMPLE)];
    return __funnelshift_r(words[at / 4], words[at / 4 + 1], 8 * at);
}

/* The Kth word of UNITS. */
template <int UNIT> DEVICE uint32_t retarget_word(const uint32_t *units, int k) {
    uint32_t word = units[4 * k / UNIT] >> 8 * (4 * k % UNIT);
#pragma unroll
    for (int b = 1; b < 4; b++) /* from byte B on it is the next one's */
        if ((4 * k + b) % UNIT == 0)
            word = __byte_perm(word, units[(4 * k + b) / UNIT],
                               b == 1   ? 0x6540
                               : b == 2 ? 0x5410
                                        : 0x4210);
    return word;
}

/* The pixels of the list that one load has. */
template <int GROUP> struct alignas(GROUP * sizeof(uint16_t)) retarget_group {
    uint16_t from[GROUP];
};

/* Gathers MADE pixels to TO, and fills their last word. */
template <class SAMPLE, int CHANNELS>
DEVICE void retarget_gather(const struct retarget_chunk &chunk, uint32_t made, uint32_t *to) {
    typedef struct retarget_shape<SAMPLE, CHANNELS> shape;
    enum { PARTS = shape::BYTES / shape::UNIT, WORDS = shape::GROUP * shape::BYTES / 4 };
    for (uint32_t g = threadIdx.x; g * shape::GROUP < made; g += RETARGET_THREADS) {
        const struct retarget_group<shape::GROUP> group =
            ((const struct retarget_group<shape::GROUP> *)chunk.list)[g];
        uint32_t units[shape::GROUP * PARTS];
#pragma unroll
        for (int u = 0; u < shape::GROUP * PARTS; u++)
            units[u] = retarget_unit<SAMPLE, shape::UNIT>(chunk.words, group.from[u / PARTS] +
                                                                           u % PARTS * shape::UNIT);
#pragma unroll
        for (int k = 0; k < WORDS; k++) to[g * WORDS + k] = retarget_word<shape::UNIT>(units, k);
    }
}

/* ---- a row */

/* The rest of a row. */
struct retarget_row {
    const uint8_t *in;
    const uint16_t *numbers;
    uint8_t *to;
    uint32_t room;    /* pixels left; a stopped search may have too few seams */
    uint32_t barrier; /* of the fetches */
};

DEVICE struct retarget_row retarget_row_of(const struct retarget_call &call, uint32_t y,
                                           uint32_t barrier) {
    return { call.in + (size_t)y * call.in_stride,
             (const uint16_t *)(call.map + (size_t)y * call.map_stride),
             call.out + (size_t)y * call.out_stride, call.out_width, barrier };
}

/* Puts a row's pixels from START on. */
template <class SAMPLE, int CHANNELS>
DEVICE void retarget_put_chunk(const struct retarget_call &call, struct retarget_row &row,
                               uint4 *words, const struct retarget_places &places, uint32_t start) {
    typedef struct retarget_shape<SAMPLE, CHANNELS> shape;
    const uint32_t left = call.width - start, pixels = min(left, shape::CHUNK);
    const uint8_t *const from = row.in + (size_t)start * shape::BYTES;
    uint8_t *const shared = (uint8_t *)words;
    const struct retarget_chunk chunk = retarget_chunk_of(words, places, from);
    row_fetch(shared + chunk.in, from, pixels * shape::BYTES, row.barrier);
    const struct retarget_side side =
        retarget_side_of<shape::BYTES>(call, chunk, row.in, start, pixels);
    const struct retarget_listed listed =
        retarget_list_all<SAMPLE, CHANNELS>(call, chunk, row.numbers + start, left);
    if (side.is) shared[side.at] = side.value;
    row_fetched(row.barrier, start / shape::CHUNK);
    if (call.grows) {
        retarget_add<SAMPLE, CHANNELS>(chunk, listed.added);
        __syncthreads();
    }
    const uint32_t made = min(listed.pixels, row.room);
    uint8_t *const stage = shared + places.out + (size_t)row.to % ROW_WORD / 4 * 4;
    retarget_gather<SAMPLE, CHANNELS>(chunk, made, (uint32_t *)stage);
    row_made();
    row_write(row.to, stage, made * shape::BYTES);
    row.to += (size_t)made * shape::BYTES;
    row.room -= made;
}

template <class SAMPLE, int CHANNELS, int CAPACITY>
static __global__ void __launch_bounds__(RETARGET_THREADS, RETARGET_RESIDENT)
    retarget_kernel(const __grid_constant__ struct retarget_batch<CAPACITY> batch) {
    typedef struct retarget_shape<SAMPLE, CHANNELS> shape;
    extern __shared__ uint4 words[];
    __shared__ uint64_t barrier;
    const struct retarget_call &call = batch.calls[CAPACITY == 1 ? 0 : blockIdx.y];
    if (blockIdx.x >= call.height) return;
    const struct retarget_places places =
        retarget_places_of(call, shape::CHUNK, shape::BYTES, shape::SLOT);
    struct retarget_row row = retarget_row_of(call, blockIdx.x, shared_address(&barrier));
    row_begin(row.barrier);
    for (uint32_t start = 0; start < call.width; start += shape::CHUNK)
        retarget_put_chunk<SAMPLE, CHANNELS>(call, row, words, places, start);
}

/* ---- host */

/* The kernels of one kind of pixels. */
struct retarget_kernels {
    void (*one)(struct retarget_batch<1>);
    void (*many)(struct retarget_batch<CUDA_BATCH_MAX>);
    uint32_t chunk, bytes, slot; /* pixels of a chunk; bytes of a pixel, of a new one */
};

template <class SAMPLE, int CHANNELS>
static inline struct retarget_kernels retarget_kernels_make(void) {
    typedef struct retarget_shape<SAMPLE, CHANNELS> shape;
    return { retarget_kernel<SAMPLE, CHANNELS, 1>,
             retarget_kernel<SAMPLE, CHANNELS, CUDA_BATCH_MAX>, shape::CHUNK, shape::BYTES,
             shape::SLOT };
}

static inline struct retarget_kernels retarget_kernels_of(const struct image &image) {
    static const struct retarget_kernels kernels[2][4] = {
        { retarget_kernels_make<uint8_t, 1>(), retarget_kernels_make<uint8_t, 2>(),
          retarget_kernels_make<uint8_t, 3>(), retarget_kernels_make<uint8_t, 4>() },
        { retarget_kernels_make<uint16_t, 1>(), retarget_kernels_make<uint16_t, 2>(),
          retarget_kernels_make<uint16_t, 3>(), retarget_kernels_make<uint16_t, 4>() },
    };
    return kernels[image.depth == 16][image.channels - 1];
}

static inline struct retarget_call retarget_call_of(const struct op_call *call) {
    const struct image *in = &call->in, *map = &call->common, *out = &call->out;
    struct retarget_call made = { in->pixels, map->pixels, out->pixels };
    made.in_stride = (uint32_t)in->stride;
    made.map_stride = (uint32_t)map->stride;
    made.out_stride = (uint32_t)out->stride;
    made.width = in->width;
    made.height = in->height;
    made.out_width = out->width;
    made.seams = carve_apart(in->width, out->width);
    made.grows = out->width > in->width;
    return made;
}

/* Makes all images of CALLS, one batch, that have `common`: the map of at least as many vertical
 * seams as their width changes by. One launch. */
static inline enum status retarget_images(const struct launch_queue &queue,
                                          const struct op_call *calls, int count) {
    const struct retarget_kernels kernels = retarget_kernels_of(calls[0].in);
    struct retarget_batch<CUDA_BATCH_MAX> batch;
    uint32_t bytes = 0, rows = 0; /* `bytes`: of shared memory */
    int done = 0;
    for (int i = 0; i < count; i++) {
        if (!calls[i].common.width) continue;
        const struct retarget_call call = batch.calls[done++] = retarget_call_of(&calls[i]);
        bytes =
            max(bytes, retarget_places_of(call, kernels.chunk, kernels.bytes, kernels.slot).end);
        rows = max(rows, call.height);
    }
    const dim3 blocks(rows, (unsigned)done);
    if (done == 1)
        kernels.one<<<blocks, RETARGET_THREADS, bytes, queue.stream>>>({ { batch.calls[0] } });
    else if (done)
        kernels.many<<<blocks, RETARGET_THREADS, bytes, queue.stream>>>(batch);
    CUDA_LAUNCHED(queue.failure);
    return STATUS_OK;
}

#endif

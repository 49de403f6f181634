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

#include "cuda/cuda_op.h"
#include "cuda/ops/carve/row_copy.cuh"
#include "cuda/ops/carve/seam_mask.cuh"
#include "pipeline/ops/carve/definition.h"

/* ---- the list: where in shared memory each pixel of a chunk's new width comes from
 *
 * A warp has adjacent pixels, a lane every 32nd: so ballots show which pixels have seams, and how
 * many come before each pixel. */

enum {
    RETARGET_THREADS = 128,
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    RETARGET_RESIDENT = 8, /* it holds no more than 1024 threads */
#else
    RETARGET_RESIDENT = 9, /* blocks of a multiprocessor: on 132 of them all rows of 1080p */
#endif
    RETARGET_WARPS = RETARGET_THREADS / 32,
    RETARGET_EACH = 15,     /* pixels of a lane; a block then has 1920 */
    RETARGET_EACH_WIDE = 8, /* for pixels of more than 4 bytes: shared memory is 48 KiB */
};

/* A call; strides are bytes. */
struct retarget_call {
    const uint8_t *in, *map;
    uint8_t *out;
    uint32_t in_stride, map_stride, out_stride;
    uint32_t width, height; /* of the input */
    uint32_t out_width;
    uint32_t seams; /* number that are removed or doubled */
    bool grows;
};

template <class SAMPLE, int CHANNELS> struct retarget_shape {
    enum {
        BYTES = sizeof(SAMPLE) * CHANNELS, /* of a pixel */
        EACH = BYTES > 4 ? RETARGET_EACH_WIDE : RETARGET_EACH,
        CHUNK = RETARGET_THREADS * EACH,
        GROUP = BYTES % 4 == 0   ? 1
                : BYTES % 2 == 0 ? 2
                                 : 4,             /* pixels of whole 32-bit words */
        UNIT = BYTES > 4 ? BYTES / 2 : BYTES,     /* a pixel is one or two */
        SLOT = BYTES % 3 ? BYTES : BYTES / 3 * 4, /* bytes of a new pixel's place: one store */
    };
};

/* Offsets in shared memory, in bytes: first comes the chunk, with a pixel on either side. */
struct retarget_places {
    uint32_t list, seams, added, out, end;
};

static inline __host__ __device__ uint32_t round_words(uint32_t bytes) {
    return (bytes + ROW_WORD - 1) / ROW_WORD * ROW_WORD;
}

/* Places for CHUNK pixels of BYTES, and the most new ones, of SLOT bytes each. The chunk and the
 * result may begin anywhere in their first word; a group after the last pixel and 32 bits after the
 * last new one are read. */
static inline __host__ __device__ struct retarget_places
retarget_places_of(const struct retarget_call &call, uint32_t chunk, uint32_t bytes,
                   uint32_t slot) {
    const uint32_t added = call.grows ? min(chunk, call.seams) : 0, most = chunk + added + 4;
    struct retarget_places places;
    places.list = round_words((chunk + 2) * bytes + 3 * ROW_WORD);
    places.seams = places.list + round_words(most * sizeof(uint16_t));
    places.added = places.seams + round_words(added * sizeof(uint16_t));
    places.out = places.added + round_words(added * slot + sizeof(uint32_t));
    places.end = places.out + round_words(most * bytes + ROW_WORD);
    return places;
}

/* ---- sources of pixels */

/* A lane's pixels of a chunk: every 32nd from FIRST on. */
template <int EACH> struct retarget_share {
    uint32_t first;
    uint32_t seams[EACH]; /* the number through each pixel, less 1 */
    uint32_t crossed;     /* pixels with a seam, of this lane and those before it */
};

/* LEFT: pixels of the row from the chunk's first on. Pixels after those count as removed where the
 * picture shrinks; where it grows, they follow all others. */
template <int EACH>
DEVICE struct retarget_share<EACH> retarget_look(const struct retarget_call &call,
                                                 const uint16_t *numbers, uint32_t left) {
    const uint32_t behind = call.grows ? 0 : 1;
    struct retarget_share<EACH> share;
    uint32_t crossed = 0;
    share.first = threadIdx.x / 32 * (32 * EACH) + threadIdx.x % 32;
    numbers += share.first;
    if (left >= RETARGET_THREADS * EACH) {
#pragma unroll
        for (int j = 0; j < EACH; j++) share.seams[j] = numbers[32 * j];
    } else {
#pragma unroll
        for (int j = 0; j < EACH; j++)
            share.seams[j] = share.first + 32 * j < left ? numbers[32 * j] : behind;
    }
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        share.seams[j]--; /* 0 is none, and wraps */
        if (share.seams[j] < call.seams) crossed++;
    }
    share.crossed = sum_up_to(crossed);
    return share;
}

/* The sum over the warps before this one, and over all; COUNT: the sum up to this lane. */
DEVICE uint2
retarget_sums(uint32_t count) {
    __shared__ uint32_t counts[RETARGET_WARPS];
    uint2 sums = make_uint2(0, 0);
    if (threadIdx.x % 32 == 31) counts[threadIdx.x / 32] = count;
    __syncthreads();
#pragma unroll
    for (uint32_t w = 0; w < RETARGET_WARPS; w++) {
        if (w < threadIdx.x / 32) sums.x += counts[w];
        sums.y += counts[w];
    }
    return sums;
}

/* A chunk in shared memory. Bytes are counted from `words` on. */
struct retarget_chunk {
    uint32_t *words;
    uint16_t *list;  /* first byte of each pixel of the result */
    uint16_t *seams; /* first byte of each pixel with a seam, if the picture grows */
    uint32_t in;     /* byte of its first pixel */
    uint32_t added;  /* byte of the first new one */
};

/* The chunk begins in its first word where FROM does in its own. */
DEVICE struct retarget_chunk retarget_chunk_of(uint4 *words, const struct retarget_places &places,
                                               const uint8_t *from) {
    uint8_t *const shared = (uint8_t *)words;
    return { (uint32_t *)words, (uint16_t *)(shared + places.list),
             (uint16_t *)(shared + places.seams), ROW_WORD + (uint32_t)((size_t)from % ROW_WORD),
             places.added };
}

/* Lists the pixels of SHARE at their places; CROSSED pixels before its warp have seams. */
template <class SAMPLE, int CHANNELS, bool GROWS, int EACH>
DEVICE void retarget_list(const struct retarget_chunk &chunk,
                          const struct retarget_share<EACH> &share, uint32_t seams,
                          uint32_t crossed) {
    enum { BYTES = sizeof(SAMPLE) * CHANNELS };
    const uint32_t lane = threadIdx.x % 32, lower = (1u << lane) - 1;
    const uint32_t in = chunk.in + share.first * BYTES;
    uint16_t *to = chunk.list + share.first;
    if (!GROWS) to -= lane + crossed;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const bool seam = share.seams[j] < seams;
        const uint32_t mask = __ballot_sync(~0u, GROWS ? seam : !seam);
        const uint32_t before = (uint32_t)__popc(mask & lower);
        const uint16_t at = (uint16_t)(in + 32 * j * BYTES);
        if (GROWS) to[32 * j + crossed + before] = at;
        if (GROWS && seam) chunk.seams[crossed + before] = at;
        if (GROWS) crossed += (uint32_t)__popc(mask);
        if (!GROWS && !seam) to[before] = at;
        if (!GROWS) to += __popc(mask);
    }
}

/* Pixels of a list, and how many of them are new ones still to be listed. */
struct retarget_listed {
    uint32_t pixels, added;
};

/* Lists the chunk; where it grows, what follows the row's LEFT pixels is listed last. */
template <class SAMPLE, int CHANNELS>
DEVICE struct retarget_listed retarget_list_all(const struct retarget_call &call,
                                                const struct retarget_chunk &chunk,
                                                const uint16_t *numbers, uint32_t left) {
    typedef struct retarget_shape<SAMPLE, CHANNELS> shape;
    const struct retarget_share<shape::EACH> share =
        retarget_look<shape::EACH>(call, numbers, left);
    const uint2 crossed = retarget_sums(share.crossed);
    if (call.grows)
        retarget_list<SAMPLE, CHANNELS, true>(chunk, share, call.seams, crossed.x);
    else
        retarget_list<SAMPLE, CHANNELS, false>(chunk, share, call.seams, crossed.x);
    const uint32_t listed = call.grows ? shape::CHUNK + crossed.y : shape::CHUNK - crossed.y;
    if (threadIdx.x < shape::GROUP) chunk.list[listed + threadIdx.x] = 0; /* for whole words */
    return { call.grows && left < shape::CHUNK ? listed - (shape::CHUNK - left) : listed,
             crossed.y };
}

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

/* The same where colours weigh by alpha. */
template <class SAMPLE, int CHANNELS>
DEVICE uint64_t retarget_mean_weighed(const uint32_t *words, uint32_t at) {
    const SAMPLE *const first = (const SAMPLE *)words + at / sizeof(SAMPLE);
    const uint32_t alpha[3] = { first[CHANNELS - 1], first[2 * CHANNELS - 1],
                                first[3 * CHANNELS - 1] };
    uint64_t pixel = (uint64_t)carve_mean(alpha[0], alpha[1], alpha[2])
                     << 8 * sizeof(SAMPLE) * (CHANNELS - 1);
#pragma unroll
    for (int c = 0; c < CHANNELS - 1; c++) {
        const uint32_t sample[3] = { first[c], first[CHANNELS + c], first[2 * CHANNELS + c] };
        pixel |= (uint64_t)carve_mean_weighed(sample, alpha) << 8 * sizeof(SAMPLE) * c;
    }
    return pixel;
}

/* Makes a new pixel behind each of the COUNT pixels with seams. */
template <class SAMPLE, int CHANNELS>
DEVICE void retarget_add(const struct retarget_chunk &chunk, uint32_t count) {
    typedef struct retarget_shape<SAMPLE, CHANNELS> shape;
    for (uint32_t n = threadIdx.x; n < count; n += RETARGET_THREADS) {
        const uint32_t here = chunk.seams[n], at = chunk.added + n * shape::SLOT;
        const uint32_t left = here - shape::BYTES;
        uint64_t pixel;
        if constexpr (CHANNELS % 2 == 0)
            pixel = retarget_mean_weighed<SAMPLE, CHANNELS>(chunk.words, left);
        else
            pixel = retarget_mean<SAMPLE, CHANNELS>(chunk.words, left);
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

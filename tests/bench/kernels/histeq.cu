// SPDX-License-Identifier: Apache-2.0
/* How it works. The ladder that led to cuda/ops/histeq.cu, 8-bit gray, from the simplest kernel to
 * the one that is shipped; then every kind of image through the shipped one. Each result is
 * compared with a plain CPU histogram before its time is printed. Times are medians over events, in
 * microseconds: `warm` on one pair of buffers, `cold` over enough that the L2 cache holds none of
 * them, `train` a launch's share of 20 in a row. An empty launch stands beside: so much is the
 * events' and the launch's own. */
#include "cuda/ops/histeq.cu"

#include <cooperative_groups.h>

/* ---- one measurement's surroundings */

struct frame {
    struct cuda_context context;
    struct params params;
    struct image in, out; /* device */
    uint32_t *counts;     /* COUNTS_WORDS */
    uint8_t *levels;      /* 256 */
    void *scratch;
};

#include "tests/bench/kernels/scene.cuh"

static uint64_t vectors_of(const struct frame *frame) {
    return image_bytes(&frame->in) / 16; /* widths here are multiples of 16 */
}

/* ---- 1: a thread a pixel, all on the same 256 counters */

static __global__ void naive_count(const uint8_t *in, uint64_t bytes, uint32_t *counts) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bytes) atomicAdd(counts + in[i], 1u);
}

/* Bins 256, minmax. */
static __global__ void naive_table(const uint32_t *counts, uint64_t pixels, uint8_t *levels) {
    uint64_t sum = 0, first = 0;
    for (int v = 0; v < LEVELS; v++) {
        sum += counts[v];
        if (first == 0) first = sum;
        levels[v] = first == pixels ? v : histeq_quantile(sum, first, pixels, 255, HISTEQ_MINMAX);
    }
}

static __global__ void naive_apply(const uint8_t *in, uint8_t *out, uint64_t bytes,
                                   const uint8_t *levels) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bytes) out[i] = levels[in[i]];
}

static void rung_naive(const struct frame *f) {
    const uint64_t bytes = image_bytes(&f->in);
    const unsigned blocks = (unsigned)((bytes + 255) / 256);
    cudaMemsetAsync(f->counts, 0, 4 * COUNTS_WORDS, f->context.stream);
    naive_count<<<blocks, 256, 0, f->context.stream>>>(f->in.pixels, bytes, f->counts);
    naive_table<<<1, 1, 0, f->context.stream>>>(f->counts, bytes, f->levels);
    naive_apply<<<blocks, 256, 0, f->context.stream>>>(f->in.pixels, f->out.pixels, bytes,
                                                       f->levels);
}

/* ---- 2, 3: counters in shared memory, COPIES of each; 16 bytes a load */

template <int COPIES>
static __global__ void __launch_bounds__(1024)
    shared_count(const uint4 *in, uint64_t vectors, uint32_t *counts) {
    __shared__ uint32_t tally[LEVELS * COPIES];
    for (int i = threadIdx.x; i < LEVELS * COPIES; i += 1024) tally[i] = 0;
    __syncthreads();
    uint32_t *column = tally + threadIdx.x % COPIES;
    const uint64_t step = (uint64_t)gridDim.x * 1024;
#pragma unroll 4
    for (uint64_t i = (uint64_t)blockIdx.x * 1024 + threadIdx.x; i < vectors; i += step) {
        const uint4 vector = __ldg(in + i);
        const uint32_t words[4] = { vector.x, vector.y, vector.z, vector.w };
#pragma unroll
        for (int p = 0; p < 16; p++) atomicAdd(column + chunk_sample<8>(words, p) * COPIES, 1u);
    }
    __syncthreads();
    if (threadIdx.x >= LEVELS) return;
    uint32_t sum = 0;
    for (int i = 0; i < COPIES; i++)
        sum += tally[threadIdx.x * COPIES + (i + threadIdx.x) % COPIES];
    if (sum) atomicAdd(counts + counter_index(threadIdx.x), sum);
}

template <int COPIES>
static __global__ void __launch_bounds__(1024)
    shared_apply(const uint4 *in, uint4 *out, uint64_t vectors, const uint8_t *levels) {
    __shared__ uint32_t table[LEVELS * COPIES];
    for (int i = threadIdx.x; i < LEVELS * COPIES; i += 1024) table[i] = levels[i / COPIES];
    __syncthreads();
    const uint32_t *column = table + threadIdx.x % COPIES;
    const uint64_t step = (uint64_t)gridDim.x * 1024;
#pragma unroll 2
    for (uint64_t i = (uint64_t)blockIdx.x * 1024 + threadIdx.x; i < vectors; i += step) {
        const uint4 vector = __ldg(in + i);
        uint32_t words[4] = { vector.x, vector.y, vector.z, vector.w };
#pragma unroll
        for (int p = 0; p < 16; p++)
            chunk_set_byte<0>(words, p, column[chunk_sample<8>(words, p) * COPIES]);
        __stcs(out + i, make_uint4(words[0], words[1], words[2], words[3]));
    }
}

static __global__ void block_table(const uint32_t *counts, uint32_t pixels, uint8_t *levels) {
    __shared__ __align__(16) uint32_t cdf[LEVELS];
    __shared__ uint32_t cdf_min;
    if (threadIdx.x < 32) read_cdf<false>(counts, pixels, 256, cdf, &cdf_min);
    __syncthreads();
    const struct histeq_rule rule = { 256, HISTEQ_MINMAX };
    levels[threadIdx.x] = table_entry<1, HISTEQ_VALUE>(cdf, cdf_min, pixels, threadIdx.x, rule);
}

/* COUNT_ALONE: only the counting, for its cost. */
template <int COPIES, bool COUNT_ALONE> static void rung_shared(const struct frame *f) {
    const unsigned blocks = 2 * f->context.multiprocessors;
    const uint4 *in = (const uint4 *)f->in.pixels;
    cudaStream_t stream = f->context.stream;
    cudaMemsetAsync(f->counts, 0, 4 * COUNTS_WORDS, stream);
    shared_count<COPIES><<<blocks, 1024, 0, stream>>>(in, vectors_of(f), f->counts);
    if (COUNT_ALONE) return;
    block_table<<<1, LEVELS, 0, stream>>>(f->counts, image_pixels(&f->in), f->levels);
    shared_apply<COPIES>
        <<<blocks, 1024, 0, stream>>>(in, (uint4 *)f->out.pixels, vectors_of(f), f->levels);
}

/* ---- 4: a byte for each lane and level, no atomics: bank = lane, byte = warp of four */

enum { BYTE_THREADS = 768, BYTE_WORDS = BYTE_THREADS / 128 * 8192, ROUND = 15 };

/* A thread takes one level from two of the six groups; bytes are added up four at a time. */
static __device__ __forceinline__ uint32_t byte_flush(uint32_t *tally) {
    uint4 *rows = (uint4 *)tally + threadIdx.x / 256 * 4096 + threadIdx.x % 256 * 8;
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        uint4 *place = rows + i / 8 * 2048 + (i + threadIdx.x) % 8;
        sum = __dp4a(place->x, 0x01010101u, sum);
        sum = __dp4a(place->y, 0x01010101u, sum);
        sum = __dp4a(place->z, 0x01010101u, sum);
        sum = __dp4a(place->w, 0x01010101u, sum);
        *place = make_uint4(0, 0, 0, 0);
    }
    return sum;
}

static __global__ void __launch_bounds__(BYTE_THREADS)
    byte_count(const uint4 *in, uint64_t vectors, uint32_t *counts) {
    extern __shared__ uint32_t tally[];
    for (int i = threadIdx.x; i < BYTE_WORDS; i += BYTE_THREADS) tally[i] = 0;
    __syncthreads();
    uint8_t *column =
        (uint8_t *)(tally + threadIdx.x / 128 * 8192 + threadIdx.x % 32) + threadIdx.x / 32 % 4;
    const uint64_t step = (uint64_t)gridDim.x * BYTE_THREADS;
    uint32_t sum = 0;
    for (uint64_t start = blockIdx.x * BYTE_THREADS; start < vectors; start += ROUND * step) {
#pragma unroll 5
        for (int r = 0; r < ROUND; r++) {
            const uint64_t i = start + r * step + threadIdx.x;
            if (i >= vectors) break;
            const uint4 vector = __ldg(in + i);
            const uint32_t words[4] = { vector.x, vector.y, vector.z, vector.w };
#pragma unroll
            for (int p = 0; p < 16; p++) column[chunk_sample<8>(words, p) * 128]++;
        }
        __syncthreads();
        sum += byte_flush(tally);
        __syncthreads();
    }
    if (sum) atomicAdd(counts + counter_index(threadIdx.x % 256), sum);
}

template <bool COUNT_ALONE> static void rung_bytes(const struct frame *f) {
    const unsigned blocks = f->context.multiprocessors;
    const uint4 *in = (const uint4 *)f->in.pixels;
    cudaStream_t stream = f->context.stream;
    cudaFuncSetAttribute(byte_count, cudaFuncAttributeMaxDynamicSharedMemorySize, 4 * BYTE_WORDS);
    cudaMemsetAsync(f->counts, 0, 4 * COUNTS_WORDS, stream);
    byte_count<<<blocks, BYTE_THREADS, 4 * BYTE_WORDS, stream>>>(in, vectors_of(f), f->counts);
    if (COUNT_ALONE) return;
    block_table<<<1, LEVELS, 0, stream>>>(f->counts, image_pixels(&f->in), f->levels);
    shared_apply<32>
        <<<2 * blocks, 1024, 0, stream>>>(in, (uint4 *)f->out.pixels, vectors_of(f), f->levels);
}

/* ---- 5: one cooperative launch with the grid's own barrier, forwards both times */

typedef layout8<1, HISTEQ_VALUE> gray;

static __global__ void __launch_bounds__(THREADS, 1)
    grid_equalize(const uint4 *in, uint4 *out, uint64_t vectors, uint32_t *counts) {
    const struct shared_memory8 shared = shared_memory8_of<gray>();
    const uint32_t column = lane_column<gray>(shared.table);
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
    const uint64_t begin = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    zero_counters<gray>(shared.table);
    __syncthreads();
#pragma unroll 4
    for (uint64_t i = begin; i < vectors; i += step) {
        const uint4 vector = __ldg(in + i);
        const uint32_t words[4] = { vector.x, vector.y, vector.z, vector.w };
        uint32_t hidden = 0;
        count_chunk<1, HISTEQ_VALUE, gray>(words, 16, column, hidden);
    }
    __syncthreads();
    publish_counts<gray>(shared.table, counts);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x < 32) read_cdf<false>(counts, vectors * 16, 256, shared.cdf, shared.cdf_min);
    __syncthreads();
    fill_tables<1, HISTEQ_VALUE, gray>(vectors * 16, { 256, HISTEQ_MINMAX }, shared);
    __syncthreads();
#pragma unroll 4
    for (uint64_t i = begin; i < vectors; i += step) {
        const uint4 vector = __ldg(in + i);
        const uint32_t words[4] = { vector.x, vector.y, vector.z, vector.w };
        uint32_t mapped[4];
        apply_chunk<1, HISTEQ_VALUE, gray>(words, mapped, column, 0);
        __stcs(out + i, make_uint4(mapped[0], mapped[1], mapped[2], mapped[3]));
    }
}

static void rung_grid(const struct frame *f) {
    const void *in = f->in.pixels;
    void *out = f->out.pixels;
    uint64_t vectors = vectors_of(f);
    uint32_t *counts = f->counts;
    void *arguments[] = { &in, &out, &vectors, &counts };
    cudaMemsetAsync(f->counts, 0, 4 * COUNTS_WORDS, f->context.stream);
    cudaLaunchCooperativeKernel((const void *)grid_equalize, f->context.multiprocessors, THREADS,
                                arguments, gray::SHARED_BYTES, f->context.stream);
}

/* ---- 6: what is shipped */

static void rung_shipped(const struct frame *f) {
    run_operator(cuda_op_histeq, f, f->scratch);
}

static __global__ void __launch_bounds__(1024, 1)
    empty_batch(const __grid_constant__ struct batch_of<1>) {}

static void rung_empty_cooperative(const struct frame *f) {
    static struct batch_of<1> batch;
    void *arguments[] = { &batch };
    cudaLaunchCooperativeKernel((const void *)empty_batch, f->context.multiprocessors, THREADS,
                                arguments, gray::SHARED_BYTES, f->context.stream);
}

static void rung_empty_plain(const struct frame *f) {
    static struct batch_of<1> batch;
    empty_batch<<<f->context.multiprocessors, THREADS, gray::SHARED_BYTES, f->context.stream>>>(
        batch);
}

#include "tests/bench/kernels/histeq_measure.cuh"

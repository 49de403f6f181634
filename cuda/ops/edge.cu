// SPDX-License-Identifier: Apache-2.0
/* How it works. A thread goes down a strip of the image with its window in registers, without
 * shared memory: rows of luma (edge/luma_row.cuh) become magnitudes (edge/sobel.cuh) and, here,
 * output rows. Each kind of image and window has a kernel; gray, RGB and RGBA of 8 bits have
 * another one for requests of only the magnitude. The numbers of rows and blocks were tried on an
 * H200 at 4K and 66 MP (tests/bench/results/edge-h200.txt). No block waits for another, so any
 * share of a GPU works.
 */
#include "cuda/ops/edge/luma_row.cuh"
#include "cuda/ops/edge/sobel.cuh"
#include "pipeline/ops/edge.h"

/* ---- magnitudes to output rows */

/* The thread's place in the output. */
struct output_strip {
    uint8_t *next_row; /* own chunk of the row that is stored next */
    uint32_t stride;
    uint32_t top, rows; /* first row; number of the strip's rows that exist */
    int last_row;       /* of the image */
    int inside[2];      /* pixels of the chunk within the border: first, end */
};

template <class TRAITS>
static __device__ __forceinline__ struct output_strip
output_strip_of(const struct batch_image &image, struct chunk_position position, uint32_t top,
                uint32_t rows, uint32_t margin) {
    constexpr int OUT_BYTES = (TRAITS::CHANNELS % 2 ? 1 : 2) * TRAITS::DEPTH / 8;
    const uint32_t x = position.x * TRAITS::PIXELS;
    struct output_strip output;
    output.next_row = image.out + (uint64_t)top * image.out_stride + (uint64_t)x * OUT_BYTES;
    output.stride = image.out_stride;
    output.top = top;
    output.rows = min(rows, image.height - top);
    output.last_row = (int)image.height - 1;
    output.inside[0] = position.x == 0 ? (int)margin : 0;
    output.inside[1] = (int)image.width - (int)margin - (int)x;
    return output;
}

/* ---- threshold and border */

template <int DEPTH>
static __device__ __forceinline__ uint32_t apply_threshold(uint32_t word,
                                                           const struct edge_rule &rule) {
    const uint32_t least = broadcast_sample<DEPTH>(rule.threshold);
    const uint32_t over = DEPTH == 8 ? __vcmpgtu4(word, least) : __vcmpgtu2(word, least);
    return over & (word | broadcast_sample<DEPTH>(rule.white));
}

/* A mask of a word's lowest bytes. */
static __device__ __forceinline__ uint32_t low_bytes_mask(int count) {
    return ~__funnelshift_lc(0, ~0u, 8 * min(max(count, 0), 4));
}

template <class TRAITS>
static __device__ __forceinline__ void threshold_and_border(uint32_t (&edges)[4],
                                                            const struct output_strip &output,
                                                            int y, const struct edge_rule &rule) {
    constexpr int SAMPLE_BYTES = TRAITS::DEPTH / 8;
    const int margin = (int)rule.margin;
    if (rule.threshold || rule.white)
#pragma unroll
        for (int w = 0; w < 4; w++) edges[w] = apply_threshold<TRAITS::DEPTH>(edges[w], rule);
    const bool none = y < margin || y > output.last_row - margin;
    if (!none && output.inside[0] == 0 && output.inside[1] >= TRAITS::PIXELS) return;
#pragma unroll
    for (int w = 0; w < 4; w++)
        edges[w] &= none ? 0
                         : low_bytes_mask(output.inside[1] * SAMPLE_BYTES - 4 * w) &
                               ~low_bytes_mask(output.inside[0] * SAMPLE_BYTES - 4 * w);
}

/* ---- stores */

/* Byte by byte where the chunk is incomplete or rows are not aligned. */
template <class TRAITS>
static __device__ __forceinline__ void store_edges(const uint32_t (&edges)[4], uint8_t *to,
                                                   int pixels, bool aligned) {
    if (pixels == TRAITS::PIXELS && aligned) {
        __stcs((uint4 *)to, pack_vector(edges));
        return;
    }
    uint32_t words[4] = { edges[0], edges[1], edges[2], edges[3] };
#pragma unroll 1
    for (int i = 0; i < pixels * TRAITS::DEPTH / 8; i++) {
        to[i] = (uint8_t)words[0];
        chunk_shift<1>(words);
    }
}

/* Interleaves the input's alpha. */
template <class TRAITS>
static __device__ __forceinline__ void store_with_alpha(const uint32_t (&edges)[4],
                                                        const uint32_t (&alpha)[4], uint8_t *to,
                                                        int pixels, bool aligned) {
    uint32_t both[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        both[i] =
            __byte_perm(edges[i / 2], alpha[i / 2],
                        TRAITS::DEPTH == 8 ? (i % 2 ? 0x7362 : 0x5140) : (i % 2 ? 0x7632 : 0x5410));
    store_chunk(both, to, pixels * TRAITS::DEPTH / 4, aligned);
}

template <class TRAITS, bool WHOLE>
static __device__ __forceinline__ void
store_row(const uint32_t (&edges)[4], const uint32_t (&alpha)[4], const struct input_strip &input,
          const struct output_strip &output) {
    const int pixels = WHOLE ? TRAITS::PIXELS : input.pixels;
    const bool aligned = WHOLE || TRAITS::PLAIN || input.aligned;
    if constexpr (TRAITS::ALPHA)
        store_with_alpha<TRAITS>(edges, alpha, output.next_row, pixels, aligned);
    else
        store_edges<TRAITS>(edges, output.next_row, pixels, aligned);
}

/* ---- the kernel: each thread goes down a strip of 16 bytes of luma */

enum { EDGE_THREADS = 128 };

/* Chunks of the batch are strips: a chunk of pixels across and ROWS, an even number, down. */
struct edge_args {
    struct batch batch;
    struct edge_rule rule;
    uint32_t rows;
};

static __device__ __forceinline__ void prefetch_row(const uint8_t *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* Loads the 2 REACH rows before the first row that completes a window, and that row into RAW, all
 * at once: at the beginning there are registers for them. Results that use rows before the first
 * are dropped. */
template <class TRAITS, bool WHOLE>
static __device__ __forceinline__ void
fill_window(struct sliding_window<TRAITS> &window, struct raw_row<TRAITS> &raw,
            struct input_strip &input, uint32_t top, const struct edge_rule &rule) {
    constexpr int ROWS = 2 * TRAITS::REACH;
    struct raw_row<TRAITS> before[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        load_row<TRAITS, WHOLE>(before[i], input);
        if (i >= TRAITS::REACH || top + i >= TRAITS::REACH) advance_row(input);
    }
    load_row<TRAITS, WHOLE>(raw, input);
    advance_row(input);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        uint32_t alpha[4];
        delay_alpha(alpha, window, before[i]);
        push_row(window.corners, window, luma_row_of<TRAITS, WHOLE>(before[i], input, rule));
    }
}

/* WHOLE: all chunks of the warp are whole, rows start at 16 bytes and the image's end cuts off no
 * strip, so that little is checked on the way. One row is loaded into registers while another is
 * processed (to load two takes registers, and so warps, and is slower); AHEAD more are prefetched
 * into the L2 cache. */
template <class TRAITS, bool WHOLE, int AHEAD>
static __device__ __forceinline__ void slide_down(struct input_strip input,
                                                  struct output_strip output,
                                                  const struct edge_rule &rule, uint32_t rows) {
    struct raw_row<TRAITS> raw;
    struct sliding_window<TRAITS> window = {};
    fill_window<TRAITS, WHOLE>(window, raw, input, output.top, rule);
    for (uint32_t i = 0; i < rows; i += 2) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            float corners[TRAITS::PIXELS + 1];
            uint32_t edges[4], alpha[4];
            struct raw_row<TRAITS> next;
            delay_alpha(alpha, window, raw);
            push_row(corners, window, luma_row_of<TRAITS, WHOLE>(raw, input, rule));
            if (WHOLE && AHEAD && i + k + 1 + AHEAD < rows)
                prefetch_row(input.next_row +
                             (uint64_t)min(AHEAD, input.rows_below) * input.stride);
            if (k == 0 || i + k + 1 < rows) load_row<TRAITS, WHOLE>(next, input);
            advance_row(input);
            raw = next;
            edge_row(edges, window, corners);
            if (!TRAITS::PLAIN)
                threshold_and_border<TRAITS>(edges, output, output.top + i + k, rule);
            if (WHOLE || i + k < output.rows) store_row<TRAITS, WHOLE>(edges, alpha, input, output);
            output.next_row += output.stride;
        }
    }
}

/* BLOCKS of a multiprocessor: more threads hide more latency, fewer have more registers each. The
 * last strip of a column ends with the image: it overlaps the one above instead of being shorter.
 * The last warp's surplus threads repeat the last strip and write the same bytes. */
template <class TRAITS, int BLOCKS, int AHEAD>
static __global__ void __launch_bounds__(EDGE_THREADS, BLOCKS)
    edge_kernel(const __grid_constant__ struct edge_args args) {
    const struct batch &batch = args.batch;
    const uint32_t number = blockIdx.x * EDGE_THREADS + threadIdx.x, rows = args.rows;
    if (number / 32 * 32 >= batch.chunks) return; /* the whole warp */
    const uint32_t chunk = min(number, batch.chunks - 1);
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_position position = chunk_position_of(image, chunk - image.first_chunk);
    const uint32_t top = min(position.y * rows, image.height - min(rows, image.height));
    const struct input_strip input = input_strip_of<TRAITS>(image, position, top);
    const struct output_strip output =
        output_strip_of<TRAITS>(image, position, top, rows, args.rule.margin);
    const bool whole = input.aligned && input.pixels == TRAITS::PIXELS && output.rows == rows;
    if (__all_sync(~0u, whole))
        slide_down<TRAITS, true, AHEAD>(input, output, args.rule, rows);
    else
        slide_down<TRAITS, false, AHEAD>(input, output, args.rule, rows);
}

/* ---- strips */

template <class TRAITS> static constexpr bool is_sobel3_of_bytes(void) {
    return TRAITS::DEPTH == 8 && TRAITS::REACH == 1;
}

/* Blocks of a multiprocessor: as many as registers allow. */
template <class TRAITS> static constexpr int blocks_per_multiprocessor(void) {
    constexpr bool GRAY = TRAITS::CHANNELS == 1 && TRAITS::PLAIN;
    if (is_sobel3_of_bytes<TRAITS>()) return GRAY ? 5 : 4;
    return TRAITS::REACH == 1 || TRAITS::DEPTH == 16 || GRAY ? 4 : 3;
}

/* More rows spread the GPU's concurrent reads too far (RGB of 66 MP: 8 rows take 76 us, 16 take
 * 81). */
template <class TRAITS> static constexpr uint32_t strip_rows_max(void) {
    if (is_sobel3_of_bytes<TRAITS>()) return TRAITS::CHANNELS < 4 ? 8 : 32;
    return TRAITS::REACH == 1 && TRAITS::CHANNELS == 1 ? 16 : 32;
}

template <class TRAITS> static uint32_t resident_threads(const struct cuda_context *context) {
    return (uint32_t)context->multiprocessors * blocks_per_multiprocessor<TRAITS>() * EDGE_THREADS;
}

/* Rows of a strip, a power of two: the fewest with which all threads run at once. Besides them a
 * strip reads two more rows above and below it, with sobel5 four, so that higher strips are less
 * work. */
template <class TRAITS>
static uint32_t strip_rows(const struct cuda_context *context, const struct op_call *calls,
                           int count) {
    const uint64_t threads = resident_threads<TRAITS>(context);
    uint64_t thread_rows = 0;
    for (int i = 0; i < count; i++)
        thread_rows += (uint64_t)(calls[i].in.width + TRAITS::PIXELS - 1) / TRAITS::PIXELS *
                       calls[i].in.height;
    uint32_t rows = 2 * TRAITS::REACH;
    while (rows < strip_rows_max<TRAITS>() && rows * threads < thread_rows) rows *= 2;
    return rows;
}

template <class TRAITS, int AHEAD>
static void launch_kernel(cudaStream_t stream, const struct edge_args &args) {
    const unsigned blocks = (args.batch.chunks + EDGE_THREADS - 1) / EDGE_THREADS;
    edge_kernel<TRAITS, blocks_per_multiprocessor<TRAITS>(), AHEAD>
        <<<blocks, EDGE_THREADS, 0, stream>>>(args);
}

/* Two rows are prefetched into the L2 cache, which holds little of one strip's reads when the next
 * strip needs them. Where all strips run at once, short strips are quicker without; only plain ones
 * have a kernel for that. */
template <class TRAITS>
static enum status run_traits(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct edge_rule &rule) {
    struct edge_args args;
    args.rule = rule;
    args.rows = strip_rows<TRAITS>(context, calls, count);
    const enum status status =
        batch_init_tiles(&args.batch, calls, count, TRAITS::PIXELS, args.rows);
    if (status) return status;
    if (args.batch.chunks <= resident_threads<TRAITS>(context))
        launch_kernel<TRAITS, TRAITS::PLAIN && is_sobel3_of_bytes<TRAITS>() ? 0 : 2>(
            context->stream, args);
    else
        launch_kernel<TRAITS, 2>(context->stream, args);
    return STATUS_OK;
}

/* ---- which kind */

/* Only the magnitude is wanted, and every row starts at 16 bytes. */
static bool is_plain(const struct op_call *calls, int count, const struct edge_rule &rule) {
    uintptr_t bits = 0;
    for (int i = 0; i < count; i++)
        bits |= (uintptr_t)calls[i].in.pixels | (uintptr_t)calls[i].out.pixels |
                calls[i].in.stride | calls[i].out.stride;
    return bits % 16 == 0 && !rule.shift.add && !rule.threshold && !rule.white && !rule.margin;
}

template <int DEPTH, int REACH, int CHANNELS>
static enum status run_channels(const struct cuda_context *context, const struct op_call *calls,
                                int count, const struct edge_rule &rule) {
    if constexpr (DEPTH == 8 && CHANNELS != 2)
        if (is_plain(calls, count, rule))
            return run_traits<edge_traits<8, REACH, CHANNELS, true>>(context, calls, count, rule);
    return run_traits<edge_traits<DEPTH, REACH, CHANNELS, false>>(context, calls, count, rule);
}

template <int DEPTH, int REACH>
static enum status run_window(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct edge_rule &rule) {
    switch (calls[0].in.channels) {
    case 1: return run_channels<DEPTH, REACH, 1>(context, calls, count, rule);
    case 2: return run_channels<DEPTH, REACH, 2>(context, calls, count, rule);
    case 3: return run_channels<DEPTH, REACH, 3>(context, calls, count, rule);
    default: return run_channels<DEPTH, REACH, 4>(context, calls, count, rule);
    }
}

template <int DEPTH>
static enum status run_depth(const struct cuda_context *context, const struct op_call *calls,
                             int count, const struct edge_rule &rule) {
    return rule.reach == 1 ? run_window<DEPTH, 1>(context, calls, count, rule)
                           : run_window<DEPTH, 2>(context, calls, count, rule);
}

/* ---- run */

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const unsigned depth = calls[0].in.depth;
    const struct edge_rule rule = edge_rule_of(calls[0].params, calls[0].in.channels, depth);
    const enum status status = depth == 8 ? run_depth<8>(context, calls, count, rule)
                                          : run_depth<16>(context, calls, count, rule);
    if (status) return status;
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "edge");
    return STATUS_OK;
}

extern "C" const struct cuda_op cuda_op_edge = { NULL, run };

// SPDX-License-Identifier: Apache-2.0
/* apply.cuh - lets the pixels follow the seams that were found: shrinking, growing, gathering.
 *
 * Used by:  carve.cu and abreast.cuh, once a phase; showing takes its launch shape.
 * Fails:    as check.cuh says.
 * Limits:   1 to 4 channels of 8 or 16 bits.
 *
 * How it works: shrinking goes from one plane to another, a thread a pixel. Growing may stay in its
 * plane: each line goes from its end to its start, so that writes stay behind the pixels that are
 * still to be read. A pixel of any kind travels as four 16-bit samples. Where both directions
 * shrank, every pixel is gathered from its origin.
 */
#ifndef BURIN_CARVE_APPLY_CUH
#define BURIN_CARVE_APPLY_CUH

#include "cuda/cuda_op.h"
#include "cuda/ops/carve/seam_mask.cuh"
#include "pipeline/ops/carve/definition.h"

struct apply_args {
    struct seam_mask mask;
    const uint8_t *from;
    uint8_t *to;
    size_t from_stride, to_stride; /* bytes */
    uint32_t width, height;        /* before */
    uint32_t length;               /* of lines, afterwards */
    bool copies;                   /* a new pixel copies its seam's, instead of taking a mean */
};

template <class SAMPLE, int CHANNELS> DEVICE uint64_t get_pixel(const uint8_t *row, uint32_t x) {
    const SAMPLE *const at = (const SAMPLE *)row + x * CHANNELS;
    uint64_t pixel = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) pixel |= (uint64_t)at[c] << 16 * c;
    return pixel;
}

template <class SAMPLE, int CHANNELS>
DEVICE void put_pixel(uint8_t *row, uint32_t x, uint64_t pixel) {
    SAMPLE *const at = (SAMPLE *)row + x * CHANNELS;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) at[c] = (SAMPLE)(pixel >> 16 * c);
}

template <class SAMPLE, int CHANNELS>
DEVICE uint64_t pixel_at(const struct apply_args &args, uint32_t x, uint32_t y) {
    return get_pixel<SAMPLE, CHANNELS>(args.from + y * args.from_stride, x);
}

template <class SAMPLE, int CHANNELS>
DEVICE void put_place(const struct apply_args &args, uint32_t line, uint32_t place,
                      uint64_t pixel) {
    if (place >= args.length) return;
    const uint32_t x = args.mask.turned ? line : place, y = args.mask.turned ? place : line;
    put_pixel<SAMPLE, CHANNELS>(args.to + y * args.to_stride, x, pixel);
}

template <class SAMPLE, int CHANNELS> DEVICE void shrink(const struct apply_args &args) {
    const uint32_t x = thread_pixel().x, y = thread_pixel().y;
    if (x >= args.width || y >= args.height) return;
    const uint32_t line = line_of(args.mask, x, y), place = place_of(args.mask, x, y);
    const struct crossing crossing = crossing_at(args.mask, line, place);
    if (!crossing.seam)
        put_place<SAMPLE, CHANNELS>(args, line, place - crossing.before,
                                    pixel_at<SAMPLE, CHANNELS>(args, x, y));
}

/* Sample C of a pixel, all samples of which have 16 bits here. */
DEVICE uint32_t pixel_sample(uint64_t pixel, int c) {
    return (uint16_t)(pixel >> 16 * c);
}

template <int CHANNELS> DEVICE uint64_t mean_pixel(uint64_t left, uint64_t seam, uint64_t right) {
    constexpr int LAST = CHANNELS - 1;
    const uint32_t alpha[3] = { pixel_sample(left, LAST), pixel_sample(seam, LAST),
                                pixel_sample(right, LAST) };
    uint64_t pixel = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const uint32_t sample[3] = { pixel_sample(left, c), pixel_sample(seam, c),
                                     pixel_sample(right, c) };
        const uint32_t mean = CHANNELS % 2 == 0 && c < LAST
                                  ? carve_mean_weighed(sample, alpha)
                                  : carve_mean(sample[0], sample[1], sample[2]);
        pixel |= (uint64_t)mean << 16 * c;
    }
    return pixel;
}

/* Moves HERE to its new place, and puts a new pixel after it if a seam goes through. */
template <class SAMPLE, int CHANNELS>
DEVICE void put_grown(const struct apply_args &args, uint32_t line, uint32_t place, uint64_t left,
                      uint64_t here, uint64_t right) {
    const struct crossing crossing = crossing_at(args.mask, line, place);
    const uint32_t to = place + crossing.before;
    put_place<SAMPLE, CHANNELS>(args, line, to, here);
    if (!crossing.seam) return;
    const uint64_t added = args.copies ? here : mean_pixel<CHANNELS>(left, here, right);
    put_place<SAMPLE, CHANNELS>(args, line, to + 1, added);
}

/* A warp takes a row. */
template <class SAMPLE, int CHANNELS> DEVICE void grow_row(const struct apply_args &args) {
    const uint32_t y = blockIdx.x * PIXEL_BLOCK_Y + threadIdx.y, lane = threadIdx.x;
    if (y >= args.height) return;
    uint64_t behind = 0; /* the first pixel of the step before */
    for (int start = (int)(args.width - 1) / 32 * 32; start >= 0; start -= 32) {
        const uint32_t x = start + lane, last = args.width - 1;
        const uint64_t here = pixel_at<SAMPLE, CHANNELS>(args, min(x, last), y);
        const uint64_t left = pixel_at<SAMPLE, CHANNELS>(args, min(x ? x - 1 : 0, last), y);
        uint64_t right = __shfl_down_sync(~0u, here, 1);
        if (lane == 31) right = behind;
        if (x >= last) right = here;
        behind = __shfl_sync(~0u, here, 0);
        __syncwarp();
        if (x <= last) put_grown<SAMPLE, CHANNELS>(args, y, x, left, here, right);
        __syncwarp();
    }
}

/* A thread takes a column. */
template <class SAMPLE, int CHANNELS> DEVICE void grow_column(const struct apply_args &args) {
    enum { STEP = 8 };
    const uint32_t x =
        blockIdx.x * PIXEL_BLOCK_X * PIXEL_BLOCK_Y + threadIdx.y * PIXEL_BLOCK_X + threadIdx.x;
    if (x >= args.width) return;
    uint64_t below = pixel_at<SAMPLE, CHANNELS>(args, x, args.height - 1);
    for (int start = (int)args.height - 1; start >= 0; start -= STEP) {
        uint64_t pixels[STEP + 1];
#pragma unroll
        for (int i = 0; i <= STEP; i++)
            pixels[i] = pixel_at<SAMPLE, CHANNELS>(args, x, (uint32_t)max(start - i, 0));
#pragma unroll
        for (int i = 0; i < STEP; i++) {
            if (start - i < 0) break;
            put_grown<SAMPLE, CHANNELS>(args, x, (uint32_t)(start - i), pixels[i + 1], pixels[i],
                                        i ? pixels[i - 1] : below);
        }
        below = pixels[STEP - 1];
    }
}

/* ---- both directions at once: every pixel has the number of its origin */

struct gather_args {
    const uint32_t *origins;
    uint32_t origin_stride; /* between rows; also in the numbers */
    struct image in, out;
    uint32_t width, height; /* of the remaining image */
};

/* After a search that was stopped the numbers are undefined, so they are clamped. */
DEVICE uint2 origin_at(const struct gather_args &args, uint32_t x, uint32_t y) {
    const uint32_t number = args.origins[(size_t)y * args.origin_stride + x];
    return make_uint2(min(number % args.origin_stride, args.in.width - 1),
                      min(number / args.origin_stride, args.in.height - 1));
}

template <class SAMPLE, int CHANNELS>
static __global__ void gather_kernel(const __grid_constant__ struct gather_args args) {
    const uint32_t x = thread_pixel().x, y = thread_pixel().y;
    if (x >= args.width || y >= args.height) return;
    const uint2 origin = origin_at(args, x, y);
    const uint8_t *const from = args.in.pixels + origin.y * args.in.stride;
    put_pixel<SAMPLE, CHANNELS>(args.out.pixels + y * args.out.stride, x,
                                get_pixel<SAMPLE, CHANNELS>(from, origin.x));
}

/* ---- host */

/* By enum apply_way. */
struct apply_kernels {
    void (*ways[3])(struct items<struct apply_args>);
    void (*gather)(struct gather_args);
};

enum apply_way { APPLY_SHRINK, APPLY_GROW_ROWS, APPLY_GROW_COLUMNS, APPLY_WAYS };

template <class SAMPLE, int CHANNELS> static inline struct apply_kernels apply_kernels_make(void) {
    return { { items_kernel<struct apply_args, shrink<SAMPLE, CHANNELS>>,
               items_kernel<struct apply_args, grow_row<SAMPLE, CHANNELS>>,
               items_kernel<struct apply_args, grow_column<SAMPLE, CHANNELS>> },
             gather_kernel<SAMPLE, CHANNELS> };
}

static inline struct apply_kernels apply_kernels_of(const struct image &image) {
    static const struct apply_kernels kernels[2][4] = {
        { apply_kernels_make<uint8_t, 1>(), apply_kernels_make<uint8_t, 2>(),
          apply_kernels_make<uint8_t, 3>(), apply_kernels_make<uint8_t, 4>() },
        { apply_kernels_make<uint16_t, 1>(), apply_kernels_make<uint16_t, 2>(),
          apply_kernels_make<uint16_t, 3>(), apply_kernels_make<uint16_t, 4>() },
    };
    return kernels[image.depth == 16][image.channels - 1];
}

static inline enum apply_way apply_way_of(const struct apply_args &args) {
    if (args.length < (args.mask.turned ? args.height : args.width)) return APPLY_SHRINK;
    return args.mask.turned ? APPLY_GROW_COLUMNS : APPLY_GROW_ROWS;
}

static inline dim3 apply_blocks(const struct apply_args &args) {
    const uint32_t threads = PIXEL_BLOCK_X * PIXEL_BLOCK_Y;
    switch (apply_way_of(args)) {
    case APPLY_GROW_ROWS: return dim3((args.height + PIXEL_BLOCK_Y - 1) / PIXEL_BLOCK_Y);
    case APPLY_GROW_COLUMNS: return dim3((args.width + threads - 1) / threads);
    default: return pixel_blocks(args.width, args.height);
    }
}

/* Lets the pixels of COUNT images, all of IMAGE's kind, follow their masks. */
static inline enum status apply_masks(const struct launch_queue &queue, const struct image &image,
                                      const struct apply_args *args, int count) {
    const struct apply_kernels kernels = apply_kernels_of(image);
    enum status status = STATUS_OK;
    for (int way = 0; way < APPLY_WAYS && !status; way++) {
        struct apply_args alike[CUDA_BATCH_MAX];
        int found = 0;
        for (int i = 0; i < count; i++)
            if (apply_way_of(args[i]) == way) alike[found++] = args[i];
        status = launch_items(kernels.ways[way], apply_blocks, dim3(PIXEL_BLOCK_X, PIXEL_BLOCK_Y),
                              queue, alike, found);
    }
    return status;
}

#endif

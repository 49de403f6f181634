// SPDX-License-Identifier: Apache-2.0
/* How it works. The ladder that led to cuda/ops/edge.cu, sobel3 of 8-bit gray, from the simplest
 * kernel to the one that is shipped; then other kinds of image through the shipped operator,
 * beside the tile in shared memory that some of them went through before, and with other strips
 * and blocks. Before anything is timed the roots are tried on the device for every sum of squares
 * that can occur, and each result is compared with a plain CPU loop before its time is printed.
 * Microseconds, medians over events: `warm` on one pair of buffers, `cold` over enough that the
 * L2 cache holds none of them, `train` a launch's share of 20 in a row. */
#include "cuda/ops/edge.cu"

#include "pipeline/image.h"
#include "pipeline/luma.h"

#include <cstdint>

struct frame {
    struct cuda_context context;
    struct params params;
    struct image in, out; /* device */
    int16_t *wide;        /* as many as there are pixels: NPP's result */
    const uint8_t *expected;
};

#include "tests/bench/kernels/edge_textbook.cuh"
#include "tests/bench/kernels/edge_tile.cuh"
#include "tests/bench/kernels/scene.cuh"

static dim3 grid_of(const struct frame *f, unsigned across, unsigned down) {
    return dim3((f->in.width + across - 1) / across, (f->in.height + down - 1) / down);
}

/* ---- 1: the textbook's: a thread a pixel; the same with a tile in shared memory */

static void rung_plain(const struct frame *f) {
    textbook_plain(f->in, f->out, f->context.stream);
}

static void rung_plain_shared(const struct frame *f) {
    textbook_shared(f->in, f->out, f->context.stream);
}

/* ---- 2: a tile in shared memory, for any kind of image */

static void rung_tile(const struct frame *f) {
    const unsigned channels = f->in.channels, depth = f->in.depth;
    const struct edge_rule rule = edge_rule_of(&f->params, channels, depth);
    struct op_call call = {};
    struct batch batch;
    call.in = f->in, call.out = f->out;
    batch_init_tiles(&batch, &call, 1, TILE_WIDTH, TILE_HEIGHT);
    if (depth == 8)
        launch_tiles<8>(f->context.stream, channels, batch, rule);
    else
        launch_tiles<16>(f->context.stream, channels, batch, rule);
}

/* ---- 3: rows in registers, four pixels a thread, one a register; columns aside loaded again */

enum { SLIDE_ROWS = 32 };

struct slope_row {
    int smooth[4], slope[4];
};

static __device__ struct slope_row slide_row(const struct image &image, int x, int y) {
    struct slope_row row;
    int level[6];
    const uint8_t *from =
        image.pixels + (size_t)min(max(y, 0), (int)image.height - 1) * image.stride;
    const uint32_t word = __ldg((const uint32_t *)(from + x));
    level[0] = from[max(x - 1, 0)];
    level[5] = from[min(x + 4, (int)image.width - 1)];
#pragma unroll
    for (int i = 0; i < 4; i++) level[i + 1] = word >> 8 * i & 255;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        row.smooth[i] = level[i] + 2 * level[i + 1] + level[i + 2];
        row.slope[i] = level[i + 2] - level[i];
    }
    return row;
}

/* Widths here are multiples of 4. */
static __global__ void slide_kernel(const struct image in, const struct image out) {
    const int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x), top = blockIdx.y * SLIDE_ROWS;
    if (x >= (int)in.width) return;
    struct slope_row above = slide_row(in, x, top - 1), here = slide_row(in, x, top);
    for (int y = top; y < min(top + (int)SLIDE_ROWS, (int)in.height); y++) {
        const struct slope_row below = slide_row(in, x, y + 1);
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
            word |=
                (uint32_t)textbook_magnitude(above.slope[i] + 2 * here.slope[i] + below.slope[i],
                                             below.smooth[i] - above.smooth[i])
                << 8 * i;
        *(uint32_t *)(out.pixels + (size_t)y * out.stride + x) = word;
        above = here, here = below;
    }
}

static void rung_slide(const struct frame *f) {
    slide_kernel<<<grid_of(f, 4 * 128, SLIDE_ROWS), 128, 0, f->context.stream>>>(f->in, f->out);
}

/* ---- 4: what is shipped; and the same with other strips and blocks */

static void rung_shipped(const struct frame *f) {
    run_operator(cuda_op_edge, f, NULL);
}

/* A rung for a DEPTH and a REACH. ROWS 0: as many as fill the GPU once. */
template <int DEPTH, int REACH, int BLOCKS, int ROWS, int AHEAD = 0, bool PLAIN = true,
          int CHANNELS = 1>
static void rung_kind(const struct frame *f) {
    typedef edge_traits<DEPTH, REACH, CHANNELS, PLAIN> kind;
    struct op_call call = {};
    struct edge_args args;
    call.in = f->in, call.out = f->out;
    const uint64_t threads = (uint64_t)f->context.multiprocessors * BLOCKS * EDGE_THREADS;
    const uint64_t rows = (uint64_t)(f->in.width + kind::PIXELS - 1) / kind::PIXELS * f->in.height;
    args.rule = edge_rule_of(&f->params, CHANNELS, DEPTH);
    args.rows = ROWS ? ROWS : (uint32_t)((rows + 2 * threads - 1) / (2 * threads) * 2);
    batch_init_tiles(&args.batch, &call, 1, kind::PIXELS, args.rows);
    edge_kernel<kind, BLOCKS, AHEAD><<<(args.batch.chunks + EDGE_THREADS - 1) / EDGE_THREADS,
                                       EDGE_THREADS, 0, f->context.stream>>>(args);
}

template <int BLOCKS, int ROWS, int AHEAD = 0> static void rung_strips(const struct frame *f) {
    rung_kind<8, 1, BLOCKS, ROWS, AHEAD>(f);
}

/* Other strips and blocks for a kind that the ladder is not about. */
struct other_rung {
    const char *name;
    rung run;
};

template <int DEPTH, int REACH, int CHANNELS, bool TILE>
static const struct other_rung *other_rungs(void) {
    static const struct other_rung rungs[] = {
        { "  3, 16, L2 2 ahead", rung_kind<DEPTH, REACH, 3, 16, 2, true, CHANNELS> },
        { "  3, 32, L2 2 ahead", rung_kind<DEPTH, REACH, 3, 32, 2, true, CHANNELS> },
        { "  4, 8 rows", rung_kind<DEPTH, REACH, 4, 8, 0, true, CHANNELS> },
        { "  4, 16 rows", rung_kind<DEPTH, REACH, 4, 16, 0, true, CHANNELS> },
        { "  4, 8, L2 2 ahead", rung_kind<DEPTH, REACH, 4, 8, 2, true, CHANNELS> },
        { "  4, 16, L2 2 ahead", rung_kind<DEPTH, REACH, 4, 16, 2, true, CHANNELS> },
        { "  4, 32, L2 2 ahead", rung_kind<DEPTH, REACH, 4, 32, 2, true, CHANNELS> },
        { "  5, 8, L2 2 ahead", rung_kind<DEPTH, REACH, 5, 8, 2, true, CHANNELS> },
        { TILE ? "  by tile" : NULL, rung_tile },
        { NULL, NULL },
    };
    return rungs;
}

/* ---- NPP, where the machine has it: magnitudes of 16 bit, not clamped */

struct npp_pair {
    int x, y;
};
typedef int (*npp_gradient)(const uint8_t *, int, npp_pair, npp_pair, int16_t *, int, int16_t *,
                            int, int16_t *, int, float *, int, npp_pair, int, int, int,
                            npp_context);
static npp_gradient gradient;

static void rung_npp(const struct frame *f) {
    enum { MASK_3X3 = 200, NORM_L2 = 2, BORDER_REPLICATE = 2 };
    static const struct npp_context context = npp_context_make(f->context.stream);
    const struct npp_pair size = { (int)f->in.width, (int)f->in.height }, origin = { 0, 0 };
    gradient(f->in.pixels, (int)f->in.stride, size, origin, NULL, 0, NULL, 0, f->wide,
             (int)f->in.width * 2, NULL, 0, size, MASK_3X3, NORM_L2, BORDER_REPLICATE, context);
}

/* Converts to 8 bits where WIDE is within 1 of EXPECTED: NPP may round. */
static __global__ void narrow(const int16_t *wide, const uint8_t *expected, uint8_t *out,
                              uint64_t pixels) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += step) {
        const int level = min((int)wide[i], 255);
        out[i] = abs(level - expected[i]) <= 1 ? expected[i] : expected[i] ^ 255;
    }
}

static void rung_npp_narrow(const struct frame *f) {
    rung_npp(f);
    narrow<<<1024, 256, 0, f->context.stream>>>(f->wide, f->expected, f->out.pixels,
                                                image_bytes(&f->out));
}

#include "tests/bench/kernels/edge_measure.cuh"

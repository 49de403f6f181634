// SPDX-License-Identifier: Apache-2.0
/* skeleton_scene.cuh - what the ladders of the skeletons have in common: functions as users write
 * them, the operators made by hand that they stand beside, pictures, and what is right of them.
 *
 * Used by:  skeletons.cu, skeleton_ways.cu.
 */
#ifndef BURIN_SKELETON_SCENE_CUH
#define BURIN_SKELETON_SCENE_CUH

#include "cuda/ops/edge.cu"
#define run histogram_run /* each operator's file has a function of that name */
#include "cuda/ops/histogram.cu"
#undef run
#define run convolve_run
#include "cuda/ops/convolve.cu"
#undef run
#define run maximum_run
#include "cuda/ops/maximum.cu"
#undef run
#define run mean_run
#include "cuda/ops/mean.cu"
#undef run
#include "cuda/skeletons/launch.cuh"
#include "cuda/skeletons/user_function.cuh"

#include "pipeline/image.h"

#include <cstdint>

struct frame {
    struct cuda_context context;
    struct params params;
    struct image in, out; /* device; OUT is the values of a reduction */
    void *scratch;
    uint8_t *between; /* of two steps, as large as the image */
};

#include "tests/bench/kernels/scene.cuh"

/* ---- what a user writes */

#define USER static __host__ __device__ __forceinline__

USER unsigned char binarize(unsigned char pixel, int index) {
    (void)index;
    return pixel + 20 > 127 ? 255 : 0;
}

USER unsigned char vignette(unsigned char pixel, int index) {
    return (unsigned char)(pixel * (255 - index % 4096 / 64) / 255);
}

USER unsigned char sobel(unsigned char p[3][3], int x, int y) {
    (void)x, (void)y;
    const int gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
    const int gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
    const int m = (int)sqrtf((float)(gx * gx + gy * gy));
    return m > 255 ? 255 : m;
}

USER unsigned char sobel_sum(unsigned char p[3][3], int x, int y) {
    (void)x, (void)y;
    const int gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
    const int gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
    const int m = abs(gx) + abs(gy);
    return m > 255 ? 255 : m;
}

USER unsigned char box(unsigned char p[3][3], int x, int y) {
    (void)x, (void)y;
    int sum = 0;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) sum += p[r][c];
    return (unsigned char)((sum + 4) / 9);
}

USER unsigned char median(unsigned char p[3][3], int x, int y) {
    (void)x, (void)y;
    unsigned char v[9];
    for (int i = 0; i < 9; i++) v[i] = p[i / 3][i % 3];
    for (int i = 0; i < 5; i++)
        for (int k = i + 1; k < 9; k++) {
            const unsigned char less = v[i] < v[k] ? v[i] : v[k];
            v[k] = v[i] < v[k] ? v[k] : v[i];
            v[i] = less;
        }
    return v[4];
}

USER int largest(int a, int b) {
    return a > b ? a : b;
}

USER long long sum(long long a, long long b) {
    return a + b;
}

#define atomicAdd(where, number) burin_count(where, number, out, bins) /* as user_text.c has it */
static __device__ __forceinline__ void count(unsigned char in, int *out, int bins) {
    (void)bins;
    atomicAdd(&out[in], 1);
}
#undef atomicAdd

/* ---- rungs by hand */

static struct op_call call_of(const struct frame *f, struct failure *failure) {
    struct op_call call = {};
    call.params = &f->params;
    call.in = call.out = f->in;
    call.out.pixels = f->out.pixels;
    call.values = f->out.pixels;
    call.scratch = f->scratch;
    call.failure = failure;
    return call;
}

static void passed(enum status status, const struct failure &failure) {
    if (!status) return;
    fprintf(stderr, "%s\n", failure.message);
    exit(1);
}

/* The parameters with which cuda_op_convolve does what box() does. */
static struct params box_params(void) {
    struct params params = {};
    params.tap_count = 9;
    for (int i = 0; i < 9; i++) params.taps[i] = 1;
    return params;
}

static void rung_convolve(const struct frame *f) {
    struct failure failure = {};
    struct op_call call = call_of(f, &failure);
    const struct params params = box_params();
    call.params = &params;
    passed(cuda_op_convolve.run(&f->context, &call, 1), failure);
}

static void rung_values(const struct cuda_op &op, const struct frame *f) {
    struct failure failure = {};
    struct op_call call = call_of(f, &failure);
    passed(op.run(&f->context, &call, 1), failure);
}

static void rung_maximum(const struct frame *f) {
    rung_values(cuda_op_maximum, f);
}

static void rung_mean(const struct frame *f) {
    rung_values(cuda_op_mean, f);
}

static void rung_edge(const struct frame *f) {
    run_operator(cuda_op_edge, f, NULL);
}

static void rung_histogram(const struct frame *f) {
    struct failure failure = {};
    struct op_call call = call_of(f, &failure);
    struct params params = {};
    params.number[HISTOGRAM_BINS] = 256;
    call.params = &params;
    passed(cuda_op_histogram.run(&f->context, &call, 1), failure);
}

/* ---- pictures and what is right */

enum kind { NOISE, PHOTO, FEW, KINDS };
static const char *const kind_names[] = { "noise", "photo", "few" };

static uint8_t level_at(enum kind kind, uint32_t x, uint32_t y, uint64_t i) {
    const uint32_t noise = hash((uint32_t)i);
    if (kind == NOISE) return (uint8_t)noise;
    if (kind == FEW) return (uint8_t)(y < 1000 ? 40 : 41); /* sky and grass */
    return (uint8_t)(120 + 60 * sinf(x / 310.f) + 45 * cosf(y / 190.f) + noise % 16);
}

static std::vector<uint8_t> picture(enum kind kind, uint32_t width, uint32_t height) {
    std::vector<uint8_t> levels((size_t)width * height);
    in_parallel(height, [&](unsigned, uint64_t from, uint64_t to) {
        for (uint64_t y = from; y < to; y++)
            for (uint32_t x = 0; x < width; x++)
                levels[y * width + x] = level_at(kind, x, (uint32_t)y, y * width + x);
    });
    return levels;
}

/* The outermost pixels stand for those beyond the border. */
template <class Function>
static std::vector<uint8_t> windows(const std::vector<uint8_t> &in, int width, int height,
                                    const Function &function, int channels = 1) {
    std::vector<uint8_t> out(in.size());
    in_parallel(height, [&](unsigned, uint64_t from, uint64_t to) {
        for (int y = (int)from; y < (int)to; y++)
            for (int i = 0; i < width * channels; i++) {
                const int x = i / channels, channel = i % channels;
                unsigned char p[3][3];
                for (int r = 0; r < 3; r++)
                    for (int c = 0; c < 3; c++) {
                        const size_t row = std::min(std::max(y + r - 1, 0), height - 1);
                        const int column = std::min(std::max(x + c - 1, 0), width - 1);
                        p[r][c] = in[(row * width + column) * channels + channel];
                    }
                out[(size_t)y * width * channels + i] = function(p, x, y);
            }
    });
    return out;
}

template <class Function>
static std::vector<uint8_t> points(const std::vector<uint8_t> &in, const Function &function) {
    std::vector<uint8_t> out(in.size());
    in_parallel(in.size(), [&](unsigned, uint64_t from, uint64_t to) {
        for (uint64_t i = from; i < to; i++) out[i] = function(in[i], (int)i);
    });
    return out;
}

template <class Number> static std::vector<uint8_t> bytes_of(const std::vector<Number> &numbers) {
    const uint8_t *bytes = (const uint8_t *)numbers.data();
    return std::vector<uint8_t>(bytes, bytes + numbers.size() * sizeof(Number));
}

/* ---- scene */

static void expect(struct scene &scene, const std::vector<uint8_t> &out, bool values) {
    struct image &to = scene.frame.out;
    to = scene.frame.in;
    if (values) to.width = (uint32_t)out.size(), to.height = 1, to.stride = out.size();
    TRY(cudaMemcpy(scene.expected, out.data(), out.size(), cudaMemcpyHostToDevice));
}

static void prepare(struct scene &scene, const std::vector<uint8_t> &in, uint32_t width,
                    uint32_t height, uint8_t *memory, uint32_t channels = 1) {
    const size_t bytes = in.size(), pairs = std::max<size_t>(1, COLD_BYTES / (2 * bytes));
    scene.frame.in = { NULL, width * channels, width, height, (uint8_t)channels, 8 };
    scene.expected = memory;
    memory += bytes;
    scene.ins.clear(), scene.outs.clear();
    for (size_t i = 0; i < pairs; i++, memory += 2 * bytes) {
        scene.ins.push_back(memory);
        scene.outs.push_back(memory + bytes);
        TRY(cudaMemcpy(memory, in.data(), bytes, cudaMemcpyHostToDevice));
    }
}

/* Returns a gigabyte for prepare(). */
static uint8_t *make_scene(struct scene &scene) {
    uint8_t *memory;
    scene = {};
    context_make(scene.frame.context);
    TRY(cudaMalloc(&memory, (size_t)1 << 30));
    TRY(cudaMalloc(&scene.frame.between, (size_t)1 << 26));
    TRY(cudaMalloc(&scene.wrong, 4));
    TRY(cudaMalloc(&scene.frame.scratch, scalar_scratch(&scene.frame.context, 1)));
    TRY(cudaMalloc(&scene.frame.context.zeroed, CUDA_ZEROED_WORDS * 4));
    TRY(cudaMemset(scene.frame.context.zeroed, 0, CUDA_ZEROED_WORDS * 4));
    return memory;
}

#endif

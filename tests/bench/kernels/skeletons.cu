// SPDX-License-Identifier: Apache-2.0
/* How it works. The four skeletons with the functions that a user would write, beside a copy, the
 * hand-written operators and the paper's own way (a thread a pixel). First every result is compared
 * with a loop on the CPU. Microseconds, medians over events: `warm` on one pair of buffers, `cold`
 * over so many that the L2 cache holds none of them, `train` a launch's share of 20 in a row. */
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

#include "pipeline/image.h"

#include <cstdint>

struct frame {
    struct cuda_context context;
    struct params params;
    struct image in, out; /* device; OUT is the values of a reduction */
    void *scratch;
    uint8_t *between; /* of two steps, as large as the image */
};

#include "tests/bench/kernels/convolve_tile.cuh"
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

USER int largest(int a, int b) {
    return a > b ? a : b;
}

USER long long sum(long long a, long long b) {
    return a + b;
}

static __device__ __forceinline__ void count(unsigned char in, int *out, int bins) {
    (void)bins;
    atomicAdd(&out[in], 1);
}

/* ---- kernels as they are generated */

#define POINT(name)                                                                                \
    static __global__ void __launch_bounds__(POINT_THREADS)                                        \
        kernel_##name(const __grid_constant__ struct batch batch, struct skeleton_parameters,      \
                      unsigned channels, struct alpha_mask alpha) {                                \
        point_chunk<8>(                                                                            \
            batch,                                                                                 \
            [](uint32_t sample, uint32_t index) {                                                  \
                return name((unsigned char)sample, (int)index);                                    \
            },                                                                                     \
            channels, alpha);                                                                      \
    }
POINT(binarize)
POINT(vignette)

#define NEIGHBOURHOOD(name)                                                                        \
    static __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS) kernel_##name(                 \
        const __grid_constant__ struct batch batch, struct skeleton_parameters, unsigned rows) {   \
        neighbourhood_strip<neighbourhood_traits<8, 1, 1>>(                                        \
            batch, [](unsigned char(&p)[3][3], int x, int y) { return name(p, x, y); }, rows);     \
    }
NEIGHBOURHOOD(sobel)
NEIGHBOURHOOD(sobel_sum)
NEIGHBOURHOOD(box)

/* Two P2Ps in one kernel, and a P2P before an N2P. */
static __global__ void __launch_bounds__(POINT_THREADS)
    kernel_points(const __grid_constant__ struct batch batch, struct skeleton_parameters,
                  unsigned channels, struct alpha_mask alpha) {
    point_chunk<8>(
        batch,
        [](uint32_t sample, uint32_t index) {
            return binarize(vignette((unsigned char)sample, (int)index), (int)index);
        },
        channels, alpha);
}

static __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS)
    kernel_windows(const __grid_constant__ struct batch batch, struct skeleton_parameters,
                   unsigned rows) {
    neighbourhood_strip<neighbourhood_traits<8, 1, 1>>(
        batch, [](unsigned char(&p)[3][3], int x, int y) { return box(p, x, y); }, rows,
        [](uint32_t sample, uint32_t index) {
            return vignette((unsigned char)sample, (int)index);
        });
}

#define SCALAR(name, type)                                                                         \
    static __global__ void __launch_bounds__(SCALAR_THREADS, SCALAR_BLOCKS)                        \
        kernel_##name(const __grid_constant__ struct batch batch, struct skeleton_parameters,      \
                      struct partial_numbers<type, 1> *partials, uint32_t *blocks_done) {          \
        reduce_batch<pixels_traits<8, 1>, type, type>(                                             \
            batch, [](type a, type b) { return name(a, b); }, partials, blocks_done);              \
    }
SCALAR(largest, int)
SCALAR(sum, long long)

static __global__ void __launch_bounds__(VECTOR_THREADS, VECTOR_BLOCKS)
    kernel_count(const __grid_constant__ struct batch batch, struct skeleton_parameters, int bins,
                 int copies) {
    count_batch<pixels_traits<8, 1>>(
        batch,
        [](uint32_t sample, int *lists, int length) {
            count((unsigned char)sample, lists, length);
        },
        bins, copies);
}

/* ---- rungs */

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

#define RUNG(name, launch, ...)                                                                    \
    static void rung_##name(const struct frame *f) {                                               \
        struct failure failure = {};                                                               \
        const struct op_call call = call_of(f, &failure);                                          \
        const struct skeleton_parameters none = {};                                                \
        const struct skeleton_kernel kernel = { (const void *)kernel_##name, &none, #name };       \
        passed(launch(&f->context, &call, 1, kernel __VA_ARGS__), failure);                        \
    }
#define AND ,
RUNG(binarize, point_launch)
RUNG(vignette, point_launch)
RUNG(sobel, neighbourhood_launch)
RUNG(sobel_sum, neighbourhood_launch)
RUNG(box, neighbourhood_launch)
RUNG(points, point_launch)
RUNG(windows, neighbourhood_launch)
RUNG(largest, scalar_launch)
RUNG(sum, scalar_launch)
RUNG(count, vector_launch, AND 256)

static void rung_after_vignette(const struct frame *f, rung second) {
    struct frame half = *f;
    half.out.pixels = f->between;
    rung_vignette(&half);
    half = *f;
    half.in.pixels = f->between;
    second(&half);
}

static void rung_points_apart(const struct frame *f) {
    rung_after_vignette(f, rung_binarize);
}

static void rung_windows_apart(const struct frame *f) {
    rung_after_vignette(f, rung_box);
}

/* The paper's: a thread a pixel. */
static __global__ void paper_binarize(const uint8_t *in, uint8_t *out, int size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) out[i] = binarize(in[i], i);
}

static void rung_paper(const struct frame *f) {
    const int size = (int)image_pixels(&f->in);
    paper_binarize<<<(size + 1023) / 1024, 1024, 0, f->context.stream>>>(f->in.pixels,
                                                                         f->out.pixels, size);
}

/* As cuda_op_convolve is asked for what box() does. */
static struct params box_params(void) {
    struct params params = {};
    params.tap_count = 9;
    for (int i = 0; i < 9; i++) params.taps[i] = 1;
    return params;
}

static void rung_tile(const struct frame *f) {
    struct failure failure = {};
    const struct op_call call = call_of(f, &failure);
    const struct params params = box_params();
    struct batch batch;
    passed(batch_init_tiles(&batch, &call, 1, TILE_WIDTH, TILE_HEIGHT), failure);
    convolve_tile_kernel<<<batch.chunks, TILE_THREADS, 0, f->context.stream>>>(
        batch, convolve_rule_of(&params, 8));
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

template <class Function>
static std::vector<uint8_t> windows(const std::vector<uint8_t> &in, int width, int height,
                                    const Function &function) {
    std::vector<uint8_t> out(in.size());
    in_parallel(height, [&](unsigned, uint64_t from, uint64_t to) {
        for (int y = (int)from; y < (int)to; y++)
            for (int x = 0; x < width; x++) {
                unsigned char p[3][3];
                for (int r = 0; r < 3; r++)
                    for (int c = 0; c < 3; c++)
                        p[r][c] = in[(size_t)std::min(std::max(y + r - 1, 0), height - 1) * width +
                                     std::min(std::max(x + c - 1, 0), width - 1)];
                out[(size_t)y * width + x] = function(p, x, y);
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

/* ---- the table */

static void expect(struct scene &scene, const std::vector<uint8_t> &out, bool values) {
    struct image &to = scene.frame.out;
    to = scene.frame.in;
    if (values) to.width = (uint32_t)out.size(), to.height = 1, to.stride = out.size();
    TRY(cudaMemcpy(scene.expected, out.data(), out.size(), cudaMemcpyHostToDevice));
}

static void prepare(struct scene &scene, const std::vector<uint8_t> &in, uint32_t width,
                    uint32_t height, uint8_t *memory) {
    const size_t bytes = in.size(), pairs = std::max<size_t>(1, COLD_BYTES / (2 * bytes));
    scene.frame.in = { NULL, width, width, height, 1, 8 };
    scene.expected = memory;
    memory += bytes;
    scene.ins.clear(), scene.outs.clear();
    for (size_t i = 0; i < pairs; i++, memory += 2 * bytes) {
        scene.ins.push_back(memory);
        scene.outs.push_back(memory + bytes);
        TRY(cudaMemcpy(memory, in.data(), bytes, cudaMemcpyHostToDevice));
    }
}

static void measure_images(struct scene &scene, const std::vector<uint8_t> &in, uint32_t width,
                           uint32_t height, const char *kind) {
    expect(scene, in, false);
    measure_rung("empty launch", kind, scene, rung_empty, NULL);
    measure_rung("copy", kind, scene, rung_copy);
    expect(scene, points(in, binarize), false);
    measure_rung("P2P binarize", kind, scene, rung_binarize);
    measure_rung("  a thread a pixel", kind, scene, rung_paper);
    expect(scene, points(in, vignette), false);
    measure_rung("P2P with index", kind, scene, rung_vignette);
    const std::vector<uint8_t> between = points(in, vignette);
    expect(scene, points(between, binarize), false);
    measure_rung("P2P, P2P", kind, scene, rung_points);
    measure_rung("  one by one", kind, scene, rung_points_apart);
    expect(scene, windows(between, width, height, box), false);
    measure_rung("P2P, N2P box", kind, scene, rung_windows);
    measure_rung("  one by one", kind, scene, rung_windows_apart);
    expect(scene, windows(in, width, height, box), false);
    measure_rung("N2P box", kind, scene, rung_box);
    measure_rung("  convolve", kind, scene, rung_convolve);
    measure_rung("  convolve, by a tile", kind, scene, rung_tile);
    expect(scene, windows(in, width, height, sobel_sum), false);
    measure_rung("N2P Sobel, sum", kind, scene, rung_sobel_sum);
    expect(scene, windows(in, width, height, sobel), false);
    measure_rung("N2P Sobel, root", kind, scene, rung_sobel);
    measure_rung("  edge, by hand", kind, scene, rung_edge);
}

static void measure_values(struct scene &scene, const std::vector<uint8_t> &in, const char *kind) {
    std::vector<int> counts(256);
    long long total = 0;
    int most = 0;
    for (uint8_t level : in) counts[level]++, total += level, most = std::max(most, (int)level);
    expect(scene, bytes_of(std::vector<int>{ most }), true);
    measure_rung("R2S largest", kind, scene, rung_largest);
    measure_rung("  maximum, by hand", kind, scene, rung_maximum);
    expect(scene, bytes_of(std::vector<long long>{ total }), true);
    measure_rung("R2S sum, 64 bit", kind, scene, rung_sum);
    expect(scene, bytes_of(std::vector<double>{ (double)total / (double)in.size() }), true);
    measure_rung("  mean, by hand", kind, scene, rung_mean);
    expect(scene, bytes_of(counts), true);
    measure_rung("R2V histogram", kind, scene, rung_count);
    measure_rung("  histogram, by hand", kind, scene, rung_histogram);
}

static const uint32_t sides[][2] = {
    { 1920, 1080 }, { 3840, 2160 }, { 7680, 4320 }, { 8192, 8192 }
};

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        puts("usage: skeletons [--json]\n\n"
             "The skeletons of users' operators beside a copy and the operators made by hand;\n"
             "microseconds, medians of 41 launches. Every result is compared with a loop on the\n"
             "CPU before its time is printed.\n\n"
             "  --json  print JSON and no table");
        return 0;
    }
    json = count > 1 && strcmp(arguments[1], "--json") == 0;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: nothing to measure");
        return 77;
    }
    struct scene scene = {};
    uint8_t *memory;
    context_make(scene.frame.context);
    TRY(cudaMalloc(&memory, (size_t)1 << 30));
    TRY(cudaMalloc(&scene.frame.between, (size_t)1 << 26));
    TRY(cudaMalloc(&scene.wrong, 4));
    TRY(cudaMalloc(&scene.frame.scratch, scalar_scratch(&scene.frame.context, 1)));
    TRY(cudaMalloc(&scene.frame.context.zeroed, CUDA_ZEROED_WORDS * 4));
    TRY(cudaMemset(scene.frame.context.zeroed, 0, CUDA_ZEROED_WORDS * 4));
    if (json)
        printf("[");
    else
        printf("%-22s size                          warm      cold     train\n", "us");
    for (const uint32_t(&side)[2] : sides)
        for (int kind = 0; kind < KINDS; kind++) {
            const std::vector<uint8_t> in = picture((enum kind)kind, side[0], side[1]);
            prepare(scene, in, side[0], side[1], memory);
            if (kind == NOISE) measure_images(scene, in, side[0], side[1], kind_names[kind]);
            measure_values(scene, in, kind_names[kind]);
        }
    if (json) puts("\n]");
    return 0;
}

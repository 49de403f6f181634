// SPDX-License-Identifier: Apache-2.0
/* How it works. The four skeletons with the functions that a user would write, beside a copy, the
 * hand-written operators and the paper's own way (a thread a pixel). First every result is compared
 * with a loop on the CPU. Microseconds, medians over events: `warm` on one pair of buffers, `cold`
 * over enough that the L2 cache holds none of them, `train` a launch's share of 20 in a row. */
#include "tests/bench/kernels/skeleton_scene.cuh"

#include "tests/bench/kernels/convolve_tile.cuh"

/* ---- kernels as they are generated */

static __device__ __forceinline__ int index_of(const struct burin_place &at) {
    return at.y * at.width + at.x;
}

#define POINT(name)                                                                                \
    static __global__ void __launch_bounds__(POINT_THREADS)                                        \
        kernel_##name(const __grid_constant__ struct batch batch, struct skeleton_parameters,      \
                      unsigned channels, struct alpha_mask alpha) {                                \
        point_chunk<8>(                                                                            \
            batch,                                                                                 \
            [](uint32_t sample, const struct burin_place &at) {                                    \
                return name((unsigned char)sample, index_of(at));                                  \
            },                                                                                     \
            channels, alpha);                                                                      \
    }
POINT(binarize)
POINT(vignette)

typedef neighbourhood_traits<8, 1, 1> gray;

#define NEIGHBOURHOOD(name)                                                                        \
    static __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS, gray::BLOCKS) kernel_##name(   \
        const __grid_constant__ struct batch batch, struct skeleton_parameters, unsigned rows) {   \
        neighbourhood_strip<gray>(                                                                 \
            batch,                                                                                 \
            [](unsigned char(&p)[3][3], const struct burin_place &at) {                            \
                return name(p, at.x, at.y);                                                        \
            },                                                                                     \
            rows);                                                                                 \
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
        [](uint32_t sample, const struct burin_place &at) {
            return binarize(vignette((unsigned char)sample, index_of(at)), index_of(at));
        },
        channels, alpha);
}

static __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS)
    kernel_windows(const __grid_constant__ struct batch batch, struct skeleton_parameters,
                   unsigned rows) {
    neighbourhood_strip<neighbourhood_traits<8, 1, 1>>(
        batch,
        [](unsigned char(&p)[3][3], const struct burin_place &at) { return box(p, at.x, at.y); },
        rows,
        [](uint32_t sample, const struct burin_place &at) {
            return vignette((unsigned char)sample, index_of(at));
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

static void rung_tile(const struct frame *f) {
    struct failure failure = {};
    const struct op_call call = call_of(f, &failure);
    const struct params params = box_params();
    struct batch batch;
    passed(batch_init_tiles(&batch, &call, 1, TILE_WIDTH, TILE_HEIGHT), failure);
    convolve_tile_kernel<<<batch.chunks, TILE_THREADS, 0, f->context.stream>>>(
        batch, convolve_rule_of(&params, 8));
}

/* ---- the table */

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
    struct scene scene;
    uint8_t *memory = make_scene(scene);
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

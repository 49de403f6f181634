// SPDX-License-Identifier: Apache-2.0
/* How it works. The skeletons with users' functions in other numbers than those that are shipped:
 *   N2P  blocks of a multiprocessor that registers are left for (1: as the compiler likes), and
 *        rows of a strip (0: as it is launched), and rows that are fetched into the L2 cache ahead
 *   R2V  copies of the lists in shared memory, and blocks of a multiprocessor
 *   R2S  loads of a thread in flight, blocks, and whether the next ones are on their way before
 *        those that are there are worked on
 * Every result is compared with a loop on the CPU before its time is printed: microseconds, as in
 * skeletons.cu. */
#include "tests/bench/kernels/skeleton_scene.cuh"

/* The rungs' input: they have no other arguments. */
static struct {
    const void *kernel;
    const struct convolution *rule;
    unsigned rows, blocks, copies;
} way;

#define FUNCTION_OBJECT(name, result, arguments, pass)                                             \
    struct as_##name {                                                                             \
        __device__ __forceinline__ result operator() arguments const {                             \
            return name pass;                                                                      \
        }                                                                                          \
    };
FUNCTION_OBJECT(box, unsigned, (unsigned char (&p)[3][3], const burin_place &at), (p, at.x, at.y))
FUNCTION_OBJECT(sobel_sum, unsigned, (unsigned char (&p)[3][3], const burin_place &at),
                (p, at.x, at.y))
FUNCTION_OBJECT(sobel, unsigned, (unsigned char (&p)[3][3], const burin_place &at), (p, at.x, at.y))
FUNCTION_OBJECT(median, unsigned, (unsigned char (&p)[3][3], const burin_place &at),
                (p, at.x, at.y))
FUNCTION_OBJECT(largest, int, (int a, int b), (a, b))
FUNCTION_OBJECT(sum, long long, (long long a, long long b), (a, b))

/* ---- N2P */

/* Blocks, and rows that are fetched ahead. */
template <int OF_BLOCKS, int OF_AHEAD> struct shape {
    static constexpr int BLOCKS = OF_BLOCKS, AHEAD = OF_AHEAD;
};

template <int CHANNELS, class SHAPE> struct window_traits : neighbourhood_traits<8, CHANNELS, 1> {
    static constexpr int BLOCKS = SHAPE::BLOCKS, AHEAD = SHAPE::AHEAD;
};

template <class T, class FUNCTION>
static __global__ void __launch_bounds__(NEIGHBOURHOOD_THREADS, T::BLOCKS)
    window_kernel(const __grid_constant__ struct batch batch, struct skeleton_parameters,
                  unsigned rows) {
    neighbourhood_strip<T>(batch, FUNCTION(), rows);
}

static void rung_window(const struct frame *f) {
    struct failure failure = {};
    const struct op_call call = call_of(f, &failure);
    const struct skeleton_parameters none = {};
    const void *parameters = way.rule ? (const void *)way.rule : &none;
    const struct skeleton_kernel kernel = { way.kernel, parameters, "window" };
    passed(neighbourhood_launch(&f->context, &call, 1, kernel, way.rows), failure);
}

template <class SHAPE>
static void measure_rows(struct scene &scene, const char *name, const char *kind, SHAPE,
                         const void *kernel) {
    static const unsigned rows[] = { 0, 8, 9, 12, 16, 18, 24 };
    way.kernel = kernel;
    for (unsigned each : rows) {
        char rung[64];
        way.rows = each;
        snprintf(rung, sizeof rung, "%s %d, %d, %u rows", name, SHAPE::BLOCKS, SHAPE::AHEAD, each);
        measure_rung(rung, kind, scene, rung_window);
    }
}

template <int CHANNELS, class FUNCTION, class... SHAPES>
static void measure_shapes(struct scene &scene, const char *name, const char *kind,
                           SHAPES... shapes) {
    (measure_rows(scene, name, kind, shapes,
                  (const void *)window_kernel<window_traits<CHANNELS, SHAPES>, FUNCTION>),
     ...);
}

template <class... SHAPES>
static void measure_convolution(struct scene &scene, const char *kind, SHAPES... shapes) {
    const struct params params = box_params();
    const struct convolution rule = { convolve_rule_of(&params, 8) };
    way.rule = &rule;
    (measure_rows(scene, "convolve", kind, shapes,
                  (const void *)neighbourhood_kernel<window_traits<1, SHAPES>, convolution>),
     ...);
    way.rule = NULL;
    measure_rung("convolve, as it is", kind, scene, rung_convolve);
}

template <class FUNCTION>
static void measure_most(struct scene &scene, const char *name, const char *kind) {
    measure_shapes<1, FUNCTION>(scene, name, kind, shape<5, 2>(), shape<6, 0>(), shape<6, 2>(),
                                shape<7, 0>(), shape<7, 1>(), shape<7, 2>(), shape<7, 4>());
}

static void measure_gray(struct scene &scene, const std::vector<uint8_t> &in, uint32_t width,
                         uint32_t height, const char *kind) {
    expect(scene, in, false);
    measure_rung("empty launch", kind, scene, rung_empty, NULL);
    measure_rung("copy", kind, scene, rung_copy);
    expect(scene, windows(in, width, height, box), false);
    measure_most<as_box>(scene, "box", kind);
    measure_convolution(scene, kind, shape<5, 0>(), shape<5, 2>(), shape<6, 0>(), shape<6, 2>(),
                        shape<7, 0>(), shape<7, 2>());
    expect(scene, windows(in, width, height, sobel_sum), false);
    measure_most<as_sobel_sum>(scene, "Sobel, sum", kind);
    expect(scene, windows(in, width, height, median), false);
    measure_shapes<1, as_median>(scene, "median", kind, shape<1, 0>(), shape<5, 2>(),
                                 shape<7, 2>());
    expect(scene, windows(in, width, height, sobel), false);
    measure_shapes<1, as_sobel>(scene, "Sobel, root", kind, shape<1, 0>(), shape<5, 2>(),
                                shape<6, 2>(), shape<7, 2>());
    measure_rung("edge, by hand", kind, scene, rung_edge);
}

static void measure_colours(struct scene &scene, const std::vector<uint8_t> &in, uint32_t width,
                            uint32_t height, const char *kind) {
    expect(scene, windows(in, width, height, box, 3), false);
    measure_shapes<3, as_box>(scene, "box", kind, shape<1, 0>(), shape<4, 2>(), shape<5, 0>(),
                              shape<5, 2>(), shape<6, 2>());
    expect(scene, windows(in, width, height, sobel_sum, 3), false);
    measure_shapes<3, as_sobel_sum>(scene, "Sobel, sum", kind, shape<1, 0>(), shape<4, 2>(),
                                    shape<5, 0>(), shape<5, 2>(), shape<6, 2>());
}

/* ---- R2V */

enum { BINS = 256 };

template <int BLOCKS>
static __global__ void __launch_bounds__(VECTOR_THREADS, BLOCKS)
    list_kernel(const __grid_constant__ struct batch batch, struct skeleton_parameters, int bins,
                int copies) {
    count_batch<pixels_traits<8, 1>>(
        batch,
        [](uint32_t sample, int *lists, int length) {
            count((unsigned char)sample, lists, length);
        },
        bins, copies);
}

static void rung_list(const struct frame *f) {
    struct failure failure = {};
    const struct op_call call = call_of(f, &failure);
    struct skeleton_parameters none = {};
    struct batch batch;
    int bins = BINS, copies = (int)way.copies;
    const size_t shared_bytes = copies * vector_copy_bytes(bins, 1);
    passed(batch_init_values(&batch, &call, 1, chunk_pixels(&call.in)), failure);
    TRY(cudaMemsetAsync(call.values, 0, BINS * sizeof(int), f->context.stream));
    TRY(cudaFuncSetAttribute(way.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)shared_bytes));
    void *arguments[] = { &batch, &none, &bins, &copies };
    const dim3 blocks(way.blocks * f->context.multiprocessors, 1);
    passed(skeleton_launch(&f->context, &call, { way.kernel, NULL, "list" }, blocks, VECTOR_THREADS,
                           shared_bytes, arguments),
           failure);
}

template <int BLOCKS> static void measure_copies(struct scene &scene, const char *kind) {
    way.kernel = (const void *)list_kernel<BLOCKS>;
    way.blocks = BLOCKS;
    for (unsigned copies : { 1, 4, 8, 16, 32 }) {
        char rung[64];
        way.copies = copies;
        snprintf(rung, sizeof rung, "R2V, %d blocks, %u lists", BLOCKS, copies);
        measure_rung(rung, kind, scene, rung_list);
    }
}

/* ---- R2S */

template <int OF_LOADS> struct samples_traits : pixels_traits<8, 1> {
    static constexpr int LOADS = OF_LOADS;
};

template <class P, class NUMBER, class FUNCTION>
static __device__ __forceinline__ void reduce_ahead(struct partial_numbers<NUMBER, 1> &numbers,
                                                    const struct batch_image &image,
                                                    const FUNCTION &function) {
    const uint32_t step = gridDim.x * P::LOADS * SCALAR_THREADS;
    uint32_t start = blockIdx.x * P::LOADS * SCALAR_THREADS + threadIdx.x;
    uint32_t words[P::LOADS][P::WORDS], pixels[P::LOADS];
#pragma unroll
    for (int h = 0; h < P::LOADS; h++)
        pixels[h] = load_pixels<P>(words[h], image, start + h * SCALAR_THREADS);
    for (; start < image.chunks; start += step)
#pragma unroll
        for (int h = 0; h < P::LOADS; h++) {
            if (pixels[h]) add_pixels<P, NUMBER>(numbers, words[h], pixels[h], function);
            pixels[h] = load_pixels<P>(words[h], image, start + step + h * SCALAR_THREADS);
        }
}

template <class P, bool AHEAD, int BLOCKS, class NUMBER, class FUNCTION>
static __global__ void __launch_bounds__(SCALAR_THREADS, BLOCKS)
    number_kernel(const __grid_constant__ struct batch batch,
                  struct partial_numbers<NUMBER, 1> *partials, uint32_t *blocks_done) {
    const struct batch_image &image = batch.images[0];
    const unsigned blocks = min(gridDim.x, pixel_blocks<P, SCALAR_THREADS>(image));
    const FUNCTION function;
    struct partial_numbers<NUMBER, 1> numbers = {};
    if (blockIdx.x >= blocks) return;
    if (AHEAD)
        reduce_ahead<P, NUMBER>(numbers, image, function);
    else
        reduce_thread<P, NUMBER>(numbers, image, function);
    reduce_block<NUMBER, 1>(numbers, function);
    if (!reduce_blocks<NUMBER, 1>(numbers, blocks, partials, blocks_done, function)) return;
    if (threadIdx.x == 0) *(NUMBER *)image.out = numbers.of[0].value;
}

static void rung_number(const struct frame *f) {
    struct failure failure = {};
    const struct op_call call = call_of(f, &failure);
    struct batch batch;
    passed(batch_init_values(&batch, &call, 1, chunk_pixels(&call.in)), failure);
    void *partials = call.scratch;
    uint32_t *blocks_done = f->context.zeroed;
    void *arguments[] = { &batch, &partials, &blocks_done };
    const dim3 blocks(way.blocks * f->context.multiprocessors, 1);
    passed(skeleton_launch(&f->context, &call, { way.kernel, NULL, "number" }, blocks,
                           SCALAR_THREADS, 0, arguments),
           failure);
}

template <int LOADS, bool AHEAD, int BLOCKS, class NUMBER, class FUNCTION>
static void measure_number(struct scene &scene, const char *name, const char *kind) {
    char rung[64];
    way.kernel =
        (const void *)number_kernel<samples_traits<LOADS>, AHEAD, BLOCKS, NUMBER, FUNCTION>;
    way.blocks = BLOCKS;
    snprintf(rung, sizeof rung, "%s, %d blocks, %d%s", name, BLOCKS, LOADS, AHEAD ? " ahead" : "");
    measure_rung(rung, kind, scene, rung_number);
}

template <int LOADS, class NUMBER, class FUNCTION>
static void measure_loads(struct scene &scene, const char *name, const char *kind) {
    measure_number<LOADS, false, 2, NUMBER, FUNCTION>(scene, name, kind);
    measure_number<LOADS, false, 3, NUMBER, FUNCTION>(scene, name, kind);
    measure_number<LOADS, true, 2, NUMBER, FUNCTION>(scene, name, kind);
    measure_number<LOADS, true, 3, NUMBER, FUNCTION>(scene, name, kind);
    if (LOADS <= 2) measure_number<LOADS, true, 4, NUMBER, FUNCTION>(scene, name, kind);
}

template <class NUMBER, class FUNCTION>
static void measure_numbers(struct scene &scene, const char *name, const char *kind) {
    measure_loads<1, NUMBER, FUNCTION>(scene, name, kind);
    measure_loads<2, NUMBER, FUNCTION>(scene, name, kind);
    measure_loads<3, NUMBER, FUNCTION>(scene, name, kind);
    measure_loads<4, NUMBER, FUNCTION>(scene, name, kind);
}

static void measure_lists(struct scene &scene, const std::vector<uint8_t> &in, const char *kind) {
    std::vector<int> counts(BINS);
    for (uint8_t level : in) counts[level]++;
    expect(scene, bytes_of(counts), true);
    measure_copies<2>(scene, kind);
    measure_copies<3>(scene, kind);
    measure_copies<4>(scene, kind);
    measure_rung("histogram, by hand", kind, scene, rung_histogram);
}

static void measure_sums(struct scene &scene, const std::vector<uint8_t> &in, const char *kind) {
    long long total = 0;
    int most = 0;
    for (uint8_t level : in) total += level, most = std::max(most, (int)level);
    expect(scene, bytes_of(std::vector<int>{ most }), true);
    measure_numbers<int, as_largest>(scene, "R2S largest", kind);
    measure_rung("maximum, by hand", kind, scene, rung_maximum);
    expect(scene, bytes_of(std::vector<long long>{ total }), true);
    measure_numbers<long long, as_sum>(scene, "R2S sum", kind);
    expect(scene, bytes_of(std::vector<double>{ (double)total / (double)in.size() }), true);
    measure_rung("mean, by hand", kind, scene, rung_mean);
}

int main(int count, char **arguments) {
    enum { SIDE = 8192, WIDTH = 4096, HEIGHT = 5461 /* of three channels: as many samples */ };
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        puts("usage: skeleton_ways [--json]\n\n"
             "The skeletons of users' operators with other blocks, rows, lists and loads than are\n"
             "shipped; microseconds, medians of 41 launches, of 64 million samples.\n\n"
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
    for (int kind = 0; kind < KINDS; kind++) {
        const std::vector<uint8_t> in = picture((enum kind)kind, 1920, 1080);
        prepare(scene, in, 1920, 1080, memory);
        measure_lists(scene, in, kind_names[kind]);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        const std::vector<uint8_t> in = picture((enum kind)kind, SIDE, SIDE);
        prepare(scene, in, SIDE, SIDE, memory);
        measure_lists(scene, in, kind_names[kind]);
        if (kind == NOISE) measure_sums(scene, in, kind_names[kind]);
        if (kind == NOISE) measure_gray(scene, in, SIDE, SIDE, kind_names[kind]);
    }
    const std::vector<uint8_t> in = picture(NOISE, WIDTH * 3, HEIGHT);
    prepare(scene, in, WIDTH, HEIGHT, memory, 3);
    measure_colours(scene, in, WIDTH, HEIGHT, kind_names[NOISE]);
    if (json) puts("\n]");
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* histeq_measure.cuh - pictures, the plain reference, NPP, the table of times and main.
 *
 * How it works. A picture is painted on the device and copied back; the reference equalizes it on
 * all cores from the operator's own arithmetic (pipeline/ops/histeq.h), and its result is what
 * every rung is compared with.
 *
 * Used by:  histeq.cu, at its end: it needs the rungs.
 * Limits:   images of 263 megapixels in 3 x 16 bit; 4.7 GB of device memory.
 */
#ifndef BURIN_HISTEQ_MEASURE_CUH
#define BURIN_HISTEQ_MEASURE_CUH

enum picture_kind { NOISE, PHOTO, CONSTANT, PICTURE_KINDS };
static const char *const kind_names[] = { "noise", "photo", "constant" };

/* ---- images */

static __global__ void paint(struct image image, enum picture_kind kind) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (uint64_t)image.width * image.height * image.channels) return;
    const uint32_t c = i % image.channels, x = i / image.channels % image.width;
    const uint32_t y = i / image.channels / image.width, noise = hash((uint32_t)i);
    const float wave = 120 + 60 * __sinf(x / 310.f + c) + 45 * __cosf(y / 190.f - c * .3f);
    uint32_t value = kind == NOISE   ? noise & 65535
                     : kind == PHOTO ? (uint32_t)(wave * 257) + (noise & 2047)
                                     : (100 + 20 * c) * 257;
    if (image.depth == 8)
        image.pixels[i] = (uint8_t)(value >> 8);
    else
        ((uint16_t *)image.pixels)[i] = (uint16_t)value;
}

/* ---- the reference, on as many threads as there are */

static uint32_t load_sample(const struct image &image, uint64_t i) {
    return image.depth == 8 ? image.pixels[i] : ((const uint16_t *)image.pixels)[i];
}

static uint32_t value_at(const struct image &image, uint64_t pixel, long mode, int c) {
    const uint64_t i = pixel * image.channels;
    if (image.channels < 3 || mode == HISTEQ_EACH) return load_sample(image, i + c);
    const uint32_t r = load_sample(image, i), g = load_sample(image, i + 1),
                   b = load_sample(image, i + 2);
    return mode == HISTEQ_LUMA ? luma(r, g, b) : std::max(std::max(r, g), b);
}

static std::vector<uint32_t> reference_levels(const struct image &in, const struct params &params,
                                              int c) {
    const uint32_t max = image_max(&in), bins = params.number[HISTEQ_BINS];
    const long mode = params.number[HISTEQ_CHANNEL];
    const int scale = (int)params.number[HISTEQ_SCALE];
    std::vector<uint64_t> counts(bins), sums(bins);
    std::vector<std::vector<uint32_t>> parts(host_threads());
    in_parallel(image_pixels(&in), [&](unsigned part, uint64_t from, uint64_t to) {
        parts[part].assign(bins, 0);
        for (uint64_t p = from; p < to; p++)
            parts[part][level_bin(value_at(in, p, mode, c), bins, max)]++;
    });
    uint64_t sum = 0, first = 0;
    for (uint32_t bin = 0; bin < bins; bin++) {
        for (const std::vector<uint32_t> &part : parts) sum += part[bin];
        if (first == 0) first = sum;
        sums[bin] = sum;
    }
    std::vector<uint32_t> levels(max + 1);
    for (uint32_t v = 0; v <= max; v++)
        levels[v] = scale == HISTEQ_MINMAX && first == image_pixels(&in)
                        ? v
                        : histeq_quantile(sums[level_bin(v, bins, max)], first, image_pixels(&in),
                                          max, scale);
    return levels;
}

static void reference(const struct image &in, struct image &out, const struct params &params) {
    const long mode = params.number[HISTEQ_CHANNEL];
    const int colours = (int)image_colours(&in), channels = in.channels;
    std::vector<uint32_t> levels[3];
    for (int c = 0; c < (mode == HISTEQ_EACH ? colours : 1); c++)
        levels[c] = reference_levels(in, params, c);
    in_parallel(image_pixels(&in), [&](unsigned, uint64_t from, uint64_t to) {
        for (uint64_t i = from * channels; i < to * channels; i++) {
            const int c = (int)(i % channels);
            uint32_t sample = load_sample(in, i);
            if (c < colours) {
                const bool each = mode == HISTEQ_EACH || colours == 1;
                const uint32_t value = value_at(in, i / channels, mode, c);
                sample = each ? levels[c][sample]
                              : level_scaled(sample, value, levels[0][value], image_max(&in));
            }
            if (in.depth == 8)
                out.pixels[i] = (uint8_t)sample;
            else
                ((uint16_t *)out.pixels)[i] = (uint16_t)sample;
        }
    });
}

/* ---- NPP, where the machine has it: histogram and table look-up, the table given */

struct npp_size {
    int width, height;
};
typedef int (*npp_histogram)(const uint8_t *, int, npp_size, int *, int, int, int, uint8_t *,
                             npp_context);
typedef int (*npp_palette)(const uint8_t *, int, uint8_t *, int, npp_size, const uint8_t *, int,
                           npp_context);

static npp_histogram histogram;
static npp_palette palette;

static bool find_npp(void) {
    histogram = (npp_histogram)library_symbol("libnppist", "nppiHistogramEven_8u_C1R_Ctx");
    palette = (npp_palette)library_symbol("libnppicc", "nppiLUTPalette_8u_C1R_Ctx");
    return histogram && palette;
}

static void rung_npp(const struct frame *f) {
    static const struct npp_context context = npp_context_make(f->context.stream);
    const npp_size size = { (int)f->in.width, (int)f->in.height };
    histogram(f->in.pixels, (int)f->in.stride, size, (int *)f->counts, 257, 0, 256,
              (uint8_t *)f->scratch, context);
    palette(f->in.pixels, (int)f->in.stride, f->out.pixels, (int)f->out.stride, size, f->levels, 8,
            context);
}

/* ---- one size and kind of image */

static struct image host_image(const struct image &shape, std::vector<uint8_t> &memory) {
    struct image image = shape;
    memory.resize(image_bytes(&shape));
    image.pixels = memory.data();
    return image;
}

static void stage(struct scene &scene, const struct image &shape, enum picture_kind kind,
                  uint8_t *memory) {
    const size_t bytes = image_bytes(&shape);
    const size_t pairs = std::max<size_t>(1, COLD_BYTES / (2 * bytes));
    scene.frame.in = scene.frame.out = shape;
    scene.expected = memory;
    scene.ins.clear(), scene.outs.clear();
    for (size_t i = 0; i < pairs; i++) {
        scene.ins.push_back(memory + (2 * i + 1) * bytes);
        scene.outs.push_back(memory + (2 * i + 2) * bytes);
        struct image image = shape;
        image.pixels = scene.ins[i];
        const uint64_t samples = image_pixels(&shape) * shape.channels;
        paint<<<(unsigned)((samples + 255) / 256), 256, 0, scene.frame.context.stream>>>(image,
                                                                                         kind);
    }
    std::vector<uint8_t> in_memory, out_memory;
    struct image in = host_image(shape, in_memory), out = host_image(shape, out_memory);
    TRY(cudaStreamSynchronize(scene.frame.context.stream));
    TRY(cudaMemcpy(in.pixels, scene.ins[0], bytes, cudaMemcpyDeviceToHost));
    reference(in, out, scene.frame.params);
    TRY(cudaMemcpy(scene.expected, out.pixels, bytes, cudaMemcpyHostToDevice));
    if (shape.channels > 1 || shape.depth > 8) return;
    const std::vector<uint32_t> levels = reference_levels(in, scene.frame.params, 0);
    const std::vector<uint8_t> narrow(levels.begin(), levels.end());
    TRY(cudaMemcpy(scene.frame.levels, narrow.data(), LEVELS, cudaMemcpyHostToDevice));
}

static void climb(struct scene &scene, const char *kind) {
    measure_rung("empty launch", kind, scene, rung_empty, NULL);
    measure_rung("empty, as shipped", kind, scene, rung_empty_cooperative, NULL);
    measure_rung("empty, not cooperative", kind, scene, rung_empty_plain, NULL);
    measure_rung("copy", kind, scene, rung_copy, NULL);
    static const bool npp = find_npp();
    if (npp) measure_rung("NPP, table given", kind, scene, rung_npp);
    if (image_bytes(&scene.frame.in) < 10 << 20) measure_rung("1 naive", kind, scene, rung_naive);
    measure_rung("2 shared", kind, scene, rung_shared<1, false>);
    measure_rung("3 a copy a bank", kind, scene, rung_shared<32, false>);
    measure_rung("4 bytes a lane", kind, scene, rung_bytes<false>);
    measure_rung("5 grid barrier", kind, scene, rung_grid);
    measure_rung("6 shipped", kind, scene, rung_shipped);
    measure_rung("count alone: shared", kind, scene, rung_shared<1, true>, NULL);
    measure_rung("count alone: bank", kind, scene, rung_shared<32, true>, NULL);
    measure_rung("count alone: bytes", kind, scene, rung_bytes<true>, NULL);
}

static void measure_kinds(struct scene &scene, uint8_t *memory, bool quick) {
    static const uint32_t sides[][2] = {
        { 1920, 1080 }, { 3840, 2160 }, { 7680, 4320 }, { 8192, 8192 }, { 20000, 13176 }
    };
    static const struct {
        unsigned channels, depth;
        long bins, mode;
        const char *name;
        bool all; /* sizes and images */
    } kinds[] = { { 3, 8, 256, HISTEQ_VALUE, "value", true },
                  { 3, 8, 256, HISTEQ_LUMA, "luma", false },
                  { 3, 8, 256, HISTEQ_EACH, "each", false },
                  { 4, 8, 256, HISTEQ_VALUE, "value", false },
                  { 2, 8, 256, HISTEQ_VALUE, "gray", false },
                  { 1, 16, 65536, HISTEQ_VALUE, "65536 bins", true },
                  { 1, 16, 256, HISTEQ_VALUE, "256 bins", false },
                  { 3, 16, 65536, HISTEQ_VALUE, "65536 bins", false } };
    for (const auto &side : sides) {
        if (quick && side[0] > 4000) return;
        for (int kind = 0; kind < PICTURE_KINDS; kind++) {
            stage(scene, image_shape(side[0], side[1], 1, 8), (enum picture_kind)kind, memory);
            climb(scene, kind_names[kind]);
        }
        for (const auto &k : kinds) {
            for (int kind = 0; kind < PICTURE_KINDS; kind++) {
                if (!k.all && (kind != NOISE || side[0] > 4000)) continue;
                scene.frame.params.number[HISTEQ_BINS] = k.bins;
                scene.frame.params.number[HISTEQ_CHANNEL] = k.mode;
                stage(scene, image_shape(side[0], side[1], k.channels, k.depth),
                      (enum picture_kind)kind, memory);
                measure_rung(k.name, kind_names[kind], scene, rung_shipped);
            }
        }
        scene.frame.params.number[HISTEQ_BINS] = 256;
        scene.frame.params.number[HISTEQ_CHANNEL] = HISTEQ_VALUE;
    }
}

/* One launch of each that is shipped, for ncu --profile-from-start off. */
static void profile(struct scene &scene, uint8_t *memory) {
    static const unsigned shapes[][4] = { { 1920, 1080, 1, 8 },   { 3840, 2160, 1, 8 },
                                          { 20000, 13176, 1, 8 }, { 3840, 2160, 3, 8 },
                                          { 20000, 13176, 3, 8 }, { 3840, 2160, 1, 16 } };
    for (const auto &shape : shapes) {
        scene.frame.params.number[HISTEQ_BINS] = shape[3] == 8 ? 256 : 65536;
        stage(scene, image_shape(shape[0], shape[1], shape[2], shape[3]), NOISE, memory);
        profile_rungs(scene, { rung_shipped });
    }
}

/* Most memory: 3 buffers of the largest image with 3 samples of 16 bit. */
static void make_scene(struct scene &scene, uint8_t **memory) {
    struct cuda_context &context = scene.frame.context;
    const size_t bytes = std::max<size_t>(3 * 6 * (20000ull * 13176), 2ull * COLD_BYTES);
    context_make(context);
    TRY(cudaMalloc((void **)memory, bytes));
    TRY(cudaMalloc(&context.zeroed, 4 * CUDA_ZEROED_WORDS));
    TRY(cudaMemset(context.zeroed, 0, 4 * CUDA_ZEROED_WORDS));
    TRY(cudaMalloc(&scene.frame.counts, 4 * COUNTS_WORDS));
    TRY(cudaMalloc(&scene.frame.levels, LEVELS));
    TRY(cudaMalloc(&scene.frame.scratch, 64 << 20));
    TRY(cudaMalloc(&scene.wrong, 4));
    scene.frame.params.number[HISTEQ_BINS] = 256;
}

struct image image_shape(uint32_t width, uint32_t height, unsigned channels, unsigned depth) {
    struct image shape = {};
    shape.width = width, shape.height = height;
    shape.channels = (uint8_t)channels, shape.depth = (uint8_t)depth;
    shape.stride = image_row_bytes(&shape); /* no padding: widths are multiples of 16 */
    return shape;
}

int main(int count, char **arguments) {
    bool quick = false, profiled = false;
    for (int i = 1; i < count; i++) {
        json |= strcmp(arguments[i], "--json") == 0;
        quick |= strcmp(arguments[i], "--quick") == 0;
        profiled |= strcmp(arguments[i], "--profile") == 0;
        if (strcmp(arguments[i], "--help") != 0) continue;
        puts(
            "usage: histeq [--json] [--quick] [--profile]\n\n"
            "The ladder of histogram equalization, from a thread a pixel to what is shipped, then\n"
            "every kind of image; microseconds, medians of 41 launches. warm: one pair of buffers\n"
            "again and again; cold: more than the L2 cache holds; train: a launch's share of 20\n"
            "in a row. Every result is compared with the CPU's before its time is printed.\n\n"
            "  --json     print JSON and no table\n"
            "  --quick    1080p and 4K alone\n"
            "  --profile  each shipped kernel once, for ncu --profile-from-start off");
        return 0;
    }
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return puts("no GPU here"), 77;
    struct scene scene = {};
    uint8_t *memory;
    make_scene(scene, &memory);
    if (profiled) return profile(scene, memory), 0;
    if (json) printf("[");
    if (!json)
        printf("%-22s %-9s %-11s %-12s %9s %9s %9s\n", "", "image", "size", "", "warm", "cold",
               "train");
    measure_kinds(scene, memory, quick);
    if (json) puts("\n]");
    return 0;
}

#endif

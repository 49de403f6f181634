// SPDX-License-Identifier: Apache-2.0
/* edge_measure.cuh - the roots tried one by one, pictures, the plain reference, the table of times
 * and main.
 *
 * How it works. First every sum of squares goes through the device's roots and is compared with
 * integer arithmetic. Then a picture is painted on the device and copied back; the reference makes
 * its edges on all cores, and they are what every rung is compared with.
 *
 * Used by:  edge.cu, at its end: it needs the rungs.
 * Limits:   1.5 GiB of device memory for pictures.
 */
#ifndef BURIN_EDGE_MEASURE_CUH
#define BURIN_EDGE_MEASURE_CUH

/* ---- every root */

static __device__ uint32_t integer_root(uint64_t n) {
    uint32_t root = 0;
    for (uint32_t bit = 1u << 16; bit; bit >>= 1)
        if ((uint64_t)(root | bit) * (root | bit) <= n) root |= bit;
    return root;
}

/* Every pair of differences up to MOST through the strips' own way for 8 bit, packing included. */
static __global__ void try_narrow(int most, unsigned long long *wrong) {
    const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x) - most, q = (int)blockIdx.y - most;
    if (p > most) return;
    const uint32_t roots[4] = { magnitude8(p * 0x1p-24f, q * 0x1p-24f),
                                magnitude8(q * 0x1p-24f, p * 0x1p-24f), 0, 300 };
    const uint32_t n = 2 * (p * p + q * q), right = n >= 65025 ? 255 : integer_root(n);
    if (pack_bytes(roots) != (right | right << 8 | 255u << 24)) atomicAdd(wrong, 1ull);
}

/* Differences of 16-bit samples that are multiples of STEP up to MOST, a q a block. */
static __global__ void try_wide(int step, int most, unsigned long long *wrong) {
    const int q = (int)blockIdx.x * step;
    for (int p = (int)threadIdx.x * step; p <= most; p += (int)blockDim.x * step) {
        const float one = p * 0x1p-24f, other = q * 0x1p-24f;
        const uint32_t roots[2] = { magnitude16(one, other), magnitude16(-other, one) };
        const uint32_t both = pack_halves(roots), root = both & 65535;
        const uint64_t n = 2 * ((uint64_t)p * p + (uint64_t)q * q), next = root + 1;
        if (both >> 16 != root || (uint64_t)root * root > n || (root < 65535 && next * next <= n))
            atomicAdd(wrong, 1ull);
    }
}

/* edge_root for every n of 32 bits. */
static __global__ void try_roots(unsigned long long *wrong) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t n = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; n < UINT64_C(1) << 32;
         n += step)
        if (edge_root(n) != min(integer_root(n), 65535u)) atomicAdd(wrong, 1ull);
}

static bool roots_are_right(void) {
    /* sums of four and of 64 samples; from 46342 on twice the square is over 65535^2 */
    enum { TRIES = 5, WIDE = 46342, MOST = 64 * 65535, FAR = 61 };
    enum { SOBEL3 = 4 * 255, SOBEL5 = 64 * 255 };
    unsigned long long *wrong, counted[TRIES], sum = 0;
    TRY(cudaMalloc(&wrong, sizeof counted));
    TRY(cudaMemset(wrong, 0, sizeof counted));
    try_narrow<<<dim3(2 * SOBEL3 / 256 + 1, 2 * SOBEL3 + 1), 256>>>(SOBEL3, wrong);
    try_narrow<<<dim3(2 * SOBEL5 / 256 + 1, 2 * SOBEL5 + 1), 256>>>(SOBEL5, wrong + 1);
    try_wide<<<WIDE + 1, 256>>>(1, WIDE, wrong + 2);
    try_wide<<<MOST / FAR + 1, 256>>>(FAR, MOST, wrong + 3);
    try_roots<<<4096, 256>>>(wrong + 4);
    TRY(cudaMemcpy(counted, wrong, sizeof counted, cudaMemcpyDeviceToHost));
    TRY(cudaFree(wrong));
    for (unsigned long long count : counted) sum += count;
    if (!json)
        printf(
            "roots tried on the device, wrong of them: pairs of differences %llu of 2041 x 2041, "
            "%llu of 32641 x 32641 (sobel5), %llu of 46343 x 46343 and %llu beyond (16 bit); "
            "%llu of 2^32 sums of squares\n",
            counted[0], counted[1], counted[2], counted[3], counted[4]);
    return sum == 0;
}

/* ---- images and the reference */

/* Half noise, half soft waves: both contiguous places and every magnitude. */
static __global__ void paint(const struct image image) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t row = (uint64_t)image.width * image.channels;
    if (i >= row * image.height) return;
    const uint32_t x = i % row, y = i / row, noise = hash((uint32_t)i);
    const float wave = 120 + 60 * __sinf(x / 310.f) + 45 * __cosf(y / 190.f);
    const uint32_t value =
        (x / 512 + y / 64) % 2 ? noise & 65535 : (uint32_t)(wave * 257) + (noise & 2047);
    uint8_t *to = image.pixels + y * image.stride;
    if (image.depth == 8)
        to[x] = (uint8_t)(value >> 8);
    else
        ((uint16_t *)to)[x] = (uint16_t)value;
}

static int host_level(const struct image &in, const struct edge_rule &rule, int64_t x, int64_t y) {
    x = std::min(std::max(x, (int64_t)0), (int64_t)in.width - 1);
    y = std::min(std::max(y, (int64_t)0), (int64_t)in.height - 1);
    const uint8_t *row = in.pixels + y * in.stride;
    uint32_t v[3];
    for (int c = 0; c < 3; c++) {
        const uint64_t i = x * in.channels + (in.channels < 3 ? 0 : c);
        v[c] = in.depth == 8 ? row[i] : ((const uint16_t *)row)[i];
    }
    return (int)brightness_of(in.channels < 3 ? v[0] : luma(v[0], v[1], v[2]), rule.shift,
                              rule.max);
}

/* The result on all cores; written to be read, not for speed. */
static void reference(const struct image &in, const struct image &out,
                      const struct params &params) {
    const struct edge_rule rule = edge_rule_of(&params, in.channels, in.depth);
    static const int along[2][5] = { { -1, 0, 1 }, { -1, -2, 0, 2, 1 } };
    static const int across[2][5] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 } };
    const int reach = (int)rule.reach;
    in_parallel(in.height, [&](unsigned, uint64_t from, uint64_t to) {
        std::vector<int> levels[5];
        for (int r = 0; r < 2 * reach + 1; r++) levels[r].resize(in.width + 2 * reach);
        for (uint64_t y = from; y < to; y++) {
            for (int r = 0; r < 2 * reach + 1; r++)
                for (int64_t x = 0; x < (int64_t)in.width + 2 * reach; x++)
                    levels[r][x] = host_level(in, rule, x - reach, (int64_t)y + r - reach);
            for (uint32_t x = 0; x < in.width; x++) {
                int gx = 0, gy = 0;
                for (int r = 0; r < 2 * reach + 1; r++)
                    for (int c = 0; c < 2 * reach + 1; c++) {
                        gx += across[reach - 1][r] * along[reach - 1][c] * levels[r][x + c];
                        gy += along[reach - 1][r] * across[reach - 1][c] * levels[r][x + c];
                    }
                const uint32_t m = rule.margin,
                               edge = x < m || y < m || in.width - x <= m || in.height - y <= m
                                          ? 0
                                          : edge_result(gx, gy, &rule);
                const uint8_t *source = in.pixels + y * in.stride;
                uint8_t *row = out.pixels + y * out.stride;
                const uint64_t o = (uint64_t)x * out.channels;
                const uint64_t a = (uint64_t)x * in.channels + in.channels - 1;
                if (in.depth == 8) {
                    row[o] = (uint8_t)edge;
                    if (out.channels == 2) row[o + 1] = source[a];
                } else {
                    ((uint16_t *)row)[o] = (uint16_t)edge;
                    if (out.channels == 2) ((uint16_t *)row)[o + 1] = ((const uint16_t *)source)[a];
                }
            }
        }
    });
}

/* ---- one kind of image */

/* Rows without gaps unless they must be padded to 16 bytes. */
static void prepare(struct scene &scene, uint32_t width, uint32_t height, unsigned channels,
                    unsigned depth, uint8_t *memory) {
    struct frame &f = scene.frame;
    const unsigned out_channels = channels % 2 ? 1 : 2;
    const size_t in_stride = ((size_t)width * channels * depth / 8 + 15) / 16 * 16;
    const size_t out_stride = ((size_t)width * out_channels * depth / 8 + 15) / 16 * 16;
    f.in = { NULL, in_stride, width, height, (uint8_t)channels, (uint8_t)depth };
    f.out = { NULL, out_stride, width, height, (uint8_t)out_channels, (uint8_t)depth };
    const size_t in_bytes = image_bytes(&f.in), out_bytes = image_bytes(&f.out);
    const size_t pairs = std::max<size_t>(1, COLD_BYTES / (in_bytes + out_bytes));
    scene.expected = memory;
    f.expected = memory;
    memory += out_bytes;
    scene.ins.clear(), scene.outs.clear();
    for (size_t i = 0; i < pairs; i++, memory += in_bytes + out_bytes) {
        scene.ins.push_back(memory);
        scene.outs.push_back(memory + in_bytes);
        f.in.pixels = memory;
        paint<<<(unsigned)(((uint64_t)width * channels * height + 255) / 256), 256, 0,
                f.context.stream>>>(f.in);
    }
    f.wide = (int16_t *)(memory + (256 - (uintptr_t)memory % 256) % 256);
    std::vector<uint8_t> in_memory(in_bytes), out_memory(out_bytes);
    struct image in = f.in, out = f.out;
    in.pixels = in_memory.data(), out.pixels = out_memory.data();
    TRY(cudaStreamSynchronize(f.context.stream));
    TRY(cudaMemcpy(in.pixels, scene.ins[0], in_bytes, cudaMemcpyDeviceToHost));
    reference(in, out, f.params);
    TRY(cudaMemcpy(scene.expected, out.pixels, out_bytes, cudaMemcpyHostToDevice));
}

static const uint32_t sides[][2] = { { 1920, 1080 }, { 3840, 2160 }, { 20000, 13176 } };

static void climb(struct scene &scene, uint8_t *memory) {
    gradient =
        (npp_gradient)library_symbol("libnppif", "nppiGradientVectorSobelBorder_8u16s_C1R_Ctx");
    for (const uint32_t(&side)[2] : sides) {
        prepare(scene, side[0], side[1], 1, 8, memory);
        measure_rung("empty launch", "mixed", scene, rung_empty, NULL);
        measure_rung("copy", "mixed", scene, rung_copy, NULL);
        if (gradient) measure_rung("NPP, 16 bit out", "mixed", scene, rung_npp, rung_npp_narrow);
        measure_rung("1 plain", "mixed", scene, rung_plain);
        measure_rung("  its tile in shared", "mixed", scene, rung_plain_shared);
        measure_rung("2 shared tile", "mixed", scene, rung_tile);
        measure_rung("3 rows in registers", "mixed", scene, rung_slide);
        measure_rung("4 packed, shipped", "mixed", scene, rung_shipped);
        measure_rung("  6 blocks, one wave", "mixed", scene, rung_strips<6, 0>);
        measure_rung("  6, 4 rows", "mixed", scene, rung_strips<6, 4>);
        measure_rung("  6, 6 rows", "mixed", scene, rung_strips<6, 6>);
        measure_rung("  6, 8 rows", "mixed", scene, rung_strips<6, 8>);
        measure_rung("  6, 10 rows", "mixed", scene, rung_strips<6, 10>);
        measure_rung("  6, 12 rows", "mixed", scene, rung_strips<6, 12>);
        measure_rung("  6, 16 rows", "mixed", scene, rung_strips<6, 16>);
        measure_rung("  5, 8 rows", "mixed", scene, rung_strips<5, 8>);
        measure_rung("  7, 8 rows", "mixed", scene, rung_strips<7, 8>);
        measure_rung("  8, 8 rows", "mixed", scene, rung_strips<8, 8>);
        measure_rung("  8, 10 rows", "mixed", scene, rung_strips<8, 10>);
        measure_rung("  6, 8, L2 1 ahead", "mixed", scene, rung_strips<6, 8, 1>);
        measure_rung("  6, 12, L2 2 ahead", "mixed", scene, rung_strips<6, 12, 2>);
        measure_rung("  7, 8, L2 2 ahead", "mixed", scene, rung_strips<7, 8, 2>);
        measure_rung("  7, 16, L2 2 ahead", "mixed", scene, rung_strips<7, 16, 2>);
        measure_rung("  7, 16, L2 3 ahead", "mixed", scene, rung_strips<7, 16, 3>);
        measure_rung("  7, 20, L2 3 ahead", "mixed", scene, rung_strips<7, 20, 3>);
    }
}

static void other_kinds(struct scene &scene, uint8_t *memory) {
    static const struct other_rung tiles[] = { { "  by tile", rung_tile }, { NULL, NULL } };
    static const struct {
        const char *name;
        unsigned channels, depth;
        long kernel, brightness, threshold, border;
        const struct other_rung *others; /* up to a name of NULL */
    } kinds[] = {
        { "gray and alpha", 2, 8, EDGE_SOBEL3, 0, 0, EDGE_REPLICATE,
          other_rungs<8, 1, 2, false>() },
        { "RGB", 3, 8, EDGE_SOBEL3, 0, 0, EDGE_REPLICATE, other_rungs<8, 1, 3, false>() },
        { "RGBA", 4, 8, EDGE_SOBEL3, 0, 0, EDGE_REPLICATE, other_rungs<8, 1, 4, false>() },
        { "all parameters", 1, 8, EDGE_SOBEL3, 30, 90, EDGE_ZERO, tiles },
        { "sobel5", 1, 8, EDGE_SOBEL5, 0, 0, EDGE_REPLICATE, other_rungs<8, 2, 1, true>() },
        { "sobel5 all parameters", 1, 8, EDGE_SOBEL5, 30, 90, EDGE_ZERO, tiles },
        { "sobel5 gray and alpha", 2, 8, EDGE_SOBEL5, 0, 0, EDGE_REPLICATE, tiles },
        { "sobel5 of RGB", 3, 8, EDGE_SOBEL5, 0, 0, EDGE_REPLICATE, other_rungs<8, 2, 3, true>() },
        { "sobel5 of RGBA", 4, 8, EDGE_SOBEL5, 0, 0, EDGE_REPLICATE, tiles },
        { "16 bit", 1, 16, EDGE_SOBEL3, 0, 0, EDGE_REPLICATE, other_rungs<16, 1, 1, true>() },
        { "16 bit gray and alpha", 2, 16, EDGE_SOBEL3, 0, 0, EDGE_REPLICATE, tiles },
        { "16 bit RGB", 3, 16, EDGE_SOBEL3, 0, 0, EDGE_REPLICATE, tiles },
        { "16 bit RGBA", 4, 16, EDGE_SOBEL3, 0, 0, EDGE_REPLICATE, other_rungs<16, 1, 4, true>() },
        { "16 bit sobel5", 1, 16, EDGE_SOBEL5, 0, 0, EDGE_REPLICATE,
          other_rungs<16, 2, 1, true>() },
        { "16 bit sobel5 of RGB", 3, 16, EDGE_SOBEL5, 0, 0, EDGE_REPLICATE, tiles },
        { "16 bit sobel5 of RGBA", 4, 16, EDGE_SOBEL5, 0, 0, EDGE_REPLICATE, tiles },
    };
    for (const auto &kind : kinds)
        for (int s = 1; s < 3; s++) {
            scene.frame.params.number[EDGE_KERNEL] = kind.kernel;
            scene.frame.params.number[EDGE_BRIGHTNESS] = kind.brightness;
            scene.frame.params.number[EDGE_THRESHOLD] = kind.threshold;
            scene.frame.params.number[EDGE_BORDER] = kind.border;
            const bool large = s == 2; /* a quarter of the pixels: the reference takes its time */
            prepare(scene, large ? 10000 : sides[s][0], large ? 6588 : sides[s][1], kind.channels,
                    kind.depth, memory);
            measure_rung(kind.name, "mixed", scene, rung_shipped);
            for (const struct other_rung *other = kind.others; other->name; other++)
                measure_rung(other->name, "mixed", scene, other->run);
        }
}

/* `edge --profile`: one launch of each rung at the largest size, for ncu. */
static void profile(struct scene &scene, uint8_t *memory) {
    prepare(scene, 20000, 13176, 1, 8, memory);
    profile_rungs(scene, { rung_tile, rung_slide, rung_shipped });
    prepare(scene, 3840, 2160, 1, 8, memory);
    profile_rungs(scene, { rung_shipped });
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        puts(
            "usage: edge [--json | --profile]\n\n"
            "The ladder of Sobel edges, from a thread a pixel to what is shipped, then every kind\n"
            "of image; microseconds, medians of 41 launches. warm: one pair of buffers again and\n"
            "again; cold: more than the L2 cache holds; train: a launch's share of 20 in a row.\n"
            "Every result is compared with a loop on the CPU before its time is printed.\n\n"
            "  --json     print JSON and no table\n"
            "  --profile  each shipped kernel once, for ncu --profile-from-start off");
        return 0;
    }
    const bool profiled = count > 1 && strcmp(arguments[1], "--profile") == 0;
    json = count > 1 && strcmp(arguments[1], "--json") == 0;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: nothing to measure");
        return 77;
    }
    struct scene scene = {};
    uint8_t *memory;
    context_make(scene.frame.context);
    TRY(cudaMalloc(&memory, (size_t)3 << 29));
    TRY(cudaMalloc(&scene.wrong, 4));
    if (profiled) {
        profile(scene, memory);
        return 0;
    }
    const bool ok = roots_are_right();
    if (json)
        printf("[");
    else
        printf("%-22s size                          warm      cold     train\n", "us");
    climb(scene, memory);
    other_kinds(scene, memory);
    if (json) puts("\n]");
    return ok ? 0 : 1;
}

#endif

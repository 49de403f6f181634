// SPDX-License-Identifier: Apache-2.0
/* How it works. The ladder of cuda/ops/clahe.cu: the textbook's kernels and the operator, alone and
 * in batches; every result is compared with the CPU's operator before a time is printed.
 * Microseconds an image, medians over events: `warm` on one set of pictures, `cold` over so many
 * sets that the L2 cache holds none of them, `train` a batch's share of 20 in a row; `tables` and
 * `blend` are the two kernels' parts alone, each with what an event costs. Goals, alone and warm:
 * 1080p gray 14, 4K gray 30.
 *
 * Textbook: a block of 256 threads a tile, whose counters in shared memory all threads share, and
 * whose table one thread sums up; then a thread a pixel, which looks into four tables.
 */
#include "cuda/ops/clahe.cu"

extern "C" {
#include "pipeline/plan.h"
#include "tests/noise.h"

extern const struct op op_clahe;
}

#include "tests/bench/kernels/measure.cuh"

#include <cstring>

enum { SETS_MAX = 64, BATCH_MOST = 32, SPANS_MAX = 4 };

static struct {
    bool on;
    int count;
    const char *names[SPANS_MAX];
    cudaEvent_t events[SPANS_MAX + 1];
} spans;

extern "C" void cuda_record_kernel(const struct cuda_context *context, const char *name) {
    if (!spans.on || spans.count == SPANS_MAX) return;
    spans.names[spans.count++] = name;
    TRY(cudaEventRecord(spans.events[spans.count], context->stream));
}

/* ---- pictures */

struct kind {
    const char *name;
    uint32_t width, height;
    unsigned channels, depth;
    const char *text; /* of the plan */
    bool smooth;      /* few levels, neighbours alike: else noise */
    bool plain;       /* the textbook has it */
};

static const struct kind kinds[] = {
    { "1080p gray", 1920, 1080, 1, 8, "clahe", false, true },
    { "4K gray", 3840, 2160, 1, 8, "clahe", false, true },
    { "8K gray", 7680, 4320, 1, 8, "clahe", false, true },
    { "4K gray, smooth", 3840, 2160, 1, 8, "clahe", true, true },
    { "4K gray, 1 tile", 3840, 2160, 1, 8, "clahe:tiles=1", false, false },
    { "4K gray, 64 tiles", 3840, 2160, 1, 8, "clahe:tiles=64", false, true },
    { "320x240 gray", 320, 240, 1, 8, "clahe", false, true },
    { "1080p RGB", 1920, 1080, 3, 8, "clahe", false, false },
    { "4K RGB", 3840, 2160, 3, 8, "clahe", false, false },
    { "1080p RGB luma", 1920, 1080, 3, 8, "clahe:channel=luma", false, false },
    { "1080p RGB each", 1920, 1080, 3, 8, "clahe:channel=each", false, false },
    { "1080p RGBA", 1920, 1080, 4, 8, "clahe", false, false },
    { "1080p gray 16 bit", 1920, 1080, 1, 16, "clahe", false, false },
    { "4K gray 16 bit", 3840, 2160, 1, 16, "clahe", false, false },
};

static void draw(const struct image &image, bool smooth) {
    uint32_t state = 1;
    const size_t row = image_row_bytes(&image);
    for (uint32_t y = 0; y < image.height; y++)
        for (size_t i = 0; i < row; i++)
            image_row(&image, y)[i] =
                smooth ? (uint8_t)(90 + (i / 301 + y / 203) % 40) : noise_next(&state) >> 24;
}

struct scene {
    struct cuda_context context;
    const struct kind *kind;
    struct plan plan;
    struct image shape;
    int batch, sets; /* images of a batch; sets of so many */
    uint8_t *memory, *scratch, *expected;
    size_t bytes, memory_bytes, scratch_bytes; /* of an image; of all */
    uint32_t *wrong;
};

static uint8_t *in_of(const struct scene &scene, int set, int i) {
    return scene.memory + ((size_t)set * scene.batch + i) * 2 * scene.bytes;
}

static uint8_t *out_of(const struct scene &scene, int set, int i) {
    return in_of(scene, set, i) + scene.bytes;
}

static size_t rounded(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static std::vector<uint8_t> reference(const struct scene &scene, const struct image &in) {
    std::vector<uint8_t> result(image_bytes(&scene.shape));
    struct failure failure = {};
    struct op_call call = {};
    call.op = &op_clahe;
    call.params = &scene.plan.steps[0].params;
    call.in = call.out = in;
    call.out.pixels = result.data();
    call.failure = &failure;
    call.scratch = aligned_alloc(256, rounded(op_clahe.scratch(&call)));
    if (op_clahe.run(&call)) fprintf(stderr, "reference: %s\n", failure.message);
    free(call.scratch);
    return result;
}

/* The same picture in every place. Widths here are such that rows have no padding. */
static bool prepare(struct scene &scene, const struct kind &kind, int batch) {
    struct failure failure = {};
    scene.kind = &kind;
    scene.batch = batch;
    scene.shape = image_shape(kind.width, kind.height, kind.channels, kind.depth);
    if (plan_parse(&scene.plan, kind.text, &failure)) {
        fprintf(stderr, "%s: %s\n", kind.text, failure.message);
        exit(1);
    }
    scene.bytes = rounded(image_bytes(&scene.shape));
    const size_t set = 2 * batch * scene.bytes;
    if (set > scene.memory_bytes) return false;
    scene.sets = (int)std::min<size_t>(SETS_MAX, 1 + COLD_BYTES / set);
    scene.sets = (int)std::min<size_t>(scene.sets, scene.memory_bytes / set);
    std::vector<uint8_t> memory(scene.bytes);
    struct image in = scene.shape;
    in.pixels = memory.data();
    draw(in, kind.smooth);
    for (int s = 0; s < scene.sets; s++)
        for (int i = 0; i < batch; i++)
            TRY(cudaMemcpy(in_of(scene, s, i), memory.data(), scene.bytes, cudaMemcpyHostToDevice));
    const std::vector<uint8_t> result = reference(scene, in);
    TRY(cudaMemcpy(scene.expected, result.data(), result.size(), cudaMemcpyHostToDevice));
    return true;
}

/* ---- rungs: SET of the scene once */

typedef void (*rung)(const struct scene &scene, int set);

static void make_calls(const struct scene &scene, int set, struct op_call *calls,
                       struct failure *failure) {
    for (int i = 0; i < scene.batch; i++) {
        calls[i] = {};
        calls[i].op = &op_clahe;
        calls[i].params = &scene.plan.steps[0].params;
        calls[i].in = calls[i].out = scene.shape;
        calls[i].in.pixels = in_of(scene, set, i);
        calls[i].out.pixels = out_of(scene, set, i);
        calls[i].failure = failure;
    }
    calls[0].scratch = scene.scratch;
    calls[0].scratch_bytes = scene.scratch_bytes;
}

static void rung_shipped(const struct scene &scene, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    make_calls(scene, set, calls, &failure);
    if (scratch(&scene.context, calls, scene.batch) > scene.scratch_bytes ||
        run(&scene.context, calls, scene.batch)) {
        fprintf(stderr, "%s\n", failure.message);
        exit(1);
    }
}

static __global__ void textbook_tables(struct image in, struct clahe_grid grid, uint8_t *tables) {
    __shared__ uint32_t counts[256];
    const uint32_t left = blockIdx.x * grid.x.tile, top = blockIdx.y * grid.y.tile;
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < grid.x.tile * grid.y.tile; i += 256) {
        const uint32_t x = reflect((int32_t)(left + i % grid.x.tile), in.width),
                       y = reflect((int32_t)(top + i / grid.x.tile), in.height);
        atomicAdd(&counts[in.pixels[y * in.stride + x]], 1u);
    }
    __syncthreads();
    if (threadIdx.x) return;
    uint32_t excess = 0, sum = 0;
    for (int bin = 0; grid.limit && bin < 256; bin++)
        if (counts[bin] > grid.limit) {
            excess += counts[bin] - grid.limit;
            counts[bin] = grid.limit;
        }
    const struct clahe_share share = clahe_share_of(excess, 256);
    for (uint32_t bin = 0; bin < 256; bin++) {
        sum += counts[bin];
        tables[(blockIdx.y * grid.x.tiles + blockIdx.x) * 256 + bin] =
            (uint8_t)clahe_level(sum + clahe_shared_upto(share, bin), grid.scale, 255);
    }
}

static __global__ void textbook_blend(struct image in, struct image out, struct clahe_grid grid,
                                      const uint8_t *tables) {
    const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= in.width) return;
    const struct clahe_place across = clahe_place_of(x, grid.x.inverse),
                             down = clahe_place_of(y, grid.y.inverse);
    const uint8_t *row[2] = { tables + clahe_first_tile(down.cell) * grid.x.tiles * 256,
                              tables +
                                  clahe_second_tile(down.cell, grid.y.of) * grid.x.tiles * 256 };
    const uint32_t value = in.pixels[y * in.stride + x];
    const uint32_t left = clahe_first_tile(across.cell) * 256 + value,
                   right = clahe_second_tile(across.cell, grid.x.of) * 256 + value;
    out.pixels[y * out.stride + x] = (uint8_t)clahe_mix(
        row[0][left], row[0][right], row[1][left], row[1][right], across.second, down.second, 255);
}

static void rung_textbook(const struct scene &scene, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    make_calls(scene, set, calls, &failure);
    for (int i = 0; i < scene.batch; i++) {
        const struct clahe_grid grid = grid_of(&calls[i]);
        textbook_tables<<<dim3(grid.x.tiles, grid.y.tiles), 256, 0, scene.context.stream>>>(
            calls[i].in, grid, scene.scratch);
        textbook_blend<<<dim3((scene.shape.width + 255) / 256, scene.shape.height), 256, 0,
                         scene.context.stream>>>(calls[i].in, calls[i].out, grid, scene.scratch);
    }
}

/* ---- one line of the table */

static bool json, json_started;

static __global__ void compare(const uint8_t *a, const uint8_t *b, uint64_t bytes,
                               uint32_t *wrong) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += step)
        if (a[i] != b[i]) atomicAdd(wrong, 1u);
}

static uint32_t count_wrong(const struct scene &scene, rung run) {
    uint32_t wrong = 0;
    const cudaStream_t stream = scene.context.stream;
    for (int i = 0; i < scene.batch; i++)
        TRY(cudaMemsetAsync(out_of(scene, 0, i), 0x5A, scene.bytes, stream));
    run(scene, 0);
    TRY(cudaGetLastError());
    TRY(cudaMemsetAsync(scene.wrong, 0, 4, stream));
    for (int i = 0; i < scene.batch; i++)
        compare<<<1024, 256, 0, stream>>>(out_of(scene, 0, i), scene.expected,
                                          image_bytes(&scene.shape), scene.wrong);
    TRY(cudaMemcpyAsync(&wrong, scene.wrong, 4, cudaMemcpyDeviceToHost, stream));
    TRY(cudaStreamSynchronize(stream));
    return wrong;
}

static void print_spans(const struct scene &scene, rung run) {
    std::vector<double> us[SPANS_MAX];
    for (int turn = 0; turn < 15; turn++) {
        spans.on = true, spans.count = 0;
        hold_stream<<<1, 1, 0, scene.context.stream>>>(200000);
        TRY(cudaEventRecord(spans.events[0], scene.context.stream));
        run(scene, 0);
        spans.on = false;
        TRY(cudaStreamSynchronize(scene.context.stream));
        for (int i = 0; i < spans.count; i++) {
            float ms;
            TRY(cudaEventElapsedTime(&ms, spans.events[i], spans.events[i + 1]));
            us[i].push_back(1e3 * ms / scene.batch);
        }
    }
    for (int i = 0; i < spans.count; i++) {
        std::sort(us[i].begin(), us[i].end());
        printf(json ? ", \"%s_%d_us\": %.2f" : "  %s %d %.2f", spans.names[i], i / 2,
               us[i][us[i].size() / 2]);
    }
}

static bool measure(const char *name, const struct scene &scene, rung run) {
    const uint32_t wrong = count_wrong(scene, run);
    const cudaStream_t stream = scene.context.stream;
    printf(json ? "%s\n  {\"rung\": \"%s\", \"image\": \"%s\", \"batch\": %d, \"right\": %s"
                : "%s%-12s %-20s %3d%.0s",
           json && json_started ? "," : "", name, scene.kind->name, scene.batch,
           wrong ? "false" : "true");
    json_started = true;
    if (wrong) {
        printf(json ? ", \"wrong\": %u}" : "  WRONG in %u bytes\n", wrong);
        return false;
    }
    const double warm = median_us(stream, 1, [&](int) { run(scene, 0); }) / scene.batch;
    const double cold =
        median_us(stream, 1, [&](int turn) { run(scene, turn % scene.sets); }) / scene.batch;
    int next = 0;
    const int train = scene.batch < 8 ? TRAIN : 4;
    const double many =
        median_us(stream, train, [&](int) { run(scene, next++ % scene.sets); }) / scene.batch;
    printf(json ? ", \"warm_us\": %.2f, \"cold_us\": %.2f, \"train_us\": %.2f"
                : "  %9.2f %9.2f %9.2f ",
           warm, cold, many);
    if (run == rung_shipped) print_spans(scene, run);
    printf(json ? "}" : "\n");
    fflush(stdout);
    return true;
}

static bool climb(struct scene &scene) {
    bool right = true;
    for (const struct kind &kind : kinds)
        for (int batch : { 1, 8, (int)BATCH_MOST }) {
            if (!prepare(scene, kind, batch)) continue;
            if (kind.plain && batch == 1) right &= measure("textbook", scene, rung_textbook);
            right &= measure("shipped", scene, rung_shipped);
        }
    return right;
}

static const char help[] =
    "usage: clahe [--json]\n\n"
    "The ladder of clahe on the GPU: the textbook's kernels and the operator; microseconds an\n"
    "image, medians of 41. warm: one set of pictures again and again; cold: more than the L2\n"
    "cache holds; train: a batch's share of many in a row. Every result is compared with the\n"
    "CPU's before its time is printed.\n\n"
    "  --json  print JSON and no table";

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        puts(help);
        return 0;
    }
    json = count > 1 && strcmp(arguments[1], "--json") == 0;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: nothing to measure");
        return 77;
    }
    struct scene scene = {};
    context_make(scene.context);
    scene.memory_bytes = (size_t)7 << 30;
    scene.scratch_bytes = (size_t)256 << 20;
    TRY(cudaMalloc(&scene.memory, scene.memory_bytes));
    TRY(cudaMalloc(&scene.scratch, scene.scratch_bytes));
    TRY(cudaMalloc(&scene.expected, 128 << 20));
    TRY(cudaMalloc(&scene.wrong, 4));
    TRY(cudaMalloc(&scene.context.zeroed, CUDA_ZEROED_WORDS * sizeof(uint32_t)));
    TRY(cudaMemset(scene.context.zeroed, 0, CUDA_ZEROED_WORDS * sizeof(uint32_t)));
    for (cudaEvent_t &event : spans.events) TRY(cudaEventCreate(&event));
    printf(json ? "["
                : "us an image  picture          in a batch       warm      cold     train\n");
    const bool right = climb(scene);
    if (json) puts("\n]");
    return right ? 0 : 1;
}

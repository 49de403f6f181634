// SPDX-License-Identifier: Apache-2.0
/* operator_ladder.cuh - what the ladders of operators that keep a picture's shape share: pictures
 * by name, the operator alone and in batches, every result compared with the CPU's before a time is
 * printed. Microseconds an image, medians over events: `warm` on one set of pictures, `cold` over
 * enough sets that the L2 cache holds none of them, `train` a batch's share of 20 in a row; behind
 * them the operator's kernels by name, each with what an event costs.
 *
 * Used by:  clahe.cu, blur.cu, which include the operator before.
 * Fails:    the program ends with a sentence.
 */
#ifndef BURIN_OPERATOR_LADDER_CUH
#define BURIN_OPERATOR_LADDER_CUH

extern "C" {
#include "pipeline/plan.h"
#include "tests/noise.h"
}

#include "cuda/device_tables.cuh"
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

struct scene;

struct kind {
    const char *name;
    uint32_t width, height;
    unsigned channels, depth;
    const char *text; /* of the plan */
    bool smooth;      /* few levels, neighbours alike: else noise */
    bool plain;       /* the textbook has it */
};

static void draw(const struct image &image, bool smooth) {
    uint32_t state = 1;
    const size_t row = image_row_bytes(&image);
    for (uint32_t y = 0; y < image.height; y++)
        for (size_t i = 0; i < row; i++)
            image_row(&image, y)[i] =
                smooth ? (uint8_t)(90 + (i / 301 + y / 203) % 40) : noise_next(&state) >> 24;
}

/* An operator's. */
struct ladder {
    const char *name;
    const struct cuda_op *twin;
    const struct kind *kinds;
    int kind_count;
    void (*textbook)(const struct scene &scene, int set); /* NULL: there is none */
};

struct scene {
    struct cuda_context context;
    const struct ladder *ladder;
    const struct kind *kind;
    struct plan plan;
    struct image shape;
    int batch, sets; /* images of a batch; sets of `batch` images */
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
    call.op = scene.plan.steps[0].op;
    call.params = &scene.plan.steps[0].params;
    call.in = call.out = in;
    call.out.pixels = result.data();
    call.failure = &failure;
    call.scratch = aligned_alloc(256, rounded((call.op->scratch ? call.op->scratch(&call) : 0)));
    if (call.op->run(&call)) fprintf(stderr, "reference: %s\n", failure.message);
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
        calls[i].op = scene.plan.steps[0].op;
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
    const struct cuda_op *const twin = scene.ladder->twin;
    if ((twin->scratch &&
         twin->scratch(&scene.context, calls, scene.batch) > scene.scratch_bytes) ||
        twin->run(&scene.context, calls, scene.batch)) {
        fprintf(stderr, "%s\n", failure.message);
        exit(1);
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
        printf(json ? ", \"%s_%d_us\": %.2f" : "  %s %d %.2f", spans.names[i], i,
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

/* WANTED: a part of a picture's name; NULL: all pictures. */
static bool climb(struct scene &scene, const char *wanted) {
    const struct ladder &ladder = *scene.ladder;
    bool right = true;
    for (int k = 0; k < ladder.kind_count; k++)
        for (int batch : { 1, 8, (int)BATCH_MOST }) {
            const struct kind &kind = ladder.kinds[k];
            if (wanted && !strstr(kind.name, wanted)) continue;
            if (!prepare(scene, kind, batch)) continue;
            if (ladder.textbook && kind.plain && batch == 1)
                right &= measure("textbook", scene, ladder.textbook);
            right &= measure("shipped", scene, rung_shipped);
        }
    return right;
}

static void print_help(const char *name) {
    printf("usage: %s [--json] [PICTURE]\n\n"
           "The ladder of %s on the GPU: the operator, and the textbook's kernels if there are\n"
           "any; microseconds an image, medians of 41. warm: one set of pictures again and again;\n"
           "cold: more than the L2 cache holds; train: a batch's share of many in a row. Every\n"
           "result is compared with the CPU's before its time is printed.\n\n"
           "  --json   print JSON and no table\n"
           "  PICTURE  only pictures of which it is a part of the name, as 4K\n",
           name, name);
}

static void scene_make(struct scene &scene, const struct ladder &ladder) {
    static struct device_tables tables;
    struct failure failure = {};
    scene.ladder = &ladder;
    context_make(scene.context);
    if (device_tables_init(&tables, &failure)) {
        fprintf(stderr, "%s\n", failure.message);
        exit(1);
    }
    scene.context.tables = &tables;
    scene.memory_bytes = (size_t)7 << 30;
    scene.scratch_bytes = (size_t)256 << 20;
    TRY(cudaMalloc(&scene.memory, scene.memory_bytes));
    TRY(cudaMalloc(&scene.scratch, scene.scratch_bytes));
    TRY(cudaMalloc(&scene.expected, 128 << 20));
    TRY(cudaMalloc(&scene.wrong, 4));
    TRY(cudaMalloc(&scene.context.zeroed, CUDA_ZEROED_WORDS * sizeof(uint32_t)));
    TRY(cudaMemset(scene.context.zeroed, 0, CUDA_ZEROED_WORDS * sizeof(uint32_t)));
    for (cudaEvent_t &event : spans.events) TRY(cudaEventCreate(&event));
}

static int ladder_main(const struct ladder &ladder, int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        print_help(ladder.name);
        return 0;
    }
    json = count > 1 && strcmp(arguments[1], "--json") == 0;
    const char *const wanted = count > 1 + json ? arguments[1 + json] : NULL;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: nothing to measure");
        return 77;
    }
    struct scene scene = {};
    scene_make(scene, ladder);
    printf(json ? "["
                : "us an image  picture          in a batch       warm      cold     train\n");
    const bool right = climb(scene, wanted);
    if (json) puts("\n]");
    return right ? 0 : 1;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* How it works. The ladder of cuda/ops/resize.cu. Pictures of noise, gradients and edges are scaled
 * by the textbook's kernels, by dp4a and by the operator, alone and in batches; every result is
 * compared with the CPU's operator before a time is printed. Microseconds an image, medians over
 * events: `warm` on one set of pictures, `cold` over enough sets that the L2 cache holds none of
 * them, `train` a batch's share of 20 in a row; `load`, `across` and `down` are what is read by the
 * first pass, that pass and the other one alone, `nothing` two empty kernels: over sets as `cold`
 * is, each with what an event costs. `apart`: the second pass begins when the first
 * has ended; `as a batch`: one picture with the kernels of batches, of which `across` and `down`
 * are too; `tile`: other widths of a block's tile; `warps`: of a block of the first pass;
 * `short`: kernels for windows of one step; `whole`: all rows are there before one is summed;
 * `down`: kernels of the second pass; `forth`: its blocks in the order of the first's, not from
 * their end, which is in the L2 cache.
 *
 * Predicted before the first run with tensor cores in both passes, on an H200 (the goal behind it):
 * 4K to 320x180 15 alone (22) and 9 in batches (14); 1080p to 320x180 8 (10) and 3 (4), to 960x540
 * 9 (11) and 4.6 (5); 12 MP to 1024x768 22 (40) and 16 (28); 67 MP to 1024x1024 90 (160); `apart` 2
 * to 3 more alone, the same in batches; the second pass under 1.5 in batches, as it reads less than
 * a tenth of what the first does.
 */
#include "cuda/ops/resize.cu"

extern "C" {
#include "pipeline/plan.h"
#include "tests/noise.h"

extern const struct op op_resize;
}

#include "tests/bench/kernels/measure.cuh"
#include "tests/bench/kernels/resize_rungs.cuh"

/* Nobody asks for seams here. */
extern "C" const struct cuda_op *cuda_twin(const struct op *) {
    return NULL;
}

/* ---- what each kernel takes */

enum { SPANS_MAX = 8 };

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

/* ---- one line of the table */

static __global__ void compare(const uint8_t *a, const uint8_t *b, uint64_t bytes,
                               uint32_t *wrong) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += step)
        if (a[i] != b[i]) atomicAdd(wrong, 1u);
}

/* Rows have no padding that matters: widths here are such that a row is whole words. */
static uint32_t count_wrong(const struct scene &scene, rung run) {
    uint32_t wrong = 0;
    cudaStream_t stream = scene.context.stream;
    const size_t bytes = image_row_bytes(&scene.out);
    for (int i = 0; i < scene.batch; i++)
        TRY(cudaMemsetAsync(out_of(scene, 0, i), 0x5A, scene.out_bytes, stream));
    run(scene, 0);
    TRY(cudaMemsetAsync(scene.wrong, 0, 4, stream));
    for (int i = 0; i < scene.batch; i++)
        for (uint32_t y = 0; y < scene.out.height; y += scene.out.height / 16 + 1) {
            const size_t at = y * scene.out.stride;
            const uint32_t rows = std::min(scene.out.height - y, scene.out.height / 16 + 1);
            const bool whole = scene.out.stride == bytes;
            for (uint32_t r = 0; r < (whole ? 1 : rows); r++)
                compare<<<64, 256, 0, stream>>>(out_of(scene, 0, i) + at + r * scene.out.stride,
                                                scene.expected + at + r * scene.out.stride,
                                                whole ? bytes * rows : bytes, scene.wrong);
        }
    TRY(cudaMemcpyAsync(&wrong, scene.wrong, 4, cudaMemcpyDeviceToHost, stream));
    TRY(cudaStreamSynchronize(stream));
    return wrong;
}

static bool json, json_started;

static void print_spans(const struct scene &scene, rung run) {
    std::vector<double> us[SPANS_MAX];
    for (int turn = 0; turn < 15; turn++) {
        spans.on = true, spans.count = 0;
        hold_stream<<<1, 1, 0, scene.context.stream>>>(200000);
        TRY(cudaEventRecord(spans.events[0], scene.context.stream));
        run(scene, turn % scene.sets);
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
        printf(json ? ", \"%s_us\": %.2f" : "  %s %.2f", spans.names[i], us[i][us[i].size() / 2]);
    }
}

struct part {
    const char *name;
    rung run;
};

/* COUNT parts of a rung alone: what they leave is not looked at. */
static void print_parts(const struct scene &scene, const struct part *parts, int count) {
    for (int i = 0; i < count; i++) {
        const double us = median_us(scene.context.stream, 1,
                                    [&](int turn) { parts[i].run(scene, turn % scene.sets); });
        printf(json ? ", \"%s_us\": %.2f" : "  %s %.2f", parts[i].name, us / scene.batch);
    }
}

static bool measure(const char *name, const struct scene &scene, rung run,
                    const struct part *parts = NULL, int part_count = 0) {
    const uint32_t wrong = count_wrong(scene, run);
    const cudaStream_t stream = scene.context.stream;
    if (json)
        printf("%s\n  {\"rung\": \"%s\", \"image\": \"%s\", \"batch\": %d, \"right\": %s",
               json_started ? "," : "", name, scene.kind->name, scene.batch,
               wrong ? "false" : "true");
    else
        printf("%-13s %-20s %3d", name, scene.kind->name, scene.batch);
    json_started = true;
    if (wrong) {
        printf(json ? ", \"wrong\": %u}" : "  WRONG in %u samples\n", wrong);
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
    print_parts(scene, parts, part_count);
    printf(json ? "}" : "\n");
    fflush(stdout);
    return true;
}

/* ---- the ladder */

static bool climb_textbook(const struct scene &scene) {
    struct frame frame;
    struct failure failure = {};
    if (frame_make(&frame, &scene.plan.steps[0].params, &scene.in, &failure)) return false;
    const long kernel = scene.plan.steps[0].params.number[RESIZE_KERNEL];
    const struct resample_axis x = { frame.x.from, frame.x.to, 0, frame.x.to,
                                     (enum resample_kernel)kernel };
    const struct resample_axis y = { frame.y.from, frame.y.to, 0, frame.y.to,
                                     (enum resample_kernel)kernel };
    textbook_x = textbook_axis_make(&x);
    textbook_y = textbook_axis_make(&y);
    const bool right = measure("textbook", scene, rung_textbook);
    textbook_axis_free(&textbook_x);
    textbook_axis_free(&textbook_y);
    return right;
}

typedef work_kind<3, 8, false> RGB;
typedef work_kind<4, 8, false> RGBA;

/* The first pass with another kernel, the second one as shipped. */
template <class K, int WARPS, bool SHORT, bool HALVES>
static bool climb_across(const char *name, const struct scene &scene) {
    return measure(name, scene,
                   rung_passes<K, BOTH_PASSES, 0, across_kernel<K, WARPS, SHORT, HALVES>, WARPS>);
}

/* Steps of the longest window of rows and of columns. */
static void get_windows(const struct scene &scene, uint32_t *across, uint32_t *down) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    struct group group;
    lay_set(scene, 0, calls, &group, &failure);
    *across = table_steps(group.pictures[0].weigh.across.note);
    *down = table_steps(group.pictures[0].weigh.down.note);
}

/* The operator's passes over pictures of kind K with other kernels. */
template <class K> static bool climb_kernels(const struct scene &scene) {
    uint32_t across, down;
    get_windows(scene, &across, &down);
    bool right = climb_across<K, 4, false, K::PLAIN>("warps 4", scene);
    right &= climb_across<K, 8, false, K::PLAIN>("warps 8", scene);
    if (across == 1) right &= climb_across<K, 4, true, K::PLAIN>("short 4", scene);
    if (across == 1) right &= climb_across<K, 8, true, K::PLAIN>("short 8", scene);
    if constexpr (K::PLAIN) {
        right &= climb_across<K, 4, false, false>("whole 4", scene);
        right &= climb_across<K, 8, false, false>("whole 8", scene);
        if (across == 1) right &= climb_across<K, 4, true, false>("whole short 4", scene);
    }
    right &= measure("down long", scene,
                     rung_passes<K, BOTH_PASSES, 0, nullptr, 0, down_kernel<K, false>>);
    right &= measure("forth long", scene,
                     rung_passes<K, BOTH_PASSES, 0, nullptr, 0, down_forth<K, false>>);
    if (down > 1) return right;
    right &= measure("down short", scene,
                     rung_passes<K, BOTH_PASSES, 0, nullptr, 0, down_kernel<K, true>>);
    return right & measure("forth short", scene,
                           rung_passes<K, BOTH_PASSES, 0, nullptr, 0, down_forth<K, true>>);
}

/* With other tiles and kernels, and parts of them. */
template <class K> static bool climb_passes(const struct scene &scene) {
    bool right = measure("apart", scene, rung_apart);
    if (scene.batch == 1) right &= measure("as a batch", scene, rung_passes<K, BOTH_PASSES>);
    right &= measure("tile 32", scene, rung_passes<K, BOTH_PASSES, 32>);
    right &= measure("tile 48", scene, rung_passes<K, BOTH_PASSES, 48>);
    right &= measure("tile 64", scene, rung_passes<K, BOTH_PASSES, 64>);
    right &= climb_kernels<K>(scene);
    const struct part parts[] = {
        { "load", rung_passes<K, ACROSS_ALONE, 0, across_load<K, 4>, 4> },
        { "across", rung_passes<K, ACROSS_ALONE> },
        { "down", rung_passes<K, DOWN_ALONE> },
        { "nothing", rung_nothing },
    };
    return right & measure("shipped", scene, rung_shipped, parts, 4);
}

static bool climb_picture(const struct scene &scene) {
    const struct kind &kind = *scene.kind;
    bool right = true;
    if (kind.plain && scene.batch == 1) right &= climb_textbook(scene);
    if (kind.plain && kind.channels == 3) {
        right &= measure("dp4a", scene, rung_dp4a<RGB>);
        return right & climb_passes<RGB>(scene);
    }
    if (kind.channels == 4 && kind.depth == 8) return right & climb_passes<RGBA>(scene);
    return right & measure("shipped", scene, rung_shipped);
}

/* WANTED: a part of a picture's name; NULL: all pictures. ONLY: the one batch that is measured; 0:
 * all batches. */
static bool climb(struct scene &scene, const char *wanted, int only) {
    bool right = true;
    for (const struct kind &kind : kinds)
        for (int batch : { 1, 8, (int)BATCH_MOST }) {
            if ((wanted && !strstr(kind.name, wanted)) || (only && batch != only)) continue;
            if (!prepare(scene, kind, batch)) continue;
            right &= climb_picture(scene);
        }
    return right;
}

static const char help[] =
    "usage: resize [--json] [PICTURE [BATCH]]\n\n"
    "The ladder of resize on the GPU: the textbook's kernels, the operator, the operator with\n"
    "other tiles; microseconds an image, medians of 41. warm: one set of pictures again and\n"
    "again; cold: more than the L2 cache holds; train: a batch's share of many in a row. Every\n"
    "result is compared with the CPU's before its time is printed.\n\n"
    "  --json   print JSON and no table\n"
    "  PICTURE  only pictures of which it is a part of the name, as 4K\n"
    "  BATCH    only batches of this size: 1, 8 or 32";

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        puts(help);
        return 0;
    }
    json = count > 1 && strcmp(arguments[1], "--json") == 0;
    const char *const wanted = count > 1 + json ? arguments[1 + json] : NULL;
    const int only = count > 2 + json ? atoi(arguments[2 + json]) : 0;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: nothing to measure");
        return 77;
    }
    static struct device_tables tables;
    struct failure failure = {};
    struct scene scene = {};
    context_make(scene.context);
    scene.context.tables = &tables;
    if (device_tables_init(&tables, &failure)) return 1;
    scene.memory_bytes = (size_t)7 << 30;
    scene.scratch_bytes = (size_t)2 << 30;
    TRY(cudaMalloc(&scene.memory, scene.memory_bytes));
    TRY(cudaMalloc(&scene.scratch, scene.scratch_bytes));
    TRY(cudaMalloc(&scene.expected, 64 << 20));
    TRY(cudaMalloc(&scene.wrong, 4));
    for (cudaEvent_t &event : spans.events) TRY(cudaEventCreate(&event));
    printf(json ? "["
                : "us an image   picture          in a batch       warm      cold     train\n");
    const bool right = climb(scene, wanted, only);
    if (json) puts("\n]");
    return right ? 0 : 1;
}

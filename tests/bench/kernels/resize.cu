// SPDX-License-Identifier: Apache-2.0
/* How it works. The ladder of cuda/ops/resize.cu. Pictures of noise, gradients and edges are scaled
 * by the textbook's kernels and by the operator, alone and in batches; every result is compared
 * with the CPU's operator before a time is printed. Microseconds an image, medians over events:
 * `warm` on one set of pictures, `cold` over so many sets that the L2 cache holds none of them,
 * `train` a batch's share of 20 in a row; `across` and `down` are the two kernels' parts of a batch
 * alone, each with what an event costs. `tile` is the operator with other widths of a block's tile,
 * `tensor cores` with another first pass (resize_mma.cuh).
 *
 * Predicted before the first run, on an H200 (the goal behind it): 4K to 320x180 16 alone (22) and
 * 12 in batches (14); 1080p to 320x180 8 (10) and 3 (4), to 960x540 10 (11) and 6 (5); 12 MP to
 * 1024x768 24 (40) and 20 (28); RGBA 1.35 times RGB (1.5). With tensor cores in batches 4K 9, 12 MP
 * 13, since their arithmetic is a quarter; reading the picture alone is 6.5 and 9.4.
 */
#include "cuda/ops/resize.cu"

extern "C" {
#include "pipeline/plan.h"
#include "tests/noise.h"

extern const struct op op_resize;
}

#include "tests/bench/kernels/measure.cuh"
#include "tests/bench/kernels/resize_mma.cuh"
#include "tests/bench/kernels/resize_textbook.cuh"

#include <cstring>

enum { SETS_MAX = 64, BATCH_MOST = 32 };

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

/* ---- pictures */

struct kind {
    const char *name;
    uint32_t width, height;
    unsigned channels, depth;
    const char *text; /* of the plan */
    bool plain;       /* the textbook has it */
};

static const struct kind kinds[] = {
    { "4K to 320x180", 3840, 2160, 3, 8, "resize:width=320,height=180", true },
    { "1080p to 320x180", 1920, 1080, 3, 8, "resize:width=320,height=180", true },
    { "1080p to 960x540", 1920, 1080, 3, 8, "resize:width=960,height=540", true },
    { "12 MP to 1024x768", 4000, 3000, 3, 8, "resize:width=1024,height=768", true },
    { "67 MP to 1024x1024", 8192, 8192, 3, 8, "resize:width=1024,height=1024", true },
    { "540p to 1080p", 960, 540, 3, 8, "resize:width=1920,height=1080", true },
    { "gray 1080p to 320", 1920, 1080, 1, 8, "resize:width=320", true },
    { "RGBA 4K to 320", 3840, 2160, 4, 8, "resize:width=320", false },
    { "RGBA 1080p to 960", 1920, 1080, 4, 8, "resize:width=960", false },
    { "RGB 16 bit to 320", 1920, 1080, 3, 16, "resize:width=320", false },
    { "linear 1080p to 320", 1920, 1080, 3, 8, "resize:width=320,linear=true", false },
    { "cubic 1080p to 320", 1920, 1080, 3, 8, "resize:width=320,kernel=cubic", true },
    { "nearest to 320", 1920, 1080, 3, 8, "resize:width=320,kernel=nearest", false },
    { "smart to 300x300", 1920, 1080, 3, 8, "resize:width=300,height=300,position=smart", false },
    { "contain 500x500", 1920, 1080, 3, 8, "resize:width=500,height=500,fit=contain", false },
};

/* Noise, a gradient, and black and white stripes. */
static void draw(const struct image &image, uint32_t seed) {
    uint32_t state = seed;
    const size_t row = image_row_bytes(&image);
    for (uint32_t y = 0; y < image.height; y++)
        for (size_t i = 0; i < row; i++) {
            const uint32_t noise = noise_next(&state) >> 24;
            const uint8_t striped = (i / 97 + y / 41) % 2 ? 255 : 0;
            image_row(&image, y)[i] = (uint8_t)((i + y) % 1000 < 300 ? noise
                                                : y % 300 < 100      ? striped
                                                                     : i * 3 / 8 + y);
        }
}

struct scene {
    struct cuda_context context;
    const struct kind *kind;
    struct plan plan;
    struct image in, out; /* shapes */
    int batch, sets;      /* images of a batch; sets of so many */
    uint8_t *memory, *scratch, *expected;
    size_t in_bytes, out_bytes, scratch_bytes, memory_bytes;
    uint32_t *wrong;
};

static uint8_t *in_of(const struct scene &scene, int set, int i) {
    return scene.memory + ((size_t)set * scene.batch + i) * (scene.in_bytes + scene.out_bytes);
}

static uint8_t *out_of(const struct scene &scene, int set, int i) {
    return in_of(scene, set, i) + scene.in_bytes;
}

static size_t rounded(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static std::vector<uint8_t> reference(const struct scene &scene, const struct image &in) {
    std::vector<uint8_t> result(image_bytes(&scene.out));
    struct failure failure = {};
    struct op_call call = {};
    call.op = &op_resize;
    call.params = &scene.plan.steps[0].params;
    call.in = in;
    call.out = scene.out;
    call.out.pixels = result.data();
    call.failure = &failure;
    call.scratch = aligned_alloc(256, rounded(op_resize.scratch(&call) + 1));
    if (op_resize.run(&call)) fprintf(stderr, "reference: %s\n", failure.message);
    free(call.scratch);
    return result;
}

/* Shapes, and the same picture in every place. */
static bool prepare(struct scene &scene, const struct kind &kind, int batch) {
    struct failure failure = {};
    scene.kind = &kind;
    scene.batch = batch;
    scene.plan = {};
    scene.in = image_shape(kind.width, kind.height, kind.channels, kind.depth);
    if (plan_parse(&scene.plan, kind.text, &failure) ||
        op_resize.size(&scene.plan.steps[0].params, &scene.in, &scene.out, &failure)) {
        fprintf(stderr, "%s: %s\n", kind.text, failure.message);
        exit(1);
    }
    scene.in_bytes = rounded(image_bytes(&scene.in));
    scene.out_bytes = rounded(image_bytes(&scene.out));
    const size_t set = batch * (scene.in_bytes + scene.out_bytes);
    if (set > scene.memory_bytes) return false;
    scene.sets = (int)std::min<size_t>(SETS_MAX, 1 + COLD_BYTES / set);
    scene.sets = (int)std::min<size_t>(scene.sets, scene.memory_bytes / set);
    std::vector<uint8_t> memory(scene.in_bytes);
    struct image in = scene.in;
    in.pixels = memory.data();
    draw(in, 1);
    for (int s = 0; s < scene.sets; s++)
        for (int i = 0; i < batch; i++)
            TRY(cudaMemcpy(in_of(scene, s, i), memory.data(), scene.in_bytes,
                           cudaMemcpyHostToDevice));
    const std::vector<uint8_t> result = reference(scene, in);
    TRY(cudaMemcpy(scene.expected, result.data(), result.size(), cudaMemcpyHostToDevice));
    return true;
}

static void make_calls(const struct scene &scene, int set, struct op_call *calls,
                       struct failure *failure) {
    for (int i = 0; i < scene.batch; i++) {
        calls[i] = {};
        calls[i].op = &op_resize;
        calls[i].params = &scene.plan.steps[0].params;
        calls[i].in = scene.in, calls[i].in.pixels = in_of(scene, set, i);
        calls[i].out = scene.out, calls[i].out.pixels = out_of(scene, set, i);
        calls[i].failure = failure;
    }
    calls[0].scratch = scene.scratch;
    calls[0].scratch_bytes = scene.scratch_bytes;
}

/* ---- rungs: SET of the scene once */

typedef void (*rung)(const struct scene &scene, int set);

static void rung_shipped(const struct scene &scene, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    make_calls(scene, set, calls, &failure);
    if (cuda_op_resize.run(&scene.context, calls, scene.batch)) {
        fprintf(stderr, "%s\n", failure.message);
        exit(1);
    }
}

static struct textbook_axis textbook_x, textbook_y;

static void rung_textbook(const struct scene &scene, int set) {
    for (int i = 0; i < scene.batch; i++) {
        struct image in = scene.in, out = scene.out;
        in.pixels = in_of(scene, set, i), out.pixels = out_of(scene, set, i);
        textbook_resize(&textbook_x, &textbook_y, in, out, scene.scratch, scene.context.stream);
    }
}

/* Other tiles than across_choose takes. */
static void retile(struct tiles<across_batch> *tiles, const struct resample_axis &x,
                   unsigned planes, uint32_t columns) {
    struct across_batch batch = tiles->batch;
    const uint32_t all = batch.images[0].columns;
    const uint32_t down = (uint32_t)(tiles->count / batch.count) / batch.images[0].tiles_across;
    tiles->batch.count = 0;
    tiles->count = 0;
    for (int i = 0; i < batch.count; i++) {
        struct across_image image = batch.images[i];
        image.tile_columns = (uint16_t)columns;
        image.span = (uint16_t)across_span(&x, columns, image.words);
        tiles->shared_bytes = across_bytes(planes, columns, image.span);
        tiles_add(tiles, image, tiles_over(all, columns), down);
    }
}

/* A set's pictures as the operator lays them out, with its tables. */
static void lay_set(const struct scene &scene, int set, struct op_call *calls, struct group *group,
                    struct failure *failure) {
    size_t bytes;
    make_calls(scene, set, calls, failure);
    group->context = &scene.context;
    group->failure = failure;
    if (!group_lay(group, calls, scene.batch, scene.scratch, &bytes) && !group_get_tables(group))
        return;
    fprintf(stderr, "%s\n", failure->message);
    exit(1);
}

template <class K>
static enum status launch_down(const struct scene &scene, const struct group &group,
                               struct failure *failure) {
    struct tiles<down_batch> down = {};
    down.batch.rule = group.rule;
    down.batch.channels = scene.out.channels;
    for (int i = 0; i < scene.batch; i++)
        add_down<K>(group.pictures[i].weigh, 0, group.pictures[i].weigh.x.count, &down);
    return tiles_launch(down, down_kernel<K>, DOWN_THREADS, scene.context.stream, failure);
}

template <class K, int COLUMNS> static void rung_tile(const struct scene &scene, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    struct group group;
    struct tiles<across_batch> across = {};
    lay_set(scene, set, calls, &group, &failure);
    across.batch.rule = group.rule;
    for (int i = 0; i < scene.batch; i++)
        add_across<K>(&scene.context, group.pictures[i].weigh, 0, group.pictures[i].weigh.x.count,
                      &across);
    retile(&across, group.pictures[0].weigh.x, K::PLANES, COLUMNS);
    if (tiles_launch(across, across_kernel<K>, ACROSS_THREADS, scene.context.stream, &failure) ||
        launch_down<K>(scene, group, &failure))
        exit(1);
}

template <class K> static void rung_mma(const struct scene &scene, int set) {
    struct op_call calls[BATCH_MOST];
    struct failure failure = {};
    struct group group;
    struct device_table table;
    struct tiles<mma_batch> across = {};
    lay_set(scene, set, calls, &group, &failure);
    const struct resample_axis &x = group.pictures[0].weigh.x;
    struct device_table_key key = table_key(&x);
    key.numbers[DEVICE_TABLE_NUMBERS - 1] = 1;
    if (device_tables_get(scene.context.tables, scene.context.stream, &key, mma_bytes(&x), mma_make,
                          &table, &failure) ||
        !table.memory)
        exit(1);
    across.batch.rule = group.rule;
    for (int i = 0; i < scene.batch; i++)
        mma_add_image<K>(scene.context, group.pictures[i].weigh, table, &across);
    if (tiles_launch(across, mma_kernel<K>, ACROSS_THREADS, scene.context.stream, &failure) ||
        launch_down<K>(scene, group, &failure))
        exit(1);
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

static bool measure(const char *name, const struct scene &scene, rung run) {
    const uint32_t wrong = count_wrong(scene, run);
    const cudaStream_t stream = scene.context.stream;
    if (json)
        printf("%s\n  {\"rung\": \"%s\", \"image\": \"%s\", \"batch\": %d, \"right\": %s",
               json_started ? "," : "", name, scene.kind->name, scene.batch,
               wrong ? "false" : "true");
    else
        printf("%-12s %-20s %3d", name, scene.kind->name, scene.batch);
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

static bool climb_others(const struct scene &scene) {
    typedef work_kind<3, 8, false> RGB;
    bool right = measure("tensor cores", scene, rung_mma<RGB>);
    right &= measure("tile 16", scene, rung_tile<RGB, 16>);
    right &= measure("tile 32", scene, rung_tile<RGB, 32>);
    right &= measure("tile 64", scene, rung_tile<RGB, 64>);
    return right;
}

static bool climb(struct scene &scene) {
    bool right = true;
    for (const struct kind &kind : kinds)
        for (int batch : { 1, 8, (int)BATCH_MOST }) {
            if (!prepare(scene, kind, batch)) continue;
            if (kind.plain && batch == 1) right &= climb_textbook(scene);
            right &= measure("shipped", scene, rung_shipped);
            if (strcmp(kind.name, "RGBA 4K to 320") == 0)
                right &= measure("tensor cores", scene, rung_mma<work_kind<4, 8, false>>);
            if (kind.plain && kind.channels == 3) right &= climb_others(scene);
        }
    return right;
}

static const char help[] =
    "usage: resize [--json]\n\n"
    "The ladder of resize on the GPU: the textbook's kernels, the operator, the operator with\n"
    "other tiles; microseconds an image, medians of 41. warm: one set of pictures again and\n"
    "again; cold: more than the L2 cache holds; train: a batch's share of many in a row. Every\n"
    "result is compared with the CPU's before its time is printed.\n\n"
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
                : "us an image  picture          in a batch       warm      cold     train\n");
    const bool right = climb(scene);
    if (json) puts("\n]");
    return right ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
/* Both directions weighed against each other: the ladder (carve_weigh.cuh) that leads to the fast
 * method (fast_both_axes.cuh), and on it the general one (any_gpu.cuh). The origins of all
 * remaining pixels are compared with a plain host program's before a time is printed. Times are
 * events' on the device, medians: `all` of the whole search with its preparations and origins,
 * `step` the rise from a quarter of the steps to all. */
#include "tests/bench/kernels/carve_stuck.cuh"

#include "cuda/ops/carve/method.cuh"

#include "tests/bench/kernels/carve_weigh.cuh"

#include "tests/bench/kernels/carve_reference.cuh"

#include <cstdarg>
#include <cstdlib>
#include <cstring>

/* ---- the plain way */

/* Taken out of so far: the image, and of every pixel the number that it had. */
struct left {
    plain image;
    std::vector<uint8_t> luma;
    std::vector<uint32_t> numbers;
};

static struct plain plain_of(std::vector<uint8_t> &luma, int width, int height, int stride,
                             int energy) {
    plain image = { width, height, stride, energy, luma.data(), {}, {} };
    image.energies.resize(luma.size()), image.costs.resize(luma.size());
    return image;
}

static uint64_t seam_cost(const plain &image, const std::vector<uint16_t> &seam) {
    uint64_t sum = 0;
    for (int y = 0; y < image.height; y++)
        sum += image.energies[(size_t)y * image.stride + seam[(size_t)y]];
    return sum;
}

static void take_down(struct left &left, const std::vector<uint16_t> &seam) {
    const plain &image = left.image;
    for_rows((uint32_t)image.height, [&](uint32_t y) {
        const size_t row = (size_t)y * image.stride, from = row + seam[y] + 1,
                     end = row + image.width;
        std::copy(left.luma.begin() + from, left.luma.begin() + end, left.luma.begin() + from - 1);
        std::copy(left.numbers.begin() + from, left.numbers.begin() + end,
                  left.numbers.begin() + from - 1);
    });
    left.image.width--;
}

static void take_across(struct left &left, const std::vector<uint16_t> &seam) {
    const plain &image = left.image;
    for (int y = 0; y + 1 < image.height; y++) {
        const size_t row = (size_t)y * image.stride, next = row + image.stride;
        for (int x = 0; x < image.width; x++)
            if (y >= seam[(size_t)x])
                left.luma[row + x] = left.luma[next + x],
                                left.numbers[row + x] = left.numbers[next + x];
    }
    left.image.height--;
}

/* Numbers of what is left of the picture, rows of WIDTH. */
static std::vector<uint32_t> plain_both(const std::vector<uint8_t> &luma,
                                        const struct seam_search &search) {
    const int width = (int)search.width, height = (int)search.height;
    struct left left = { {}, luma, {} };
    uint32_t columns = search.columns, rows = search.rows;
    left.image = plain_of(left.luma, width, height, width, search.energy);
    left.numbers.resize(luma.size());
    for (size_t i = 0; i < left.numbers.size(); i++) left.numbers[i] = (uint32_t)i;
    while (columns + rows) {
        std::vector<uint8_t> luma_turned((size_t)left.image.width * left.image.height);
        plain turned = plain_of(luma_turned, left.image.height, left.image.width, left.image.height,
                                search.energy);
        for (int y = 0; y < left.image.height; y++)
            for (int x = 0; x < left.image.width; x++)
                luma_turned[(size_t)x * turned.stride + y] = left.luma[(size_t)y * width + x];
        std::vector<uint16_t> down(left.image.height), across(left.image.width);
        if (columns) plain_seam(left.image, down.data());
        if (rows) plain_seam(turned, across.data());
        const bool goes_across =
            !columns || (rows && seam_cost(turned, across) < seam_cost(left.image, down));
        goes_across ? take_across(left, across) : take_down(left, down);
        goes_across ? rows-- : columns--;
    }
    return left.numbers;
}

/* ---- one search */

struct both_case {
    const char *name;
    uint32_t width, height, columns, rows;
    int energy;
    picture_kind kind;
};

struct bench {
    struct cuda_context context;
    struct carve_limits limits;
    struct seam_search search;
    struct weigh weigh; /* of the first rungs */
    std::vector<uint8_t> luma;
    std::vector<uint32_t> numbers; /* as they ought to be */
    uint8_t *original;
    uint64_t *trace;
    cudaEvent_t begin, end;
};

static void context_make(struct bench &bench) {
    struct cuda_context &context = bench.context;
    context_make(context);
    listen_for_stuck();
    TRY(cudaEventCreate(&bench.begin));
    TRY(cudaEventCreate(&bench.end));
}

/* False where fast_one_axis does not take the search. Rows of the plain way lie close
 * together. */
static bool strip_make(struct bench &bench, const struct both_case &one) {
    struct seam_search &search = bench.search;
    search = {};
    search.width = one.width, search.height = one.height;
    search.columns = one.columns, search.rows = one.rows;
    search.energy = one.energy;
    search.luma_stride = (one.width + 15) / 16 * 16;
    search.origin_stride = one.width;
    const size_t bytes = (size_t)search.luma_stride * one.height + 16;
    struct both_axes_plan plan;
    bench.limits = limits_of(&bench.context);
    if (!both_axes_plan_make(&plan, &bench.limits, &search, NULL)) return false;
    const size_t fast = plan.bytes;
    const size_t general = any_gpu_scratch(&search);
    bench.luma = paint(one.kind, one.width, one.height, one.width);
    bench.numbers = plain_both(bench.luma, search);
    TRY(cudaMalloc((void **)&bench.original, bytes));
    TRY(cudaMalloc((void **)&search.luma, bytes));
    TRY(cudaMalloc((void **)&search.origins, 4 * bench.numbers.size()));
    TRY(cudaMalloc(&search.scratch, fast > general ? fast : general));
    TRY(cudaMalloc((void **)&bench.trace, 8 * TIMELINE_MARKS * (one.columns + one.rows)));
    TRY(cudaMemcpy2D(bench.original, search.luma_stride, bench.luma.data(), one.width, one.width,
                     one.height, cudaMemcpyHostToDevice));
    TRY(cudaDeviceSynchronize()); /* from pageable memory the copy may still be under way */
    weigh_make(bench.weigh, bench.context, search);
    return true;
}

static void strip_free(struct bench &bench) {
    weigh_free(bench.weigh);
    TRY(cudaFree(bench.original));
    TRY(cudaFree(bench.search.luma));
    TRY(cudaFree(bench.search.origins));
    TRY(cudaFree(bench.search.scratch));
    TRY(cudaFree(bench.trace));
}

/* ---- running and comparing */

enum rung { ROWS = 1, TILES, GENERAL, CLUSTERS, BOTH_AXES };
static const char *const rung_names[] = { "",
                                          "1 a launch a row",
                                          "2 tiles, parallel way back",
                                          "3 general, grid barriers",
                                          "4 one launch, two clusters",
                                          "5 two ways, a verdict" };

static bool rung_fits(const struct bench &bench, int rung) {
    struct solo_shape shape;
    if (rung == GENERAL || rung == BOTH_AXES) return true;
    return rungs_fit(bench.search.width) && rungs_fit(bench.search.height) &&
           (rung != CLUSTERS || weigh_cluster_shape(bench.weigh, shape));
}

static void run_general(struct bench &bench, const struct seam_search &search) {
    struct failure failure = {};
    if (any_gpu_run(&bench.context, &search, &failure) == STATUS_OK) return;
    fprintf(stderr, "%s\n", failure.message);
    exit(1);
}

static void run_both_axes(struct bench &bench, const struct seam_search &search, bool trace) {
    struct both_axes_plan plan;
    struct failure failure = {};
    bool fits = false;
    uint8_t *scratch = (uint8_t *)search.scratch;
    if (!both_axes_plan_make(&plan, &bench.limits, &search, scratch)) exit(1);
    if (trace) plan.args.axes[plan.args.longer].timeline = bench.trace;
    if (both_axes_queue(&bench.context, &plan, scratch, &fits, &failure) == STATUS_OK && fits)
        return;
    fprintf(stderr, "%s\n", failure.message);
    exit(1);
}

/* Milliseconds of one run from the original luma; of the search's seams one in PART. */
static float run(struct bench &bench, int rung, uint32_t part, bool trace) {
    const cudaStream_t stream = bench.context.stream;
    struct seam_search search = bench.search;
    float ms;
    search.columns = (search.columns + part - 1) / part,
    search.rows = (search.rows + part - 1) / part;
    TRY(cudaMemcpyAsync(search.luma, bench.original, (size_t)search.luma_stride * search.height,
                        cudaMemcpyDeviceToDevice, stream));
    TRY(cudaMemsetAsync(search.origins, 0xff, 4 * bench.numbers.size(), stream));
    TRY(cudaStreamSynchronize(stream));
    TRY(cudaEventRecord(bench.begin, stream));
    if (rung == ROWS) rung_weigh_rows(bench.weigh, search.columns, search.rows);
    if (rung == TILES) rung_weigh_tiles(bench.weigh, search.columns, search.rows);
    if (rung == GENERAL) run_general(bench, search);
    if (rung == CLUSTERS) rung_weigh_cluster(bench.weigh, search.columns, search.rows);
    if (rung == BOTH_AXES) run_both_axes(bench, search, trace);
    TRY(cudaGetLastError());
    TRY(cudaEventRecord(bench.end, stream));
    TRY(cudaEventSynchronize(bench.end));
    TRY(cudaEventElapsedTime(&ms, bench.begin, bench.end));
    return ms;
}

/* Checks the origin of every pixel that is left. */
static bool right(struct bench &bench, const struct both_case &one, const char *who) {
    std::vector<uint32_t> numbers(bench.numbers.size());
    TRY(cudaMemcpy(numbers.data(), bench.search.origins, 4 * numbers.size(),
                   cudaMemcpyDeviceToHost));
    for (uint32_t y = 0; y < one.height - one.rows; y++)
        for (uint32_t x = 0; x < one.width - one.columns; x++) {
            const size_t at = (size_t)y * one.width + x;
            if (numbers[at] == bench.numbers[at]) continue;
            fprintf(stderr, "%s %s %ux%u -%u -%u energy %d %s: pixel %u,%u was %u, not %u\n", who,
                    one.name, one.width, one.height, one.columns, one.rows, one.energy,
                    kind_names[one.kind], x, y, bench.numbers[at], numbers[at]);
            return false;
        }
    return true;
}

static float median(struct bench &bench, int rung, uint32_t part, int repeats) {
    std::vector<float> times;
    for (int i = 0; i < repeats; i++) times.push_back(run(bench, rung, part, false));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

/* ---- what main is asked for */

static const struct both_case ladder_cases[] = {
    { "1024x1024", 1024, 1024, 32, 32, CARVE_GRADIENT, PHOTO },
    { "1080p", 1920, 1080, 48, 48, CARVE_GRADIENT, PHOTO },
    { "4K", 3840, 2160, 12, 12, CARVE_GRADIENT, PHOTO },
};

static int ladder(struct bench &bench) {
    int bad = 0;
    printf("%-28s %-10s %6s %12s %12s\n", "", "", "steps", "all (ms)", "step (us)");
    for (const struct both_case &one : ladder_cases) {
        if (!strip_make(bench, one)) {
            printf("%s does not fit\n", one.name);
            continue;
        }
        for (int rung = ROWS; rung <= BOTH_AXES; rung++) {
            if (!rung_fits(bench, rung)) {
                printf("%-28s %-10s does not fit\n", rung_names[rung], one.name);
                continue;
            }
            run(bench, rung, 1, false);
            if (!right(bench, one, rung_names[rung])) {
                bad = 1;
                continue;
            }
            const int repeats = rung == ROWS ? 1 : rung == BOTH_AXES ? 15 : 5;
            const float all = median(bench, rung, 1, repeats),
                        part = median(bench, rung, 4, repeats);
            const uint32_t steps = one.columns + one.rows;
            const uint32_t few = (one.columns + 3) / 4 + (one.rows + 3) / 4;
            printf("%-28s %-10s %6u %12.3f %12.2f\n", rung_names[rung], one.name, steps, all,
                   1e3 * (all - part) / (steps - few));
        }
        strip_free(bench);
    }
    return bad;
}

/* Down to sides of two where they are small. */
static const uint32_t odd_sizes[][4] = {
    { 3, 3, 1, 1 },       { 40, 30, 38, 28 },     { 64, 4, 20, 2 },    { 7, 33, 5, 20 },
    { 130, 66, 20, 30 },  { 257, 129, 30, 20 },   { 640, 64, 50, 30 }, { 37, 1000, 12, 25 },
    { 1023, 777, 12, 9 }, { 2050, 200, 10, 12 },  { 300, 2111, 8, 7 }, { 200, 200, 198, 3 },
    { 90, 90, 2, 88 },    { 1920, 1080, 30, 30 }, { 6000, 300, 5, 5 }, { 300, 6000, 5, 5 },
};

static int odd(struct bench &bench) {
    int bad = 0, good = 0;
    for (const uint32_t *size : odd_sizes)
        for (int energy = CARVE_GRADIENT; energy <= CARVE_SOBEL5; energy++)
            for (int kind = PHOTO; kind < PICTURE_KINDS; kind++) {
                const struct both_case one = { "odd",   size[0], size[1],           size[2],
                                               size[3], energy,  (picture_kind)kind };
                if (!strip_make(bench, one)) {
                    printf("%ux%u does not fit\n", size[0], size[1]);
                    continue;
                }
                for (int rung = ROWS; rung <= BOTH_AXES; rung++) {
                    if (!rung_fits(bench, rung)) continue;
                    run(bench, rung, 1, false);
                    *(right(bench, one, rung_names[rung]) ? &good : &bad) += 1;
                }
                strip_free(bench);
            }
    printf("odd sizes: %d right, %d wrong\n", good, bad);
    return bad != 0;
}

/* Prints the parts of a step's time, in the axis with more rows: means over the later half of the
 * steps in which both axes are searched, from the end of the step before, in us. */
static int trace(struct bench &bench) {
    static const char *const names[] = {
        "lead start",         "lead end", "met", "maps",  "resolved",  "",
        "walked and verdict", "moved",    "",    "ready", "last jumps"
    };
    for (const struct both_case &one : ladder_cases) {
        if (!strip_make(bench, one)) continue;
        const uint32_t most = one.columns > one.rows ? one.rows : one.columns;
        std::vector<uint64_t> marks(TIMELINE_MARKS * (one.columns + one.rows));
        for (int i = 0; i < 3; i++) run(bench, BOTH_AXES, 1, true);
        TRY(cudaMemcpy(marks.data(), bench.trace, 8 * marks.size(), cudaMemcpyDeviceToHost));
        printf("%-10s", one.name);
        for (int k = 0; k < TIMELINE_MARKS; k++) {
            double sum = 0;
            for (uint32_t s = most / 2; s < most; s++)
                sum += (double)(int64_t)(marks[s * TIMELINE_MARKS + k] -
                                         marks[(s - 1) * TIMELINE_MARKS + MARK_READY]);
            if (names[k][0]) printf(" %s %.2f", names[k], sum / (most - most / 2) / 1e3);
        }
        puts("");
        strip_free(bench);
    }
    return 0;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "ladder";
    if (strcmp(what, "--help") == 0) {
        puts("both_run [ladder]: times of all rungs.\n"
             "both_run odd: other sizes, energies and pictures compared, all rungs that fit.\n"
             "both_run trace: where a step's time goes.");
        return 0;
    }
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return puts("no GPU here"), 77;
    struct bench bench = {};
    context_make(bench);
    if (strcmp(what, "odd") == 0) return odd(bench);
    return strcmp(what, "trace") == 0 ? trace(bench) : ladder(bench);
}

// SPDX-License-Identifier: Apache-2.0
/* The ladder that led to cuda/ops/carve/fast_one_axis/fast_one_axis.cuh, from a launch a row to one
 * launch for all seams. Every seam of every rung is compared with a plain host program before a
 * time is printed. Times are events' on the device, medians: `all` of the whole search with its
 * preparations, `seam` the rise from a quarter of the seams to all of them. */
#include "tests/bench/kernels/carve_stuck.cuh"

#include "tests/bench/kernels/carve_cluster.cuh"

#include "tests/bench/kernels/carve_reference.cuh"

#include <cstring>
#include <ctime>

/* ---- one search */

struct strip_case {
    const char *name;
    uint32_t width, height, seams;
    int energy;
    picture_kind kind;
};

struct bench {
    struct cuda_context context;
    struct carve_limits limits;
    struct seam_search search;
    struct rung_memory memory;
    std::vector<uint8_t> luma, smaller; /* before, and after as it ought to be */
    std::vector<uint16_t> columns;      /* as they ought to be */
    uint8_t *original;
    uint64_t *trace;
    uint32_t blocks, cluster; /* of the last launch of fast_one_axis */
    cudaEvent_t begin, end;
};

static void bench_make(struct bench &bench) {
    context_make(bench.context);
    listen_for_stuck();
    TRY(cudaEventCreate(&bench.begin));
    TRY(cudaEventCreate(&bench.end));
}

/* False where fast_one_axis does not take the search. */
static bool strip_make(struct bench &bench, const struct strip_case &one) {
    struct seam_search &search = bench.search;
    search = {};
    search.width = one.width, search.height = one.height, search.columns = one.seams;
    search.energy = one.energy;
    search.luma_stride = (one.width + 63) / 64 * 64;
    const size_t bytes = (size_t)search.luma_stride * one.height;
    struct one_axis_plan plan;
    bench.limits = limits_of(&bench.context);
    if (!one_axis_plan_make(&plan, &bench.limits, &search, NULL)) return false;
    bench.luma = paint(one.kind, one.width, one.height, search.luma_stride);
    bench.smaller = bench.luma;
    bench.columns = plain_carve(bench.smaller, one.width, one.height, search.luma_stride,
                                one.energy, one.seams);
    TRY(cudaMalloc((void **)&bench.original, bytes));
    TRY(cudaMalloc((void **)&search.luma, bytes));
    TRY(cudaMalloc((void **)&search.seams, 2 * bench.columns.size()));
    TRY(cudaMalloc(&search.scratch, plan.bytes));
    TRY(cudaMalloc((void **)&bench.trace, 8 * TIMELINE_MARKS * one.seams));
    TRY(cudaMemcpy(bench.original, bench.luma.data(), bytes, cudaMemcpyHostToDevice));
    TRY(cudaDeviceSynchronize()); /* from pageable memory the copy may still be under way */
    return true;
}

static void strip_free(struct bench &bench) {
    TRY(cudaFree(bench.original));
    TRY(cudaFree(bench.search.luma));
    TRY(cudaFree(bench.search.seams));
    TRY(cudaFree(bench.search.scratch));
    TRY(cudaFree(bench.trace));
}

/* ---- running and comparing */

enum rung { ROWS = 1, TILES, WHOLE, CLUSTER, HALVES };
static const char *const rung_names[] = { "",
                                          "1 a launch a row",
                                          "2 tiles, parallel way back",
                                          "3 one launch, grid barriers",
                                          "4 one launch, one cluster",
                                          "5 halves that meet" };

static bool rung_fits(const struct bench &bench, int rung) {
    if (rung == HALVES) return true;
    return rungs_fit(bench.search.height) && (rung != CLUSTER || rung_cluster_fits(bench.memory));
}

static void run_halves(struct bench &bench, uint32_t seams, uint64_t *trace) {
    struct one_axis_plan plan;
    struct failure failure = {};
    bool fits = false;
    struct seam_search search = bench.search;
    search.columns = seams;
    if (!one_axis_plan_make(&plan, &bench.limits, &search, (uint8_t *)search.scratch)) exit(1);
    plan.args.timeline = trace;
    bench.blocks = plan.blocks, bench.cluster = plan.args.cluster;
    if (one_axis_queue(&bench.context, &plan, (uint8_t *)search.scratch, &fits, &failure) ==
            STATUS_OK &&
        fits)
        return;
    fprintf(stderr, "%s\n", failure.message);
    exit(1);
}

/* Milliseconds of one run from the original luma. */
static float run(struct bench &bench, int rung, uint32_t seams, uint64_t *trace) {
    const cudaStream_t stream = bench.context.stream;
    float ms;
    TRY(cudaMemcpyAsync(bench.search.luma, bench.original, bench.luma.size(),
                        cudaMemcpyDeviceToDevice, stream));
    TRY(cudaMemsetAsync(bench.search.seams, 0xff, 2 * bench.columns.size(), stream));
    TRY(cudaStreamSynchronize(stream));
    TRY(cudaEventRecord(bench.begin, stream));
    if (rung == ROWS) rung_rows(bench.memory, seams);
    if (rung == TILES) rung_tiles(bench.memory, seams);
    if (rung == WHOLE) rung_whole(bench.memory, seams);
    if (rung == CLUSTER) rung_cluster(bench.memory, seams);
    if (rung == HALVES) run_halves(bench, seams, trace);
    TRY(cudaGetLastError());
    TRY(cudaEventRecord(bench.end, stream));
    TRY(cudaEventSynchronize(bench.end));
    TRY(cudaEventElapsedTime(&ms, bench.begin, bench.end));
    return ms;
}

/* Every seam and the smaller image. */
static bool right(struct bench &bench, const struct strip_case &one, const char *who) {
    std::vector<uint16_t> columns(bench.columns.size());
    std::vector<uint8_t> luma(bench.luma.size());
    TRY(cudaMemcpy(columns.data(), bench.search.seams, 2 * columns.size(), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(luma.data(), bench.search.luma, luma.size(), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < columns.size(); i++) {
        if (columns[i] == bench.columns[i]) continue;
        fprintf(stderr, "%s %s %ux%u energy %d %s: seam %zu row %zu is %u, not %u\n", who, one.name,
                one.width, one.height, one.energy, kind_names[one.kind], i / one.height,
                i % one.height, columns[i], bench.columns[i]);
        return false;
    }
    for (uint32_t y = 0; y < one.height; y++) {
        const size_t row = (size_t)y * bench.search.luma_stride;
        if (memcmp(&luma[row], &bench.smaller[row], one.width - one.seams) == 0) continue;
        fprintf(stderr, "%s %s %ux%u: luma of row %u is wrong\n", who, one.name, one.width,
                one.height, y);
        return false;
    }
    return true;
}

static float median(struct bench &bench, int rung, uint32_t seams, int repeats) {
    std::vector<float> times;
    for (int i = 0; i < repeats; i++) times.push_back(run(bench, rung, seams, NULL));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

/* ---- what main is asked for */

static const struct strip_case ladder_cases[] = {
    { "1024x1024", 1024, 1024, 35, CARVE_GRADIENT, PHOTO },
    { "1080p", 1920, 1080, 64, CARVE_GRADIENT, PHOTO },
    { "4K", 3840, 2160, 24, CARVE_GRADIENT, PHOTO },
    { "8K", 7680, 4320, 8, CARVE_GRADIENT, PHOTO },
};

static int ladder(struct bench &bench, bool json, int from) {
    bool started = false;
    int bad = 0;
    if (!json) printf("%-28s %-10s %6s %12s %12s\n", "", "", "seams", "all (ms)", "seam (us)");
    for (const struct strip_case &one : ladder_cases) {
        if (!strip_make(bench, one)) continue;
        rung_memory_make(bench.memory, bench.context, bench.search);
        for (int rung = from; rung <= HALVES; rung++) {
            const uint32_t few = one.seams / 4;
            if (!rung_fits(bench, rung)) {
                if (!json) printf("%-28s %-10s does not fit\n", rung_names[rung], one.name);
                continue;
            }
            run(bench, rung, one.seams, NULL);
            if (!right(bench, one, rung_names[rung])) {
                bad = 1;
                continue;
            }
            const int repeats = rung == ROWS ? 1 : rung == HALVES ? 15 : 5;
            const float all = median(bench, rung, one.seams, repeats);
            const float part = median(bench, rung, few, repeats);
            const double seam = 1e3 * (all - part) / (one.seams - few);
            if (json)
                printf("%s\n{\"rung\": \"%s\", \"size\": \"%s\", \"seams\": %u, \"ms\": %.4f, "
                       "\"us_a_seam\": %.2f}",
                       started ? "," : "[", rung_names[rung], one.name, one.seams, all, seam);
            else
                printf("%-28s %-10s %6u %12.3f %12.2f\n", rung_names[rung], one.name, one.seams,
                       all, seam);
            started = true;
            fflush(stdout);
        }
        rung_memory_free(bench.memory);
        strip_free(bench);
    }
    if (json) puts("\n]");
    return bad;
}

static const uint32_t odd_sizes[][3] = { { 64, 2, 20 },     { 33, 7, 32 },     { 130, 66, 40 },
                                         { 257, 129, 30 },  { 640, 64, 90 },   { 1000, 37, 25 },
                                         { 1023, 777, 12 }, { 2050, 200, 10 }, { 4097, 100, 6 },
                                         { 8200, 90, 4 },   { 300, 2111, 8 },  { 64, 15000, 4 },
                                         { 16000, 2600, 2 } };

static int odd(struct bench &bench, uint32_t most) {
    int bad = 0, good = 0;
    for (const uint32_t *size : odd_sizes)
        for (int energy = CARVE_GRADIENT; energy <= CARVE_SOBEL5; energy++)
            for (int kind = PHOTO; kind < PICTURE_KINDS; kind++) {
                const struct strip_case one = { "odd",   size[0], size[1],
                                                size[2], energy,  (picture_kind)kind };
                if (size[0] * size[1] > most) continue;
                if (!strip_make(bench, one)) {
                    printf("%ux%u does not fit\n", size[0], size[1]);
                    continue;
                }
                rung_memory_make(bench.memory, bench.context, bench.search);
                for (int rung = ROWS; rung <= HALVES; rung++) {
                    if (!rung_fits(bench, rung)) continue;
                    run(bench, rung, one.seams, NULL);
                    *(right(bench, one, rung_names[rung]) ? &good : &bad) += 1;
                }
                rung_memory_free(bench.memory);
                strip_free(bench);
            }
    printf("odd sizes: %d right, %d wrong\n", good, bad);
    return bad != 0;
}

/* Prints the parts of a seam's time: means over the later half of the seams, from the end of the
 * seam before, in us. */
static int trace(struct bench &bench) {
    static const char *const names[] = { "lead start", "lead end", "met",       "maps",
                                         "resolved",   "entry",    "walked",    "moved",
                                         "renewed",    "ready",    "last jumps" };
    for (const struct strip_case &one : ladder_cases) {
        if (!strip_make(bench, one)) continue;
        std::vector<uint64_t> marks(TIMELINE_MARKS * one.seams);
        for (int i = 0; i < 3; i++) run(bench, HALVES, one.seams, bench.trace);
        TRY(cudaMemcpy(marks.data(), bench.trace, 8 * marks.size(), cudaMemcpyDeviceToHost));
        printf("%-10s %3u blocks, clusters of %u:", one.name, bench.blocks, bench.cluster);
        for (int k = 0; k < TIMELINE_MARKS; k++) {
            double sum = 0;
            uint32_t count = 0;
            for (uint32_t s = one.seams / 2; s < one.seams; s++, count++)
                sum += (double)(int64_t)(marks[s * TIMELINE_MARKS + k] -
                                         marks[(s - 1) * TIMELINE_MARKS + MARK_READY]);
            if (names[k][0]) printf(" %s %.2f", names[k], sum / count / 1e3);
        }
        puts("");
        strip_free(bench);
    }
    return 0;
}

static double seconds() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Gray 1080p less 480 columns, from pinned memory to pinned memory. */
static int pinned(struct bench &bench) {
    const struct strip_case one = { "1080p", 1920, 1080, 480, CARVE_GRADIENT, PHOTO };
    const cudaStream_t stream = bench.context.stream;
    std::vector<double> times;
    uint8_t *from, *to;
    if (!strip_make(bench, one)) return 1;
    const size_t bytes = bench.luma.size(), stride = bench.search.luma_stride;
    TRY(cudaMallocHost((void **)&from, bytes));
    TRY(cudaMallocHost((void **)&to, bytes));
    memcpy(from, bench.luma.data(), bytes);
    for (int i = 0; i < 9; i++) {
        struct failure failure = {};
        const double start = seconds();
        TRY(cudaMemcpyAsync(bench.search.luma, from, bytes, cudaMemcpyHostToDevice, stream));
        if (method_run(&bench.context, &bench.limits, METHOD_FAST_ONE_AXIS, &bench.search,
                       &failure) != STATUS_OK)
            return 1;
        TRY(cudaMemcpy2DAsync(to, 1440, bench.search.luma, stride, 1440, one.height,
                              cudaMemcpyDeviceToHost, stream));
        TRY(cudaStreamSynchronize(stream));
        times.push_back(1e3 * (seconds() - start));
    }
    if (!right(bench, one, "pinned")) return 1;
    std::sort(times.begin(), times.end());
    printf("1080p gray less 480 columns, pinned to pinned: %.3f ms\n", times[times.size() / 2]);
    const double start = seconds();
    for (int i = 0; i < 100; i++) method_choose(&bench.limits, &bench.search);
    printf("method_choose: %.1f us\n", 1e4 * (seconds() - start));
    strip_free(bench);
    return 0;
}

int main(int count, char **arguments) {
    const char *what = count > 1 && arguments[1][0] != '-' ? arguments[1] : "ladder";
    const bool json = count > 1 && strcmp(arguments[count - 1], "--json") == 0;
    if (count > 1 && strcmp(arguments[count - 1], "--help") == 0) {
        puts("usage: carve [ladder|fast|odd|trace|pinned] [--json]\n\n"
             "Ways to take seams out of a strip of luma, one direction, us a seam and in all.\n"
             "carve [ladder|fast] [--json]: times of all rungs, or of the last one alone.\n"
             "carve odd [PIXELS]: other sizes, energies and pictures compared, all rungs that "
             "fit, up to PIXELS pixels.\n"
             "carve trace: where a seam's time goes. carve pinned: from pinned memory and back.");
        return 0;
    }
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return puts("no GPU here"), 77;
    struct bench bench = {};
    bench_make(bench);
    if (strcmp(what, "odd") == 0)
        return odd(bench, count > 2 ? (uint32_t)atoi(arguments[2]) : UINT32_MAX);
    if (strcmp(what, "trace") == 0) return trace(bench);
    if (strcmp(what, "pinned") == 0) return pinned(bench);
    return ladder(bench, json, strcmp(what, "fast") == 0 ? HALVES : ROWS);
}

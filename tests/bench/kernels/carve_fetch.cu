// SPDX-License-Identifier: Apache-2.0
/* Whether what a band does once a seam waits for its own instructions. One block is a band: it does
 * parents and jumps of the band, as long as the sweepers would take for a seam, then the part in
 * question, with times between: the seam's way, closing up with energies anew, storing those.
 *   cold       as in carving: only other code has run since the last time
 *   idle       20 us of waiting at a barrier before it
 *   rehearsed  the same code has just run, on another band's rows
 * A band's rows were last touched one band's work before, in all three. Where "rehearsed"
 * is much quicker than "cold", code has to become smaller or be run by idle warps before it is
 * needed; where "idle" is slower than "cold", it is the waiting itself. */
#include "cuda/ops/carve/method.cuh"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { PARTS = 3, WAYS = 3, ROUNDS = 64, IDLE_CYCLES = 40000 };
enum { COLD, IDLE, REHEARSED };

enum status fail(struct failure *failure, enum status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    return status;
}

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define TRY(call) check(call, #call)

/* Everything that a band waits for in seam 0: costs, entries and crossings in column X. */
static __global__ void tell_all(const __grid_constant__ struct axis_args args, uint32_t x) {
    const uint32_t bands = args.halves[0].bands + args.halves[1].bands;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    for (int half = 0; half < 2; half++)
        for (uint32_t i = thread; i < (args.halves[half].steps + 1) * args.cost_stride; i += all)
            args.halves[half].costs[i] = seam_tag(0) << 30 | i * 2654435761u >> 20;
    for (uint32_t i = thread; i < bands; i += all) args.entries[i] = 1 << 16 | x;
    for (uint32_t i = thread; i < args.height; i += all) args.crossings[i] = 1 << 16 | x;
}

/* One thread's clock after each part. */
static __device__ __noinline__ void once_a_seam(const struct axis_args &args,
                                                const struct band &band, long long *times) {
    __syncthreads();
    times[0] = clock64();
    band_walk(args, band, 0);
    times[1] = clock64();
    remove_energies(args, band, 0);
    __syncthreads();
    times[2] = clock64();
    renew_store(args, band, 0);
    __syncthreads();
    times[3] = clock64();
}

static __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    measure(const __grid_constant__ struct axis_args args, int axis, uint32_t *sums) {
    const uint32_t bands = args.halves[0].bands;
    long long times[PARTS + 1];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct band band = band_make(args, 1 + round % (bands - 2));
        const struct band other = band_make(args, 1 + (round + 1) % (bands - 2));
        for (int i = 0; i < 8; i++) band_search(args, band, 0);
        if (axis == REHEARSED) once_a_seam(args, other, times);
        if (axis == IDLE && threadIdx.x == 0)
            for (const long long began = clock64(); clock64() - began < IDLE_CYCLES;) {
            }
        once_a_seam(args, band, times);
        for (int k = 0; k < PARTS && threadIdx.x == 0 && round; k++)
            sums[k] += (uint32_t)(times[k + 1] - times[k]);
    }
}

static struct one_axis_plan make_plan(const struct cuda_context *context, uint32_t width,
                                      uint32_t height) {
    struct seam_search search = {};
    struct one_axis_plan plan;
    search.width = width, search.height = height, search.columns = 1;
    search.luma_stride = (width + 63) / 64 * 64;
    TRY(cudaMalloc((void **)&search.luma, (size_t)search.luma_stride * height + 16));
    TRY(cudaMalloc((void **)&search.seams, 2ull * height));
    TRY(cudaMemset(search.luma, 77, (size_t)search.luma_stride * height));
    const struct carve_limits limits = limits_of(context);
    if (!one_axis_plan_make(&plan, &limits, &search, NULL)) puts("does not fit"), exit(1);
    TRY(cudaMalloc(&search.scratch, plan.bytes));
    one_axis_plan_make(&plan, &limits, &search, (uint8_t *)search.scratch);
    TRY(cudaMemset((uint8_t *)search.scratch + plan.cleared_from, 0, plan.cleared));
    plan.args.late_bands = 0; /* they would wait for halves that never meet */
    return plan;
}

static void show(const struct cuda_context *context, const char *name, uint32_t width,
                 uint32_t height) {
    static const char *const axes[] = { "cold", "idle", "rehearsed" };
    const struct one_axis_plan plan = make_plan(context, width, height);
    uint32_t *sums;
    TRY(cudaMalloc((void **)&sums, sizeof(uint32_t) * PARTS));
    TRY(cudaFuncSetAttribute(measure, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)plan.shared_bytes));
    for (int axis = 0; axis < WAYS; axis++) {
        uint32_t got[PARTS];
        energy_plane_kernel<<<4 * context->multiprocessors, 256>>>(plan.args);
        tell_all<<<64, 256>>>(plan.args, width / 2);
        TRY(cudaMemset(sums, 0, sizeof got));
        measure<<<1, BLOCK_THREADS, plan.shared_bytes>>>(plan.args, axis, sums);
        TRY(cudaGetLastError());
        TRY(cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost));
        printf("%-6s %-10s cycles: way %6.0f, closing up %6.0f, storing %6.0f\n", name, axes[axis],
               got[0] / (ROUNDS - 1.0), got[1] / (ROUNDS - 1.0), got[2] / (ROUNDS - 1.0));
    }
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        puts("usage: carve_fetch\n\n"
             "Microseconds of what a band of seam carving does once a seam, at 1080p and 4K: with\n"
             "other code run before it (cold), after 20 us of waiting (idle), and run twice in a\n"
             "row (rehearsed): whether it waits for its own instructions. Needs a GPU of 9.0.");
        return 0;
    }
    struct cuda_context context = {};
    int gpus = 0, major;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return puts("no GPU here"), 77;
    TRY(cudaDeviceGetAttribute(&context.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaDeviceGetAttribute(&context.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    context.capability = 10 * major;
    if (context.capability < 90) return puts("no clusters here"), 77;
    show(&context, "1080p", 1920, 1080);
    show(&context, "4K", 3840, 2160);
    return 0;
}

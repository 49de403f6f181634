// SPDX-License-Identifier: Apache-2.0
/* scene.cuh - a ladder's image on the device, the check of a rung, and its line of times.
 *
 * How it works. A scene holds as many pairs of buffers as overflow the L2 cache, all with the same
 * picture, and the expected result. `right` runs a rung once over 0x5A and compares on the device;
 * `measure_rung` times it only after that.
 *
 * Used by:  edge.cu, histeq.cu; to be included where `struct frame` is known, which has context,
 *           params, in and out, and what the rungs want.
 * Fails:    a CUDA error ends the program with its text; a wrong rung is printed as WRONG.
 */
#ifndef BURIN_SCENE_CUH
#define BURIN_SCENE_CUH

#include "tests/bench/kernels/measure.cuh"

#include <cstring>
#include <cuda_profiler_api.h>

typedef void (*rung)(const struct frame *frame);

void cuda_record_kernel(const struct cuda_context *, const char *) {}

static bool json, json_started;

struct scene {
    struct frame frame;
    std::vector<uint8_t *> ins, outs; /* pairs of buffers, ins[0] first */
    uint8_t *expected;
    uint32_t *wrong;
};

static struct frame first_frame(const struct scene &scene) {
    struct frame frame = scene.frame;
    frame.in.pixels = scene.ins[0];
    frame.out.pixels = scene.outs[0];
    return frame;
}

static __global__ void compare(const uint8_t *a, const uint8_t *b, uint64_t bytes,
                               uint32_t *wrong) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += step)
        if (a[i] != b[i]) atomicAdd(wrong, 1u);
}

static bool right(const struct scene &scene, rung run) {
    const struct frame frame = first_frame(scene);
    const size_t bytes = image_bytes(&frame.out);
    uint32_t wrong = 0;
    cudaStream_t stream = frame.context.stream;
    TRY(cudaMemsetAsync(frame.out.pixels, 0x5A, bytes, stream));
    run(&frame);
    TRY(cudaMemsetAsync(scene.wrong, 0, 4, stream));
    compare<<<1024, 256, 0, stream>>>(frame.out.pixels, scene.expected, bytes, scene.wrong);
    TRY(cudaMemcpyAsync(&wrong, scene.wrong, 4, cudaMemcpyDeviceToHost, stream));
    TRY(cudaStreamSynchronize(stream));
    return wrong == 0;
}

struct times {
    double warm, cold, train; /* us */
};

static struct times times_of(const struct scene &scene, rung run) {
    struct frame frame = scene.frame;
    const auto one = [&](size_t pair) {
        frame.in.pixels = scene.ins[pair];
        frame.out.pixels = scene.outs[pair];
        run(&frame);
    };
    const cudaStream_t stream = frame.context.stream;
    struct times times = {};
    times.warm = median_us(stream, 1, [&](int) { one(0); });
    times.cold = median_us(stream, 1, [&](int turn) { one(turn % scene.ins.size()); });
    if (image_bytes(&frame.in) < 64 << 20)
        times.train = median_us(stream, TRAIN, [&](int) { one(0); });
    return times;
}

static void print_times(const char *name, const char *kind, const struct scene &scene,
                        const struct times *times) {
    const struct image &in = scene.frame.in;
    if (json)
        printf("%s\n  {\"rung\": \"%s\", \"image\": \"%s\", \"width\": %u, \"height\": %u, "
               "\"channels\": %u, \"depth\": %u, \"right\": %s, \"warm_us\": %.2f, "
               "\"cold_us\": %.2f, \"train_us\": %.2f}",
               json_started ? "," : "", name, kind, in.width, in.height, in.channels, in.depth,
               times ? "true" : "false", times ? times->warm : 0, times ? times->cold : 0,
               times ? times->train : 0);
    else
        printf("%-22s %-9s %5ux%-5u %u x %2u bit", name, kind, in.width, in.height, in.channels,
               in.depth);
    if (!json && times)
        printf("  %9.2f %9.2f %9.2f\n", times->warm, times->cold, times->train);
    else if (!json)
        printf("  WRONG\n");
    json_started = true;
    fflush(stdout);
}

/* Times RUN if what CHECKED leaves is right; NULL: nothing to be right about. */
static void measure_rung(const char *name, const char *kind, const struct scene &scene, rung run,
                         rung checked) {
    struct times times;
    const bool ok = !checked || right(scene, checked);
    if (ok) times = times_of(scene, run);
    print_times(name, kind, scene, ok ? &times : NULL);
}

static void measure_rung(const char *name, const char *kind, const struct scene &scene, rung run) {
    measure_rung(name, kind, scene, run, run);
}

/* ---- rungs that every ladder has */

static __global__ void empty_kernel(void) {}

static void rung_empty(const struct frame *f) {
    empty_kernel<<<1, 32, 0, f->context.stream>>>();
}

static void rung_copy(const struct frame *f) {
    cudaMemcpyAsync(f->out.pixels, f->in.pixels, image_bytes(&f->in), cudaMemcpyDeviceToDevice,
                    f->context.stream);
}

template <class Operator>
static void run_operator(const Operator &op, const struct frame *f, void *scratch) {
    struct failure failure = {};
    struct op_call call = {};
    call.params = &f->params;
    call.in = f->in;
    call.out = f->out;
    call.scratch = scratch;
    call.failure = &failure;
    if (op.run(&f->context, &call, 1)) {
        fprintf(stderr, "%s\n", failure.message);
        exit(1);
    }
}

/* ---- NPP, where the machine has it */

struct npp_context {
    cudaStream_t stream;
    int device, multiprocessors, threads_multiprocessor, threads_block;
    size_t shared_bytes;
    int major, minor;
    unsigned flags;
    int reserved;
};

static inline struct npp_context npp_context_make(cudaStream_t stream) {
    cudaDeviceProp device;
    TRY(cudaGetDeviceProperties(&device, 0));
    return { stream,
             0,
             device.multiProcessorCount,
             device.maxThreadsPerMultiProcessor,
             device.maxThreadsPerBlock,
             device.sharedMemPerBlock,
             device.major,
             device.minor,
             cudaStreamNonBlocking,
             0 };
}

/* ---- once */

/* Each rung under the profiler, after all have run before. */
static inline void profile_rungs(const struct scene &scene, std::initializer_list<rung> rungs) {
    const struct frame frame = first_frame(scene);
    for (rung run : rungs) run(&frame);
    TRY(cudaStreamSynchronize(frame.context.stream));
    TRY(cudaProfilerStart());
    for (rung run : rungs) run(&frame);
    TRY(cudaStreamSynchronize(frame.context.stream));
    TRY(cudaProfilerStop());
}

#endif

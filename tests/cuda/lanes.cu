// SPDX-License-Identifier: Apache-2.0
/* Lanes at the same time, with kernels of which all blocks must run at once.
 *
 * How it works. Every lane is a thread that carves in one direction and in both, and equalizes, in
 * an order of its own over many rounds; results are compared with the reference. Then lanes carve
 * while another kernel holds multiprocessors that they need. An alarm ends the test if the GPU
 * hangs.
 * covers: cuda/device_cuda.cu cuda/kernel_progress.cuh cuda/memory_pool.cu cuda/cooperative_lane.cu
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern "C" {
#include "pipeline/device.h"
#include "pipeline/plan.h"
#include "pipeline/pool.h"
#include "pipeline/run.h"
#include "tests/noise.h"

#include <cmocka.h>
}

enum { LANES = 6, ROUNDS = 48, THREADS = 8, LIMIT_S = 200, ALIGN = 256 };

/* ---- jobs, and what they ought to give */

struct kind {
    const char *plan;
    uint32_t width, height;
    unsigned channels;
};

static const struct kind kinds[] = {
    { "carve:dx=-30", 1920, 1080, 1 },              /* in one launch, clusters of 16 */
    { "carve:dx=-6", 3840, 2160, 1 },               /* of 16 */
    { "carve:dy=-20,energy=sobel3", 700, 1000, 3 }, /* of 8 */
    { "carve:dx=-9,dy=-9", 640, 480, 3 },           /* both directions weighed */
    { "carve:dx=-2", 16400, 90, 1 },                /* wider than that: by barriers of all blocks */
    { "carve:dx=40", 400, 300, 4 },
    { "histeq", 1920, 1080, 3 },
    { "histeq", 4000, 3000, 1 },
    { "edge:kernel=sobel5", 1920, 1080, 3 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct work {
    struct plan plan;
    struct image in;
    uint64_t digest; /* of the reference's result */
} works[KINDS];

static void fill(const struct image *image) {
    uint32_t state = image->width;
    for (size_t i = 0; i < image_bytes(image); i++) {
        noise_next(&state);
        image->pixels[i] = (uint8_t)(i / 37 + i / image->stride * 3 + (state >> 28));
    }
}

static int make_work(struct work *work, const struct kind *kind, struct pool *pool) {
    struct failure failure = {};
    struct image shapes[PLAN_STEPS_MAX + 1];
    work->in = image_shape(kind->width, kind->height, kind->channels, 8);
    if (plan_parse(&work->plan, kind->plan, &failure) ||
        plan_shapes(&work->plan, &work->in, UINT64_C(1) << 31, shapes, &failure))
        return printf("%s: %s\n", kind->plan, failure.message);
    const struct op *op = work->plan.steps[0].op;
    struct op_call call = {};
    work->in.pixels = (uint8_t *)malloc(image_bytes(&work->in));
    fill(&work->in);
    call.params = &work->plan.steps[0].params;
    call.in = work->in;
    call.out = shapes[1];
    call.pool = pool;
    call.failure = &failure;
    call.out.pixels = (uint8_t *)malloc(image_bytes(&call.out));
    call.scratch =
        op->scratch ? aligned_alloc(ALIGN, (op->scratch(&call) + ALIGN) / ALIGN * ALIGN) : NULL;
    if (op->run(&call)) return printf("%s: %s\n", kind->plan, failure.message);
    work->digest = image_digest(&call.out);
    free(call.scratch);
    free(call.out.pixels);
    return 0;
}

/* ---- lanes */

struct worker {
    struct lane *lane;
    pthread_t thread;
    int number, right, wrong;
    int first, rounds; /* kinds in turn from FIRST on, other steps for every lane */
};

static bool run_kind(struct worker *worker, int kind) {
    const struct work *work = &works[kind];
    struct failure failure = {};
    struct run_item item = {};
    item.in = image_shape(work->in.width, work->in.height, work->in.channels, 8);
    if (run_reserve(worker->lane, &work->plan, &item, 1, UINT64_C(1) << 31, &failure) ==
        STATUS_OK) {
        memcpy(item.in.pixels, work->in.pixels, image_bytes(&work->in));
        if (run_batch(worker->lane, &work->plan, &item, 1, &failure) == STATUS_OK &&
            image_digest(&item.out) == work->digest)
            return true;
    }
    printf("lane %d: %s on %ux%u: %s\n", worker->number, kinds[kind].plan, work->in.width,
           work->in.height, failure.status ? failure.message : "differs from the reference");
    return false;
}

static void *work_on(void *argument) {
    struct worker *worker = (struct worker *)argument;
    for (int i = 0; i < worker->rounds && !worker->wrong; i++) {
        const int kind = (worker->first + i * (2 * worker->number + 1)) % KINDS;
        *(run_kind(worker, kind) ? &worker->right : &worker->wrong) += 1;
    }
    return NULL;
}

static const struct lane_options roomy = { 64 << 20, 256 << 20 };

static void open_worker(struct worker *worker, int number, int first, int rounds,
                        const struct lane_options &options = roomy) {
    struct failure failure = {};
    *worker = {};
    worker->number = number;
    worker->first = first;
    worker->rounds = rounds;
    if (device_cuda.open(0, &options, &worker->lane, &failure)) fail_msg("%s", failure.message);
}

static void start(struct worker *worker) {
    assert_int_equal(pthread_create(&worker->thread, NULL, work_on, worker), 0);
}

static void finish(struct worker *worker) {
    pthread_join(worker->thread, NULL);
    device_cuda.close(worker->lane);
    assert_int_equal(worker->wrong, 0);
    assert_int_equal(worker->right, worker->rounds);
}

static void test_mixed(void **) {
    struct worker workers[LANES];
    const int64_t began = clock_ns();
    for (int i = 0; i < LANES; i++) open_worker(&workers[i], i, i, ROUNDS);
    for (struct worker &worker : workers) start(&worker);
    for (struct worker &worker : workers) finish(&worker);
    print_message("%d lanes, %d jobs each: %.0f ms\n", (int)LANES, (int)ROUNDS,
                  ns_to_ms(clock_ns() - began));
}

/* The same, with so little memory of their own that lanes borrow for most jobs, within a bound that
 * is too small for all at once: some wait for others, large and small batches take turns. */
static void test_borrowed(void **) {
    struct worker workers[LANES];
    const size_t mib = 1 << 20;
    const struct lane_options tight = { 2 * mib, 8 * mib, NULL, 128 * mib, 512 * mib };
    for (int i = 0; i < LANES; i++) open_worker(&workers[i], i, i, 2 * KINDS, tight);
    for (struct worker &worker : workers) start(&worker);
    for (struct worker &worker : workers) finish(&worker);
}

/* All at the same work: several times as many blocks as there are multiprocessors. */
static void test_alike(void **) {
    for (int kind = 0; kind < 2; kind++) {
        struct worker workers[LANES];
        for (int i = 0; i < LANES; i++) open_worker(&workers[i], i, kind, 1);
        for (struct worker &worker : workers) start(&worker);
        for (struct worker &worker : workers) finish(&worker);
    }
}

/* ---- another kernel on the GPU */

struct held {
    uint32_t began, release; /* blocks that run; whether they may end */
};

/* A block holds its multiprocessor until it is released, or for MOST_NS. */
static __global__ void hold(volatile struct held *held, uint64_t most_ns) {
    extern __shared__ uint8_t memory[];
    uint64_t began, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
    now = began;
    memory[threadIdx.x] = (uint8_t)now;
    if (threadIdx.x == 0) atomicAdd_system((uint32_t *)&held->began, 1);
    while (!held->release && now - began < most_ns)
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
}

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

struct holder {
    struct held *held;
    cudaStream_t stream;
    int multiprocessors;
};

static void open_holder(struct holder *holder) {
    int shared;
    TRY(cudaSetDevice(0));
    TRY(cudaHostAlloc((void **)&holder->held, sizeof *holder->held, cudaHostAllocMapped));
    memset(holder->held, 0, sizeof *holder->held);
    TRY(cudaStreamCreateWithFlags(&holder->stream, cudaStreamNonBlocking));
    TRY(cudaDeviceGetAttribute(&holder->multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    TRY(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
}

static void start_holder(struct holder *holder, int blocks, uint64_t most_ns) {
    int shared;
    TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    hold<<<blocks, 32, shared, holder->stream>>>(holder->held, most_ns);
    TRY(cudaGetLastError());
}

static void close_holder(struct holder *holder) {
    TRY(cudaStreamSynchronize(holder->stream));
    TRY(cudaStreamDestroy(holder->stream));
    TRY(cudaFreeHost(holder->held));
}

/* A third of the multiprocessors are held for 50 ms more when carving is queued: it has to wait,
 * and neither it nor a second lane's may wait for ever. */
static void test_held(void **) {
    struct holder holder;
    struct worker workers[2];
    for (int i = 0; i < 2; i++) open_worker(&workers[i], i, i, 3 * KINDS);
    open_holder(&holder);
    const int blocks = holder.multiprocessors / 3;
    start_holder(&holder, blocks, UINT64_C(5000000000));
    const int64_t began = clock_ns();
    while (*(volatile uint32_t *)&holder.held->began < (uint32_t)blocks)
        if (clock_ns() - began > INT64_C(4000000000)) fail_msg("the GPU is not ours");
    for (struct worker &worker : workers) start(&worker);
    usleep(50 * 1000);
    *(volatile uint32_t *)&holder.held->release = 1;
    for (struct worker &worker : workers) finish(&worker);
    close_holder(&holder);
}

/* Multiprocessors become free one at a time, and are wanted by more short blocks too. */
static void test_crowded(void **) {
    struct holder holder;
    struct worker workers[2];
    for (int i = 0; i < 2; i++) open_worker(&workers[i], i, i, KINDS);
    open_holder(&holder);
    start_holder(&holder, 200 * holder.multiprocessors, 1000 * 1000);
    for (struct worker &worker : workers) start(&worker);
    for (struct worker &worker : workers) finish(&worker);
    close_holder(&holder);
}

static void give_up(int) {
    static const char text[] = "not done in time: blocks wait for one another\n";
    if (write(2, text, sizeof text - 1)) {
    }
    _exit(1);
}

static int prepare(void **) {
    struct pool *pool = pool_create(THREADS);
    int bad = !pool;
    for (int i = 0; i < KINDS && !bad; i++) bad = make_work(&works[i], &kinds[i], pool);
    pool_destroy(pool);
    signal(SIGALRM, give_up);
    alarm(LIMIT_S);
    return bad;
}

int main() {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to test");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed), cmocka_unit_test(test_borrowed), cmocka_unit_test(test_alike),
        cmocka_unit_test(test_held),  cmocka_unit_test(test_crowded),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}

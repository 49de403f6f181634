// SPDX-License-Identifier: Apache-2.0
/* simt.h - runs a kernel of carving on the CPU: in place of ptx.cuh and of CUDA's own functions.
 *
 * Used by:  tests/cuda/ops/carve_one_block.cpp.
 * Owns:     the stacks of a block's threads, until simt_run() returns.
 * Fails:    the process, by abort(), where an access is not aligned. Threads that wait for ever do.
 * Limits:   functions that the kernels use; BLOCK_THREADS_MAX threads; a cluster of up to two
 *           blocks.
 *
 * How it works: a block is a thread of the system, so that its shared memory is thread_local; each
 * of its threads is a context that goes on until it waits for others: for its warp in every
 * shuffle, for a barrier. Some warps go on late after a barrier of a part of the block. Threads
 * that have returned, and blocks that have, count as arrived in barriers of all.
 * Copies to shared memory arrive when they are asked for, or as late as they may (simt_late).
 */
#ifndef BURIN_TESTS_SIMT_H
#define BURIN_TESTS_SIMT_H

#undef _FORTIFY_SOURCE /* its longjmp refuses to leave a stack for another */

#define BURIN_CARVE_PTX_CUH
#define BURIN_SHARED_ADDRESS_CUH
#define __CUDACC__    1
#define __CUDA_ARCH__ 900
#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__       thread_local
#define DEVICE           static inline

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <thread>
#include <ucontext.h>
#include <vector>

#include "tests/noise.h"

using std::max;
using std::min;

enum {
    BLOCK_THREADS_MAX = 512,
    SIMT_STACK = 64 << 10,
    BARRIERS = 3,
    SHARED_BYTES = 1 << 17,
    LATE_TURNS = 300
};

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
    return { x, y, z, w };
}

struct simt_index {
    uint32_t x;
};

/* ---- threads */

/* Threads that wait for one another: TURN changes when all have arrived. */
struct simt_meeting {
    uint32_t arrived, turn;
};

struct simt_copy {
    uint8_t *to;
    const uint8_t *from;
    uint32_t bytes;
};

struct simt_thread {
    simt_index index;
    bool begun, ended;
    const simt_meeting *waits_for; /* NULL: it can go on */
    uint32_t turn;                 /* of that meeting, when the thread came */
    ucontext_t context;            /* for its beginning */
    jmp_buf place;
    std::vector<uint8_t> stack;
    std::vector<std::vector<simt_copy>> groups; /* copies that have not come */
};

struct simt_warp {
    simt_meeting meeting;
    uint32_t until; /* the turn up to which it stands still */
    uint32_t values[2][32];
    uint32_t ended; /* threads that have returned */
};

/* Both blocks of a cluster. */
struct simt_cluster {
    std::atomic<uint32_t> arrived, turn, ended;
};

struct simt_block {
    simt_thread threads[BLOCK_THREADS_MAX];
    simt_warp warps[BLOCK_THREADS_MAX / 32];
    simt_meeting barriers[BARRIERS];
    uint32_t count, ended, now, turn, noise;
    jmp_buf scheduler;
    simt_cluster *cluster;
    void (*body)(const void *);
    const void *args;
};

static thread_local simt_block *simt_here;
static thread_local simt_index blockIdx;
static bool simt_late; /* copies come when they are waited for, not before */

/* Shared memory's addresses begin at a thread_local variable's. */
alignas(128) thread_local uint8_t dynamic[SHARED_BYTES];

static inline simt_thread &simt_me() {
    return simt_here->threads[simt_here->now];
}

#define threadIdx (simt_me().index)

/* swapcontext() would ask the system for its signals each time: ten times as long. */
static inline void simt_yield() {
    simt_block *const block = simt_here;
    if (!_setjmp(block->threads[block->now].place)) _longjmp(block->scheduler, 1);
}

static inline void simt_resume(simt_block *block) {
    simt_thread &thread = block->threads[block->now];
    if (_setjmp(block->scheduler)) return;
    if (thread.begun) _longjmp(thread.place, 1);
    thread.begun = true;
    setcontext(&thread.context);
}

/* WANTED: the number of threads that do not return before; read anew while it waits. */
template <class WANTED> static inline void simt_meet(simt_meeting &meeting, const WANTED &wanted) {
    const uint32_t turn = meeting.turn;
    meeting.arrived++;
    while (meeting.turn == turn) {
        if (meeting.arrived >= wanted()) {
            meeting.arrived = 0;
            meeting.turn++;
        } else {
            simt_me().waits_for = &meeting;
            simt_me().turn = turn;
            simt_yield();
        }
    }
}

/* Whether THREAD waits for one that has not come. */
static inline bool simt_waits(const simt_thread &thread) {
    return thread.waits_for && thread.waits_for->turn == thread.turn;
}

static inline simt_warp &simt_my_warp() {
    return simt_here->warps[threadIdx.x / 32];
}

static inline void __syncwarp() {
    simt_warp &warp = simt_my_warp();
    simt_meet(warp.meeting, [&] { return 32 - warp.ended; });
}

static inline void __syncthreads() {
    simt_meet(simt_here->barriers[0], [] { return simt_here->count - simt_here->ended; });
}

/* The values of all threads of the warp. Two by turns: some may still read the last ones. */
static inline const uint32_t *simt_exchange(uint32_t value) {
    simt_warp &warp = simt_my_warp();
    uint32_t *const values = warp.values[warp.meeting.turn & 1];
    values[threadIdx.x % 32] = value;
    __syncwarp();
    return values;
}

/* ---- CUDA's functions */

static inline uint32_t __shfl_up_sync(uint32_t, uint32_t value, int by) {
    const int lane = (int)(threadIdx.x % 32);
    return simt_exchange(value)[lane >= by ? lane - by : lane];
}

static inline uint32_t __shfl_down_sync(uint32_t, uint32_t value, int by) {
    const int lane = (int)(threadIdx.x % 32);
    return simt_exchange(value)[lane + by < 32 ? lane + by : lane];
}

static inline uint32_t __shfl_sync(uint32_t, uint32_t value, int lane) {
    return simt_exchange(value)[lane % 32];
}

static inline uint32_t __reduce_min_sync(uint32_t, uint32_t value) {
    const uint32_t *const values = simt_exchange(value);
    return *std::min_element(values, values + 32);
}

static inline uint32_t __vimin3_u32(uint32_t a, uint32_t b, uint32_t c) {
    return min(a, min(b, c));
}

static inline uint32_t __viaddmin_u32(uint32_t a, uint32_t b, uint32_t c) {
    return min(a + b, c);
}

static inline uint32_t __vabsdiffu4(uint32_t a, uint32_t b) {
    uint32_t all = 0;
    for (int i = 0; i < 32; i += 8)
        all |= (uint32_t)abs((int)(a >> i & 255) - (int)(b >> i & 255)) << i;
    return all;
}

static inline int __popc(uint32_t word) {
    return __builtin_popcount(word);
}

static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t all = 0;
    for (int i = 0; i < 4; i++)
        all |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return all;
}

static inline uint32_t __dp4a(uint32_t a, uint32_t b, uint32_t sum) {
    for (int i = 0; i < 32; i += 8) sum += (a >> i & 255) * (b >> i & 255);
    return sum;
}

static inline float __uint_as_float(uint32_t word) {
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}

static inline uint32_t __float_as_uint(float number) {
    uint32_t word;
    memcpy(&word, &number, sizeof word);
    return word;
}

/* Rounded down. */
static inline float __fadd_rd(float a, float b) {
    const double exact = (double)a + b; /* of floats that are no further apart than 2^23 */
    const float sum = (float)exact;
    return (double)sum > exact ? std::nextafterf(sum, -HUGE_VALF) : sum;
}

static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t by) {
    return (uint32_t)(((uint64_t)high << 32 | low) >> (by & 31));
}

/* A GPU traps where an address is no multiple of the access. */
static inline void simt_check(const void *address, uint32_t bytes) {
    if ((uintptr_t)address % bytes == 0) return;
    fprintf(stderr, "an access of %u bytes is not aligned\n", bytes);
    abort();
}

template <class WORD> static inline WORD __ldcg(const WORD *from) {
    simt_check(from, sizeof *from);
    return *from;
}

template <class WORD> static inline void __stcg(WORD *to, WORD word) {
    simt_check(to, sizeof *to);
    *to = word;
}

/* ---- ptx.cuh's */

static inline uint32_t thread_index() {
    return threadIdx.x;
}

static inline uint32_t block_index() {
    return blockIdx.x;
}

/* Relative to DYNAMIC; other shared memory lies anywhere else. */
static inline uint32_t shared_address(const void *memory) {
    return (uint32_t)((const uint8_t *)memory - dynamic);
}

static inline uint8_t *simt_shared(uint32_t address) {
    return dynamic + (int32_t)address;
}

static inline uint32_t shift_left(uint32_t word, uint32_t by) {
    return by < 32 ? word << by : 0;
}

template <int COUNT> static inline void load_shared_words(uint32_t (&words)[COUNT], uint32_t from) {
    simt_check(simt_shared(from), COUNT == 4 ? 16 : 4);
    memcpy(words, simt_shared(from), sizeof words);
}

static inline uint32_t load_shared32(uint32_t from) {
    uint32_t word;
    load_shared_words<1>((uint32_t(&)[1])word, from);
    return word;
}

/* It errs by as much as it may, for some numbers upwards, for others downwards. */
static inline float sqrt_near(float number) {
    uint32_t noise = __float_as_uint(number);
    const double root = sqrt((double)number), most = ldexp(root, -23);
    const float near = (float)(noise_next(&noise) >> 31 ? root + most : root - most);
    return fabs((double)near - root) > most ? std::nextafterf(near, (float)root) : near;
}

static inline uint32_t add_where(uint32_t sum, uint32_t by, uint32_t bits, uint32_t mask) {
    return bits & mask ? sum + by : sum;
}

static inline uint32_t load_shared8(uint32_t from) {
    return *(const uint8_t *)simt_shared(from);
}

static inline int load_shared16(uint32_t from) {
    uint16_t half;
    memcpy(&half, simt_shared(from), 2);
    return half;
}

/* A warp in four goes on late, when the others may be at the next barrier. */
static inline void simt_go_on() {
    simt_block *const block = simt_here;
    simt_warp &warp = simt_my_warp();
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        noise_next(&block->noise);
        warp.until = block->noise >> 30 ? 0 : block->turn + LATE_TURNS;
    }
    __syncwarp();
    while (block->turn < warp.until) simt_yield();
}

template <int NUMBER> static inline void barrier_of(uint32_t threads) {
    simt_meet(simt_here->barriers[NUMBER], [=] { return threads; });
    simt_go_on();
}

static inline void simt_copy_to(uint32_t to, const void *from, uint32_t bytes) {
    simt_thread &me = simt_me();
    if (me.groups.empty()) me.groups.emplace_back();
    simt_check(from, bytes);
    simt_check(simt_shared(to), bytes);
    if (simt_late)
        me.groups.back().push_back({ simt_shared(to), (const uint8_t *)from, bytes });
    else
        memcpy(simt_shared(to), from, bytes);
}

static inline void copy_async16(uint32_t to, const void *from) {
    simt_copy_to(to, from, 16);
}

static inline void copy_async4(uint32_t to, const void *from) {
    simt_copy_to(to, from, 4);
}

static inline void copy_async_commit() {
    std::vector<std::vector<simt_copy>> &groups = simt_me().groups;
    if (groups.empty()) groups.emplace_back();
    groups.emplace_back();
}

template <int LEFT> static inline void copy_async_wait() {
    std::vector<std::vector<simt_copy>> &groups = simt_me().groups;
    while (groups.size() > LEFT + 1) { /* the last one is not committed */
        for (const simt_copy &copy : groups.front()) memcpy(copy.to, copy.from, copy.bytes);
        groups.erase(groups.begin());
    }
}

template <int WORDS> static inline void copy_async(uint32_t to, const uint8_t *from) {
    if (WORDS == 4)
        copy_async16(to, from);
    else
        for (int i = 0; i < WORDS; i++) copy_async4(to + 4 * i, from + 4 * i);
    copy_async_commit();
}

/* The block's first thread goes for all of them. A block that has ended counts as arrived. */
static inline void cluster_barrier() {
    simt_cluster *const cluster = simt_here->cluster;
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t turn = cluster->turn;
        bool last = ++cluster->arrived == 2;
        while (!last && cluster->turn == turn) {
            last = cluster->ended > 0;
            sched_yield();
        }
        if (last) {
            cluster->arrived = 0;
            cluster->turn++;
        }
    }
    __syncthreads();
}

/* ---- a launch */

static inline void simt_begin() {
    simt_block *const block = simt_here;
    block->body(block->args);
    block->threads[block->now].ended = true;
    block->ended++;
    block->warps[block->now / 32].ended++;
    for (simt_thread &thread : block->threads) thread.waits_for = NULL; /* fewer are to come */
    simt_yield();
}

static inline void simt_run_block(simt_block *block, uint32_t number) {
    simt_here = block;
    blockIdx.x = number;
    memset(dynamic, 0xa5, sizeof dynamic);
    for (uint32_t i = 0; i < block->count; i++) {
        simt_thread &thread = block->threads[i];
        thread.index.x = i;
        thread.stack.resize(SIMT_STACK);
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.data();
        thread.context.uc_stack.ss_size = thread.stack.size();
        makecontext(&thread.context, simt_begin, 0);
    }
    block->noise = number + 1;
    for (; block->ended < block->count; block->turn++)
        for (block->now = 0; block->now < block->count; block->now++)
            if (!block->threads[block->now].ended && !simt_waits(block->threads[block->now]))
                simt_resume(block);
    block->cluster->ended++;
}

/* BLOCKS of THREADS, CLUSTER of them at a time: BODY(ARGS) is the kernel. */
static inline void simt_run(uint32_t blocks, uint32_t cluster, uint32_t threads,
                            void (*body)(const void *), const void *args) {
    for (uint32_t first = 0; first < blocks; first += cluster) {
        simt_cluster both = {};
        std::vector<std::thread> running;
        for (uint32_t i = 0; i < cluster; i++)
            running.emplace_back([=, &both] {
                simt_block *const block = new simt_block();
                block->count = threads;
                block->cluster = &both;
                block->body = body;
                block->args = args;
                simt_run_block(block, first + i);
                delete block;
            });
        for (std::thread &thread : running) thread.join();
    }
}

#endif

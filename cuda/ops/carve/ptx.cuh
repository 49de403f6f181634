// SPDX-License-Identifier: Apache-2.0
/* ptx.cuh - the PTX instructions that CUDA C has no function for, each in a function of its name.
 *
 * Used by:  every kernel of carving. No other file of carving has inline assembly.
 * Threads:  each of one thread, except the barriers and the copies, which say so.
 * Limits:   mbarrier_*, *_cluster*, cluster_* and the copy engine's functions need compute
 *           capability 9.0.
 * Source:   PTX ISA, chapters Memory Consistency Model and Data Movement.
 *
 * How it works: each is volatile, and clobbers memory where it orders anything, so that the
 * compiler moves no access across it; relaxed ones only ensure that a word is neither torn nor
 * cached.
 */
#ifndef BURIN_CARVE_PTX_CUH
#define BURIN_CARVE_PTX_CUH

#include "cuda/shared_address.cuh"

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define DEVICE static __device__ __forceinline__

/* ---- thread and time */

/* threadIdx.x, read each time: values computed from it then need no register, or worse, memory,
 * from one use to the next. */
DEVICE uint32_t thread_index() {
    uint32_t thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

/* The same of blockIdx.x. */
DEVICE uint32_t block_index() {
    uint32_t block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    return block;
}

/* Nanoseconds, the same for all multiprocessors. */
DEVICE uint64_t global_timer() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* ---- arithmetic */

/* 0 where BY is 32 or more; in C that is undefined. */
DEVICE uint32_t shift_left(uint32_t word, uint32_t by) {
    uint32_t shifted;
    asm("shl.b32 %0, %1, %2;" : "=r"(shifted) : "r"(word), "r"(by));
    return shifted;
}

/* SUM, and BY more where the bits have one of MASK: a test and an addition, where the compiler
 * would add a shift. */
DEVICE uint32_t add_where(uint32_t sum, uint32_t by, uint32_t bits, uint32_t mask) {
    asm("{ .reg .pred p; .reg .b32 t; and.b32 t, %2, %3; setp.ne.u32 p, t, 0; @p add.u32 %0, %0, "
        "%1; }"
        : "+r"(sum)
        : "r"(by), "r"(bits), "r"(mask));
    return sum;
}

/* Byte SELECT / 16^i % 16 of A and, from 4 on, of B, for every byte i. All are below 8: CUDA C's
 * function takes an instruction to see to that. */
DEVICE uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t select) {
    uint32_t picked;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(a), "r"(b), "r"(select));
    return picked;
}

/* The root of NUMBER, 0 or not below 2^-126. It errs by 2^-23 of the root at most. */
DEVICE float sqrt_near(float number) {
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(number));
    return root;
}

/* ---- global memory, seen by the whole GPU: relaxed accesses are whole and unordered */

#define PTX_LOAD(NAME, WORD, INSTRUCTION, REGISTER)                                                \
    DEVICE WORD NAME(const WORD *from) {                                                           \
        WORD word;                                                                                 \
        asm volatile(INSTRUCTION " %0, [%1];" : "=" REGISTER(word) : "l"(from) : "memory");        \
        return word;                                                                               \
    }
PTX_LOAD(load_relaxed, uint32_t, "ld.relaxed.gpu.global.u32", "r")
PTX_LOAD(load_acquire, uint32_t, "ld.acquire.gpu.global.u32", "r")
PTX_LOAD(load_acquire, uint64_t, "ld.acquire.gpu.global.u64", "l")

/* Each word arrives whole, the four in no order. 16-byte aligned. */
DEVICE uint4 load_relaxed4(const uint32_t *from) {
    uint4 words;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(from)
                 : "memory");
    return words;
}

/* Two words of 64 bits. 16-byte aligned. */
DEVICE ulonglong2 load_relaxed_pair(const uint64_t *from) {
    ulonglong2 pair;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(pair.x), "=l"(pair.y)
                 : "l"(from)
                 : "memory");
    return pair;
}

DEVICE void store_relaxed(uint32_t *to, uint32_t word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
}

DEVICE void store_relaxed2(uint32_t *to, uint32_t a, uint32_t b) {
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(a), "r"(b)
                 : "memory");
}

DEVICE void store_relaxed4(uint32_t *to, uint4 words) {
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x),
                 "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
}

DEVICE void store_relaxed_pair(uint64_t *to, uint64_t first, uint64_t second) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second)
                 : "memory");
}

DEVICE void store_release(uint32_t *to, uint32_t word) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
}

/* After a fence: a thread that acquires the raised counter sees all that was written before. */
DEVICE void add_release(uint64_t *counter, uint64_t by) {
    __threadfence();
    atomicAdd((unsigned long long *)counter, (unsigned long long)by);
}

/* ---- shared memory, by its 32-bit address */

DEVICE void mbarrier_init(uint32_t barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

/* Makes the initialised barriers visible to the cluster, after its next barrier. */
DEVICE void mbarrier_init_fence() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void mbarrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

DEVICE void mbarrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

#define PTX_MBARRIER_WAIT(WAIT)                                                                    \
    DEVICE bool mbarrier_##WAIT(uint32_t barrier, uint32_t parity) {                               \
        uint32_t passed;                                                                           \
        asm volatile("{ .reg .pred p; mbarrier." #WAIT ".parity.shared::cta.b64 p, [%1], %2; "     \
                     "selp.u32 %0, 1, 0, p; }"                                                     \
                     : "=r"(passed)                                                                \
                     : "r"(barrier), "r"(parity)                                                   \
                     : "memory");                                                                  \
        return passed;                                                                             \
    }
PTX_MBARRIER_WAIT(try_wait)  /* may wait a while before it returns false */
PTX_MBARRIER_WAIT(test_wait) /* never waits */

template <int COUNT> DEVICE void load_shared_words(uint32_t (&words)[COUNT], uint32_t from) {
    if constexpr (COUNT == 4)
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(from)
                     : "memory");
    else
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(words[i]) : "r"(from + 4 * i) : "memory");
}

DEVICE uint32_t load_shared32(uint32_t from) {
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
    return word;
}

DEVICE uint32_t load_shared8(uint32_t from) {
    uint32_t byte;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(from) : "memory");
    return byte;
}

DEVICE int load_shared16(uint32_t from) {
    uint16_t half;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(from) : "memory");
    return half;
}

/* For THREADS of a block, whole warps. A number that is no constant would reserve all barriers. */
template <int NUMBER> DEVICE void barrier_of(uint32_t threads) {
    asm volatile("bar.sync %0, %1;" ::"n"(NUMBER), "r"(threads) : "memory");
}

/* ---- copies to shared memory beside the thread's work, from compute capability 8.0 on. A thread
 * sees its own copies once it has waited for them; other threads, after a barrier. */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/* From the L2 cache: what other multiprocessors wrote is there. 16-byte aligned. */
DEVICE void copy_async16(uint32_t to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

/* It may be in the L1 cache: for what this multiprocessor writes. */
DEVICE void copy_async4(uint32_t to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

DEVICE void copy_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all of this thread's groups but the last LEFT have come. */
template <int LEFT> DEVICE void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* WORDS words, which end a group: 4, aligned to 16 bytes, or 3 by copy_async4(). */
template <int WORDS> DEVICE void copy_async(uint32_t to, const uint8_t *from) {
    if constexpr (WORDS == 4)
        copy_async16(to, from);
    else
#pragma unroll
        for (int i = 0; i < WORDS; i++) copy_async4(to + 4 * i, from + 4 * i);
    copy_async_commit();
}
#endif

/* ---- the cluster's shared memory */

/* ADDRESS in the shared memory of the cluster's block RANK. */
DEVICE uint32_t cluster_address(uint32_t address, uint32_t rank) {
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

/* For all threads of all blocks of the cluster, whole warps. */
DEVICE void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* Words that another block of the cluster writes carry their own tag, so that a reader who meets an
 * unfinished write reads again. Racecheck reports that as a fault: a build with CARVE_RACECHECK,
 * for that tool, uses atomics. */
#ifdef CARVE_RACECHECK
DEVICE void store_cluster(uint32_t there, uint32_t word) {
    uint32_t before;
    asm volatile("atom.relaxed.cluster.shared::cluster.exch.b32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"(there), "r"(word)
                 : "memory");
}

DEVICE uint32_t load_shared(uint32_t address) {
    uint32_t word;
    asm volatile("atom.relaxed.cluster.shared::cta.or.b32 %0, [%1], 0;"
                 : "=r"(word)
                 : "r"(address)
                 : "memory");
    return word;
}

DEVICE void store_cluster2(uint32_t there, uint32_t a, uint32_t b) {
    store_cluster(there, a), store_cluster(there + 4, b);
}

DEVICE void store_cluster4(uint32_t there, uint4 words) {
    store_cluster2(there, words.x, words.y), store_cluster2(there + 8, words.z, words.w);
}

DEVICE uint2 load_shared2(uint32_t address) {
    return make_uint2(load_shared(address), load_shared(address + 4));
}
#else
DEVICE void store_cluster2(uint32_t there, uint32_t a, uint32_t b) {
    asm volatile("st.relaxed.cluster.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(there), "r"(a),
                 "r"(b)
                 : "memory");
}

DEVICE void store_cluster4(uint32_t there, uint4 words) {
    asm volatile("st.relaxed.cluster.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(there),
                 "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
}

DEVICE uint2 load_shared2(uint32_t address) {
    uint2 words;
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(words.x), "=r"(words.y)
                 : "r"(address)
                 : "memory");
    return words;
}
#endif

/* ---- the copy engine (TMA) */

/* Makes ordinary stores to global memory visible to this thread's later copies. */
DEVICE void fence_proxy_async() {
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

/* One box of PLANE at COLUMN and ROW, in elements, to shared memory; BARRIER counts its bytes. */
DEVICE void copy_box(uint32_t to, const CUtensorMap &plane, int column, int row, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&plane), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

/* Orders the threads' accesses to shared memory before later copies. */
DEVICE void fence_proxy_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* BYTES to shared memory; BARRIER counts them. BYTES and both addresses are multiples of 16. */
DEVICE void copy_words(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
                 : "memory");
}

/* BYTES from shared memory, as a group of their own. BYTES and both addresses are multiples of
 * 16. */
DEVICE void store_words(void *to, uint32_t from, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(from), "r"(bytes)
                 : "memory");
}

/* Waits until the stores of this thread's groups have been read. */
DEVICE void wait_stored_read() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

#endif

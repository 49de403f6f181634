// SPDX-License-Identifier: Apache-2.0
/* words.cuh - how the blocks of carving's kernels speak to each other through global memory, and
 * how those kernels are launched.
 *
 * Tagged words: 64 bits, the upper half the number of the step that wrote them. One store carries
 * both, so that a reader who finds the tag has the value too, and nobody needs a fence or a flag.
 * Kernels take one struct by value.
 */
#ifndef BURIN_CARVE_WORDS_CUH
#define BURIN_CARVE_WORDS_CUH

#include "cuda/check.cuh"

#include <stdint.h>

static __device__ __forceinline__ uint64_t tagged(uint32_t value, uint32_t tag) {
    return (uint64_t)tag << 32 | value;
}

/* Of the two, each arrives whole, in no order. 16-byte aligned. */
static __device__ __forceinline__ void put_pair(uint64_t *to, uint64_t first, uint64_t second) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second)
                 : "memory");
}

static __device__ __forceinline__ ulonglong2 get_pair(const uint64_t *from) {
    ulonglong2 pair;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(pair.x), "=l"(pair.y)
                 : "l"(from)
                 : "memory");
    return pair;
}

static __device__ __forceinline__ void put_word(uint32_t *to, uint32_t word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
}

static __device__ __forceinline__ uint32_t get_word(const uint32_t *from) {
    uint32_t word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return word;
}

/* What was written before is seen by whoever sees COUNTER raised. */
static __device__ __forceinline__ void raise(uint64_t *counter, uint64_t by) {
    __threadfence();
    atomicAdd((unsigned long long *)counter, (unsigned long long)by);
}

static __device__ __forceinline__ uint64_t look(const uint64_t *counter) {
    uint64_t value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(counter) : "memory");
    return value;
}

/* Gives way for about NS nanoseconds while waiting. */
static __device__ __forceinline__ void nap(unsigned ns) {
    __nanosleep(ns);
}

template <class JOB>
static enum status launch(void (*kernel)(JOB), dim3 blocks, dim3 threads, cudaStream_t stream,
                          const JOB &job, struct failure *failure) {
    kernel<<<blocks, threads, 0, stream>>>(job);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* All blocks at once, so that they may wait for one another. */
template <class JOB>
static enum status launch_together(void (*kernel)(JOB), unsigned blocks, unsigned threads,
                                   cudaStream_t stream, JOB &job, struct failure *failure) {
    void *arguments[] = { &job };
    CUDA_TRY(failure, cudaLaunchCooperativeKernel((const void *)kernel, blocks, threads, arguments,
                                                  0, stream));
    return STATUS_OK;
}

#endif

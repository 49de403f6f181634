// SPDX-License-Identifier: Apache-2.0
/* row_copy.cuh - copies the bytes of a row from memory to shared memory, and from there to a row.
 *
 * Used by:  retarget.cuh.
 * Threads:  all of a block call row_begin() once, then each other function together, with the same
 *           arguments.
 * Limits:   rows of any alignment and length, even 0.
 * Source:   PTX ISA, Asynchronous copies and cp.async.bulk; CUDA Programming Guide, on the Tensor
 *           Memory Accelerator.
 *
 * How it works: a row is 16-byte words and, at both ends, a part of one, which goes a byte a
 * thread. From compute capability 9.0 on the copy engine moves the words, for one thread. Before,
 * each thread moves some; from 8.0 on without waiting for its loads. */
#ifndef BURIN_CARVE_ROW_COPY_CUH
#define BURIN_CARVE_ROW_COPY_CUH

#include "cuda/ops/carve/ptx.cuh"

#include <cuda_pipeline_primitives.h>

enum { ROW_WORD = 16 /* bytes */ };

/* The parts of BYTES from AT on: up to the first word, whole words, the rest. */
struct row_span {
    uint32_t head, words, tail;
};

DEVICE struct row_span row_span_of(const uint8_t *at, uint32_t bytes) {
    struct row_span span;
    span.head = min((uint32_t)(0 - (size_t)at) % ROW_WORD, bytes);
    span.words = (bytes - span.head) / ROW_WORD;
    span.tail = (bytes - span.head) % ROW_WORD;
    return span;
}

DEVICE void row_copy_ends(uint8_t *to, const uint8_t *from, const struct row_span &span) {
    const uint32_t tail = span.head + span.words * ROW_WORD + threadIdx.x;
    if (threadIdx.x < span.head) to[threadIdx.x] = from[threadIdx.x];
    if (threadIdx.x < span.tail) to[tail] = from[tail];
}

/* ---- whole words */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
/* The fence makes the barrier visible to the copy engine. A fetch is a phase of the barrier. */
DEVICE void row_begin(uint32_t barrier) {
    if (threadIdx.x != 0) return;
    mbarrier_init(barrier, 1);
    fence_proxy_async_shared();
}

DEVICE void row_fetch_words(uint8_t *to, const uint8_t *from, uint32_t words, uint32_t barrier) {
    if (threadIdx.x != 0) return;
    mbarrier_expect(barrier, words * ROW_WORD); /* a phase without words ends at once */
    if (words) copy_words(shared_address(to), from, words * ROW_WORD, barrier);
}

DEVICE void row_wait(uint32_t barrier, uint32_t fetch) {
    while (!mbarrier_try_wait(barrier, fetch % 2)) continue;
}

/* Orders threads' and the engine's accesses to shared memory. */
DEVICE void row_fence() {
    fence_proxy_async_shared();
}

DEVICE void row_store_words(uint8_t *to, const uint8_t *from, uint32_t words) {
    if (threadIdx.x == 0 && words) store_words(to, shared_address(from), words * ROW_WORD);
}

/* Waits until the engine has read all words: the memory may be reused, or the block may end. */
DEVICE void row_stored() {
    wait_stored_read();
}
#else
DEVICE void row_begin(uint32_t) {}

DEVICE void row_fetch_words(uint8_t *to, const uint8_t *from, uint32_t words, uint32_t) {
    for (uint32_t w = threadIdx.x; w < words; w += blockDim.x)
        __pipeline_memcpy_async(to + w * ROW_WORD, from + w * ROW_WORD, ROW_WORD);
    __pipeline_commit();
}

DEVICE void row_wait(uint32_t, uint32_t) {
    __pipeline_wait_prior(0);
}

DEVICE void row_fence() {}

DEVICE void row_store_words(uint8_t *to, const uint8_t *from, uint32_t words) {
#pragma unroll 1
    for (uint32_t w = threadIdx.x; w < words; w += blockDim.x)
        ((uint4 *)to)[w] = ((const uint4 *)from)[w];
}

DEVICE void row_stored() {}
#endif

/* The words begin LATE bytes, 1 to 3, before a multiple of 32 bits in FROM. */
DEVICE void row_store_late(uint8_t *to, const uint8_t *from, uint32_t words, uint32_t late) {
#pragma unroll 1
    for (uint32_t w = threadIdx.x; w < words; w += blockDim.x) {
        const uint8_t *const at = from + w * ROW_WORD + late;
        const uint32_t before = ((const uint32_t *)at)[-1];
        uint4 word = *(const uint4 *)at;
        word.w = __funnelshift_l(word.z, word.w, 8 * late);
        word.z = __funnelshift_l(word.y, word.z, 8 * late);
        word.y = __funnelshift_l(word.x, word.y, 8 * late);
        word.x = __funnelshift_l(before, word.x, 8 * late);
        ((uint4 *)to)[w] = word;
    }
}

/* ---- rows */

/* Copies to shared memory, to the same address modulo 16. BARRIER, 64 bits of shared memory, went
 * through row_begin(). Returns while words are under way: row_fetched() waits for them. */
DEVICE void row_fetch(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t barrier) {
    const struct row_span span = row_span_of(from, bytes);
    row_fetch_words(to + span.head, from + span.head, span.words, barrier);
    row_copy_ends(to, from, span);
}

/* FETCH: the number of fetches before this one. The block's barrier lies between row_begin() and
 * the first row_fetched(); each row_fetched() ends with one. */
DEVICE void row_fetched(uint32_t barrier, uint32_t fetch) {
    row_wait(barrier, fetch);
    __syncthreads();
}

/* The block's barrier: afterwards threads' stores to shared memory may be written to a row, and
 * what they have read may be overwritten by a fetch. */
DEVICE void row_made() {
    row_fence();
    __syncthreads();
}

/* Copies from shared memory, after row_made(); that memory is free again after the block's next
 * barrier. FROM modulo 16 equals TO's, rounded down to 32 bits; up to 3 bytes past the end are
 * read. */
DEVICE void row_write(uint8_t *to, const uint8_t *from, uint32_t bytes) {
    const struct row_span span = row_span_of(to, bytes);
    const uint32_t late = (uint32_t)(size_t)to % 4;
    if (late)
        row_store_late(to + span.head, from + span.head, span.words, late);
    else
        row_store_words(to + span.head, from + span.head, span.words);
    row_copy_ends(to, from, span);
    row_stored();
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* How it works. The part of the stack that work usually uses is overwritten, which is cheaper than
 * fresh pages for the next work. All pages below it go back to the system and read as zero when
 * they are touched again. */
#include "pipeline/thread_remains.h"

#include "pipeline/srgb_table.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, USUAL_BYTES = 256 << 10 };

static _Thread_local char *stack_end; /* the lowest address of this thread's stack */

static void find_stack(void) {
    pthread_attr_t facts;
    void *lowest;
    size_t bytes;
    if (stack_end || pthread_getattr_np(pthread_self(), &facts) != 0) return;
    if (pthread_attr_getstack(&facts, &lowest, &bytes) == 0) stack_end = lowest;
    pthread_attr_destroy(&facts);
}

/* Overwrites the stack below the caller's frame, one page more than is kept. */
__attribute__((noinline)) static void write_over(void) {
    char below[USUAL_BYTES + PAGE];
    explicit_bzero(below, sizeof below);
}

/* Clears the registers that a called function may use, as far as the program itself is compiled for
 * them. */
#if __has_attribute(zero_call_used_regs)
#define CLEAR_REGISTERS __attribute__((noinline, zero_call_used_regs("all")))
#else
#define CLEAR_REGISTERS __attribute__((noinline))
#endif

/* Clears the upper halves of vector registers and those that only AVX-512 has: an operator's code
 * is compiled for this very processor. */
#ifdef __x86_64__
__attribute__((target("xsave"))) static void clear_vectors(void) {
    enum { X87 = 1, SSE = 2, AVX = 4, AVX512 = 7 << 5, TILES = 3 << 17 };
    static struct {
        uint8_t before[24];
        uint32_t mxcsr;
        uint8_t behind[804]; /* no bit of its header is set: each state becomes the initial one */
    } initial __attribute__((aligned(64))) = { .mxcsr = 0x1f80 };
    if (__builtin_cpu_supports("avx"))
        __builtin_ia32_xrstor64(&initial, X87 | SSE | AVX | AVX512 | TILES);
}
#else
static void clear_vectors(void) {}
#endif

CLEAR_REGISTERS void thread_remains_clear(void) {
    srgb_table_forget();
    find_stack();
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    char *edge = (char *)(here / PAGE * PAGE - USUAL_BYTES);
    write_over();
    if (stack_end && stack_end < edge)
        madvise(stack_end, (size_t)(edge - stack_end), MADV_DONTNEED);
    clear_vectors();
}

// SPDX-License-Identifier: Apache-2.0
/* Stacks and registers of threads, looked at behind work that filled them. */
#include "pipeline/thread_remains.h"

#include "pipeline/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { DEEP = 1000000, THREADS = 4 };
static const uint32_t mark = 0x5aa5c33c;

/* Nothing clears the frame of the function that clears; a sanitizer makes it larger. In words. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { OWN_FRAME = 2048 };
#define LOOKS __attribute__((noinline, no_sanitize("address", "thread")))
#else
enum { OWN_FRAME = 64 };
#define LOOKS __attribute__((noinline))
#endif

LOOKS static void fill_stack(void) {
    volatile uint32_t room[DEEP / sizeof(uint32_t)];
    for (size_t i = 0; i < sizeof room / sizeof *room; i++) room[i] = mark;
}

/* How often the mark stands in the memory that fill_stack() had. */
LOOKS static int count_marks(void) {
    const volatile uint32_t *frame = __builtin_frame_address(0);
    int found = 0;
    for (size_t i = OWN_FRAME; i < DEEP / sizeof mark; i++) found += frame[-(long)i] == mark;
    return found;
}

static void *clear_and_look(void *argument) {
    int *found = argument;
    fill_stack();
    found[0] = count_marks();
    thread_remains_clear();
    found[1] = count_marks();
    return NULL;
}

static void a_stack_is_empty(void **state) {
    (void)state;
    int found[2] = { 0, -1 };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, clear_and_look, found), 0);
    pthread_join(thread, NULL);
    assert_in_range(found[0], DEEP / sizeof mark / 2, DEEP);
    assert_int_equal(found[1], 0);
}

/* ---- a pool's helpers */

struct meeting {
    pthread_barrier_t all;
    pthread_t caller;
    bool fills;
    int found[THREADS]; /* by index; the caller's own stays 0 */
};

/* Each thread takes one index, for none goes on before all have come. */
static void meet(void *argument, int index) {
    struct meeting *meeting = argument;
    const bool helps = !pthread_equal(pthread_self(), meeting->caller);
    if (helps && meeting->fills) fill_stack();
    if (helps && !meeting->fills) meeting->found[index] = count_marks();
    pthread_barrier_wait(&meeting->all);
}

static int marks_left(bool leave_nothing) {
    struct meeting meeting = { .caller = pthread_self(), .fills = true };
    struct pool *pool = pool_create(THREADS);
    int found = 0;
    assert_non_null(pool);
    if (leave_nothing) pool_leave_nothing(pool);
    pthread_barrier_init(&meeting.all, NULL, THREADS);
    pool_run(pool, meet, &meeting, THREADS);
    meeting.fills = false;
    pool_run(pool, meet, &meeting, THREADS);
    for (int i = 0; i < THREADS; i++) found += meeting.found[i];
    pthread_barrier_destroy(&meeting.all);
    pool_destroy(pool);
    return found;
}

static void helpers_leave_nothing_where_asked(void **state) {
    (void)state;
    assert_in_range(marks_left(false), 1, THREADS * DEEP);
    assert_int_equal(marks_left(true), 0);
    pool_leave_nothing(NULL);
}

/* ---- registers */

#ifdef __x86_64__
struct vectors {
    uint8_t half[32]; /* the upper one of ymm9 */
    uint8_t last[64]; /* zmm29 */
};

__attribute__((target("avx512f"))) static void exchange_last(struct vectors *vectors, bool load) {
    if (load)
        __asm__ volatile("vmovdqu64 %0, %%zmm29" : : "m"(vectors->last) : "xmm29");
    else
        __asm__ volatile("vmovdqu64 %%zmm29, %0" : "=m"(vectors->last));
}

static void vector_registers_are_empty(void **state) {
    (void)state;
    struct vectors in, out = { 0 };
    const bool last = __builtin_cpu_supports("avx512f");
    if (!__builtin_cpu_supports("avx")) skip();
    memset(&in, 0x77, sizeof in);
    if (last) exchange_last(&in, true);
    __asm__ volatile("vmovdqu %0, %%ymm9" : : "m"(in.half) : "xmm9");
    thread_remains_clear();
    __asm__ volatile("vmovdqu %%ymm9, %0" : "=m"(out.half));
    if (last) exchange_last(&out, false);
    for (size_t i = 0; i < sizeof out; i++) assert_int_equal(((uint8_t *)&out)[i], 0);
}
#else
static void vector_registers_are_empty(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_is_empty),
        cmocka_unit_test(helpers_leave_nothing_where_asked),
        cmocka_unit_test(vector_registers_are_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

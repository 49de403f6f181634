// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { INDICES_MAX = 300 };

/* `runs` shows an index that runs twice; `value` shows whether its writes are visible. */
struct marks {
    int runs[INDICES_MAX];
    int value[INDICES_MAX];
};

static void mark_index(void *argument, int index) {
    struct marks *marks = argument;
    marks->runs[index]++;
    marks->value[index] = index + 1;
}

static void run_and_check(struct pool *pool, int count) {
    struct marks marks;
    memset(&marks, 0, sizeof marks);
    pool_run(pool, mark_index, &marks, count);
    for (int i = 0; i < INDICES_MAX; i++) {
        assert_int_equal(marks.runs[i], i < count);
        assert_int_equal(marks.value[i], i < count ? i + 1 : 0);
    }
}

static void every_index_once(void **state) {
    (void)state;
    static const int counts[] = { 0, 1, 2, 3, 7, 8, 64, INDICES_MAX };
    for (int threads = 0; threads <= 8; threads++) {
        struct pool *pool = threads ? pool_create(threads) : NULL;
        assert_int_equal(pool_threads(pool), threads ? threads : 1);
        for (int round = 0; round < 50; round++)
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                run_and_check(pool, counts[i]);
        pool_destroy(pool);
    }
}

static void *call_often(void *argument) {
    for (int round = 0; round < 300; round++) {
        struct marks marks;
        int count = 1 + round % 20;
        memset(&marks, 0, sizeof marks);
        pool_run(argument, mark_index, &marks, count);
        for (int i = 0; i < count; i++)
            if (marks.runs[i] != 1 || marks.value[i] != i + 1) return argument;
    }
    return NULL;
}

static void many_callers(void **state) {
    (void)state;
    struct pool *pool = pool_create(4);
    pthread_t callers[6];
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_often, pool), 0);
    for (int i = 0; i < 6; i++) {
        void *wrong;
        pthread_join(callers[i], &wrong);
        assert_null(wrong);
    }
    pool_destroy(pool);
}

struct nest {
    struct pool *pool;
    struct marks inner[8];
};

static void call_inside(void *argument, int index) {
    struct nest *nest = argument;
    pool_run(nest->pool, mark_index, &nest->inner[index], 40);
}

static void calls_nest(void **state) {
    (void)state;
    static struct nest nest;
    nest.pool = pool_create(3);
    for (int round = 0; round < 100; round++) {
        memset(nest.inner, 0, sizeof nest.inner);
        pool_run(nest.pool, call_inside, &nest, 8);
        for (int i = 0; i < 8; i++)
            for (int index = 0; index < 40; index++) assert_int_equal(nest.inner[i].runs[index], 1);
    }
    pool_destroy(nest.pool);
}

/* Two pieces that wait for one another: only threads at work at the same time get past. */
static void meet(void *argument, int index) {
    (void)index;
    pthread_barrier_wait(argument);
}

static void pieces_run_together(void **state) {
    (void)state;
    pthread_barrier_t barrier;
    struct pool *pool = pool_create(4);
    pthread_barrier_init(&barrier, NULL, 4);
    for (int round = 0; round < 100; round++) pool_run(pool, meet, &barrier, 4);
    pthread_barrier_destroy(&barrier);
    pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_once),
        cmocka_unit_test(many_callers),
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(pieces_run_together),
    };
    alarm(120); /* a pool that loses a wake-up hangs */
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}

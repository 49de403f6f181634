// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PARTS_MAX = 300 };

/* A part that runs twice is told by its count; the sum needs all that parts wrote to be seen. */
struct tally {
    int runs[PARTS_MAX];
    int value[PARTS_MAX];
};

static void count_part(void *argument, int part) {
    struct tally *tally = argument;
    tally->runs[part]++;
    tally->value[part] = part + 1;
}

static void run_and_check(struct pool *pool, int parts) {
    struct tally tally;
    memset(&tally, 0, sizeof tally);
    pool_run(pool, count_part, &tally, parts);
    for (int i = 0; i < PARTS_MAX; i++) {
        assert_int_equal(tally.runs[i], i < parts);
        assert_int_equal(tally.value[i], i < parts ? i + 1 : 0);
    }
}

static void every_part_once(void **state) {
    (void)state;
    static const int counts[] = { 0, 1, 2, 3, 7, 8, 64, PARTS_MAX };
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
        struct tally tally;
        int parts = 1 + round % 20;
        memset(&tally, 0, sizeof tally);
        pool_run(argument, count_part, &tally, parts);
        for (int i = 0; i < parts; i++)
            if (tally.runs[i] != 1 || tally.value[i] != i + 1) return argument;
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
    struct tally inner[8];
};

static void call_inside(void *argument, int part) {
    struct nest *nest = argument;
    pool_run(nest->pool, count_part, &nest->inner[part], 40);
}

static void calls_nest(void **state) {
    (void)state;
    static struct nest nest;
    nest.pool = pool_create(3);
    for (int round = 0; round < 100; round++) {
        memset(nest.inner, 0, sizeof nest.inner);
        pool_run(nest.pool, call_inside, &nest, 8);
        for (int i = 0; i < 8; i++)
            for (int part = 0; part < 40; part++) assert_int_equal(nest.inner[i].runs[part], 1);
    }
    pool_destroy(nest.pool);
}

/* Two parts that wait for one another: only threads at work at the same time get past. */
static void meet(void *argument, int part) {
    (void)part;
    pthread_barrier_wait(argument);
}

static void parts_run_together(void **state) {
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
        cmocka_unit_test(every_part_once),
        cmocka_unit_test(many_callers),
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(parts_run_together),
    };
    alarm(120); /* a pool that loses a wake-up hangs */
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}

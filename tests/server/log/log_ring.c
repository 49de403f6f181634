// SPDX-License-Identifier: Apache-2.0
/* That lines come out whole, in order and once, wherever the ring's end lies, and that a full ring
 * refuses. */
#include "server/log/log.c"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 2 * RING_LINE_MAX, THREADS = 4, LINES = 20000 };

/* Lines have every length, so that each place in the ring once begins and once ends a line. */
static void lines_of_every_length(void **state) {
    (void)state;
    struct ring ring;
    assert_true(ring_init(&ring, 1));
    char line[RING_LINE_MAX], got[RING_LINE_MAX];
    uint64_t lines = 0;
    assert_int_equal(ring.size, BYTES);
    for (size_t length = 1; length <= RING_LINE_MAX; length++) {
        memset(line, 'a' + (int)(length % 26), length);
        assert_true(ring_put(&ring, line, length));
        assert_int_equal(ring_take(&ring, got, sizeof got, &lines), length);
        assert_memory_equal(got, line, length);
    }
    assert_int_equal(lines, RING_LINE_MAX);
    assert_int_equal(ring_take(&ring, got, sizeof got, &lines), 0);
    free(ring.bytes);
}

static void full(void **state) {
    (void)state;
    struct ring ring;
    assert_true(ring_init(&ring, BYTES));
    char line[60], got[RING_LINE_MAX];
    uint64_t lines = 0;
    int put = 0;
    memset(line, 'x', sizeof line);
    while (ring_put(&ring, line, sizeof line)) put++;
    assert_int_equal(put, BYTES / 64);
    assert_int_equal(ring_head(&ring) - ring_tail(&ring), BYTES);
    /* Whole lines: 60 bytes and 4 for the length of the next do not fit a second time. */
    assert_int_equal(ring_take(&ring, got, 119, &lines), 60);
    assert_true(ring_put(&ring, line, 59));
    assert_false(ring_put(&ring, line, 1));
    assert_int_equal(ring_take(&ring, got, sizeof got, &lines), sizeof got / 60 * 60);
    while (ring_take(&ring, got, sizeof got, &lines)) continue;
    assert_int_equal(lines, put + 1);
    assert_false(ring_put(&ring, got, RING_LINE_MAX + 1));
    free(ring.bytes);
}

struct put {
    struct ring *ring;
    int number;
    int refused;
    pthread_t thread;
};

static void *put_many(void *argument) {
    struct put *put = argument;
    for (int i = 0; i < LINES; i++) {
        char line[64];
        const int length = snprintf(line, sizeof line, "%d %d %.*s\n", put->number, i, i % 40,
                                    "........................................");
        put->refused += !ring_put(put->ring, line, (size_t)length);
    }
    return NULL;
}

/* Each line that was not refused once, whole, and behind those that its thread put in before. */
static void many_threads(void **state) {
    (void)state;
    struct ring ring;
    assert_true(ring_init(&ring, BYTES));
    struct put puts[THREADS];
    int last[THREADS], count = 0, refused = 0, running = THREADS;
    char text[RING_LINE_MAX + 1];
    uint64_t lines = 0;
    for (int i = 0; i < THREADS; i++) {
        puts[i] = (struct put){ .ring = &ring, .number = i };
        last[i] = -1;
        assert_int_equal(pthread_create(&puts[i].thread, NULL, put_many, &puts[i]), 0);
    }
    for (;;) {
        const size_t length = ring_take(&ring, text, RING_LINE_MAX, &lines);
        if (!length && running && pthread_tryjoin_np(puts[running - 1].thread, NULL) == 0)
            refused += puts[--running].refused;
        else if (!length && !running)
            break;
        text[length] = 0;
        for (char *at = text, *end; *at; at = end + 1, count++) {
            int number, i, dots = 0;
            end = strchr(at, '\n');
            assert_non_null(end);
            assert_int_equal(sscanf(at, "%d %d%n", &number, &i, &dots), 2);
            assert_int_equal(end - (at + dots + 1), i % 40);
            assert_true(number >= 0 && number < THREADS && i > last[number]);
            last[number] = i;
        }
    }
    assert_int_equal(count + refused, THREADS * LINES);
    assert_int_equal(lines, count);
    free(ring.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_every_length),
        cmocka_unit_test(full),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

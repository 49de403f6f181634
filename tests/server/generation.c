// SPDX-License-Identifier: Apache-2.0
/* Generations are replaced while threads hold them: each thread finds the current one, complete,
 * and the last holder is its only user.
 *
 * covers: server/current.h */
#include "server/generation.h"

#include "pipeline/skeletons/reader.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void add_file(struct generation *generation, const char *path, const char *name) {
    char text[200];
    struct diagnostics diagnostics;
    const int length = snprintf(
        text, sizeof text, "#R2S_FUNC int\nstatic int %s(int a, int b) { return a + b; }\n", name);
    struct user_file *file = reader_read(path, text, (size_t)length, 0, &diagnostics);
    assert_non_null(file);
    assert_true(generation_add(generation, file, path, text, (size_t)length));
}

static void texts_are_found_again(void **state) {
    (void)state;
    struct generation *generation = generation_create(3);
    struct generation_text text;
    assert_false(generation_find_text(generation, "a.c", &text));
    add_file(generation, "folder/a.c", "aaa_one");
    add_file(generation, "folder/b.c", "aaa_two");
    assert_true(generation_close(generation, NULL));
    assert_int_equal(generation->ops.added_count, 2);
    assert_non_null(op_set_find(&generation->ops, "aaa_two"));
    assert_true(generation_find_text(generation, "folder/b.c", &text));
    assert_non_null(strstr(text.text, "aaa_two"));
    assert_int_equal(text.length, strlen(text.text));
    assert_false(generation_find_text(generation, "folder/c.c", &text));
    /* The files that a worker reads, in their order. */
    char *copy = malloc(generation->texts_length);
    assert_int_equal(pread(generation->texts_fd, copy, generation->texts_length, 0),
                     generation->texts_length);
    assert_memory_equal(copy, generation->texts, generation->texts_length);
    const char *at = copy, *end = copy + generation->texts_length;
    assert_true(generation_next_text(&at, end, &text));
    assert_string_equal(text.path, "folder/a.c");
    assert_true(generation_next_text(&at, end, &text));
    assert_string_equal(text.path, "folder/b.c");
    assert_false(generation_next_text(&at, end, &text));
    free(copy);
    generation_release(generation);
}

static void without_users_operators_there_is_nothing_to_pass_on(void **state) {
    (void)state;
    struct generation *generation = generation_create(1);
    assert_true(generation_close(generation, NULL));
    assert_int_equal(generation->texts_fd, -1);
    assert_int_equal(generation->ops.added_count, 0);
    generation_release(generation);
    generation_release(NULL);
}

/* GET /ops; the caller frees it. Its tag changes with its text. */
static json_t *list_of(struct generation *generation, char etag[24]) {
    json_t *list = json_loadb(generation->list.text, generation->list.length, 0, NULL);
    assert_non_null(list);
    strcpy(etag, generation->list.etag);
    return list;
}

static void problems_of_a_later_reading_are_listed(void **state) {
    (void)state;
    struct generation *generation = generation_create(1);
    char tags[3][24];
    add_file(generation, "folder/a.c", "aaa_one");
    assert_true(generation_close(generation, NULL));
    json_t *list = list_of(generation, tags[0]);
    assert_null(json_object_get(list, "files"));
    assert_null(json_object_get(list, "problems"));
    json_decref(list);
    for (int i = 1; i < 3; i++) {
        json_t *problems = i == 1 ? json_array() : json_pack("[s]", "a.c:4: \"}");
        json_t *files = json_pack("[{s:s, s:[s]}]", "file", "a.c", "operators", "aaa_one");
        assert_true(generation_set_problems(generation, problems));
        list = list_of(generation, tags[i]);
        assert_true(json_equal(json_object_get(list, "problems"), problems));
        assert_true(json_equal(json_object_get(list, "files"), files));
        assert_true(json_array_size(json_object_get(list, "operators")) > 1);
        assert_string_not_equal(tags[i], tags[i - 1]);
        json_decref(list);
        json_decref(files);
        json_decref(problems);
    }
    generation_release(generation);
}

static void who_is_left_is_alone(void **state) {
    (void)state;
    struct current current;
    struct generation *first = generation_create(1), *second = generation_create(2);
    current_init(&current, NULL);
    assert_null(current_hold(&current));
    generation_replace(&current, first);
    generation_hold(first); /* as a bank of workers does */
    assert_true(generation_in_force(first));
    assert_false(generation_in_force(second));
    struct generation *request = current_hold(&current);
    assert_ptr_equal(request, first);
    generation_replace(&current, second);
    assert_false(generation_in_force(first));
    assert_true(generation_in_force(second));
    assert_false(generation_is_left(first)); /* the request holds it */
    generation_release(request);
    assert_true(generation_is_left(first));
    generation_release(first);
    generation_release(current_replace(&current, NULL));
}

/* ---- many at once */

enum { THREADS = 4, GENERATIONS = 100 };

struct crowd {
    struct current current;
    bool stop; /* atomic */
};

static void *hold_and_release(void *argument) {
    struct crowd *crowd = argument;
    uint32_t last = 0;
    while (!__atomic_load_n(&crowd->stop, __ATOMIC_RELAXED)) {
        struct generation *generation = current_hold(&crowd->current);
        const struct op *op = op_set_find(&generation->ops, "aaa_counted");
        if (generation->number < last || !op || strcmp(op->name, "aaa_counted") != 0) abort();
        pthread_mutex_lock(&generation->list_lock);
        const bool whole = strlen(generation->list.text) == generation->list.length;
        pthread_mutex_unlock(&generation->list_lock);
        if (!whole) abort();
        last = generation->number;
        struct generation *again = generation_hold(generation);
        generation_release(generation);
        generation_release(again);
    }
    return NULL;
}

static struct generation *counted(uint32_t number) {
    struct generation *generation = generation_create(number);
    add_file(generation, "counted.c", "aaa_counted");
    assert_true(generation_close(generation, NULL));
    return generation;
}

static void threads_hold_what_is_replaced(void **state) {
    (void)state;
    static struct crowd crowd;
    json_t *none = json_array();
    pthread_t threads[THREADS];
    current_init(&crowd.current, NULL);
    generation_replace(&crowd.current, counted(1));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_and_release, &crowd), 0);
    for (uint32_t number = 2; number <= GENERATIONS; number++) {
        struct generation *next = counted(number);
        generation_hold(next);
        generation_replace(&crowd.current, next);
        usleep(100);
        generation_replace(&crowd.current, counted(++number));
        generation_set_problems(crowd.current.thing, number % 4 ? none : NULL);
        for (int i = 0; i < 1000000 && !generation_is_left(next); i++) usleep(10);
        assert_true(generation_is_left(next));
        generation_release(next);
    }
    __atomic_store_n(&crowd.stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_true(generation_is_left(crowd.current.thing));
    generation_release(current_replace(&crowd.current, NULL));
    json_decref(none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_found_again),
        cmocka_unit_test(without_users_operators_there_is_nothing_to_pass_on),
        cmocka_unit_test(problems_of_a_later_reading_are_listed),
        cmocka_unit_test(who_is_left_is_alone),
        cmocka_unit_test(threads_hold_what_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

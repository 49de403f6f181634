// SPDX-License-Identifier: Apache-2.0
/* The order: clients by the time they used, a client's jobs by length and age. Bounds, removal, and
 * the same against a plain list. */
#include "server/dispatch/queue.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SLOTS = 64 };
static const int64_t ms_ns = 1000000;

static struct queue *make(int capacity) {
    const struct queue_options options = { capacity, SLOTS };
    struct queue *queue = queue_create(&options);
    assert_non_null(queue);
    return queue;
}

static bool push(struct queue *queue, int slot, int client, double cost_ms, int64_t since_ms) {
    struct queue_job job = { .cost_ms = cost_ms, .since_ns = since_ms * ms_ns };
    job.client.address.s6_addr[15] = (uint8_t)client;
    const bool foretold = queue_has_room(queue, &job.client, 0);
    assert_int_equal(queue_push(queue, slot, &job), foretold);
    return foretold;
}

static int serve(struct queue *queue) {
    const int slot = queue_first(queue);
    if (slot >= 0) queue_serve(queue, slot);
    return slot;
}

static void check_order(struct queue *queue, const int *slots, int count) {
    assert_int_equal(queue_length(queue), count);
    int slot = queue_first(queue);
    for (int i = 0; i < count; i++, slot = queue_next(queue)) assert_int_equal(slot, slots[i]);
    assert_int_equal(slot, -1);
}

static void alike_jobs_of_a_client_are_first_come(void **state) {
    (void)state;
    struct queue *queue = make(3);
    check_order(queue, NULL, 0);
    push(queue, 5, 1, 2, 0);
    push(queue, 0, 1, 2, 0);
    push(queue, 7, 1, 2, 0);
    check_order(queue, (int[]){ 5, 0, 7 }, 3);
    queue_destroy(queue);
}

static void a_full_queue_takes_jobs_back(void **state) {
    (void)state;
    struct queue *queue = make(3);
    assert_true(push(queue, 1, 1, 1, 0));
    assert_true(push(queue, 2, 1, 1, 0));
    assert_true(push(queue, 3, 2, 1, 0));
    assert_false(push(queue, 4, 2, 1, 0)); /* the first client would then have fewer */
    assert_false(push(queue, 4, 1, 1, 0));
    assert_int_equal(queue_clients(queue), 2);
    assert_float_equal((float)queue_cost_ms(queue), 3, 1e-6F);
    queue_push_front(queue, 5);
    queue_push_front(queue, 6);
    check_order(queue, (int[]){ 6, 5, 1, 3, 2 }, 5);
    assert_true(queue_remove(queue, 6));
    assert_false(queue_has(queue, 6));
    queue_serve(queue, 5);
    assert_int_equal(queue_displace(queue), -1); /* the queue is at its capacity */
    assert_int_equal(serve(queue), 1);
    assert_true(push(queue, 1, 1, 1, 0)); /* there is room again */
    queue_destroy(queue);
}

/* Pushes until there is no room; displaces no job. */
static int fill(struct queue *queue, int client, int from) {
    int count = 0;
    while (push(queue, from + count, client, 1, 100 * count)) count++;
    return count;
}

static void one_client_fills_it_all(void **state) {
    (void)state;
    struct queue *queue = make(60);
    const struct client one = { { .s6_addr = { [15] = 1 } } }, nobody = { { .s6_addr = { 9 } } };
    assert_true(queue_has_room(queue, &nobody, 59) && queue_has_room(queue, NULL, 59));
    assert_false(queue_has_room(queue, &nobody, 60) || queue_has_room(queue, NULL, 60));
    assert_int_equal(fill(queue, 1, 0), 60);
    assert_int_equal(queue_displace(queue), -1);
    assert_false(queue_has_room(queue, NULL, 0) || queue_has_room(queue, &one, 0));
    assert_true(queue_has_room(queue, &nobody, 58));
    assert_false(queue_has_room(queue, &nobody, 59)); /* the newcomer would then have as many */
    queue_destroy(queue);
}

/* The newest job is not the last in line if there is a long one. */
static void the_largest_client_loses_its_newest_job(void **state) {
    (void)state;
    struct queue *queue = make(5);
    push(queue, 0, 1, 1, 0);
    push(queue, 1, 1, 900, 10); /* due at 910 */
    push(queue, 2, 1, 1, 30);
    push(queue, 3, 1, 1, 20);
    push(queue, 4, 2, 1, 40);
    assert_true(push(queue, 10, 3, 1, 50));
    assert_int_equal(queue_displace(queue), 2);
    assert_int_equal(queue_length(queue), 5); /* three, one and one */
    assert_true(push(queue, 12, 4, 1, 60));
    assert_int_equal(queue_displace(queue), 3);
    assert_true(push(queue, 13, 5, 1, 70));
    assert_int_equal(queue_displace(queue), 1);
    assert_false(push(queue, 14, 6, 1, 80)); /* each has one */
    assert_int_equal(queue_length(queue), 5);
    assert_int_equal(queue_displace(queue), -1);
    queue_destroy(queue);
}

/* All clients end with the same number, in any order and with any jobs. */
static void a_full_queue_is_shared_evenly(void **state) {
    (void)state;
    struct queue *queue = make(60);
    for (int i = 0; i < 4 * SLOTS; i++) {
        int slot = 0, displaced;
        while (queue_has(queue, slot)) slot++;
        if (!push(queue, slot, i / SLOTS, 1 + i % 7, i)) continue;
        if ((displaced = queue_displace(queue)) >= 0) assert_int_not_equal(displaced, slot);
    }
    assert_int_equal(queue_length(queue), 60);
    for (int client = 0; client < 4; client++) /* fifteen each */
        assert_false(push(queue, SLOTS - 1, client, 1, 1000));
    assert_int_equal(queue_clients(queue), 4);
    queue_destroy(queue);
}

/* One client has sent six jobs before a second one sends its first, and a third two long ones. */
static void clients_take_turns_by_what_they_cost(void **state) {
    (void)state;
    struct queue *queue = make(SLOTS);
    for (int i = 0; i < 6; i++) push(queue, i, 1, 10, 0);
    assert_int_equal(serve(queue), 0);
    push(queue, 10, 2, 10, 1);
    push(queue, 11, 2, 10, 1);
    push(queue, 20, 3, 30, 2);
    push(queue, 21, 3, 30, 2);
    /* start tags: of the first 10 20 30 40 50, of the second 0 10, of the third 0 30 */
    check_order(queue, (int[]){ 10, 20, 1, 11, 2, 3, 21, 4, 5 }, 9);
    for (int i = 0; i < 9; i++)
        assert_int_equal(serve(queue), ((int[]){ 10, 20, 1, 11, 2, 3, 21, 4, 5 })[i]);
    assert_int_equal(serve(queue), -1);
    queue_destroy(queue);
}

/* The second client sends one job at a time, each when the last one is served, so it is idle in
 * between. */
static void a_client_that_returns_has_had_its_turn(void **state) {
    (void)state;
    struct queue *queue = make(SLOTS);
    for (int i = 0; i < 4; i++) push(queue, i, 1, 10, i);
    push(queue, 10, 2, 20, 10);
    const int expected[] = { 0, 10, 1, 2, 10, 3, 10 };
    for (int i = 0; i < 7; i++) {
        const int slot = serve(queue);
        assert_int_equal(slot, expected[i]);
        if (slot == 10) push(queue, 10, 2, 20, 11 + i);
    }
    queue_destroy(queue);
}

/* A third of a job's cost counts for a client with three shares; a walk says so too. */
static void shares_weigh_what_jobs_cost(void **state) {
    (void)state;
    struct queue *queue = make(SLOTS);
    for (int i = 0; i < 9; i++) {
        struct queue_job job = { .cost_ms = 30, .since_ns = i / 6 * ms_ns, .share = i < 6 ? 3 : 1 };
        job.client.address.s6_addr[15] = (uint8_t)(1 + i / 6);
        assert_true(queue_push(queue, i, &job));
    }
    assert_float_equal((float)queue_cost_ms(queue), 9 * 30, 1e-6F);
    /* start tags: of the first 0 10 20 30 40 50, of the second 0 30 60 */
    static const int order[] = { 0, 6, 1, 2, 3, 7, 4, 5, 8 };
    check_order(queue, order, 9);
    for (int i = 0; i < 9; i++) assert_int_equal(serve(queue), order[i]);
    queue_destroy(queue);
}

/* A client saves nothing up while away, and owes nothing after queue_forget_usage. */
static void a_client_that_was_away_has_no_more_than_others(void **state) {
    (void)state;
    struct queue *queue = make(SLOTS);
    push(queue, 0, 1, 1, 0);
    assert_int_equal(serve(queue), 0);
    for (int i = 0; i < 100; i++) {
        push(queue, 1, 2, 10, 1);
        assert_int_equal(serve(queue), 1);
    }
    push(queue, 2, 2, 10, 2);
    push(queue, 3, 2, 10, 3);
    push(queue, 4, 1, 10, 4);
    push(queue, 5, 1, 10, 5);
    check_order(queue, (int[]){ 4, 2, 5, 3 }, 4); /* not all of the first's */
    while (serve(queue) >= 0) continue;
    queue_forget_usage(queue);
    push(queue, 2, 2, 10, 6);
    push(queue, 4, 1, 10, 7);
    check_order(queue, (int[]){ 2, 4 }, 2);
    queue_destroy(queue);
}

/* A client's long job finds no worker with room for a minute, while others are served. */
static void a_client_that_was_passed_over_saves_up_a_second(void **state) {
    (void)state;
    struct queue *queue = make(SLOTS);
    push(queue, 0, 1, 5000, 0);
    for (int i = 0; i < 60; i++) {
        push(queue, 1, 2, 1000, i);
        queue_serve(queue, 1);
    }
    for (int i = 0; i < 3; i++) {
        push(queue, 10 + i, 1, 900, 100);
        push(queue, 20 + i, 2, 900, 100);
    }
    /* the second is at 60000, and virtual time is at 59000 */
    queue_serve(queue, 10); /* to 58900 */
    queue_serve(queue, 11); /* to 59800 */
    queue_serve(queue, 12); /* to 60700 */
    assert_int_equal(queue_first(queue), 20);
    queue_destroy(queue);
}

static void short_jobs_come_first_until_long_ones_are_old(void **state) {
    (void)state;
    struct queue *queue = make(SLOTS);
    push(queue, 0, 1, 500, 0);
    push(queue, 1, 1, 5, 100);
    push(queue, 2, 1, 5, 494);
    push(queue, 3, 1, 5, 496);
    push(queue, 4, 1, 60000, 497); /* a second counts at most */
    push(queue, 5, 1, 5, 1491);
    push(queue, 6, 1, 5, 1493);
    check_order(queue, (int[]){ 1, 2, 0, 3, 5, 4, 6 }, 7);
    queue_destroy(queue);
}

/* Behind a client that has used less, before its own client's others, and even without room. */
static void a_further_run_has_its_clients_turn(void **state) {
    (void)state;
    struct queue *queue = make(3);
    push(queue, 1, 1, 90, 0);
    assert_int_equal(serve(queue), 1);
    push(queue, 2, 1, 5, 1);
    push(queue, 3, 2, 50, 2);
    push(queue, 4, 1, 7, 3);
    struct queue_job again = { .since_ns = 0 };
    again.client.address.s6_addr[15] = 1;
    queue_push_again(queue, 1, &again);
    check_order(queue, (int[]){ 3, 1, 2, 4 }, 4);
    assert_float_equal((float)queue_cost_ms(queue), 62, 1e-6F);
    queue_destroy(queue);
}

static void a_walk_goes_on_when_its_jobs_are_served(void **state) {
    (void)state;
    struct queue *queue = make(SLOTS);
    int walked = 0;
    for (int i = 0; i < 12; i++) push(queue, i, i % 3, 1 + i % 2, i);
    queue_push_front(queue, 20);
    queue_push_front(queue, 21);
    for (int slot = queue_first(queue); slot >= 0; slot = queue_next(queue), walked++)
        if (walked % 2)
            queue_serve(queue, slot);
        else if (walked % 4)
            queue_remove(queue, slot);
    assert_int_equal(walked, 14);
    assert_int_equal(queue_length(queue), 4);
    queue_destroy(queue);
}

/* ---- beside a plain model: every job in an array, the next one found by looking at all */

enum { CLIENTS = 5 };

struct model {
    double start_ms[CLIENTS], now_ms, last_ms;
    struct waiting {
        int slot, client;
        double cost_ms;
        int64_t since_ns, due_ns, order;
    } jobs[SLOTS];
    int count;
    int64_t orders;
};

static bool model_has(const struct model *model, int client) {
    for (int i = 0; i < model->count; i++)
        if (model->jobs[i].client == client) return true;
    return false;
}

/* The first of a client's jobs, or -1. */
static int model_first_of(const struct model *model, int client) {
    int best = -1;
    for (int i = 0; i < model->count; i++) {
        const struct waiting *job = &model->jobs[i];
        if (job->client != client) continue;
        if (best < 0 || job->due_ns < model->jobs[best].due_ns ||
            (job->due_ns == model->jobs[best].due_ns && job->order < model->jobs[best].order))
            best = i;
    }
    return best;
}

static int model_next(const struct model *model) {
    int best = -1;
    for (int c = 0; c < CLIENTS; c++) {
        const int mine = model_first_of(model, c);
        if (mine < 0) continue;
        const double start = model->start_ms[c];
        const double other = best < 0 ? 0 : model->start_ms[model->jobs[best].client];
        if (best < 0 || start < other ||
            (start <= other && model->jobs[mine].due_ns < model->jobs[best].due_ns))
            best = mine;
    }
    return best;
}

static void model_push(struct model *model, int slot, int client, double cost_ms, int64_t now_ms) {
    if (!model_has(model, client) && model->start_ms[client] < model->now_ms)
        model->start_ms[client] = model->now_ms;
    if (model->start_ms[client] > model->last_ms) model->last_ms = model->start_ms[client];
    const double age = cost_ms < 1000 ? cost_ms : 1000;
    model->jobs[model->count++] = (struct waiting){
        slot,           client, cost_ms, now_ms * ms_ns, now_ms * ms_ns + (int64_t)(age * 1e6),
        model->orders++
    };
}

static void model_remove(struct model *model, int at, bool served) {
    const struct waiting job = model->jobs[at];
    model->jobs[at] = model->jobs[--model->count];
    if (!served) return;
    double *start = &model->start_ms[job.client];
    const double least = model->now_ms - 1000;
    if (*start > model->now_ms) model->now_ms = *start;
    *start = (*start > least ? *start : least) + job.cost_ms;
    if (*start > model->last_ms) model->last_ms = *start;
}

static void equals_a_plain_model(void **state) {
    (void)state;
    static const double costs[] = { 1, 2, 5, 50, 700, 3000 };
    struct queue *queue = make(SLOTS);
    struct model model = { .count = 0 };
    uint32_t seed = 1;
    for (int64_t step = 0; step < 20000; step++) {
        noise_next(&seed);
        const int slot = (int)((seed >> 8) % SLOTS), client = (int)((seed >> 16) % CLIENTS);
        const int what = (int)((seed >> 28) % 4);
        int at = 0;
        while (at < model.count && model.jobs[at].slot != slot) at++;
        assert_int_equal(queue_has(queue, slot), at < model.count);
        if (what < 2 && at == model.count) {
            const double cost = costs[(seed >> 20) % 6];
            assert_true(push(queue, slot, client, cost, step * 7));
            model_push(&model, slot, client, cost, step * 7);
        } else if (what == 2) {
            assert_int_equal(queue_remove(queue, slot), at < model.count);
            if (at < model.count) model_remove(&model, at, false);
        } else {
            at = model_next(&model);
            assert_int_equal(serve(queue), at < 0 ? -1 : model.jobs[at].slot);
            if (at >= 0) model_remove(&model, at, true);
            if (!model.count) queue_forget_usage(queue), model.now_ms = model.last_ms;
        }
        assert_int_equal(queue_length(queue), model.count);
    }
    queue_destroy(queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_jobs_of_a_client_are_first_come),
        cmocka_unit_test(a_full_queue_takes_jobs_back),
        cmocka_unit_test(one_client_fills_it_all),
        cmocka_unit_test(the_largest_client_loses_its_newest_job),
        cmocka_unit_test(a_full_queue_is_shared_evenly),
        cmocka_unit_test(clients_take_turns_by_what_they_cost),
        cmocka_unit_test(shares_weigh_what_jobs_cost),
        cmocka_unit_test(a_client_that_returns_has_had_its_turn),
        cmocka_unit_test(a_client_that_was_away_has_no_more_than_others),
        cmocka_unit_test(a_client_that_was_passed_over_saves_up_a_second),
        cmocka_unit_test(short_jobs_come_first_until_long_ones_are_old),
        cmocka_unit_test(a_further_run_has_its_clients_turn),
        cmocka_unit_test(a_walk_goes_on_when_its_jobs_are_served),
        cmocka_unit_test(equals_a_plain_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

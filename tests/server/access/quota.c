// SPDX-License-Identifier: Apache-2.0
/* Ledgers of groups, at times that are counted by hand: bursts, debts, what is settled and given
 * back, reloads, silly limits, many groups, and many threads. */
#include "server/access/quota.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int64_t ms = 1000000, start = INT64_C(123456789012345);

/* A table of COUNT keys, each with LIMITS and a group of its own. */
static struct key_table *table_of(int count, const struct key_limits *limits) {
    struct key_table *table = calloc(1, sizeof *table);
    assert_non_null(table);
    table->keys = calloc((size_t)count, sizeof *table->keys);
    assert_non_null(table->keys);
    table->holders = 1;
    table->key_count = count;
    for (int i = 0; i < count; i++) {
        snprintf(table->keys[i].id, KEY_ID_MAX, "key-%d", i);
        snprintf(table->keys[i].group, KEY_ID_MAX, "group-%d", i);
        table->keys[i].limits = *limits;
    }
    return table;
}

static struct key_table *linked(int count, struct key_limits limits, long divisor) {
    struct key_table *table = table_of(count, &limits);
    assert_true(quota_link(table, NULL, divisor));
    return table;
}

static struct quota_use use_of(const struct key_table *table, int key) {
    return (struct quota_use){ .quota = table->keys[key].quota, .limits = table->keys[key].limits };
}

/* Whether one more request is let in AT_MS; it stays in progress. */
static bool enters(const struct key_table *table, int key, double at_ms) {
    struct quota_use use = use_of(table, key);
    return quota_enter(&use, 0, start + (int64_t)(at_ms * 1e6));
}

/* Seconds after which a request that is refused AT_MS should come again; 0: it is let in. */
static int retry(const struct key_table *table, int64_t bytes, int64_t at_ms) {
    struct quota_use use = use_of(table, 0);
    const bool let = quota_enter(&use, bytes, start + at_ms * ms);
    assert_int_equal(let, !use.retry_s);
    return use.retry_s;
}

/* ---- requests */

/* Ten a second, three at once: each takes 100 ms, and the third may lie 200 ms ahead. */
static void bursts(void **state) {
    (void)state;
    struct key_table *table = linked(1, (struct key_limits){ .requests_per_s = 10, .burst = 3 }, 1);
    static const struct {
        double at_ms;
        bool enters;
    } rows[] = { { 0, true },     { 0, true },    { 0, true },    { 0, false },
                 { 99.9, false }, { 100, true },  { 100, false }, { 350, true },
                 { 350, true },   { 350, false }, { 399, false }, { 400, true },
                 { 1000, true },  { 1000, true }, { 1000, true }, { 1000, false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(enters(table, 0, rows[i].at_ms), rows[i].enters);
    key_table_release(table);
}

/* Without `burst` a second's worth; of a part of the limit too, but never less than one. */
static void a_seconds_worth(void **state) {
    (void)state;
    static const struct {
        long requests_per_s, divisor, most, next_ms;
    } rows[] = { { 8, 1, 8, 125 }, { 8, 4, 2, 500 }, { 1, 1, 1, 1000 }, { 1, 10, 1, 10000 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct key_table *table = linked(
            1, (struct key_limits){ .requests_per_s = rows[i].requests_per_s }, rows[i].divisor);
        for (long k = 0; k < rows[i].most; k++) assert_true(enters(table, 0, 0));
        assert_int_equal(retry(table, 0, 0), (rows[i].next_ms + 999) / 1000);
        assert_false(enters(table, 0, (double)rows[i].next_ms - 0.001));
        assert_true(enters(table, 0, (double)rows[i].next_ms));
        key_table_release(table);
    }
}

static void no_limits(void **state) {
    (void)state;
    struct key_table *table = linked(1, (struct key_limits){ .body_bytes_max = 5 }, 1);
    struct quota_use nobody = { .quota = NULL };
    char policy[QUOTA_FIELD_MAX], left[QUOTA_FIELD_MAX];
    for (int i = 0; i < 1000; i++) assert_int_equal(retry(table, INT64_MAX, 0), 0);
    assert_true(quota_enter(&nobody, 1, start));
    quota_charge(&nobody, QUOTA_PIXELS, 1e9, start);
    quota_leave(&nobody);
    assert_false(quota_print(&nobody, start, policy, left));
    struct quota_use use = use_of(table, 0);
    assert_false(quota_print(&use, start, policy, left));
    key_table_release(table);
}

/* ---- bytes, pixels, milliseconds */

/* A million a second: a body of five million is let in, and the ledger is 5 s ahead. A request
 * comes in again when that is one second. */
static void a_large_body_overdraws(void **state) {
    (void)state;
    struct key_table *table = linked(1, (struct key_limits){ .bytes_per_s = 1000000 }, 1);
    assert_int_equal(retry(table, 5000000, 0), 0);
    assert_int_equal(retry(table, 1, 0), 4);
    assert_int_equal(retry(table, 1, 2999), 2);
    assert_int_equal(retry(table, 1, 3000), 1);
    assert_int_equal(retry(table, 1, 3999), 1);
    assert_int_equal(retry(table, 500000, 4000), 0); /* to 5.5 s */
    assert_int_equal(retry(table, 1, 4499), 1);
    assert_int_equal(retry(table, 1, 4500), 0);
    key_table_release(table);
}

static void the_longest_wait_is_named(void **state) {
    (void)state;
    const struct key_limits limits = {
        .requests_per_s = 1, .burst = 1, .bytes_per_s = 10, .pixels_per_s = 10
    };
    struct key_table *table = linked(1, limits, 1);
    struct quota_use first = use_of(table, 0), next = first;
    assert_true(quota_enter(&first, 30, start)); /* bytes: to 3 s */
    assert_false(quota_enter(&next, 1, start));
    assert_int_equal(next.over, QUOTA_BYTES);
    assert_int_equal(next.retry_s, 2);
    quota_charge(&first, QUOTA_PIXELS, 50, start); /* to 5 s */
    assert_false(quota_enter(&next, 1, start));
    assert_int_equal(next.over, QUOTA_PIXELS);
    assert_int_equal(next.retry_s, 4);
    quota_charge(&first, QUOTA_PIXELS, 0, start);
    quota_charge(&first, QUOTA_BYTES, 0, start);
    assert_false(quota_enter(&next, 1, start));
    assert_int_equal(next.over, QUOTA_REQUESTS);
    assert_int_equal(next.retry_s, 1);
    key_table_release(table);
}

/* 200 ms a second. Each row charges all of a job's time anew; the ledger then is full again FULL
 * ms after AT. */
static void settled(void **state) {
    (void)state;
    static const struct {
        int64_t at_ms;
        double amount;
        int64_t full_ms;
    } rows[] = {
        { 0, 100, 500 },     /* predicted */
        { 100, 30, 50 },     /* took less */
        { 100, 1000, 4900 }, /* more */
        { 100, 1000, 4900 }, /* the same */
        { 100, 0, 0 },       /* given back: at 0 ms */
        { 1000, 100, 500 },  /* from 1000 ms, not from the end of what was charged before */
        { 3000, 120, 100 },  /* the first 100 are over: 20 more from 3000 ms */
    };
    struct key_table *table = linked(1, (struct key_limits){ .device_ms_per_s = 200 }, 1);
    struct quota_use use = use_of(table, 0);
    struct quota_balance balances[QUOTA_LIMITS];
    assert_true(quota_enter(&use, 0, start));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t now = start + rows[i].at_ms * ms;
        quota_charge(&use, QUOTA_DEVICE_MS, rows[i].amount, now);
        quota_look(&use, now, balances);
        assert_int_equal(balances[QUOTA_DEVICE_MS].full_ns, rows[i].full_ms * ms);
    }
    key_table_release(table);
}

/* One gives back while another is charged: the other's charge stays. */
static void given_back_beside_others(void **state) {
    (void)state;
    struct key_table *table = linked(1, (struct key_limits){ .pixels_per_s = 1000 }, 1);
    struct quota_use failed = use_of(table, 0), other = failed;
    struct quota_balance balances[QUOTA_LIMITS];
    assert_true(quota_enter(&failed, 0, start) && quota_enter(&other, 0, start));
    quota_charge(&failed, QUOTA_PIXELS, 7000, start);
    quota_charge(&other, QUOTA_PIXELS, 3000, start);
    quota_look(&other, start, balances);
    assert_true(balances[QUOTA_PIXELS].left == 1000 - 10000);
    quota_charge(&failed, QUOTA_PIXELS, 0, start + 500 * ms);
    quota_look(&other, start + 500 * ms, balances);
    assert_true(balances[QUOTA_PIXELS].left == 1000 - 2500);
    key_table_release(table);
}

/* ---- in progress */

static void in_progress(void **state) {
    (void)state;
    struct key_table *table = linked(1, (struct key_limits){ .in_progress = 2 }, 1);
    struct quota_use uses[3] = { use_of(table, 0), use_of(table, 0), use_of(table, 0) };
    struct quota_balance balances[QUOTA_LIMITS];
    assert_true(quota_enter(&uses[0], 0, start) && quota_enter(&uses[1], 0, start));
    assert_false(quota_enter(&uses[2], 0, start));
    assert_int_equal(uses[2].over, QUOTA_IN_PROGRESS);
    assert_int_equal(uses[2].retry_s, 1);
    quota_leave(&uses[2]); /* it was not let in */
    assert_int_equal(quota_look(&uses[0], start, balances), 2);
    for (int i = 0; i < 3; i++) quota_leave(&uses[0]);
    assert_int_equal(quota_look(&uses[0], start, balances), 1);
    assert_true(balances[QUOTA_IN_PROGRESS].left == 1);
    assert_true(quota_enter(&uses[2], 0, start));
    quota_leave(&uses[1]);
    quota_leave(&uses[2]);
    assert_int_equal(quota_look(&uses[0], start, balances), 0);
    key_table_release(table);
}

/* ---- groups and reloads */

static void two_keys_of_a_group_share(void **state) {
    (void)state;
    const struct key_limits limits = { .requests_per_s = 1, .burst = 2 };
    struct key_table *table = table_of(3, &limits);
    strcpy(table->keys[1].group, "group-0");
    assert_true(quota_link(table, NULL, 1));
    assert_true(enters(table, 0, 0) && enters(table, 1, 0));
    assert_false(enters(table, 0, 0) || enters(table, 1, 0));
    assert_true(enters(table, 2, 0));
    assert_string_equal(quota_group(table->keys[1].quota), "group-0");
    const struct client one = quota_client(table->keys[0].quota),
                        same = quota_client(table->keys[1].quota),
                        other = quota_client(table->keys[2].quota), unit = client_unit(&one);
    assert_true(client_is_same(&one, &same));
    assert_false(client_is_same(&one, &other) || client_is_same(&one, &unit));
    key_table_release(table);
}

/* A reload keeps what was used; the new limits count from then on. A request that goes on keeps its
 * ledger. */
static void a_reload_keeps_what_was_used(void **state) {
    (void)state;
    struct key_table *before = linked(2, (struct key_limits){ .requests_per_s = 1, .burst = 4 }, 1);
    struct key_limits limits = { .requests_per_s = 2, .burst = 2, .in_progress = 2 };
    struct key_table *next = table_of(1, &limits);
    struct quota_use slow = use_of(before, 1), gone = use_of(before, 0);
    assert_true(quota_enter(&slow, 0, start) && quota_enter(&gone, 0, start));
    for (int i = 0; i < 3; i++) assert_true(enters(before, 1, 0)); /* to 4 s */
    strcpy(next->keys[0].group, "group-1");
    quota_hold(slow.quota);
    quota_hold(gone.quota);
    assert_true(quota_link(next, before, 1));
    key_table_release(before);
    assert_ptr_equal(next->keys[0].quota, slow.quota);
    struct quota_use use = use_of(next, 0);
    assert_false(quota_enter(&use, 0, start + 3499 * ms)); /* 500 ms may lie ahead */
    assert_int_equal(use.over, QUOTA_REQUESTS);
    assert_false(quota_enter(&use, 0, start + 3500 * ms)); /* four are in progress */
    assert_int_equal(use.over, QUOTA_IN_PROGRESS);
    quota_leave(&slow);
    struct quota_balance balances[QUOTA_LIMITS];
    assert_int_equal(quota_look(&use, start, balances), 3);
    quota_leave(&gone);
    quota_release(slow.quota);
    quota_release(gone.quota);
    key_table_release(next);
}

/* A limit that is lower, or gone, when a request ends that was charged before. */
static void a_limit_changes_under_way(void **state) {
    (void)state;
    struct key_table *before = linked(1, (struct key_limits){ .pixels_per_s = 1000 }, 1);
    const struct key_limits lower = { .pixels_per_s = 10 };
    struct key_table *next = table_of(1, &lower);
    assert_true(quota_link(next, before, 1));
    struct quota_use old = use_of(before, 0), new = use_of(next, 0);
    struct quota_balance balances[QUOTA_LIMITS];
    assert_true(quota_enter(&old, 0, start) && quota_enter(&new, 0, start));
    quota_charge(&old, QUOTA_PIXELS, 2000, start); /* 2 s */
    quota_charge(&new, QUOTA_PIXELS, 50, start);   /* and 5 s */
    quota_charge(&old, QUOTA_PIXELS, 0, start);
    quota_look(&new, start, balances);
    assert_int_equal(balances[QUOTA_PIXELS].full_ns, 5000 * ms);
    key_table_release(before);
    key_table_release(next);
}

/* A file has as many groups as it may, and a reload adds one more. */
static void many_groups(void **state) {
    (void)state;
    const struct key_limits limits = { .requests_per_s = 1, .burst = 1 };
    struct key_table *before = linked(KEYS_MAX, limits, 1), *next = table_of(KEYS_MAX, &limits);
    for (int i = 0; i < KEYS_MAX; i++) assert_true(enters(before, i, 0));
    strcpy(next->keys[7].group, "one-more");
    assert_true(quota_link(next, before, 1));
    key_table_release(before);
    for (int i = 0; i < KEYS_MAX; i++) assert_int_equal(enters(next, i, 0), i == 7);
    key_table_release(next);
}

/* Two keys of each group, which stand far apart, before a reload and after it; half of the groups
 * are new. */
static void many_groups_of_two(void **state) {
    (void)state;
    static const int half = KEYS_MAX / 2;
    const struct key_limits none = { .burst = 0 };
    struct key_table *before = table_of(KEYS_MAX, &none), *next = table_of(KEYS_MAX, &none);
    for (int i = 0; i < KEYS_MAX; i++) {
        snprintf(before->keys[i].group, KEY_ID_MAX, "group-%d", i % half);
        snprintf(next->keys[i].group, KEY_ID_MAX, "group-%d", i % half + half / 2);
    }
    assert_true(quota_link(before, NULL, 1) && quota_link(next, before, 1));
    for (int i = 0; i < half; i++) {
        assert_ptr_equal(before->keys[i].quota, before->keys[i + half].quota);
        assert_ptr_equal(next->keys[i].quota, next->keys[i + half].quota);
        assert_string_equal(quota_group(next->keys[i].quota), next->keys[i].group);
        if (i < half / 2) assert_ptr_equal(next->keys[i].quota, before->keys[i + half / 2].quota);
        for (int k = 0; i >= half / 2 && k < half; k++)
            assert_ptr_not_equal(next->keys[i].quota, before->keys[k].quota);
    }
    key_table_release(before);
    key_table_release(next);
}

/* The largest amounts at the smallest limits end somewhere. */
static void silly_limits(void **state) {
    (void)state;
    const struct key_limits limits = { .bytes_per_s = 1, .pixels_per_s = 1 };
    struct key_table *table = linked(1, limits, 10000);
    struct quota_use use = use_of(table, 0);
    for (int i = 0; i < 20; i++) {
        struct quota_use again = use_of(table, 0);
        quota_enter(&again, INT64_C(1) << 32, start);
        again.entered = true;
        quota_charge(&again, QUOTA_PIXELS, 1e12, start + i);
    }
    assert_false(quota_enter(&use, 0, start));
    assert_in_range(use.retry_s, 999999998, 1000000000);
    key_table_release(table);
}

/* ---- rates in the long run */

/* At ten times the limit, from the second second on: requests that each take 10 ms and are
 * predicted to take PREDICTED, and 50 ms until that is known. */
static double settled_in_a_minute(double predicted) {
    struct key_table *table = linked(1, (struct key_limits){ .device_ms_per_s = 200 }, 1);
    struct quota_use running[10];
    double took = 0;
    for (int i = 0; i < 10; i++) running[i] = use_of(table, 0);
    for (int64_t at = 0; at < 62000; at += 5) { /* 2000 ms a second are asked for */
        struct quota_use *use = &running[at / 5 % 10];
        const int64_t now = start + at * ms;
        if (use->entered) quota_charge(use, QUOTA_DEVICE_MS, 10, now);
        quota_leave(use);
        *use = use_of(table, 0);
        if (!quota_enter(use, 0, now)) continue;
        quota_charge(use, QUOTA_DEVICE_MS, predicted, now);
        took += at >= 2000 ? 10 : 0;
    }
    key_table_release(table);
    return took;
}

static void ten_times_the_limit(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        const double took = settled_in_a_minute(((double[]){ 10, 3, 40 })[i]);
        assert_true(took >= 0.98 * 60 * 200 && took <= 1.02 * 60 * 200);
    }
    struct key_table *table = linked(1, (struct key_limits){ .requests_per_s = 50 }, 1);
    int entered = 0;
    for (int64_t at = 0; at < 60000; at += 2) entered += enters(table, 0, (double)at);
    assert_int_equal(entered, 50 + 2999); /* those at once, and one every 20 ms from then on */
    key_table_release(table);
}

/* ---- headers */

static void headers(void **state) {
    (void)state;
    const struct key_limits limits = { .requests_per_s = 50,
                                       .burst = 120,
                                       .bytes_per_s = 20 << 20,
                                       .pixels_per_s = 500000000,
                                       .device_ms_per_s = 200,
                                       .in_progress = 16 };
    struct key_table *table = linked(1, limits, 1);
    struct quota_use use = use_of(table, 0);
    char policy[QUOTA_FIELD_MAX], left[QUOTA_FIELD_MAX];
    assert_true(quota_enter(&use, 10 << 20, start));
    quota_charge(&use, QUOTA_PIXELS, 1250000000, start);
    assert_true(quota_print(&use, start, policy, left));
    assert_string_equal(policy, "\"requests_per_s\";q=120;qu=\"requests\";w=3, "
                                "\"bytes_per_s\";q=20971520;qu=\"content-bytes\";w=1, "
                                "\"pixels_per_s\";q=500000000;qu=\"pixels\";w=1, "
                                "\"device_ms_per_s\";q=200;qu=\"device-ms\";w=1, "
                                "\"in_progress\";q=16;qu=\"concurrent-requests\"");
    assert_string_equal(left, "\"requests_per_s\";r=119;t=1, \"bytes_per_s\";r=10485760;t=1, "
                              "\"pixels_per_s\";r=0;t=3, \"device_ms_per_s\";r=200;t=0, "
                              "\"in_progress\";r=15");
    key_table_release(table);
    const struct key_limits most = {
        1000000, 1000000, 1L << 40, 1000000000000, 1000000, 16384, 0, 0
    };
    table = linked(1, most, 1);
    use = use_of(table, 0);
    assert_true(quota_print(&use, start, policy, left));
    assert_true(strlen(policy) < QUOTA_FIELD_MAX - 1 && strstr(policy, "concurrent-requests\""));
    key_table_release(table);
}

/* ---- threads */

enum { THREADS = 8, TURNS = 5000 };
static int let_in, over;

static void *take_turns(void *table) {
    struct quota_balance balances[QUOTA_LIMITS];
    char policy[QUOTA_FIELD_MAX], left[QUOTA_FIELD_MAX];
    for (int i = 0; i < TURNS; i++) {
        struct quota_use use = use_of(table, 0);
        quota_hold(use.quota);
        __atomic_add_fetch(quota_enter(&use, 100, start) ? &let_in : &over, 1, __ATOMIC_RELAXED);
        quota_charge(&use, QUOTA_DEVICE_MS, 1 + i % 7, start);
        if (quota_look(&use, start, balances) > THREADS) abort();
        if (!quota_print(&use, start, policy, left)) abort();
        quota_charge(&use, QUOTA_DEVICE_MS, 0, start);
        quota_charge(&use, QUOTA_BYTES, 1, start);
        quota_leave(&use);
        quota_release(use.quota);
    }
    return NULL;
}

/* 40,000 requests come at one time: as many are let in as may come at once, and the ledger ends as
 * if they had come one after the other. */
static void threads(void **state) {
    (void)state;
    const struct key_limits limits = {
        .requests_per_s = 1000, .burst = 30000, .bytes_per_s = 40000, .device_ms_per_s = 100000
    };
    struct key_table *table = linked(1, limits, 1);
    struct quota_use use = use_of(table, 0);
    struct quota_balance balances[QUOTA_LIMITS];
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&all[i], NULL, take_turns, table);
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
    assert_int_equal(let_in, 30000);
    assert_int_equal(over, THREADS * TURNS - 30000);
    assert_int_equal(quota_look(&use, start, balances), 0);
    assert_int_equal(balances[QUOTA_REQUESTS].full_ns, 30000 * ms);
    assert_int_equal(balances[QUOTA_BYTES].full_ns, 750 * ms);
    assert_int_equal(balances[QUOTA_DEVICE_MS].full_ns, 0);
    key_table_release(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts),
        cmocka_unit_test(a_seconds_worth),
        cmocka_unit_test(no_limits),
        cmocka_unit_test(a_large_body_overdraws),
        cmocka_unit_test(the_longest_wait_is_named),
        cmocka_unit_test(settled),
        cmocka_unit_test(given_back_beside_others),
        cmocka_unit_test(in_progress),
        cmocka_unit_test(two_keys_of_a_group_share),
        cmocka_unit_test(a_reload_keeps_what_was_used),
        cmocka_unit_test(a_limit_changes_under_way),
        cmocka_unit_test(many_groups),
        cmocka_unit_test(many_groups_of_two),
        cmocka_unit_test(silly_limits),
        cmocka_unit_test(ten_times_the_limit),
        cmocka_unit_test(headers),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}

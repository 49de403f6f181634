// SPDX-License-Identifier: Apache-2.0
/* The judgement of 100,000 signed queries with changes: those that mean the same are right, and no
 * other. `judge mutations 1000000` takes more; `judge times 1000000` compares the times of wrong
 * keys and signatures. tests/http/test_signed.py has the rest, with signatures of Python's. */
#include "server/access/judge.h"
#include "server/access/base64url.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { NOW = 1000000, TEXT = 512 };

static const char good[] = "width=320&free=height%3A16..2000&body_max=8388608&in_types=jpeg,png"
                           "&key=shop&expires=1000300&b%20c=%C3%A9";

static struct access_key keys[2];
static struct key_table table = { .keys = keys, .key_count = 2 };
static struct hasher *hasher;

static uint32_t chance(uint32_t below) {
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

/* TOKEN: NULL, or the header with one. */
static enum status ask(const char *query, const char *token) {
    static char text[2 * TEXT];
    static struct argument arguments[ARGUMENTS_MAX];
    struct grant grant = { .free = NULL };
    struct failure failure;
    snprintf(text, sizeof text, "%s", query);
    struct asking asking = { .method = "POST",
                             .path = "/resize",
                             .what = "resize",
                             .arguments = arguments,
                             .count = query_read(text, arguments),
                             .authorization = token,
                             .now = NOW };
    if (asking.count < 0) return STATUS_BAD_REQUEST;
    return judge(&table, hasher, &asking, &grant, &failure);
}

/* Makes the signature of the query from its own text. */
static void sign(char query[TEXT]) {
    char message[MESSAGE_MAX], copy[TEXT];
    struct argument arguments[ARGUMENTS_MAX];
    uint8_t mac[DIGEST_BYTES];
    strcpy(copy, good);
    const int count = query_read(copy, arguments);
    query_sort(arguments, count);
    const size_t length = query_message("POST", "/resize", arguments, count, message);
    assert_true(hasher_sign(hasher, keys[1].secret, message, length, mac));
    const int used = snprintf(query, TEXT, "%s&signature=", good);
    base64url_print(mac, sizeof mac, query + used);
}

/* ---- changes */

static void change(const char *from, char to[TEXT]) {
    static const char characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~%&=+,:";
    const size_t length = strlen(from);
    const size_t at = chance((uint32_t)length);
    const size_t cut = at + 1 + chance(8) < length ? 1 + chance(8) : 1;
    const char c = characters[chance(sizeof characters - 1)];
    switch (chance(6)) {
    case 0: snprintf(to, TEXT, "%.*s%c%s", (int)at, from, c, from + at + 1); break;
    case 1: snprintf(to, TEXT, "%.*s%c%s", (int)at, from, c, from + at); break;
    case 2:
        snprintf(to, TEXT, "%.*s%s", (int)at, from, from + at + (at + cut <= length ? cut : 1));
        break;
    case 3: snprintf(to, TEXT, "%.*s%%%02x%s", (int)at, from, from[at], from + at + 1); break;
    case 4: /* the rest comes first */
        snprintf(to, TEXT, "%s&%.*s", from + at, (int)at, from);
        break;
    default: /* a bit */
        snprintf(to, TEXT, "%s", from);
        to[at] ^= (char)(1 << chance(7));
        if (!to[at]) to[at] = 'x';
    }
}

/* ---- what a query means: decoded pairs in any order, by a different way than query.c's */

struct pair {
    char text[TEXT];
};

static int by_text(const void *a, const void *b) {
    return strcmp(((const struct pair *)a)->text, ((const struct pair *)b)->text);
}

/* One text for each meaning: "broken", or pairs in order with a byte between that no query has. */
static void meaning(const char *query, char out[2 * TEXT]) {
    static struct pair pairs[ARGUMENTS_MAX * 2];
    int count = 0;
    size_t used = 0;
    while (*query) {
        const size_t length = strcspn(query, "&");
        char *to = pairs[count].text;
        int equals = 0;
        for (size_t i = 0; i < length; i++) {
            unsigned value = (unsigned char)query[i];
            if (value == '=' && !equals++) value = 1;
            if (value == '+') value = ' ';
            if (value == '%') {
                char digits[3] = { i + 1 < length ? query[i + 1] : 'x',
                                   i + 2 < length ? query[i + 2] : 'x', 0 };
                if (strspn(digits, "0123456789abcdefABCDEF") != 2 ||
                    !(value = (unsigned)strtoul(digits, NULL, 16))) {
                    strcpy(out, "broken");
                    return;
                }
                i += 2;
            }
            *to++ = (char)value;
        }
        if (length && !equals) *to++ = 1;
        *to = '\0';
        count += length > 0;
        query += length + (query[length] == '&');
    }
    qsort(pairs, (size_t)count, sizeof *pairs, by_text);
    out[0] = '\0';
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(out + used, 2 * TEXT - used, "%s\x02", pairs[i].text);
}

static int run_mutations(long times) {
    char query[TEXT], once[TEXT], twice[TEXT], right[2 * TEXT], found[2 * TEXT];
    long same = 0, wrong = 0;
    sign(query);
    meaning(query, right);
    assert_int_equal(ask(query, NULL), STATUS_OK);
    for (long i = 0; i < times; i++) {
        change(query, once);
        if (i % 2) change(once, twice);
        const char *changed = i % 2 ? twice : once;
        meaning(changed, found);
        const bool is_same = strcmp(found, right) == 0, is_right = !ask(changed, NULL);
        same += is_same;
        wrong += is_same != is_right;
        if (is_same != is_right)
            print_message("%s %s\n", is_right ? "served:" : "refused:", changed);
    }
    print_message("%ld changed queries, of which %ld mean the same: %ld judged wrongly\n", times,
                  same, wrong);
    assert_true(same > times / 100 && same < times / 2);
    return (int)wrong;
}

static void mutations(void **state) {
    (void)state;
    assert_int_equal(run_mutations(100000), 0);
}

/* ---- times */

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

struct sample {
    double count, mean, squares;
};

static void note(struct sample *sample, double value) {
    const double off = value - sample->mean;
    sample->count++;
    sample->mean += off / sample->count;
    sample->squares += off * (value - sample->mean);
}

/* A request that is refused: its query, or its token. */
struct question {
    const char *query, *token;
};

/* Welch's t of the times of two refusals, in turns by chance; times over three times the least are
 * left out, since an interrupt falls in them. */
static bool are_alike(const char *what, struct question a, struct question b, long times) {
    struct sample samples[2] = { { 0 } };
    const struct question questions[2] = { a, b };
    double most = 1e9;
    for (long i = -1000; i < times; i++) {
        static char query[TEXT], token[TEXT]; /* the same place for both */
        const uint32_t which = chance(2);
        snprintf(query, TEXT, "%s", questions[which].query);
        snprintf(token, TEXT, "%s", questions[which].token ? questions[which].token : "");
        const int64_t start = now_ns();
        const enum status status = ask(query, *token ? token : NULL);
        const double took = (double)(now_ns() - start);
        assert_true(status == STATUS_NO_KEY || status == STATUS_FORBIDDEN);
        if (i < 0 && took * 3 < most) most = took * 3;
        if (i >= 0 && took < most) note(&samples[which], took);
    }
    const double spread = samples[0].squares / samples[0].count / samples[0].count +
                          samples[1].squares / samples[1].count / samples[1].count;
    const double t = (samples[0].mean - samples[1].mean) / sqrt(spread);
    print_message("%s: %.1f ns and %.1f ns, t = %.2f\n", what, samples[0].mean, samples[1].mean, t);
    return fabs(t) < 4.5;
}

/* A copy of TEXT with another character at AT. */
static const char *other_at(const char *text, size_t at) {
    static char copies[8][TEXT];
    static int count;
    char *copy = copies[count++];
    snprintf(copy, TEXT, "%s", text);
    copy[at] = copy[at] == 'A' ? 'B' : 'A';
    return copy;
}

static int run_times(long times) {
    char query[TEXT], token[TEXT] = "Bearer burin_shop_";
    const uint8_t bytes[SECRET_BYTES] = { 1, 2, 3 };
    sign(query);
    base64url_print(bytes, sizeof bytes, token + strlen(token));
    const size_t query_length = strlen(query), token_length = strlen(token);
    const bool signatures =
        are_alike("signatures, wrong at the first and the last character",
                  (struct question){ other_at(query, query_length - 43), NULL },
                  (struct question){ other_at(query, query_length - 1), NULL }, times);
    const bool tokens =
        are_alike("tokens, wrong at the first and the last character",
                  (struct question){ "", other_at(token, token_length - 43) },
                  (struct question){ "", other_at(token, token_length - 1) }, times);
    const bool ids = are_alike("tokens of a key and of none",
                               (struct question){ "", other_at(token, token_length - 1) },
                               (struct question){ "", other_at(token, 16) }, times);
    return signatures && tokens && ids ? 0 : 1;
}

static int open_one(void **state) {
    (void)state;
    static const char *const ids[] = { "other", "shop" };
    hasher = hasher_open();
    for (int i = 0; i < 2; i++) {
        strcpy(keys[i].id, ids[i]);
        keys[i].has_secret = keys[i].has_token = true;
        keys[i].not_after = INT64_MAX;
        memset(keys[i].secret, 7 + i, sizeof keys[i].secret);
    }
    return hasher ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 3 && open_one(NULL) == 0)
        return strcmp(argv[1], "times") == 0 ? run_times(atol(argv[2]))
                                             : run_mutations(atol(argv[2])) != 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(mutations) };
    const int failed = cmocka_run_group_tests_name("judge", tests, open_one, NULL);
    hasher_close(hasher);
    return failed;
}

// SPDX-License-Identifier: Apache-2.0
/* The search for a quality against the sentence that defines it, over files of invented lengths. */
#include "pipeline/quality_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct answer {
    bool fits;
    int quality, last_made, tries;
    uint64_t length;
};

/* "If quality q fits, q. Else, if min_quality does not fit, 422. Else lo = min_quality, hi = q;
 * while hi - lo > 1 halve: mid fits ? lo : hi. The answer is lo's." */
static struct answer wanted(const uint64_t lengths[101], int q, int least, uint64_t max) {
    if (lengths[q] <= max) return (struct answer){ true, q, q, 1, lengths[q] };
    if (q == least) return (struct answer){ false, q, q, 1, lengths[q] };
    if (lengths[least] > max) return (struct answer){ false, least, least, 2, lengths[least] };
    int lo = least, hi = q, tries = 2;
    for (; hi - lo > 1; tries++) {
        const int mid = (lo + hi) / 2;
        if (lengths[mid] <= max)
            lo = mid;
        else
            hi = mid;
    }
    return (struct answer){ true, lo, lo, tries, lengths[lo] };
}

static struct answer found(const uint64_t lengths[101], int q, int least, uint64_t max) {
    struct encode_options options = encode_options_default;
    struct quality_search search;
    struct answer answer = { .fits = false };
    options.quality = q;
    options.min_quality = least;
    options.max_bytes = (int64_t)max;
    quality_search_begin(&search, &options);
    for (int made = 0;; made++) {
        assert_in_range(made, 0, SEARCH_TRIES_MAX);
        answer.last_made = search.quality;
        /* One that is given up is too long, whatever its length. */
        const uint64_t length = lengths[search.quality];
        const bool given_up = length > max && !quality_search_reports(&search);
        if (!quality_search_next(&search, given_up ? max + 1 : length)) break;
    }
    answer.fits = search.fits;
    answer.quality = search.quality;
    answer.tries = search.tries;
    answer.length = search.length;
    return answer;
}

static void check(const uint64_t lengths[101], int q, int least, uint64_t max) {
    const struct answer a = wanted(lengths, q, least, max), b = found(lengths, q, least, max);
    if (a.fits != b.fits || a.quality != b.quality || a.tries != b.tries || a.length != b.length ||
        a.last_made != b.last_made)
        fail_msg("quality %d, at least %d, %llu bytes: %d %d in %d tries (last %d), wanted %d %d "
                 "in %d",
                 q, least, (unsigned long long)max, b.fits, b.quality, b.tries, b.last_made, a.fits,
                 a.quality, a.tries);
}

static void lengths_that_grow(void **state) {
    (void)state;
    uint64_t lengths[101];
    for (int i = 0; i <= 100; i++) lengths[i] = 100 + 3 * (uint64_t)i * (uint64_t)i;
    for (int q = 1; q <= 100; q++)
        for (int least = 1; least <= q; least++)
            for (int i = 0; i <= 100; i += 3)
                for (int more = -1; more <= 1; more++)
                    check(lengths, q, least, lengths[i] + (uint64_t)more);
}

/* WebP's may fall as quality rises: the halving is as it is defined all the same. */
static void lengths_that_do_not(void **state) {
    (void)state;
    uint64_t lengths[101];
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i <= 100; i++) {
            seed = seed * 1664525 + 1013904223;
            lengths[i] = 1000 + 20 * (uint64_t)i + (seed >> 16) % 300;
        }
        for (uint64_t max = 900; max < 3400; max += 41) check(lengths, 85, 10, max);
    }
}

static void the_lowest_quality(void **state) {
    (void)state;
    struct encode_options options = encode_options_default;
    struct failure failure = { 0 };
    assert_int_equal(encode_min_quality(&options), 10);
    options.quality = 7; /* below what min_quality is where nobody gives one */
    assert_int_equal(encode_options_check(&options, &failure), STATUS_OK);
    assert_int_equal(encode_min_quality(&options), 7);
    options.min_quality = 8;
    assert_int_equal(encode_options_check(&options, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "min_quality must be 1..7"));
    options.quality = 8;
    assert_int_equal(encode_options_check(&options, &failure), STATUS_OK);
}

static void a_refusal_names_both_sizes(void **state) {
    (void)state;
    struct encode_options options = encode_options_default;
    struct quality_search search;
    struct failure failure = { 0 };
    options.max_bytes = 4321;
    quality_search_begin(&search, &options);
    assert_true(quality_search_next(&search, 99999));
    assert_int_equal(search.quality, 10);
    assert_true(quality_search_reports(&search));
    assert_false(quality_search_next(&search, 5678));
    assert_int_equal(quality_search_refuse(&search, FORMAT_JPEG, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "5678 bytes at quality 10"));
    assert_non_null(strstr(failure.message, "max_bytes is 4321"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_that_grow),
        cmocka_unit_test(lengths_that_do_not),
        cmocka_unit_test(the_lowest_quality),
        cmocka_unit_test(a_refusal_names_both_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

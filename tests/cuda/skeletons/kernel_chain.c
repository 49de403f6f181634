// SPDX-License-Identifier: Apache-2.0
/* Chains of users' operators: which steps are one, and that no request waits for a kernel. Makers
 * here do nothing but wait until they may go on. */
#include "cuda/skeletons/kernel_chain.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct user_op ops[8];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* who holds it holds up the maker */
static int made;

static const struct user_op *op_of(enum skeleton skeleton, const char *name) {
    static int count;
    struct user_op *op = &ops[count++ % 8];
    *op = (struct user_op){ .skeleton = skeleton, .op.name = name };
    return op;
}

static bool make(const struct kernel_chain_request *request) {
    pthread_mutex_lock(&gate);
    made++;
    pthread_mutex_unlock(&gate);
    return request->form.depth == 8;
}

static struct kernel_chain_request request_of(const struct user_op *a, const struct user_op *b,
                                              int depth) {
    struct kernel_chain_request request;
    memset(&request, 0, sizeof request);
    request.form.ops[0] = a;
    request.form.ops[1] = b;
    request.form.count = 2;
    request.form.depth = depth;
    request.form.channels = 1;
    request.capability = 90;
    request.make = make;
    return request;
}

static void test_length(void **state) {
    (void)state;
    const struct user_op *p = op_of(SKELETON_P2P, "p"), *n = op_of(SKELETON_N2P, "n"),
                         *s = op_of(SKELETON_R2S, "s"), *v = op_of(SKELETON_R2V, "v");
    const struct {
        const struct user_op *ops[8];
        int count, length;
    } rows[] = {
        { { p }, 1, 1 },
        { { p, p }, 2, 2 },
        { { p, n }, 2, 2 },
        { { p, p, n, n }, 4, 3 },
        { { n, p }, 2, 1 },
        { { n, n }, 2, 1 },
        { { p, s }, 2, 1 },
        { { p, p, v }, 3, 2 },
        { { s, p, p }, 3, 1 },
        { { p, p, p, p, p, p, n }, 7, KERNEL_OPS_MAX },
        { { p, p, p, p, n }, 5, 5 },
        { { p, p, p, p, p, n }, 6, 5 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(kernel_chain_length(rows[i].ops, rows[i].count), rows[i].length);
}

static void test_the_second_request_makes_it(void **state) {
    (void)state;
    const struct kernel_chain_request request =
        request_of(op_of(SKELETON_P2P, "one"), op_of(SKELETON_N2P, "two"), 8);
    made = 0;
    assert_null(kernel_chain_ask(&request));
    kernel_chain_wait();
    assert_int_equal(made, 0); /* seen once: not worth the compiler's time */
    pthread_mutex_lock(&gate);
    for (int i = 0; i < 3; i++) assert_null(kernel_chain_ask(&request)); /* and none waits */
    pthread_mutex_unlock(&gate);
    kernel_chain_wait();
    assert_int_equal(made, 1);
    assert_string_equal(kernel_chain_ask(&request), "one+two");
    assert_ptr_equal(kernel_chain_ask(&request), kernel_chain_ask(&request));
    assert_int_equal(made, 1);
}

static void test_chains_are_apart(void **state) {
    (void)state;
    const struct user_op *a = op_of(SKELETON_P2P, "a"), *b = op_of(SKELETON_P2P, "b");
    struct kernel_chain_request request = request_of(a, b, 8);
    for (int i = 0; i < 2; i++) assert_null(kernel_chain_ask(&request));
    kernel_chain_wait();
    assert_string_equal(kernel_chain_ask(&request), "a+b");
    request.device = 1;
    assert_null(kernel_chain_ask(&request));
    request.device = 0;
    request.form.channels = 3;
    assert_null(kernel_chain_ask(&request));
    const struct kernel_chain_request turned = request_of(b, a, 8);
    assert_null(kernel_chain_ask(&turned));
}

static void test_what_cannot_be_made_is_not_tried_again(void **state) {
    (void)state;
    const struct kernel_chain_request request =
        request_of(op_of(SKELETON_P2P, "a"), op_of(SKELETON_P2P, "b"), 16);
    made = 0;
    for (int i = 0; i < 5; i++) {
        assert_null(kernel_chain_ask(&request));
        kernel_chain_wait();
    }
    assert_int_equal(made, 1);
}

/* The last test: afterwards there is no room. */
static void test_a_client_cannot_fill_the_memory(void **state) {
    (void)state;
    const struct user_op *a = op_of(SKELETON_P2P, "a"), *b = op_of(SKELETON_P2P, "b");
    made = 0;
    for (int i = 0; i < 3 * KERNEL_CHAINS_MAX; i++) {
        struct kernel_chain_request request = request_of(a, b, 8);
        request.capability = 100 + i;
        for (int k = 0; k < 2; k++) kernel_chain_ask(&request);
    }
    kernel_chain_wait();
    assert_in_range(made, 1, KERNEL_CHAINS_MAX);
}

int main(void) {
    alarm(30); /* a request that waits would wait for ever */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_the_second_request_makes_it),
        cmocka_unit_test(test_chains_are_apart),
        cmocka_unit_test(test_what_cannot_be_made_is_not_tried_again),
        cmocka_unit_test(test_a_client_cannot_fill_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

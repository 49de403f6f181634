// SPDX-License-Identifier: Apache-2.0
/* The pool that lanes borrow from: bounds, order, what comes back, and that nothing of it waits for
 * another lane's kernels. The first tests need no GPU: without one memory is only not locked.
 *
 * covers: cuda/memory_pool.cu cuda/pinned_pool.cu cuda/lane_buffer.cuh
 */
#include "cuda/memory_pool.cuh"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern "C" {
#include "pipeline/timing.h"

#include <cmocka.h>
}

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

static const size_t MIB = 1 << 20, BOUND = 128 * MIB;

static int gpus;
static bool small; /* under a sanitizer, which runs one kernel at a time */

static int open_pool(void **) {
    memory_pool_open(BOUND + MIB, BOUND); /* steps are whole: the odd mebibyte is not lent */
    return 0;
}

static int close_pool(void **) {
    memory_pool_close();
    return 0;
}

static enum status lend_pinned(size_t in, size_t out, struct memory_loan *loan,
                               struct failure *failure) {
    const struct memory_need need = { in, out, 0 };
    return memory_pool_lend(0, &need, NULL, 0, loan, failure);
}

/* ---- the bound */

static void test_bound(void **) {
    struct memory_loan all, more;
    struct failure failure = {};
    assert_int_equal(lend_pinned(BOUND / 2, BOUND / 2, &all, &failure), STATUS_OK);
    memset(all.pinned_in.memory, 1, BOUND / 2);
    memset(all.pinned_out.memory, 2, BOUND / 2);
    assert_int_equal(all.pinned_in.memory[BOUND / 2 - 1], 1);
    memory_pool_give_back(0, &all, 0);
    assert_null(all.pinned_in.memory);
    memory_pool_give_back(0, &all, 0); /* an empty one */
    assert_int_equal(lend_pinned(BOUND / 2 + 1, BOUND / 2, &more, &failure), STATUS_NO_MEMORY);
    assert_non_null(strstr(failure.message, "pinned_pool_bytes"));
    assert_true(memory_need_is_none(&more.need));
    memory_pool_give_back(0, &more, 0);
}

/* Memory that was given back is lent first and keeps its contents. */
static void test_kept(void **) {
    struct memory_loan first, second;
    assert_int_equal(lend_pinned(20 * MIB, 0, &first, NULL), STATUS_OK);
    uint8_t *const memory = first.pinned_in.memory;
    memory[20 * MIB - 1] = 77;
    memory_pool_give_back(0, &first, 0);
    assert_int_equal(lend_pinned(30 * MIB, 10 * MIB, &second, NULL), STATUS_OK);
    assert_ptr_equal(second.pinned_in.memory, memory);
    assert_int_equal(memory[20 * MIB - 1], 77);
    assert_int_equal(second.pinned_in.bytes, 32 * MIB);
    assert_true(second.pinned_out.memory >= memory + 32 * MIB);
    memory_pool_give_back(0, &second, 0);
}

/* ---- who waits */

struct borrower {
    pthread_t thread;
    int number;
    size_t in, out;
    enum status status;
    struct memory_loan loan;
};

static int order[8], served; /* borrowers' numbers in the order they were served; atomic */

static void *borrow(void *argument) {
    struct borrower *self = (struct borrower *)argument;
    self->status = lend_pinned(self->in, self->out, &self->loan, NULL);
    order[__atomic_fetch_add(&served, 1, __ATOMIC_ACQ_REL)] = self->number;
    return NULL;
}

static void start(struct borrower *borrower, int number, size_t in, size_t out) {
    *borrower = {};
    borrower->number = number, borrower->in = in, borrower->out = out;
    assert_int_equal(pthread_create(&borrower->thread, NULL, borrow, borrower), 0);
    usleep(50 * 1000); /* it is in line by then; if not, the test passes all the same */
}

/* A small one does not overtake a large one that waits: it would wait for ever under load. */
static void test_first_come_first_served(void **) {
    struct memory_loan held;
    struct borrower large, little;
    served = 0;
    assert_int_equal(lend_pinned(16 * MIB, 0, &held, NULL), STATUS_OK);
    start(&large, 1, BOUND / 2, BOUND / 2);
    start(&little, 2, MIB, MIB);
    assert_int_equal(__atomic_load_n(&served, __ATOMIC_ACQUIRE), 0);
    memory_pool_give_back(0, &held, 0);
    pthread_join(large.thread, NULL);
    assert_int_equal(large.status, STATUS_OK);
    assert_int_equal(order[0], 1);
    memory_pool_give_back(0, &large.loan, 0);
    pthread_join(little.thread, NULL);
    assert_int_equal(little.status, STATUS_OK);
    memory_pool_give_back(0, &little.loan, 0);
}

/* Nobody waits for ever, and who gives up leaves the line. */
static void test_gives_up(void **) {
    struct memory_loan held, loan;
    struct failure failure = {};
    assert_int_equal(lend_pinned(BOUND, 0, &held, NULL), STATUS_OK);
    assert_int_equal(lend_pinned(MIB, 0, &loan, &failure), STATUS_NO_MEMORY);
    assert_non_null(strstr(failure.message, "other jobs"));
    memory_pool_give_back(0, &held, 0);
    assert_int_equal(lend_pinned(MIB, 0, &loan, &failure), STATUS_OK);
    memory_pool_give_back(0, &loan, 0);
}

static enum status third_time(const void *context) {
    int *const asked = *(int *const *)context;
    return ++*asked < 3 ? STATUS_OK : STATUS_CANCELLED;
}

/* Nor does anybody wait for what nobody wants any more, and the next in line is not held up. */
static void test_is_asked_while_it_waits(void **) {
    struct memory_loan held, loan;
    struct failure failure = {};
    int asked = 0, *const counter = &asked;
    const struct memory_need need = { MIB, 0, 0 };
    const struct lane_wait wait = { third_time, &counter };
    assert_int_equal(lend_pinned(BOUND, 0, &held, NULL), STATUS_OK);
    assert_int_equal(memory_pool_lend(0, &need, &wait, 0, &loan, &failure), STATUS_CANCELLED);
    assert_int_equal(asked, 3);
    assert_true(memory_need_is_none(&loan.need));
    memory_pool_give_back(0, &held, 0);
    assert_int_equal(memory_pool_lend(0, &need, &wait, 0, &loan, &failure), STATUS_OK);
    assert_int_equal(asked, 3); /* there was nothing to wait for */
    memory_pool_give_back(0, &loan, 0);
}

/* ---- many at once */

enum { LANES = 8, ROUNDS = 200 };

struct borrowing_lane {
    pthread_t thread;
    int number, wrong;
    cudaStream_t stream;
};

/* Every borrower writes its own number into what it has, waits a little, and finds it again. */
static bool use(const struct borrowing_lane *lane, uint32_t *state) {
    struct memory_loan loan;
    *state = *state * 1664525 + 1013904223;
    const size_t in = (*state >> 8) % (40 * MIB), out = (*state >> 4) % (40 * MIB);
    const struct memory_need need = { in, out, gpus ? in + out + 1 : 0 };
    if (memory_pool_lend(0, &need, NULL, lane->stream, &loan, NULL)) return false;
    uint8_t *const runs[] = { loan.pinned_in.memory, loan.pinned_out.memory };
    const size_t lengths[] = { in, out };
    bool right = true;
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; at < lengths[i]; at += 4096) runs[i][at] = (uint8_t)lane->number;
    if (gpus) {
        right = !cudaMemsetAsync(loan.device, lane->number, need.device, lane->stream) &&
                !pinned_pool_copy(runs[0], loan.device, in, cudaMemcpyDeviceToHost, lane->stream);
        right = right && !cudaStreamSynchronize(lane->stream);
    }
    sched_yield();
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; at < lengths[i]; at += 4096) right &= runs[i][at] == lane->number;
    memory_pool_give_back(0, &loan, lane->stream);
    return right;
}

static void *use_often(void *argument) {
    struct borrowing_lane *lane = (struct borrowing_lane *)argument;
    uint32_t state = (uint32_t)lane->number;
    for (int i = 0; i < ROUNDS; i++) lane->wrong += !use(lane, &state);
    return NULL;
}

static void test_many(void **) {
    struct borrowing_lane lanes[LANES] = {};
    for (int i = 0; i < LANES; i++) {
        lanes[i].number = i + 1;
        if (gpus) TRY(cudaStreamCreateWithFlags(&lanes[i].stream, cudaStreamNonBlocking));
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, use_often, &lanes[i]), 0);
    }
    for (struct borrowing_lane &lane : lanes) pthread_join(lane.thread, NULL);
    for (struct borrowing_lane &lane : lanes) assert_int_equal(lane.wrong, 0);
    for (struct borrowing_lane &lane : lanes)
        if (gpus) TRY(cudaStreamDestroy(lane.stream));
}

/* ---- beside another lane's kernel */

static __global__ void hold(volatile uint32_t *release, uint64_t most_ns) {
    uint64_t began, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
    now = began;
    while (!*release && now - began < most_ns)
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
}

/* A kernel runs until it is released, or for 5 s, while memory is lent, used, given back and lent
 * again: none of these steps may wait for the kernel. */
static void test_waits_for_no_kernel(void **) {
    if (!gpus || small) skip();
    uint32_t *release;
    cudaStream_t holding, mine;
    struct memory_loan loan;
    TRY(cudaHostAlloc((void **)&release, sizeof *release, cudaHostAllocMapped));
    *release = 0;
    TRY(cudaStreamCreateWithFlags(&holding, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking));
    hold<<<1, 1, 0, holding>>>(release, UINT64_C(5000000000));
    TRY(cudaGetLastError());
    for (int i = 1; i <= 4; i++) {
        const size_t bytes = i * 9 * MIB;
        const struct memory_need need = { bytes, bytes, bytes };
        assert_int_equal(memory_pool_lend(0, &need, NULL, mine, &loan, NULL), STATUS_OK);
        memset(loan.pinned_in.memory, i, bytes);
        TRY(pinned_pool_copy(loan.device, loan.pinned_in.memory, bytes, cudaMemcpyHostToDevice,
                             mine));
        TRY(pinned_pool_copy(loan.pinned_out.memory, loan.device, bytes, cudaMemcpyDeviceToHost,
                             mine));
        TRY(cudaStreamSynchronize(mine));
        assert_memory_equal(loan.pinned_in.memory, loan.pinned_out.memory, bytes);
        memory_pool_give_back(0, &loan, mine);
    }
    assert_int_equal(cudaStreamQuery(holding), cudaErrorNotReady);
    *(volatile uint32_t *)release = 1;
    TRY(cudaStreamSynchronize(holding));
    TRY(cudaStreamDestroy(holding));
    TRY(cudaStreamDestroy(mine));
    TRY(cudaFreeHost(release));
}

static void test_device_bound(void **) {
    if (!gpus) skip();
    struct memory_loan loan;
    struct failure failure = {};
    const struct memory_need most = { 0, 0, BOUND }, more = { 0, 0, BOUND + 1 };
    assert_int_equal(memory_pool_lend(0, &more, NULL, 0, &loan, &failure), STATUS_NO_MEMORY);
    assert_non_null(strstr(failure.message, "device_pool_bytes"));
    assert_int_equal(memory_pool_lend(0, &most, NULL, 0, &loan, &failure), STATUS_OK);
    memory_pool_give_back(0, &loan, 0);
}

int main(int argc, char **argv) {
    small = argc > 1 && strcmp(argv[1], "small") == 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess) {
        cudaGetLastError();
        gpus = 0;
        puts("no GPU here: only what needs none is tested");
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bound, open_pool, close_pool),
        cmocka_unit_test_setup_teardown(test_kept, open_pool, close_pool),
        cmocka_unit_test_setup_teardown(test_first_come_first_served, open_pool, close_pool),
        cmocka_unit_test_setup_teardown(test_gives_up, open_pool, close_pool),
        cmocka_unit_test_setup_teardown(test_is_asked_while_it_waits, open_pool, close_pool),
        cmocka_unit_test_setup_teardown(test_many, open_pool, close_pool),
        cmocka_unit_test_setup_teardown(test_waits_for_no_kernel, open_pool, close_pool),
        cmocka_unit_test_setup_teardown(test_device_bound, open_pool, close_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

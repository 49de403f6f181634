// SPDX-License-Identifier: Apache-2.0
/* The choice of slots, their memory and its release, and the worker's view of it. */
#include "server/jobs/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a process without memory: this program's calloc and malloc replace the library's, but not
 * those of a sanitizer. */

static int allocations_left = -1; /* none is refused */

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { MEMORY_CAN_FAIL = 0 };
#else
enum { MEMORY_CAN_FAIL = 1 };
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);

static bool refused(void) {
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *malloc(size_t size) {
    return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return refused() ? NULL : __libc_calloc(count, size);
}
#endif

/* ---- slots */

enum { SLOTS = 6, BASE = 64 << 10, HOT_MAX = 1 << 20 };
static const int64_t s_ns = 1000000000;

static struct slots *make_some(int count, size_t span_bytes) {
    const struct slot_options options = {
        .count = count,
        .base_bytes = BASE,
        .hot_bytes_max = HOT_MAX,
        .idle_ms = 10000,
        .span_bytes = span_bytes,
        .preamble = "hello, worker",
        .preamble_bytes = 14,
    };
    struct failure failure = { 0 };
    struct slots *slots = slots_create(&options, &failure);
    assert_non_null(slots);
    return slots;
}

static struct slots *make_of(size_t span_bytes) {
    return make_some(SLOTS, span_bytes);
}

static struct slots *make(void) {
    return make_of(16 << 20);
}

/* Memory that the file takes. */
static long resident_bytes(const struct slots *slots) {
    struct stat facts;
    assert_int_equal(fstat(slots_files(slots).memory, &facts), 0);
    return (long)facts.st_blocks * 512;
}

/* A slot is as large as is expected, or half more; the lowest comes first, and the same one again.
 */
static void a_slot_grows_to_what_is_expected(void **state) {
    (void)state;
    static const size_t table[][2] = { { 1000, BASE },
                                       { BASE, BASE },
                                       { BASE + 1, BASE / 2 * 3 },
                                       { BASE / 2 * 3 + 1, 2 * BASE },
                                       { 5 * BASE, 6 * BASE },
                                       { 7 * BASE, 8 * BASE } };
    struct slots *slots = make();
    size_t grown = 0;
    assert_int_equal(slots_count(slots), SLOTS);
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(slot_take(slots, table[i][0], NULL), i);
        assert_int_equal(slot_hot(slots, i), table[i][1]);
        assert_int_equal(slot_job(slots, i)->hot_bytes, table[i][1]);
        grown += table[i][1] - BASE;
        assert_int_equal(slots_grown(slots), grown);
    }
    assert_int_equal(slots_in_use(slots), SLOTS);
    assert_int_equal(slot_take(slots, 1, NULL), -1);
    slot_give(slots, 4);
    slot_give(slots, 0);
    assert_int_equal(slot_take(slots, 6 * BASE, NULL), 4); /* has grown to that */
    assert_int_equal(slots_grown(slots), grown);
    slots_destroy(slots);
}

/* A small job leaves a large slot alone while another is free, and takes it when none is. With
 * nothing left to grow by, any slot serves a large job, and keeps its size. */
static void any_free_slot_serves_if_none_fits(void **state) {
    (void)state;
    struct slots *slots = make();
    assert_int_equal(slot_take(slots, 16 * BASE, NULL), 0);
    assert_int_equal(slot_hot(slots, 0), 16 * BASE);
    slot_give(slots, 0);
    for (int i = 1; i < SLOTS; i++) assert_int_equal(slot_take(slots, 1000, NULL), i);
    assert_int_equal(slot_take(slots, 1000, NULL), 0);
    slot_give(slots, 1);
    assert_int_equal(slot_take(slots, 8 * BASE, NULL), 1);
    assert_int_equal(slot_hot(slots, 1), BASE);
    slots_destroy(slots);
}

/* Pages that a large upload filled stay for the next one. A free slot that was not used for 10 s is
 * trimmed, the oldest first. */
static void grown_slots_are_trimmed_when_idle(void **state) {
    (void)state;
    struct slots *slots = make();
    const long before = resident_bytes(slots);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(slot_take(slots, 4 * BASE, NULL), i);
        memset(slot_bytes(slots, i), 7, 4 * BASE);
        slot_job(slots, i)->body_length = 4 * BASE;
    }
    slot_give(slots, 1);
    usleep(20000); /* more than a tick of the coarse clock */
    slot_give(slots, 0);
    const int64_t now = clock_ns();
    assert_int_equal(resident_bytes(slots), before + 9 * BASE);
    assert_int_equal(slots_trim_begin(slots, now + 9 * s_ns, false), -1);
    for (int turn = 0; turn < 2; turn++) {
        const int slot = slots_trim_begin(slots, now + 11 * s_ns, false);
        assert_int_equal(slot, 1 - turn);
        assert_int_equal(slots_in_use(slots), 1);
        assert_int_equal(slots_grown(slots), (9 - 3 * turn) * BASE);
        slots_trim_end(slots, slot);
        assert_int_equal(slots_grown(slots), (6 - 3 * turn) * BASE);
        assert_int_equal(slot_hot(slots, slot), BASE);
        assert_int_equal(resident_bytes(slots), before + (6 - 3 * turn) * BASE);
    }
    assert_int_equal(slots_trim_begin(slots, now + 11 * s_ns, false), -1);
    assert_int_equal(slot_take(slots, 1000, NULL), 0);
    slots_destroy(slots);
}

/* While it is trimmed, a job would find none. */
static void the_last_free_slot_is_not_trimmed(void **state) {
    (void)state;
    struct slots *slots = make_some(2, 16 << 20);
    for (int i = 0; i < 2; i++) assert_int_equal(slot_take(slots, 4 * BASE, NULL), i);
    slot_give(slots, 1);
    assert_int_equal(slots_trim_begin(slots, clock_ns() + 11 * s_ns, false), -1);
    slot_give(slots, 0);
    const int slot = slots_trim_begin(slots, clock_ns() + 11 * s_ns, false);
    assert_in_range(slot, 0, 1);
    slots_trim_end(slots, slot);
    slots_destroy(slots);
}

/* A larger size is wanted, for which nothing is left: a second is enough. */
static void grown_slots_are_trimmed_earlier_for_others(void **state) {
    (void)state;
    struct slots *slots = make();
    for (int i = 0; i < 2; i++) assert_int_equal(slot_take(slots, 8 * BASE, NULL), i);
    slot_give(slots, 1);
    slot_give(slots, 0);
    const int64_t now = clock_ns();
    assert_int_equal(slots_trim_begin(slots, now + 2 * s_ns, false), -1);
    assert_int_equal(slots_trim_begin(slots, now + 60 * s_ns, true), -1);
    assert_int_equal(slot_take(slots, 16 * BASE, NULL), 0);
    assert_int_equal(slot_hot(slots, 0), 8 * BASE);
    assert_int_equal(slots_trim_begin(slots, now + s_ns / 2, false), -1);
    slot_give(slots, 0);
    assert_int_equal(slot_take(slots, 16 * BASE, NULL), 0);
    assert_int_equal(slots_trim_begin(slots, now + 2 * s_ns, true), 1);
    slot_give(slots, 0);
    slots_trim_end(slots, 1);
    assert_int_equal(slot_take(slots, 16 * BASE, NULL), 0);
    assert_int_equal(slot_hot(slots, 0), 16 * BASE);
    assert_int_equal(slot_take(slots, 1, NULL), 1);
    slots_destroy(slots);
}

static void owner_is_remembered_and_job_blank(void **state) {
    (void)state;
    struct slots *slots = make();
    struct job_owner someone;
    const int slot = slot_take(slots, 1, &someone);
    assert_ptr_equal(slot_owner(slots, slot), &someone);
    slot_job(slots, slot)->plan.length = 7;
    slot_give(slots, slot);
    assert_int_equal(slot_take(slots, 1, NULL), slot);
    assert_int_equal(slot_job(slots, slot)->plan.length, 0);
    slots_destroy(slots);
}

static void what_grew_is_given_back(void **state) {
    (void)state;
    struct slots *slots = make();
    const long before = resident_bytes(slots);
    const int slot = slot_take(slots, 1, NULL);
    memset(slot_bytes(slots, slot), 7, 10 << 20);
    slot_job(slots, slot)->body_length = 10 << 20;
    assert_true(resident_bytes(slots) > before + (9 << 20));
    slot_give(slots, slot);
    assert_int_equal(resident_bytes(slots), before);
    slots_destroy(slots);
}

/* In a thread: the slot is free only after its memory is, and slots_destroy waits. */
static void a_large_slot_is_given_back_by_a_thread(void **state) {
    (void)state;
    struct slots *slots = make_of(64 << 20);
    const long before = resident_bytes(slots);
    for (int round = 0; round < 3; round++) {
        const int slot = slot_take(slots, 64 << 20, NULL);
        assert_true(slot >= 0);
        memset(slot_bytes(slots, slot), 7, 40 << 20);
        slot_job(slots, slot)->body_length = 40 << 20;
        slot_give(slots, slot);
        while (round < 2 && slots_in_use(slots)) usleep(100);
        if (round < 2) assert_int_equal(resident_bytes(slots), before);
    }
    slots_destroy(slots); /* the last one is perhaps under way */
}

/* A form that was received there may end behind its images. */
static void what_the_front_wrote_is_given_back(void **state) {
    (void)state;
    struct slots *slots = make();
    const long before = resident_bytes(slots);
    const int slot = slot_take(slots, 1, NULL);
    memset(slot_bytes(slots, slot), 7, 5 << 20);
    slot_job(slots, slot)->body_length = 1000;
    slot_job(slots, slot)->written_length = 5 << 20;
    slot_give(slots, slot);
    assert_int_equal(resident_bytes(slots), before);
    slots_destroy(slots);
}

/* A job that failed may have written anywhere without reporting it. */
static void what_a_failed_job_wrote_is_given_back(void **state) {
    (void)state;
    struct slots *slots = make();
    const long before = resident_bytes(slots);
    for (int died = 0; died < 2; died++) {
        const int slot = slot_take(slots, 1, NULL);
        memset(slot_bytes(slots, slot) + (5 << 20), 7, 5 << 20);
        slot_job(slots, slot)->body_length = 1000;
        slot_job(slots, slot)->deaths = died;
        if (!died) slot_job(slots, slot)->failure.status = STATUS_DEADLINE;
        assert_true(resident_bytes(slots) > before + (4 << 20));
        slot_give(slots, slot);
        assert_int_equal(resident_bytes(slots), before);
    }
    slots_destroy(slots);
}

/* The device's result of a damaged image may be larger than that of the cores. */
static void what_was_written_by_the_first_of_two_runs_is_given_back(void **state) {
    (void)state;
    struct slots *slots = make();
    const long before = resident_bytes(slots);
    static const uint8_t places[][2] = { { CODEC_REFUSED, CODEC_NOBODY },
                                         { CODEC_FAILED, CODEC_FAILED },
                                         { CODEC_NOBODY, CODEC_REFUSED } };
    for (int i = 0; i < 3; i++) {
        const int slot = slot_take(slots, 1, NULL);
        struct job *job = slot_job(slots, slot);
        memset(slot_bytes(slots, slot), 7, 5 << 20);
        job->body_length = job->outputs[0].offset = 4096;
        job->outputs[0].length = 1000;
        job->decoded_by = places[i][0];
        job->outputs[0].encoded_by = places[i][1];
        slot_give(slots, slot);
        assert_int_equal(resident_bytes(slots), before);
    }
    slots_destroy(slots);
}

/* The first file was 5 MiB, the one that fits is 1000 bytes. */
static void a_larger_try_before_the_result_is_given_back(void **state) {
    (void)state;
    struct slots *slots = make();
    const long before = resident_bytes(slots);
    const int slot = slot_take(slots, 1, NULL);
    struct job *job = slot_job(slots, slot);
    memset(slot_bytes(slots, slot), 7, 5 << 20);
    job->further = 1;
    job->body_length = job->outputs[0].offset = job->outputs[1].offset = 4096;
    job->outputs[0].length = job->outputs[1].length = 1000;
    job->outputs[1].fitting = (struct fitting){ .quality = 12, .tries = 5 };
    slot_give(slots, slot);
    assert_int_equal(resident_bytes(slots), before);
    slots_destroy(slots);
}

static struct slots *open_once_more(const struct slots *slots) {
    const struct slots_files files = slots_files(slots);
    struct failure failure = { 0 };
    return slots_open((struct slots_files){ dup(files.head), dup(files.memory) }, &failure);
}

static void a_worker_sees_the_same_memory(void **state) {
    (void)state;
    struct slots *slots = make();
    struct slots *other = open_once_more(slots);
    assert_non_null(other);
    assert_string_equal(slots_preamble(other), "hello, worker");
    assert_int_equal(slot_span(other), slot_span(slots));
    for (int slot = 0; slot < 5; slot++) {
        slot_bytes(slots, slot)[3] = (uint8_t)(40 + slot);
        slot_shared_job(slots, slot)->outputs[0].encode.quality = slot;
    }
    for (int slot = 0; slot < 5; slot++) {
        assert_int_equal(slot_bytes(other, slot)[3], 40 + slot);
        assert_int_equal(slot_job(other, slot)->outputs[0].encode.quality, slot);
    }
    slots_destroy(other);
    slots_destroy(slots);
}

/* A worker can change neither what it reads at its start nor the length of the slots. */
static void a_worker_cannot_change_the_head(void **state) {
    (void)state;
    struct slots *slots = make();
    const struct slots_files files = slots_files(slots);
    const off_t end = lseek(files.memory, 0, SEEK_END);
    assert_int_equal(pwrite(files.head, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_ptr_equal(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, files.head, 0), MAP_FAILED);
    assert_int_equal(ftruncate(files.head, 0), -1);
    assert_int_equal(ftruncate(files.memory, 0), -1);
    assert_int_equal(ftruncate(files.memory, end + 1), -1);
    assert_int_equal(fcntl(files.memory, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
    struct slots *other = open_once_more(slots);
    assert_string_equal(slots_preamble(other), "hello, worker");
    memset(slot_shared_job(other, 0), 7, sizeof(struct job));
    assert_int_equal(slot_job(slots, 0)->further, 0);
    slots_destroy(other);
    slots_destroy(slots);
}

/* Bytes in the LENGTH from START whose pages this process has mapped; -1: unknown. */
static long mapped_bytes(const void *start, size_t length) {
    const long page = sysconf(_SC_PAGESIZE);
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    long bytes = 0;
    for (size_t i = 0; file >= 0 && bytes >= 0 && i < length / (size_t)page; i++) {
        uint64_t entry; /* the kernel's pagemap.rst: bit 63, the page is in memory; 62, in swap */
        const off_t at = (off_t)(((uintptr_t)start / (size_t)page + i) * sizeof entry);
        if (pread(file, &entry, sizeof entry, at) != sizeof entry)
            bytes = -1;
        else if (entry >> 62)
            bytes += page;
    }
    if (file >= 0) close(file);
    return file < 0 ? -1 : bytes;
}

static void a_worker_maps_what_is_hot_and_no_more(void **state) {
    (void)state;
    struct slots *slots = make();
    memset(slot_bytes(slots, 1), 9, BASE);
    const long before = resident_bytes(slots);
    struct slots *other = open_once_more(slots);
    assert_non_null(other);
    assert_int_equal(resident_bytes(slots), before);
    for (int slot = 0; slot < SLOTS; slot++) {
        const uint8_t *start = (const uint8_t *)slot_job(other, slot);
        const long job = slot_bytes(other, slot) - start;
        const long mapped = mapped_bytes(start, (size_t)job + slot_span(other));
        if (mapped < 0) skip();
        assert_int_equal(mapped, job + BASE);
    }
    for (int i = 0; i < BASE; i++) assert_int_equal(slot_bytes(slots, 1)[i], 9);
    slots_destroy(other);
    slots_destroy(slots);
}

static void a_strange_descriptor_is_refused(void **state) {
    (void)state;
    int ends[2];
    struct failure failure = { 0 };
    assert_int_equal(pipe(ends), 0);
    assert_null(slots_open((struct slots_files){ ends[0], dup(ends[0]) }, &failure));
    assert_int_equal(failure.status, STATUS_INTERNAL);
    close(ends[1]);
}

/* Each allocation in its turn is the one that fails. */
static void no_memory_is_a_failure(void **state) {
    (void)state;
    const struct slot_options options = { .count = 2, .base_bytes = 4096, .span_bytes = 1 << 16 };
    if (!MEMORY_CAN_FAIL) skip();
    int failed = 0;
    for (;; failed++) {
        struct failure failure = { 0 };
        allocations_left = failed;
        struct slots *slots = slots_create(&options, &failure);
        allocations_left = -1;
        slots_destroy(slots);
        if (slots) break;
        assert_int_equal(failure.status, STATUS_NO_MEMORY);
        assert_true(strlen(failure.message) > 10);
    }
    assert_true(failed >= 4); /* the slots, the list of them, and two kinds of copies */
}

/* The number in the message is within the limit, and one more is not. */
static void more_slots_than_addresses_are_counted(void **state) {
    (void)state;
    enum { GIB = 1 << 30 };
    struct slot_options options = { .count = 40, .base_bytes = 4096, .span_bytes = GIB };
    struct failure failure = { 0 };
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)GIB * 16; /* nothing is allocated while it is in force */
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    const enum status status = slots_check_limit(&options, GIB, &failure);
    options.count = 14;
    const enum status fits = slots_check_limit(&options, GIB, NULL);
    options.count = 15;
    const enum status one_more = slots_check_limit(&options, GIB, NULL);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(status, STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "40 slots"));
    assert_non_null(strstr(failure.message, "16777216")); /* kB */
    assert_non_null(strstr(failure.message, "lower slots to 14"));
    assert_int_equal(fits, STATUS_OK);
    assert_int_equal(one_more, STATUS_BAD_PARAM);
    limit.rlim_cur = GIB;
    setrlimit(RLIMIT_AS, &limit);
    const enum status none = slots_check_limit(&options, GIB, &failure);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(none, STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "pixels_max"));
}

/* The memory of all slots is one file to the system, though most of it is never touched. */
static void a_file_that_may_not_be_so_long(void **state) {
    (void)state;
    enum { GIB = 1 << 30 };
    const struct slot_options options = { .count = 30, .base_bytes = 4096, .span_bytes = GIB };
    struct failure failure = { 0 };
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)GIB * 16;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const enum status status = slots_check_limit(&options, GIB, &failure);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "ulimit -f"));
    assert_non_null(strstr(failure.message, "lower slots to 15"));
    assert_int_equal(slots_check_limit(&options, GIB, &failure), STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_grows_to_what_is_expected),
        cmocka_unit_test(any_free_slot_serves_if_none_fits),
        cmocka_unit_test(grown_slots_are_trimmed_when_idle),
        cmocka_unit_test(the_last_free_slot_is_not_trimmed),
        cmocka_unit_test(grown_slots_are_trimmed_earlier_for_others),
        cmocka_unit_test(owner_is_remembered_and_job_blank),
        cmocka_unit_test(what_grew_is_given_back),
        cmocka_unit_test(a_large_slot_is_given_back_by_a_thread),
        cmocka_unit_test(what_the_front_wrote_is_given_back),
        cmocka_unit_test(what_a_failed_job_wrote_is_given_back),
        cmocka_unit_test(what_was_written_by_the_first_of_two_runs_is_given_back),
        cmocka_unit_test(a_larger_try_before_the_result_is_given_back),
        cmocka_unit_test(a_worker_sees_the_same_memory),
        cmocka_unit_test(a_worker_cannot_change_the_head),
        cmocka_unit_test(a_worker_maps_what_is_hot_and_no_more),
        cmocka_unit_test(a_strange_descriptor_is_refused),
        cmocka_unit_test(no_memory_is_a_failure),
        cmocka_unit_test(more_slots_than_addresses_are_counted),
        cmocka_unit_test(a_file_that_may_not_be_so_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

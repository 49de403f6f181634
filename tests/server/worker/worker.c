// SPDX-License-Identifier: Apache-2.0
/* A worker's process, forked from here: it says that it is ready and ends with its front, and ends
 * at once, never ready, where the system refuses it a thread.
 *
 * covers: server/worker/heartbeat.c */
#include "server/worker/worker.h"

#include "server/jobs/channel.h"
#include "server/jobs/completion_pipe.h"
#include "server/process/process.h"
#include "tests/pipeline/plan_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LANES = 3, BASE = 64 << 10, LOG_THREAD = 0 /* it does without that one */ };

/* ---- a system that refuses a thread: this program's pthread_create comes before the library's */

enum { NONE = -1 };
static int refused = NONE; /* which thread of the process, in the order of their creation */
static int threads;

typedef int creator(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *),
                   void *argument) {
    creator *real;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return threads++ == refused ? EAGAIN : real(thread, attributes, main, argument);
}

/* ---- a thread that waits for a core, as it seems, when it has looked at what it took of one */

static int pause_ms;

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (clock == CLOCK_THREAD_CPUTIME_ID && pause_ms) usleep((useconds_t)pause_ms * 1000);
    return (int)syscall(SYS_clock_gettime, clock, now);
}

/* ---- a worker, and the front's end of its channel */

static struct config config = { .devices = "cpu",
                                .lanes = LANES,
                                .batch = 1,
                                .self_test_ms = 50,
                                .staging_bytes = 1 << 16,
                                .arena_bytes = 1 << 16,
                                .pixels_max = 1 << 16,
                                .side_max = 1 << 10,
                                .codec_memory_bytes = 1 << 20 };

struct scene {
    struct slots *slots;
    int channel;
    int completions; /* the end that is read */
    pid_t worker;
};

/* ---- a device that registers memory, as far as this test can see: bytes, shared by fork */

static const struct device_driver *driver = &device_cpu;
static size_t *pinned;

static enum status pin(int index, uint8_t *bytes, size_t length, struct failure *failure) {
    (void)index, (void)bytes, (void)failure;
    __atomic_add_fetch(pinned, length, __ATOMIC_RELAXED);
    return STATUS_OK;
}

static void unpin(int index, uint8_t *bytes, size_t length) {
    (void)index, (void)bytes;
    __atomic_sub_fetch(pinned, length, __ATOMIC_RELAXED);
}

typedef int runner(struct slots *slots, int channel, const struct config *config,
                   const struct device_driver *driver, int index);

/* PIPE: where the launcher would have put it. */
static int be_worker(runner *run, struct slots *slots, int channel, int pipe, int thread) {
    channel = fcntl(channel, F_DUPFD, PROCESS_PIPES_FD + 2);
    if (dup2(pipe, PROCESS_PIPES_FD) < 0) return -1;
    refused = thread;
    threads = 0;
    alarm(20); /* one that waits for ever is killed */
    struct failure failure = { 0 };
    const struct slots_files files = slots_files(slots);
    slots = slots_open((struct slots_files){ dup(files.head), dup(files.memory) }, &failure);
    return slots ? run(slots, channel, &config, driver, 0) : -1;
}

static struct scene begin(runner *run, int thread) {
    const struct slot_options options = {
        .count = 2, .base_bytes = BASE, .hot_bytes_max = 1 << 20, .span_bytes = 1 << 20
    };
    struct failure failure = { 0 };
    int ends[2], pipe[2];
    struct scene scene = { .slots = slots_create(&options, &failure) };
    assert_non_null(scene.slots);
    assert_true(channel_open(ends));
    assert_int_equal(completion_pipe_open(pipe, 2, &failure), STATUS_OK);
    scene.channel = ends[0];
    scene.completions = pipe[0];
    scene.worker = fork();
    if (scene.worker == 0) {
        close(ends[0]);
        _exit(be_worker(run, scene.slots, ends[1], pipe[1], thread));
    }
    assert_true(scene.worker > 0);
    close(ends[1]);
    close(pipe[1]);
    return scene;
}

/* The worker's exit code, or minus the signal that it died of. */
static int end(struct scene *scene) {
    int how = 0;
    close(scene->channel);
    close(scene->completions);
    assert_int_equal(waitpid(scene->worker, &how, 0), scene->worker);
    slots_destroy(scene->slots);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

/* The next message of KIND; false when the worker has gone. */
static bool hear(const struct scene *scene, enum channel_kind kind, struct message *message) {
    int count;
    while ((count = channel_take(scene->channel, message, 1, 1000)) != 0)
        if (count == 1 && message->kind == (uint32_t)kind) return true;
    return false;
}

/* ---- tests */

static void it_is_ready_and_beats_and_ends_with_the_front(void **state) {
    (void)state;
    struct message message;
    struct scene scene = begin(worker_run, NONE);
    assert_true(hear(&scene, CHANNEL_READY, &message));
    assert_int_equal(message.capacity, 2 * LANES);
    assert_int_equal(message.lanes, LANES);
    assert_string_equal(message.text, "cpu");
    const int thread = message.thread;
    assert_true(thread > scene.worker); /* not its first: that one waits for the lanes */
    for (int i = 0; i < 3; i++) {
        assert_true(hear(&scene, CHANNEL_HEARTBEAT, &message));
        assert_int_equal(message.thread, thread);
        assert_int_equal(message.capacity, 2 * LANES); /* all that READY reported */
        assert_string_equal(message.text, "cpu");
    }
    assert_true(channel_send(scene.channel, &(struct message){ .kind = CHANNEL_SELF_TEST }));
    assert_true(hear(&scene, CHANNEL_SELF_TESTED, &message));
    assert_true(message.ok);
    assert_int_equal(end(&scene), 0);
}

/* Each thread is refused in turn: every lane of every duration, and the heartbeat. */
static void it_ends_where_a_thread_is_refused(void **state) {
    (void)state;
    for (int thread = LOG_THREAD + 1; thread <= LOG_THREAD + 1 + LANES * JOB_DURATIONS; thread++) {
        struct message message;
        struct scene scene = begin(worker_run, thread);
        assert_false(hear(&scene, CHANNEL_READY, &message));
        assert_int_equal(end(&scene), WORKER_FAILED);
    }
}

/* It has one lane, and for that as many threads as there would be lanes. */
static void a_sandbox_does_too(void **state) {
    (void)state;
    for (int thread = LOG_THREAD + 1; thread <= LOG_THREAD + 1 + LANES; thread++) {
        struct message message;
        struct scene scene = begin(worker_run_sandbox, thread);
        assert_false(hear(&scene, CHANNEL_READY, &message));
        assert_int_equal(end(&scene), WORKER_FAILED);
    }
    struct message message;
    struct scene scene = begin(worker_run_sandbox, NONE);
    assert_true(hear(&scene, CHANNEL_READY, &message));
    assert_int_equal(message.capacity, 1);
    assert_int_equal(message.lanes, 1);
    assert_int_equal(end(&scene), 0);
}

static struct job *send_job(const struct scene *scene, int *slot) {
    static const char file[] = "P5 1 1 255\n\x42";
    struct failure failure = { 0 };
    const struct probe_limits limits = { 1 << 16, 1 << 10 };
    *slot = slot_take(scene->slots, 0, NULL);
    struct job *job = slot_shared_job(scene->slots, *slot);
    memset(job, 0, sizeof *job); /* an earlier run of the slot would make this one a copy */
    memcpy(slot_bytes(scene->slots, *slot), file, sizeof file - 1);
    job->image_length = job->body_length = sizeof file - 1;
    job->plan = plan_data_of("threshold");
    strcpy(job->device, "auto");
    job->run_number = 7;
    job->hot_bytes = 5 * BASE;
    job->outputs[0].encode = encode_options_default;
    assert_int_equal(
        probe_image((const uint8_t *)file, sizeof file - 1, &limits, &job->probe, &failure),
        STATUS_OK);
    job->outputs[0].image = job->probe.shape;
    const struct message run = { .kind = CHANNEL_RUN, .slot = *slot, .run_number = 7 };
    assert_true(channel_send(scene->channel, &run));
    return job;
}

/* The front may notice that a job has finished and give its slot to another request before the
 * job's thread reports the end: the report must not be taken for the end of the new job. */
static void a_late_report_is_of_its_own_job(void **state) {
    (void)state;
    struct message message;
    struct completion completion = { -1, 0 };
    int slot;
    pause_ms = 300;
    struct scene scene = begin(worker_run, NONE);
    pause_ms = 0;
    assert_true(hear(&scene, CHANNEL_READY, &message));
    struct job *job = send_job(&scene, &slot);
    while (!__atomic_load_n(&job->finished_ns, __ATOMIC_ACQUIRE)) usleep(1000);
    __atomic_store_n(&job->run_number, 8, __ATOMIC_RELAXED);
    while (completion_pipe_take(scene.completions, &completion, 1) == 0) usleep(1000);
    assert_int_equal(completion.slot, slot);
    assert_int_equal(completion.run_number, 7);
    assert_int_equal(end(&scene), 0);
}

static bool becomes_pinned(size_t bytes) {
    for (int ms = 0; ms < 5000 && __atomic_load_n(pinned, __ATOMIC_RELAXED) != bytes; ms++)
        usleep(1000);
    return __atomic_load_n(pinned, __ATOMIC_RELAXED) == bytes;
}

/* Base bytes from the start; more with the first job that has more; less once the front asks, and
 * not again for a copy of that message or of an earlier one. */
static void what_a_slot_keeps_is_registered(void **state) {
    (void)state;
    static const struct device_codec codec = { .pin = pin, .unpin = unpin };
    struct device_driver device = device_cpu;
    struct message message;
    int slot;
    pinned = mmap(NULL, sizeof *pinned, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pinned, MAP_FAILED);
    device.codec = &codec;
    driver = &device;
    struct scene scene = begin(worker_run, NONE);
    driver = &device_cpu;
    assert_true(hear(&scene, CHANNEL_READY, &message));
    assert_true(becomes_pinned(2 * BASE));
    for (int turn = 0; turn < 2; turn++) {
        struct message ask = { .kind = CHANNEL_UNPIN, .run_number = 5 + (uint32_t)turn };
        struct job *job = send_job(&scene, &slot);
        ask.slot = slot;
        while (!__atomic_load_n(&job->finished_ns, __ATOMIC_ACQUIRE)) usleep(1000);
        assert_true(becomes_pinned(2 * BASE + 4 * BASE));
        for (int copy = 0; copy < 2; copy++) {
            if (turn) ask.run_number = copy ? 4 : 5;
            assert_true(channel_send(scene.channel, &ask));
            assert_true(hear(&scene, CHANNEL_UNPINNED, &message));
            assert_int_equal(message.run_number, ask.run_number);
            assert_true(becomes_pinned((turn ? 6 : 2) * BASE));
        }
        slot_give(scene.slots, slot);
    }
    assert_int_equal(end(&scene), 0);
    assert_int_equal(*pinned, 0);
    munmap(pinned, sizeof *pinned);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_ready_and_beats_and_ends_with_the_front),
        cmocka_unit_test(it_ends_where_a_thread_is_refused),
        cmocka_unit_test(a_sandbox_does_too),
        cmocka_unit_test(a_late_report_is_of_its_own_job),
        cmocka_unit_test(what_a_slot_keeps_is_registered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

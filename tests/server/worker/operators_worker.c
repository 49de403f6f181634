// SPDX-License-Identifier: Apache-2.0
/* The worker for users' operators, forked from here, with a sandbox that does what the plan of its
 * job says: this program again. None that misbehaves costs the front more than one job. */
#include "server/worker/operators_worker.h"

#include "config/config.h"
#include "server/jobs/channel.h"
#include "server/jobs/completion_pipe.h"
#include "server/process/process.h"
#include "server/worker/worker.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { IO_THREAD = 200, BODY = 100, RESULT = SLOT_PAGE, FLOOD = 2000, PATIENCE_S = 60 };

/* This sandbox has no heartbeat. */
static struct config config = { .worker_still_ms = 3600 * 1000, .log_buffer_bytes = 1 << 16 };

/* ---- the sandbox */

static void send_all(void) {
    static const int kinds[] = { CHANNEL_READY, CHANNEL_SELF_TESTED, CHANNEL_HEARTBEAT,
                                 CHANNEL_GAUGES, CHANNEL_RUN };
    for (int i = 0; i < 5; i++) {
        struct message message = { .kind = (uint32_t)kinds[i], .capacity = 1000, .ok = 1 };
        memset(message.text, '\n', sizeof message.text);
        channel_send(PROCESS_CHANNEL_FD, &message);
    }
}

static void complete(struct slots *slots, int slot) {
    struct job *job = slot_job(slots, slot);
    uint8_t *bytes = slot_bytes(slots, slot);
    for (int i = 0; i < BODY; i++) bytes[RESULT + i] = bytes[i] ^ 255;
    job->outputs[0].type = FORMAT_PNM;
    job->outputs[0].offset = RESULT;
    job->outputs[0].length = BODY;
    if (strcmp((const char *)job->plan.bytes, "wrong") == 0) job->outputs[0].offset = UINT64_MAX;
    __atomic_store_n(&job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
    if (strcmp((const char *)job->plan.bytes, "lose the answer") == 0) return;
    completion_pipe_send(PROCESS_PIPES_FD, &(struct completion){ slot, job->run_number });
}

static void do_as_planned(struct slots *slots, int slot) {
    struct job *job = slot_job(slots, slot);
    const char *plan = (const char *)job->plan.bytes;
    if (strcmp(plan, "lose the job") == 0 && job->outputs[0].encode.quality++ == 0) return;
    job->received = job->run_number;
    for (int i = 0; i < FLOOD && strcmp(plan, "flood") == 0; i++) send_all();
    while (strcmp(plan, "flood for ever") == 0) send_all();
    if (strcmp(plan, "crash") == 0) raise(SIGKILL);
    if (strcmp(plan, "stop") == 0) raise(SIGSTOP);
    if (strcmp(plan, "close the pipe") == 0) close(PROCESS_PIPES_FD);
    if (strcmp(plan, "close the channel") == 0) close(PROCESS_CHANNEL_FD);
    while (strncmp(plan, "close", 5) == 0) pause();
    complete(slots, slot);
}

static int be_sandbox(void) {
    struct failure failure = { 0 };
    const struct slots_files files = { PROCESS_HEAD_FD, PROCESS_SLOTS_FD };
    struct slots *slots = slots_open(files, &failure);
    struct message message = { .kind = CHANNEL_READY, .capacity = 1, .text = "sand\nbox" };
    if (!slots) return 1;
    process_become_worker(); /* it ends with the worker */
    channel_send(PROCESS_CHANNEL_FD, &message);
    while (channel_take(PROCESS_CHANNEL_FD, &message, 1, CHANNEL_FOREVER) == 1) {
        if (message.kind == CHANNEL_RUN) do_as_planned(slots, message.slot);
        if (message.kind == CHANNEL_SELF_TEST) {
            message = (struct message){ .kind = CHANNEL_SELF_TESTED, .ok = 1 };
            channel_send(PROCESS_CHANNEL_FD, &message);
        }
    }
    slots_destroy(slots);
    return 0;
}

/* ---- the front */

struct scene {
    struct slots *slots;
    int channel, completions;
    pid_t worker;
};

static struct scene begin(void) {
    const struct slot_options options = { .count = 8,
                                          .base_bytes = 64 << 10,
                                          .span_bytes = 1 << 20,
                                          .preamble = &config,
                                          .preamble_bytes = sizeof config };
    struct failure failure = { 0 };
    int ends[2], pipe[2];
    struct scene scene = { .slots = slots_create(&options, &failure) };
    assert_non_null(scene.slots);
    assert_true(channel_open(ends));
    assert_int_equal(completion_pipe_open(pipe, 8, &failure), STATUS_OK);
    scene.channel = ends[0];
    scene.completions = pipe[0];
    alarm(PATIENCE_S);
    scene.worker = fork();
    if (scene.worker == 0) {
        close(ends[0]);
        close(pipe[0]);
        if (dup2(pipe[1], PROCESS_PIPES_FD + IO_THREAD) < 0) _exit(1);
        alarm(PATIENCE_S);
        const struct slots_files files = slots_files(scene.slots);
        struct slots *slots =
            slots_open((struct slots_files){ dup(files.head), dup(files.memory) }, &failure);
        _exit(slots ? operators_worker_run(slots, ends[1], "cpu", false) : 1);
    }
    assert_true(scene.worker > 0);
    close(ends[1]);
    close(pipe[1]);
    return scene;
}

/* Its exit code. */
static int end(struct scene *scene) {
    int how = 0;
    close(scene->channel);
    close(scene->completions);
    assert_int_equal(waitpid(scene->worker, &how, 0), scene->worker);
    slots_destroy(scene->slots);
    alarm(0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

static int begin_job(struct scene *scene, const char *plan, int64_t ms) {
    const int slot = slot_take(scene->slots, BODY, NULL);
    assert_true(slot >= 0);
    struct job *job = slot_shared_job(scene->slots, slot);
    job->plan.length = 1 + (uint32_t)strlen(strcpy((char *)job->plan.bytes, plan));
    job->io_thread = IO_THREAD;
    job->run_number = 7;
    job->body_length = job->image_length = BODY;
    job->probe.format = FORMAT_PNM;
    job->progress.deadline_ns = ms ? clock_ns() + ms * 1000000 : 0;
    memset(slot_bytes(scene->slots, slot), 'p', BODY);
    const struct message message = { .kind = CHANNEL_RUN, .slot = slot, .run_number = 7 };
    assert_true(channel_send(scene->channel, &message));
    channel_send(scene->channel, &message); /* a copy: the first may have ended the worker */
    return slot;
}

/* The job, when it has come back. */
static const struct job *finish_job(struct scene *scene, int slot) {
    struct completion completion;
    assert_int_equal(poll(&(struct pollfd){ .fd = scene->completions, .events = POLLIN }, 1, -1),
                     1);
    assert_int_equal(completion_pipe_take(scene->completions, &completion, 1), 1);
    assert_int_equal(completion.slot, slot);
    assert_int_equal(completion.run_number, 7);
    return slot_shared_job(scene->slots, slot);
}

static const struct job *run(struct scene *scene, const char *plan, int64_t ms) {
    return finish_job(scene, begin_job(scene, plan, ms));
}

/* How many messages of KIND are there. */
static int count_messages(struct scene *scene, enum channel_kind kind) {
    struct message messages[64];
    int found = 0, count;
    while ((count = channel_take(scene->channel, messages, 64, 0)) > 0)
        for (int i = 0; i < count; i++) found += messages[i].kind == (uint32_t)kind;
    return found;
}

/* The next message but heartbeats. */
static struct message hear(struct scene *scene) {
    struct message message = { .kind = CHANNEL_HEARTBEAT };
    while (message.kind == CHANNEL_HEARTBEAT)
        assert_int_equal(channel_take(scene->channel, &message, 1, PATIENCE_S * 1000), 1);
    return message;
}

/* ---- tests */

static void it_passes_on_jobs_and_answers(void **state) {
    (void)state;
    struct scene scene = begin();
    const struct message message = hear(&scene);
    assert_int_equal(message.kind, CHANNEL_READY);
    assert_string_equal(message.text, "sand?box");
    for (int i = 0; i < 2; i++) {
        const int slot = begin_job(&scene, "answer", 0);
        const struct job *job = finish_job(&scene, slot);
        assert_int_equal(job->failure.status, STATUS_OK);
        assert_int_equal(job->outputs[0].length, BODY);
        for (int b = 0; b < BODY; b++)
            assert_int_equal(slot_bytes(scene.slots, slot)[job->outputs[0].offset + b], 'p' ^ 255);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(channel_send(scene.channel, &(struct message){ .kind = CHANNEL_SELF_TEST }));
        assert_int_equal(hear(&scene).kind, CHANNEL_SELF_TESTED);
    }
    assert_int_equal(end(&scene), 0);
}

/* Between it and its sandbox. */
static void what_was_lost_is_found(void **state) {
    (void)state;
    struct scene scene = begin();
    assert_int_equal(run(&scene, "lose the job", 0)->failure.status, STATUS_OK);
    assert_int_equal(run(&scene, "lose the answer", 0)->failure.status, STATUS_OK);
    assert_int_equal(run(&scene, "answer", 0)->failure.status, STATUS_OK);
    assert_int_equal(end(&scene), 0);
}

static void an_answer_that_cannot_be_one(void **state) {
    (void)state;
    struct scene scene = begin();
    assert_int_equal(run(&scene, "wrong", 0)->failure.status, STATUS_INTERNAL);
    assert_int_equal(end(&scene), WORKER_FAILED);
}

/* The job before may have done it: it goes back to the front, without an answer. */
static void one_of_a_sandbox_that_had_a_job_before(void **state) {
    (void)state;
    int how = 0;
    struct scene scene = begin();
    assert_int_equal(run(&scene, "answer", 0)->failure.status, STATUS_OK);
    const struct job *job = slot_shared_job(scene.slots, begin_job(&scene, "wrong", 0));
    assert_int_equal(waitpid(scene.worker, &how, 0), scene.worker);
    assert_int_equal(WEXITSTATUS(how), WORKER_FAILED);
    struct completion completion;
    assert_int_equal(completion_pipe_take(scene.completions, &completion, 1), 0);
    assert_int_equal(job->failure.status, STATUS_OK);
    assert_int_equal(job->finished_ns, 0);
    close(scene.channel);
    close(scene.completions);
    slots_destroy(scene.slots);
}

/* The front gets from a sandbox only the messages that it expects, each once. */
static void a_flood_is_held_back(void **state) {
    (void)state;
    struct scene scene = begin();
    assert_int_equal(run(&scene, "flood", 0)->failure.status, STATUS_OK);
    assert_int_equal(count_messages(&scene, CHANNEL_READY), 1);
    assert_int_equal(run(&scene, "flood", 0)->failure.status, STATUS_OK);
    assert_int_equal(count_messages(&scene, CHANNEL_READY), 0);
    assert_int_equal(run(&scene, "flood", 0)->failure.status, STATUS_OK);
    assert_int_equal(count_messages(&scene, CHANNEL_SELF_TESTED), 0);
    assert_int_equal(run(&scene, "flood", 0)->failure.status, STATUS_OK);
    assert_int_equal(count_messages(&scene, CHANNEL_RUN), 0);
    assert_int_equal(end(&scene), 0);
}

static void a_flood_for_ever_ends_at_its_deadline(void **state) {
    (void)state;
    struct scene scene = begin();
    assert_int_equal(run(&scene, "flood for ever", 100)->failure.status, STATUS_DEADLINE);
    assert_int_equal(end(&scene), WORKER_FAILED);
}

static void what_ends_a_sandbox(void **state) {
    (void)state;
    static const char *const plans[] = { "crash", "close the pipe", "close the channel" };
    for (int i = 0; i < 3; i++) {
        struct scene scene = begin();
        const struct job *job = run(&scene, plans[i], 0);
        assert_int_equal(job->failure.status, STATUS_INTERNAL);
        assert_non_null(strstr(job->failure.message, "the operator crashed"));
        assert_int_equal(end(&scene), WORKER_FAILED);
    }
}

/* The worker sends heartbeats of its own, with its thread id. */
static void it_beats_for_the_front(void **state) {
    (void)state;
    struct message message;
    struct scene scene = begin();
    hear(&scene);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(channel_take(scene.channel, &message, 1, PATIENCE_S * 1000), 1);
        assert_int_equal(message.kind, CHANNEL_HEARTBEAT);
        assert_int_equal(message.thread, scene.worker);
    }
    assert_int_equal(end(&scene), 0);
}

/* Nobody answers its job: the front has it done once more. */
static void a_sandbox_that_stands_still_ends(void **state) {
    (void)state;
    int how = 0;
    config.worker_still_ms = 100;
    struct scene scene = begin();
    config.worker_still_ms = 3600 * 1000;
    begin_job(&scene, "stop", 0);
    struct completion completion;
    assert_int_equal(waitpid(scene.worker, &how, 0), scene.worker);
    assert_int_equal(WEXITSTATUS(how), WORKER_FAILED);
    assert_int_equal(completion_pipe_take(scene.completions, &completion, 1), 0);
    close(scene.channel);
    close(scene.completions);
    slots_destroy(scene.slots);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[argc - 1], "--sandbox") == 0) return be_sandbox();
    /* The operators' texts, of which there are none here: nothing else gets that number. */
    if (dup2(memfd_create("texts", MFD_CLOEXEC), PROCESS_OPERATORS_FD) < 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_passes_on_jobs_and_answers),
        cmocka_unit_test(an_answer_that_cannot_be_one),
        cmocka_unit_test(one_of_a_sandbox_that_had_a_job_before),
        cmocka_unit_test(a_flood_is_held_back),
        cmocka_unit_test(a_flood_for_ever_ends_at_its_deadline),
        cmocka_unit_test(what_ends_a_sandbox),
        cmocka_unit_test(what_was_lost_is_found),
        cmocka_unit_test(it_beats_for_the_front),
        cmocka_unit_test(a_sandbox_that_stands_still_ends),
    };
    return cmocka_run_group_tests_name("operators_worker", tests, NULL, NULL);
}

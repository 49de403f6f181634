// SPDX-License-Identifier: Apache-2.0
/* How it works. To the sandbox this process is the front: it owns one slot, a channel and a
 * completion pipe, so that the sandbox runs the same code as every worker. One loop passes messages
 * on in both directions, and sends heartbeats to the front. While a job runs, the loop copies its
 * progress to the front's slot and the front's cancellation to the sandbox's slot every LOOK_MS.
 * A sandbox that makes no progress is killed, as the front kills a worker, and the front runs the
 * job once more. An answer of the sandbox is not trusted (answer.h): after an invalid one the
 * sandbox counts as damaged and is killed. */
#include "server/worker/operators_worker.h"

#include "server/dispatch/sweep.h"
#include "server/jobs/answer.h"
#include "server/jobs/channel.h"
#include "server/jobs/completion_pipe.h"
#include "server/log/log.h"
#include "server/process/process.h"
#include "server/process/stillness.h"
#include "server/sandbox/sandbox.h"
#include "server/worker/heartbeat.h"
#include "server/worker/worker.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NONE = -1,
    LOOK_MS = 5,
    HOT_BYTES = 16 << 20,
    CELL_HOT_BYTES = 1 << 20,
    REAP_MS = 500,
    MESSAGES = 16
};
static const int64_t ms_ns = 1000000;

struct operators_worker {
    struct slots *slots; /* the front's */
    int channel;         /* to the front */
    struct slots *own;   /* one slot, which the sandbox maps too */
    int own_slot;
    int sandbox;                /* the channel to the sandbox */
    int completions;            /* the pipe's reading end */
    pid_t pid;                  /* the sandbox; 0: it has been reaped */
    int job;                    /* the front's slot whose job is running, or NONE */
    int64_t over_since_ns;      /* when the job was first seen late or cancelled; 0: it is not */
    bool cell;                  /* the sandbox is a decoding cell */
    bool used;                  /* the sandbox has run a job before this one */
    bool spoilt;                /* the sandbox returned an invalid answer; it gets no further job */
    int64_t begun_ns;           /* when the job was first sent to the sandbox */
    int64_t sent_ns;            /* and last */
    bool ready;                 /* READY was sent to the front */
    int self_tests;             /* requested from the sandbox and not answered yet */
    int64_t beat_ns;            /* when a heartbeat was last sent to the front */
    struct message facts;       /* the sandbox's READY, which heartbeats repeat */
    int64_t heard_ns;           /* when the sandbox's last heartbeat came */
    pid_t heard_thread;         /* its thread, as the sandbox claims; looked up only within it */
    struct stillness stillness; /* of that thread, while no heartbeat comes */
    int64_t still_ns;           /* the longest stillness before the sandbox is killed */
};

/* ---- in */

static void send_run(struct operators_worker *worker) {
    const struct job *job = slot_job(worker->slots, worker->job);
    const struct message message = { .kind = CHANNEL_RUN,
                                     .slot = worker->own_slot,
                                     .run_number = job->run_number };
    worker->sent_ns = clock_ns();
    channel_send(worker->sandbox, &message);
}

/* Copies a part of the front's slot to the same place. The numbers are from shared memory. */
static void copy_in(const struct operators_worker *worker, int slot, uint64_t offset,
                    uint64_t length) {
    const uint64_t span = slot_span(worker->own);
    if (offset > span) return;
    memcpy(slot_bytes(worker->own, worker->own_slot) + offset,
           slot_bytes(worker->slots, slot) + offset,
           length < span - offset ? length : span - offset);
}

/* A sandbox that encodes gets the pixels of its files alone. */
static void copy_bytes(const struct operators_worker *worker, int slot) {
    const struct job *job = slot_job(worker->slots, slot);
    if (job->run != RUN_ENCODE) {
        copy_in(worker, slot, 0, job->body_length);
        return;
    }
    copy_in(worker, slot, job->profile_offset, job->profile_length);
    for (int o = 0; o < job_output_count(job); o++)
        if (job->outputs[o].apart)
            copy_in(worker, slot, job->outputs[o].offset, job->outputs[o].length);
}

static void begin(struct operators_worker *worker, int slot) {
    struct job *from = slot_job(worker->slots, slot);
    struct job *to = slot_shared_job(worker->own, worker->own_slot);
    const uint64_t span = slot_span(worker->own);
    *to = *from;
    if (to->body_length > span) to->body_length = span; /* `from` is in shared memory */
    to->io_thread = 0;
    to->deaths = 0;
    to->received = 0;
    to->finished_ns = 0;
    memset(&to->failure, 0, sizeof to->failure);
    from->culprit = to->culprit = 0;
    copy_bytes(worker, slot);
    worker->job = slot;
    worker->begun_ns = clock_ns();
    worker->over_since_ns = 0;
    __atomic_store_n(&from->received, from->run_number, __ATOMIC_RELAXED);
    __atomic_store_n(&from->started, 1, __ATOMIC_RELEASE);
    send_run(worker);
}

/* ---- out */

/* Returns the job's slot to the front. */
static void answer(struct operators_worker *worker) {
    const int slot = worker->job;
    worker->job = NONE;
    worker_finish_job(slot_job(worker->slots, slot), slot);
}

static size_t hot_bytes(const struct operators_worker *worker) {
    const size_t span = slot_span(worker->slots);
    const size_t hot = worker->cell ? CELL_HOT_BYTES : HOT_BYTES;
    return span < hot ? span : hot;
}

/* Erases all that the job may have written, by zeros or by freeing pages, for the next job. */
static void empty_own_slot(struct operators_worker *worker) {
    struct job *job = slot_job(worker->own, worker->own_slot);
    const struct job *asked = slot_job(worker->slots, worker->job);
    const size_t hot = hot_bytes(worker);
    const uint64_t end = asked->failure.status || worker->cell ? hot : job_bytes_end(asked);
    memset(slot_bytes(worker->own, worker->own_slot), 0, end < hot ? end : hot);
    job->deaths = 1; /* makes slot_give free all pages beyond the hot bytes */
    slot_give(worker->own, worker->own_slot);
    worker->own_slot = slot_take(worker->own, 0, NULL);
}

/* Copies the answer to the front's slot. An invalid answer may be an earlier job's doing: then the
 * front runs this job again, as if the sandbox had crashed. */
static void take_answer(struct operators_worker *worker) {
    struct job *job = slot_job(worker->slots, worker->job);
    worker->spoilt =
        !answer_take_from_sandbox(worker->slots, worker->job, worker->own, worker->own_slot);
    if (worker->spoilt)
        log_event_of(LOG_ERROR, "answer_invalid", job->request_id, job->trace_id,
                     "worker: job %.63s: %s: it is killed", job->request_id, job->failure.message);
    if (worker->spoilt && worker->used) {
        job->failure = (struct failure){ 0 };
        return;
    }
    empty_own_slot(worker);
    answer(worker);
    worker->used = true;
}

static void take_completion(struct operators_worker *worker) {
    struct completion completion;
    if (!completion_pipe_take(worker->completions, &completion, 1) || worker->job == NONE ||
        completion.slot != worker->own_slot ||
        completion.run_number != slot_job(worker->slots, worker->job)->run_number)
        return;
    take_answer(worker);
}

/* ---- while it runs */

/* Detects a lost message, as dispatcher_sweep() and dispatcher_overdue() do for workers. */
static void find_lost(struct operators_worker *worker, int64_t now) {
    switch (sweep_look(slot_shared_job(worker->own, worker->own_slot), worker->sent_ns, now)) {
    case SWEEP_NOT_RECEIVED:
        if (channel_is_read(worker->sandbox)) send_run(worker);
        break;
    case SWEEP_NOT_REPORTED: take_answer(worker); break;
    default: break;
    }
}

/* Copies the job's progress and cancellation. False: it has exceeded its time and the grace. A
 * cell reports no progress and does not stop: it is presumed to work, and gets no grace. */
static bool watch(struct operators_worker *worker) {
    struct progress *front = &slot_job(worker->slots, worker->job)->progress;
    struct progress *own = &slot_shared_job(worker->own, worker->own_slot)->progress;
    const int64_t now = clock_ns();
    const int64_t seen = worker->cell ? now : __atomic_load_n(&own->seen_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&own->cancelled, __atomic_load_n(&front->cancelled, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&front->step, __atomic_load_n(&own->step, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(&front->done, __atomic_load_n(&own->done, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(&front->total, __atomic_load_n(&own->total, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    if (seen <= now) __atomic_store_n(&front->seen_ns, seen, __ATOMIC_RELAXED);
    if (!progress_state(front)) return true;
    if (!worker->over_since_ns) worker->over_since_ns = now;
    return !worker->cell && now - worker->over_since_ns <= OPERATORS_GRACE_MS * ms_ns;
}

/* The time of a process that did not end its job counts as the job's. */
static void take_time(const struct operators_worker *worker) {
    struct job *job = slot_job(worker->slots, worker->job);
    const enum stage stage = job->run == RUN_DECODE   ? STAGE_DECODE
                             : job->run == RUN_ENCODE ? STAGE_ENCODE
                                                      : STAGE_COMPUTE;
    job->timing = (struct timing){ .span_count = 0 };
    job->timing.stage_ms[stage] = ns_to_ms(clock_ns() - worker->begun_ns);
}

/* The step that runs may be why the job is not answered. */
static void blame_step(const struct operators_worker *worker) {
    struct job *job = slot_job(worker->slots, worker->job);
    const struct progress *own = &slot_shared_job(worker->own, worker->own_slot)->progress;
    const uint32_t step = __atomic_load_n(&own->step, __ATOMIC_RELAXED);
    if (job->run == RUN_PLAN && step < INT32_MAX) job->culprit = (int32_t)step + 1;
}

/* Returns the worker's exit code. */
static int give_up_job(struct operators_worker *worker) {
    struct job *job = slot_job(worker->slots, worker->job);
    const enum status state = progress_state(&job->progress);
    const bool usual = worker->cell && state == STATUS_CANCELLED;
    log_event_of(usual ? LOG_INFO : LOG_ERROR, "job_killed", job->request_id, job->trace_id,
                 "worker: job %.63s did not stop in time: its process is killed", job->request_id);
    fail(&job->failure, state,
         state == STATUS_CANCELLED ? "the client has disconnected"
         : job->run == RUN_DECODE  ? "not decoded within the time allowed; send a smaller image"
         : job->run == RUN_ENCODE  ? "not encoded within the time allowed; ask for a smaller image"
                                   : "not done within the time allowed: the operator did not stop");
    blame_step(worker);
    kill(worker->pid, SIGKILL);
    take_time(worker);
    answer(worker);
    return usual ? PROCESS_CANCELLED : WORKER_FAILED;
}

/* ---- the sandbox's end */

/* Kills and reaps the sandbox, which may only have closed its channel or pipe. Returns its exit
 * code or minus its signal; WORKER_FAILED if it has not ended after REAP_MS. */
static int reap(struct operators_worker *worker) {
    int code;
    if (!process_end(worker->pid, clock_ns() + REAP_MS * ms_ns, &code)) return WORKER_FAILED;
    worker->pid = 0; /* the number may be reused now */
    return code;
}

static const char *work_of(const struct operators_worker *worker) {
    return worker->cell ? "the decoding cell" : "users' operators";
}

/* Whether a job whose sandbox died may run once more: an earlier job may be the cause, or for a
 * cell the machine, which kills what takes its memory. */
static bool may_run_again(const struct operators_worker *worker, const struct job *job) {
    return worker->cell ? job->deaths == 0 : worker->used;
}

/* Answers a job that is itself the cause, and does not run again. */
static void sandbox_ended(struct operators_worker *worker) {
    const int code = reap(worker);
    if (code < 0)
        log_event(LOG_ERROR, "operators_process_died", "worker: the process of %s died: %s",
                  work_of(worker), strsignal(-code));
    if (worker->job == NONE) return;
    struct job *job = slot_job(worker->slots, worker->job);
    if (may_run_again(worker, job)) return;
    if (job->run == RUN_DECODE)
        fail(&job->failure, STATUS_CORRUPT,
             "the image is broken: its decoder crashed; send an intact file");
    else if (job->run == RUN_ENCODE)
        fail(&job->failure, STATUS_INTERNAL, "the encoder crashed; ask for another type");
    else if (code < 0)
        fail(&job->failure, STATUS_INTERNAL, "the operator crashed: %s", strsignal(-code));
    else if (code == WORKER_FAILED)
        fail(&job->failure, STATUS_INTERNAL, "the operator crashed: its device failed");
    else
        fail(&job->failure, STATUS_INTERNAL, "the operator crashed: its process ended with code %d",
             code);
    blame_step(worker);
    take_time(worker);
    answer(worker);
}

/* ---- messages */

/* Whether MESSAGE is a duplicate: one that the front resent may still arrive. */
static bool is_copy(const struct operators_worker *worker, const struct message *message) {
    const struct job *job = slot_job(worker->slots, message->slot);
    return job->run_number != message->run_number || job->received == message->run_number;
}

/* Takes the front's messages. False: it has closed the channel. */
static bool take_from_front(struct operators_worker *worker) {
    struct message message;
    int count;
    while ((count = channel_take(worker->channel, &message, 1, 0)) == 1) {
        if (message.kind == CHANNEL_SELF_TEST)
            worker->self_tests += channel_send(worker->sandbox, &message);
        else if (message.kind == CHANNEL_RUN && worker->job == NONE && !is_copy(worker, &message))
            begin(worker, message.slot);
    }
    return count != 0;
}

/* Whether the front expects a message of this kind. An operator can write into the channel without
 * limit, and must not flood the front. */
static bool take_expected(struct operators_worker *worker, struct message *message) {
    switch (message->kind) {
    case CHANNEL_READY:
        if (worker->ready) return false;
        worker->ready = true;
        worker->heard_ns = clock_ns();
        worker->heard_thread = message->thread;
        message->thread = gettid();
        message->capacity = message->lanes = 1;
        message->many = 0;
        answer_clean_text(message->text, sizeof message->text);
        worker->facts = *message;
        return true;
    case CHANNEL_SELF_TESTED:
        if (!worker->self_tests) return false;
        worker->self_tests--;
        return true;
    default: return false;
    }
}

/* Passes on some of the sandbox's messages, at most MESSAGES: endless ones must not keep the loop
 * from checking the time. False: the sandbox has ended. */
static bool take_from_sandbox(struct operators_worker *worker) {
    struct message messages[MESSAGES];
    const int count = channel_take(worker->sandbox, messages, MESSAGES, 0);
    for (int i = 0; i < count; i++) {
        struct message *message = &messages[i];
        if (message->kind == CHANNEL_HEARTBEAT) worker->heard_ns = clock_ns();
        if (message->kind == CHANNEL_HEARTBEAT && message->capacity) message->kind = CHANNEL_READY;
        if (!take_expected(worker, message)) continue;
        message->capacity = message->lanes = 1;
        message->many = 0;
        answer_clean_text(message->text, sizeof message->text);
        channel_send(worker->channel, message);
    }
    return count != 0;
}

/* ---- signs of life */

static void beat(struct operators_worker *worker, int64_t now) {
    struct message message = worker->facts;
    if (!worker->ready || now - worker->beat_ns < HEARTBEAT_MS * ms_ns) return;
    worker->beat_ns = now;
    message.kind = CHANNEL_HEARTBEAT;
    channel_send(worker->channel, &message);
}

static bool is_still(struct operators_worker *worker, int64_t now) {
    if (!worker->ready || now - worker->heard_ns <= HEARTBEAT_LATE_MS * ms_ns) {
        stillness_end(&worker->stillness);
        return false;
    }
    return stillness_look(&worker->stillness, worker->pid, worker->heard_thread, now) >
           worker->still_ns;
}

static int serve(struct operators_worker *worker) {
    for (;;) {
        const int64_t now = clock_ns();
        beat(worker, now);
        if (is_still(worker, now)) {
            log_event(LOG_ERROR, "operators_process_still",
                      "worker: the process of %s stands still: killed", work_of(worker));
            return WORKER_FAILED;
        }
        struct pollfd ready[] = { { .fd = worker->channel, .events = POLLIN },
                                  { .fd = worker->sandbox, .events = POLLIN },
                                  { .fd = worker->completions, .events = POLLIN } };
        poll(ready, 3, worker->job == NONE ? HEARTBEAT_MS / 2 : LOOK_MS);
        if (ready[2].revents & POLLIN) take_completion(worker);
        const bool closed = ready[2].revents && !(ready[2].revents & POLLIN);
        if (closed || (ready[1].revents && !take_from_sandbox(worker))) {
            take_completion(worker);
            sandbox_ended(worker);
            return WORKER_FAILED;
        }
        if (worker->job != NONE) find_lost(worker, clock_ns());
        if (worker->spoilt) return WORKER_FAILED;
        if (ready[0].revents && !take_from_front(worker)) return 0;
        if (worker->job != NONE && !watch(worker)) return give_up_job(worker);
    }
}

/* ---- life */

/* The configuration followed by the operators' texts, if there are to be some; heap, NULL without
 * memory or texts. */
static char *make_preamble(const struct operators_worker *worker, size_t *bytes) {
    const size_t head = slots_preamble_bytes(worker->slots);
    struct stat facts = { .st_size = 0 };
    if (!worker->cell && fstat(PROCESS_OPERATORS_FD, &facts) != 0) return NULL;
    *bytes = head + (size_t)facts.st_size;
    char *preamble = malloc(*bytes + 1);
    if (!preamble) return NULL;
    memcpy(preamble, slots_preamble(worker->slots), head);
    if (worker->cell ||
        pread(PROCESS_OPERATORS_FD, preamble + head, *bytes - head, 0) == (ssize_t)facts.st_size)
        return preamble;
    free(preamble);
    return NULL;
}

static enum status open_own_slot(struct operators_worker *worker, struct failure *failure) {
    size_t preamble_bytes = 0;
    char *preamble = make_preamble(worker, &preamble_bytes);
    const struct slot_options options = {
        .count = 1,
        .base_bytes = hot_bytes(worker),
        .span_bytes = slot_span(worker->slots),
        .preamble = preamble,
        .preamble_bytes = preamble_bytes,
    };
    if (!preamble) return fail(failure, STATUS_NO_MEMORY, "the operators' texts cannot be read");
    worker->own = slots_create(&options, failure);
    free(preamble);
    if (!worker->own) return STATUS_NO_MEMORY;
    worker->own_slot = slot_take(worker->own, 0, NULL);
    return STATUS_OK;
}

static enum status open_sandbox(struct operators_worker *worker, const char *device,
                                struct failure *failure) {
    int ends[2], pipe[2];
    if (open_own_slot(worker, failure) || completion_pipe_open(pipe, 1, failure))
        return failure->status;
    if (!channel_open(ends))
        return fail(failure, STATUS_NO_MEMORY, "the system has no socket pair");
    worker->sandbox = ends[0];
    worker->completions = pipe[0];
    /* M_PERTURB (worker.c) overwrites freed memory, but not blocks in a thread's own cache. */
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
    const struct process_files files = { .slots = slots_files(worker->own),
                                         .channel = ends[1],
                                         .operators = -1,
                                         .pipes = &pipe[1],
                                         .pipe_count = 1 };
    worker->pid = process_start(device, worker->cell ? PROCESS_DECODE : PROCESS_SANDBOX, &files);
    close(ends[1]);
    close(pipe[1]);
    return worker->pid > 0 ? STATUS_OK
                           : fail(failure, STATUS_INTERNAL, "the system starts no process");
}

int operators_worker_run(struct slots *slots, int channel, const char *device, bool cell) {
    const struct config *config = slots_preamble(slots);
    struct operators_worker worker = { .slots = slots,
                                       .channel = channel,
                                       .cell = cell,
                                       .job = NONE,
                                       .sandbox = -1,
                                       .completions = -1,
                                       .still_ns = config->worker_still_ms * ms_ns };
    struct failure failure = { 0 };
    int code = WORKER_FAILED;
    if (open_sandbox(&worker, device, &failure)) {
        log_event(LOG_ERROR, "worker_failed", "worker: the sandbox could not be started: %s",
                  failure.message);
    } else {
        sandbox_limit(SANDBOX_OPERATORS, config, NULL); /* while there is no other thread */
        log_start((size_t)config->log_buffer_bytes, slots_log_dropped(slots));
        sandbox_filter(SANDBOX_OPERATORS, config, worker.pid);
        code = serve(&worker);
    }
    if (worker.pid > 0) reap(&worker); /* else it would become a zombie of process 1 */
    if (worker.sandbox >= 0) close(worker.sandbox);
    if (worker.completions >= 0) close(worker.completions);
    slots_destroy(worker.own);
    return code;
}

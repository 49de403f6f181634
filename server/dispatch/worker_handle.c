// SPDX-License-Identifier: Apache-2.0
/* How it works. A process is starting until it sends READY, works, is killed or closes its channel,
 * and is reaped at last; restart_ns says when the next one may start. Reaping never waits:
 * a process that the driver holds in the kernel may end seconds after its channel closed, and may
 * write into the slots of its jobs until then. When no heartbeat comes, the kernel says whether the
 * process is still. Whether its lanes are still, a clock says; it starts anew when idle lanes get
 * work, and after the front itself did not run. A worker that dies before it was ever healthy is
 * restarted after 0.3 s, then twice as long each time, up to 10 s; the CPU's, which is ready in 50
 * ms and may be the only one, after 0.6 s at most. */
#include "server/dispatch/worker_handle.h"

#include "server/jobs/answer.h"
#include "server/log/log.h"
#include "server/process/process.h"
#include "server/worker/heartbeat.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t ms_ns = 1000000;

/* SLACK_MS: a busy machine may keep a thread waiting, however short self_test_ms is. LANES_MS: the
 * least time after which lanes with jobs are still. END_MS: given to an unwanted process. */
enum { SLACK_MS = 250, LANES_MS = 5000, END_MS = 3000 };

/* A lane whose job checked its progress this recently is not looked up in the kernel. */
enum { SEEN_MS = 250 };

/* More jobs than any worker takes: a batch on each lane, a lane for every core. */
enum { CAPACITY_MAX = 1 << 20 };

enum { RESTART_MS = 160, CPU_DOUBLINGS = 2, GPU_DOUBLINGS = 6 };

/* A self-test that was read but not answered for this long is sent again, since the request or the
 * answer may be lost. Busy lanes drop the copy. */
enum { ASK_AGAIN_MS = 1000 };

static const char starting[] = "starting";

void worker_handle_init(struct worker_handle *worker, const char *device, bool operators) {
    *worker = (struct worker_handle){
        .channel = -1, .cpu = strcmp(device, "cpu") == 0, .operators = operators, .wanted = true
    };
    snprintf(worker->trouble, sizeof worker->trouble, "%s", starting);
    snprintf(worker->device, sizeof worker->device, "%s", device);
    snprintf(worker->label, sizeof worker->label, "%s%s", worker->device,
             operators ? " for users' operators" : "");
}

void worker_handle_init_cell(struct worker_handle *worker) {
    worker_handle_init(worker, "cpu", false);
    snprintf(worker->label, sizeof worker->label, "%s for decoding", worker->device);
    worker->decodes = true;
    worker->wanted = false;
}

void worker_handle_want(struct worker_handle *worker) {
    if (!worker->decodes || worker->wanted || worker->pid) return;
    worker->wanted = true;
    worker->ill_since_ns = 0;
}

bool worker_handle_is_left(const struct worker_handle *worker, int64_t now, int64_t idle_ns) {
    if (!worker->decodes || !worker->pid) return false;
    return !worker->wanted || (worker->ready && !worker->running && !worker->killed &&
                               worker->channel >= 0 && now - worker->used_ns > idle_ns);
}

struct worker_process worker_handle_launch(const struct worker_handle *worker,
                                           struct slots_files slots, const int *pipes,
                                           int pipe_count) {
    int ends[2];
    if (!channel_open(ends))
        return (struct worker_process){ -1, -1, "the system has no socket pair" };
    const struct process_files files = {
        .slots = slots,
        .channel = ends[1],
        .operators = worker->generation ? worker->generation->texts_fd : -1,
        .pipes = pipes,
        .pipe_count = pipe_count,
    };
    const enum process_role role = worker->operators ? PROCESS_OPERATORS
                                   : worker->decodes ? PROCESS_CELL
                                                     : PROCESS_WORKER;
    const pid_t pid = process_start(worker->device, role, &files);
    close(ends[1]);
    if (pid > 0) return (struct worker_process){ pid, ends[0], NULL };
    close(ends[0]);
    return (struct worker_process){ -1, -1, "the system starts no process" };
}

bool worker_handle_start(struct worker_handle *worker, const struct worker_process *process) {
    if (process->pid < 0) {
        worker->restart_ns = clock_ns() + 1000 * ms_ns;
        snprintf(worker->trouble, sizeof worker->trouble, "could not be started: %s",
                 process->trouble);
        log_event(LOG_ERROR, "worker_not_started", "worker %s %s", worker->label, worker->trouble);
        return false;
    }
    worker->pid = process->pid;
    worker->channel = process->channel;
    worker->ready = worker->alone = worker->self_test_ok = worker->self_test_pending = false;
    worker->still = NULL;
    worker->killed = worker->stood_still = worker->distrusted = false;
    worker->heartbeat_thread = 0;
    worker->unpin_asked = 0;
    stillness_end(&worker->stillness);
    worker->running = 0;
    worker->gauges = (struct gauges){ .known = 0 };
    worker->started_ns = worker->moved_ns = clock_ns();
    snprintf(worker->trouble, sizeof worker->trouble, "%s", starting);
    return true;
}

static void end_process(struct worker_handle *worker) {
    if (!worker->killed) worker->kill_due = true;
    worker->killed = true;
}

void worker_handle_kill(struct worker_handle *worker) {
    if (worker->killed) return;
    end_process(worker);
    worker->still = worker->ready ? "hung, and is being ended"
                                  : "did not open its device within worker_start_ms, and is being "
                                    "ended";
    log_event(LOG_ERROR, "worker_killed", "worker %s %s", worker->label, worker->still);
}

void worker_handle_distrust(struct worker_handle *worker) {
    worker->distrusted = true;
    end_process(worker);
    worker->still = "wrote invalid data, and is being ended";
    log_event(LOG_ERROR, "worker_killed", "worker %s %s", worker->label, worker->still);
}

void worker_handle_close(struct worker_handle *worker) {
    close(worker->channel);
    worker->channel = -1;
    end_process(worker);
    worker->still = "died, and its process has not ended yet";
}

void worker_handle_end(struct worker_handle *worker, int64_t now) {
    worker->wanted = false;
    if (worker->channel >= 0) {
        close(worker->channel);
        worker->channel = -1;
        worker->moved_ns = now;
    } else if (worker->pid && now - worker->moved_ns > END_MS * ms_ns) {
        end_process(worker);
    }
}

bool worker_handle_reap(struct worker_handle *worker) {
    int code;
    if (!process_reap(worker->pid, &code)) return false;
    worker->early_deaths = worker->ready && worker->self_test_ok ? 0 : worker->early_deaths + 1;
    worker->pid = 0;
    worker->ready = worker->self_test_ok = worker->kill_due = false;
    worker->still = NULL;
    if (!worker->wanted) return true;
    const bool cancelled = worker->decodes && code == PROCESS_CANCELLED;
    worker->cancelled += cancelled;
    worker->restarts += !cancelled;
    if (cancelled) {
        snprintf(worker->trouble, sizeof worker->trouble,
                 "was ended as its client has gone, being started again");
        log_event(LOG_INFO, "worker_cancelled", "worker %s %s", worker->label, worker->trouble);
    } else {
        snprintf(worker->trouble, sizeof worker->trouble, "died (%s %d), being started again",
                 code < 0 ? "signal" : "code", code < 0 ? -code : code);
        log_event(LOG_ERROR, "worker_died", "worker %s %s", worker->label, worker->trouble);
    }
    const int most = worker->cpu ? CPU_DOUBLINGS : GPU_DOUBLINGS;
    const int shift = worker->early_deaths < most ? worker->early_deaths : most;
    worker->restart_ns = clock_ns() + (worker->early_deaths ? (RESTART_MS << shift) * ms_ns : 0);
    return true;
}

static void take_text(char *to, size_t size, const struct message *message) {
    memcpy(to, message->text, size < sizeof message->text ? size : sizeof message->text);
    answer_clean_text(to, size);
}

/* Checks the fields of READY, which each heartbeat repeats. */
static bool is_sane(const struct message *message) {
    return message->capacity >= 1 && message->capacity <= CAPACITY_MAX && message->lanes >= 1 &&
           message->lanes <= message->capacity && message->many >= 0 &&
           message->many < message->capacity && message->thread > 0;
}

static void became_ready(struct worker_handle *worker, const struct message *message) {
    worker->ready = worker->self_test_ok = true; /* READY comes after a first self-test */
    worker->capacity = message->capacity;
    worker->many = message->many;
    worker->lanes = message->lanes;
    worker->engines = message->engines;
    worker->heartbeat_thread = message->thread;
    worker->early_deaths = 0;
    worker->ill_since_ns = 0;
    worker->trouble[0] = 0;
    worker->self_test_sent_ns = worker->heartbeat_ns = worker->moved_ns = clock_ns();
    worker->checked_ns = worker->used_ns = worker->moved_ns;
    take_text(worker->name, sizeof worker->name, message);
    log_event(LOG_INFO, "worker_started", "worker %s ready: %s, %.0f ms after its start",
              worker->label, worker->name, ns_to_ms(clock_ns() - worker->started_ns));
}

static void receive_self_test(struct worker_handle *worker, const struct message *message) {
    if (!worker->self_test_pending) return; /* the answer to a copy */
    worker->self_test_pending = false;
    worker->self_test_ok = message->ok;
    worker_handle_moved(worker, clock_ns());
    take_text(worker->trouble, sizeof worker->trouble, message);
    if (message->ok) worker->trouble[0] = '\0';
}

static void receive_heartbeat(struct worker_handle *worker, const struct message *message) {
    if (message->capacity && !is_sane(message)) {
        worker_handle_distrust(worker);
        return;
    }
    if (message->capacity && !worker->ready) became_ready(worker, message);
    worker->heartbeat_ns = clock_ns();
    worker->heartbeat_thread = message->thread;
}

void worker_handle_receive(struct worker_handle *worker, const struct message *message) {
    if (worker->distrusted) return;
    switch (message->kind) {
    case CHANNEL_READY:
        if (!is_sane(message))
            worker_handle_distrust(worker);
        else if (!worker->ready)
            became_ready(worker, message);
        break;
    case CHANNEL_SELF_TESTED: receive_self_test(worker, message); break;
    case CHANNEL_GAUGES:
        worker->gauges = message->gauges;
        worker->gauges_ns = clock_ns();
        break;
    case CHANNEL_UNPINNED: worker->unpinned = message->run_number; break;
    case CHANNEL_HEARTBEAT: receive_heartbeat(worker, message); break;
    default: worker_handle_distrust(worker);
    }
}

void worker_handle_moved(struct worker_handle *worker, int64_t when) {
    if (when > worker->moved_ns) worker->moved_ns = when;
}

void worker_handle_reset_clocks(struct worker_handle *worker, int64_t now) {
    worker->heartbeat_ns = now;
    worker_handle_moved(worker, now);
}

static bool has_work(const struct worker_handle *worker) {
    return worker->running || worker->self_test_pending;
}

static void send_self_test(struct worker_handle *worker, int64_t now) {
    if (!has_work(worker)) worker_handle_moved(worker, now);
    worker->self_test_pending |=
        channel_send(worker->channel, &(struct message){ .kind = CHANNEL_SELF_TEST });
    worker->self_test_sent_ns = now;
}

static void set_still(struct worker_handle *worker, const char *still) {
    if (still && !worker->still)
        log_event(LOG_ERROR, "worker_still", "worker %s %s", worker->label, still);
    if (!still && worker->still)
        log_event(LOG_INFO, "worker_moves", "worker %s moves again", worker->label);
    worker->still = still;
}

static bool is_late(const struct worker_handle *worker, int64_t now) {
    return now - worker->heartbeat_ns > HEARTBEAT_LATE_MS * ms_ns;
}

/* How the process is still, in words; NULL: it is not. */
static const char *check_process(struct worker_handle *worker, int64_t now, int64_t still_ns) {
    const int64_t past = now - worker->checked_ns;
    worker->checked_ns = now;
    if (!is_late(worker, now)) {
        stillness_end(&worker->stillness);
        return NULL;
    }
    worker_handle_moved(worker, worker->moved_ns + past);
    const int64_t still =
        stillness_look(&worker->stillness, worker->pid, worker->heartbeat_thread, now);
    worker->stood_still = still > still_ns;
    if (worker->stillness.status.state == THREAD_TRACED)
        return "gives no sign of life: a debugger holds its process";
    return still > still_ns / 2 ? "gives no sign of life: its process stands still" : NULL;
}

bool worker_handle_check(struct worker_handle *worker, int64_t now,
                         const struct worker_patience *patience) {
    if (worker->killed) return true;
    if (!worker->ready) return now - worker->moved_ns <= patience->start_ns;
    const int64_t asked_ago = now - worker->self_test_sent_ns;
    if (worker->self_test_pending
            ? asked_ago > ASK_AGAIN_MS * ms_ns && channel_is_read(worker->channel)
            : asked_ago > patience->self_test_ns)
        send_self_test(worker, now);
    const char *process = check_process(worker, now, patience->still_ns);
    const int64_t usual = 3 * patience->self_test_ns + SLACK_MS * ms_ns;
    const int64_t lanes = worker->running && usual < LANES_MS * ms_ns ? LANES_MS * ms_ns : usual;
    const int64_t stuck = has_work(worker) ? now - worker->moved_ns : 0;
    set_still(worker, process          ? process
                      : stuck <= lanes ? NULL
                      : worker->running
                          ? "hangs: no job makes progress, and the self-test is not answered"
                          : "does not answer the self-test");
    return !worker->stood_still && stuck <= 2 * lanes;
}

bool worker_handle_lane_hangs(struct worker_handle *worker, struct stillness *lane,
                              const struct job *job, int64_t still_ns, int64_t now) {
    const bool runs = __atomic_load_n(&job->started, __ATOMIC_ACQUIRE) &&
                      !__atomic_load_n(&job->finished_ns, __ATOMIC_ACQUIRE);
    const pid_t thread = runs ? __atomic_load_n(&job->lane, __ATOMIC_RELAXED) : 0;
    const int64_t seen = __atomic_load_n(&job->progress.seen_ns, __ATOMIC_RELAXED);
    if (!thread || now - seen <= SEEN_MS * ms_ns || is_late(worker, now)) {
        stillness_end(lane);
        return false;
    }
    const int64_t still = stillness_look(lane, worker->pid, thread, now);
    if (!still) worker_handle_moved(worker, now);
    if (still <= still_ns) return false;
    if (lane->status.process_idle) return true;
    stillness_end(lane);
    return false;
}

/* A request is sent again for the reasons that a self-test is. */
bool worker_handle_unpins(struct worker_handle *worker, int slot, uint32_t number, int64_t now) {
    const struct message message = { .kind = CHANNEL_UNPIN, .slot = slot, .run_number = number };
    if (worker->cpu || worker->operators || worker->channel < 0) return false;
    if (worker->unpin_asked == number && worker->unpinned == number) return false;
    if (worker->unpin_asked == number &&
        (now - worker->unpin_ns < ASK_AGAIN_MS * ms_ns || !channel_is_read(worker->channel)))
        return true;
    if (channel_send(worker->channel, &message)) worker->unpin_asked = number;
    worker->unpin_ns = now;
    return true;
}

bool worker_handle_hopeless(struct worker_handle *worker, int64_t now, int64_t patience_ns) {
    if (worker_handle_healthy(worker))
        worker->ill_since_ns = 0;
    else if (!worker->ill_since_ns)
        worker->ill_since_ns = now;
    /* One user's operator ended the process: others' jobs wait for the next, once. */
    const bool restarts =
        worker->operators && worker->restarts && !worker->early_deaths && !worker->ready;
    return !restarts && worker->ill_since_ns && now - worker->ill_since_ns > patience_ns;
}

bool worker_handle_healthy(const struct worker_handle *worker) {
    return worker->pid && worker->ready && worker->self_test_ok && !worker->still;
}

void worker_handle_describe(const struct worker_handle *worker, int64_t now, int64_t every_ns,
                            struct worker_facts *facts) {
    *facts = (struct worker_facts){
        .cpu = worker->cpu,
        .operators = worker->operators,
        .decodes = worker->decodes,
        .alive = worker->pid != 0,
        .healthy = worker_handle_healthy(worker),
        .running = worker->running,
        .capacity = worker->decodes && !worker->pid ? 0 : worker->capacity,
        .restarts = worker->restarts,
        .cancelled = worker->cancelled,
    };
    memcpy(facts->device, worker->device, sizeof facts->device);
    memcpy(facts->name, worker->name, sizeof facts->name);
    snprintf(facts->trouble, sizeof facts->trouble, "%s",
             worker->still ? worker->still : worker->trouble);
    if (worker->pid && now - worker->gauges_ns <= 3 * every_ns) facts->gauges = worker->gauges;
}

void worker_facts_join(struct worker_facts *all, const struct worker_facts *one) {
    const double wait_ms = one->statistics.wait_ms;
    if (one->healthy && (!all->healthy || wait_ms < all->statistics.wait_ms))
        all->statistics.wait_ms = wait_ms;
    if (one->healthy && !all->healthy) {
        memcpy(all->name, one->name, sizeof all->name);
        memcpy(all->trouble, one->trouble, sizeof all->trouble);
    }
    all->alive |= one->alive;
    all->healthy |= one->healthy;
    all->running += one->running;
    all->capacity += one->capacity;
    all->restarts += one->restarts;
    all->cancelled += one->cancelled;
}

/* The run of JOB's plan, whatever run it has now. */
static bool serves_plan(const struct worker_handle *worker, const struct job *job) {
    const char *device = job->device;
    const uint32_t generation = worker->generation ? worker->generation->number : 0;
    if (worker->operators != (job->generation != 0) || generation != job->generation) return false;
    if (strcmp(device, "auto") == 0) return true;
    if (strcmp(device, "cuda") == 0) return !worker->cpu;
    return strcmp(device, worker->device) == 0;
}

bool worker_handle_has_engine(const struct worker_handle *worker, const struct job *job) {
    return worker->engines > 0 && !worker->decodes && serves_plan(worker, job);
}

bool worker_handle_serves(const struct worker_handle *worker, const struct job *job) {
    if (worker->decodes || job_is_in_cell(job)) return worker->decodes && job_is_in_cell(job);
    return job->run == RUN_ENGINE ? worker_handle_has_engine(worker, job)
                                  : serves_plan(worker, job);
}

bool worker_handle_is_apart(const struct worker_handle *worker) {
    return worker->cpu && !worker->operators && !worker->decodes;
}

bool worker_handle_has_room(const struct worker_handle *worker, const struct job *job) {
    if (worker->alone) return false;
    if (job->deaths) return worker->running == 0;
    return worker_handle_is_apart(worker) || worker->running < worker->capacity;
}

bool worker_handle_send_again(const struct worker_handle *worker, int slot, const struct job *job) {
    const struct message message = { .kind = CHANNEL_RUN,
                                     .slot = slot,
                                     .run_number = job->run_number };
    return channel_send(worker->channel, &message);
}

bool worker_handle_send_job(struct worker_handle *worker, int slot, struct job *job) {
    job->started = 0;
    job->received = 0;
    job->finished_ns = 0;
    if (!has_work(worker)) worker_handle_moved(worker, clock_ns());
    if (!worker_handle_send_again(worker, slot, job)) return false;
    worker->running++;
    worker->used_ns = clock_ns();
    worker->alone = job->deaths > 0;
    return true;
}

void worker_handle_completed(struct worker_handle *worker, int64_t when) {
    worker->running--;
    worker->alone = false;
    worker->used_ns = when;
    worker_handle_moved(worker, when);
}

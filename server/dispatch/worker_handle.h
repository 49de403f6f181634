// SPDX-License-Identifier: Apache-2.0
/* worker_handle.h - the front's end of one worker; it outlives the processes that serve it.
 *
 * A worker is healthy when it has opened its device, has passed its last self-test, and is not
 * still. Its process is still while no heartbeat comes and the kernel reports nothing that keeps
 * the process from sending one (stillness.h): it was stopped, frozen or is locked up. After half of
 * worker_still_ms it gets no more jobs; after all of it the process is lost, and its jobs are not
 * blamed. A process that waits for a core, or that a debugger holds, is not lost.
 *
 * Its lanes are still if none of them made progress for three times self_test_ms while they have
 * work: no self-test was answered, no job returned, and no running job checked its progress, ran on
 * a core or, on a GPU, counted on. With running jobs that takes 5 s at least, since parts of an
 * honest job check nothing for a second. Time in which the heartbeat is late does not count. A job
 * that makes progress, however long it is, keeps its worker healthy. After twice that time the
 * worker is lost. So is a worker that has not opened its device within worker_start_ms. One lane of
 * a CPU that sleeps within a job is found by worker_handle_lane_hangs. Not found: one lane of a GPU
 * that hangs while others go on (its job's deadline ends it), and lanes in an endless loop.
 *
 * Used by:  supervisor.c, dispatcher.c, forecast.c, worker_list.c and sweep.c.
 * Owns:     the front's end of the channel, closed by worker_handle_close or, at the end, by the
 *           supervisor. The process is reaped by worker_handle_reap, through the launcher.
 * Fails:    worker_handle_start and worker_handle_send_job return false. `trouble` says why a
 *           worker is not healthy.
 * Threads:  one at a time, under the supervisor's lock; worker_handle_launch runs without it.
 * Limits:   nothing but worker_handle_launch waits.
 */
#ifndef BURIN_WORKER_HANDLE_H
#define BURIN_WORKER_HANDLE_H

#include "server/generation.h"
#include "server/jobs/channel.h"
#include "server/jobs/slot.h"
#include "server/process/stillness.h"

#include <sys/types.h>

enum { WORKER_TROUBLE_MAX = 160, WORKER_LABEL_MAX = DEVICE_WANT_MAX + 24 };

struct worker_handle {
    char device[DEVICE_WANT_MAX]; /* "cpu", "cuda:0" */
    char label[WORKER_LABEL_MAX]; /* for the log: "cpu", "cpu for users' operators" */
    bool cpu;
    bool operators; /* runs the jobs with users' operators, and no others */
    bool decodes;   /* has a decoding cell: reads and writes files of jobs, and nothing else */
    bool wanted;    /* the worker should have a process; false: that ends, and none is started */
    const struct generation *generation; /* of its users' operators; NULL: none */
    pid_t pid;                           /* 0: there is no process */
    int channel;           /* -1: closed; the process, if there is one, must be reaped */
    bool ready;            /* has opened its device */
    bool alone;            /* runs a job with which a worker died, and gets no other */
    int capacity, running; /* jobs */
    int many;              /* of `capacity`, places for jobs abreast alone; 0: no difference */
    int lanes;             /* jobs that run side by side; 0: never ready so far */
    int engines;           /* of its GPU, which decode HEVC */
    char name[DEVICE_NAME_MAX];
    char trouble[WORKER_TROUBLE_MAX]; /* why it is not healthy; "" if it is */
    bool self_test_ok, self_test_pending;
    const char *still; /* how it is still or ending, static text; NULL: it makes progress */
    bool killed;       /* its process should end */
    bool kill_due;     /* SIGKILL must still be sent, without the lock: worker_list_next_kill */
    bool stood_still;  /* the process was still as a whole, so none of its jobs is blamed */
    bool distrusted;   /* wrote invalid data: nothing that it writes is believed */
    int64_t started_ns, self_test_sent_ns; /* times of clock_ns, as all below */
    int64_t heartbeat_ns;                  /* of the last heartbeat */
    pid_t heartbeat_thread;                /* its sender; 0: unknown so far */
    struct stillness stillness;            /* of that thread, while no heartbeat comes */
    int64_t checked_ns;                    /* the last worker_handle_check */
    int64_t moved_ns;                      /* when a lane last made progress, or first got work */
    int64_t used_ns;                       /* when it last got or returned a job, or was ready */
    int64_t restart_ns;                    /* when to start the next process */
    int64_t ill_since_ns;                  /* 0: healthy at the last look */
    int restarts;                          /* after it died */
    int cancelled;    /* processes of a cell that were killed with a job whose client had gone */
    int early_deaths; /* processes in a row that died before they were ever healthy */
    struct gauges gauges;           /* the last readings of its GPU */
    int64_t gauges_ns;              /* when these came */
    uint32_t unpin_asked, unpinned; /* numbers of CHANNEL_UNPIN sent, and answered */
    int64_t unpin_ns;               /* when it was sent */
};

/* The values of the keys worker_start_ms, self_test_ms and worker_still_ms, in ns. */
struct worker_patience {
    int64_t start_ns, self_test_ns, still_ns;
};

/* Sums over all jobs that succeeded: how well their times were predicted. */
struct worker_statistics {
    double predicted_ms, actual_ms;
    double error_ms; /* absolute differences */
    double wait_ms;  /* no sum: predicted wait of one more short job */
};

/* One worker as /readyz and /metrics show it. */
struct worker_facts {
    char device[DEVICE_WANT_MAX]; /* "cpu", "cuda:0" */
    char name[DEVICE_NAME_MAX];
    char trouble[WORKER_TROUBLE_MAX]; /* why it is not healthy; "" if it is */
    bool cpu;
    bool operators; /* for users' operators */
    bool decodes;   /* a decoding cell's */
    bool alive;     /* there is a process */
    bool healthy;   /* alive, opened its device, passed its last self-test, not still */
    bool standby;   /* a CPU without a job, beside a healthy GPU with the same operators */
    int running, capacity, restarts, cancelled;
    struct worker_statistics statistics;
    struct gauges gauges; /* none if the last readings are too old */
};

void worker_handle_init(struct worker_handle *worker, const char *device, bool operators);

/* Makes WORKER one for the decoding cell, which has no process until it is wanted. */
void worker_handle_init_cell(struct worker_handle *worker);

/* A job waits for WORKER: a cell without a process gets one. */
void worker_handle_want(struct worker_handle *worker);

/* ---- its process */

/* A new process and the front's end of its channel. */
struct worker_process {
    pid_t pid; /* -1: none could be started */
    int channel;
    const char *trouble; /* why none could be started; static text */
};

/* Starts a process. Waits as long as launcher.h says, and is called without the lock: the members
 * it reads do not change while a process is wanted. */
struct worker_process worker_handle_launch(const struct worker_handle *worker,
                                           struct slots_files slots, const int *pipes,
                                           int pipe_count);

/* Takes over PROCESS and its channel. false: there is none; restart_ns says when to try again. */
bool worker_handle_start(struct worker_handle *worker, const struct worker_process *process);

/* The functions that kill a process only mark it: it gets no more jobs, and the supervisor's thread
 * sends the signal within 50 ms, since the launcher may keep it waiting. */

/* Kills a lost process; its channel closes when the process ends. */
void worker_handle_kill(struct worker_handle *worker);

/* Kills a process that wrote invalid data: an attacker may control it. */
void worker_handle_distrust(struct worker_handle *worker);

/* Closes the channel after the process closed its end, and kills a process that does not end. */
void worker_handle_close(struct worker_handle *worker);

/* Ends a worker that is no longer wanted; called again and again until its process is reaped. The
 * process has children to end first, and is killed only after 3 s. */
void worker_handle_end(struct worker_handle *worker, int64_t now);

/* True if the process is that of a cell which had no job for IDLE_NS, or is ending since then. */
bool worker_handle_is_left(const struct worker_handle *worker, int64_t now, int64_t idle_ns);

/* True if the process, whose channel is closed, has ended and cannot write to its jobs any more.
 * Sets restart_ns of a wanted worker: now, or later and later if it never opens its device. */
bool worker_handle_reap(struct worker_handle *worker);

/* ---- its health */

/* Takes READY, SELF_TESTED, GAUGES, UNPINNED and HEARTBEAT; another message makes it distrusted. */
void worker_handle_receive(struct worker_handle *worker, const struct message *message);

/* One of its jobs made progress at WHEN, a time of clock_ns. */
void worker_handle_moved(struct worker_handle *worker, int64_t when);

/* Starts the clocks anew after the front itself did not run: silence meanwhile means nothing. */
void worker_handle_reset_clocks(struct worker_handle *worker, int64_t now);

/* Sends the self-test when it is due, and judges whether the worker is still. false: the worker is
 * lost and should be killed. */
bool worker_handle_check(struct worker_handle *worker, int64_t now,
                         const struct worker_patience *patience);

/* True if the CPU's lane that runs JOB, as the worker writes it, hangs. A lane computes from a
 * job's begin to its end and waits for nothing but a lock: asleep it is stuck, unless another
 * thread of its process runs, which may hold the lock and need a core itself. LANE is kept for each
 * job, zeroed at first. A process that is still as a whole has no lane to blame. A lane that is
 * found to run counts as progress of WORKER. */
bool worker_handle_lane_hangs(struct worker_handle *worker, struct stillness *lane,
                              const struct job *job, int64_t still_ns, int64_t now);

/* Asks the worker to unregister the free SLOT; NUMBER is that request's. True while its answer is
 * missing. */
bool worker_handle_unpins(struct worker_handle *worker, int slot, uint32_t number, int64_t now);

/* True if each duration of jobs has lanes of its own: on a CPU, but not for users' operators. */
bool worker_handle_is_apart(const struct worker_handle *worker);

bool worker_handle_healthy(const struct worker_handle *worker);

/* True after PATIENCE_NS without health: no job should wait for this worker. Keeps the time, so it
 * must be called regularly. */
bool worker_handle_hopeless(struct worker_handle *worker, int64_t now, int64_t patience_ns);

/* Readings come every EVERY_NS; after three times that without any, FACTS has none. `standby` and
 * `statistics` are left to the supervisor. */
void worker_handle_describe(const struct worker_handle *worker, int64_t now, int64_t every_ns,
                            struct worker_facts *facts);

/* Makes ALL, the facts of some cells with their statistics, those of ONE more cell, too. */
void worker_facts_join(struct worker_facts *all, const struct worker_facts *one);

/* ---- its jobs */

/* True if JOB may run here: by its run, the device it asks for (auto, cpu, cuda,
 * cuda:N) and the generation of its plan's users' operators. */
bool worker_handle_serves(const struct worker_handle *worker, const struct job *job);

/* True if its engines may decode JOB's image. */
bool worker_handle_has_engine(const struct worker_handle *worker, const struct job *job);

/* A job with which a worker died needs the worker to itself. If lanes are apart, others are limited
 * by backlog_has_room. */
bool worker_handle_has_room(const struct worker_handle *worker, const struct job *job);

/* false: the channel is closed or full; the job is not sent. */
bool worker_handle_send_job(struct worker_handle *worker, int slot, struct job *job);

/* Resends the message of JOB; false as above. */
bool worker_handle_send_again(const struct worker_handle *worker, int slot, const struct job *job);

/* One of its jobs returned at WHEN. */
void worker_handle_completed(struct worker_handle *worker, int64_t when);

#endif

// SPDX-License-Identifier: Apache-2.0
/* worker_handle.h - the front's end of one worker; it outlives the processes that serve it.
 *
 * A worker is healthy when it has opened its device, has passed its last self-test, and is not
 * still. A process is still that sends no heartbeat though the kernel knows nothing that keeps it
 * from doing so (stillness.h): it was stopped, frozen or is locked up. After half of
 * worker_still_ms it gets no more jobs, after all of it the process is lost, and its jobs are not
 * to blame. One that waits for a core, or that a debugger holds, is not lost.
 *
 * Lanes are still of which none went on for three times self_test_ms, though something is asked of
 * them: no self-test was answered, no job came back, and no job under way looked at its progress,
 * ran on a core or, on a GPU, counted on. With jobs under way it takes 5 s at least, since parts of
 * an honest job look at nothing for a second. Time in which the heartbeat is late does not count. A
 * job that goes on, however long it is, keeps its worker healthy. After twice that time the worker
 * is lost, and so is one that has not opened its device within worker_start_ms. A lane that sleeps
 * in the midst of a job, on a CPU, is dispatcher.c's to notice. Not noticed: one lane of several
 * that hangs on a GPU while the others go on (its job's own deadline tells), and lanes that run in
 * circles.
 *
 * Used by:  supervisor.c and dispatcher.c, under the supervisor's lock; a handle has none.
 * Owns:     the process and the front's end of its channel.
 * Fails:    worker_handle_start and worker_handle_send_job return false. `trouble` says in words
 *           why a worker is not healthy.
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
    bool wanted;    /* a process is to be there; false: it ends, and none is started */
    const struct generation *generation; /* whose users' operators it has; NULL: none */
    pid_t pid;                           /* 0: there is no process */
    int channel;           /* -1: closed, and the process is to be reaped, or there is none */
    bool ready;            /* has opened its device */
    bool alone;            /* runs a job with which a worker died: nothing beside it */
    int capacity, running; /* jobs */
    int lanes;             /* that run them side by side; 0: it has not been ready yet */
    char name[DEVICE_NAME_MAX];
    char trouble[WORKER_TROUBLE_MAX]; /* why it is not healthy; "" if it is */
    bool self_test_ok, self_test_pending;
    const char *still; /* in what way it is still or ending; static text, NULL: it moves */
    bool killed;       /* its end is awaited */
    bool kill_due;     /* SIGKILL is to be sent: without the lock, see worker_list_lost */
    bool stood_still;  /* that is why: as a whole, so no job of it is to blame */
    bool distrusted;   /* likewise: it wrote what no worker writes, and nothing of it is believed */
    int64_t started_ns, self_test_sent_ns;
    int64_t heartbeat_ns;       /* of the last heartbeat */
    pid_t heartbeat_thread;     /* that sends it; 0: not heard yet */
    struct stillness stillness; /* of that thread, while no heartbeat comes */
    int64_t checked_ns;         /* when it was judged last */
    int64_t moved_ns;           /* when a lane was last seen to go on, or was first asked to */
    int64_t restart_ns;         /* when to try again */
    int64_t ill_since_ns;       /* 0: healthy when last looked at */
    int restarts, early_deaths;
    struct gauges gauges; /* the last reading of its GPU */
    int64_t gauges_ns;    /* when that came */
};

/* How long which part of it may take, in ns. */
struct worker_patience {
    int64_t start_ns, self_test_ns, still_ns; /* the keys worker_start_ms and so on */
};

/* How well a worker's times were predicted, in ms over all jobs that came back whole, and what it
 * has to do. */
struct worker_account {
    double predicted_ms, actual_ms;
    double error_ms; /* the differences' absolute values */
    double wait_ms;  /* predicted, until a lane would begin one more short job */
};

/* What /readyz and /metrics tell of one worker. */
struct worker_facts {
    char device[DEVICE_WANT_MAX]; /* "cpu", "cuda:0" */
    char name[DEVICE_NAME_MAX];
    char trouble[WORKER_TROUBLE_MAX]; /* why it is not healthy; "" if it is */
    bool cpu;
    bool operators; /* for users' operators */
    bool alive;     /* there is a process */
    bool healthy;   /* alive, opened its device, passed its last self-test, not still */
    /* By the supervisor: the CPU without a job, beside a healthy GPU with the same operators. */
    bool standby;
    int running, capacity, restarts;
    struct worker_account account; /* by the supervisor */
    struct gauges gauges;          /* none known if the last were too long ago */
};

void worker_handle_init(struct worker_handle *worker, const char *device, bool operators);

/* ---- its process */

/* A new process and the front's end of its channel. */
struct worker_process {
    pid_t pid; /* -1: none could be started */
    int channel;
    const char *trouble; /* then why; static text */
};

/* The one function that waits, as long as launcher.h says, and the one that needs no lock: the
 * members it reads stay as they are while a process is wanted. */
struct worker_process worker_handle_launch(const struct worker_handle *worker,
                                           struct slots_files slots, const int *pipes,
                                           int pipe_count);

/* PROCESS becomes the worker's. false: there is none; restart_ns says when to try again. */
bool worker_handle_start(struct worker_handle *worker, const struct worker_process *process);

/* Whatever kills a process here gives it no more jobs, and leaves the signal to the supervisor's
 * thread, within 50 ms: the launcher that sends it may have to be waited for. */

/* Kills a process that is lost; its channel closes when it has ended. */
void worker_handle_kill(struct worker_handle *worker);

/* Kills a process that wrote what no worker writes: it may have been taken over. */
void worker_handle_distrust(struct worker_handle *worker);

/* The process has closed the channel: so do we, and kill it where it did not end by itself. */
void worker_handle_close(struct worker_handle *worker);

/* No process is wanted any more. Called now and then until it has been reaped: it gets a while to
 * end by itself, since it has children of its own, and is then killed. */
void worker_handle_end(struct worker_handle *worker, int64_t now);

/* Whether the process whose channel is closed has ended for good: then its jobs are free, and if it
 * is still wanted, restart_ns is now, or later and later for a worker that cannot even open its
 * device. */
bool worker_handle_reap(struct worker_handle *worker);

/* ---- what is seen of it */

/* READY, SELF_TESTED, GAUGES and HEARTBEAT; of anything else the worker is distrusted. */
void worker_handle_receive(struct worker_handle *worker, const struct message *message);

/* One of its jobs went on at WHEN, a time of clock_ns. */
void worker_handle_moved(struct worker_handle *worker, int64_t when);

/* The front itself did not run for a while, so nobody knows who was silent: all begin anew. */
void worker_handle_reset_clocks(struct worker_handle *worker, int64_t now);

/* No heartbeat came when it should have. */
bool worker_handle_is_late(const struct worker_handle *worker, int64_t now);

/* Starts a self-test when it is time, and judges whether the worker is still. false: it is lost,
 * and should be killed. */
bool worker_handle_check(struct worker_handle *worker, int64_t now,
                         const struct worker_patience *patience);

/* Its lanes are apart by the jobs' duration: a CPU's, but for users' operators. */
bool worker_handle_is_apart(const struct worker_handle *worker);

bool worker_handle_healthy(const struct worker_handle *worker);

/* Not healthy for so long that no job should wait for it. Called now and then to keep the time. */
bool worker_handle_hopeless(struct worker_handle *worker, int64_t now, int64_t patience_ns);

/* Readings come every EVERY_NS; when none came for three times that, the last is not told. */
void worker_handle_describe(const struct worker_handle *worker, int64_t now, int64_t every_ns,
                            struct worker_facts *facts);

/* ---- its jobs */

/* May JOB run here, by the device that it asks for (auto, cpu, cuda, cuda:N) and by whose operators
 * its plan has? */
bool worker_handle_serves(const struct worker_handle *worker, const struct job *job);

/* A job with which a worker died needs the worker to itself. Where lanes are apart, forecast.h
 * counts the others. */
bool worker_handle_has_room(const struct worker_handle *worker, const struct job *job);

/* false: the channel is closed or full. */
bool worker_handle_send_job(struct worker_handle *worker, int slot, struct job *job);

/* The message of JOB was lost: sends it again. false: as above. */
bool worker_handle_send_again(const struct worker_handle *worker, int slot, const struct job *job);

/* One of its jobs came back at WHEN. */
void worker_handle_completed(struct worker_handle *worker, int64_t when);

#endif

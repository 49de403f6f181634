// SPDX-License-Identifier: Apache-2.0
/* worker_handle.h - one worker's place: it outlives the processes that sit in it.
 *
 * Healthy is who opened its device, passed its last self-test, and is not still.
 * Still is a process that gave no heartbeat for three times self_test_ms: stopped, or starved of
 * cores.
 *
 * Still are also lanes of which none went on for as long, though something is asked of them: no
 * self-test was answered, no job came back, and none at work looked at its progress or, on a
 * GPU, counted on. With jobs under way it takes LANES_MS at least, since parts of an honest job
 * look at nothing for a second. A job that goes on, however long it is, keeps its worker healthy.
 *
 * Who stays still for twice that time is lost. Not told: one lane of several that hangs while the
 * others go on (its job's own deadline tells, supervisor.c), and lanes that run in circles.
 *
 * Used by:  supervisor.c, under its lock; a worker has none of its own.
 */
#ifndef BURIN_WORKER_HANDLE_H
#define BURIN_WORKER_HANDLE_H

#include "server/jobs/channel.h"
#include "server/jobs/slot.h"

#include <sys/types.h>

struct worker_handle {
    char device[DEVICE_WANT_MAX]; /* "cpu", "cuda:0" */
    bool cpu;
    pid_t pid;   /* 0: nobody sits here */
    int channel; /* -1 likewise */
    bool ready;  /* has opened its device */
    bool alone;  /* runs a job with which a worker died: nothing beside it */
    int capacity, running;
    char name[DEVICE_NAME_MAX];
    char trouble[160]; /* why it is not healthy; "" if it is */
    bool self_test_ok, self_test_pending;
    const char *still; /* in what way; static text, NULL: it moves */
    bool lost;         /* killed; its end is awaited */
    int64_t started_ns, self_test_sent_ns;
    int64_t heartbeat_ns; /* of the last heartbeat */
    int64_t moved_ns;     /* when a lane was last seen to go on, or was first asked to */
    int64_t restart_ns;   /* when to try again */
    int64_t ill_since_ns; /* 0: healthy when last looked at */
    int restarts, early_deaths;
    struct gauges gauges; /* as its sampler last told */
    int64_t gauges_ns;    /* when that was */
};

/* What /readyz and /metrics tell of one worker. */
struct worker_facts {
    char device[DEVICE_WANT_MAX]; /* "cpu", "cuda:0" */
    char name[DEVICE_NAME_MAX];
    char trouble[160]; /* why it is not healthy; "" if it is */
    bool cpu;
    bool alive;   /* there is a process */
    bool healthy; /* alive, opened its device, its last self-test was right, not still */
    bool standby; /* the CPU beside GPUs; set by the supervisor */
    int running, capacity, restarts;
    struct gauges gauges; /* none told if the last were too long ago */
};

enum { WORKERS_MAX = 17 }; /* 16 GPUs and the CPU */

/* Workers for TEXT, the key `devices` (config/devices.h); the CPU's comes last and always. */
enum status worker_list_make(struct worker_handle *workers, int *count, const char *text,
                             struct failure *failure);

void worker_handle_init(struct worker_handle *worker, const char *device);

/* false: could not be started; restart_ns tells when to try again. */
bool worker_handle_start(struct worker_handle *worker, int slots_memory_fd, const int *pipes,
                         int pipe_count);

/* Kills who is lost and waits for nothing: a process that the driver holds may take long to end,
 * and only then its line closes. */
void worker_handle_kill(struct worker_handle *worker);

/* Kills and buries whoever sits there. restart_ns is now, or later and later for one that cannot
 * even open its device. */
void worker_handle_end(struct worker_handle *worker);

/* READY, PROBED, GAUGES and PULSE. */
void worker_handle_receive(struct worker_handle *worker, const struct message *message);

/* One of its jobs went on at WHEN, a time of clock_ns. */
void worker_handle_moved(struct worker_handle *worker, int64_t when);

/* The front itself did not run for a while, so nobody knows who was silent: all begin anew. */
void worker_handle_reset_clocks(struct worker_handle *worker, int64_t now);

/* Starts a self-test when it is time, and judges whether the worker is still. false: it is
 * lost, and should be killed. */
bool worker_handle_check(struct worker_handle *worker, int64_t now, int64_t every_ns);

/* Not healthy for so long that nobody should wait for it. Called now and then to keep the time. */
bool worker_handle_hopeless(struct worker_handle *worker, int64_t now);

bool worker_handle_healthy(const struct worker_handle *worker);

/* Gauges are told every EVERY_NS; of a sampler that stays silent for three times that, no more. */
void worker_handle_describe(const struct worker_handle *worker, int64_t now, int64_t every_ns,
                            struct worker_facts *facts);

/* May a job that asks for DEVICE (auto, cpu, cuda, cuda:N) run here? */
bool worker_handle_serves(const struct worker_handle *worker, const char *device);

/* A job with which a worker died needs the worker to itself. JOB_MS: what jobs took of late, 0 if
 * that is not known; of short ones a worker on a CPU is given more ahead. */
bool worker_handle_has_room(const struct worker_handle *worker, const struct job *job,
                            double job_ms);

/* false: the worker's line is closed or full. */
bool worker_handle_send_job(struct worker_handle *worker, int slot, struct job *job);

#endif

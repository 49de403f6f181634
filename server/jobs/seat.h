// SPDX-License-Identifier: Apache-2.0
/* seat.h - one worker's place: it outlives the processes that sit in it.
 *
 * Used by:  supervisor.c, under its lock; a seat has none of its own.
 */
#ifndef BURIN_SEAT_H
#define BURIN_SEAT_H

#include "server/jobs/channel.h"
#include "server/jobs/slot.h"

#include <sys/types.h>

struct seat {
    char device[DEVICE_WANT_MAX]; /* "cpu", "cuda:0" */
    bool cpu;
    pid_t pid;   /* 0: nobody sits here */
    int channel; /* -1 likewise */
    bool ready;  /* has opened its device */
    bool alone;  /* runs a job with which a worker died: nothing beside it */
    int capacity, running;
    char name[DEVICE_NAME_MAX];
    char trouble[160]; /* why it is not healthy; "" if it is */
    bool probe_ok, probe_pending;
    int64_t started_ns, probe_sent_ns;
    int64_t restart_ns;   /* when to try again */
    int64_t ill_since_ns; /* 0: healthy when last looked at */
    int restarts, early_deaths;
    struct gauges gauges; /* as its meter last told */
    int64_t gauges_ns;    /* when that was */
};

/* What /readyz and /metrics tell of one worker. */
struct seat_facts {
    char device[DEVICE_WANT_MAX]; /* "cpu", "cuda:0" */
    char name[DEVICE_NAME_MAX];
    char trouble[160]; /* why it is not healthy; "" if it is */
    bool cpu;
    bool alive;   /* there is a process */
    bool healthy; /* alive, opened its device, and its last known-answer job was right */
    bool standby; /* the CPU beside GPUs; set by the supervisor */
    int running, capacity, restarts;
    struct gauges gauges; /* none told if the last were too long ago */
};

enum { SEATS_MAX = 17 }; /* 16 GPUs and the CPU */

/* Seats for DEVICES: "all", "cpu", or a list of cuda:N; the CPU's comes last and always. */
enum status seats_make(struct seat *seats, int *count, const char *devices,
                       struct failure *failure);

void seat_init(struct seat *seat, const char *device);

/* false: could not be started; restart_ns tells when to try again. */
bool seat_start(struct seat *seat, int slots_memory_fd, const int *lines, int line_count);

/* Kills and buries whoever sits there. restart_ns is now, or later and later for one that cannot
 * even open its device. */
void seat_end(struct seat *seat);

/* READY, PROBED and GAUGES. */
void seat_heard(struct seat *seat, const struct message *message);

/* Sends the known-answer job when it is time; an idle worker that does not answer is ill, and lost
 * when it goes on so: then false, and the seat should be ended. */
bool seat_probe(struct seat *seat, int64_t now, int64_t every_ns);

/* Not healthy for so long that nobody should wait for it. Called now and then to keep the time. */
bool seat_hopeless(struct seat *seat, int64_t now);

bool seat_healthy(const struct seat *seat);

/* Gauges are told every EVERY_NS; of a meter that stays silent for three times that, no more. */
void seat_describe(const struct seat *seat, int64_t now, int64_t every_ns,
                   struct seat_facts *facts);

/* May a job that asks for DEVICE (auto, cpu, cuda, cuda:N) run here? */
bool seat_suits(const struct seat *seat, const char *device);

/* A job with which a worker died needs the worker to itself. JOB_MS: what jobs took of late, 0 if
 * that is not known; of short ones a worker on a CPU is given more ahead. */
bool seat_has_room(const struct seat *seat, const struct job *job, double job_ms);

/* false: the worker's line is closed or full. */
bool seat_hand_out(struct seat *seat, int slot, struct job *job);

#endif

// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/seat.h"

#include "server/jobs/process.h"
#include "server/log.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t ms_ns = 1000000;

/* A worker that died is back in a third of a second, on a GPU; one that is not is not coming soon.
 */
enum { HOPELESS_MS = 3000 };

enum { TICK_MS = 4, AHEAD_MAX = 7 };

/* A busy machine may keep a thread waiting, however short probe_ms is. */
enum { SLACK_MS = 250, LANES_MS = 5000 };

void seat_init(struct seat *seat, const char *device) {
    *seat = (struct seat){ .channel = -1, .cpu = strcmp(device, "cpu") == 0 };
    snprintf(seat->device, sizeof seat->device, "%s", device);
}

bool seat_start(struct seat *seat, int slots_memory_fd, const int *pipes, int pipe_count) {
    int ends[2];
    seat->restart_ns = clock_ns() + 1000 * ms_ns; /* if it fails */
    if (!channel_open(ends)) return false;
    const pid_t pid = process_start(seat->device, slots_memory_fd, ends[1], pipes, pipe_count);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        snprintf(seat->trouble, sizeof seat->trouble, "the process could not be started");
        return false;
    }
    seat->pid = pid;
    seat->channel = ends[0];
    seat->ready = seat->alone = seat->probe_ok = seat->probe_pending = false;
    seat->still = NULL;
    seat->lost = false;
    seat->running = 0;
    seat->gauges = (struct gauges){ .told = 0 };
    seat->started_ns = clock_ns();
    snprintf(seat->trouble, sizeof seat->trouble, "starting");
    return true;
}

void seat_kill(struct seat *seat) {
    if (seat->lost) return;
    seat->lost = true;
    seat->still = "hung, and is being ended";
    log_event(LOG_ERROR, "worker %s %s", seat->device, seat->still);
    kill(seat->pid, SIGKILL);
}

void seat_end(struct seat *seat) {
    if (!seat->pid) return;
    const int code = process_end(seat->pid);
    close(seat->channel);
    seat->early_deaths = seat->ready && seat->probe_ok ? 0 : seat->early_deaths + 1;
    seat->pid = 0;
    seat->channel = -1;
    seat->ready = seat->probe_ok = false;
    seat->still = NULL;
    seat->restarts++;
    snprintf(seat->trouble, sizeof seat->trouble, "died (%s %d), being started again",
             code < 0 ? "signal" : "code", code < 0 ? -code : code);
    log_event(LOG_ERROR, "worker %s %s", seat->device, seat->trouble);
    const int shift = seat->early_deaths < 6 ? seat->early_deaths : 6; /* at most 10 s */
    seat->restart_ns = clock_ns() + (seat->early_deaths ? (160 << shift) * ms_ns : 0);
}

static void became_ready(struct seat *seat, const struct message *message) {
    seat->ready = seat->probe_ok = true; /* it ran the known-answer job before it said so */
    seat->capacity = message->capacity;
    seat->early_deaths = 0;
    seat->trouble[0] = 0;
    seat->probe_sent_ns = seat->pulse_ns = seat->moved_ns = clock_ns();
    snprintf(seat->name, sizeof seat->name, "%.63s", message->text);
    log_event(LOG_INFO, "worker %s ready: %s, %.0f ms after its start", seat->device, seat->name,
              ns_to_ms(clock_ns() - seat->started_ns));
}

static void probed(struct seat *seat, const struct message *message) {
    seat->probe_pending = false;
    seat->probe_ok = message->ok;
    seat_moved(seat, clock_ns());
    snprintf(seat->trouble, sizeof seat->trouble, "%.159s", message->ok ? "" : message->text);
}

void seat_heard(struct seat *seat, const struct message *message) {
    switch (message->kind) {
    case CHANNEL_READY: became_ready(seat, message); break;
    case CHANNEL_PROBED: probed(seat, message); break;
    case CHANNEL_GAUGES:
        seat->gauges = message->gauges;
        seat->gauges_ns = clock_ns();
        break;
    case CHANNEL_PULSE: seat->pulse_ns = clock_ns(); break;
    }
}

void seat_moved(struct seat *seat, int64_t when) {
    if (when > seat->moved_ns) seat->moved_ns = when;
}

void seat_excuse(struct seat *seat, int64_t now) {
    seat->pulse_ns = now;
    seat_moved(seat, now);
}

/* Something is asked of the lanes. */
static bool asked(const struct seat *seat) {
    return seat->running || seat->probe_pending;
}

static void send_probe(struct seat *seat, int64_t now) {
    if (!asked(seat)) seat_moved(seat, now);
    seat->probe_pending = channel_send(seat->channel, &(struct message){ .kind = CHANNEL_PROBE });
    seat->probe_sent_ns = now;
}

static void find_still(struct seat *seat, const char *still) {
    if (still && !seat->still) log_event(LOG_ERROR, "worker %s %s", seat->device, still);
    if (!still && seat->still) log_event(LOG_INFO, "worker %s moves again", seat->device);
    seat->still = still;
}

bool seat_probe(struct seat *seat, int64_t now, int64_t every_ns) {
    if (!seat->ready || seat->lost) return true;
    if (!seat->probe_pending && now - seat->probe_sent_ns > every_ns) send_probe(seat, now);
    const int64_t patience = 3 * every_ns + SLACK_MS * ms_ns;
    const int64_t lanes =
        seat->running && patience < LANES_MS * ms_ns ? LANES_MS * ms_ns : patience;
    const int64_t silent = now - seat->pulse_ns, stuck = asked(seat) ? now - seat->moved_ns : 0;
    find_still(seat, silent > patience ? "gives no sign of life: its process stands still"
                     : stuck <= lanes  ? NULL
                     : seat->running ? "hangs: no job goes on, nor is the known-answer job answered"
                                     : "does not answer the known-answer job");
    return silent <= 2 * patience && stuck <= 2 * lanes;
}

bool seat_hopeless(struct seat *seat, int64_t now) {
    if (seat_healthy(seat))
        seat->ill_since_ns = 0;
    else if (!seat->ill_since_ns)
        seat->ill_since_ns = now;
    return seat->ill_since_ns && now - seat->ill_since_ns > HOPELESS_MS * ms_ns;
}

bool seat_healthy(const struct seat *seat) {
    return seat->pid && seat->ready && seat->probe_ok && !seat->still;
}

void seat_describe(const struct seat *seat, int64_t now, int64_t every_ns,
                   struct seat_facts *facts) {
    *facts = (struct seat_facts){
        .cpu = seat->cpu,
        .alive = seat->pid != 0,
        .healthy = seat_healthy(seat),
        .running = seat->running,
        .capacity = seat->capacity,
        .restarts = seat->restarts,
    };
    memcpy(facts->device, seat->device, sizeof facts->device);
    memcpy(facts->name, seat->name, sizeof facts->name);
    snprintf(facts->trouble, sizeof facts->trouble, "%s",
             seat->still ? seat->still : seat->trouble);
    if (seat->pid && now - seat->gauges_ns <= 3 * every_ns) facts->gauges = seat->gauges;
}

bool seat_suits(const struct seat *seat, const char *device) {
    if (strcmp(device, "auto") == 0) return true;
    if (strcmp(device, "cuda") == 0) return !seat->cpu;
    return strcmp(device, seat->device) == 0;
}

/* A worker says what keeps it busy if its answer is read at once. On a CPU the reader may have to
 * wait for a core, up to a tick of the scheduler, and as long a lane should find work. */
static int room_of(const struct seat *seat, double job_ms) {
    if (!seat->cpu || job_ms <= 0) return seat->capacity;
    const double ahead = TICK_MS / job_ms; /* jobs a lane */
    const int times = ahead < 1 ? 1 : ahead < AHEAD_MAX ? (int)ahead : AHEAD_MAX;
    return seat->capacity / 2 * (1 + times);
}

bool seat_has_room(const struct seat *seat, const struct job *job, double job_ms) {
    if (seat->alone) return false;
    return job->deaths ? seat->running == 0 : seat->running < room_of(seat, job_ms);
}

bool seat_hand_out(struct seat *seat, int slot, struct job *job) {
    job->started = 0;
    job->finished_ns = 0;
    if (!asked(seat)) seat_moved(seat, clock_ns());
    if (!channel_send(seat->channel, &(struct message){ .kind = CHANNEL_RUN, .slot = slot }))
        return false;
    seat->running++;
    seat->alone = job->deaths > 0;
    return true;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. Leader and followers: one of the free lanes, the leader, waits on the channel; the
 * others sleep. The leader puts the received jobs into the list, takes a group for itself, and
 * wakes a follower, which takes the next group or becomes the leader. So the thread that a lone
 * job's message woke also runs that job. With a batch of one job a list has no advantage: all free
 * lanes wait on the channel, each takes one message, and the list holds only long jobs that must
 * wait. Where durations have separate lanes, only the lanes of short jobs wait on the channel; a
 * longer job that they receive goes into the list, and a lane of its duration is woken. So is a
 * GPU's lane for medium jobs; while all others are at work it reads the channel when its jobs end.
 *
 * A job that no free lane may take is tried again whenever a lane becomes free, and by the leader
 * once the job is old. Jobs that a lane returns wake a follower or, if none sleeps, the leader,
 * through an eventfd that the leader polls beside the channel. `lock` guards everything but channel
 * and eventfd; no thread waits on these two while it holds the lock. */
#include "server/worker/pending.h"

#include "server/jobs/channel.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    MESSAGES = 64,
    SELF_TEST = -1,
    UNPIN = -2,
    AGE_MAX_MS = 1000,
    SELF_TESTS = 8,
    RETURNED_MS = 250
};
static const int64_t ms_ns = 1000000;

struct pending {
    struct pending_options options;
    int leaders_max;
    int returned;         /* eventfd that wakes the only leader; -1 where there are several */
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t woken[JOB_DURATIONS]; /* followers, by their lanes' duration */
    int leaders, followers;
    int free_lanes, longs; /* lanes for all jobs that run nothing; that run a long job */
    bool closed;
    int count;
    int *waiting;       /* slots, SELF_TEST or UNPIN; oldest first */
    struct unpin unpin; /* of UNPIN, the last one received */
};

struct pending *pending_create(const struct pending_options *options) {
    struct pending *pending = calloc(1, sizeof *pending);
    /* Returned jobs come on top of those that were received meanwhile. */
    const size_t places = (size_t)(options->capacity + SELF_TESTS + MESSAGES +
                                   (options->lanes + options->many) * (options->batch + 1));
    pthread_condattr_t attributes;
    if (!pending) return NULL;
    pending->options = *options;
    pending->leaders_max = options->batch > 1 ? 1 : options->lanes;
    pending->returned = options->batch > 1 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    pending->waiting = calloc(places, sizeof *pending->waiting);
    pthread_mutex_init(&pending->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    for (int i = 0; i < JOB_DURATIONS; i++) pthread_cond_init(&pending->woken[i], &attributes);
    pthread_condattr_destroy(&attributes);
    if (!pending->waiting || (options->batch > 1 && pending->returned < 0))
        return pending_destroy(pending), NULL;
    return pending;
}

void pending_destroy(struct pending *pending) {
    if (!pending) return;
    if (pending->returned >= 0) close(pending->returned);
    for (int i = 0; i < JOB_DURATIONS; i++) pthread_cond_destroy(&pending->woken[i]);
    pthread_mutex_destroy(&pending->lock);
    free(pending->waiting);
    free(pending);
}

/* ---- which jobs run together */

/* A group with this many milliseconds of predicted work gains nothing from further jobs. */
enum { GROUP_MS = 20 };

/* Costs are alike if the larger is at most LIKE_TIMES the smaller plus LIKE_MS. */
enum { LIKE_TIMES = 4, LIKE_MS = 1 };

/* All jobs of a batch wait for its end, so their costs must be alike. */
static bool like_cost(const struct job *a, const struct job *b) {
    const bool more = a->predicted_ms > b->predicted_ms;
    const double most = more ? a->predicted_ms : b->predicted_ms;
    const double least = more ? b->predicted_ms : a->predicted_ms;
    return most <= LIKE_TIMES * least + LIKE_MS;
}

/* Whether a group of jobs like FIRST, of MS so far, may take JOB too. A job with slow operators
 * runs alone. Beyond GROUP_MS other lanes do the work; but where codecs make jobs long, the cores
 * work on many files of one group at the same time, and a GPU works on many jobs abreast. */
static bool may_join(const struct job *first, const struct job *job, double ms) {
    return !first->own_batch && !job->own_batch && job_is_alike(first, job) &&
           like_cost(first, job) &&
           ((first->abreast && job->abreast) || first->duration == JOB_LONG ||
            ms + job->predicted_ms <= GROUP_MS);
}

/* ---- which job is next */

static enum job_duration duration_of(const struct pending *pending, int slot) {
    if (slot < 0) return JOB_SHORT;
    const int32_t duration = slot_job(pending->options.slots, slot)->duration;
    return duration == JOB_MEDIUM || duration == JOB_LONG ? (enum job_duration)duration : JOB_SHORT;
}

/* The time at which JOB, a long one, has waited for its predicted time. */
static int64_t old_at(const struct job *job) {
    const double ms = job->predicted_ms < AGE_MAX_MS ? job->predicted_ms : AGE_MAX_MS;
    return job->submitted_ns + (int64_t)(ms * 1e6);
}

/* Whether the free lane with GROUP may take the job of SLOT. With more jobs in the list than
 * `capacity`, it takes the oldest of any kind. */
static bool may_take(const struct pending *pending, int slot, const struct group *group,
                     int64_t now) {
    const enum job_duration duration = duration_of(pending, slot);
    if (pending->options.apart || group->lane == JOB_MEDIUM) return duration == group->lane;
    if (duration == JOB_MEDIUM && pending->options.many)
        return pending->options.lanes > 1 && pending->free_lanes == pending->options.lanes;
    if (slot < 0 || pending->options.lanes == 1) return true;
    if (pending->count > pending->options.capacity) return true;
    const struct job *job = slot_job(pending->options.slots, slot);
    if (job->duration != JOB_LONG || pending->free_lanes > 1) return true;
    return pending->longs < pending->options.lanes - 1 && now >= old_at(job);
}

/* Moves the job at PLACE and the later ones that may join it (the same plan and kind of samples, a
 * like cost) from the list to GROUP, in their order. */
static void fill(struct pending *pending, int place, struct group *group) {
    const struct slots *slots = pending->options.slots;
    const struct job *first = slot_job(slots, pending->waiting[place]);
    double ms = 0;
    int left = place;
    /* Jobs abreast keep a lane for all jobs as long as a long one does. */
    const bool is_long = first->duration == JOB_LONG || (int)first->duration > (int)group->lane;
    *group = (struct group){ .is_long = is_long, .lane = group->lane };
    for (int i = place; i < pending->count; i++) {
        const int slot = pending->waiting[i];
        const struct job *job = slot < 0 ? NULL : slot_job(slots, slot);
        if (job && group->count < pending->options.batch &&
            (i == place || may_join(first, job, ms))) {
            ms += job->predicted_ms;
            group->slots[group->count++] = slot;
        } else {
            pending->waiting[left++] = slot;
        }
    }
    pending->count = left;
}

static bool find(struct pending *pending, struct group *group) {
    const int64_t now = pending->count ? clock_ns() : 0;
    for (int i = 0; i < pending->count; i++) {
        if (!may_take(pending, pending->waiting[i], group, now)) continue;
        const int first = pending->waiting[i];
        if (first < 0) {
            pending->count--;
            memmove(pending->waiting + i, pending->waiting + i + 1,
                    (size_t)(pending->count - i) * sizeof *pending->waiting);
            group->self_test = first == SELF_TEST;
            if (first == UNPIN) group->unpin = pending->unpin;
        } else {
            fill(pending, i, group);
        }
        pending->free_lanes -= group->lane == JOB_SHORT;
        pending->longs += group->is_long;
        return true;
    }
    return false;
}

/* ---- waiting */

/* A message that the front resent may still arrive: then its run was received before, or the slot
 * holds a different run by now. */
static bool is_copy(const struct pending *pending, const struct message *message) {
    struct job *job = slot_job(pending->options.slots, message->slot);
    if (__atomic_load_n(&job->run_number, __ATOMIC_RELAXED) != message->run_number) return true;
    return __atomic_exchange_n(&job->received, message->run_number, __ATOMIC_RELAXED) ==
           message->run_number;
}

static bool waits(const struct pending *pending, int what) {
    bool found = false;
    for (int i = 0; i < pending->count; i++) found |= pending->waiting[i] == what;
    return found;
}

static void add_one(struct pending *pending, int slot) {
    const enum job_duration duration = duration_of(pending, slot);
    pending->waiting[pending->count++] = slot;
    if (duration == JOB_MEDIUM || (pending->options.apart && duration == JOB_LONG))
        pthread_cond_signal(&pending->woken[duration]);
}

static void add(struct pending *pending, const struct message *messages, int count) {
    if (count == 0) pending->closed = true;
    for (int i = 0; i < count; i++) {
        if (messages[i].kind == CHANNEL_RUN && !is_copy(pending, &messages[i]))
            add_one(pending, messages[i].slot);
        else if (messages[i].kind == CHANNEL_SELF_TEST && !waits(pending, SELF_TEST))
            add_one(pending, SELF_TEST);
        if (messages[i].kind != CHANNEL_UNPIN) continue;
        pending->unpin = (struct unpin){ messages[i].slot, messages[i].run_number };
        if (!waits(pending, UNPIN)) add_one(pending, UNPIN);
    }
}

/* How many messages to take: room stays for self-tests, and for those that a second leader takes at
 * the same time. */
static int room(const struct pending *pending) {
    if (pending->leaders_max > 1) return 1;
    const int left = pending->options.capacity + SELF_TESTS - pending->count;
    return left < 1 ? 1 : left < MESSAGES ? left : MESSAGES;
}

/* Takes messages that came while all lanes were busy, so that the group becomes as large as
 * possible. */
static void drain(struct pending *pending) {
    struct message messages[MESSAGES];
    if (pending->leaders_max > 1 || pending->leaders || pending->closed) return;
    const int count = channel_take(pending->options.channel, messages, room(pending), 0);
    if (count >= 0) add(pending, messages, count);
}

/* Milliseconds to wait on the channel: until UNTIL, but no longer than until a waiting job is old.
 * Where lanes return jobs, at most RETURNED_MS, since the eventfd's event may be lost. */
static int patience(const struct pending *pending, int64_t until) {
    const int64_t now = clock_ns();
    if (pending->returned >= 0 && until > now + RETURNED_MS * ms_ns)
        until = now + RETURNED_MS * ms_ns;
    for (int i = 0; i < pending->count; i++) {
        if (pending->waiting[i] < 0 || pending->options.apart) continue;
        const int64_t old = old_at(slot_job(pending->options.slots, pending->waiting[i]));
        if (old > now && old < until) until = old;
    }
    return until == INT64_MAX ? CHANNEL_FOREVER
           : until > now      ? (int)((until - now) / ms_ns) + 1
                              : 1;
}

/* Waits until there is a message, or a lane has returned jobs, or for WAIT_MS. */
static int take_messages(const struct pending *pending, struct message *messages, int most,
                         int wait_ms) {
    struct pollfd news[2] = { { .fd = pending->options.channel, .events = POLLIN },
                              { .fd = pending->returned, .events = POLLIN } };
    eventfd_t ignored;
    if (pending->returned < 0)
        return channel_take(pending->options.channel, messages, most, wait_ms);
    if (poll(news, 2, wait_ms) > 0 && news[1].revents) eventfd_read(pending->returned, &ignored);
    return channel_take(pending->options.channel, messages, most, 0);
}

static void lead(struct pending *pending, int64_t until) {
    struct message messages[MESSAGES];
    const int most = room(pending), wait_ms = patience(pending, until);
    pending->leaders++;
    pthread_mutex_unlock(&pending->lock);
    const int count = take_messages(pending, messages, most, wait_ms);
    pthread_mutex_lock(&pending->lock);
    pending->leaders--;
    if (count >= 0) add(pending, messages, count);
}

static void follow(struct pending *pending, enum job_duration lane, int64_t until) {
    const struct timespec time = { until / (1000 * ms_ns), until % (1000 * ms_ns) };
    pending->followers += lane == JOB_SHORT;
    if (until == INT64_MAX)
        pthread_cond_wait(&pending->woken[lane], &pending->lock);
    else
        pthread_cond_timedwait(&pending->woken[lane], &pending->lock, &time);
    pending->followers -= lane == JOB_SHORT;
}

/* Unlocks, and wakes one waiting lane, which looks at the list again. */
static void unlock_and_wake(struct pending *pending) {
    const bool follower = pending->followers > 0;
    const bool leader = !follower && pending->leaders > 0 && pending->returned >= 0;
    pthread_mutex_unlock(&pending->lock);
    if (follower) pthread_cond_signal(&pending->woken[0]);
    if (leader) eventfd_write(pending->returned, 1);
}

/* Unlocks, and wakes a waiting lane if jobs remain or a leader is missing. */
static void hand_over(struct pending *pending) {
    if (pending->closed) {
        pthread_mutex_unlock(&pending->lock);
        for (int i = 0; i < JOB_DURATIONS; i++) pthread_cond_broadcast(&pending->woken[i]);
    } else if (pending->count || pending->leaders < pending->leaders_max) { /* of short jobs */
        unlock_and_wake(pending);
    } else {
        pthread_mutex_unlock(&pending->lock);
    }
}

enum pending_outcome pending_take(struct pending *pending, struct group *group, int wait_ms) {
    const int64_t until = wait_ms < 0 ? INT64_MAX : clock_ns() + wait_ms * ms_ns;
    enum pending_outcome outcome = PENDING_NONE;
    pthread_mutex_lock(&pending->lock);
    pending->longs -= group->is_long;
    pending->free_lanes += group->lane == JOB_SHORT;
    group->count = 0;
    group->self_test = group->is_long = false;
    group->unpin.number = 0;
    if (group->lane == JOB_SHORT || !pending->options.apart) drain(pending);
    while (!pending->closed) {
        if (find(pending, group)) {
            outcome = PENDING_TAKEN;
            break;
        }
        if (until != INT64_MAX && clock_ns() >= until) break;
        if (group->lane == JOB_SHORT && pending->leaders < pending->leaders_max)
            lead(pending, until);
        else
            follow(pending, group->lane, until);
    }
    if (pending->closed) outcome = PENDING_CLOSED;
    if (outcome == PENDING_NONE) pending->free_lanes -= group->lane == JOB_SHORT;
    hand_over(pending);
    return outcome;
}

void pending_return(struct pending *pending, const int *slots, int count) {
    pthread_mutex_lock(&pending->lock);
    memmove(pending->waiting + count, pending->waiting,
            (size_t)pending->count * sizeof *pending->waiting);
    memcpy(pending->waiting, slots, (size_t)count * sizeof *slots);
    pending->count += count;
    if (duration_of(pending, slots[0]) == JOB_MEDIUM)
        pthread_cond_signal(&pending->woken[JOB_MEDIUM]);
    unlock_and_wake(pending);
}

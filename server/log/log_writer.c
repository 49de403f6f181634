// SPDX-License-Identifier: Apache-2.0
/* How it works. Lines wait in a ring (log_ring.h). The thread writes all that are there, naps, and
 * sleeps when none came meanwhile: so many lines a second cost a hundred wakes, not one each.
 * `wake_at` is the place in the ring at which a line wakes it: the next one while it sleeps, the
 * one that fills half of the ring while it naps.
 *
 * Other processes write to the same pipe. What is written at once is therefore whole lines, and no
 * more than the system keeps together (PIPE_BUF). The pipe's end stays as it is: whether it blocks
 * is a property of all who have it, so a flag of ours would break others. */
#include "server/log/log_writer.h"

#include "pipeline/timing.h"
#include "server/log/log_ring.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { NAP_MS = 10, STOP_MS = 1000, TELL_MS = 1000 };
static const int64_t ms_ns = 1000000;
static const uint64_t NEVER = UINT64_MAX;

struct log_writer {
    struct log_writer_options options;
    struct log_ring *ring;
    pthread_t thread;
    sem_t wake, ended;
    uint64_t wake_at; /* atomic */
    uint64_t lost;    /* lines; atomic */
    bool stop;        /* atomic */
    /* the thread's own */
    uint64_t told;   /* of the lines that were lost */
    int64_t told_ns; /* when it last said so */
};

/* ---- putting in */

static void lose(struct log_writer *writer, uint64_t lines) {
    __atomic_fetch_add(&writer->lost, lines, __ATOMIC_RELAXED);
    writer->options.dropped(lines);
}

void log_writer_put(struct log_writer *writer, const char *line, size_t length) {
    if (!log_ring_put(writer->ring, line, length)) {
        lose(writer, 1);
        return;
    }
    /* In one order with the two in sleep_for: either the thread sees the line, or we see that it
     * sleeps. */
    const uint64_t at = __atomic_load_n(&writer->wake_at, __ATOMIC_SEQ_CST);
    if (log_ring_head(writer->ring) >= at &&
        __atomic_exchange_n(&writer->wake_at, NEVER, __ATOMIC_RELAXED) != NEVER)
        sem_post(&writer->wake);
}

/* ---- the thread */

static struct timespec time_in(int ms) {
    const int64_t end = clock_ns() + ms * ms_ns;
    return (struct timespec){ .tv_sec = end / 1000000000, .tv_nsec = end % 1000000000 };
}

/* Until the ring's head is at PLACE, or MS are over (-1: never), or it shall end. Wakes at times
 * without a reason. */
static void sleep_for(struct log_writer *writer, uint64_t place, int ms) {
    __atomic_store_n(&writer->wake_at, place, __ATOMIC_SEQ_CST);
    if (log_ring_head(writer->ring) < place && !__atomic_load_n(&writer->stop, __ATOMIC_SEQ_CST)) {
        const struct timespec end = time_in(ms);
        if (ms < 0)
            sem_wait(&writer->wake);
        else
            sem_clockwait(&writer->wake, CLOCK_MONOTONIC, &end);
    }
    __atomic_store_n(&writer->wake_at, NEVER, __ATOMIC_RELAXED);
}

/* False: nobody can read it. Where others have made the end one that does not block, room is waited
 * for all the same. */
static bool write_all(int fd, const char *bytes, size_t length) {
    while (length) {
        const ssize_t wrote = write(fd, bytes, length);
        if (wrote < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
        else if (wrote < 0 && errno != EINTR)
            return false;
        if (wrote > 0) bytes += wrote, length -= (size_t)wrote;
    }
    return true;
}

/* Once a second at most, for a reader that is always too slow; behind the last line that waits, for
 * one who comes back. */
static void tell_dropped(struct log_writer *writer) {
    char line[LOG_LINE_MAX];
    const uint64_t lost = __atomic_load_n(&writer->lost, __ATOMIC_RELAXED);
    const bool emptied = log_ring_head(writer->ring) == log_ring_tail(writer->ring);
    if (lost == writer->told || (!emptied && clock_ns() - writer->told_ns < TELL_MS * ms_ns))
        return;
    if (!write_all(writer->options.fd, line,
                   writer->options.tell(line, sizeof line, lost - writer->told)))
        return;
    writer->told = lost;
    writer->told_ns = clock_ns();
}

static void write_lines(struct log_writer *writer) {
    char text[LOG_LINE_MAX];
    for (;;) {
        uint64_t lines = 0;
        size_t length = log_ring_take(writer->ring, text, PIPE_BUF, &lines);
        if (!length) length = log_ring_take(writer->ring, text, sizeof text, &lines);
        if (!length) return;
        if (!write_all(writer->options.fd, text, length))
            lose(writer, lines);
        else
            tell_dropped(writer);
    }
}

static void *run(void *argument) {
    struct log_writer *writer = argument;
    bool stop;
    do {
        stop = __atomic_load_n(&writer->stop, __ATOMIC_ACQUIRE);
        write_lines(writer);
        const uint64_t tail = log_ring_tail(writer->ring);
        if (!stop) sleep_for(writer, tail + log_ring_size(writer->ring) / 2, NAP_MS);
        if (!stop && log_ring_head(writer->ring) == tail) sleep_for(writer, tail + 1, -1);
    } while (!stop);
    sem_post(&writer->ended);
    return NULL;
}

/* ---- life */

/* It takes no signal, not even that of a pipe that nobody reads. */
static bool start_thread(struct log_writer *writer) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool started = pthread_create(&writer->thread, NULL, run, writer) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_setname_np(writer->thread, "log");
    return started;
}

struct log_writer *log_writer_start(const struct log_writer_options *options) {
    struct log_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return NULL;
    writer->options = *options;
    writer->wake_at = NEVER;
    sem_init(&writer->wake, 0, 0);
    sem_init(&writer->ended, 0, 0);
    writer->ring = log_ring_create(options->bytes);
    if (writer->ring && start_thread(writer)) return writer;
    log_ring_destroy(writer->ring);
    free(writer);
    return NULL;
}

void log_writer_stop(struct log_writer *writer) {
    if (!writer) return;
    const struct timespec end = time_in(STOP_MS);
    int waited;
    __atomic_store_n(&writer->stop, true, __ATOMIC_SEQ_CST);
    sem_post(&writer->wake);
    do waited = sem_clockwait(&writer->ended, CLOCK_MONOTONIC, &end);
    while (waited < 0 && errno == EINTR);
    if (waited == 0)
        pthread_join(writer->thread, NULL);
    else
        pthread_detach(writer->thread);
}

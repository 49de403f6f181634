// SPDX-License-Identifier: Apache-2.0
/* How it works. The caller formats a line and puts it into a ring; a thread writes the ring to
 * standard error. Before the thread starts and after it has ended, the caller writes the line
 * itself if poll reports that standard error accepts it.
 *
 * A line in the ring is a record: its length in 4 bytes and its text, padded to a multiple of 8, so
 * that a length never wraps around the ring's end. A writer first reserves the room by moving
 * `head`, then copies the text, and last stores the length, which marks the record as complete. The
 * thread zeroes a record before it frees the room by moving `tail`, so the length of an incomplete
 * record is 0. A writer that is stopped in between delays the lines after its own, but blocks no
 * other writer.
 *
 * The thread writes all lines, naps for NAP_MS, and sleeps if no line came meanwhile: thousands of
 * lines a second cost a hundred wakes. `wake_at` is the position in the ring at which a line wakes
 * the thread: the next line while it sleeps, the line that fills half of the ring while it naps.
 * Other processes write to the same pipe, so each write consists of whole lines, at most PIPE_BUF
 * bytes, which the system keeps together. The pipe is never made non-blocking: that flag is shared
 * with all processes that have the pipe, and would break them. */
#include "server/log/log.h"

#include "pipeline/timing.h"
#include "server/api/json_writer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* TEXT_MAX: a sentence with a path. LINE_BYTES: a line in which every byte of it is escaped. */
enum { TEXT_MAX = 1024, LINE_BYTES = 6 * TEXT_MAX + 1024 };

static bool as_json;
static enum log_level threshold = LOG_ERROR; /* atomic */
static uint64_t own_dropped;                 /* atomic */
static uint64_t *shared_dropped; /* the pointer and the counter are atomic; may be NULL */

void log_open(const char *format, const char *level) {
    as_json = strcmp(format, "json") == 0;
    log_set_level(level);
}

void log_set_level(const char *level) {
    const enum log_level new = strcmp(level, "info") == 0    ? LOG_INFO
                               : strcmp(level, "error") == 0 ? LOG_ERROR
                                                             : LOG_OFF;
    __atomic_store_n(&threshold, new, __ATOMIC_RELAXED);
}

bool log_wants(enum log_level level) {
    return level <= __atomic_load_n(&threshold, __ATOMIC_RELAXED);
}

bool log_limit_allows(struct log_limit *limit, int64_t now, int *left_out) {
    int64_t next = __atomic_load_n(&limit->next_ns, __ATOMIC_RELAXED);
    if (now < next ||
        !__atomic_compare_exchange_n(&limit->next_ns, &next, now + INT64_C(1000000000), false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_add_fetch(&limit->left_out, 1, __ATOMIC_RELAXED);
        return false;
    }
    *left_out = __atomic_exchange_n(&limit->left_out, 0, __ATOMIC_RELAXED);
    return true;
}

void log_time(char *text, size_t size) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    char seconds[32];
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, size, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

/* The length of the value at VALUE, a JSON string or number. */
static size_t value_length(const char *value) {
    if (*value != '"') return strcspn(value, ",");
    size_t length = 1;
    while (value[length] && value[length] != '"') length += value[length] == '\\' ? 2 : 1;
    return length + 1;
}

/* Writes FIELDS, the members of a JSON object, as logfmt: name=value, and a value in its quotes and
 * with its escapes if it has any, or a blank or `=`, or is empty. */
static void add_logfmt(struct json_writer *line, const char *fields) {
    for (const char *at = fields; *at; at += *at == ',') {
        const size_t name = strcspn(at + 1, "\"");
        json_writer_bytes(line, " ", 1);
        json_writer_bytes(line, at + 1, name);
        json_writer_bytes(line, "=", 1);
        at += name + sizeof "\"\":" - 1;
        const size_t length = value_length(at);
        const bool bare = *at == '"' && length > 2 && strcspn(at + 1, " =\\") >= length - 2;
        json_writer_bytes(line, at + bare, length - 2 * bare);
        at += length;
    }
}

/* ---- lines */

/* Makes a whole line of FIELDS in MEMORY of LINE_BYTES; returns its length. */
static size_t make_line(char *memory, enum log_level level, const char *fields) {
    char when[48];
    struct json_writer line = json_writer_in(memory, LINE_BYTES - 2);
    log_time(when, sizeof when);
    json_writer_add(&line, as_json ? "{\"time\":\"" : "time=");
    json_writer_add(&line, when);
    json_writer_add(&line, as_json ? "\",\"level\":\"" : " level=");
    json_writer_add(&line, level == LOG_ERROR ? "error" : "info");
    json_writer_add(&line, as_json ? "\"," : "");
    if (as_json)
        json_writer_add(&line, fields);
    else
        add_logfmt(&line, fields);
    const char *end = as_json ? "}\n" : "\n";
    memcpy(memory + line.length, end, strlen(end) + 1);
    return strlen(memory);
}

static void count_dropped(uint64_t lines) {
    uint64_t *shared = __atomic_load_n(&shared_dropped, __ATOMIC_ACQUIRE);
    __atomic_fetch_add(&own_dropped, lines, __ATOMIC_RELAXED);
    if (shared) __atomic_fetch_add(shared, lines, __ATOMIC_RELAXED);
}

/* ---- the ring */

/* RING_LINE_MAX: bytes of the longest line. HEAD: of a record's length. STEP: records' alignment.
 */
enum { RING_LINE_MAX = 8 << 10, HEAD = sizeof(uint32_t), STEP = 8 };
_Static_assert((int)LINE_BYTES <= (int)RING_LINE_MAX, "the longest line fits the ring");

struct ring {
    uint64_t head; /* bytes ever reserved; atomic */
    uint64_t tail; /* bytes ever freed; atomic */
    size_t size;   /* a power of two */
    char *bytes;
};

/* Rounds BYTES up to a power of two, and to at least two of the longest lines. False: no memory. */
static bool ring_init(struct ring *ring, size_t bytes) {
    *ring = (struct ring){ .size = 2 * RING_LINE_MAX };
    while (ring->size < bytes) ring->size *= 2;
    ring->bytes = calloc(1, ring->size);
    return ring->bytes;
}

static size_t record_bytes(size_t length) {
    return (HEAD + length + STEP - 1) / STEP * STEP;
}

static uint32_t *length_at(const struct ring *ring, uint64_t at) {
    return (uint32_t *)(void *)(ring->bytes + (at & (ring->size - 1)));
}

/* The number of LENGTH bytes from AT that are before the ring's end. */
static size_t first_part(const struct ring *ring, uint64_t at, size_t length) {
    const size_t left = ring->size - (at & (ring->size - 1));
    return length < left ? length : left;
}

/* Reserves NEED bytes at *AT. The acquire pairs with give_room: the room is zero. */
static bool take_room(struct ring *ring, size_t need, uint64_t *at) {
    *at = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    do {
        const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
        if ((int64_t)(*at + need - tail) > (int64_t)ring->size) return false;
    } while (!__atomic_compare_exchange_n(&ring->head, at, *at + need, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    return true;
}

/* Any thread; none waits for a different one. False: there is no room. */
static bool ring_put(struct ring *ring, const char *line, size_t length) {
    uint64_t at;
    if (!length || length > RING_LINE_MAX || !take_room(ring, record_bytes(length), &at))
        return false;
    const uint64_t text = at + HEAD;
    const size_t first = first_part(ring, text, length);
    memcpy(ring->bytes + (text & (ring->size - 1)), line, first);
    memcpy(ring->bytes, line + first, length - first);
    __atomic_store_n(length_at(ring, at), (uint32_t)length, __ATOMIC_RELEASE);
    return true;
}

static void take_text(struct ring *ring, uint64_t at, char *to, size_t length) {
    const uint64_t text = at + HEAD;
    const size_t first = first_part(ring, text, length);
    memcpy(to, ring->bytes + (text & (ring->size - 1)), first);
    memcpy(to + first, ring->bytes, length - first);
}

static void give_room(struct ring *ring, uint64_t at, size_t bytes) {
    const size_t first = first_part(ring, at, bytes);
    memset(ring->bytes + (at & (ring->size - 1)), 0, first);
    memset(ring->bytes, 0, bytes - first);
    __atomic_store_n(&ring->tail, at + bytes, __ATOMIC_RELEASE);
}

/* One thread. Takes lines in their order, as many as fit in SIZE, and adds their number to *LINES.
 * Returns their bytes; 0: there is none, or the next one is incomplete. */
static size_t ring_take(struct ring *ring, char *to, size_t size, uint64_t *lines) {
    size_t taken = 0;
    for (;;) {
        const uint64_t at = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
        const size_t length = __atomic_load_n(length_at(ring, at), __ATOMIC_ACQUIRE);
        if (!length || taken + length > size) return taken;
        take_text(ring, at, to + taken, length);
        give_room(ring, at, record_bytes(length));
        taken += length;
        ++*lines;
    }
}

static uint64_t ring_head(const struct ring *ring) {
    return __atomic_load_n(&ring->head, __ATOMIC_SEQ_CST);
}

static uint64_t ring_tail(const struct ring *ring) {
    return __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
}

/* ---- the thread */

enum { NAP_MS = 10, STOP_MS = 1000, REPORT_MS = 1000 };
static const int64_t ms_ns = 1000000;
static const uint64_t NEVER = UINT64_MAX;

struct writer {
    int fd; /* open to the end of the process */
    struct ring ring;
    pthread_t thread;
    sem_t wake, ended;
    uint64_t wake_at; /* atomic */
    uint64_t lost;    /* lines; atomic */
    bool stop;        /* atomic */
    /* used by the thread only */
    uint64_t reported;   /* lost lines that the log has reported */
    int64_t reported_ns; /* when it last did */
};

static void lose(struct writer *writer, uint64_t lines) {
    __atomic_fetch_add(&writer->lost, lines, __ATOMIC_RELAXED);
    count_dropped(lines);
}

/* Puts a whole line into the ring, or loses it if there is no room. Never waits. */
static void writer_put(struct writer *writer, const char *line, size_t length) {
    if (!ring_put(&writer->ring, line, length)) {
        lose(writer, 1);
        return;
    }
    /* Sequentially consistent with sleep_for: either the thread sees the new head, or this thread
     * sees wake_at. */
    const uint64_t at = __atomic_load_n(&writer->wake_at, __ATOMIC_SEQ_CST);
    if (ring_head(&writer->ring) >= at &&
        __atomic_exchange_n(&writer->wake_at, NEVER, __ATOMIC_RELAXED) != NEVER)
        sem_post(&writer->wake);
}

static struct timespec time_in(int ms) {
    const int64_t end = clock_ns() + ms * ms_ns;
    return (struct timespec){ .tv_sec = end / 1000000000, .tv_nsec = end % 1000000000 };
}

/* Sleeps until the ring's head is at PLACE, MS are over (-1: never), or `stop` is set. May return
 * early. */
static void sleep_for(struct writer *writer, uint64_t place, int ms) {
    __atomic_store_n(&writer->wake_at, place, __ATOMIC_SEQ_CST);
    if (ring_head(&writer->ring) < place && !__atomic_load_n(&writer->stop, __ATOMIC_SEQ_CST)) {
        const struct timespec end = time_in(ms);
        if (ms < 0)
            sem_wait(&writer->wake);
        else
            sem_clockwait(&writer->wake, CLOCK_MONOTONIC, &end);
    }
    __atomic_store_n(&writer->wake_at, NEVER, __ATOMIC_RELAXED);
}

/* Waits for room even if a different process has made the pipe non-blocking. False: it has no
 * reader. */
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

/* Reports lost lines: at most once a second to a reader that is always too slow, and after the last
 * waiting line to one that catches up. */
static void report_dropped(struct writer *writer) {
    char line[LINE_BYTES], fields[128];
    const uint64_t lost = __atomic_load_n(&writer->lost, __ATOMIC_RELAXED);
    const bool emptied = ring_head(&writer->ring) == ring_tail(&writer->ring);
    if (lost == writer->reported ||
        (!emptied && clock_ns() - writer->reported_ns < REPORT_MS * ms_ns))
        return;
    snprintf(fields, sizeof fields,
             "\"event\":\"log_lines_lost\",\"message\":\"the log was not read in time: lines are "
             "missing\",\"lines\":%lu",
             lost - writer->reported);
    if (!write_all(writer->fd, line, make_line(line, LOG_ERROR, fields))) return;
    writer->reported = lost;
    writer->reported_ns = clock_ns();
}

static void write_lines(struct writer *writer) {
    char text[RING_LINE_MAX];
    for (;;) {
        uint64_t lines = 0;
        size_t length = ring_take(&writer->ring, text, PIPE_BUF, &lines);
        if (!length) length = ring_take(&writer->ring, text, sizeof text, &lines);
        if (!length) return;
        if (!write_all(writer->fd, text, length))
            lose(writer, lines);
        else
            report_dropped(writer);
    }
}

static void *run(void *argument) {
    struct writer *writer = argument;
    bool stop;
    do {
        stop = __atomic_load_n(&writer->stop, __ATOMIC_ACQUIRE);
        write_lines(writer);
        const uint64_t tail = ring_tail(&writer->ring);
        if (!stop) sleep_for(writer, tail + writer->ring.size / 2, NAP_MS);
        if (!stop && ring_head(&writer->ring) == tail) sleep_for(writer, tail + 1, -1);
    } while (!stop);
    sem_post(&writer->ended);
    return NULL;
}

/* Starts the thread with all signals blocked, SIGPIPE too. */
static bool start_thread(struct writer *writer) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool started = pthread_create(&writer->thread, NULL, run, writer) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_setname_np(writer->thread, "log");
    return started;
}

/* At least BYTES of lines may wait. NULL: no thread or no memory. */
static struct writer *writer_start(int fd, size_t bytes) {
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) return NULL;
    writer->fd = fd;
    writer->wake_at = NEVER;
    sem_init(&writer->wake, 0, 0);
    sem_init(&writer->ended, 0, 0);
    if (ring_init(&writer->ring, bytes) && start_thread(writer)) return writer;
    free(writer->ring.bytes);
    free(writer);
    return NULL;
}

/* Writes the waiting lines, and ends the thread; after a second without a reader, the thread is
 * left running. Lines that other threads put in meanwhile may be lost. The memory is never freed,
 * since those threads may still use it. */
static void writer_stop(struct writer *writer) {
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

/* ---- all of it */

static struct writer *current; /* atomic; NULL: lines are written at once */

static void write_now(const char *line, size_t length) {
    struct pollfd end = { .fd = STDERR_FILENO, .events = POLLOUT };
    if (poll(&end, 1, 0) != 1 || !(end.revents & POLLOUT) ||
        write(STDERR_FILENO, line, length) != (ssize_t)length)
        count_dropped(1);
}

void log_fields(enum log_level level, const char *fields) {
    char line[LINE_BYTES];
    if (!log_wants(level)) return;
    struct writer *thread = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    const size_t length = make_line(line, level, fields);
    if (thread)
        writer_put(thread, line, length);
    else
        write_now(line, length);
}

void log_event_of(enum log_level level, const char *event, const char *id, const char *trace_id,
                  const char *format, ...) {
    if (!log_wants(level)) return;
    char words[TEXT_MAX], memory[LINE_BYTES - 128], text[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    struct json_writer fields = json_writer_in(memory, sizeof memory);
    json_writer_key_string(&fields, "event", event);
    json_writer_key_string(&fields, "message", words);
    if (id) {
        snprintf(text, sizeof text, "%.63s", id);
        json_writer_key_string(&fields, "id", text);
        snprintf(text, sizeof text, "%.32s", trace_id);
        json_writer_key_string(&fields, "trace_id", text);
    }
    log_fields(level, memory);
}

void log_start(size_t buffer_bytes, uint64_t *dropped) {
    if (current) return; /* also if the level is off: it may change */
    __atomic_store_n(&shared_dropped, dropped, __ATOMIC_RELEASE);
    struct writer *started = writer_start(STDERR_FILENO, buffer_bytes);
    if (!started)
        log_event(LOG_ERROR, "log_not_threaded",
                  "the log has no thread: lines are written by their callers");
    __atomic_store_n(&current, started, __ATOMIC_RELEASE);
}

void log_stop(void) {
    static struct writer *last; /* atomic: its memory stays, and so does a pointer to it */
    struct writer *stopped = __atomic_exchange_n(&current, NULL, __ATOMIC_ACQ_REL);
    __atomic_store_n(&last, stopped, __ATOMIC_RELEASE);
    if (stopped) writer_stop(stopped);
    __atomic_store_n(&shared_dropped, NULL, __ATOMIC_RELEASE);
}

uint64_t log_lines_dropped(void) {
    return __atomic_load_n(&own_dropped, __ATOMIC_RELAXED);
}

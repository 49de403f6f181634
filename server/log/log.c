// SPDX-License-Identifier: Apache-2.0
/* How it works. A line is made by whoever has something to say, and handed to the thread that
 * writes (log_writer.h). Before there is one, and after it, it is written here, where poll says
 * that standard error takes it. */
#include "server/log/log.h"

#include "server/api/json_writer.h"
#include "server/log/log_ring.h"
#include "server/log/log_writer.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A sentence with a path, and a line with every byte of it escaped. */
enum { TEXT_MAX = 1024, LINE_BYTES = 6 * TEXT_MAX + 256 };

static bool as_json;
static enum log_level threshold = LOG_ERROR;
static struct log_writer *writer; /* atomic; NULL: lines are written here */
static uint64_t own_dropped;      /* atomic */
static uint64_t *shared_dropped;  /* atomic, and so is what it points to; NULL: there is none */

void log_open(const char *format, const char *level) {
    as_json = strcmp(format, "json") == 0;
    threshold = strcmp(level, "info") == 0    ? LOG_INFO
                : strcmp(level, "error") == 0 ? LOG_ERROR
                                              : LOG_OFF;
}

bool log_wants(enum log_level level) {
    return level <= threshold;
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

static void stamp(char *text, size_t size) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    char seconds[32];
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, size, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

/* For people: quotes and braces go, `":` becomes `=`, commas between fields blanks. */
static void plain(struct json_writer *line, const char *fields) {
    bool quoted = false;
    char c[2] = "";
    for (; *fields; fields++) {
        c[0] = *fields;
        if (*fields == '"' && (fields[1] != ':' || !quoted))
            quoted = !quoted;
        else if (*fields == '"')
            quoted = false, fields++, json_writer_add(line, "=");
        else if (*fields == ',' && !quoted)
            json_writer_add(line, " ");
        else
            json_writer_add(line, c);
    }
}

/* ---- lines */

_Static_assert((int)LINE_BYTES <= (int)LOG_LINE_MAX, "the longest line fits the ring");

/* FIELDS as a whole line in MEMORY of LINE_BYTES; returns its length. */
static size_t make_line(char *memory, enum log_level level, const char *fields) {
    char when[48];
    struct json_writer line = json_writer_in(memory, LINE_BYTES - 2);
    stamp(when, sizeof when);
    const char *word = level == LOG_ERROR ? "error" : "info";
    json_writer_add(&line, as_json ? "{\"time\":\"" : "");
    json_writer_add(&line, when);
    json_writer_add(&line, as_json ? "\",\"level\":\"" : " ");
    json_writer_add(&line, word);
    json_writer_add(&line, as_json ? "\"," : " ");
    if (as_json)
        json_writer_add(&line, fields);
    else
        plain(&line, fields);
    const char *end = as_json ? "}\n" : "\n";
    memcpy(memory + line.length, end, strlen(end) + 1);
    return strlen(memory);
}

static void count_dropped(uint64_t lines) {
    uint64_t *shared = __atomic_load_n(&shared_dropped, __ATOMIC_ACQUIRE);
    __atomic_fetch_add(&own_dropped, lines, __ATOMIC_RELAXED);
    if (shared) __atomic_fetch_add(shared, lines, __ATOMIC_RELAXED);
}

static void write_now(const char *line, size_t length) {
    struct pollfd end = { .fd = STDERR_FILENO, .events = POLLOUT };
    if (poll(&end, 1, 0) != 1 || !(end.revents & POLLOUT) ||
        write(STDERR_FILENO, line, length) != (ssize_t)length)
        count_dropped(1);
}

void log_fields(enum log_level level, const char *fields) {
    char line[LINE_BYTES];
    if (!log_wants(level)) return;
    struct log_writer *thread = __atomic_load_n(&writer, __ATOMIC_ACQUIRE);
    const size_t length = make_line(line, level, fields);
    if (thread)
        log_writer_put(thread, line, length);
    else
        write_now(line, length);
}

void log_event(enum log_level level, const char *format, ...) {
    if (!log_wants(level)) return;
    char words[TEXT_MAX], memory[LINE_BYTES - 128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    struct json_writer fields = json_writer_in(memory, sizeof memory);
    json_writer_key_string(&fields, "event", words);
    log_fields(level, memory);
}

/* ---- the thread */

static size_t tell_dropped(char *line, size_t size, uint64_t lines) {
    char fields[128];
    (void)size;
    snprintf(fields, sizeof fields,
             "\"event\":\"the log was not read in time: lines are missing\",\"lines\":%lu", lines);
    return make_line(line, LOG_ERROR, fields);
}

void log_start(size_t buffer_bytes, uint64_t *dropped) {
    const struct log_writer_options options = {
        .fd = STDERR_FILENO, .bytes = buffer_bytes, .dropped = count_dropped, .tell = tell_dropped
    };
    if (threshold == LOG_OFF || writer) return;
    __atomic_store_n(&shared_dropped, dropped, __ATOMIC_RELEASE);
    struct log_writer *started = log_writer_start(&options);
    if (!started) log_event(LOG_ERROR, "the log has no thread: a line may be waited for");
    __atomic_store_n(&writer, started, __ATOMIC_RELEASE);
}

void log_stop(void) {
    static struct log_writer *last; /* atomic: its memory stays, and so does a pointer to it */
    struct log_writer *stopped = __atomic_exchange_n(&writer, NULL, __ATOMIC_ACQ_REL);
    __atomic_store_n(&last, stopped, __ATOMIC_RELEASE);
    log_writer_stop(stopped);
    __atomic_store_n(&shared_dropped, NULL, __ATOMIC_RELEASE);
}

uint64_t log_lines_dropped(void) {
    return __atomic_load_n(&own_dropped, __ATOMIC_RELAXED);
}

// SPDX-License-Identifier: Apache-2.0
#include "server/log.h"

#include "server/json_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A sentence with a path, and a line with every byte of it escaped. */
enum { TEXT_MAX = 1024, LINE_BYTES = 6 * TEXT_MAX + 256 };

static bool as_json;
static enum log_level threshold = LOG_ERROR;

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

void log_fields(enum log_level level, const char *fields) {
    if (!log_wants(level)) return;
    char when[48], memory[LINE_BYTES];
    struct json_writer line = json_writer_in(memory, sizeof memory - 2);
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
    if (write(STDERR_FILENO, memory, strlen(memory)) < 0) return; /* nobody reads our log */
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

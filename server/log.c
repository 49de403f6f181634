// SPDX-License-Identifier: Apache-2.0
#include "server/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_MAX = 256 };

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

static void stamp(char *text, size_t size) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    char seconds[32];
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, size, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

/* Bytes that a terminal or a reader of lines might act on become '?'. */
static void print_plain(FILE *out, const char *text) {
    for (int i = 0; text[i] && i < TEXT_MAX; i++) {
        const unsigned char c = (unsigned char)text[i];
        fputc(c >= 32 && c < 127 ? c : '?', out);
    }
}

static void print_text(FILE *out, const json_t *fields) {
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)fields, name, value) {
        fprintf(out, " %s=", name);
        if (json_is_string(value))
            print_plain(out, json_string_value(value));
        else
            json_dumpf(value, out, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    }
    fputc('\n', out);
}

void log_fields(enum log_level level, json_t *fields) {
    char when[48], *line = NULL;
    size_t length = 0;
    stamp(when, sizeof when);
    const char *word = level == LOG_ERROR ? "error" : "info";
    FILE *out = log_wants(level) ? open_memstream(&line, &length) : NULL;
    if (out && as_json) {
        fprintf(out, "{\"time\":\"%s\",\"level\":\"%s\",", when, word);
        char *rest = json_dumps(fields, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));
        fprintf(out, "%s\n", rest ? rest + 1 : "}");
        free(rest);
    } else if (out) {
        fprintf(out, "%s %-5s", when, word);
        print_text(out, fields);
    }
    if (out) {
        fclose(out);
        if (write(STDERR_FILENO, line, length) < 0) { /* nobody to tell */
        }
        free(line);
    }
    json_decref(fields);
}

void log_event(enum log_level level, const char *format, ...) {
    if (!log_wants(level)) return;
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 32 || (unsigned char)*c > 126) *c = '?';
    log_fields(level, json_pack("{s:s}", "event", text));
}

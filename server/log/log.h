// SPDX-License-Identifier: Apache-2.0
/* log.h - one line per event on stderr, as JSON or as logfmt.
 *
 * Input from outside is escaped and cut to 256 bytes; pictures and secrets are never logged.
 *
 * Used by:  everything in server/.
 * Owns:     the thread that writes, from log_start to log_stop.
 * Fails:    never; a line that finds no room or cannot be written is lost and counted, and the log
 *           reports the number.
 * Threads:  any may log, and none waits for the log's reader. log_open: before there are threads.
 *           log_start, log_stop: the main thread, or the one that ends the process.
 * Limits:   LINE_BYTES per line; a line is written within 10 ms if standard error accepts it;
 *           log_buffer_bytes of waiting lines, and a second to write them at the end.
 */
#ifndef BURIN_LOG_H
#define BURIN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_INFO };

/* FORMAT "json", or "text" for logfmt; LEVEL "info", "error" or "off". Until then: text, errors. */
void log_open(const char *format, const char *level);

/* Changes the level while threads log. */
void log_set_level(const char *level);

/* Starts a thread that writes, with a buffer of BUFFER_BYTES for waiting lines. Without it the
 * caller of log_event writes its line at once, or the line is lost if standard error would block.
 * The thread inherits its creator's priority and rights. DROPPED: an additional counter of lost
 * lines, used until log_stop; may be NULL. */
void log_start(size_t buffer_bytes, uint64_t *dropped);

/* Writes the waiting lines, for a second at most. Call it before the process ends in any way. */
void log_stop(void);

/* Lines of this process that were lost. */
uint64_t log_lines_dropped(void);

bool log_wants(enum log_level level);

/* Writes the time as lines have it: UTC with milliseconds. */
void log_time(char *text, size_t size);

/* Logs a line with the name EVENT, on which programs rely (README.md lists all), and a sentence for
 * people. ID, TRACE_ID: of its job, as a worker may have written them; NULL: none. */
void log_event_of(enum log_level level, const char *event, const char *id, const char *trace_id,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
#define log_event(level, event, ...) log_event_of(level, event, NULL, NULL, __VA_ARGS__)

/* Limits a line that any client can cause at will to one per second. Zero at first. */
struct log_limit {
    int64_t next_ns;
    int left_out;
};

/* Whether the line may be written at NOW, a time of clock_ns(); then *LEFT_OUT is the number of
 * lines that were left out since the last one. */
bool log_limit_allows(struct log_limit *limit, int64_t now, int *left_out);

/* Logs a line with the caller's fields. FIELDS is the inside of a JSON object:
 * `"event":"request","id":"x"`. */
void log_fields(enum log_level level, const char *fields);

#endif

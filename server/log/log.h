// SPDX-License-Identifier: Apache-2.0
/* log.h - one line an event, to stderr, as JSON or as text.
 *
 * Whatever came from outside is escaped and cut to 256 bytes; pictures and secrets are never
 * logged.
 *
 * Used by:  everything in server/.
 * Owns:     from log_start to log_stop the thread that writes.
 * Fails:    never; a line for which there is no room, or that cannot be written, is lost and
 *           counted, and the log says how many were.
 * Threads:  any may log, and none waits for whoever reads it. log_open: before the first of them.
 *           log_start, log_stop: the thread that started, or the one that ends the process.
 * Limits:   LINE_BYTES a line, which is written within 10 ms where standard error takes it;
 *           log_buffer_bytes of lines that wait; a second to write them at the end.
 */
#ifndef BURIN_LOG_H
#define BURIN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_INFO };

/* FORMAT "json" or "text", LEVEL "info", "error" or "off". Before this is called: text, errors. */
void log_open(const char *format, const char *level);

/* From now on a thread writes, and BUFFER_BYTES of lines may wait for it. Until then, and where
 * there is no thread or no memory for it, a line is written at once by whoever has it, or lost
 * where standard error takes none at this moment. The thread has the priority and the rights of its
 * caller. DROPPED: where lost lines are counted too, until log_stop; NULL: nowhere. */
void log_start(size_t buffer_bytes, uint64_t *dropped);

/* Writes what waits, for a second at most: before the process ends, in whatever way. */
void log_stop(void);

/* Lines of this process that were lost. */
uint64_t log_lines_dropped(void);

bool log_wants(enum log_level level);

void log_event(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of a line that any client may cause as often as it likes: one a second. All zero at first. */
struct log_limit {
    int64_t next_ns;
    int left_out;
};

/* Whether the line may be written at NOW, by clock_ns(); then *LEFT_OUT says how many were not
 * written since the last one. */
bool log_limit_allows(struct log_limit *limit, int64_t now, int *left_out);

/* A line with fields of the caller's. FIELDS is the inside of a JSON object:
 * `"event":"request","id":"x"`. */
void log_fields(enum log_level level, const char *fields);

#endif

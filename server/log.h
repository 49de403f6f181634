// SPDX-License-Identifier: Apache-2.0
/* log.h - one line an event, to stderr, as JSON or as text.
 *
 * Whatever came from outside is escaped and cut to 256 bytes; pictures and secrets are never
 * logged.
 *
 * Used by:  everything in server/.
 * Fails:    never; a line that cannot be written is lost.
 * Threads:  any; a line is written with one call. log_open: before the first of them.
 */
#ifndef BURIN_LOG_H
#define BURIN_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_INFO };

/* FORMAT "json" or "text", LEVEL "info", "error" or "off". Before this is called: text, errors. */
void log_open(const char *format, const char *level);
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

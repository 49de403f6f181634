// SPDX-License-Identifier: Apache-2.0
/* log_ring.h - lines of the log that wait to be written: a ring of bytes that any thread adds to
 * and one takes from.
 *
 * Used by:  log_writer.c.
 * Owns:     its bytes.
 * Fails:    log_ring_create returns NULL without memory; log_ring_put returns false where there is
 *           no room.
 * Threads:  put: any, and none ever waits for another; take: one.
 * Limits:   a line of LOG_LINE_MAX bytes, and as many as fit: each takes 4 bytes more, rounded up
 *           to 8.
 */
#ifndef BURIN_LOG_RING_H
#define BURIN_LOG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_LINE_MAX = 8 << 10 };

struct log_ring;

/* BYTES: at least two of the longest line; rounded up to a power of two. */
struct log_ring *log_ring_create(size_t bytes);
void log_ring_destroy(struct log_ring *ring);

bool log_ring_put(struct log_ring *ring, const char *line, size_t length);

/* Lines in their order, one after the other, as many as fit in SIZE, LOG_LINE_MAX at least; returns
 * their bytes, 0: there is none, or the next one is still being put in. LINES: how many, added. */
size_t log_ring_take(struct log_ring *ring, char *to, size_t size, uint64_t *lines);

/* Bytes of all lines that were ever put in, or are being put in, and of those that were taken out,
 * with what each takes beside its text. */
uint64_t log_ring_head(const struct log_ring *ring);
uint64_t log_ring_tail(const struct log_ring *ring);
size_t log_ring_size(const struct log_ring *ring);

#endif

// SPDX-License-Identifier: Apache-2.0
/* log_writer.h - the thread that writes the log, so that nobody else waits for whoever reads it.
 *
 * Used by:  log.c.
 * Owns:     its thread and the ring of lines that wait; their memory stays to the end of the
 *           process, for other threads may have lines until then.
 * Fails:    log_writer_start returns NULL: no thread or no memory.
 * Threads:  put and dropped: any; start and stop: one thread.
 * Limits:   a line is written within 10 ms where the descriptor takes it; the ring's bytes may
 *           wait; log_writer_stop takes a second at most.
 */
#ifndef BURIN_LOG_WRITER_H
#define BURIN_LOG_WRITER_H

#include <stddef.h>
#include <stdint.h>

struct log_writer_options {
    int fd;                          /* where it writes, as long as there is the process */
    size_t bytes;                    /* that may wait */
    void (*dropped)(uint64_t lines); /* so many more were lost; on any thread */
    /* Makes the line that says that LINES were lost, its end of line too, and returns its length.
     * SIZE is enough. */
    size_t (*tell)(char *line, size_t size, uint64_t lines);
};

struct log_writer;

struct log_writer *log_writer_start(const struct log_writer_options *options);

/* A whole line with its end. Never waits; without room the line is lost. */
void log_writer_put(struct log_writer *writer, const char *line, size_t length);

/* Writes what waits, and ends. Where nobody reads, it gives up after a second, and the thread goes
 * on. Lines that come meanwhile, or later, may be lost. Accepts NULL. */
void log_writer_stop(struct log_writer *writer);

#endif

// SPDX-License-Identifier: Apache-2.0
/* watchdog.h - tells the service manager again and again that the daemon is alive, as long as it
 * is.
 *
 * Used by:  command_serve.c.
 * Owns:     its thread.
 * Fails:    watchdog_start returns NULL: no thread or no memory.
 * Threads:  start and stop: the main thread, which has blocked the signals that it waits for. What
 *           it calls runs in its own.
 */
#ifndef BURIN_WATCHDOG_H
#define BURIN_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

struct watchdog_options {
    int64_t every_ns; /* half of what the service manager waits */
    /* Judges, and takes TIMEOUT_MS at most, half of `every_ns`: so two beats are never further
     * apart than one and a half of them, three quarters of what the service manager waits. */
    bool (*is_alive)(void *context, int timeout_ms);
    /* Is called every `every_ns` if the daemon is alive; later where it took so long to tell. */
    void (*beat)(void *context);
    void *context;
};

struct watchdog;

struct watchdog *watchdog_start(const struct watchdog_options *options);

/* Accepts NULL. */
void watchdog_stop(struct watchdog *watchdog);

#endif

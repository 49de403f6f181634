// SPDX-License-Identifier: Apache-2.0
/* devices.h - reads the list of the key `devices`.
 *
 * Used by:  keys.c, to check it; server/dispatch/worker_list.c, to start workers.
 * Fails:    false, and OUT is undefined. It does not check that a GPU exists.
 * Threads:  any; no state.
 */
#ifndef BURIN_DEVICES_H
#define BURIN_DEVICES_H

#include "config/config.h"

#include <stdbool.h>

enum { DEVICES_MAX = CONFIG_TEXT_MAX / 7 + 1 }; /* "cuda:0," */

struct devices {
    bool all; /* every GPU; the other members are zero */
    bool cpu; /* "cpu" is in the list */
    int count;
    long gpus[DEVICES_MAX]; /* their numbers, in the order of the list */
};

/* TEXT is "all", or cpu and cuda:N, each once, separated by commas. */
bool devices_read(const char *text, struct devices *out);

#endif

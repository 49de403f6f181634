// SPDX-License-Identifier: Apache-2.0
/* devices.h - the list that the key `devices` holds, from text.
 *
 * Used by:  formats.c, to refuse what is none; server/dispatch/worker_list.c, to act on it.
 * Fails:    false, and then OUT means nothing. Whether there is such a GPU is not asked here.
 * Threads:  any; no state.
 */
#ifndef BURIN_DEVICES_H
#define BURIN_DEVICES_H

#include "config/config.h"

#include <stdbool.h>

enum { DEVICES_MAX = CONFIG_TEXT_MAX / 7 + 1 }; /* "cuda:0," */

struct devices {
    bool all; /* every GPU there is; nothing is named then */
    bool cpu; /* "cpu" is named */
    int count;
    long gpus[DEVICES_MAX]; /* their numbers, in the order named */
};

/* "all", or a list of cpu and cuda:N, each once, with commas between. */
bool devices_read(const char *text, struct devices *out);

#endif

// SPDX-License-Identifier: Apache-2.0
/* memory.h - the most main memory that a daemon with these settings takes, part by part, to choose
 * a container's limit.
 *
 * Used by:  command_config.c; front.c uses the sizes of slots.
 * Threads:  any; no state.
 * Limits:   upper bounds, which are not all reached at the same time. GPUs are not included, since
 *           their driver's memory has no bound, nor are users' operators.
 */
#ifndef BURIN_CONFIG_MEMORY_H
#define BURIN_CONFIG_MEMORY_H

#include "config/config.h"

#include <stdio.h>

/* Bytes of a slot of each class that is allocated at the start. */
enum { SLOT_SMALL_BYTES = 128 << 10, SLOT_MEDIUM_BYTES = 3 << 19, SLOT_LARGE_BYTES = 8 << 20 };

/* CORES: the number of lanes if `lanes` is 0. */
void memory_print(const struct config *config, int cores, FILE *out);

#endif

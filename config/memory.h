// SPDX-License-Identifier: Apache-2.0
/* memory.h - the most main memory that a daemon of these settings takes, part by part: what a
 * container's limit has to be.
 *
 * Used by:  command_config.c.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   upper bounds, which are not all reached at the same time. Without GPUs, whose driver
 *           takes memory that nobody bounds, and without users' operators.
 */
#ifndef BURIN_CONFIG_MEMORY_H
#define BURIN_CONFIG_MEMORY_H

#include "config/config.h"

#include <stdio.h>

/* Bytes of each class of slot that are allocated at the start. */
enum { SLOT_SMALL_BYTES = 128 << 10, SLOT_MEDIUM_BYTES = 3 << 19, SLOT_LARGE_BYTES = 8 << 20 };

/* CORES: lanes, where `lanes` is 0. */
void memory_print(const struct config *config, int cores, FILE *out);

#endif

// SPDX-License-Identifier: Apache-2.0
/* memory.h - the most main memory that a daemon with these settings takes, part by part, to choose
 * a container's limit.
 *
 * Used by:  command_config.c; front.c uses the sizes of slots, others those of cells.
 * Threads:  any; no state.
 * Limits:   upper bounds, which are not all reached at the same time. GPUs are not included, since
 *           their driver's memory has no bound, nor are users' operators.
 */
#ifndef BURIN_CONFIG_MEMORY_H
#define BURIN_CONFIG_MEMORY_H

#include "config/config.h"
#include "pipeline/op.h"

#include <stdio.h>

/* SLOT_BASE_BYTES: of each slot, allocated at the start: for an upload of 32 KiB and its answer.
 * SLOTS_GPU: for each GPU, filled while its lanes work on others. */
enum { SLOT_BASE_BYTES = 128 << 10, SLOTS_GPU = 128 };

/* The most bytes of a pixel, which has 16 bits and alpha; and of those that a job's runs leave for
 * one another in a slot: a picture from a cell with gray masks, or two whose pixels are limited
 * together, and one for a cell to encode. */
enum { PIXEL_BYTES_MAX = 8, LEFT_BYTES_MAX = 2 * PIXEL_BYTES_MAX + OP_AUX_MAX };

/* Returns the most bytes that all slots together keep beyond that. With a GPU, uploads reach
 * queue_bytes first: a slot grows to twice its upload. Without one, a page that is allocated again
 * costs little beside the work. */
static inline long memory_slots_grow(const struct config *config, int gpus) {
    return gpus ? 2 * config->queue_bytes : config->queue_bytes / 2;
}

/* Returns the most bytes that the codecs of all decoding cells take together. */
static inline long memory_cells(const struct config *config) {
    const long part = config->cpu_memory_bytes / 4;
    return part > config->codec_memory_bytes ? part : config->codec_memory_bytes;
}

/* CORES: the number of lanes if `lanes` is 0. */
void memory_print(const struct config *config, int cores, FILE *out);

#endif

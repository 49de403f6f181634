// SPDX-License-Identifier: Apache-2.0
/* codec_memory.h - how many bytes of the heap the CPU's codecs take for one file, beside its pixels
 * and its bytes: told of shapes alone, before anything is decoded.
 *
 * Used by:  batch_gather.c, for the memory that a lane of a CPU may have.
 * Owns:     nothing.
 * Threads:  any.
 * Limits:   upper bounds, of noise; rows and tables below a MiB are left out.
 */
#ifndef BURIN_CODEC_MEMORY_H
#define BURIN_CODEC_MEMORY_H

#include "pipeline/encode_options.h"
#include "pipeline/probe.h"

#include <stddef.h>

/* A decoder that needs more than MOST fails (codec_limits' memory_max). */
size_t codec_memory_decode(const struct probe *probe, size_t most);

size_t codec_memory_encode(const struct image *image, const struct encode_options *options);

#endif

// SPDX-License-Identifier: Apache-2.0
/* prologue.h - what stands in a JPEG before its coded blocks, as libjpeg writes it: SOI to SOS
 * with the standard tables.
 *
 * Used by:  jpeg_tiles.c, cuda/codecs/.
 * Threads:  any.
 */
#ifndef BURIN_JPEG_PROLOGUE_H
#define BURIN_JPEG_PROLOGUE_H

#include "pipeline/carried.h"
#include "pipeline/codecs/jpeg/tile.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Quantization steps for QUALITY 1..100 at 8 * row + column. WHICH: 0 luma, 1 chroma. */
void jpeg_quantization_steps(unsigned quality, int which, uint8_t steps[JPEG_BLOCK]);

/* The sampling that the codec takes for an image of COLOURS (1 or 3) channels. */
enum jpeg_sampling jpeg_sampling_of(unsigned colours, unsigned quality);

/* Bytes that jpeg_prologue_write writes. */
size_t jpeg_prologue_bytes(enum jpeg_sampling sampling, const struct carried *carried);

void jpeg_prologue_write(const struct jpeg_frame *frame, unsigned quality,
                         const struct carried *carried, uint8_t *bytes);

/* One that is written, LENGTH bytes, for a frame of another size and the same sampling. */
void jpeg_prologue_resize(const struct jpeg_frame *frame, uint8_t *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif

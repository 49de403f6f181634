// SPDX-License-Identifier: Apache-2.0
/* picture.h - what benchmarks are measured on: made pictures, never zeros, and files.
 *
 * Used by:  the benchmarks, as measurement_draw.
 * Owns:     the caller frees the pixels that picture_load made.
 * Fails:    picture_load with a status and its sentence.
 */
#ifndef BURIN_BENCH_PICTURE_H
#define BURIN_BENCH_PICTURE_H

#include "pipeline/image.h"
#include "pipeline/status.h"

/* Noise in every sample; the same at each call. CONTEXT is not looked at. */
void picture_noise(const struct image *image, const void *context);

/* 8 bit: waves of three sizes and a little noise, smooth and busy regions as photographs have
 * them. CONTEXT is not looked at. */
void picture_waves(const struct image *image, const void *context);

/* Two levels, one above the other, as sky above grass. CONTEXT is not looked at. */
void picture_two_levels(const struct image *image, const void *context);

/* The pixels of CONTEXT, a struct image of the same shape. */
void picture_copy(const struct image *image, const void *context);

enum status picture_load(struct image *image, const char *path, struct failure *failure);

#endif

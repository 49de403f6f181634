// SPDX-License-Identifier: Apache-2.0
/* bench_plain.h - operators once more in straightforward C, from their meaning: what `burin bench`
 * holds results against where nothing else has worked on the same picture.
 */
#ifndef BURIN_BENCH_PLAIN_H
#define BURIN_BENCH_PLAIN_H

#include "pipeline/image.h"

#include <stdbool.h>

/* IMAGE equalized in place, as histeq does it by default. */
void plain_histeq(const struct image *image);

/* PICTURE, 8-bit RGB, less as many seams of gradient energy as OUT, of the same kind, is narrower
 * and lower: into OUT's memory. False: no memory. */
bool plain_carve(const struct image *picture, const struct image *out);

#endif

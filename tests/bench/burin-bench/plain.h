// SPDX-License-Identifier: Apache-2.0
/* plain.h - operators once more in straightforward C, written from their meaning.
 *
 * Used by:  the benchmarks, to check results where the CPU and a GPU cannot be compared with
 *           each other; skeletons.c and tests/bench/edge_ways.c, which time them.
 * Fails:    false: no memory.
 */
#ifndef BURIN_BENCH_PLAIN_H
#define BURIN_BENCH_PLAIN_H

#include "pipeline/image.h"

#include <stdbool.h>

/* histeq by its defaults, of any image. */
bool plain_histeq(const struct image *in, const struct image *out);

/* edge by its defaults, of 8-bit gray. */
bool plain_edge(const struct image *in, const struct image *out);

/* carve, gradient energy, 8-bit RGB: as many seams as OUT is narrower and lower. */
bool plain_carve(const struct image *in, const struct image *out);

enum { PLAIN_TOLERANCE = 20, PLAIN_LEVELS = 256 };

/* The operators of skeletons.c, of 8-bit gray. The last two write numbers into the first bytes of
 * OUT: one uint32_t, PLAIN_LEVELS int32_t. */
void plain_binarize(const struct image *in, const struct image *out);
void plain_sobel(const struct image *in, const struct image *out);
void plain_largest(const struct image *in, const struct image *out);
void plain_counts(const struct image *in, const struct image *out);

#endif

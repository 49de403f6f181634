// SPDX-License-Identifier: Apache-2.0
/* bytes.h - histogram and table look-up over runs of 8-bit samples, with AVX2 where the CPU has it.
 *
 * Each function has a plain twin that says what it means; both give the same bytes, and
 * tests/pipeline/bytes.c holds them to it. Runs of different calls may not overlap.
 */
#ifndef BURIN_BYTES_H
#define BURIN_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds to COUNTS how often each value stands in BYTES. */
void bytes_count(const uint8_t *bytes, size_t length, uint32_t counts[256]);

/* OUT[i] = TABLE[IN[i]]. */
void bytes_map(const uint8_t table[256], const uint8_t *in, uint8_t *out, size_t length);

/* Adds to COUNTS how often each value of max(R, G, B) stands in PIXELS pixels. */
void rgb_count(const uint8_t *rgb, size_t pixels, uint32_t counts[256]);

/* With V = max(R, G, B): each channel c becomes round(c * TABLE[V] / V), half up; TABLE[0] where
 * V is 0. */
void rgb_map(const uint8_t table[256], const uint8_t *rgb, uint8_t *out, size_t pixels);

/* For tests and benchmarks: use the plain twins from now on, or again the fast ones. */
void bytes_force_plain(bool plain);

#endif

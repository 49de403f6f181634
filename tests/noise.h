// SPDX-License-Identifier: Apache-2.0
/* noise.h - numbers that look random and are the same on every machine, for pictures that are made.
 *
 * Used by:  tests and benchmarks.
 * Threads:  a state belongs to one.
 * Source:   W. H. Press and others, Numerical Recipes in C, 1992: the quick and dirty generator.
 */
#ifndef BURIN_TESTS_NOISE_H
#define BURIN_TESTS_NOISE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The next state; its high bits are the better ones. */
static inline uint32_t noise_next(uint32_t *state) {
    return *state = *state * 1664525u + 1013904223u;
}

#ifdef __cplusplus
}
#endif
#endif

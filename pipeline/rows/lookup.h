// SPDX-License-Identifier: Apache-2.0
/* lookup.h - 8-bit samples looked up in a table, with AVX2 or AVX-512 where the CPU has it.
 *
 * Used by:  ops/histeq.c, ops/tone_rows.h.
 * Threads:  any; no state.
 */
#ifndef BURIN_LOOKUP_H
#define BURIN_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

/* OUT[i] = TABLE[IN[i]]; IN and OUT do not overlap. */
void lookup_bytes(const uint8_t table[256], const uint8_t *in, uint8_t *out, size_t length);

#endif

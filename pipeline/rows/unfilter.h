// SPDX-License-Identifier: Apache-2.0
/* unfilter.h - a row of a PNG from its filtered bytes.
 *
 * Used by:  pipeline/codecs/png/decoder.c.
 * Threads:  any.
 * Source:   W3C PNG, 9.
 */
#ifndef BURIN_UNFILTER_H
#define BURIN_UNFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes behind each row that may be read, and that are written behind ROW. */
enum { UNFILTER_PAD = 8 };

/* FILTER is the byte in front of LENGTH bytes at FILTERED. ABOVE: the row before, 0 if there is
 * none. PIXEL: bytes from a sample to the one left of it: 1, 2, 3, 4, 6, 8. false: there is no such
 * filter. */
bool unfilter_row(unsigned filter, const uint8_t *filtered, const uint8_t *above, uint8_t *row,
                  size_t length, size_t pixel);

#endif

// SPDX-License-Identifier: Apache-2.0
/* colour_names.h - the 148 names of colours in CSS, and `transparent`.
 *
 * Used by:  param.c.
 * Owns:     nothing.
 * Threads:  any; no state.
 */
#ifndef BURIN_COLOUR_NAMES_H
#define BURIN_COLOUR_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets RGBA, 0xRRGGBBAA, for NAME in any case; false: there is no such name, and RGBA is 0. */
bool colour_named(const char *name, uint32_t *rgba);

#ifdef __cplusplus
}
#endif
#endif

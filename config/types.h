// SPDX-License-Identifier: Apache-2.0
/* types.h - the list that the key `prefer` holds: types of images, the most preferred first.
 *
 * Used by:  formats.c; http/negotiation.c, of types that a client likes equally.
 * Owns:     nothing.
 * Threads:  any; no state.
 */
#ifndef BURIN_TYPES_H
#define BURIN_TYPES_H

#include "pipeline/probe.h"

#include <stdbool.h>

struct types {
    int count;
    enum format types[FORMAT_COUNT];
};

/* "webp,jpeg": each once, with commas between, or nothing. false: TEXT is something else, and what
 * TYPES has is undefined. */
bool types_read(const char *text, struct types *types);

#endif

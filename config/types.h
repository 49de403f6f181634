// SPDX-License-Identifier: Apache-2.0
/* types.h - the value of the key `prefer`: types of images, the most preferred first.
 *
 * Used by:  formats.c; http/negotiation.c, for types that a client likes equally.
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

/* Reads "webp,jpeg", each type once, or nothing. false: TEXT is something else, and TYPES is
 * undefined. */
bool types_read(const char *text, struct types *types);

#endif

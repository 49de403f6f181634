// SPDX-License-Identifier: Apache-2.0
/* types.h - the list of the key `prefer`: types of images, the most preferred first.
 *
 * Used by:  keys.c, to check it; http/negotiation.c, if a client accepts several types equally.
 * Fails:    false.
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

/* TEXT is empty, or types separated by commas, each once: "webp,jpeg". False: it is not, and TYPES
 * is undefined. */
bool types_read(const char *text, struct types *types);

#endif

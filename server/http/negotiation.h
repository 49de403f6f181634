// SPDX-License-Identifier: Apache-2.0
/* accept.h - what the Accept lines of a request like best of what can be answered here.
 *
 * Of the ranges that match a type the one that says most of it decides: image/png before image, any
 * kind, before anything at all; of equals the one with the higher weight. No weight is 1, as is one
 * that cannot be read; 0 means never. Parameters other than q are passed over. An account without
 * its image goes only to a client that takes no image: many list JSON before anything else out of
 * habit. Both in parts go to a client that names multipart and likes it no less than what it would
 * get otherwise.
 *
 * A pure module; never fails: where nothing that can be answered is acceptable it is as if nothing
 * had been asked for.
 * Source:   RFC 9110, 5.3, 12.4.2 and 12.5.1.
 */
#ifndef BURIN_NEGOTIATION_H
#define BURIN_NEGOTIATION_H

#include "pipeline/probe.h"

enum answer { ANSWER_IMAGE, ANSWER_MULTIPART, ANSWER_JSON };

enum { NEGOTIATION_KINDS = 5 }; /* image types, parts, JSON */

/* Zeroed: nothing is asked for. */
struct negotiation {
    struct liking {
        int depth;  /* how much the range that decides says */
        int weight; /* thousandths */
    } likings[NEGOTIATION_KINDS];
};

/* One line of several, in any order: together they are one list (RFC 9110, 5.3). */
void negotiation_add(struct negotiation *accept, const char *line);

enum answer negotiation_answer(const struct negotiation *accept);

/* The image's type, within parts too. FORMAT_NONE: as the INPUT, which is liked as well as any, or
 * no type is acceptable. */
enum format negotiation_type(const struct negotiation *accept, enum format input);

#endif

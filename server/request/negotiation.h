// SPDX-License-Identifier: Apache-2.0
/* negotiation.h - content negotiation: what a request's Accept lines prefer of what can be sent.
 *
 * Of the ranges that match a type the most specific one decides: image/png before image, any kind,
 * before anything at all; of equals the one with the higher weight. Without a weight, or with one
 * that cannot be read, it is 1; 0 means never. Other parameters than q are skipped. A timing report
 * without its image goes only to a client that accepts no image: many list JSON first out of habit.
 * Both in parts go to a client that names multipart and prefers it no less than what it would get
 * otherwise.
 *
 * A type that cannot be written here is as if it were not named.
 *
 * A browser that opens a page, and so names text/html, lists beside it every image type that it can
 * show: that says nothing of the types that take long to write, which it gets only where `prefer`
 * has them.
 *
 * Used by:  handle_process.c.
 * Owns:     nothing: a pure module.
 * Fails:    never: where nothing that can be answered is acceptable, it is as if there were no
 *           Accept.
 * Threads:  one at a time.
 * Source:   RFC 9110, 5.3, 12.4.2 and 12.5.1.
 */
#ifndef BURIN_NEGOTIATION_H
#define BURIN_NEGOTIATION_H

#include "config/types.h"

#include <stdbool.h>

enum answer { ANSWER_IMAGE, ANSWER_MULTIPART, ANSWER_JSON, ANSWER_ZIP };

enum { NEGOTIATION_KINDS = FORMAT_COUNT + 3 }; /* images by their format; parts, JSON, ZIP */

/* Zeroed: nothing is asked for. */
struct negotiation {
    struct preference {
        int depth;  /* how specific the range is that decides */
        int weight; /* thousandths */
    } preferences[NEGOTIATION_KINDS];
    bool page; /* text/html is named */
};

/* One line of several, in any order: together they are one list (RFC 9110, 5.3). */
void negotiation_add(struct negotiation *accept, const char *line);

/* VALUES_SUFFICE: the image would be the one that came in, and the report, with what was told of
 * it, is wanted unless an image type is named. */
enum answer negotiation_answer(const struct negotiation *accept, bool values_suffice);

/* Of several images: parts, unless only ZIP or JSON is named, or is preferred to parts. */
enum answer negotiation_answer_several(const struct negotiation *accept);

/* The image's type, within parts too. Of types that are preferred most the first in PREFER that the
 * client names in full, then the INPUT's, which is told as FORMAT_NONE; so is it that no type is
 * acceptable. */
enum format negotiation_type(const struct negotiation *accept, enum format input,
                             const struct types *prefer);

#endif

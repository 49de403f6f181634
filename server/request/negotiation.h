// SPDX-License-Identifier: Apache-2.0
/* negotiation.h - content negotiation: chooses the form and type of an answer by the request's
 * Accept lines.
 *
 * Of the ranges that match a type the most specific one decides (image/png, then any image, then
 * anything); among equals the one with the higher weight. A missing or unreadable weight is 1; 0
 * means never. Parameters other than q are skipped. A client gets the timing report without the
 * image only if it accepts no image, since many list JSON first out of habit. It gets both as parts
 * if it names multipart and prefers that no less than the answer it would get otherwise.
 *
 * Types that this build cannot write are ignored.
 *
 * A browser that opens a page names text/html, and lists beside it every image type that it can
 * show. That is no preference for types that take long to write; it gets those only if `prefer` has
 * them.
 *
 * Used by:  http/handle_image.c adds the lines; submit.c chooses; http/handle_status.c (/metrics).
 * Owns:     nothing: pure functions.
 * Fails:    never: if no possible answer is acceptable, Accept is ignored.
 * Threads:  one at a time.
 * Source:   RFC 9110, 5.3, 12.4.2 and 12.5.1.
 */
#ifndef BURIN_NEGOTIATION_H
#define BURIN_NEGOTIATION_H

#include "config/types.h"

#include <stdbool.h>

enum answer { ANSWER_IMAGE, ANSWER_MULTIPART, ANSWER_JSON, ANSWER_ZIP };

enum { NEGOTIATION_KINDS = FORMAT_COUNT + 3 }; /* images by their format; parts, JSON, ZIP */

/* Zeroed: no Accept. */
struct negotiation {
    struct preference {
        int depth;  /* how specific the deciding range is */
        int weight; /* thousandths */
    } preferences[NEGOTIATION_KINDS];
    bool page; /* text/html is named */
};

/* Adds one of several lines, in any order: together they are one list (RFC 9110, 5.3). */
void negotiation_add(struct negotiation *accept, const char *line);

/* The weight of MEDIA_TYPE where LINE names it in full, whatever its parameters; 0: it does not. */
int negotiation_weight(const char *line, const char *media_type);

/* VALUES_SUFFICE: the image is unchanged, and the report has its values; the report alone is wanted
 * then, unless an image type is named. */
enum answer negotiation_answer(const struct negotiation *accept, bool values_suffice);

/* For several images: parts, unless only ZIP or JSON is named, or is preferred to parts. */
enum answer negotiation_answer_several(const struct negotiation *accept);

/* The image's type, also within parts. Among the most preferred types the first of PREFER that the
 * client names in full, then INPUT. FORMAT_NONE: INPUT, also if no type is acceptable. */
enum format negotiation_type(const struct negotiation *accept, enum format input,
                             const struct types *prefer);

#endif

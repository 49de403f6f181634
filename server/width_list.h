// SPDX-License-Identifier: Apache-2.0
/* width_list.h - the widths of several results: "320,640,1280".
 *
 * Used by:  http/outputs.c, options.c.
 * Owns:     nothing; plain data.
 * Fails:    width_list_read returns false.
 * Threads:  any.
 * Limits:   WIDTHS_MAX different widths of 1..IMAGE_SIDE_MAX pixels.
 */
#ifndef BURIN_WIDTH_LIST_H
#define BURIN_WIDTH_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIDTHS_MAX = 16 };

/* The allowed values, for messages. */
#define WIDTH_LIST_RANGE "1 to 16 different whole numbers 1..65535, such as 320,640,1280"

struct width_list {
    int count; /* 0: none is given */
    uint32_t widths[WIDTHS_MAX];
};

bool width_list_read(struct width_list *list, const char *text);

/* Copies the next word of a list with commas, without blanks around it, and moves *AT behind its
 * comma, or sets *AT to NULL after the last word. False: there is no word, or it is too long. */
bool list_next_word(const char **at, char *word, size_t size);

#endif

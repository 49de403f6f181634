// SPDX-License-Identifier: Apache-2.0
/* text.h - writes JSON and headers into memory of fixed size, without the heap or printf's doubles.
 *
 * For what every request writes: its account and its log line. Whatever does not fit is left out
 * and `full` is set; the text always ends with a zero byte.
 */
#ifndef BURIN_TEXT_H
#define BURIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *start;
    size_t length, size;
    bool full;
};

struct text text_in(char *memory, size_t size);
void text_add(struct text *text, const char *words);
void text_number(struct text *text, int64_t number);
void text_ms(struct text *text, double ms); /* three decimals, rounded half up; not below 0 */
void text_json(struct text *text, const char *words); /* quoted and escaped, in ASCII */

/* "name": and then the value; a comma before it unless it is the first of its object. */
void text_key(struct text *text, const char *name);
void text_key_number(struct text *text, const char *name, int64_t number);
void text_key_ms(struct text *text, const char *name, double ms);
void text_key_json(struct text *text, const char *name, const char *words);

#endif

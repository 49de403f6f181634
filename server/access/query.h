// SPDX-License-Identifier: Apache-2.0
/* query.h - the arguments of a request's query, and the text of a request that is signed.
 *
 *     burin-1
 *     POST
 *     /resize
 *     body_max=8388608&expires=1893456000&key=shop-web&type=webp&width=320
 *
 * The last line has every argument but the signature, sorted by name, so that each way to write the
 * same query gives the same text. Only letters, digits and - . _ ~ stand for themselves.
 *
 * Used by:  judge.c, for each signed request; key_file.c, for presets; command_sign.c.
 * Owns:     nothing; arguments point into the caller's text.
 * Fails:    query_read: -1; query_message: 0.
 * Threads:  any; no state.
 * Limits:   ARGUMENTS_MAX, MESSAGE_MAX.
 * Source:   RFC 3986, section 2.3.
 */
#ifndef BURIN_QUERY_H
#define BURIN_QUERY_H

#include <stddef.h>

enum { ARGUMENTS_MAX = 64, MESSAGE_MAX = 8192 };

/* Decoded. */
struct argument {
    const char *name, *value;
};

/* Splits TEXT, "a=1&b=%20", and decodes it in place: + is a blank. -1: it has more than
 * ARGUMENTS_MAX, or a % without two digits, or a zero byte. Else their number. */
int query_read(char *text, struct argument arguments[ARGUMENTS_MAX]);

/* Sorts by the bytes of the names. Returns a name that stands twice; NULL: none does. */
const char *query_sort(struct argument *arguments, int count);

/* NULL: there is none. */
const char *query_find(const struct argument *arguments, int count, const char *name);

/* Writes the arguments but the signature as a query; returns the length, or 0 if there are none or
 * they do not fit. */
size_t query_print(const struct argument *arguments, int count, char *out, size_t size);

/* Writes the text that is signed and returns its length; 0: it does not fit. The arguments are
 * sorted. PATH is decoded. */
size_t query_message(const char *method, const char *path, const struct argument *arguments,
                     int count, char out[MESSAGE_MAX]);

#endif

// SPDX-License-Identifier: Apache-2.0
/* utf8.h - characters of UTF-8 text that somebody else wrote.
 *
 * Used by:  skeletons/reader.c, skeletons/parameter_struct.c, server/api/json_writer.c,
 *           server/cli/command_serve.c.
 * Threads:  any.
 * Source:   RFC 3629
 */
#ifndef BURIN_UTF8_H
#define BURIN_UTF8_H

#include <stddef.h>

/* How many bytes the character has that begins at AT, of LENGTH bytes; 0: it is none. */
size_t utf8_character(const char *at, size_t length);

/* The first LENGTH bytes of TEXT without half a character at their end: how many remain. */
size_t utf8_cut(const char *text, size_t length);

/* Control characters, and bytes that are no UTF-8, become '?'. */
void utf8_clean(char *text);

#endif

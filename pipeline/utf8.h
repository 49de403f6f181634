// SPDX-License-Identifier: Apache-2.0
/* utf8.h - characters of untrusted UTF-8 text.
 *
 * Used by:  skeletons/reader.c, skeletons/parameter_struct.c, server/api/json_writer.c,
 *           server/cli/command_serve.c, server/request/settings.c, server/access/key_file.c,
 *           config/config.c.
 * Threads:  any; no state.
 * Source:   RFC 3629
 */
#ifndef BURIN_UTF8_H
#define BURIN_UTF8_H

#include <stddef.h>

/* Returns the bytes of the character that begins at AT, of LENGTH bytes; 0: it is invalid. */
size_t utf8_character(const char *at, size_t length);

/* Returns LENGTH, less the bytes of a character that it cuts in two. */
size_t utf8_cut(const char *text, size_t length);

/* Returns the bytes of the byte order mark at the start of TEXT, 3 or 0; the mark is no text. */
size_t utf8_mark(const char *text, size_t length);

/* Replaces control characters and bytes that are not UTF-8 by '?'. */
void utf8_clean(char *text);

#endif

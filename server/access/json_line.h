// SPDX-License-Identifier: Apache-2.0
/* json_line.h - finds the line of a member in a JSON text, for a message: jansson does not keep it.
 *
 * Used by:  key_file.c.
 * Threads:  any; no state.
 */
#ifndef BURIN_JSON_LINE_H
#define BURIN_JSON_LINE_H

/* The line, from 1, of the value at PLACE, "keys[1].limits", or of its member MEMBER (may be NULL);
 * if there is none, of what contains it. TEXT is valid JSON. */
int json_line(const char *text, const char *place, const char *member);

#endif

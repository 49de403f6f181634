// SPDX-License-Identifier: Apache-2.0
/* diagnostics.h - the mistakes of an operator's source, each with its line.
 *
 * Used by:  the reader and the compilers of users' operators; `burin check` prints them.
 * Owns:     nothing; a list is plain data.
 * Threads:  a list belongs to one.
 * Limits:   DIAGNOSTICS_MAX are kept; more are only counted.
 */
#ifndef BURIN_DIAGNOSTICS_H
#define BURIN_DIAGNOSTICS_H

#include <stddef.h>

enum { DIAGNOSTICS_MAX = 20, DIAGNOSTIC_TEXT_MAX = 240 };

struct diagnostic {
    int line;
    const char *directive; /* "#P2P_FUNC"; NULL: no directive is concerned */
    char text[DIAGNOSTIC_TEXT_MAX];
};

struct diagnostics {
    const char *path;                        /* as the user named the file; borrowed */
    int count;                               /* of all, stored or not */
    struct diagnostic list[DIAGNOSTICS_MAX]; /* by line */
};

/* Adds a mistake; the same text at the same line is kept once. DIRECTIVE is a constant text or
 * NULL. */
void diagnostics_add(struct diagnostics *diagnostics, int line, const char *directive,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Prints mistake INDEX into TEXT: "op.c:12: #P2P_FUNC: expected ...". */
void diagnostics_print(const struct diagnostics *diagnostics, int index, char *text, size_t size);

#endif

// SPDX-License-Identifier: Apache-2.0
/* reference.h - prints the table of keys.c for people.
 *
 * Used by:  command_config.c and command_serve.c.
 * Threads:  any; no state.
 */
#ifndef BURIN_REFERENCE_H
#define BURIN_REFERENCE_H

#include <stdio.h>

/* Prints a paragraph for each key: flag, meaning, range, default. For `burin serve --help`. */
void reference_help(FILE *out);

/* Prints a file with every default. A test compares it with config/burin.json. */
void reference_file(FILE *out);

/* Prints the table of all keys. A test compares it with config/README.md. */
void reference_markdown(FILE *out);

#endif

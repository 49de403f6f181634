// SPDX-License-Identifier: Apache-2.0
/* reference.h - what all keys are, printed from the table of keys.c in the forms that people read.
 *
 * Used by:  command_config.c and command_serve.c.
 * Threads:  any; no state.
 */
#ifndef BURIN_REFERENCE_H
#define BURIN_REFERENCE_H

#include <stdio.h>

/* A paragraph a key: flag, meaning, range, default. For `burin serve --help`. */
void reference_help(FILE *out);

/* A file with every default. config/burin.json equals it, and a test says so. */
void reference_file(FILE *out);

/* The table of all keys in config/README.md, which equals it, and a test says so. */
void reference_markdown(FILE *out);

#endif

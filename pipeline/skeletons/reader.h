// SPDX-License-Identifier: Apache-2.0
/* reader.h - a C file with directives, read into records of operators.
 *
 * README.md of this folder is the language's reference.
 *
 * Used by:  operators_dir.c; server/cli/command_check.c, command_convert.c and user_operators.c;
 *           tests/bench/burin-bench/skeletons.c.
 * Owns:     the caller destroys what reader_read returns; registered operators stay for ever.
 * Fails:    what is wrong goes into the diagnostics, and NULL comes back.
 * Threads:  any; no state but the registry's names.
 * Limits:   READER_BYTES_MAX of source where the caller names no other.
 */
#ifndef BURIN_READER_H
#define BURIN_READER_H

#include "pipeline/skeletons/user_op.h"

enum { READER_BYTES_MAX = 64 * 1024 };

/* TEXT is LENGTH bytes of the file at PATH, copied. BYTES_MAX: at most READER_BYTES_MAX is asked
 * of a file where 0 is given. */
struct user_file *reader_read(const char *path, const char *text, size_t length, size_t bytes_max,
                              struct diagnostics *diagnostics);
void reader_destroy(struct user_file *file); /* NULL is fine */

#endif

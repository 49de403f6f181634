// SPDX-License-Identifier: Apache-2.0
/* reader.h - a C file with directives, read into records of operators.
 *
 * README.md of this folder describes the language.
 *
 * Used by:  operators_dir.c; server/cli/command_check.c, command_convert.c and user_operators.c;
 *           tests/bench/burin-bench/skeletons.c.
 * Owns:     the caller destroys the result of reader_read; registered operators stay for ever.
 * Fails:    mistakes go into the diagnostics, and NULL is returned.
 * Threads:  any; no state but the registry's names.
 * Limits:   READER_BYTES_MAX bytes of source unless the caller sets another limit.
 */
#ifndef BURIN_READER_H
#define BURIN_READER_H

#include "pipeline/skeletons/user_op.h"

enum { READER_BYTES_MAX = 64 * 1024 };

/* TEXT has LENGTH bytes, the file at PATH; it is copied. BYTES_MAX 0: READER_BYTES_MAX. */
struct user_file *reader_read(const char *path, const char *text, size_t length, size_t bytes_max,
                              struct diagnostics *diagnostics);
void reader_destroy(struct user_file *file); /* NULL is fine */

#endif

// SPDX-License-Identifier: Apache-2.0
/* compiler.h - the system's C compiler, run in a process of its own with limits.
 *
 * cc, gcc, clang or tcc, the first that is on the PATH. It reads no header and links no library: a
 * name that the source does not define is an error.
 *
 * Used by:  twin_library.c; server/user_operators.c, in a process that checks.
 * Owns:     nothing.
 * Fails:    compiler_find returns false; compiler_run false, with what the compiler wrote.
 * Threads:  any; but compiler_run forks, so it is called before a process has many.
 * Limits:   those of compiler_limit(), and 32 MiB a file.
 */
#ifndef BURIN_COMPILER_H
#define BURIN_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

enum { COMPILER_PATH_MAX = 512, COMPILER_OUTPUT_MAX = 64 * 1024 };

struct compiler {
    char path[COMPILER_PATH_MAX];
    char identity[COMPILER_PATH_MAX + 160]; /* path, size and age: another one, another text */
    bool is_tcc;
};

/* false: there is none. */
bool compiler_find(struct compiler *compiler);

/* The options that it is given, for the cache's key. */
const char *compiler_options(const struct compiler *compiler);

/* From now on a compiler stays in this process's group: whoever kills the whole group ends what the
 * compiler has started, too. Else it has one of its own, which is killed at its time limit. */
void compiler_stay_in_group(void);

/* Limits every later compiler to CPU_MS of processor time, rounded up to seconds, twice that of
 * waiting, and BYTES of address space. The limits are 30 s and 1 GiB before the first call. */
void compiler_limit(long cpu_ms, long bytes);

/* Compiles DIRECTORY/twin.c to DIRECTORY/twin.so. OUTPUT: its messages, NUL-terminated. */
bool compiler_run(const struct compiler *compiler, const char *directory,
                  char output[COMPILER_OUTPUT_MAX]);

#endif

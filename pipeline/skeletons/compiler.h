// SPDX-License-Identifier: Apache-2.0
/* compiler.h - the system's C compiler, run in a process of its own with limits.
 *
 * It is the first of cc, gcc, clang and tcc on the PATH. It reads no header and links no library,
 * so a name that the source does not define is an error.
 *
 * Used by:  twin_library.c; server/user_operators.c, in a process that checks.
 * Owns:     nothing.
 * Fails:    compiler_find returns false; compiler_run false, with the compiler's messages.
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
    char identity[COMPILER_PATH_MAX + 160]; /* path, size and age, which change with the compiler */
    bool is_tcc;
};

/* Returns false where there is no compiler. */
bool compiler_find(struct compiler *compiler);

/* Returns the options as text, for the cache's key. */
const char *compiler_options(const struct compiler *compiler);

/* From now on compilers stay in this process's group, so that killing the group ends all that a
 * compiler started. Otherwise each has its own group, which is killed at its time limit. */
void compiler_stay_in_group(void);

/* Limits every later compiler to CPU_MS of processor time, rounded up to seconds, twice that of
 * waiting, and BYTES of address space. Initially 30 s and 1 GiB. */
void compiler_limit(long cpu_ms, long bytes);

/* Compiles DIRECTORY/twin.c to DIRECTORY/twin.so. OUTPUT receives the messages, NUL-terminated. */
bool compiler_run(const struct compiler *compiler, const char *directory,
                  char output[COMPILER_OUTPUT_MAX]);

#endif

// SPDX-License-Identifier: Apache-2.0
/* files.h - whole files in and out of memory; "-" is standard input or output.
 *
 * Used by:  one_run.c, command_sign.c, tests/bench/burin-bench/picture.c.
 * Owns:     nothing: the caller frees the bytes of files_read, also after a failure.
 * Fails:    STATUS_INTERNAL with the path and the system's reason; STATUS_NO_MEMORY. No part of a
 *           file is left, except under the temporary name if the process is killed.
 * Threads:  one at a time in a folder: the temporary name is the process's.
 */
#ifndef BURIN_FILES_H
#define BURIN_FILES_H

#include "pipeline/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum status files_read(const char *path, uint8_t **bytes, size_t *length, struct failure *failure);

/* Replaces a file as files_replace does, but makes no folder, and follows a link. A device or a
 * pipe is written in place, and so is a file that is open already, another user's, or one whose
 * folder takes no other. */
enum status files_write(const char *path, const uint8_t *bytes, size_t length,
                        struct failure *failure);

enum { FILES_TEMPORARY_MAX = 128 };

/* Sets NAME, which the files of process PID have before they are renamed; others' have not. */
void files_temporary(pid_t pid, char name[FILES_TEMPORARY_MAX]);

/* Writes a file of the name TEMPORARY in PATH's folder, which is made if it is missing, and renames
 * it to PATH, whose rights and, if the process may, owner it keeps. After a failure PATH is as it
 * was, and the other is gone. */
enum status files_replace(const char *path, const char *temporary, const uint8_t *bytes,
                          size_t length, struct failure *failure);

/* Sets BESIDE to the path of NAME in PATH's folder; false: it is too long, and errno says so. */
bool files_beside(const char *path, const char *name, char beside[PATH_MAX]);

/* Makes the folders of PATH up to its last slash; false: errno says why. */
bool files_make_folders(const char *path);

#endif

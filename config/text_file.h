// SPDX-License-Identifier: Apache-2.0
/* text_file.h - a file of settings or of keys in memory.
 *
 * No pipe or device is read, which would delay a reload or never end.
 *
 * Used by:  config.c, server/access/key_file.c.
 * Owns:     nothing; the caller frees the text.
 * Fails:    NULL, STATUS_BAD_PARAM or STATUS_NO_MEMORY, with a sentence that names the file.
 * Threads:  any; no state.
 * Limits:   1 MiB.
 */
#ifndef BURIN_TEXT_FILE_H
#define BURIN_TEXT_FILE_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The file's LENGTH bytes and a zero. SECRET: a file that others than its owner can read or change
 * is refused; the group of root's may read it, as Kubernetes mounts secrets. */
char *text_file_read(const char *path, bool secret, size_t *length, struct failure *failure);

#endif

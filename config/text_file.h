// SPDX-License-Identifier: Apache-2.0
/* text_file.h - a file of settings or of keys in memory.
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

#include <stddef.h>

enum text_file {
    TEXT_FILE_ANY,     /* a pipe too, whose end is waited for */
    TEXT_FILE_REGULAR, /* no pipe or device, which would delay a reload or never end */
    TEXT_FILE_SECRET   /* regular, and others than its owner can neither read nor change it; the
                          group of root's may read it, as Kubernetes mounts secrets */
};

/* The file's LENGTH bytes and a zero. */
char *text_file_read(const char *path, enum text_file kind, size_t *length,
                     struct failure *failure);

#endif

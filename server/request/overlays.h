// SPDX-License-Identifier: Apache-2.0
/* overlays.h - the pictures of overlays_dir in memory: a request names one in place of a part
 * `overlay`.
 *
 * The folder is read at start and on SIGHUP, and nothing is opened for a request: a name of a
 * request is compared with those that were read, so it is never a path.
 *
 * Used by:  upload.c copies one into a slot; access/key_file.c checks the names in presets;
 *           http/reload.c and command_serve.c read the folder; service.h has the set in force.
 * Owns:     names and bytes, until the last hold ends.
 * Fails:    STATUS_BAD_PARAM if the folder or a file cannot be read, or if there is too much of it;
 *           STATUS_NO_MEMORY. Links, empty files and what is no file are logged and left out.
 * Threads:  one makes a set; then it is read-only, and any may hold and release it (current.h).
 * Limits:   overlays_bytes_max, OVERLAYS_MAX, OVERLAY_NAME_MAX.
 */
#ifndef BURIN_OVERLAYS_H
#define BURIN_OVERLAYS_H

#include "pipeline/status.h"

#include <stddef.h>
#include <stdint.h>

#define OVERLAY_PART "overlay" /* the part, and the setting in its place */

enum { OVERLAY_NAME_MAX = 64, OVERLAYS_MAX = 1024 };

struct overlay {
    char name[OVERLAY_NAME_MAX];
    uint8_t *bytes; /* of the file, as it is */
    size_t length;
};

struct overlays {
    int holders; /* atomic, as in current.h */
    int count;
    struct overlay list[OVERLAYS_MAX];
};

/* The files of FOLDER whose names have no leading dot; none if FOLDER is empty. */
struct overlays *overlays_read(const char *folder, long bytes_max, struct failure *failure);

/* NULL, with a sentence: there is no such overlay. */
const struct overlay *overlays_find(const struct overlays *overlays, const char *name,
                                    struct failure *failure);

void overlays_release(struct overlays *overlays); /* accepts NULL */

#endif

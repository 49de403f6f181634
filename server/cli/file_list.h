// SPDX-License-Identifier: Apache-2.0
/* file_list.h - the files of `burin run --out-dir`: each source, and the name of its result.
 *
 * Used by:  many_run.c.
 * Owns:     its names, until file_list_release.
 * Fails:    STATUS_BAD_PARAM, before any file is written: a folder without --recursive, two sources
 *           with one result, a result that would replace a source. A source that cannot be read
 *           stays in the list, and fails when its turn comes.
 * Threads:  one.
 * Limits:   FOLDERS_DEEP_MAX folders one in the other, more are an error; links to folders are not
 *           followed.
 */
#ifndef BURIN_FILE_LIST_H
#define BURIN_FILE_LIST_H

#include "server/cli/options.h"

#include <limits.h>

enum { FOLDERS_DEEP_MAX = 64 };

struct file_pair {
    char *source, *output; /* heap; `output` has %w in it if there are --widths */
};

struct file_list {
    struct file_pair *pairs; /* in the order of the arguments, a folder's by name */
    size_t count, room;
    size_t skipped; /* files whose result is newer, of --resume: they are not in the list */
};

enum status file_list_make(struct file_list *list, const struct options *options,
                           struct failure *failure);

/* Sets PATH of PAIR's result INDEX: it has one, or one of each width. False: there are no more, or
 * the name is too long. */
bool file_list_output(const struct options *options, const struct file_pair *pair, int index,
                      char path[PATH_MAX]);

void file_list_release(struct file_list *list);

#endif

// SPDX-License-Identifier: Apache-2.0
/* twin_cache.h - compiled operators on disk.
 *
 * An entry is <hash>.so and <hash>.c, the complete text that it was made of with compiler, options
 * and CPU in its first lines: it is taken only if that text is the same.
 *
 * Used by:  twin_library.c; kernel_cache.c, which has its own files in the same folder;
 *           server/user_operators.c and bench/skeletons.c name the folder.
 * Owns:     nothing in memory. The folder is ours alone: what is in it is run.
 * Fails:    an entry that is not there, or not to be trusted, is not found.
 * Threads:  any, and several processes: an entry is whole or not there.
 * Limits:   entries that nobody used for TWIN_CACHE_DAYS are removed.
 */
#ifndef BURIN_TWIN_CACHE_H
#define BURIN_TWIN_CACHE_H

#include <stdbool.h>

enum { TWIN_CACHE_DAYS = 30, TWIN_CACHE_PATH_MAX = 1024 };

/* The folder that is used where nothing else is said: $CACHE_DIRECTORY, $XDG_CACHE_HOME/burin or
 * $HOME/.cache/burin; NULL: there is none. */
const char *twin_cache_default(void);

/* Made if it is not there. Why nothing can be kept in it; NULL: it can. */
const char *twin_cache_trouble(const char *folder);
bool twin_cache_open(const char *folder); /* there is no trouble */

/* The path of the library that was made of TEXT. */
bool twin_cache_find(const char *folder, const char *text, char path[TWIN_CACHE_PATH_MAX]);

/* Takes twin.so and twin.c, which reads TEXT, out of the folder FROM on the same file system. */
void twin_cache_keep(const char *folder, const char *text, const char *from);

/* Where an entry of TEXT lies whose file ends in .ENDING. */
void twin_cache_path(const char *folder, const char *text, const char *ending,
                     char path[TWIN_CACHE_PATH_MAX]);

/* Removes what nobody used for long. */
void twin_cache_clean(const char *folder);

/* The file at PATH is ours and nobody else may write to it. */
bool twin_cache_is_ours(const char *path);
bool twin_cache_is_ours_at(int fd);

/* A folder with the files in it. */
void twin_cache_remove_folder(const char *folder);

#endif

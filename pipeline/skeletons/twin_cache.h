// SPDX-License-Identifier: Apache-2.0
/* twin_cache.h - compiled operators on disk.
 *
 * An entry is <hash>.so and <hash>.c, the complete text from which it was made, with compiler,
 * options and CPU in its first lines: it is used only if that text is the same.
 *
 * Used by:  twin_library.c; kernel_cache.c, which has its own files in the same folder;
 *           server/user_operators.c and bench/skeletons.c name the folder.
 * Owns:     nothing in memory. The folder must be ours alone, because its files are run.
 * Fails:    an entry that is missing or cannot be trusted is not found.
 * Threads:  any, and several processes: an entry is complete or missing.
 * Limits:   entries unused for TWIN_CACHE_DAYS are removed.
 */
#ifndef BURIN_TWIN_CACHE_H
#define BURIN_TWIN_CACHE_H

#include <stdbool.h>

enum { TWIN_CACHE_DAYS = 30, TWIN_CACHE_PATH_MAX = 1024 };

/* Returns the default folder: $CACHE_DIRECTORY, $XDG_CACHE_HOME/burin or $HOME/.cache/burin; NULL:
 * there is none. */
const char *twin_cache_default(void);

/* Makes the folder if needed. Returns why nothing can be stored in it; NULL: it can. */
const char *twin_cache_trouble(const char *folder);
bool twin_cache_open(const char *folder); /* true where it can */

/* Finds the library made from TEXT. */
bool twin_cache_find(const char *folder, const char *text, char path[TWIN_CACHE_PATH_MAX]);

/* Moves twin.so and twin.c, which contains TEXT, out of the folder FROM on the same file system. */
void twin_cache_keep(const char *folder, const char *text, const char *from);

/* Sets PATH to the file ending in .ENDING of TEXT's entry. */
void twin_cache_path(const char *folder, const char *text, const char *ending,
                     char path[TWIN_CACHE_PATH_MAX]);

/* Removes entries that were long unused. */
void twin_cache_clean(const char *folder);

/* Whether the file is ours and nobody else may write to it. */
bool twin_cache_is_ours_at(int fd);

/* Removes a folder and the files in it. */
void twin_cache_remove_folder(const char *folder);

#endif

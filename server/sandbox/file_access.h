// SPDX-License-Identifier: Apache-2.0
/* file_access.h - the files that a process may still open: Landlock.
 *
 * What is open already stays usable. A rule holds for a file, or for a folder and all below it; it
 * belongs to what stands at its path when it is made, and not to what is put there later.
 *
 * Used by:  sandbox.c.
 * Fails:    file_access_limit: false, and errno is ENOSYS or EOPNOTSUPP where the kernel has no
 *           Landlock.
 * Threads:  it holds for the calling thread, and for threads and processes that it starts later: so
 *           before there are others.
 * Limits:   looking at what a file is (stat), and changing into a folder, are always allowed.
 * Source:   landlock(7).
 */
#ifndef BURIN_FILE_ACCESS_H
#define BURIN_FILE_ACCESS_H

#include <stdbool.h>

enum file_access {
    FILE_READ = 1,    /* files, and lists of folders */
    FILE_EXECUTE = 2, /* as a program; a library needs FILE_READ alone */
    FILE_WRITE = 4,   /* files that are there; devices too */
    FILE_MAKE = 8,    /* new files, folders and sockets; removing and renaming */
};

/* Reaches that stay open besides files. Processes started from now on are always within reach. */
enum {
    REACH_NETWORK = 1, /* to bind TCP sockets, and to connect them */
    REACH_SIGNALS = 2, /* to other processes */
    REACH_SOCKETS = 4, /* abstract unix sockets of other processes */
};

struct file_rule {
    const char *path; /* "" and what is not there: no rule */
    int access;       /* of enum file_access */
};

/* Nothing but COUNT RULES. CONFINED: only these kinds of access are limited, the rest stays free;
 * 0: all. The process needs no-new-privileges. REACH: of the kinds above those that stay; the
 * network needs version 4 to be limited, the others version 6. */
bool file_access_limit(const struct file_rule *rules, int count, int confined, int reach);

/* The kernel's version of Landlock; 0: it has none. */
int file_access_version(void);

#endif

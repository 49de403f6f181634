// SPDX-License-Identifier: Apache-2.0
/* launcher_process.h - the launcher's own process, and the messages between it and the front: one
 * for each request and one for its answer.
 *
 * Used by:  launcher.c, which forks the process.
 * Owns:     a descriptor of each process that it has started, until that process is reaped.
 * Fails:    a request that is invalid or not allowed is answered with -1.
 * Threads:  one.
 * Limits:   LAUNCHER_ARGUMENTS_MAX arguments, LAUNCHER_TEXT_MAX bytes with their NULs;
 *           LAUNCHER_LOOKS_MAX threads. It signals and looks at only the processes that it started
 *           and that are not reaped. Before Linux 5.2, where processes have no descriptors, a
 *           reused process id counts as the process that was started.
 */
#ifndef BURIN_LAUNCHER_PROCESS_H
#define BURIN_LAUNCHER_PROCESS_H

#include "server/process/launcher.h"

#include <stddef.h>
#include <stdnoreturn.h>
#include <sys/socket.h>

enum { LAUNCHER_ARGUMENTS_MAX = 9, LAUNCHER_TEXT_MAX = 2048, LAUNCHER_PASSED = 0 };

enum launcher_task { LAUNCHER_START, LAUNCHER_END, LAUNCHER_LOOK, LAUNCHER_NARROW };

struct launcher_request {
    uint32_t number;
    int32_t task;  /* of enum launcher_task */
    int32_t pid;   /* LAUNCHER_END: as for kill */
    int32_t count; /* LAUNCHER_START: arguments; LAUNCHER_LOOK: threads */
    int32_t file_count;
    int8_t files[PROGRAM_FILES_MAX]; /* LAUNCHER_PASSED, PROGRAM_NOTHING or PROGRAM_CLOSED */
    union {
        char text[LAUNCHER_TEXT_MAX]; /* the arguments, each with its NUL */
        struct thread_id threads[LAUNCHER_LOOKS_MAX];
    };
};

struct launcher_answer {
    uint32_t number; /* the request's */
    int32_t pid;     /* LAUNCHER_START: the new process; else 0; -1: it failed or is not allowed */
    struct thread_status statuses[LAUNCHER_LOOKS_MAX]; /* only the requested ones are sent */
};

static inline size_t launcher_answer_size(int statuses) {
    return offsetof(struct launcher_answer, statuses) +
           (size_t)statuses * sizeof(struct thread_status);
}

union launcher_descriptors {
    char bytes[CMSG_SPACE(PROGRAM_FILES_MAX * sizeof(int))];
    struct cmsghdr aligned;
};

/* FD: the launcher's end of the socket. FRONT: its parent. Ends when the front ends or closes its
 * end. */
noreturn void launcher_process_run(int fd, pid_t front, const struct config *config);

#endif

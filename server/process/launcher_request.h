// SPDX-License-Identifier: Apache-2.0
/* launcher_request.h - what the front asks the process that starts workers, and what it answers: a
 * message each.
 *
 * Used by:  launcher.c and launcher_process.c.
 * Owns:     nothing; plain data.
 * Limits:   LAUNCHER_ARGUMENTS_MAX arguments, LAUNCHER_TEXT_MAX bytes with their NULs;
 *           LAUNCHER_LOOKS_MAX threads.
 */
#ifndef BURIN_LAUNCHER_REQUEST_H
#define BURIN_LAUNCHER_REQUEST_H

#include "server/process/launcher.h"
#include "server/process/program.h"
#include "server/process/thread_account.h"

#include <stddef.h>
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
    uint32_t number; /* of its request */
    /* LAUNCHER_START: the process, -1: it could not be started, or may not be; else 0, or -1: it
     * could not be done. */
    int32_t pid;
    struct thread_account accounts[LAUNCHER_LOOKS_MAX]; /* as many as were asked for are sent */
};

static inline size_t launcher_answer_size(int accounts) {
    return offsetof(struct launcher_answer, accounts) +
           (size_t)accounts * sizeof(struct thread_account);
}

union launcher_descriptors {
    char bytes[CMSG_SPACE(PROGRAM_FILES_MAX * sizeof(int))];
    struct cmsghdr aligned;
};

#endif

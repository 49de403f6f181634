// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/completion_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

enum { PER_SLOT = 2, PAGE = 4096 };

/* A page that the reader has begun takes no more messages, so one page is added. The system's
 * default is 64 KiB, or two pages for a user with many pipes. */
static bool make_room(int end, int slots) {
    const size_t bytes = (size_t)slots * PER_SLOT * sizeof(struct completion) + PAGE;
    const int has = fcntl(end, F_GETPIPE_SZ);
    return (has > 0 && (size_t)has >= bytes) ||
           (bytes <= INT_MAX && fcntl(end, F_SETPIPE_SZ, (int)bytes) >= (int)bytes);
}

enum status completion_pipe_open(int ends[2], int slots, struct failure *failure) {
    if (pipe2(ends, O_CLOEXEC) == 0) {
        if (make_room(ends[1], slots) && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) return STATUS_OK;
        close(ends[0]);
        close(ends[1]);
    }
    ends[0] = ends[1] = -1;
    return fail(failure, STATUS_NO_MEMORY,
                "no pipe for the completions of %d slots: lower slots, or raise fs.pipe-max-size, "
                "fs.pipe-user-pages-soft or the limit of open files",
                slots);
}

bool completion_pipe_send(int end, const struct completion *completion) {
    ssize_t sent;
    do sent = write(end, completion, sizeof *completion);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *completion;
}

int completion_pipe_take(int end, struct completion *completions, int count) {
    const ssize_t got = read(end, completions, (size_t)count * sizeof *completions);
    return got > 0 ? (int)((size_t)got / sizeof *completions) : 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/completion_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool completion_pipe_open(int ends[2]) {
    return pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
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

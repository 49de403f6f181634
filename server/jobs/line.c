// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/line.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool line_open(int ends[2]) {
    return pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

bool line_send(int end, const struct returned *returned) {
    ssize_t sent;
    do sent = write(end, returned, sizeof *returned);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *returned;
}

int line_take(int end, struct returned *returned, int count) {
    const ssize_t got = read(end, returned, (size_t)count * sizeof *returned);
    return got > 0 ? (int)((size_t)got / sizeof *returned) : 0;
}

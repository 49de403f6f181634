// SPDX-License-Identifier: Apache-2.0
#include "server/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

bool descriptors_keep_standard(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        /* The lowest number that is free is this one. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return false;
    }
    return true;
}

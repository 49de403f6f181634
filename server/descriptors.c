// SPDX-License-Identifier: Apache-2.0
#include "server/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

bool descriptors_keep_standard(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        /* open() returns the lowest free number: this one. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return false;
    }
    return true;
}

void descriptors_raise_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t most = limit.rlim_max < DESCRIPTORS_MAX ? limit.rlim_max : DESCRIPTORS_MAX;
    if (limit.rlim_cur >= most) return;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_NOFILE, &limit); /* never fails below the hard one */
}

struct descriptors descriptors_now(void) {
    struct rlimit limit;
    struct descriptors now = { .limit = DESCRIPTORS_MAX };
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS_MAX)
        now.limit = (long)limit.rlim_cur;
    DIR *folder = opendir("/proc/self/fd");
    if (folder) {
        now.open = -1; /* without the folder's own descriptor */
        for (const struct dirent *entry; (entry = readdir(folder));)
            now.open += entry->d_name[0] != '.';
        closedir(folder);
    } else {
        for (int fd = 0; fd < now.limit; fd++) now.open += fcntl(fd, F_GETFD) >= 0;
    }
    return now;
}

// SPDX-License-Identifier: Apache-2.0
#include "config/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20 /* bytes */ };

static bool is_private(const struct stat *facts) {
    const mode_t others = facts->st_uid == 0 && geteuid() != 0 ? 027 : 077;
    return (facts->st_mode & others) == 0;
}

/* Without stdio, whose buffers would keep a secret. Returns the length; -1: an error. */
static ssize_t read_all(int fd, char *text, size_t most) {
    size_t used = 0;
    ssize_t got = 1;
    while (used < most && (got = read(fd, text + used, most - used)) > 0) used += (size_t)got;
    return got < 0 ? -1 : (ssize_t)used;
}

char *text_file_read(const char *path, enum text_file kind, size_t *length,
                     struct failure *failure) {
    struct stat facts;
    char *text = NULL;
    ssize_t got = -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | (kind == TEXT_FILE_ANY ? 0 : O_NONBLOCK));
    if (fd < 0 || fstat(fd, &facts) != 0)
        fail(failure, STATUS_BAD_PARAM, "unable to open %.150s: %s", path, strerror(errno));
    else if (kind != TEXT_FILE_ANY && !S_ISREG(facts.st_mode))
        fail(failure, STATUS_BAD_PARAM, "%.150s is not a regular file", path);
    else if (kind == TEXT_FILE_SECRET && !is_private(&facts))
        fail(failure, STATUS_BAD_PARAM,
             "%.100s has secrets, and others can read or change it (mode %03o): chmod 600 it", path,
             facts.st_mode & 0777);
    else if (!(text = malloc(FILE_MAX + 1)))
        fail(failure, STATUS_NO_MEMORY, "there is no memory for %.150s", path);
    else if ((got = read_all(fd, text, FILE_MAX + 1)) < 0)
        fail(failure, STATUS_BAD_PARAM, "unable to read %.150s: %s", path, strerror(errno));
    else if (got > FILE_MAX)
        fail(failure, STATUS_BAD_PARAM, "%.150s is larger than 1 MiB", path);
    if (fd >= 0) close(fd);
    if (got >= 0 && got <= FILE_MAX) {
        text[got] = '\0';
        return *length = (size_t)got, text;
    }
    if (text) explicit_bzero(text, FILE_MAX + 1);
    free(text);
    return NULL;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. A file is written under another name in its folder and renamed, so that a crash or
 * a full disk leaves what was there. Only what cannot be renamed is written in place. */
#include "server/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status cannot(const char *what, const char *path, struct failure *failure) {
    return fail(failure, STATUS_INTERNAL, "cannot %s %.120s: %s", what, path, strerror(errno));
}

/* Doubles the room, or allocates 1 MiB. */
static bool grow(uint8_t **bytes, size_t *capacity) {
    const size_t wanted = *capacity ? 2 * *capacity : 1 << 20;
    uint8_t *more = realloc(*bytes, wanted);
    if (!more) return false;
    *bytes = more;
    *capacity = wanted;
    return true;
}

static enum status read_all(int fd, const char *path, uint8_t **bytes, size_t *length,
                            struct failure *failure) {
    struct stat facts;
    size_t capacity = 0;
    /* One byte more than a file's size, so that read() reports the end without growing. */
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
        *bytes = malloc((size_t)facts.st_size + 1);
        capacity = *bytes ? (size_t)facts.st_size + 1 : 0;
    }
    for (;;) {
        if (*length == capacity && !grow(bytes, &capacity))
            return fail(failure, STATUS_NO_MEMORY, "out of memory for the input");
        const ssize_t got = read(fd, *bytes + *length, capacity - *length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cannot("read", path, failure);
        if (got == 0) return STATUS_OK;
        *length += (size_t)got;
    }
}

enum status files_read(const char *path, uint8_t **bytes, size_t *length, struct failure *failure) {
    const bool standard = strcmp(path, "-") == 0;
    const int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *bytes = NULL;
    *length = 0;
    if (fd < 0) return cannot("open", path, failure);
    const enum status status = read_all(fd, path, bytes, length, failure);
    if (!standard) close(fd);
    return status;
}

static bool write_all(int fd, const uint8_t *bytes, size_t length) {
    while (length) {
        const ssize_t put = write(fd, bytes, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

/* FLAGS: of open, for a file that is there. MODE: of a new file, without the umask's bits. False:
 * errno says why; a part of a file is removed. */
static bool write_file(const char *path, int flags, mode_t mode, const uint8_t *bytes,
                       size_t length) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode);
    if (fd < 0) return false;
    struct stat facts;
    const bool file = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    bool good = write_all(fd, bytes, length);
    int error = errno;
    if (close(fd) != 0 && good) good = false, error = errno;
    if (!good && file) unlink(path);
    errno = error;
    return good;
}

bool files_make_folders(const char *path) {
    char folder[PATH_MAX];
    const size_t length = strlen(path);
    if (length >= sizeof folder) return errno = ENAMETOOLONG, false;
    memcpy(folder, path, length + 1);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) return false;
        *slash = '/';
    }
    return true;
}

bool files_beside(const char *path, const char *name, char beside[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash + 1 - path) : 0;
    errno = ENAMETOOLONG;
    return snprintf(beside, PATH_MAX, "%.*s%s", folder, path, name) < PATH_MAX;
}

/* Processes of several containers or hosts that write into one folder may have the same id. */
void files_temporary(pid_t pid, char name[FILES_TEMPORARY_MAX]) {
    struct stat ids = { 0 };
    char host[HOST_NAME_MAX + 1] = "";
    stat("/proc/self/ns/pid", &ids);
    gethostname(host, sizeof host);
    snprintf(name, FILES_TEMPORARY_MAX, ".burin-%d-%lu-%s", (int)pid, (unsigned long)ids.st_ino,
             host);
}

/* FOLDERS: a missing folder is made. False: errno says why. */
static bool replace(const char *path, const char *temporary, bool folders, const uint8_t *bytes,
                    size_t length) {
    char beside[PATH_MAX];
    struct stat old;
    const bool there = stat(path, &old) == 0;
    const mode_t mode = there ? old.st_mode & 0777 : 0666;
    if (!files_beside(path, temporary, beside)) return false;
    unlink(beside); /* a link that others put there is not followed */
    bool good = write_file(beside, O_EXCL, mode, bytes, length);
    if (!good && errno == ENOENT && folders)
        good = files_make_folders(path) && write_file(beside, O_EXCL, mode, bytes, length);
    if (!good) return false;
    if (there && chown(beside, old.st_uid, old.st_gid) == 0) chmod(beside, mode);
    if (rename(beside, path) == 0) return true;
    const int error = errno;
    unlink(beside);
    errno = error;
    return false;
}

enum status files_replace(const char *path, const char *temporary, const uint8_t *bytes,
                          size_t length, struct failure *failure) {
    return replace(path, temporary, true, bytes, length) ? STATUS_OK
                                                         : cannot("write", path, failure);
}

/* Whether the file is one that the caller opened for this process, such as that of /dev/stdout: it
 * would not see another. */
static bool is_handed_over(const struct stat *file) {
    struct stat open;
    for (int fd = STDOUT_FILENO; fd < 10; fd++)
        if (fstat(fd, &open) == 0 && open.st_ino == file->st_ino && open.st_dev == file->st_dev)
            return true;
    return false;
}

/* Whether PATH is a file that may be replaced and stays its owner's, or becomes one; sets REAL to
 * its path, in which a link is followed. */
static bool is_replaceable(const char *path, char real[PATH_MAX]) {
    struct stat facts;
    if (stat(path, &facts) == 0)
        return S_ISREG(facts.st_mode) && (facts.st_uid == geteuid() || geteuid() == 0) &&
               access(path, W_OK) == 0 && !is_handed_over(&facts) && realpath(path, real);
    return errno == ENOENT && lstat(path, &facts) != 0 &&
           snprintf(real, PATH_MAX, "%s", path) < PATH_MAX;
}

static bool write_path(const char *path, const uint8_t *bytes, size_t length) {
    char real[PATH_MAX], temporary[FILES_TEMPORARY_MAX];
    files_temporary(getpid(), temporary);
    if (is_replaceable(path, real)) {
        if (replace(real, temporary, false, bytes, length)) return true;
        /* A folder may take no other file: that of a file mounted into a container. */
        if (errno != EACCES && errno != EPERM && errno != EROFS && errno != EBUSY) return false;
    }
    return write_file(path, O_TRUNC, 0666, bytes, length);
}

enum status files_write(const char *path, const uint8_t *bytes, size_t length,
                        struct failure *failure) {
    const bool standard = strcmp(path, "-") == 0;
    const bool good =
        standard ? write_all(STDOUT_FILENO, bytes, length) : write_path(path, bytes, length);
    return good ? STATUS_OK : cannot("write", standard ? "standard output" : path, failure);
}

// SPDX-License-Identifier: Apache-2.0
#include "server/request/overlays.h"

#include "pipeline/param.h"
#include "server/log/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(offsetof(struct overlays, holders) == 0, "as current.h wants it");

/* A folder being read. */
struct reading {
    const char *folder;
    int fd; /* of it */
    long bytes_max, bytes;
    struct overlays *overlays;
    struct failure *failure;
};

/* ---- one file */

static enum status cannot_read(const struct reading *reading, const char *name) {
    return fail(reading->failure, STATUS_BAD_PARAM, "%.120s/%.60s: cannot be read: %s",
                reading->folder, name, strerror(errno));
}

/* Why the open file of NAME is no overlay; NULL: it is one, with FACTS. */
static const char *objection(int fd, const char *name, struct stat *facts) {
    if (fd < 0) return errno == ELOOP ? "it is a link" : "it is no regular file";
    if (fstat(fd, facts) != 0 || !S_ISREG(facts->st_mode)) return "it is no regular file";
    if (strlen(name) >= OVERLAY_NAME_MAX) return "its name is longer than 63 bytes";
    return facts->st_size == 0 ? "it is empty" : NULL;
}

/* Reads SIZE bytes, or fewer if the file has become shorter. */
static enum status read_bytes(struct reading *reading, int fd, const char *name, size_t size) {
    struct overlays *overlays = reading->overlays;
    struct overlay *overlay = &overlays->list[overlays->count];
    overlay->bytes = malloc(size);
    if (!overlay->bytes)
        return fail(reading->failure, STATUS_NO_MEMORY, "there is no memory for overlays_dir");
    overlays->count++;
    strcpy(overlay->name, name);
    ssize_t got = 1;
    while (overlay->length < size && got > 0) {
        got = read(fd, overlay->bytes + overlay->length, size - overlay->length);
        if (got > 0) overlay->length += (size_t)got;
        if (got < 0 && errno == EINTR) got = 1;
    }
    return got < 0 ? cannot_read(reading, name) : STATUS_OK;
}

static enum status add_open(struct reading *reading, int fd, const char *name) {
    struct stat facts;
    const char *why = objection(fd, name, &facts);
    if (why) {
        log_event(LOG_ERROR, "overlays_problem", "%s/%s: not used: %s", reading->folder, name, why);
        return STATUS_OK;
    }
    if (reading->overlays->count == OVERLAYS_MAX)
        return fail(reading->failure, STATUS_BAD_PARAM, "%.120s: has more than %d files",
                    reading->folder, OVERLAYS_MAX);
    if (facts.st_size > reading->bytes_max - reading->bytes)
        return fail(reading->failure, STATUS_BAD_PARAM,
                    "%.120s: its files have more than %ld bytes together: remove some, or raise "
                    "overlays_bytes_max",
                    reading->folder, reading->bytes_max);
    reading->bytes += facts.st_size;
    return read_bytes(reading, fd, name, (size_t)facts.st_size);
}

/* A pipe does not make open() wait. */
static enum status add_file(struct reading *reading, const char *name) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int fd = openat(reading->fd, name, flags);
    if (fd < 0 && errno != ELOOP && errno != ENXIO) return cannot_read(reading, name);
    const enum status status = add_open(reading, fd, name);
    if (fd >= 0) close(fd);
    return status;
}

/* ---- the folder */

/* Kubernetes and editors keep other versions under such names. */
static int is_shown(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static enum status read_folder(struct reading *reading) {
    struct dirent **entries = NULL;
    reading->fd = open(reading->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int count =
        reading->fd < 0 ? -1 : scandir(reading->folder, &entries, is_shown, alphasort);
    enum status status =
        count < 0 ? fail(reading->failure, STATUS_BAD_PARAM,
                         "overlays_dir %.120s cannot be read: %s", reading->folder, strerror(errno))
                  : STATUS_OK;
    for (int i = 0; i < count; i++) {
        if (!status) status = add_file(reading, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (reading->fd >= 0) close(reading->fd);
    return status;
}

struct overlays *overlays_read(const char *folder, long bytes_max, struct failure *failure) {
    struct overlays *overlays = calloc(1, sizeof *overlays);
    if (!overlays) return fail(failure, STATUS_NO_MEMORY, "there is no memory for overlays"), NULL;
    struct reading reading = { folder, -1, bytes_max, 0, overlays, failure };
    overlays->holders = 1;
    if (!*folder || !read_folder(&reading)) return overlays;
    overlays_release(overlays);
    return NULL;
}

const struct overlay *overlays_find(const struct overlays *overlays, const char *name,
                                    struct failure *failure) {
    char shown[PARAM_SHOWN_MAX];
    for (int i = 0; i < overlays->count; i++)
        if (strcmp(overlays->list[i].name, name) == 0) return &overlays->list[i];
    fail(failure, STATUS_BAD_PARAM,
         "the server has no overlay \"%s\": send the picture as a part named overlay, or put it "
         "into overlays_dir and reload",
         param_shown(name, shown));
    return NULL;
}

void overlays_release(struct overlays *overlays) {
    if (!overlays || __atomic_sub_fetch(&overlays->holders, 1, __ATOMIC_ACQ_REL)) return;
    for (int i = 0; i < overlays->count; i++) free(overlays->list[i].bytes);
    free(overlays);
}

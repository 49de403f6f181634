// SPDX-License-Identifier: Apache-2.0
/* How it works. A file is read whole, with a bound, and then checked: the sizes in its head must
 * add up to its length, the checksum covers head, key and code, and the key must be the same. A new
 * file is written beside the old one and renamed over it. */
#include "cuda/skeletons/kernel_cache.h"

#include "pipeline/fnv1a.h"
#include "pipeline/skeletons/twin_cache.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "burin-k1";

struct head {
    char magic[sizeof magic];
    uint64_t key_bytes, code_bytes;
    uint64_t checksum; /* computed with 0 in its own place */
};

static uint64_t checksum_of(struct head head, const char *key, const char *code) {
    head.checksum = 0;
    uint64_t sum = fnv1a(FNV1A_START, &head, sizeof head);
    sum = fnv1a(sum, key, head.key_bytes);
    return fnv1a(sum, code, head.code_bytes);
}

bool kernel_cache_open(const char *folder) {
    return twin_cache_open(folder);
}

/* ---- finding */

/* The file's bytes with NUL behind them; NULL where it is missing, too long or not ours. */
static char *read_file(const char *path, size_t *length) {
    struct stat facts;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return NULL;
    const bool good = twin_cache_is_ours_at(fd) && fstat(fd, &facts) == 0 && facts.st_size > 0 &&
                      facts.st_size <= KERNEL_CACHE_BYTES_MAX;
    char *bytes = good ? malloc((size_t)facts.st_size + 1) : NULL;
    size_t used = 0;
    ssize_t got = 1;
    while (bytes && used < (size_t)facts.st_size && got > 0) {
        got = read(fd, bytes + used, (size_t)facts.st_size - used);
        if (got > 0) used += (size_t)got;
    }
    close(fd);
    if (bytes) bytes[used] = '\0';
    *length = used;
    return bytes;
}

/* The code's offset in BYTES; 0: they are damaged, or of another key. */
static size_t check(const char *bytes, size_t length, const char *key, size_t *size) {
    struct head head;
    if (length < sizeof head) return 0;
    memcpy(&head, bytes, sizeof head);
    const size_t key_bytes = strlen(key), rest = length - sizeof head;
    const char *kept = bytes + sizeof head;
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.key_bytes != key_bytes ||
        rest < key_bytes || head.code_bytes != rest - key_bytes || !head.code_bytes ||
        checksum_of(head, kept, kept + key_bytes) != head.checksum ||
        memcmp(kept, key, key_bytes) != 0)
        return 0;
    *size = head.code_bytes;
    return sizeof head + key_bytes;
}

char *kernel_cache_find(const char *folder, const char *key, size_t *size) {
    char path[TWIN_CACHE_PATH_MAX];
    size_t length;
    twin_cache_path(folder, key, "kernel", path);
    char *bytes = read_file(path, &length);
    const size_t offset = bytes ? check(bytes, length, key, size) : 0;
    if (!offset) {
        free(bytes);
        return NULL;
    }
    utimensat(AT_FDCWD, path, NULL, 0); /* young again */
    memmove(bytes, bytes + offset, *size + 1);
    return bytes;
}

/* ---- keeping */

static bool write_all(int fd, const struct head *head, const char *key, const char *code) {
    FILE *file = fdopen(fd, "w");
    if (!file) {
        close(fd);
        return false;
    }
    const bool good = fwrite(head, sizeof *head, 1, file) == 1 &&
                      fwrite(key, 1, head->key_bytes, file) == head->key_bytes &&
                      fwrite(code, 1, head->code_bytes, file) == head->code_bytes;
    return fclose(file) == 0 && good;
}

void kernel_cache_keep(const char *folder, const char *key, const char *code, size_t size) {
    struct head head = { .key_bytes = strlen(key), .code_bytes = size };
    char path[TWIN_CACHE_PATH_MAX], fresh[TWIN_CACHE_PATH_MAX];
    if (sizeof head + head.key_bytes + size > KERNEL_CACHE_BYTES_MAX) return;
    memcpy(head.magic, magic, sizeof magic);
    head.checksum = checksum_of(head, key, code);
    twin_cache_path(folder, key, "kernel", path);
    snprintf(fresh, sizeof fresh, "%.900s/burin-XXXXXX", folder);
    const int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0) return;
    if (!write_all(fd, &head, key, code) || rename(fresh, path) != 0) unlink(fresh);
    twin_cache_clean(folder);
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. An entry's name is a hash of its text, but the text decides. A new entry is renamed
 * into the folder, the library first and its text after it, so a library without its text is only a
 * file that will be overwritten. Each use makes an entry young again. When a new one comes, old
 * ones are removed, and so are folders left by a process that was killed while working. */
#include "pipeline/skeletons/twin_cache.h"

#include "pipeline/fnv1a.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME_SIZE = 33, DAY_S = 24 * 60 * 60 };

const char *twin_cache_default(void) {
    static char path[TWIN_CACHE_PATH_MAX];
    const char *given = getenv("CACHE_DIRECTORY"), *home = getenv("HOME");
    const char *user = getenv("XDG_CACHE_HOME");
    if (given && *given == '/')
        snprintf(path, sizeof path, "%.900s", given);
    else if (user && *user == '/')
        snprintf(path, sizeof path, "%.900s/burin", user);
    else if (home && *home == '/')
        snprintf(path, sizeof path, "%.900s/.cache/burin", home);
    else
        return NULL;
    return path;
}

/* ---- ownership */

static bool is_ours(const struct stat *facts) {
    return facts->st_uid == geteuid() && !(facts->st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_ours_at_path(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && is_ours(&facts);
}

bool twin_cache_is_ours_at(int fd) {
    struct stat facts;
    return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && is_ours(&facts);
}

const char *twin_cache_trouble(const char *folder) {
    struct stat facts;
    if ((mkdir(folder, 0700) != 0 && errno != EEXIST) || stat(folder, &facts) != 0)
        return strerror(errno);
    if (!S_ISDIR(facts.st_mode)) return "it is no folder";
    if (facts.st_uid != geteuid()) return "it belongs to another user";
    if (!is_ours(&facts)) return "its group or everyone may write to it: chmod go-w";
    return access(folder, W_OK | X_OK) == 0 ? NULL : strerror(errno);
}

bool twin_cache_open(const char *folder) {
    return !twin_cache_trouble(folder);
}

/* ---- finding */

/* Two hashes with different start values. */
static void name_of(const char *text, char name[NAME_SIZE]) {
    const size_t length = strlen(text);
    snprintf(name, NAME_SIZE, "%016llx%016llx",
             (unsigned long long)fnv1a(FNV1A_START, text, length),
             (unsigned long long)fnv1a(~FNV1A_START, text, length));
}

void twin_cache_path(const char *folder, const char *text, const char *ending,
                     char path[TWIN_CACHE_PATH_MAX]) {
    char name[NAME_SIZE];
    name_of(text, name);
    snprintf(path, TWIN_CACHE_PATH_MAX, "%.900s/%s.%.20s", folder, name, ending);
}

/* Whether the file at PATH is ours and contains TEXT. */
static bool file_reads(const char *path, const char *text) {
    const size_t length = strlen(text);
    struct stat facts;
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool same =
        fstat(fileno(file), &facts) == 0 && is_ours(&facts) && (size_t)facts.st_size == length;
    char *bytes = same ? malloc(length) : NULL;
    same = bytes && fread(bytes, 1, length, file) == length && memcmp(bytes, text, length) == 0;
    free(bytes);
    fclose(file);
    return same;
}

bool twin_cache_find(const char *folder, const char *text, char path[TWIN_CACHE_PATH_MAX]) {
    char source[TWIN_CACHE_PATH_MAX];
    twin_cache_path(folder, text, "c", source);
    if (!file_reads(source, text)) return false;
    utimensat(AT_FDCWD, source, NULL, 0); /* both are young again */
    twin_cache_path(folder, text, "so", path);
    if (!is_ours_at_path(path)) return false;
    utimensat(AT_FDCWD, path, NULL, 0);
    return true;
}

/* ---- keeping */

static bool is_entry(const char *name) {
    const size_t digits = strspn(name, "0123456789abcdef");
    return digits == NAME_SIZE - 1 &&
           (strcmp(name + digits, ".so") == 0 || strcmp(name + digits, ".c") == 0 ||
            strcmp(name + digits, ".kernel") == 0);
}

void twin_cache_clean(const char *folder) {
    const time_t now = time(NULL);
    DIR *list = opendir(folder);
    if (!list) return;
    for (struct dirent *one; (one = readdir(list));) {
        char path[TWIN_CACHE_PATH_MAX];
        struct stat facts;
        const bool work = strncmp(one->d_name, "burin-", 6) == 0;
        if ((!work && !is_entry(one->d_name)) ||
            fstatat(dirfd(list), one->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (now - facts.st_mtime < (time_t)DAY_S * (work ? 1 : TWIN_CACHE_DAYS)) continue;
        snprintf(path, sizeof path, "%.700s/%s", folder, one->d_name);
        if (work && S_ISDIR(facts.st_mode))
            twin_cache_remove_folder(path);
        else
            unlinkat(dirfd(list), one->d_name, 0);
    }
    closedir(list);
}

void twin_cache_keep(const char *folder, const char *text, const char *from) {
    static const char *const endings[] = { "so", "c" };
    for (int i = 0; i < 2; i++) {
        char old[TWIN_CACHE_PATH_MAX], fresh[TWIN_CACHE_PATH_MAX];
        snprintf(old, sizeof old, "%.900s/twin.%s", from, endings[i]);
        twin_cache_path(folder, text, endings[i], fresh);
        if (rename(old, fresh) != 0) return;
    }
    twin_cache_clean(folder);
}

void twin_cache_remove_folder(const char *folder) {
    DIR *list = opendir(folder);
    if (!list) return;
    for (struct dirent *one; (one = readdir(list));)
        if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
            unlinkat(dirfd(list), one->d_name, 0);
    closedir(list);
    rmdir(folder);
}

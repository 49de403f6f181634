// SPDX-License-Identifier: Apache-2.0
/* Compiled kernels on disk: what was kept is found, and nothing else is: no file that was damaged
 * in any byte, was cut off, belongs to another key or may be written by others. */
#include "cuda/skeletons/kernel_cache.h"

#include "pipeline/skeletons/twin_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/kernel-cache-XXXXXX";
static const char key[] = "// options\n__global__ void k() {}\n";
static const char code[] = "\177ELF\0 a cubin has NULs \0 in it";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) && kernel_cache_open(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    twin_cache_remove_folder(folder);
    return 0;
}

static void path_of(const char *text, char path[TWIN_CACHE_PATH_MAX]) {
    twin_cache_path(folder, text, "kernel", path);
}

static void check_found(const char *text, const char *expected, size_t expected_size) {
    size_t size = 0;
    char *found = kernel_cache_find(folder, text, &size);
    assert_non_null(found);
    assert_int_equal(size, expected_size);
    assert_memory_equal(found, expected, size);
    assert_int_equal(found[size], 0);
    free(found);
}

static void check_not_found(const char *text) {
    size_t size;
    assert_null(kernel_cache_find(folder, text, &size));
}

static size_t file_size(const char *path) {
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return (size_t)facts.st_size;
}

static int count_files(void) {
    int count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *one; (one = readdir(list));) count += *one->d_name != '.';
    closedir(list);
    return count;
}

static void test_kept_is_found(void **state) {
    (void)state;
    char path[TWIN_CACHE_PATH_MAX];
    struct stat facts;
    check_not_found(key);
    kernel_cache_keep(folder, key, code, sizeof code);
    check_found(key, code, sizeof code);
    check_not_found("another key");
    path_of(key, path);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    assert_int_equal(count_files(), 1); /* no work is left behind */
    kernel_cache_keep(folder, key, "newer", 5);
    check_found(key, "newer", 5);
    assert_int_equal(count_files(), 1);
}

static void flip(const char *path, size_t offset) {
    unsigned char byte;
    const int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
    byte ^= 0x20;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
    close(fd);
}

static void test_damage_is_noticed(void **state) {
    (void)state;
    char path[TWIN_CACHE_PATH_MAX];
    kernel_cache_keep(folder, key, code, sizeof code);
    path_of(key, path);
    const size_t size = file_size(path);
    for (size_t i = 0; i < size; i++) {
        flip(path, i);
        check_not_found(key);
        flip(path, i);
    }
    check_found(key, code, sizeof code);
    for (size_t left = size; left-- > 0;) {
        assert_int_equal(truncate(path, (off_t)left), 0);
        check_not_found(key);
    }
    kernel_cache_keep(folder, key, code, sizeof code); /* it is written over */
    check_found(key, code, sizeof code);
    FILE *file = fopen(path, "a");
    fputs("more", file);
    fclose(file);
    check_not_found(key);
}

/* A hash that two keys share, as it were: the key in the file decides. */
static void test_another_keys_file(void **state) {
    (void)state;
    char path[TWIN_CACHE_PATH_MAX], other[TWIN_CACHE_PATH_MAX];
    kernel_cache_keep(folder, "a key as long as", code, sizeof code);
    path_of("a key as long as", path);
    path_of("another key is..", other);
    assert_int_equal(rename(path, other), 0);
    check_not_found("another key is..");
}

static void test_what_others_may_write(void **state) {
    (void)state;
    char path[TWIN_CACHE_PATH_MAX], elsewhere[TWIN_CACHE_PATH_MAX];
    kernel_cache_keep(folder, key, code, sizeof code);
    path_of(key, path);
    chmod(path, 0620);
    check_not_found(key);
    chmod(path, 0602);
    check_not_found(key);
    chmod(path, 0600);
    check_found(key, code, sizeof code);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    check_not_found(key);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    check_not_found(key); /* and does not wait for a writer */
    unlink(path);
    chmod(folder, 0770);
    assert_false(kernel_cache_open(folder));
    chmod(folder, 0700);
    assert_true(kernel_cache_open(folder));
}

static void test_too_large(void **state) {
    (void)state;
    char path[TWIN_CACHE_PATH_MAX];
    char *large = calloc(1, KERNEL_CACHE_BYTES_MAX);
    kernel_cache_keep(folder, "large", large, KERNEL_CACHE_BYTES_MAX);
    check_not_found("large");
    kernel_cache_keep(folder, "large", large, KERNEL_CACHE_BYTES_MAX / 2);
    check_found("large", large, KERNEL_CACHE_BYTES_MAX / 2);
    path_of("large", path);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* sparse: not read */
    check_not_found("large");
    free(large);
}

/* Use keeps an entry; unused ones, and files of a killed process, go when another is kept. */
static void test_old_ones_go(void **state) {
    (void)state;
    char old[TWIN_CACHE_PATH_MAX], used[TWIN_CACHE_PATH_MAX], work[TWIN_CACHE_PATH_MAX];
    const time_t long_ago = time(NULL) - (TWIN_CACHE_DAYS + 1) * 24 * 60 * 60;
    const struct timespec times[2] = { { .tv_sec = long_ago }, { .tv_sec = long_ago } };
    kernel_cache_keep(folder, "old", code, sizeof code);
    kernel_cache_keep(folder, "used", code, sizeof code);
    path_of("old", old);
    path_of("used", used);
    snprintf(work, sizeof work, "%s/burin-abcdef", folder);
    close(open(work, O_CREAT | O_WRONLY, 0600));
    utimensat(AT_FDCWD, old, times, 0);
    utimensat(AT_FDCWD, used, times, 0);
    utimensat(AT_FDCWD, work, times, 0);
    check_found("used", code, sizeof code);
    kernel_cache_keep(folder, key, code, sizeof code);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(work, F_OK), -1);
    check_found("used", code, sizeof code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_is_found),     cmocka_unit_test(test_damage_is_noticed),
        cmocka_unit_test(test_another_keys_file), cmocka_unit_test(test_what_others_may_write),
        cmocka_unit_test(test_too_large),         cmocka_unit_test(test_old_ones_go),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

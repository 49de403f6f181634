// SPDX-License-Identifier: Apache-2.0
/* A folder of overlays in memory: which files it takes, and what is too much. */
#include "server/request/overlays.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/burin-overlays-XXXXXX";
static struct failure failure;

static const char *in_folder(const char *name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *bytes) {
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fputs(bytes, file);
    fclose(file);
}

static struct overlays *read_all(long bytes_max) {
    failure = (struct failure){ 0 };
    return overlays_read(folder, bytes_max, &failure);
}

static int open_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int close_folder(void **state) {
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void check(const struct overlays *overlays, const char *name, const char *bytes) {
    const struct overlay *overlay = overlays_find(overlays, name, &failure);
    assert_non_null(overlay);
    assert_int_equal(overlay->length, strlen(bytes));
    assert_memory_equal(overlay->bytes, bytes, strlen(bytes));
}

static void no_folder_has_none(void **state) {
    (void)state;
    struct overlays *overlays = overlays_read("", 1, &failure);
    assert_non_null(overlays);
    assert_int_equal(overlays->count, 0);
    overlays_release(overlays);
    assert_null(overlays_read("/nowhere/at/all", 1, &failure));
    assert_int_equal(failure.status, STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "/nowhere/at/all cannot be read: No such file"));
}

static void names_are_no_paths(void **state) {
    static const char *const none[] = { ".hidden", "link",     "pipe",    "folder",   "empty",
                                        "",        "folder/c", "./a.png", "../a.png", "A.png" };
    char longest[OVERLAY_NAME_MAX + 1];
    (void)state;
    memset(longest, 'x', sizeof longest);
    longest[OVERLAY_NAME_MAX] = '\0';
    put("a.png", "first");
    put("b", "the second");
    put(".hidden", "hidden");
    put("empty", "");
    put(longest, "64 bytes");
    put(longest + 1, "63 bytes");
    assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
    put("folder/c", "below");
    assert_int_equal(symlink("a.png", in_folder("link")), 0);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    struct overlays *overlays = read_all(1000);
    assert_non_null(overlays);
    assert_int_equal(overlays->count, 3);
    check(overlays, "a.png", "first");
    check(overlays, "b", "the second");
    check(overlays, longest + 1, "63 bytes");
    assert_null(overlays_find(overlays, longest, &failure));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_null(overlays_find(overlays, none[i], &failure));
        assert_int_equal(failure.status, STATUS_BAD_PARAM);
    }
    overlays_release(overlays);
}

/* 5, 10 and 8 bytes, which the test before wrote. */
static void the_sum_is_bounded(void **state) {
    (void)state;
    struct overlays *overlays = read_all(23);
    assert_non_null(overlays);
    assert_int_equal(overlays->count, 3);
    overlays_release(overlays);
    assert_null(read_all(22));
    assert_int_equal(failure.status, STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "22 bytes together"));
    assert_non_null(strstr(failure.message, "raise overlays_bytes_max"));
}

/* A reload replaces a set that a request still holds. */
static void a_hold_keeps_the_bytes(void **state) {
    (void)state;
    struct overlays *overlays = read_all(1000);
    assert_non_null(overlays);
    overlays->holders++;
    put("a.png", "other");
    overlays_release(overlays);
    check(overlays, "a.png", "first");
    overlays_release(overlays);
}

static void the_count_is_bounded(void **state) {
    char name[16];
    (void)state;
    for (int i = 0; i < OVERLAYS_MAX; i++) {
        snprintf(name, sizeof name, "n%d", i);
        put(name, "1");
    }
    assert_null(read_all(1 << 20));
    assert_non_null(strstr(failure.message, "more than 1024 files"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_folder_has_none),   cmocka_unit_test(names_are_no_paths),
        cmocka_unit_test(the_sum_is_bounded),   cmocka_unit_test(a_hold_keeps_the_bytes),
        cmocka_unit_test(the_count_is_bounded),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}

// SPDX-License-Identifier: Apache-2.0
/* Values come from four sources with a fixed precedence; each source refuses bad values with its
 * own message; the program reports which source gave a value.
 *
 * covers: config/keys.c config/types.c config/text_file.c */
#include "config/config.h"
#include "config/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

enum { ARGUMENTS_MAX = 12 };

static char file_path[] = "/tmp/burin-config-XXXXXX";

static const char *file_with(const char *text) {
    FILE *file = fopen(file_path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return file_path;
}

/* Loads with blank-separated flags; ARGV holds what is left. */
static enum status load(struct config *config, const char *path, const char *flags, char **argv,
                        struct failure *failure) {
    static char copy[1024];
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", flags);
    argv[0] = "burin";
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    argv[argc] = NULL;
    return config_load(config, path, &argc, argv, failure);
}

static void expect_refused(const char *path, const char *flags, const char *message) {
    struct config config;
    struct failure failure = { 0 };
    char *argv[ARGUMENTS_MAX];
    assert_int_equal(load(&config, path, flags, argv, &failure), STATUS_BAD_PARAM);
    const char *shown = failure.message;
    if (path && strncmp(shown, path, strlen(path)) == 0) shown += strlen(path);
    assert_string_equal(shown, message);
}

static struct config expect_fine(const char *path, const char *flags) {
    struct config config;
    struct failure failure = { 0 };
    char *argv[ARGUMENTS_MAX];
    if (load(&config, path, flags, argv, &failure)) fail_msg("%s", failure.message);
    return config;
}

static void defaults(void **state) {
    (void)state;
    struct config config = expect_fine(file_with("{}"), "");
    assert_string_equal(config.listen, "127.0.0.1:8080");
    assert_string_equal(config.admin_listen, "");
    assert_string_equal(config.devices, "all");
    assert_string_equal(config.log_format, "json");
    assert_string_equal(config.log_level, "info");
    assert_int_equal(config.body_bytes_max, 64L << 20);
    assert_int_equal(config.pixels_max, 8192L * 8192);
    assert_int_equal(config.scan_pixels_max, 1500000000);
    assert_int_equal(config.queue_jobs, 256);
    assert_int_equal(config.processing_ms, 30000);
    assert_false(config.insecure);
}

static void every_row_is_sound(void **state) {
    (void)state;
    size_t end = 0;
    for (int i = 0; i < keys_count(); i++) {
        const struct key *key = keys_at(i);
        struct config config, again;
        char value[KEY_VALUE_MAX];
        assert_int_equal(keys_find(key->name), i);
        assert_true(key->offset >= end); /* the file's order is the struct's, no field twice */
        end = key->offset + key->size;
        assert_null(strpbrk(key->why, "\"\\\n"));
        assert_true(strlen(key->why) > 10);
        keys_defaults(&config);
        keys_defaults(&again);
        key_print(key, &config, value);
        assert_int_equal(key_set(key, &again, value, "here", NULL), STATUS_OK);
        assert_memory_equal(&config, &again, sizeof config);
        if (key->type == KEY_TEXT) assert_true(key->format && key->fits(key->text));
        if (key->type == KEY_INTEGER || key->type == KEY_SIZE) {
            assert_true(key->min <= key->def && key->def <= key->max);
            assert_true(*key->unit);
        }
    }
    /* A field that no row fills would end the struct behind the last row. */
    assert_true(sizeof(struct config) - end < sizeof(long));
}

static void later_wins(void **state) {
    (void)state;
    const char *path = file_with("{\"queue_jobs\": 1, \"lanes\": 1, \"batch\": 1}");
    setenv("BURIN_LANES", "2", 1);
    setenv("BURIN_BATCH", "2", 1);
    struct config config = expect_fine(path, "--batch 3");
    assert_int_equal(config.queue_jobs, 1);
    assert_int_equal(config.lanes, 2);
    assert_int_equal(config.batch, 3);
    assert_int_equal(expect_fine(path, "--batch 3 --batch=4").batch, 4);
    unsetenv("BURIN_LANES");
    unsetenv("BURIN_BATCH");
}

static void sources_are_printed(void **state) {
    (void)state;
    setenv("BURIN_LANES", "2", 1);
    struct config config = expect_fine(file_with("{\"queue_jobs\": 1}"), "--batch 3");
    unsetenv("BURIN_LANES");
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    config_print(&config, out, true);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL);
    static const char *const keys[][2] = { { "queue_jobs", "file" },
                                           { "lanes", "environment" },
                                           { "batch", "flag" },
                                           { "listen", "default" } };
    for (int i = 0; i < 4; i++)
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(root, keys[i][0]), "from")),
            keys[i][1]);
    assert_int_equal(json_object_size(root), keys_count());
    json_decref(root);
    free(text);
}

static void flags_take_every_form(void **state) {
    (void)state;
    const char *path = file_with("{}");
    assert_int_equal(expect_fine(path, "--body-bytes-max=1MiB").body_bytes_max, 1 << 20);
    assert_int_equal(expect_fine(path, "--body-bytes-max 1GB").body_bytes_max, 1000000000);
    assert_int_equal(expect_fine(path, "--body_bytes_max 12").body_bytes_max, 12);
    assert_true(expect_fine(path, "--insecure").insecure);
    assert_true(expect_fine(path, "--insecure --lanes 2").insecure);
    assert_false(expect_fine(path, "--insecure=false").insecure);
    assert_false(expect_fine(path, "--insecure off").insecure);
    assert_string_equal(expect_fine(path, "--admin-listen=").admin_listen, "");
}

static void the_rest_stays(void **state) {
    (void)state;
    struct config config;
    char *argv[] = { "burin", "a", "--lanes", "2", "-x", "--", "--batch", NULL };
    int argc = 7;
    assert_int_equal(config_load(&config, file_with("{}"), &argc, argv, NULL), STATUS_OK);
    assert_int_equal(argc, 4);
    assert_string_equal(argv[1], "a");
    assert_string_equal(argv[2], "-x");
    assert_string_equal(argv[3], "--batch");
    assert_null(argv[4]);
    assert_int_equal(config.lanes, 2);
}

static void which_file(void **state) {
    (void)state;
    char flags[100];
    file_with("{\"lanes\": 7}");
    snprintf(flags, sizeof flags, "--config %s", file_path);
    assert_int_equal(expect_fine(NULL, flags).lanes, 7);
    setenv("BURIN_CONFIG", file_path, 1);
    assert_int_equal(expect_fine(NULL, "").lanes, 7);
    unsetenv("BURIN_CONFIG");
    struct config config;
    struct failure failure;
    char *argv[ARGUMENTS_MAX];
    assert_int_equal(load(&config, NULL, "--config /no/such/file", argv, &failure),
                     STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "/no/such/file"));
}

static void sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        long bytes;
    } right[] = { { "1", 1 },           { "2B", 2 },
                  { "1KB", 1000 },      { "1KiB", 1024 },
                  { "3 MiB", 3 << 20 }, { "1gb", 1000000000 },
                  { "1GiB", 1L << 30 }, { "4096MiB", 4L << 30 } };
    const struct key *key = keys_at(keys_find("body_bytes_max"));
    struct config config;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(key_set(key, &config, right[i].text, "here", NULL), STATUS_OK);
        assert_int_equal(config.body_bytes_max, right[i].bytes);
    }
    static const char *const wrong[] = { "",
                                         "MiB",
                                         "1M",
                                         "1 Mi B",
                                         "-1",
                                         "1.5GB",
                                         "5GiB",
                                         "0x10",
                                         "1MiB ",
                                         "9223372036854775807TiB",
                                         "99999999999999999999999999999999" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(key_set(key, &config, wrong[i], "here", NULL), STATUS_BAD_PARAM);
}

static void refuses_in_the_file(void **state) {
    (void)state;
    static const char *const wrongs[][2] = {
        { "{\"queue_job\": 1}", ": there is no key \"queue_job\"; did you mean \"queue_jobs\"?" },
        { "{\"zzzz\": 1}", ": there is no key \"zzzz\"; burin serve --help lists them" },
        { "{\"queue_jobs\": 0}", ": queue_jobs must be an integer 1..100000 jobs, not \"0\"" },
        { "{\"queue_jobs\": 1.5}", ": queue_jobs must be an integer 1..100000 jobs, not \"1.5\"" },
        { "{\"queue_jobs\": null}",
          ": queue_jobs must be an integer 1..100000 jobs, not \"null\"" },
        { "{\"queue_jobs\": true}",
          ": queue_jobs must be an integer 1..100000 jobs, not \"true\"" },
        { "{\"insecure\": \"maybe\"}", ": insecure must be true | false, not \"maybe\"" },
        { "{\"log_level\": \"debug\"}", ": log_level must be info | error | off, not \"debug\"" },
        { "{\"listen\": 8080}", ": listen must be text in quotes" },
        { "{\"listen\": \"a\\nb\"}",
          ": listen must be IP:PORT, [IPv6]:PORT, localhost:PORT or unix:/path, not \"a?b\"" },
        { "{\"body_bytes_max\": \"5GiB\"}",
          ": body_bytes_max must be 1..4GiB bytes, not \"5GiB\"" },
        { "{\"about\": {\"lane\": \"x\"}}", ": there is no key \"lane\"; did you mean \"lanes\"?" },
        { "{\"about\": 1}", ": \"about\" must be an object" },
        { "[]", ": the file must hold one object" },
        { "{\"lanes\": 1, \"lanes\": 2}", ": line 1: duplicate object key near '\"lanes\"'" },
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        expect_refused(file_with(wrongs[i][0]), "", wrongs[i][1]);
}

static void expect_not_read_again(const char *path) {
    struct config config;
    struct failure failure = { 0 };
    char message[sizeof failure.message];
    snprintf(message, sizeof message, "%s is not a regular file", path);
    assert_int_equal(config_load(&config, path, NULL, NULL, &failure), STATUS_BAD_PARAM);
    assert_string_equal(failure.message, message);
}

/* A pipe without a writer is not waited for. */
static void reads_no_other_files_again(void **state) {
    (void)state;
    char folder[] = "/tmp/burin-config-XXXXXX", pipe[sizeof folder + 8];
    assert_non_null(mkdtemp(folder));
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    alarm(60);
    expect_not_read_again(pipe);
    alarm(0);
    unlink(pipe);
    expect_not_read_again(folder);
    rmdir(folder);
    expect_not_read_again("/dev/null");
}

static void refuses_large_files(void **state) {
    (void)state;
    const int most = 1 << 20;
    char *text = malloc((size_t)most + 2);
    memset(text, ' ', (size_t)most + 1);
    memcpy(text, "{}", 2);
    text[most] = '\0';
    expect_fine(file_with(text), "");
    text[most] = ' ';
    text[most + 1] = '\0';
    expect_refused(file_with(text), "", " is larger than 1 MiB");
    free(text);
}

static void refuses_in_the_environment(void **state) {
    (void)state;
    const char *path = file_with("{}");
    setenv("BURIN_QUEUE_JOB", "1", 1);
    expect_refused(path, "",
                   "BURIN_QUEUE_JOB in the environment: there is no such key; did you mean "
                   "BURIN_QUEUE_JOBS?");
    unsetenv("BURIN_QUEUE_JOB");
    setenv("BURIN_QUEUE_JOBS", "many", 1);
    expect_refused(path, "",
                   "BURIN_QUEUE_JOBS: queue_jobs must be an integer 1..100000 jobs, not \"many\"");
    unsetenv("BURIN_QUEUE_JOBS");
    setenv("BURIN_PORT_8080_TCP_ADDR", "10.0.0.1", 1);
    setenv("BURIN_SERVICE_HOST", "10.0.0.1", 1);
    setenv("BURIN_CC", "/usr/bin/gcc", 1); /* compiler.c reads it */
    expect_fine(path, "");
    unsetenv("BURIN_CC");
    unsetenv("BURIN_PORT_8080_TCP_ADDR");
    unsetenv("BURIN_SERVICE_HOST");
}

static void refuses_flags(void **state) {
    (void)state;
    const char *path = file_with("{}");
    expect_refused(path, "--queue-job=1",
                   "there is no flag --queue-job; did you mean --queue-jobs?");
    expect_refused(path, "--zzzz", "there is no flag --zzzz; --help lists them");
    expect_refused(path, "--lanes", "--lanes needs a value");
    expect_refused(path, "--lanes --insecure", "--lanes needs a value");
    expect_refused(path, "--insecure maybe",
                   "--insecure: insecure must be true | false, not \"maybe\"");
    expect_refused(path, "--lanes -1",
                   "--lanes: lanes must be an integer 0..64 threads, not \"-1\"");
    expect_refused(path, "--connections-max 3 --io-threads 4",
                   "connections_max is 3, but io_threads is 4: give each thread at least one "
                   "connection");
    expect_fine(path, "--connections-max 4 --io-threads 4");
}

/* Each is refused with the key's name, or kept as it is. */
static void forms(void **state) {
    (void)state;
    char path[120] = "unix:/"; /* one byte too many for a socket's address */
    memset(path + 6, 'p', 107);
    static const char *const fine[][2] = {
        { "listen", "127.0.0.1:0" },
        { "listen", "0.0.0.0:65535" },
        { "listen", "[::1]:8080" },
        { "listen", "unix:/run/burin.sock" },
        { "admin_listen", "" },
        { "admin_listen", "127.0.0.2:9090" },
        { "devices", "all" },
        { "devices", "cpu" },
        { "devices", "cuda:0" },
        { "devices", "cpu,cuda:10,cuda:1" },
        { "cors_origins", "" },
        { "cors_origins", "*" },
        { "cors_origins", "https://a.example,http://localhost:3000" },
        { "prefer", "" },
        { "prefer", "webp" },
        { "prefer", "webp,jpeg,avif,png,pnm" },
        { "trusted_proxies", "" },
        { "trusted_proxies", "unix,10.0.0.0/8" },
    };
    static const char *const wrong[][2] = {
        { "listen", "" },
        { "listen", "8080" },
        { "listen", ":8080" },
        { "listen", "127.0.0.1" },
        { "listen", "127.0.0.1:" },
        { "listen", "127.0.0.1:65536" },
        { "listen", "127.0.0.1:99999" },
        { "listen", "127.0.0.1:4294967297" },
        { "listen", "127.0.0.1:+80" },
        { "listen", "127.0.0.1:-1" },
        { "listen", "127.0.0.1: 80" },
        { "listen", "127.1:80" },
        { "listen", "[::1]:70000" },
        { "listen", "[127.0.0.1]:80" },
        { "listen", "[::1:80" },
        { "listen", "::1:80" },
        { "listen", "[]:80" },
        { "listen", "localhost" },
        { "listen", "localhost:x" },
        { "listen", "example.com:8080" },
        { "listen", "unix:" },
        { "admin_listen", "foo" },
        { "admin_listen", "127.0.0.1:99999" },
        { "devices", "" },
        { "devices", ",cpu" },
        { "devices", "cpu," },
        { "devices", "cpu,cpu" },
        { "devices", "cuda:1,cuda:1" },
        { "devices", "gpu" },
        { "devices", "cuda" },
        { "devices", "cuda:" },
        { "devices", "cuda:01" },
        { "devices", "cuda:-1" },
        { "devices", "cuda:9223372036854775808" },
        { "devices", "all,cpu" },
        { "cors_origins", "null" },
        { "cors_origins", "https://a.example/" },
        { "prefer", "bmp" },
        { "prefer", "webp," },
        { "prefer", ",webp" },
        { "prefer", "webp,webp" },
        { "prefer", "jpeg,jpg" },
        { "prefer", "auto" },
        { "prefer", "webp, jpeg" },
        { "prefer", "averylongnameofnothing" },
        { "trusted_proxies", "10.0.0.1/8" },
        { "trusted_proxies", "proxy.example" },
    };
    struct config config;
    keys_defaults(&config);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        char value[KEY_VALUE_MAX];
        const struct key *key = keys_at(keys_find(fine[i][0]));
        assert_int_equal(key_set(key, &config, fine[i][1], "here", NULL), STATUS_OK);
        key_print(key, &config, value);
        assert_string_equal(value, fine[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct failure failure = { 0 };
        const struct key *key = keys_at(keys_find(wrong[i][0]));
        if (key_set(key, &config, wrong[i][1], "here", &failure) != STATUS_BAD_PARAM)
            fail_msg("%s may be \"%s\"", wrong[i][0], wrong[i][1]);
        assert_non_null(strstr(failure.message, wrong[i][0]));
    }
    const struct key *listen = keys_at(keys_find("listen"));
    assert_int_equal(key_set(listen, &config, path, "here", NULL), STATUS_BAD_PARAM);
    path[5 + 107] = '\0';
    assert_int_equal(key_set(listen, &config, path, "here", NULL), STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(every_row_is_sound),
        cmocka_unit_test(later_wins),
        cmocka_unit_test(sources_are_printed),
        cmocka_unit_test(flags_take_every_form),
        cmocka_unit_test(the_rest_stays),
        cmocka_unit_test(which_file),
        cmocka_unit_test(sizes),
        cmocka_unit_test(refuses_in_the_file),
        cmocka_unit_test(reads_no_other_files_again),
        cmocka_unit_test(refuses_large_files),
        cmocka_unit_test(refuses_in_the_environment),
        cmocka_unit_test(refuses_flags),
        cmocka_unit_test(forms),
    };
    int file = mkstemp(file_path);
    if (file < 0) return 1;
    close(file);
    int failed = cmocka_run_group_tests_name("config", tests, NULL, NULL);
    unlink(file_path);
    return failed;
}

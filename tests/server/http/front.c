// SPDX-License-Identifier: Apache-2.0
/* The daemon's start with one more file descriptor allowed each time: whether it fails or not, it
 * leaves no descriptor open that it opened, and closes none that it did not open. */
#include "server/http/front.h"

#include "server/cli/command.h"
#include "server/generation.h"
#include "server/log/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* Bit N: descriptor N is open. */
static uint64_t open_descriptors(void) {
    uint64_t open = 0;
    for (int fd = 0; fd < 64; fd++) open |= (uint64_t)(fcntl(fd, F_GETFD) >= 0) << fd;
    return open;
}

static void allow(rlim_t descriptors) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = descriptors;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static struct config config;

static void load(const char *admin) {
    char *argv[] = { "serve",       "--listen",  "127.0.0.1:0", "--admin-listen",
                     (char *)admin, "--devices", "cpu",         "--io-threads",
                     "2",           "--slots",   "4",           "--log-level",
                     "off",         NULL };
    int argc = sizeof argv / sizeof *argv - 1;
    struct failure failure = { 0 };
    if (config_load(&config, NULL, &argc, argv, &failure)) fail_msg("%s", failure.message);
    assert_int_equal(argc, 1);
}

/* A socket as a service manager passes it. */
static int listening(void) {
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* Sockets that were passed are closed in any case. */
static void check_descriptors(bool passed) {
    load("127.0.0.1:0");
    const uint64_t before = open_descriptors();
    int failed = 0, started = 0;
    for (rlim_t limit = 3; limit < 64 && started < 2; limit++) {
        struct failure failure = { 0 };
        struct front_sockets sockets = { -1, -1 };
        if (passed) sockets = (struct front_sockets){ listening(), listening() };
        allow(limit);
        struct front *front =
            front_create(&config, sockets, generation_create(1), NULL, NULL, NULL, &failure);
        started += front != NULL;
        failed += front == NULL;
        if (!front) assert_int_not_equal(failure.message[0], 0);
        front_destroy(front);
        allow(1024);
        if (open_descriptors() != before)
            fail_msg("limit %d, %s: open descriptors %lx, before %lx", (int)limit,
                     front ? "started" : failure.message, open_descriptors(), before);
    }
    assert_true(failed > 5 && started > 0);
}

static void descriptors_are_as_before(void **state) {
    (void)state;
    check_descriptors(false);
}

static void descriptors_are_as_before_with_passed_sockets(void **state) {
    (void)state;
    check_descriptors(true);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return freopen("/dev/null", "w", stderr) ? command_worker(argc - 1, argv + 1) : 1;
    for (int fd = 3; fd < 64; fd++) close(fd); /* inherited descriptors */
    log_open("text", "off");
    const struct CMUnitTest tests[] = { cmocka_unit_test(descriptors_are_as_before),
                                        cmocka_unit_test(
                                            descriptors_are_as_before_with_passed_sockets) };
    return cmocka_run_group_tests_name("front", tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* burin serve: the daemon. Starts the pieces, waits for a signal, drains, stops. */
#include "config/config.h"
#include "config/reference.h"
#include "server/command.h"
#include "server/http/front.h"
#include "server/log.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static volatile sig_atomic_t signals_seen;

static void on_signal(int signal) {
    (void)signal;
    signals_seen++;
}

static int interrupted(void) {
    return signals_seen > 1; /* a second signal: now */
}

static void catch_signals(void) {
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_DUMPABLE, 0); /* a core dump would hold users' pictures */
}

static void usage(FILE *out) {
    fputs("usage: burin serve [--config FILE] [--KEY VALUE]...\n\n"
          "Starts the daemon. Every key can be given as a flag, as BURIN_KEY in the\n"
          "environment, or in the file; in this order, the first wins. `burin config`\n"
          "shows what is in force.\n\n",
          out);
    reference_help(out);
}

static void greet(const struct front *front, const struct config *config) {
    const int port = front_port(front);
    if (port) {
        const int length = (int)(strrchr(config->listen, ':') - config->listen);
        char host[sizeof config->listen];
        snprintf(host, sizeof host, "%.*s", length, config->listen);
        const char *here = strcmp(host, "0.0.0.0") == 0 ? "127.0.0.1"
                           : strcmp(host, "[::]") == 0  ? "[::1]"
                                                        : host;
        printf("burin listens on %s:%d. Try:\n\n"
               "  curl -F image=@photo.jpg http://%s:%d/histeq -o out.jpg -D -\n\n"
               "Ctrl-C stops it.\n",
               host, port, here, port);
    } else
        printf("burin listens on %s. Try:\n\n"
               "  curl --unix-socket %s -F image=@photo.jpg http://localhost/histeq -o out.jpg\n\n"
               "Ctrl-C stops it.\n",
               config->listen, config->listen + strlen("unix:"));
    fflush(stdout);
}

/* Signals are for this thread alone: threads that start from now on inherit the mask. */
static sigset_t keep_signals_here(void) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    return before;
}

static void wait_for_signal(const sigset_t *before) {
    while (!signals_seen) sigsuspend(before);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int serve(const struct config *config) {
    struct failure failure = { 0 };
    catch_signals();
    const sigset_t before = keep_signals_here();
    log_open(config->log_format, config->log_level);
    struct front *front = front_create(config, &failure);
    if (!front) {
        fprintf(stderr, "burin serve: %s\n", failure.message);
        return failure.status == STATUS_BAD_PARAM ? 2 : 1;
    }
    if (!front_wait_ready(front, 10000))
        log_event(LOG_ERROR, "no worker is ready yet; GET /readyz tells why");
    greet(front, config);
    wait_for_signal(&before);
    log_event(LOG_INFO, "stopping: finishing what was accepted");
    front_drain(front, interrupted);
    front_destroy(front);
    log_event(LOG_INFO, "stopped");
    return 0;
}

int command_serve(int argc, char **argv) {
    struct config config;
    struct failure failure = { 0 };
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout), 0;
    if (config_load(&config, NULL, &argc, argv, &failure)) {
        fprintf(stderr, "burin serve: %s\n", failure.message);
        return 2;
    }
    if (argc > 1) {
        fprintf(stderr, "burin serve: \"%s\" is not understood; see burin serve --help\n", argv[1]);
        return 2;
    }
    return serve(&config);
}

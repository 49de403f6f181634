// SPDX-License-Identifier: Apache-2.0
/* burin serve: the daemon. Starts its parts, waits for a signal, drains, stops.
 *
 * How it works. Only the main thread receives signals. A first SIGTERM or SIGINT ends the process
 * while operators are checked, ends the wait for the first worker, or later begins the drain. A
 * service manager that started the daemon is sent its state (systemd.h). On SIGHUP the main thread,
 * on which no request waits, reads the configuration, keys_file and operators_dir again; another
 * SIGHUP meanwhile repeats that. When the launcher has ended, no worker can be replaced: the daemon
 * drains and exits with 1, so that its service manager restarts it.
 *
 * The sandbox closes in three steps: the launcher is forked before any limit; files and privileges
 * are limited before the first thread; system calls once sockets and workers exist.
 */
#include "config/config.h"
#include "config/reference.h"
#include "pipeline/codec.h"
#include "pipeline/timing.h"
#include "pipeline/utf8.h"
#include "server/access/key_file.h"
#include "server/cli/command.h"
#include "server/descriptors.h"
#include "server/generation.h"
#include "server/http/front.h"
#include "server/log/log.h"
#include "server/process/launcher.h"
#include "server/process/process.h"
#include "server/request/overlays.h"
#include "server/sandbox/sandbox.h"
#include "server/systemd.h"
#include "server/user_operators.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* START_MS: the longest wait for the first worker before the address is printed. SPARE_MS: extra
 * time that the service manager allows for a step on a busy machine. */
enum { START_MS = 10000, LOOK_MS = 1000, SPARE_MS = 30000, FOREVER = -1 };

/* The bytes of a path that each message has room for. */
enum { SHOWN_PATH_MIN = 80 };

static volatile sig_atomic_t loading;      /* operators are checked; there is no thread yet */
static volatile sig_atomic_t signals_seen; /* SIGTERM and SIGINT */
static volatile sig_atomic_t reload_wanted;

static void on_signal(int signal) {
    (void)signal;
    signals_seen++;
    if (loading && signals_seen > 1) _exit(0); /* does not wait until the check sees the first */
}

static void on_hangup(int signal) {
    (void)signal;
    reload_wanted = 1;
}

static int stopping(void) {
    return signals_seen > 0;
}

static int interrupted(void) {
    return signals_seen > 1; /* a second signal: now */
}

/* Whether a signal to stop came, or is pending while signals are blocked. */
static int stop_is_wanted(void) {
    sigset_t pending;
    if (stopping()) return 1;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

static void catch_signals(void) {
    struct sigaction action = { .sa_handler = on_signal };
    struct sigaction hangup = { .sa_handler = on_hangup, .sa_flags = SA_RESTART };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &hangup, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);      /* a log that reached its size limit only loses lines */
    process_keep_memory_private(); /* also prevents a core dump, which would hold users' pictures */
}

static void usage(FILE *out) {
    fputs("usage: burin serve [--config FILE] [--KEY VALUE]...\n\n"
          "  burin serve                                        on http://127.0.0.1:8080\n"
          "  burin serve --listen localhost:9000 --keys-file keys.json --log-level error\n\n"
          "Starts the daemon. Every key can be given as a flag, as BURIN_KEY in the\n"
          "environment, or in the file; in this order, the first wins. `burin config`\n"
          "shows the values in force.\n\n"
          "SIGHUP reads keys_file and the files of overlays_dir and operators_dir again, and\n"
          "of the file the keys that server/README.md lists. SIGTERM and Ctrl-C finish the\n"
          "accepted requests; a second one ends at once.\n\n",
          out);
    reference_help(out);
}

static bool is_unix(const char *address) {
    return strncmp(address, "unix:", 5) == 0;
}

/* Whether writing to FD would not block. */
static bool is_read(int fd) {
    struct pollfd end = { .fd = fd, .events = POLLOUT };
    return poll(&end, 1, 0) == 1 && (end.revents & POLLOUT);
}

static void greet(const char *address) {
    if (is_unix(address)) {
        printf("burin listens on %s. Try:\n\n"
               "  curl --unix-socket %s -F image=@photo.jpg http://localhost/histeq -o out.jpg\n\n"
               "Ctrl-C stops it.\n",
               address, address + strlen("unix:"));
    } else {
        const char *port = strrchr(address, ':');
        const char *here = strncmp(address, "0.0.0.0:", 8) == 0 ? "127.0.0.1"
                           : strncmp(address, "[::]:", 5) == 0  ? "[::1]"
                                                                : NULL;
        const int length = here ? (int)strlen(here) : (int)(port - address);
        const char *host = here ? here : address;
        printf("burin listens on %s. Open http://%.*s%s/ in a browser, or try:\n\n"
               "  curl -F image=@photo.jpg http://%.*s%s/histeq -o out.jpg -D -\n\n"
               "Ctrl-C stops it.\n",
               address, length, host, port, length, host, port);
    }
    fflush(stdout);
}

/* ---- messages to a service manager */

struct service {
    struct systemd systemd;
    struct front *front;
    struct watchdog *watchdog;
    bool ready;       /* READY=1 was sent */
    int64_t check_ms; /* the longest time for the check of one file */
    int64_t then_ms;  /* the longest time that a reload takes after the checks */
};

/* Sends WHAT, and extends the unit's timeout until the next message: no unit can know how many
 * operators are compiled, nor worker_start_ms or drain_timeout_ms. */
static void say(const struct systemd *systemd, const char *what, int64_t takes_ms) {
    systemd_notify(systemd, "%s\nEXTEND_TIMEOUT_USEC=%lld", what,
                   (long long)(takes_ms + SPARE_MS) * 1000);
}

static bool is_alive(void *context, int timeout_ms) {
    return front_is_alive(((const struct service *)context)->front, timeout_ms);
}

/* Sends READY=1 once the front has started. From then on the service manager expects WATCHDOG=1. */
static void notify_when_ready(struct service *service) {
    if (service->ready || !front_has_started(service->front)) return;
    service->ready = true;
    systemd_notify(&service->systemd, "READY=1\nSTATUS=Serving on %s",
                   front_address(service->front));
    service->watchdog = systemd_watchdog_start(&service->systemd, is_alive, service);
}

/* A worker's message ends the wait at once; a worker that recovers sends none, hence LOOK_MS. */
static void wait_for_change(struct service *service, int64_t timeout_ms, const sigset_t *mask) {
    front_wait_worker(service->front, timeout_ms < LOOK_MS ? (int)timeout_ms : LOOK_MS, mask);
    notify_when_ready(service);
}

/* Waits for the first worker of the list; the CPU's may be ready earlier. A signal ends the wait.
 */
static void wait_ready(struct service *service, const sigset_t *mask) {
    const int64_t end = clock_ns() + START_MS * INT64_C(1000000);
    bool first;
    notify_when_ready(service);
    while (!(first = front_first_is_ready(service->front)) && !signals_seen && clock_ns() < end)
        wait_for_change(service, (end - clock_ns()) / 1000000 + 1, mask);
    if (!first && !signals_seen)
        log_event(LOG_ERROR, "no_worker", "no worker is ready yet; GET /readyz shows why");
}

/* ---- reading the configuration, keys_file, overlays_dir and operators_dir again */

static void notify_serving(const struct service *service, const char *reason) {
    char why[sizeof(struct failure)];
    snprintf(why, sizeof why, "%s", reason);
    utf8_clean(why);
    systemd_notify(&service->systemd, "READY=1\nSTATUS=Serving on %s%s%s",
                   front_address(service->front), *why ? "; not reloaded: " : "", why);
}

static void say_checking(void *context, const char *path) {
    const struct service *service = context;
    char what[256];
    snprintf(what, sizeof what, "STATUS=%s: checking %.200s",
             service->front ? "Reloading" : "Starting", path);
    utf8_clean(what); /* a line break would begin a new variable */
    say(&service->systemd, what, service->check_ms + service->then_ms);
}

/* Reads the file in another process, since this one can open none by now, and takes over what may
 * change. Adds the names of keys that a restart would change to RESTART. */
static enum status read_config(struct service *service, struct config *config, json_t *restart,
                               struct failure *failure) {
    struct config next, after = *config;
    const struct process_limits limits = { SPARE_MS, stopping };
    if (!*config_file()) return STATUS_OK;
    if (process_read_config(config_file(), &limits, &next, failure)) return failure->status;
    config_take(&after, &next, NULL);
    if (strcmp(front_origins(service->front), after.cors_origins) != 0 &&
        !front_set_origins(service->front, after.cors_origins))
        return fail(failure, STATUS_NO_MEMORY, "there is no memory for cors_origins");
    config_take(config, &next, restart); /* now that nothing can fail */
    log_set_level(config->log_level);
    return STATUS_OK;
}

/* One reading of everything: what failed, zeroed for what did not. */
struct outcome {
    struct failure config, keys, overlays, operators;
    json_t *restart; /* the keys that a restart would change */
};

/* Appends the sentence of a failure, with the name alone of the file or folder at PATH: GET /readyz
 * may be open to all. */
static void add_error(json_t *errors, const struct failure *failure, const char *path) {
    char text[sizeof failure->message + NAME_MAX];
    const char *message = failure->message, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const size_t least = strnlen(path, SHOWN_PATH_MIN);
    const char *at = least ? memmem(message, strlen(message), path, least) : NULL;
    size_t length = 0;
    if (!failure->status) return;
    while (at && path[length] && at[length] == path[length]) length++;
    snprintf(text, sizeof text, "%.*s%s%s", at ? (int)(at - message) : 0, message, at ? name : "",
             at ? at + length : message);
    utf8_clean(text);
    json_array_append_new(errors, json_string(text));
}

/* Takes over the list of OUTCOME. */
static void report(struct front *front, const struct config *config,
                   const struct outcome *outcome) {
    static int generation; /* readings that were right */
    const struct {
        const char *name, *path;
        const struct failure *failure;
    } parts[] = { { "config", config_file(), &outcome->config },
                  { "keys_file", config->keys_file, &outcome->keys },
                  { "overlays_dir", config->overlays_dir, &outcome->overlays },
                  { "operators_dir", config->operators_dir, &outcome->operators } };
    char at[48];
    json_t *errors = json_array(), *read = json_object();
    log_time(at, sizeof at);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const bool failed = parts[i].failure->status;
        add_error(errors, parts[i].failure, parts[i].path);
        json_object_set_new(read, parts[i].name,
                            json_string(failed           ? "failed"
                                        : *parts[i].path ? "read"
                                                         : "none"));
    }
    const bool good = !json_array_size(errors);
    generation += good;
    front_set_outcome(front, json_pack("{s:i, s:s, s:b, s:o, s:o, s:o}", "generation", generation,
                                       "at", at, "ok", good, "read", read, "errors", errors,
                                       "restart_needed_for", outcome->restart));
}

static void log_failed(const char *what, const struct failure *failure) {
    if (failure->status) log_event(LOG_ERROR, "reload_failed", "%s: %s", what, failure->message);
}

static void log_reloaded(const struct config *config, const json_t *restart) {
    const bool needed = json_array_size(restart);
    char *names = needed ? json_dumps(restart, 0) : NULL;
    log_event(LOG_INFO, "reloaded", "%s%s%s",
              *config_file() ? "the configuration was read again"
              : *config->keys_file || *config->overlays_dir || *config->operators_dir
                  ? "there is no configuration file to read again"
                  : "there is nothing to read again: no configuration file, keys_file, "
                    "overlays_dir or operators_dir",
              needed ? "; a restart is needed for " : "", names ? names : "");
    free(names);
}

/* The service manager expects RELOADING=1 with a time that is not before that of its signal. */
static void reload(struct service *service, struct config *config) {
    struct outcome outcome = { .restart = json_array() };
    json_t *problems = json_array();
    const struct user_operators_watch watch = { stopping, say_checking, service, problems };
    struct front *front = service->front;
    service->then_ms = 2 * config->processing_ms + config->worker_start_ms; /* see front_reload */
    reload_wanted = 0;
    systemd_notify(&service->systemd, "RELOADING=1\nMONOTONIC_USEC=%lld",
                   (long long)(clock_ns() / 1000));
    if (!read_config(service, config, outcome.restart, &outcome.config))
        log_reloaded(config, outcome.restart);
    log_failed("the configuration stays as it was", &outcome.config);
    /* Overlays first: presets name them. Then keys: one that is taken back should not wait for a
     * compiler. But a preset may need an operator that is new. */
    if (*config->overlays_dir) front_reload_overlays(front, &outcome.overlays);
    log_failed("overlays_dir: all overlays stay as they were", &outcome.overlays);
    const bool late = *config->keys_file && !front_reload_keys(front, &outcome.keys);
    if (*config->operators_dir) front_reload(front, &watch, &outcome.operators);
    json_decref(problems);
    log_failed("operators_dir: all operators stay as they were", &outcome.operators);
    if (late) front_reload_keys(front, &outcome.keys);
    log_failed("keys_file: all keys stay as they were", &outcome.keys);
    report(front, config, &outcome);
    notify_serving(service, outcome.config.status     ? outcome.config.message
                            : outcome.keys.status     ? outcome.keys.message
                            : outcome.overlays.status ? outcome.overlays.message
                                                      : outcome.operators.message);
}

static void stop(struct service *service, const struct config *config) {
    log_event(LOG_INFO, "stopping", "stopping: finishing accepted requests");
    say(&service->systemd, "STOPPING=1\nSTATUS=Stopping: finishing accepted requests",
        config->drain_delay_ms + config->drain_timeout_ms);
    front_drain(service->front, interrupted);
    systemd_watchdog_stop(service->watchdog);
    front_destroy(service->front);
    log_event(LOG_INFO, "stopped", "stopped");
}

/* ---- the daemon */

/* Blocks signals, in all threads that start from now on too; returns the mask before. */
static sigset_t block_signals(void) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    return before;
}

/* Returns the exit status: 0 after a signal, 1 if the launcher has ended. */
static int wait_for_stop(struct service *service, struct config *config, const sigset_t *before) {
    sigset_t blocked;
    bool crippled = false;
    while (!signals_seen && !crippled) {
        if (!service->ready) {
            wait_for_change(service, LOOK_MS, before);
            crippled = launcher_wait_end(before, 0);
        } else if (!reload_wanted) {
            crippled = launcher_wait_end(before, FOREVER);
        } else {
            pthread_sigmask(SIG_SETMASK, before, &blocked);
            reload(service, config);
            pthread_sigmask(SIG_SETMASK, &blocked, NULL);
        }
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
    if (crippled)
        log_event(LOG_ERROR, "launcher_lost",
                  "the process that starts workers has ended: none can be replaced, so "
                  "the daemon finishes accepted requests and ends; start it again");
    return crippled ? 1 : 0;
}

/* Names a limit of the process that may be the cause of missing memory. */
static void name_limit(int resource, char flag) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        fprintf(stderr, "; ulimit -%c allows %llu kB", flag,
                (unsigned long long)limit.rlim_cur / 1024);
}

static int complain(const struct failure *failure) {
    fprintf(stderr, "burin serve: %s", failure->message);
    if (failure->status == STATUS_NO_MEMORY) {
        name_limit(RLIMIT_AS, 'v');
        name_limit(RLIMIT_DATA, 'd');
    }
    fputc('\n', stderr);
    return failure->status == STATUS_BAD_PARAM ? 2 : 1;
}

/* Checks the limit of open files before anything is opened or compiled. ADMIN: a socket for
 * admin_listen was passed. */
static enum status check_descriptors(const struct config *config, bool admin,
                                     struct failure *failure) {
    descriptors_raise_limit();
    return front_check_descriptors(config, admin || config->admin_listen[0], failure);
}

static int serve(struct config *config) {
    struct failure failure = { 0 };
    struct service service = { .check_ms = user_operators_check_ms(config) };
    if (systemd_open(&service.systemd, &failure)) return complain(&failure);
    if (check_descriptors(config, service.systemd.sockets.admin >= 0, &failure))
        return complain(&failure);
    log_open(config->log_format, config->log_level);
    loading = true;
    catch_signals();
    if (sandbox_is_on(config) && launcher_open(config, &failure)) return complain(&failure);
    json_t *problems = json_array();
    const struct user_operators_watch watch = { stopping, say_checking, &service, problems };
    struct generation *operators = user_operators_read(config, NULL, &watch, &failure);
    json_decref(problems);
    if (!operators) return signals_seen ? 0 : complain(&failure);
    struct overlays *overlays =
        overlays_read(config->overlays_dir, config->overlays_bytes_max, &failure);
    struct key_table *keys = NULL;
    if (overlays && *config->keys_file)
        keys = key_file_read(config->keys_file, &operators->ops, overlays, &failure);
    if (!overlays || (*config->keys_file && !keys)) {
        generation_release(operators);
        overlays_release(overlays);
        return complain(&failure);
    }
    const sigset_t before = block_signals();
    loading = false;
    codec_open_libraries();                     /* while files can be opened */
    sandbox_limit(SANDBOX_FRONT, config, NULL); /* while there is no other thread */
    log_start((size_t)config->log_buffer_bytes, NULL);
    /* The time to count the GPUs, and then to start their workers. */
    say(&service.systemd, "STATUS=Starting: no worker is ready yet", 2 * config->worker_start_ms);
    service.front = front_create(config, service.systemd.sockets, operators, overlays, keys,
                                 stop_is_wanted, &failure);
    if (!service.front) {
        log_stop();
        return failure.status == STATUS_CANCELLED ? 0 : complain(&failure);
    }
    report(service.front, config, &(struct outcome){ .restart = json_array() });
    launcher_narrow();
    sandbox_filter(SANDBOX_FRONT, config, launcher_pid());
    wait_ready(&service, &before);
    if (!signals_seen && is_read(STDOUT_FILENO)) greet(front_address(service.front));
    const int ended = wait_for_stop(&service, config, &before);
    stop(&service, config);
    log_stop();
    return ended;
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
        fprintf(stderr, "burin serve: \"%s\" is not a flag; see burin serve --help\n", argv[1]);
        return 2;
    }
    const int ended = serve(&config);
    launcher_close();
    return ended;
}

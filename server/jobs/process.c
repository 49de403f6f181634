// SPDX-License-Identifier: Apache-2.0
/* How it works. What a process is to find at fixed numbers is moved there by posix_spawn's actions;
 * all else of ours closes on exec. A process that is asked for something, how many GPUs there are
 * or whether a file is right, answers through a pipe, and is killed where it takes too long. */
#include "server/jobs/process.h"

#include "pipeline/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char program[] = "/proc/self/exe";

enum { LOOK_MS = 50 };

/* A process group of its own: a terminal's Ctrl-C is for the front alone. Signals as a fresh
 * program expects them, but for SIGHUP: it is for the front, whoever else gets it too. */
static pid_t spawn(posix_spawn_file_actions_t *actions, char *const arguments[]) {
    posix_spawnattr_t attributes;
    if (posix_spawnattr_init(&attributes)) return -1;
    sigset_t blocked, usual;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGHUP);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    pid_t pid;
    const int failed = posix_spawn(&pid, program, actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    return failed ? -1 : pid;
}

/* Moved to a high number first: another may be to get the number that it has. -1 stays. */
static int move(int fd) {
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, PROCESS_PIPES_FD + COMPLETION_PIPES_MAX);
}

pid_t process_start(const char *device, enum process_role role, const struct process_files *files) {
    static char *const options[] = {
        [PROCESS_OPERATORS] = "--operators", [PROCESS_SANDBOX] = "--sandbox"
    };
    posix_spawn_file_actions_t actions;
    int passed[PROCESS_PIPES_FD - PROCESS_SLOTS_FD + COMPLETION_PIPES_MAX];
    const int count = PROCESS_PIPES_FD - PROCESS_SLOTS_FD + files->pipe_count;
    if (files->pipe_count > COMPLETION_PIPES_MAX || posix_spawn_file_actions_init(&actions))
        return -1;
    passed[0] = move(files->slots);
    passed[PROCESS_CHANNEL_FD - PROCESS_SLOTS_FD] = move(files->channel);
    passed[PROCESS_OPERATORS_FD - PROCESS_SLOTS_FD] = move(files->operators);
    for (int i = 0; i < files->pipe_count; i++)
        passed[PROCESS_PIPES_FD - PROCESS_SLOTS_FD + i] = move(files->pipes[i]);
    const int unused = files->operators < 0 ? PROCESS_OPERATORS_FD : -1;
    for (int i = 0; i < count; i++)
        if (PROCESS_SLOTS_FD + i != unused)
            posix_spawn_file_actions_adddup2(&actions, passed[i], PROCESS_SLOTS_FD + i);
    char *const arguments[] = {
        "burin", "worker", "--device", (char *)device, options[role], NULL
    };
    const pid_t pid = spawn(&actions, arguments);
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < count; i++)
        if (passed[i] >= 0) close(passed[i]);
    return pid;
}

/* The front decides when to stop: a terminal's Ctrl-C must not end a worker in mid-job. */
void process_become_worker(void) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = PROCESS_SLOTS_FD; fd < PROCESS_PIPES_FD + COMPLETION_PIPES_MAX; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC); /* fails where there is none */
}

bool process_reap(pid_t pid, int *code) {
    int how = 0;
    const pid_t ended = waitpid(pid, &how, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    *code = WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
    return true;
}

void process_end(pid_t pid) {
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}

/* What comes through END until all its writers have closed it; false: it was ended before. */
static bool read_output(int end, const struct process_limits *limits, char *output, size_t size) {
    const int64_t deadline = clock_ns() + limits->timeout_ms * INT64_C(1000000);
    size_t used = 0;
    output[0] = '\0';
    for (;;) {
        char spare[1024];
        if (clock_ns() >= deadline || limits->interrupted()) return false;
        const int some = poll(&(struct pollfd){ .fd = end, .events = POLLIN }, 1, LOOK_MS);
        const ssize_t got = some > 0 ? read(end, spare, sizeof spare) : -1;
        if (got == 0) return true;
        if (got < 0) continue;
        const size_t room = size - 1 - used, kept = (size_t)got < room ? (size_t)got : room;
        memcpy(output + used, spare, kept);
        used += kept;
        output[used] = '\0';
    }
}

bool process_check(char *const arguments[], int input, const struct process_limits *limits,
                   char *output, size_t size, bool *good) {
    int ends[2], how = 0;
    *good = false;
    if (pipe2(ends, O_CLOEXEC) < 0) return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const pid_t pid = spawn(&actions, arguments);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    const bool in_time = pid > 0 && read_output(ends[0], limits, output, size);
    close(ends[0]);
    if (pid > 0 && !in_time) kill(-pid, SIGKILL);
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR) continue;
    *good = in_time && WIFEXITED(how) && WEXITSTATUS(how) == 0;
    return in_time && WIFEXITED(how);
}

/* The count that a process has written to END; -1 when it writes none in time. */
static int read_count(int end, int timeout_ms) {
    char text[16] = "";
    if (poll(&(struct pollfd){ .fd = end, .events = POLLIN }, 1, timeout_ms) == 0) return -1;
    return read(end, text, sizeof text - 1) > 0 ? atoi(text) : 0;
}

int process_count_gpus(int timeout_ms) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    char *const arguments[] = { "burin", "worker", "--count", NULL };
    const pid_t pid = spawn(&actions, arguments);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    const int count = pid > 0 ? read_count(ends[0], timeout_ms) : 0;
    close(ends[0]);
    if (pid > 0 && count < 0)
        kill(pid, SIGKILL); /* and is not waited for: the daemon ends */
    else if (pid > 0)
        process_end(pid);
    return count;
}

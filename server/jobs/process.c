// SPDX-License-Identifier: Apache-2.0
/* How it works. What a process is to find at fixed numbers is moved there by posix_spawn's actions,
 * and all else is closed: a worker's own descriptors, which stand at such numbers, would stay open
 * in its sandbox. A process that is asked for something, how many GPUs there are or whether a file
 * is right, answers through a pipe: it has to close that, and to end, before its time is over, else
 * it is killed. No wait is without a bound: a driver may hold even a process that was killed. */
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

enum { LOOK_US = 1000 };

/* A process group of its own: a terminal's Ctrl-C is for the front alone. Signals as a fresh
 * program expects them. */
static pid_t spawn(posix_spawn_file_actions_t *actions, char *const arguments[]) {
    posix_spawnattr_t attributes;
    if (posix_spawnattr_init(&attributes)) return -1;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    pid_t pid;
    const int failed = posix_spawn(&pid, program, actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    return failed ? -1 : pid;
}

pid_t process_start(const char *device, enum process_role role, int slots_fd, int channel_fd,
                    const int *pipes, int pipe_count) {
    static char *const options[] = {
        [PROCESS_OPERATORS] = "--operators", [PROCESS_SANDBOX] = "--sandbox"
    };
    posix_spawn_file_actions_t actions;
    int passed[PROCESS_PIPES_FD - PROCESS_SLOTS_FD + COMPLETION_PIPES_MAX] = { slots_fd,
                                                                               channel_fd };
    const int count = PROCESS_PIPES_FD - PROCESS_SLOTS_FD + pipe_count;
    if (pipe_count > COMPLETION_PIPES_MAX || posix_spawn_file_actions_init(&actions)) return -1;
    for (int i = 0; i < pipe_count; i++) passed[PROCESS_PIPES_FD - PROCESS_SLOTS_FD + i] = pipes[i];
    /* All are moved to high numbers first: one may have the number that another is to get. */
    int failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    failed |= posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    for (int i = 0; i < count; i++) {
        passed[i] = fcntl(passed[i], F_DUPFD_CLOEXEC, PROCESS_PIPES_FD + COMPLETION_PIPES_MAX);
        failed |= posix_spawn_file_actions_adddup2(&actions, passed[i], PROCESS_SLOTS_FD + i);
    }
    failed |= posix_spawn_file_actions_addclosefrom_np(&actions, PROCESS_SLOTS_FD + count);
    char *const arguments[] = {
        "burin", "worker", "--device", (char *)device, options[role], NULL
    };
    const pid_t pid = failed ? -1 : spawn(&actions, arguments);
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
}

bool process_reap(pid_t pid, int *code) {
    int how = 0;
    const pid_t ended = waitpid(pid, &how, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    *code = WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
    return true;
}

bool process_end(pid_t pid, int64_t until, int *code) {
    kill(pid, SIGKILL);
    while (!process_reap(pid, code)) {
        if (clock_ns() >= until) return false;
        usleep(LOOK_US);
    }
    return true;
}

/* ---- processes that are asked for something */

struct question {
    char *const *arguments;
    int input;   /* its standard input; -1: ours */
    bool errors; /* what it says on standard error is part of the answer */
    int timeout_ms;
    char *output; /* its answer, cut to SIZE */
    size_t size;
};

enum asked { ASKED_NOTHING, ASKED_ANSWERED, ASKED_LATE }; /* the first: it did not start */

static pid_t spawn_asked(const struct question *question, int output) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return -1;
    int failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (question->input >= 0)
        failed |= posix_spawn_file_actions_adddup2(&actions, question->input, STDIN_FILENO);
    if (question->errors)
        failed |= posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    failed |= posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    const pid_t pid = failed ? -1 : spawn(&actions, question->arguments);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* What comes through END until all its writers have closed it; false: the time is over. */
static bool read_output(const struct question *question, int end, int64_t deadline) {
    size_t used = 0;
    for (;;) {
        char spare[1024];
        const int64_t left = (deadline - clock_ns()) / 1000000;
        if (left <= 0) return false;
        const int some = poll(&(struct pollfd){ .fd = end, .events = POLLIN }, 1, (int)left);
        const ssize_t got = some > 0 ? read(end, spare, sizeof spare) : -1;
        if (got == 0) return true;
        if (got < 0) continue;
        const size_t room = question->size - 1 - used;
        const size_t kept = (size_t)got < room ? (size_t)got : room;
        memcpy(question->output + used, spare, kept);
        used += kept;
        question->output[used] = '\0';
    }
}

/* It stays a zombie, so that its number, which is its group's too, is nobody else's yet. */
static bool wait_for_end(pid_t pid, int64_t deadline) {
    for (;;) {
        siginfo_t info = { .si_pid = 0 };
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
            return true;
        if (clock_ns() >= deadline) return false;
        usleep(LOOK_US);
    }
}

/* CODE: as process_reap says, of a process that answered. Whatever it has started in its group is
 * killed in any case. */
static enum asked ask(const struct question *question, int *code) {
    const int64_t deadline = clock_ns() + question->timeout_ms * INT64_C(1000000);
    int ends[2];
    question->output[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0) return ASKED_NOTHING;
    const pid_t pid = spawn_asked(question, ends[1]);
    close(ends[1]);
    const bool in_time =
        pid > 0 && read_output(question, ends[0], deadline) && wait_for_end(pid, deadline);
    close(ends[0]);
    if (pid < 0) return ASKED_NOTHING;
    kill(-pid, SIGKILL);
    const int64_t until = clock_ns() + PROCESS_END_MS * INT64_C(1000000);
    return process_end(pid, until, code) && in_time ? ASKED_ANSWERED : ASKED_LATE;
}

bool process_check(char *const arguments[], int input, int timeout_ms, char *output, size_t size,
                   bool *good) {
    const struct question question = { arguments, input, true, timeout_ms, output, size };
    int code = -1;
    const bool answered = ask(&question, &code) == ASKED_ANSWERED;
    *good = answered && code == 0;
    return answered && code >= 0;
}

int process_count_gpus(int timeout_ms) {
    char text[16];
    char *const arguments[] = { "burin", "worker", "--count", NULL };
    const struct question question = { arguments, -1, false, timeout_ms, text, sizeof text };
    int code;
    return ask(&question, &code) == ASKED_LATE ? -1 : atoi(text);
}

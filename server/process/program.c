// SPDX-License-Identifier: Apache-2.0
/* How it works. Descriptors are duplicated to high numbers first, since one may occupy the number
 * of a different one, and then moved to their fixed numbers. All others are closed: otherwise a
 * worker's own descriptors, which have the same fixed numbers, would stay open in its sandbox. */
#include "server/process/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

extern char **environ;

static const char path[] = "/proc/self/exe", nothing[] = "/dev/null";

static void copy(const struct program *program, int copies[PROGRAM_FILES_MAX]) {
    for (int i = 0; i < program->file_count; i++)
        copies[i] = program->files[i] < 0
                        ? -1
                        : fcntl(program->files[i], F_DUPFD_CLOEXEC, program->file_count);
}

/* The signals that a new program blocks, and those that it resets to their defaults. */
static void signals_of_a_program(sigset_t *blocked, sigset_t *usual) {
    sigemptyset(blocked);
    sigaddset(blocked, SIGHUP);
    sigemptyset(usual);
    sigaddset(usual, SIGPIPE);
}

/* ---- a new process */

static int plan_files(posix_spawn_file_actions_t *actions, const struct program *program,
                      const int *copies) {
    int failed = 0;
    for (int i = 0; i < program->file_count; i++)
        failed |= program->files[i] == PROGRAM_NOTHING
                      ? posix_spawn_file_actions_addopen(actions, i, nothing, O_RDWR, 0)
                  : program->files[i] == PROGRAM_CLOSED
                      ? posix_spawn_file_actions_addclose(actions, i)
                      : posix_spawn_file_actions_adddup2(actions, copies[i], i);
    return failed | posix_spawn_file_actions_addclosefrom_np(actions, program->file_count);
}

static pid_t spawn(posix_spawn_file_actions_t *actions, char *const *arguments) {
    posix_spawnattr_t attributes;
    sigset_t blocked, usual;
    pid_t pid;
    if (posix_spawnattr_init(&attributes)) return -1;
    signals_of_a_program(&blocked, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    const int failed = posix_spawn(&pid, path, actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    return failed ? -1 : pid;
}

pid_t program_start(const struct program *program) {
    posix_spawn_file_actions_t actions;
    int copies[PROGRAM_FILES_MAX];
    if (posix_spawn_file_actions_init(&actions)) return -1;
    copy(program, copies);
    const int failed = plan_files(&actions, program, copies);
    const pid_t pid = failed ? -1 : spawn(&actions, program->arguments);
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < program->file_count; i++)
        if (copies[i] >= 0) close(copies[i]);
    return pid;
}

/* ---- the calling process */

/* False: the descriptor could not be moved to TO. */
static bool place(int file, int copied, int to) {
    if (file == PROGRAM_CLOSED) return close(to) == 0 || true;
    if (file != PROGRAM_NOTHING) return dup2(copied, to) == to;
    const int fd = open(nothing, O_RDWR);
    const bool placed = fd >= 0 && dup2(fd, to) == to;
    if (fd >= 0 && fd != to) close(fd);
    return placed;
}

noreturn void program_become(const struct program *program) {
    int copies[PROGRAM_FILES_MAX];
    sigset_t blocked, usual;
    bool placed = true;
    setpgid(0, 0);
    copy(program, copies);
    for (int i = 0; i < program->file_count; i++)
        placed = placed && place(program->files[i], copies[i], i);
    close_range((unsigned)program->file_count, ~0u, 0);
    signals_of_a_program(&blocked, &usual);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    if (placed) execve(path, program->arguments, environ);
    _exit(127);
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. To start a worker, the launcher checks that the arguments are those of a worker
 * that the configuration allows, and clones itself with CLONE_PARENT: the new process is the
 * front's child, which the front reaps and which ends with the front. The clone then executes the
 * program. The launcher keeps the clone's descriptor, which stays valid for this process even if
 * its id is reused after the front has reaped it. */
#include "server/process/launcher_process.h"

#include "server/sandbox/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than all workers and concurrent checks of operators' files. */
enum { STARTED_MAX = 2048 };

/* ---- started processes */

struct started {
    pid_t pid;
    int fd; /* -1: the kernel has no descriptors of processes */
};

static struct {
    struct started all[STARTED_MAX];
    int count;
    bool numbers; /* the kernel has no descriptors of processes, or refuses them */
} started;

static long signal_by_fd(int fd, int number) {
    return syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
}

static bool is_there(const struct started *process) {
    return (process->fd < 0 ? kill(process->pid, 0) : signal_by_fd(process->fd, 0)) == 0;
}

static void forget_reaped(void) {
    int kept = 0;
    for (int i = 0; i < started.count; i++) {
        if (is_there(&started.all[i]))
            started.all[kept++] = started.all[i];
        else if (started.all[i].fd >= 0)
            close(started.all[i].fd);
    }
    started.count = kept;
}

/* The last started process with the id PID, which may be reused. NULL: none. */
static const struct started *find(int64_t pid) {
    for (int i = started.count - 1; i >= 0; i--)
        if (started.all[i].pid == pid) return &started.all[i];
    return NULL;
}

/* Kills a process, or a group if PID is below 0. A group has the id of its first process, which is
 * not reused while the group exists. */
static int end(pid_t pid) {
    const struct started *process = find(pid < 0 ? -(int64_t)pid : pid);
    if (!process || !is_there(process)) return -1;
    const bool by_number = pid < 0 || process->fd < 0;
    return (int)(by_number ? kill(pid, SIGKILL) : signal_by_fd(process->fd, SIGKILL));
}

/* Reads the threads of started processes. A process that still exists afterwards has existed during
 * the whole look, so its id was not reused. */
static bool look(struct launcher_request *request, struct launcher_answer *answer) {
    struct thread_id *threads = request->threads;
    if (request->count < 0 || request->count > LAUNCHER_LOOKS_MAX) return false;
    for (int i = 0; i < request->count; i++)
        if (!find(threads[i].pid)) threads[i] = (struct thread_id){ 0 };
    thread_status_read_all(threads, request->count, answer->statuses);
    for (int i = 0; i < request->count; i++) {
        const struct started *process = find(threads[i].pid);
        if (!process || !is_there(process)) answer->statuses[i] = (struct thread_status){ 0 };
    }
    return true;
}

/* ---- requests to start a process */

struct launch {
    struct program program;
    char *arguments[LAUNCHER_ARGUMENTS_MAX + 1]; /* in the request's text */
    int passed[PROGRAM_FILES_MAX], passed_count;
};

/* False: the front has closed its end. */
static bool receive(int fd, struct launcher_request *request, struct launch *launch, bool *whole) {
    union launcher_descriptors space;
    struct iovec bytes = { request, sizeof *request };
    struct msghdr message = { .msg_iov = &bytes,
                              .msg_iovlen = 1,
                              .msg_control = space.bytes,
                              .msg_controllen = sizeof space.bytes };
    ssize_t got;
    do got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    launch->passed_count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); got > 0 && part;
         part = CMSG_NXTHDR(&message, part))
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
            const size_t size = part->cmsg_len - CMSG_LEN(0);
            memcpy(launch->passed, CMSG_DATA(part), size);
            launch->passed_count = (int)(size / sizeof *launch->passed);
        }
    *whole = got == (ssize_t)sizeof *request && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
    return got > 0;
}

static bool split(struct launcher_request *request, struct launch *launch) {
    char *at = request->text, *end = request->text + LAUNCHER_TEXT_MAX;
    if (request->count < 0 || request->count > LAUNCHER_ARGUMENTS_MAX) return false;
    for (int i = 0; i < request->count; i++) {
        char *stop = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        if (!stop) return false;
        launch->arguments[i] = at;
        at = stop + 1;
    }
    launch->arguments[request->count] = NULL;
    launch->program.arguments = launch->arguments;
    return true;
}

static bool give_files(const struct launcher_request *request, struct launch *launch) {
    int used = 0;
    if (request->file_count < 0 || request->file_count > PROGRAM_FILES_MAX) return false;
    for (int i = 0; i < request->file_count; i++) {
        const int8_t file = request->files[i];
        if (file == LAUNCHER_PASSED && used == launch->passed_count) return false;
        launch->program.files[i] = file == LAUNCHER_PASSED ? launch->passed[used++] : file;
    }
    launch->program.file_count = request->file_count;
    return used == launch->passed_count;
}

static bool is_device(const char *text) {
    static const char gpu[] = "cuda:";
    if (strncmp(text, gpu, strlen(gpu)) != 0) return strcmp(text, "cpu") == 0;
    const char *number = text + strlen(gpu);
    const size_t digits = strspn(number, "0123456789");
    return digits > 0 && digits <= 3 && !number[digits];
}

static bool is_number(const char *text, long number) {
    char wanted[24];
    snprintf(wanted, sizeof wanted, "%ld", number);
    return strcmp(text, wanted) == 0;
}

/* ARGUMENTS: those after `--check` and the file's name. */
static bool is_check(char *const *arguments, const struct config *config) {
    return strcmp(arguments[0], config->operators_cache_dir) == 0 &&
           is_number(arguments[1], config->operators_source_bytes_max) &&
           strcmp(arguments[2], config->sandbox) == 0 &&
           is_number(arguments[3], config->operators_compile_ms) &&
           is_number(arguments[4], config->operators_compile_bytes);
}

/* Whether the front may start such a worker; a sandbox is started by its worker. */
static bool is_allowed(char *const *arguments, int count, const struct config *config) {
    if (count < 3 || strcmp(arguments[0], "burin") != 0 || strcmp(arguments[1], "worker") != 0)
        return false;
    if (count == 3) return strcmp(arguments[2], "--count") == 0;
    if (strcmp(arguments[2], "--config") == 0)
        return count == 4 && *config_file() && strcmp(arguments[3], config_file()) == 0;
    if (strcmp(arguments[2], "--device") == 0)
        return is_device(arguments[3]) &&
               (count == 4 || (count == 5 && (strcmp(arguments[4], "--operators") == 0 ||
                                              strcmp(arguments[4], "--cell") == 0)));
    return count == 9 && strcmp(arguments[2], "--check") == 0 && is_check(arguments + 4, config);
}

/* Forks a child of this process's parent. A kernel before 5.2 does not set FD. */
static pid_t fork_sibling(int *fd) {
    const unsigned long flags = CLONE_PARENT | SIGCHLD | (started.numbers ? 0ul : CLONE_PIDFD);
    return (pid_t)syscall(SYS_clone, flags, 0, fd, 0, 0);
}

static pid_t launch(struct launcher_request *request, struct launch *launch,
                    const struct config *config) {
    struct started process = { .fd = -1 };
    if (!split(request, launch) || !give_files(request, launch) ||
        !is_allowed(launch->arguments, request->count, config))
        return -1;
    forget_reaped();
    if (started.count == STARTED_MAX) return -1;
    process.pid = fork_sibling(&process.fd);
    if (process.pid == 0) program_become(&launch->program);
    if (process.pid > 0) started.all[started.count++] = process;
    return process.pid;
}

/* ---- its life */

/* Closes all descriptors but the socket and standard error: a reader of the daemon's output must
 * see its end when the front ends. */
static void leave_files(int *fd) {
    const int nothing = open("/dev/null", O_RDWR);
    const int high = dup2(*fd, STDERR_FILENO + 1);
    if (nothing < 0 || high < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(nothing, STDOUT_FILENO) < 0)
        _exit(1);
    close_range(STDERR_FILENO + 2, ~0u, 0);
    *fd = high;
}

static int do_task(struct launcher_request *request, struct launch *what,
                   const struct config *config, struct launcher_answer *answer) {
    switch (request->task) {
    case LAUNCHER_START: return launch(request, what, config);
    case LAUNCHER_END: return end(request->pid);
    case LAUNCHER_LOOK: return look(request, answer) ? 0 : -1;
    case LAUNCHER_NARROW: return privileges_drop(0) ? 0 : -1;
    default: return -1;
    }
}

noreturn void launcher_process_run(int fd, pid_t front, const struct config *config) {
    static struct launcher_request request;
    static struct launcher_answer answer;
    struct launch what;
    bool whole;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* the front decides when this process ends */
    setpgid(0, 0);
    prctl(PR_SET_NAME, "burin-launcher");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    leave_files(&fd);
    started.numbers = signal_by_fd(-1, 0) != 0 && errno != EBADF;
    while (getppid() == front && receive(fd, &request, &what, &whole)) {
        answer.number = request.number;
        answer.pid = whole ? do_task(&request, &what, config, &answer) : -1;
        for (int i = 0; i < what.passed_count; i++) close(what.passed[i]);
        const bool looks = whole && request.task == LAUNCHER_LOOK && answer.pid == 0;
        const size_t size = launcher_answer_size(looks ? request.count : 0);
        const bool sent = send(fd, &answer, size, MSG_NOSIGNAL) == (ssize_t)size;
        /* The front stops waiting for this answer, and never learns of the new process. */
        if (!sent && request.task == LAUNCHER_START && answer.pid > 0) end(answer.pid);
    }
    _exit(0);
}

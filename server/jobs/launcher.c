// SPDX-License-Identifier: Apache-2.0
/* How it works. A request is one message: the arguments, and for each descriptor whether it is
 * passed along, /dev/null or closed. The launcher looks whether the arguments are those of a worker
 * that the configuration knows, clones itself with CLONE_PARENT, so that the new process is the
 * front's child, which waits for it and ends with it, and becomes the program there. It ends when
 * the front closes its end of the socket, however that comes about. */
#include "server/jobs/launcher.h"

#include "pipeline/timing.h"
#include "server/jobs/process.h"
#include "server/log.h"
#include "server/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 9,
    TEXT_MAX = 2048,
    PATIENCE_S = 1,
    STRANGER_MS = 50,
    PASSED = 0,
    NARROW = -1
};

struct request {
    uint32_t number;
    int32_t argument_count; /* NARROW: no program, see launcher_narrow */
    int32_t file_count;
    int8_t files[PROGRAM_FILES_MAX]; /* PASSED, PROGRAM_NOTHING or PROGRAM_CLOSED */
    char text[TEXT_MAX];             /* the arguments, each with its NUL */
};

struct answer {
    uint32_t number; /* of its request */
    int32_t pid;     /* -1: it could not be started, or may not be */
};

union descriptors {
    char bytes[CMSG_SPACE(PROGRAM_FILES_MAX * sizeof(int))];
    struct cmsghdr aligned;
};

/* ---- what the launcher is asked for */

struct launch {
    struct program program;
    char *arguments[ARGUMENTS_MAX + 1]; /* in the request's text */
    int passed[PROGRAM_FILES_MAX], passed_count;
};

static void close_passed(struct launch *launch) {
    for (int i = 0; i < launch->passed_count; i++) close(launch->passed[i]);
}

/* False: the front has closed its end. */
static bool receive(int fd, struct request *request, struct launch *launch, bool *whole) {
    union descriptors space;
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

static bool split(struct request *request, struct launch *launch) {
    char *at = request->text, *end = request->text + TEXT_MAX;
    if (request->argument_count < 0 || request->argument_count > ARGUMENTS_MAX) return false;
    for (int i = 0; i < request->argument_count; i++) {
        char *stop = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        if (!stop) return false;
        launch->arguments[i] = at;
        at = stop + 1;
    }
    launch->arguments[request->argument_count] = NULL;
    launch->program.arguments = launch->arguments;
    return true;
}

static bool give_files(const struct request *request, struct launch *launch) {
    int used = 0;
    if (request->file_count < 0 || request->file_count > PROGRAM_FILES_MAX) return false;
    for (int i = 0; i < request->file_count; i++) {
        const int8_t file = request->files[i];
        if (file == PASSED && used == launch->passed_count) return false;
        launch->program.files[i] = file == PASSED ? launch->passed[used++] : file;
    }
    launch->program.file_count = request->file_count;
    return used == launch->passed_count;
}

static bool is_device(const char *text) {
    const size_t name = strlen("cuda:"),
                 digits = strspn(text + (strlen(text) < name ? 0 : name), "0123456789");
    return strcmp(text, "cpu") == 0 ||
           (strncmp(text, "cuda:", name) == 0 && digits > 0 && digits <= 3 && !text[name + digits]);
}

static bool is_number(const char *text, long number) {
    char wanted[24];
    snprintf(wanted, sizeof wanted, "%ld", number);
    return strcmp(text, wanted) == 0;
}

/* Behind `--check` and the file's name. */
static bool is_check(char *const *arguments, const struct config *config) {
    return strcmp(arguments[0], config->operators_cache_dir) == 0 &&
           is_number(arguments[1], config->operators_source_bytes_max) &&
           strcmp(arguments[2], config->sandbox) == 0 &&
           is_number(arguments[3], config->operators_compile_ms) &&
           is_number(arguments[4], config->operators_compile_bytes);
}

/* A worker that the front has a use for; a sandbox is started by its worker. */
static bool is_allowed(char *const *arguments, int count, const struct config *config) {
    if (count < 3 || strcmp(arguments[0], "burin") != 0 || strcmp(arguments[1], "worker") != 0)
        return false;
    if (count == 3) return strcmp(arguments[2], "--count") == 0;
    if (strcmp(arguments[2], "--device") == 0)
        return is_device(arguments[3]) &&
               (count == 4 || (count == 5 && strcmp(arguments[4], "--operators") == 0));
    return count == 9 && strcmp(arguments[2], "--check") == 0 && is_check(arguments + 4, config);
}

/* As fork, but the child is our parent's. */
static pid_t fork_sibling(void) {
    return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

static pid_t launch(struct request *request, struct launch *launch, const struct config *config) {
    if (!split(request, launch) || !give_files(request, launch) ||
        !is_allowed(launch->arguments, request->argument_count, config))
        return -1;
    const pid_t pid = fork_sibling();
    if (pid == 0) program_become(&launch->program);
    return pid;
}

/* ---- its life */

/* It holds nothing of the front's but the socket and standard error: the output of a daemon ends
 * with it. */
static void leave_files(int *fd) {
    const int nothing = open("/dev/null", O_RDWR);
    const int high = dup2(*fd, STDERR_FILENO + 1);
    if (nothing < 0 || high < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(nothing, STDOUT_FILENO) < 0)
        _exit(1);
    close_range(STDERR_FILENO + 2, ~0u, 0);
    *fd = high;
}

static void block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* the front decides when it ends */
}

/* An answer that cannot be sent, for want of memory or because the front has gone, is one that the
 * front gives up waiting for: what was started for that request is nobody's. */
static void tell(int fd, const struct answer *answer) {
    if (send(fd, answer, sizeof *answer, MSG_NOSIGNAL) == (ssize_t)sizeof *answer) return;
    if (answer->pid > 0) kill(answer->pid, SIGKILL);
}

noreturn static void run(int fd, pid_t front, const struct config *config) {
    struct request request;
    struct launch what;
    bool whole;
    block_signals();
    setpgid(0, 0);
    prctl(PR_SET_NAME, "burin-launcher");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    leave_files(&fd);
    while (getppid() == front && receive(fd, &request, &what, &whole)) {
        struct answer answer = { .number = request.number, .pid = -1 };
        if (whole && request.argument_count == NARROW)
            answer.pid = privileges_drop(0) ? 0 : -1;
        else if (whole)
            answer.pid = launch(&request, &what, config);
        close_passed(&what);
        tell(fd, &answer);
    }
    _exit(0);
}

/* ---- the front's end */

static struct {
    pthread_mutex_t lock;
    bool open;
    int fd;
    pid_t pid;
    uint32_t number;        /* of the last request */
    bool told;              /* that it has ended */
    int64_t still_ns;       /* so long it may leave requests unanswered */
    int64_t still_since_ns; /* since then it has; 0: it answers */
} launcher = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool launcher_is_open(void) {
    return launcher.open;
}

enum status launcher_open(const struct config *config, struct failure *failure) {
    int ends[2];
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    const pid_t front = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(failure, STATUS_NO_MEMORY, "no socket pair for the launcher: %s",
                    strerror(errno));
    launcher.pid = fork();
    if (launcher.pid == 0) run(ends[1], front, config);
    close(ends[1]);
    if (launcher.pid < 0) {
        close(ends[0]);
        return fail(failure, STATUS_NO_MEMORY, "no process for the launcher: %s", strerror(errno));
    }
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    launcher.fd = ends[0];
    launcher.still_ns = config->launcher_still_ms * INT64_C(1000000);
    launcher.open = true;
    return STATUS_OK;
}

static void tell_end(void) {
    if (!launcher.told)
        log_event(LOG_ERROR, "the process that starts workers has ended or stands still: no "
                             "worker can be replaced");
    launcher.told = true;
}

/* Of a request that was given up: nobody knows it. */
static void end_stranger(pid_t pid) {
    int code;
    if (pid > 0) process_end(pid, clock_ns() + STRANGER_MS * INT64_C(1000000), &code);
}

/* Its end is the daemon's, which somebody starts again: see launcher_wait_end. */
static void note_silence(void) {
    const int64_t now = clock_ns();
    if (!launcher.still_since_ns) launcher.still_since_ns = now;
    if (now - launcher.still_since_ns <= launcher.still_ns) return;
    log_event(LOG_ERROR, "the process that starts workers stands still, and is ended");
    launcher.still_since_ns = now;
    kill(launcher.pid, SIGKILL);
}

static int take_answer(uint32_t number) {
    struct answer answer;
    for (;;) {
        const ssize_t got = recv(launcher.fd, &answer, sizeof answer, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got != (ssize_t)sizeof answer) return tell_end(), note_silence(), -1;
        launcher.still_since_ns = 0;
        if (answer.number == number) return answer.pid;
        end_stranger(answer.pid);
    }
}

static int ask(struct request *request, const int *files, int count) {
    union descriptors space = { .bytes = { 0 } };
    struct iovec bytes = { request, sizeof *request };
    struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
    if (count) {
        message.msg_control = space.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof *files);
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        *part = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS,
                                  .cmsg_len = CMSG_LEN((size_t)count * sizeof *files) };
        memcpy(CMSG_DATA(part), files, (size_t)count * sizeof *files);
    }
    pthread_mutex_lock(&launcher.lock);
    request->number = ++launcher.number;
    ssize_t sent;
    do sent = sendmsg(launcher.fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EMFILE && errno != ENOBUFS && errno != ENOMEM) {
        tell_end();
        note_silence();
    }
    const int pid = sent == (ssize_t)sizeof *request ? take_answer(request->number) : -1;
    if (pid >= 0) launcher.told = false;
    pthread_mutex_unlock(&launcher.lock);
    return pid;
}

pid_t launcher_start(const struct program *program) {
    struct request request = { .file_count = program->file_count };
    int files[PROGRAM_FILES_MAX], count = 0;
    size_t used = 0;
    for (char *const *argument = program->arguments; *argument; argument++) {
        const size_t size = strlen(*argument) + 1;
        if (request.argument_count == ARGUMENTS_MAX || used + size > TEXT_MAX) return -1;
        memcpy(request.text + used, *argument, size);
        used += size;
        request.argument_count++;
    }
    for (int i = 0; i < program->file_count; i++) {
        request.files[i] = (int8_t)(program->files[i] < 0 ? program->files[i] : PASSED);
        if (program->files[i] >= 0) files[count++] = program->files[i];
    }
    return ask(&request, files, count);
}

void launcher_narrow(void) {
    struct request request = { .argument_count = NARROW };
    if (launcher.open && ask(&request, NULL, 0) != 0)
        log_event(LOG_ERROR, "sandbox: the process that starts workers keeps its privileges");
}

/* Its end of the socket is nobody else's, so that is closed as soon as it has ended. */
bool launcher_wait_end(const sigset_t *mask, int timeout_ms) {
    const struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
    struct pollfd end = { .fd = launcher.open ? launcher.fd : -1 };
    const int some = ppoll(&end, 1, timeout_ms < 0 ? NULL : &timeout, mask);
    return some > 0 && (end.revents & (POLLHUP | POLLERR));
}

void launcher_close(void) {
    if (!launcher.open) return;
    launcher.open = false;
    close(launcher.fd);
    kill(launcher.pid, SIGKILL); /* it may stand still, and has nothing to finish */
    while (waitpid(launcher.pid, NULL, 0) < 0 && errno == EINTR) continue;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. A request is one message, and so is its answer; a start's carries the descriptors
 * that the new process gets. What comes late has another number than the one that is waited for: it
 * is dropped, and a process that was started so is ended. The launcher ends when the front closes
 * its end of the socket, however that comes about. */
#include "server/process/launcher.h"

#include "pipeline/timing.h"
#include "server/log/log.h"
#include "server/process/launcher_process.h"
#include "server/process/launcher_request.h"
#include "server/process/process.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000, LOOK_MS = 50, STRANGER_MS = 50, STRANGERS_MAX = 8 };
static const int64_t ms_ns = 1000000;

static struct {
    pthread_mutex_t lock;
    bool open;
    int fd;
    pid_t pid;
    uint32_t number;        /* of the last request */
    bool told;              /* that it has ended */
    bool silent;            /* the last request was given up */
    int64_t still_ns;       /* so long it may leave them unanswered, but for looks */
    int64_t still_since_ns; /* since then it has; 0: it answers */
} launcher = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool launcher_is_open(void) {
    return launcher.open;
}

pid_t launcher_pid(void) {
    return launcher.open ? launcher.pid : 0;
}

enum status launcher_open(const struct config *config, struct failure *failure) {
    int ends[2];
    const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
    const pid_t front = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(failure, STATUS_NO_MEMORY, "no socket pair for the launcher: %s",
                    strerror(errno));
    launcher.pid = fork();
    if (launcher.pid == 0) launcher_process_run(ends[1], front, config);
    close(ends[1]);
    if (launcher.pid < 0) {
        close(ends[0]);
        return fail(failure, STATUS_NO_MEMORY, "no process for the launcher: %s", strerror(errno));
    }
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    launcher.fd = ends[0];
    launcher.still_ns = config->launcher_still_ms * ms_ns;
    launcher.open = true;
    return STATUS_OK;
}

static void tell_end(void) {
    if (!launcher.told)
        log_event(LOG_ERROR, "the process that starts workers has ended or stands still: no "
                             "worker can be replaced");
    launcher.told = true;
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

/* ---- requests: under the lock */

/* Nobody knows these processes: the requests for them were given up. */
struct strangers {
    pid_t pids[STRANGERS_MAX];
    int count;
};

/* False: at UNTIL, a time of clock_ns, there is no answer to request NUMBER, or it has ended. */
static bool take_answer(uint32_t number, int64_t until, struct launcher_answer *answer,
                        struct strangers *strangers) {
    while (strangers->count < STRANGERS_MAX) {
        const ssize_t got = recv(launcher.fd, answer, sizeof *answer, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) {
            const int64_t left = until - clock_ns();
            if (left <= 0) return false;
            poll(&(struct pollfd){ .fd = launcher.fd, .events = POLLIN }, 1,
                 (int)(left / ms_ns) + 1);
            continue;
        }
        if (got < (ssize_t)launcher_answer_size(0)) return false;
        launcher.still_since_ns = 0;
        launcher.silent = false;
        if (answer->number == number) return true;
        if (answer->pid > 0) strangers->pids[strangers->count++] = answer->pid;
    }
    return false;
}

static ssize_t send_request(const struct launcher_request *request, const int *files, int count) {
    union launcher_descriptors space = { .bytes = { 0 } };
    struct iovec bytes = { (void *)request, sizeof *request };
    struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
    const int flags = MSG_NOSIGNAL | (request->task == LAUNCHER_LOOK ? MSG_DONTWAIT : 0);
    if (count) {
        message.msg_control = space.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof *files);
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        *part = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS,
                                  .cmsg_len = CMSG_LEN((size_t)count * sizeof *files) };
        memcpy(CMSG_DATA(part), files, (size_t)count * sizeof *files);
    }
    ssize_t sent;
    do sent = sendmsg(launcher.fd, &message, flags);
    while (sent < 0 && errno == EINTR);
    return sent;
}

static bool is_lack(int error) {
    return error == EMFILE || error == ENOBUFS || error == ENOMEM;
}

/* A look can do without an answer: none is waited for while others are due, and its silence is no
 * reason to end anybody. */
static bool exchange(struct launcher_request *request, const int *files, int count,
                     struct launcher_answer *answer, struct strangers *strangers) {
    const bool looks = request->task == LAUNCHER_LOOK;
    if (looks && launcher.silent) take_answer(0, 0, answer, strangers);
    if (looks && launcher.silent) return false;
    if (!++launcher.number) launcher.number = 1; /* 0: no request's */
    request->number = launcher.number;
    const ssize_t sent = send_request(request, files, count);
    if (sent < 0 && is_lack(errno)) return false;
    const int64_t until = clock_ns() + (looks ? LOOK_MS : PATIENCE_MS) * ms_ns;
    if (sent == (ssize_t)sizeof *request && take_answer(request->number, until, answer, strangers))
        return true;
    launcher.silent = true;
    if (!looks) {
        tell_end();
        note_silence();
    }
    return false;
}

/* ---- requests: without the lock, which ending a stranger takes itself */

static void end_strangers(const struct strangers *strangers) {
    for (int i = 0, code; i < strangers->count; i++)
        process_end(strangers->pids[i], clock_ns() + STRANGER_MS * ms_ns, &code);
}

/* False: it does not answer. */
static bool ask(struct launcher_request *request, const int *files, int count,
                struct launcher_answer *answer) {
    struct strangers strangers = { .count = 0 };
    pthread_mutex_lock(&launcher.lock);
    const bool answered = exchange(request, files, count, answer, &strangers);
    if (answered) launcher.told = false;
    pthread_mutex_unlock(&launcher.lock);
    end_strangers(&strangers);
    return answered;
}

pid_t launcher_start(const struct program *program) {
    struct launcher_request request = { .task = LAUNCHER_START, .file_count = program->file_count };
    struct launcher_answer answer;
    int files[PROGRAM_FILES_MAX], count = 0;
    size_t used = 0;
    for (char *const *argument = program->arguments; *argument; argument++) {
        const size_t size = strlen(*argument) + 1;
        if (request.count == LAUNCHER_ARGUMENTS_MAX || used + size > LAUNCHER_TEXT_MAX) return -1;
        memcpy(request.text + used, *argument, size);
        used += size;
        request.count++;
    }
    for (int i = 0; i < program->file_count; i++) {
        request.files[i] = (int8_t)(program->files[i] < 0 ? program->files[i] : LAUNCHER_PASSED);
        if (program->files[i] >= 0) files[count++] = program->files[i];
    }
    return ask(&request, files, count, &answer) ? answer.pid : -1;
}

bool launcher_end(pid_t pid) {
    struct launcher_request request = { .task = LAUNCHER_END, .pid = pid };
    struct launcher_answer answer;
    return ask(&request, NULL, 0, &answer);
}

bool launcher_look(const struct thread_id *threads, int count, struct thread_account *accounts) {
    struct launcher_request request = { .task = LAUNCHER_LOOK, .count = count };
    struct launcher_answer answer;
    memcpy(request.threads, threads, (size_t)count * sizeof *threads);
    if (!ask(&request, NULL, 0, &answer) || answer.pid) return false;
    memcpy(accounts, answer.accounts, (size_t)count * sizeof *accounts);
    return true;
}

void launcher_narrow(void) {
    struct launcher_request request = { .task = LAUNCHER_NARROW };
    struct launcher_answer answer;
    if (launcher.open && (!ask(&request, NULL, 0, &answer) || answer.pid))
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

// SPDX-License-Identifier: Apache-2.0
/* How it works. Each request is one message, and so is its answer; a request to start a process
 * carries the descriptors for it. A late answer has a different number than the expected one: it is
 * dropped, and a process that it reports is killed. The launcher ends when the front's end of the
 * socket is closed for any reason. */
#include "server/process/launcher.h"

#include "pipeline/timing.h"
#include "server/log/log.h"
#include "server/process/launcher_process.h"
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

/* ORPHAN_KILL_MS: the longest wait for the end of a process whose start was no longer waited for.
 */
enum { PATIENCE_MS = 1000, LOOK_MS = 50, ORPHAN_KILL_MS = 50, ORPHANS_MAX = 8 };
static const int64_t ms_ns = 1000000;

static struct {
    pthread_mutex_t lock;
    bool open;
    int fd;
    pid_t pid;
    uint32_t number;        /* of the last request */
    bool end_logged;        /* the log says that it has ended or does not answer */
    bool silent;            /* the last request got no answer in time */
    int64_t still_ns;       /* the longest time without an answer to requests other than looks */
    int64_t still_since_ns; /* the first of them without an answer; 0: it answers */
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

/* Logs that the launcher does not answer, and kills it after still_ns: the daemon then ends too,
 * and its service manager restarts it (launcher_wait_end). */
static void note_silence(void) {
    const int64_t now = clock_ns();
    if (!launcher.end_logged)
        log_event(LOG_ERROR, "launcher_lost",
                  "the process that starts workers has ended or stands still: no "
                  "worker can be replaced");
    launcher.end_logged = true;
    if (!launcher.still_since_ns) launcher.still_since_ns = now;
    if (now - launcher.still_since_ns <= launcher.still_ns) return;
    log_event(LOG_ERROR, "launcher_still",
              "the process that starts workers stands still, and is ended");
    launcher.still_since_ns = now;
    kill(launcher.pid, SIGKILL);
}

/* ---- requests: under the lock */

/* Processes whose start was reported too late: no caller knows them. */
struct orphans {
    pid_t pids[ORPHANS_MAX];
    int count;
};

/* False: the launcher has ended, or request NUMBER has no answer at UNTIL, a time of clock_ns. */
static bool take_answer(uint32_t number, int64_t until, struct launcher_answer *answer,
                        struct orphans *orphans) {
    while (orphans->count < ORPHANS_MAX) {
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
        if (answer->pid > 0) orphans->pids[orphans->count++] = answer->pid;
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

/* Sends a request and waits for its answer. A look does not wait while an earlier answer is
 * missing, and a missing answer to a look does not count as silence. */
static bool exchange(struct launcher_request *request, const int *files, int count,
                     struct launcher_answer *answer, struct orphans *orphans) {
    const bool looks = request->task == LAUNCHER_LOOK;
    if (looks && launcher.silent) take_answer(0, 0, answer, orphans);
    if (looks && launcher.silent) return false;
    if (!++launcher.number) launcher.number = 1; /* no request has the number 0 */
    request->number = launcher.number;
    const ssize_t sent = send_request(request, files, count);
    if (sent < 0 && (errno == EMFILE || errno == ENOBUFS || errno == ENOMEM)) return false;
    const int64_t until = clock_ns() + (looks ? LOOK_MS : PATIENCE_MS) * ms_ns;
    if (sent == (ssize_t)sizeof *request && take_answer(request->number, until, answer, orphans))
        return true;
    launcher.silent = true;
    if (!looks) note_silence();
    return false;
}

/* ---- requests: without the lock */

/* False: the launcher does not answer. */
static bool ask(struct launcher_request *request, const int *files, int count,
                struct launcher_answer *answer) {
    struct orphans orphans = { .count = 0 };
    pthread_mutex_lock(&launcher.lock);
    const bool answered = exchange(request, files, count, answer, &orphans);
    if (answered) launcher.end_logged = false;
    pthread_mutex_unlock(&launcher.lock);
    for (int i = 0, code; i < orphans.count; i++) /* asks the launcher, and so takes the lock */
        process_end(orphans.pids[i], clock_ns() + ORPHAN_KILL_MS * ms_ns, &code);
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

bool launcher_look(const struct thread_id *threads, int count, struct thread_status *statuses) {
    struct launcher_request request = { .task = LAUNCHER_LOOK, .count = count };
    struct launcher_answer answer;
    memcpy(request.threads, threads, (size_t)count * sizeof *threads);
    if (!ask(&request, NULL, 0, &answer) || answer.pid) return false;
    memcpy(statuses, answer.statuses, (size_t)count * sizeof *statuses);
    return true;
}

void launcher_narrow(void) {
    struct launcher_request request = { .task = LAUNCHER_NARROW };
    struct launcher_answer answer;
    if (launcher.open && (!ask(&request, NULL, 0, &answer) || answer.pid))
        log_event(LOG_ERROR, "sandbox_incomplete",
                  "sandbox: the process that starts workers keeps its privileges");
}

/* Only the launcher has its end of the socket, so the kernel closes that end when it ends. */
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
    kill(launcher.pid, SIGKILL); /* it may hang, and has nothing to finish */
    while (waitpid(launcher.pid, NULL, 0) < 0 && errno == EINTR) continue;
}

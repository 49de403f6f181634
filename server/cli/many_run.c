// SPDX-License-Identifier: Apache-2.0
/* How it works. The command forks a worker for each file at a time, before any thread and before
 * CUDA. It sends a worker the number of a file; the worker answers when the file is done, or asks
 * for memory before it decodes a large one. A worker that dies, such as by a user's operator, costs
 * the file that it had: the command sees the end of its socket, reports the file and forks another.
 * Results are written under the worker's own temporary name, which the command removes when it ends
 * the worker. */
#include "server/cli/many_run.h"

#include "pipeline/device.h"
#include "server/cli/many_progress.h"
#include "server/cli/one_run.h"
#include "server/cli/run_report.h"
#include "server/files.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Files at a time on one GPU, whose processes each take some of its memory; redraws of the progress
 * line; bytes that malloc keeps for the next file instead of mapping them anew. */
enum { GPU_JOBS = 4, REDRAW_MS = 100, HEAP_KEPT = 32 << 20 };

enum { NO_FILE = -1 };

enum message_kind { MESSAGE_READY, MESSAGE_NO_DEVICE, MESSAGE_MEMORY, MESSAGE_DONE };

/* From a worker; TEXT_LENGTH bytes follow: lines of JSON. */
struct message {
    enum message_kind kind;
    enum status status;
    struct failure failure;
    bool on_gpu;
    uint32_t notes;
    size_t read_bytes, written_bytes;
    size_t memory_bytes; /* MESSAGE_MEMORY: wanted */
    size_t text_length;
};

struct worker {
    pid_t pid; /* 0: none runs */
    int fd;
    long file;    /* NO_FILE: it has none */
    bool ready;   /* it has its device */
    size_t wants; /* memory beyond its share: waits for an answer; 0: does not */
    size_t holds;
};

struct many {
    const struct options *options;
    struct file_list list;
    struct many_progress progress;
    struct worker *workers;
    int jobs, running;
    size_t next;      /* file */
    size_t share;     /* bytes of memory that each worker may take without asking */
    size_t large_max; /* bytes that workers which asked may take together */
    int signals;      /* signalfd */
    sigset_t usual_signals;
    enum status refused; /* there is no such device, or workers cannot start: the run ends */
};

/* ---- a worker process */

struct place {
    struct one_run_place place;
    int fd;
};

static bool put_bytes(int fd, const void *bytes, size_t length) {
    while (length) {
        const ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes = (const char *)bytes + sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool get_bytes(int fd, void *bytes, size_t length) {
    while (length) {
        const ssize_t got = recv(fd, bytes, length, MSG_WAITALL);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        bytes = (char *)bytes + got;
        length -= (size_t)got;
    }
    return true;
}

static void wait_for_memory(const struct one_run_place *place, size_t bytes) {
    const int fd = ((const struct place *)place)->fd;
    const struct message message = { .kind = MESSAGE_MEMORY, .memory_bytes = bytes };
    long granted;
    if (!put_bytes(fd, &message, sizeof message) || !get_bytes(fd, &granted, sizeof granted))
        _exit(1);
}

static struct message run_file(struct one_run *run, const struct many *many, long file,
                               char **text) {
    struct message message = { .kind = MESSAGE_DONE };
    struct one_result result = { .lines = NULL };
    if (many->options->json) result.lines = open_memstream(text, &message.text_length);
    const struct file_pair *pair = &many->list.pairs[file];
    message.status = one_run(run, pair, &result, &message.failure);
    if (message.status && result.lines)
        run_report_failure(pair->source, message.status, &message.failure, result.lines);
    if (result.lines) fclose(result.lines);
    message.notes = result.notes;
    message.read_bytes = result.read_bytes;
    message.written_bytes = result.written_bytes;
    return message;
}

/* Runs files until the command closes its end. */
static _Noreturn void work(const struct many *many, int fd, pid_t parent) {
    char temporary[FILES_TEMPORARY_MAX];
    const struct place place = { .place = { .temporary = temporary,
                                            .memory_bytes = many->share,
                                            .wait_for_memory = wait_for_memory },
                                 .fd = fd };
    struct message ready = { .kind = MESSAGE_READY };
    files_temporary(getpid(), temporary);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    mallopt(M_MMAP_THRESHOLD, HEAP_KEPT);
    mallopt(M_TRIM_THRESHOLD, 2 * HEAP_KEPT);
    struct one_run *run = one_run_open(many->options, &place.place, &ready.on_gpu, &ready.failure);
    if (!run) ready.kind = MESSAGE_NO_DEVICE;
    bool good = put_bytes(fd, &ready, sizeof ready) && run;
    for (long file; good && get_bytes(fd, &file, sizeof file);) {
        char *text = NULL;
        const struct message message = run_file(run, many, file, &text);
        good = put_bytes(fd, &message, sizeof message) &&
               put_bytes(fd, text, text ? message.text_length : 0);
        free(text);
    }
    _exit(0);
}

/* ---- the command's side of a worker */

static bool start_worker(struct many *many, struct worker *worker) {
    int ends[2];
    const pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < many->jobs; i++) /* the end of a socket must be seen */
            if (many->workers[i].pid) close(many->workers[i].fd);
        close(many->signals);
        close(ends[0]);
        work(many, ends[1], parent);
    }
    close(ends[1]);
    if (pid < 0) close(ends[0]);
    if (pid < 0) return false;
    *worker = (struct worker){ .pid = pid, .fd = ends[0], .file = NO_FILE };
    many->running++;
    return true;
}

/* Removes what WORKER, which has ended, may have left of its file. */
static void remove_temporary(const struct many *many, const struct worker *worker) {
    char name[FILES_TEMPORARY_MAX], path[PATH_MAX], beside[PATH_MAX];
    if (worker->file == NO_FILE) return;
    const struct file_pair *pair = &many->list.pairs[worker->file];
    files_temporary(worker->pid, name);
    for (int w = 0; file_list_output(many->options, pair, w, path); w++)
        if (files_beside(path, name, beside)) unlink(beside);
}

/* Ends and awaits WORKER, with its unfinished file; returns its wait status. */
static int end_worker(struct many *many, struct worker *worker, bool killed) {
    int status = 0;
    close(worker->fd);
    if (killed) kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) continue;
    remove_temporary(many, worker);
    worker->pid = 0;
    many->running--;
    return status;
}

/* Gives WORKER the next file, or ends it if there is none. */
static void give_file(struct many *many, struct worker *worker) {
    worker->file = NO_FILE;
    worker->holds = 0;
    if (many->next == many->list.count) {
        end_worker(many, worker, false);
        return;
    }
    worker->file = (long)many->next++;
    put_bytes(worker->fd, &worker->file, sizeof worker->file); /* else its end is seen */
}

/* Lets those start that wait for memory, in the order of their places; one may always. */
static void grant_memory(struct many *many) {
    size_t held = 0;
    for (int i = 0; i < many->jobs; i++)
        if (many->workers[i].pid) held += many->workers[i].holds;
    for (int i = 0; i < many->jobs; i++) {
        struct worker *worker = &many->workers[i];
        const size_t wants = worker->wants;
        if (!worker->pid || !wants) continue;
        if (held && (held > many->large_max || wants > many->large_max - held)) continue;
        worker->wants = 0;
        worker->holds = wants;
        held += wants;
        put_bytes(worker->fd, &worker->file, sizeof worker->file);
    }
}

static void report_failure(struct many *many, const char *source, const struct failure *failure) {
    many_progress_erase(&many->progress);
    run_report_failure(source, failure->status, failure, many->options->json ? stdout : NULL);
}

/* Ends the run: what failed once would fail again. */
static void refuse(struct many *many, const struct failure *failure) {
    if (!many->refused) report_failure(many, NULL, failure);
    many->refused = failure->status;
}

static void replace_worker(struct many *many, struct worker *worker) {
    struct failure failure;
    if (many->next == many->list.count || start_worker(many, worker) || many->running) return;
    fail(&failure, STATUS_INTERNAL, "cannot start a process: %s", strerror(errno));
    refuse(many, &failure);
}

/* A worker ended by itself: its file failed, and another worker takes its place. */
static void lose_worker(struct many *many, struct worker *worker) {
    struct failure failure;
    const long file = worker->file;
    const int status = end_worker(many, worker, true);
    const char *how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it called exit";
    if (file != NO_FILE) {
        char steps[64];
        if (plan_print(&many->options->plan, steps, sizeof steps, NULL)) strcpy(steps, "its steps");
        fail(&failure, STATUS_INTERNAL, "the process that ran %s on it ended: %s", steps, how);
        report_failure(many, many->list.pairs[file].source, &failure);
        many_progress_done(&many->progress, 0, 0, 0);
        many_progress_failed(&many->progress);
    }
    if (!worker->ready) {
        fail(&failure, STATUS_INTERNAL, "a process ended before it had a file: %s", how);
        refuse(many, &failure);
        return;
    }
    replace_worker(many, worker);
}

static void take_result(struct many *many, struct worker *worker, const struct message *message) {
    char *text = message->text_length ? malloc(message->text_length) : NULL;
    if (message->text_length && (!text || !get_bytes(worker->fd, text, message->text_length))) {
        free(text);
        lose_worker(many, worker);
        return;
    }
    many_progress_done(&many->progress, message->read_bytes, message->written_bytes,
                       message->notes);
    if (message->status) many_progress_failed(&many->progress);
    if (text || message->status) many_progress_erase(&many->progress);
    if (text)
        fwrite(text, 1, message->text_length, stdout), fflush(stdout);
    else if (message->status)
        report_failure(many, many->list.pairs[worker->file].source, &message->failure);
    free(text);
    give_file(many, worker);
}

/* A GPU works with a few processes, unless --jobs asks for more. */
static bool is_superfluous(const struct many *many, const struct message *ready) {
    return ready->on_gpu && !many->options->jobs && many->running > GPU_JOBS;
}

static void take_message(struct many *many, struct worker *worker) {
    struct message message;
    if (!get_bytes(worker->fd, &message, sizeof message)) {
        lose_worker(many, worker);
    } else if (message.kind == MESSAGE_NO_DEVICE) {
        refuse(many, &message.failure);
    } else if (message.kind == MESSAGE_MEMORY) {
        worker->wants = message.memory_bytes;
        worker->holds = 0; /* of the width before, whose memory is used again */
    } else if (message.kind == MESSAGE_DONE) {
        take_result(many, worker, &message);
    } else if (is_superfluous(many, &message)) {
        end_worker(many, worker, false);
    } else {
        worker->ready = true;
        give_file(many, worker);
    }
    grant_memory(many);
}

/* ---- the run */

/* Half of the memory: half of that shared evenly, the rest for files that need more. */
static void divide_memory(struct many *many) {
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE) * (size_t)sysconf(_SC_PHYS_PAGES) / 2;
    many->share = bytes / 2 / (size_t)many->jobs;
    many->large_max = bytes / 2;
}

/* Waits for a message, a signal or the next redraw; returns the signal, or 0. */
static int wait_for_workers(struct many *many, struct pollfd *fds) {
    fds[many->jobs] = (struct pollfd){ .fd = many->signals, .events = POLLIN };
    for (int i = 0; i < many->jobs; i++)
        fds[i] = (struct pollfd){ .fd = many->workers[i].pid ? many->workers[i].fd : -1,
                                  .events = POLLIN };
    const int timeout_ms = many_progress_draw(&many->progress) ? REDRAW_MS : -1;
    if (poll(fds, (nfds_t)many->jobs + 1, timeout_ms) <= 0) return 0;
    if (fds[many->jobs].revents) {
        struct signalfd_siginfo signal;
        if (read(many->signals, &signal, sizeof signal) == sizeof signal)
            return (int)signal.ssi_signo;
    }
    for (int i = 0; i < many->jobs && !many->refused; i++)
        if (fds[i].revents) take_message(many, &many->workers[i]);
    return 0;
}

/* Returns the signal that ended the run, or 0. */
static int run_workers(struct many *many) {
    struct pollfd *fds = calloc((size_t)many->jobs + 1, sizeof *fds);
    int signal = fds ? 0 : SIGABRT;
    for (int i = 0; i < many->jobs && !signal && !many->refused; i++)
        replace_worker(many, &many->workers[i]);
    while (many->running && !signal && !many->refused) signal = wait_for_workers(many, fds);
    for (int i = 0; i < many->jobs; i++)
        if (many->workers[i].pid) end_worker(many, &many->workers[i], true);
    free(fds);
    return signal;
}

static enum status prepare(struct many *many, struct options *options, struct failure *failure) {
    struct device_info facts = { .multiprocessors = 1 };
    char folder[PATH_MAX];
    enum status status = file_list_make(&many->list, options, failure);
    if (status) return status;
    if (snprintf(folder, sizeof folder, "%s/", options->out_dir) >= PATH_MAX - 32 ||
        !files_make_folders(folder) || access(folder, W_OK | X_OK) != 0)
        return fail(failure, STATUS_BAD_PARAM, "cannot write to the folder %.150s: %s",
                    options->out_dir, strerror(errno));
    device_cpu.describe(0, &facts, failure);
    many->jobs = options->jobs ? options->jobs : facts.multiprocessors;
    if ((size_t)many->jobs > many->list.count)
        many->jobs = many->list.count ? (int)many->list.count : 1;
    if (!options->threads) options->threads = facts.multiprocessors / many->jobs;
    if (!options->threads) options->threads = 1;
    many->workers = calloc((size_t)many->jobs, sizeof *many->workers);
    if (!many->workers) return fail(failure, STATUS_NO_MEMORY, "out of memory");
    divide_memory(many);
    return STATUS_OK;
}

/* Workers hold the signals back, too: the command ends them. */
static void take_signals(struct many *many) {
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action;
        sigaction(numbers[i], NULL, &action);
        /* nohup, and a shell's background, have some ignored: a signalfd would see them */
        if (action.sa_handler != SIG_IGN) sigaddset(&set, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &many->usual_signals);
    many->signals = signalfd(-1, &set, SFD_CLOEXEC);
}

static _Noreturn void end_by(const struct many *many, int number) {
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_SETMASK, &many->usual_signals, NULL);
    _exit(128 + number);
}

int many_run(const struct options *asked) {
    struct options options = *asked;
    struct many many = { .options = &options };
    struct failure failure = { 0 };
    FILE *lines = options.json ? stdout : NULL;
    const enum status status = prepare(&many, &options, &failure);
    int signal = 0;
    if (status == STATUS_OK) {
        many_progress_start(&many.progress, many.list.count, many.list.skipped, options.quiet);
        take_signals(&many);
        if (many.list.count) signal = run_workers(&many);
        many_progress_erase(&many.progress);
        if (!many.refused || many.progress.done)
            many_progress_sum(&many.progress, lines, signal != 0);
        close(many.signals);
    } else {
        run_report_failure(NULL, status, &failure, lines);
    }
    const bool failed = many.progress.failed || many.progress.done < many.progress.count;
    file_list_release(&many.list);
    free(many.workers);
    if (signal) fflush(stdout), end_by(&many, signal);
    const enum status worst = status ? status : many.refused;
    return worst == STATUS_BAD_PARAM ? 2 : worst || failed;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. A front in its sandbox starts and kills processes through its launcher. A process
 * that answers a question (how many GPUs there are, whether a file is right) writes to a pipe; it
 * must close the pipe and end within its time, or it is killed. Every wait has a limit, since a
 * driver may hold even a process that was killed. */
#include "server/process/process.h"

#include "pipeline/timing.h"
#include "server/process/launcher.h"
#include "server/process/program.h"
#include "server/version.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_US = 1000, LOOK_MS = 50 };

int process_cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

bool process_set_stacks(struct failure *failure) {
    pthread_attr_t attributes;
    struct rlimit limit;
    if (!pthread_attr_init(&attributes)) { /* else glibc takes the main stack's limit */
        pthread_attr_setstacksize(&attributes, PROCESS_STACK_BYTES);
        pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
    }
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= PROCESS_STACK_BYTES) return true;
    limit.rlim_cur = limit.rlim_max < PROCESS_STACK_BYTES ? limit.rlim_max : PROCESS_STACK_BYTES;
    setrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur >= PROCESS_STACK_MIN) return true;
    fail(failure, STATUS_NO_MEMORY, "ulimit -s allows a stack of %llu kB, and %d are needed",
         (unsigned long long)limit.rlim_cur / 1024, PROCESS_STACK_MIN / 1024);
    return false;
}

static pid_t start(const struct program *program) {
    return launcher_is_open() ? launcher_start(program) : program_start(program);
}

pid_t process_start(const char *device, enum process_role role, const struct process_files *files) {
    static char *const options[] = { [PROCESS_OPERATORS] = "--operators",
                                     [PROCESS_SANDBOX] = "--sandbox",
                                     [PROCESS_CELL] = "--cell",
                                     [PROCESS_DECODE] = "--decode" };
    char *const arguments[] = {
        "burin", "worker", "--device", (char *)device, options[role], NULL
    };
    struct program program = {
        .arguments = arguments,
        .files = { PROGRAM_NOTHING, PROGRAM_NOTHING,
                   STDERR_FILENO, [PROCESS_SLOTS_FD] = files->slots.memory,
                   [PROCESS_CHANNEL_FD] = files->channel, [PROCESS_HEAD_FD] = files->slots.head,
                   [PROCESS_OPERATORS_FD] =
                       files->operators < 0 ? PROGRAM_CLOSED : files->operators },
        .file_count = PROCESS_PIPES_FD + files->pipe_count,
    };
    if (files->pipe_count > COMPLETION_PIPES_MAX) return -1;
    for (int i = 0; i < files->pipe_count; i++)
        program.files[PROCESS_PIPES_FD + i] = files->pipes[i];
    return start(&program);
}

void process_become_worker(void) {
    signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C: the front decides when workers end */
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN); /* the log may have no reader */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }); /* a dump would hold users' pictures */
}

void process_keep_memory_private(void) {
    prctl(PR_SET_DUMPABLE, 0);
}

bool process_reap(pid_t pid, int *code) {
    int how = 0;
    const pid_t ended = waitpid(pid, &how, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    *code = WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
    return true;
}

bool process_kill(pid_t pid) {
    if (launcher_is_open()) return launcher_end(pid);
    kill(pid, SIGKILL);
    return true;
}

bool process_end(pid_t pid, int64_t until, int *code) {
    for (bool killed = false;;) {
        killed = killed || process_kill(pid);
        if (process_reap(pid, code)) return true;
        if (clock_ns() >= until) return false;
        usleep(LOOK_US);
    }
}

/* ---- processes that answer a question */

struct question {
    char *const *arguments;
    int input;   /* its standard input; -1: nothing */
    bool errors; /* its standard error is part of the answer */
    struct process_limits limits;
    char *output; /* its answer, cut to SIZE */
    size_t size, length;
};

static pid_t start_asked(const struct question *question, int output) {
    const struct program program = {
        .arguments = question->arguments,
        .files = { question->input < 0 ? PROGRAM_NOTHING : question->input, output,
                   question->errors ? output : STDERR_FILENO },
        .file_count = STDERR_FILENO + 1,
    };
    return start(&program);
}

static bool is_interrupted(const struct process_limits *limits) {
    return limits->interrupted && limits->interrupted();
}

/* Reads END until all its writers have closed it; false: it took too long, or was interrupted. */
static bool read_output(struct question *question, int end, int64_t deadline) {
    for (;;) {
        char spare[1024];
        if (clock_ns() >= deadline || is_interrupted(&question->limits)) return false;
        const int some = poll(&(struct pollfd){ .fd = end, .events = POLLIN }, 1, LOOK_MS);
        const ssize_t got = some > 0 ? read(end, spare, sizeof spare) : -1;
        if (got == 0) return true;
        if (got < 0) continue;
        const size_t room = question->size - 1 - question->length;
        const size_t kept = (size_t)got < room ? (size_t)got : room;
        memcpy(question->output + question->length, spare, kept);
        question->length += kept;
        question->output[question->length] = '\0';
    }
}

/* Leaves the process a zombie, so that its id, which is its group's too, is not reused yet. */
static bool wait_for_end(const struct question *question, pid_t pid, int64_t deadline) {
    for (;;) {
        siginfo_t info = { .si_pid = 0 };
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
            return true;
        if (clock_ns() >= deadline || is_interrupted(&question->limits)) return false;
        usleep(LOOK_US);
    }
}

/* CODE: its exit status. Kills its whole group afterwards. */
static enum status ask(struct question *question, int *code, struct failure *failure) {
    const struct process_limits *limits = &question->limits;
    const int64_t deadline = clock_ns() + limits->timeout_ms * INT64_C(1000000);
    int ends[2];
    question->output[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0)
        return fail(failure, STATUS_INTERNAL, "the system has no pipe: %s", strerror(errno));
    const pid_t pid = start_asked(question, ends[1]);
    close(ends[1]);
    const bool in_time = pid > 0 && read_output(question, ends[0], deadline) &&
                         wait_for_end(question, pid, deadline);
    close(ends[0]);
    if (pid < 0) return fail(failure, STATUS_INTERNAL, "the system starts no process");
    process_kill(-pid);
    const int64_t until = clock_ns() + PROCESS_END_MS * INT64_C(1000000);
    if (!process_end(pid, until, code) || !in_time)
        return is_interrupted(limits)
                   ? fail(failure, STATUS_CANCELLED, "the daemon is stopping")
                   : fail(failure, STATUS_DEADLINE, "its process took longer than %d ms",
                          limits->timeout_ms);
    if (*code >= 0) return STATUS_OK;
    return fail(failure, STATUS_INTERNAL, "its process crashed: %s", strsignal(-*code));
}

enum status process_check(char *const arguments[], int input, const struct process_limits *limits,
                          char *output, size_t size, bool *good, struct failure *failure) {
    struct question question = { arguments, input, true, *limits, output, size, 0 };
    int code = -1;
    const enum status status = ask(&question, &code, failure);
    *good = !status && code == 0;
    return status;
}

enum status process_count_gpus(const struct process_limits *limits, int *count,
                               struct failure *failure) {
    char text[16];
    char *const arguments[] = { "burin", "worker", "--count", NULL };
    struct question question = { arguments, -1, false, *limits, text, sizeof text, 0 };
    int code;
    *count = 0;
    const enum status status = ask(&question, &code, failure);
    if (status) return status;
    if (code || !*text)
        return fail(failure, STATUS_INTERNAL, "its process ended with code %d", code);
    *count = atoi(text);
    return STATUS_OK;
}

/* ---- the configuration */

/* HEAD distinguishes an answer of the same build from other bytes. */
struct config_answer {
    char head[64];
    struct config config;
};

static void write_head(char head[64]) {
    memset(head, 0, 64);
    snprintf(head, 64, "burin configuration %s", version_text());
}

int process_print_config(const char *path) {
    struct config_answer answer;
    struct failure failure = { 0 };
    write_head(answer.head);
    if (config_load(&answer.config, path, NULL, NULL, &failure)) return puts(failure.message), 1;
    return fwrite(&answer, sizeof answer, 1, stdout) != 1;
}

enum status process_read_config(const char *path, const struct process_limits *limits,
                                struct config *config, struct failure *failure) {
    struct config_answer answer[2]; /* the second is for what is too much */
    char *const arguments[] = { "burin", "worker", "--config", (char *)path, NULL };
    struct question question = { arguments, -1, false, *limits, (char *)answer, sizeof answer, 0 };
    char head[sizeof answer->head];
    int code;
    if (ask(&question, &code, failure)) return failure->status;
    if (code == 1 && question.length)
        return fail(failure, STATUS_BAD_PARAM, "%.*s", (int)strcspn(question.output, "\n"),
                    question.output);
    write_head(head);
    if (code || question.length != sizeof *answer || memcmp(answer->head, head, sizeof head) != 0)
        return fail(failure, STATUS_INTERNAL,
                    "the process that reads the configuration gave no valid answer (code %d)",
                    code);
    *config = answer->config;
    return STATUS_OK;
}

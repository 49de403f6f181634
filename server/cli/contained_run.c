// SPDX-License-Identifier: Apache-2.0
/* How it works. A child of fork() sees the input where it is. It opens a lane and threads of its
 * own, because threads are not copied, and leaves result, values, times and its verdict in memory
 * that both share. A pipe that only the child holds closes with its end; until then the parent
 * copies the progress for the line on the terminal. A Ctrl-C ends the child, and the parent says
 * which operator ran. */
#include "server/cli/contained_run.h"

#include "pipeline/registry.h"
#include "pipeline/skeletons/user_op.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 50 };

struct shared {
    struct progress progress;
    struct timing timing;
    enum status status;
    struct failure failure, item_failure;
    _Alignas(64) uint8_t bytes[]; /* rows of the result without padding, then values */
};

struct contained {
    const struct plan *plan;
    struct run_item *item;
    int threads;
    uint64_t pixels_max;
    struct shared *shared;
};

bool contained_run_wanted(const struct plan *plan) {
    bool any = false;
    for (int s = 0; s < plan->count; s++) any |= registry_is_added(plan->steps[s].op);
    return any;
}

/* ---- pixels and values */

static void copy_rows(const struct image *from, const struct image *to) {
    for (uint32_t y = 0; from->width && y < from->height; y++)
        memcpy(image_row(to, y), image_row(from, y), image_row_bytes(from));
}

static bool has_picture(const struct contained *run) {
    return run->item->out.pixels && run_last_maker(run->plan) >= 0;
}

/* Copies ITEM's result and values from the shared memory, or to it. Returns the bytes there. */
static size_t move_results(const struct contained *run, const struct run_item *item, bool to) {
    size_t used = 0;
    if (has_picture(run)) {
        struct image packed = item->out;
        packed.stride = image_row_bytes(&packed);
        packed.pixels = run->shared ? run->shared->bytes : NULL;
        if (run->shared) copy_rows(to ? &item->out : &packed, to ? &packed : &item->out);
        used = packed.stride * packed.height;
    }
    for (int s = 0; s < run->plan->count; s++) {
        const size_t bytes = values_bytes(&item->values[s].shape);
        if (run->shared && bytes)
            memcpy(to ? run->shared->bytes + used : item->values[s].numbers,
                   to ? item->values[s].numbers : (void *)(run->shared->bytes + used), bytes);
        used += bytes;
    }
    return used;
}

/* ---- the child */

static enum status work(const struct contained *run) {
    struct shared *shared = run->shared;
    struct run_item item = *run->item;
    struct lane *lane;
    const struct lane_options options = { .pool = pool_create(run->threads) };
    if (!options.pool) return fail(&shared->failure, STATUS_NO_MEMORY, "cannot start threads");
    item.progress = &shared->progress;
    item.timing = &shared->timing;
    enum status status = device_cpu.open(0, &options, &lane, &shared->failure);
    if (!status) status = run_reserve(lane, run->plan, &item, 1, run->pixels_max, &shared->failure);
    if (status) return status;
    copy_rows(&run->item->in, &item.in);
    for (int p = 0; p < OP_AUX_MAX; p++) copy_rows(&run->item->aux[p], &item.aux[p]);
    status = run_batch(lane, run->plan, &item, 1, &shared->failure);
    shared->item_failure = item.failure;
    if (!status && !item.failure.status) move_results(run, &item, true);
    return status;
}

static pid_t start(const struct contained *run, const int ends[2], void (*interrupt)(int)) {
    const pid_t parent = getpid(), pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    signal(SIGINT, interrupt);
    close(ends[0]);
    run->shared->status = work(run);
    _exit(0);
}

/* ---- the parent */

/* Waits for the child's end; returns what waitpid says of it. */
static int await(const struct contained *run, pid_t pid, int pipe) {
    struct progress *to = run->item->progress;
    const struct progress *from = &run->shared->progress;
    struct pollfd end = { .fd = pipe, .events = POLLIN };
    int how = 0;
    while (poll(&end, 1, LOOK_MS) <= 0) {
        if (!to) continue;
        const uint32_t done = __atomic_load_n(&from->done, __ATOMIC_RELAXED);
        progress_step(to, __atomic_load_n(&from->step, __ATOMIC_RELAXED));
        progress_report(to, done, __atomic_load_n(&from->total, __ATOMIC_RELAXED));
    }
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) continue;
    return how;
}

/* The message of a child that has not answered. */
static enum status blame(const struct contained *run, int how, struct failure *failure) {
    const uint32_t s = run->shared->progress.step;
    const struct op *op = s < (uint32_t)run->plan->count ? run->plan->steps[s].op : NULL;
    char name[160] = "";
    if (op && registry_is_added(op))
        snprintf(name, sizeof name, "%s of %.100s: ", op->name, user_op_of(op)->file->name);
    if (!WIFSIGNALED(how))
        return fail(failure, STATUS_INTERNAL,
                    "%sthe operator crashed: its process ended with code %d", name,
                    WEXITSTATUS(how));
    if (WTERMSIG(how) == SIGINT || WTERMSIG(how) == SIGTERM)
        return fail(failure, STATUS_CANCELLED, "%sthe operator was stopped: %s", name,
                    strsignal(WTERMSIG(how)));
    return fail(failure, STATUS_INTERNAL, "%sthe operator crashed: %s", name,
                strsignal(WTERMSIG(how)));
}

static enum status run_child(struct contained *run, struct failure *failure) {
    struct shared *shared = run->shared;
    struct run_item *item = run->item;
    int ends[2];
    shared->status = STATUS_COUNT; /* until the child says otherwise */
    if (item->timing) shared->timing = *item->timing;
    if (item->progress) shared->progress = *item->progress;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return fail(failure, STATUS_INTERNAL, "the system has no pipe: %s", strerror(errno));
    void (*before)(int) = signal(SIGINT, SIG_IGN);
    if (before != SIG_DFL && before != SIG_ERR) signal(SIGINT, before);
    const pid_t pid = start(run, ends, before);
    close(ends[1]);
    const int how = pid > 0 ? await(run, pid, ends[0]) : 0;
    close(ends[0]);
    signal(SIGINT, before);
    if (pid < 0)
        return fail(failure, STATUS_INTERNAL, "the system starts no process: %s", strerror(errno));
    if (shared->status == STATUS_COUNT) return blame(run, how, failure);
    if (item->timing) *item->timing = shared->timing;
    item->failure = shared->item_failure;
    if (shared->status) return *failure = shared->failure, shared->status;
    if (!item->failure.status) move_results(run, item, false);
    return STATUS_OK;
}

enum status contained_run(const struct plan *plan, struct run_item *item, int threads,
                          uint64_t pixels_max, struct failure *failure) {
    struct contained run = { plan, item, threads, pixels_max, NULL };
    const size_t bytes = sizeof *run.shared + move_results(&run, item, false);
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return fail(failure, STATUS_NO_MEMORY, "no memory for %zu bytes of results", bytes);
    run.shared = shared;
    const enum status status = run_child(&run, failure);
    munmap(shared, bytes);
    return status;
}

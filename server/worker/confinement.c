// SPDX-License-Identifier: Apache-2.0
/* A call of the list is let through, mmap and mprotect only without PROT_EXEC. */
#include "server/worker/confinement.h"

#include "server/log/log.h"
#include "server/sandbox/syscall_filter.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES_MAX = 64 };

static const int allowed[] = {
    SYS_read,
    SYS_write,
    SYS_writev,
    SYS_sendto,
    SYS_recvfrom,
    SYS_ppoll,
    SYS_futex,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_close,
    SYS_gettid,
    SYS_getpid,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_getrandom,
    SYS_sigaltstack, /* this and the next: a thread that was started and has not run yet */
    SYS_set_robust_list,
#ifdef SYS_rseq
    SYS_rseq,
#endif
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_poll
    SYS_poll,
    SYS_time,
#endif
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

static const struct syscall_rule no_code[] = {
    { SYS_mmap, 2, SYSCALL_WITHOUT, 1, { PROT_EXEC } },
    { SYS_mprotect, 2, SYSCALL_WITHOUT, 1, { PROT_EXEC } },
};

static enum status filter_calls(struct failure *failure) {
    const struct syscall_filter filter = { .calls = allowed,
                                           .call_count = ALLOWED,
                                           .rules = no_code,
                                           .rule_count = sizeof no_code / sizeof *no_code };
    const int error = syscall_filter_enter(&filter);
    if (error == ENOSYS)
        log_event(LOG_ERROR, "no filter of system calls is to be had here: users' operators run "
                             "without one");
    return !error || error == ENOSYS
               ? STATUS_OK
               : fail(failure, STATUS_INTERNAL, "the system calls could not be filtered: %s",
                      strerror(error));
}

static const struct limit {
    int resource;
    rlim_t most;
    const char *name;
    bool gpu; /* it holds beside a GPU's driver too */
} limits[] = {
    { RLIMIT_CORE, 0, "core dumps", true }, /* one would hold users' pictures */
    { RLIMIT_NPROC, 0, "processes", false },
    { RLIMIT_NOFILE, FILES_MAX, "open files", false },
    { RLIMIT_MEMLOCK, 0, "locked memory", false },
};

/* Never above what holds already: that nobody may raise. */
static enum status set_limit(const struct limit *limit, struct failure *failure) {
    struct rlimit now;
    bool good = getrlimit(limit->resource, &now) == 0;
    if (good && limit->most < now.rlim_max) now.rlim_max = limit->most;
    now.rlim_cur = now.rlim_max;
    good = good && setrlimit(limit->resource, &now) == 0;
    return good ? STATUS_OK
                : fail(failure, STATUS_INTERNAL, "the limit of %s could not be set: %s",
                       limit->name, strerror(errno));
}

static enum status set_limits(bool gpu, struct failure *failure) {
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if ((!gpu || limits[i].gpu) && set_limit(&limits[i], failure)) return failure->status;
    return STATUS_OK;
}

enum status confinement_enter(bool gpu, struct failure *failure) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fail(failure, STATUS_INTERNAL, "new privileges could not be refused: %s",
                    strerror(errno));
    if (set_limits(gpu, failure)) return failure->status;
    return gpu ? STATUS_OK : filter_calls(failure);
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. A program of BPF, made here from a list: the wrong architecture fails, a call of
 * the list is let through, mmap and mprotect only without PROT_EXEC, and everything else fails with
 * EPERM, so that a library that asks for more than it needs goes on. SECCOMP_FILTER_FLAG_TSYNC puts
 * it on all threads at once. */
#include "server/jobs/confinement.h"

#include "server/log.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0 /* no filter */
#endif

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

#define LOAD_WORD               (BPF_LD | BPF_W | BPF_ABS)
#define LOAD(field)             BPF_STMT(LOAD_WORD, offsetof(struct seccomp_data, field))
#define SKIP_IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), (yes), (no))
#define ANSWER(value)           BPF_STMT(BPF_RET | BPF_K, (value))

static enum status without_filter(const char *why) {
    log_event(LOG_ERROR, "%s: users' operators run without a filter of system calls", why);
    return STATUS_OK;
}

/* The low half of an argument: both architectures are little-endian. */
static enum status filter_calls(struct failure *failure) {
    struct sock_filter program[2 * ALLOWED + 16];
    unsigned short n = 0;
    const unsigned refused = SECCOMP_RET_ERRNO | EPERM;
    const struct sock_filter head[] = {
        LOAD(arch),
        SKIP_IF(ARCHITECTURE, 1, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
    };
    const struct sock_filter tail[] = {
        SKIP_IF(SYS_mmap, 2, 0),
        SKIP_IF(SYS_mprotect, 1, 0),
        ANSWER(refused),
        LOAD(args[2]), /* the protection, of both */
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        ANSWER(refused),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    memcpy(program, head, sizeof head);
    n = sizeof head / sizeof *head;
    for (int i = 0; i < ALLOWED; i++) {
        program[n++] = (struct sock_filter)SKIP_IF(allowed[i], 0, 1);
        program[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
    }
    memcpy(program + n, tail, sizeof tail);
    n += sizeof tail / sizeof *tail;
    const struct sock_fprog whole = { .len = n, .filter = program };
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole) == 0)
        return STATUS_OK;
    if (errno != ENOSYS && errno != EINVAL)
        return fail(failure, STATUS_INTERNAL, "the system calls could not be filtered: %s",
                    strerror(errno));
    return without_filter("this kernel filters no system calls");
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
    if (gpu) return STATUS_OK;
    if (!ARCHITECTURE) return without_filter("burin has no list for this architecture");
    return filter_calls(failure);
}

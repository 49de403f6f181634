// SPDX-License-Identifier: Apache-2.0
/* How it works. Calls stand in groups by purpose; a process that runs only our own code gets the
 * groups that it needs. A GPU's driver and a compiler are foreign programs, whose calls are not all
 * known: they are refused the calls that they never need, and those that an attacker would use
 * after taking them over. clone3 passes its flags by a pointer, which a filter cannot read, so the
 * call seems absent and the C library falls back to clone, of which only threads are allowed. */
#include "server/sandbox/sandbox_calls.h"

#include "server/log/log.h"
#include "server/sandbox/syscall_filter.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* Memory, threads, clocks, signals, facts about the process. */
static const int computing[] = {
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_mincore,
    SYS_membarrier,
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_set_tid_address,
    SYS_sigaltstack,
#ifdef SYS_rseq
    SYS_rseq,
#endif
    SYS_exit,
    SYS_exit_group,
    SYS_restart_syscall,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_setscheduler,
    SYS_sched_getscheduler,
    SYS_sched_setattr,
    SYS_sched_getattr,
    SYS_sched_getparam,
    SYS_sched_setparam,
    SYS_setpriority,
    SYS_getpriority,
    SYS_getcpu,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_times,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getrusage,
    SYS_getrandom,
    SYS_uname,
    SYS_sysinfo,
#ifdef SYS_time
    SYS_time,
    SYS_getrlimit,
#endif
};

/* Transfers by open descriptors, and waiting for them. */
static const int messages[] = {
    SYS_read,      SYS_readv,       SYS_pread64,    SYS_write,          SYS_writev,
    SYS_pwrite64,  SYS_recvfrom,    SYS_recvmsg,    SYS_recvmmsg,       SYS_sendto,
    SYS_sendmsg,   SYS_sendmmsg,    SYS_ppoll,      SYS_pselect6,       SYS_close,
    SYS_dup,       SYS_fstat,       SYS_fallocate,  SYS_lseek,          SYS_epoll_create1,
    SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2,   SYS_timerfd_create, SYS_timerfd_settime,
#ifdef SYS_poll
    SYS_poll,      SYS_select,      SYS_epoll_wait,
#endif
};

/* Waiting for child processes. */
static const int processes[] = { SYS_wait4, SYS_waitid };

/* Connections of an open listening socket, and channels to workers. */
static const int serving[] = {
    SYS_accept4,     SYS_accept,       SYS_listen,     SYS_shutdown,    SYS_getsockname,
    SYS_getpeername, SYS_getsockopt,   SYS_setsockopt, SYS_sendfile,    SYS_pipe2,
    SYS_dup3,        SYS_memfd_create, SYS_ftruncate,  SYS_close_range,
#ifdef SYS_dup2
    SYS_dup2,
#endif
};

/* Reading and removing the files that Landlock allows. */
static const int files[] = {
    SYS_openat,     SYS_newfstatat, SYS_statx,      SYS_fstatfs,  SYS_statfs,   SYS_getdents64,
    SYS_readlinkat, SYS_faccessat,  SYS_faccessat2, SYS_unlinkat, SYS_getcwd,
#ifdef SYS_open
    SYS_open,       SYS_stat,       SYS_lstat,      SYS_access,   SYS_readlink, SYS_unlink,
#endif
};

/* Other processes, the machine, the kernel; and calls that were often exploited. */
static const int never[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_fanotify_init,
    SYS_personality,
    SYS_perf_event_open,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    431 /* fsconfig */,
    432 /* fsmount */,
    433 /* fspick */,
    442 /* mount_setattr */,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
    SYS_uselib,
    SYS_ustat,
    SYS_modify_ldt,
#endif
};

/* Calls that signal other processes; kill and tgkill have rules. */
static const int signals[] = {
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    424 /* pidfd_send_signal */,
};

/* Programs, and processes that could start some. */
static const int starting[] = {
    SYS_execve,
    SYS_execveat,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};

/* A decoding cell: memory, and descriptors that are open. A thread that has not run yet sets its
 * robust list and rseq. */
static const int decoding[] = {
    SYS_read,  SYS_write,           SYS_sendto,       SYS_recvfrom,        SYS_ppoll,
    SYS_futex, SYS_clock_gettime,   SYS_munmap,       SYS_mremap,          SYS_madvise,
    SYS_brk,   SYS_restart_syscall, SYS_rt_sigreturn, SYS_set_robust_list,
#ifdef SYS_rseq
    SYS_rseq,
#endif
    SYS_exit,  SYS_exit_group,
#ifdef SYS_poll
    SYS_poll,
#endif
};

/* A process that runs users' operators on a CPU, beside that: computing. */
static const int confined[] = {
    SYS_writev,      SYS_clock_nanosleep,   SYS_nanosleep,      SYS_gettimeofday,
    SYS_sched_yield, SYS_sched_getaffinity, SYS_close,          SYS_gettid,
    SYS_getpid,      SYS_rt_sigaction,      SYS_rt_sigprocmask, SYS_getrandom,
    SYS_sigaltstack, /* a thread that was started and has not run yet */
#ifdef SYS_time
    SYS_time,
#endif
};

#define ONE_OF SYSCALL_ONE_OF
static const struct syscall_rule threads_alone[] = {
    { SYS_clone, 0, SYSCALL_WITH, 1, { CLONE_THREAD } },
    { SYS_clone3, 0, SYSCALL_ABSENT, 0, { 0 } },
};
static const struct syscall_rule no_code[] = {
    { SYS_mmap, 2, SYSCALL_WITHOUT, 1, { PROT_EXEC } },
    { SYS_mprotect, 2, SYSCALL_WITHOUT, 1, { PROT_EXEC } },
};
static const struct syscall_rule own_limits[] = {
    { SYS_prlimit64, 0, ONE_OF, 1, { 0 } }, /* of this process */
};
static const struct syscall_rule own_facts[] = {
    { SYS_prctl, 0, ONE_OF, 4, { PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_SET_VMA } },
    { SYS_ioctl, 1, ONE_OF, 5, { FIONREAD, SIOCOUTQ, SIOCOUTQNSD, FIONBIO, TCGETS } },
};
/* Without setting the receiver and the number of a descriptor's signals, which the kernel would
 * send to any process of the same user. */
static const struct syscall_rule own_files[] = {
    { SYS_fcntl,
      1,
      ONE_OF,
      7,
      { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_ADD_SEALS } },
};
static const struct syscall_rule no_owners[] = {
    { SYS_fcntl, 1, SYSCALL_NONE_OF, 3, { F_SETOWN, F_SETOWN_EX, F_SETSIG } },
    { SYS_ioctl, 1, SYSCALL_NONE_OF, 2, { FIOSETOWN, SIOCSPGRP } },
};
static const struct syscall_rule unix_sockets[] = {
    { SYS_socketpair, 0, ONE_OF, 1, { AF_UNIX } },
};
static const struct syscall_rule new_unix_sockets[] = {
    { SYS_socket, 0, ONE_OF, 1, { AF_UNIX } },
};

/* ---- a role's lists */

enum { CALLS_MAX = 256, RULES_MAX = 16 };

struct lists {
    int calls[CALLS_MAX];
    struct syscall_rule rules[RULES_MAX];
    struct syscall_filter filter;
};

static void add_calls(struct lists *lists, const int *calls, int count) {
    memcpy(lists->calls + lists->filter.call_count, calls, (size_t)count * sizeof *calls);
    lists->filter.call_count += count;
}

static void add_rules(struct lists *lists, const struct syscall_rule *rules, int count) {
    memcpy(lists->rules + lists->filter.rule_count, rules, (size_t)count * sizeof *rules);
    lists->filter.rule_count += count;
}

#define CALLS(list) add_calls(lists, list, COUNT(list))
#define RULES(list) add_rules(lists, list, COUNT(list))
_Static_assert(COUNT(computing) + COUNT(messages) + COUNT(processes) + COUNT(serving) +
                       COUNT(files) <=
                   CALLS_MAX,
               "CALLS_MAX");
_Static_assert(COUNT(never) + COUNT(starting) + COUNT(signals) <= CALLS_MAX, "CALLS_MAX");

/* Allows signals by CALL to PID only. */
static void add_signals(struct lists *lists, int call, pid_t pid) {
    const struct syscall_rule rule = { call, 0, ONE_OF, 1, { (unsigned)pid } };
    add_rules(lists, &rule, 1);
}

static void allow(struct lists *lists, enum sandbox_role role, pid_t child) {
    CALLS(computing);
    CALLS(messages);
    RULES(threads_alone);
    RULES(no_code);
    RULES(own_limits);
    RULES(own_facts);
    RULES(own_files);
    add_signals(lists, SYS_tgkill, getpid()); /* abort */
    if (role == SANDBOX_CPU) return;
    CALLS(processes);
    CALLS(files);
    if (child) add_signals(lists, SYS_kill, child);
    if (role != SANDBOX_FRONT) return;
    CALLS(serving);
    RULES(unix_sockets);
}

static void refuse(struct lists *lists, enum sandbox_role role) {
    lists->filter.refuses = true;
    CALLS(never);
    RULES(new_unix_sockets);
    RULES(no_owners);
    if (role == SANDBOX_COMPILER) return;
    CALLS(starting);
    CALLS(signals);
    RULES(threads_alone);
    add_signals(lists, SYS_kill, getpid());
    add_signals(lists, SYS_tgkill, getpid());
}

int sandbox_calls_enter(enum sandbox_role role, pid_t child) {
    struct lists lists = { .filter = { .calls = lists.calls, .rules = lists.rules } };
    lists.filter.speculates = true;
    if (role == SANDBOX_GPU || role == SANDBOX_COMPILER)
        refuse(&lists, role);
    else
        allow(&lists, role, child);
    return syscall_filter_enter(&lists.filter);
}

/* ---- users' operators and decoders */

enum { FILES_MAX = 64 };

static const struct limit {
    int resource;
    rlim_t most;
    const char *name;
    bool gpu; /* set beside a GPU's driver too */
} limits[] = {
    { RLIMIT_CORE, 0, "core dumps", true }, /* a dump would hold users' pictures */
    { RLIMIT_NPROC, 0, "processes", false },
    { RLIMIT_NOFILE, FILES_MAX, "open files", false },
    { RLIMIT_MEMLOCK, 0, "locked memory", false },
};

/* Never raises a limit. */
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

enum status sandbox_calls_confine(enum confined_work work, struct failure *failure) {
    const bool gpu = work == CONFINED_GPU;
    struct lists all = { .filter = { .calls = all.calls, .rules = all.rules } };
    struct lists *lists = &all;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fail(failure, STATUS_INTERNAL, "new privileges could not be refused: %s",
                    strerror(errno));
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if ((!gpu || limits[i].gpu) && set_limit(&limits[i], failure)) return failure->status;
    if (gpu) return STATUS_OK;
    CALLS(decoding);
    RULES(no_code);
    if (work == CONFINED_CELL)
        RULES(own_limits);
    else
        CALLS(confined);
    const int error = syscall_filter_enter(&all.filter);
    if (!error) return STATUS_OK;
    if (error != ENOSYS)
        return fail(failure, STATUS_INTERNAL, "the system calls could not be filtered: %s",
                    strerror(error));
    log_event(LOG_ERROR, "sandbox_incomplete",
              "this system has no filter of system calls: users' operators and decoders run "
              "without one");
    return STATUS_OK;
}

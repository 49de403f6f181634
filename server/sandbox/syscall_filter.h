// SPDX-License-Identifier: Apache-2.0
/* syscall_filter.h - limits the system calls of a process, by a seccomp filter.
 *
 * Used by:  sandbox_calls.c.
 * Fails:    syscall_filter_enter: an errno; ENOSYS if the kernel has no such filters or the
 *           processor is neither x86-64 nor AArch64. A refused call fails with EPERM, so that a
 *           library that can do without it goes on.
 * Threads:  any; it holds for all threads of the process, and for all that they start. It needs
 *           no-new-privileges.
 */
#ifndef BURIN_SYSCALL_FILTER_H
#define BURIN_SYSCALL_FILTER_H

#include <stdbool.h>

enum syscall_test {
    SYSCALL_ONE_OF,  /* allowed where the argument is one of the values */
    SYSCALL_NONE_OF, /* allowed where it is none of them */
    SYSCALL_WITH,    /* allowed where it has the bits of values[0] */
    SYSCALL_WITHOUT, /* allowed where it has none of them */
    SYSCALL_ABSENT,  /* fails with ENOSYS, as if the kernel did not have it */
};

enum { SYSCALL_VALUES_MAX = 8 };

/* A call that is allowed by an argument, of which the lower 32 bits are compared. */
struct syscall_rule {
    int call, argument;
    enum syscall_test test;
    int count; /* of values */
    unsigned values[SYSCALL_VALUES_MAX];
};

struct syscall_filter {
    const int *calls; /* without those that have rules */
    int call_count;
    const struct syscall_rule *rules;
    int rule_count;
    bool refuses;    /* `calls` are refused and all others allowed; false: the reverse */
    bool speculates; /* keep the processor's speculation enabled: not for users' code */
};

int syscall_filter_enter(const struct syscall_filter *filter);

#endif

// SPDX-License-Identifier: Apache-2.0
/* syscall_filter.h - the system calls that a process may still make: a filter of seccomp.
 *
 * Used by:  sandbox.c; worker/confinement.c.
 * Fails:    syscall_filter_enter: an errno; ENOSYS where the kernel has no such filters, or the
 *           lists were made for other processors (x86-64, AArch64). A refused call fails with
 *           EPERM, so that a library that asks for more than it needs goes on.
 * Threads:  any; it holds for all threads of the process, and for what they start. It needs
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
    SYSCALL_ABSENT,  /* answered as by a kernel that does not know it (ENOSYS) */
};

enum { SYSCALL_VALUES_MAX = 8 };

/* A call that an argument decides about; of the argument the lower 32 bits are looked at. */
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
    bool refuses;    /* CALLS are refused and all others allowed; else it is the other way round */
    bool speculates; /* the processor may go on guessing, as without a filter: for code of ours */
};

int syscall_filter_enter(const struct syscall_filter *filter);

#endif

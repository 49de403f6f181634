// SPDX-License-Identifier: Apache-2.0
/* How it works. The lists become a BPF program: it refuses a different architecture's calls, then
 * compares the number with those of all rules and listed calls. Since Linux 5.11 the kernel detects
 * the calls that are allowed with any arguments, and skips the program for them. */
#include "server/sandbox/syscall_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0 /* no filter */
#endif

/* OTHER_CALLS: from here on x86-64 has a second, unused set of numbers (x32). */
enum { STEPS_MAX = 1024, OTHER_CALLS = 0x40000000 };

struct program {
    struct sock_filter steps[STEPS_MAX];
    unsigned short length;
};

static void step(struct program *program, unsigned short code, unsigned value, unsigned char yes,
                 unsigned char no) {
    if (program->length < STEPS_MAX)
        program->steps[program->length] = (struct sock_filter){ code, yes, no, value };
    program->length++;
}

static void load(struct program *program, size_t offset) {
    step(program, BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void answer(struct program *program, unsigned value) {
    step(program, BPF_RET | BPF_K, value, 0, 0);
}

static void skip_unless(struct program *program, unsigned short test, unsigned value, int steps) {
    step(program, BPF_JMP | test | BPF_K, value, 0, (unsigned char)steps);
}

static const unsigned allow = SECCOMP_RET_ALLOW, refuse = SECCOMP_RET_ERRNO | EPERM;

/* Both architectures are little-endian: the lower half comes first. */
static void add_rule(struct program *program, const struct syscall_rule *rule) {
    const unsigned short at = program->length;
    skip_unless(program, BPF_JEQ, (unsigned)rule->call, 0); /* the distance is set at the end */
    if (rule->test != SYSCALL_ABSENT)
        load(program, offsetof(struct seccomp_data, args) + 8 * (size_t)rule->argument);
    const bool lists = rule->test == SYSCALL_ONE_OF || rule->test == SYSCALL_NONE_OF;
    for (int i = 0; lists && i < rule->count; i++) {
        skip_unless(program, BPF_JEQ, rule->values[i], 1);
        answer(program, rule->test == SYSCALL_ONE_OF ? allow : refuse);
    }
    if (rule->test == SYSCALL_WITH || rule->test == SYSCALL_WITHOUT) {
        skip_unless(program, BPF_JSET, rule->values[0], 1);
        answer(program, rule->test == SYSCALL_WITH ? allow : refuse);
    }
    answer(program, rule->test == SYSCALL_ABSENT ? SECCOMP_RET_ERRNO | ENOSYS
                    : rule->test == SYSCALL_WITHOUT || rule->test == SYSCALL_NONE_OF ? allow
                                                                                     : refuse);
    if (at < STEPS_MAX) program->steps[at].jf = (unsigned char)(program->length - at - 1);
}

static void make(struct program *program, const struct syscall_filter *filter) {
    program->length = 0;
    load(program, offsetof(struct seccomp_data, arch));
    step(program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    answer(program, refuse);
    load(program, offsetof(struct seccomp_data, nr));
    skip_unless(program, BPF_JGE, OTHER_CALLS, 1);
    answer(program, refuse);
    for (int i = 0; i < filter->rule_count; i++) add_rule(program, &filter->rules[i]);
    for (int i = 0; i < filter->call_count; i++) {
        skip_unless(program, BPF_JEQ, (unsigned)filter->calls[i], 1);
        answer(program, filter->refuses ? refuse : allow);
    }
    answer(program, filter->refuses ? allow : refuse);
}

int syscall_filter_enter(const struct syscall_filter *filter) {
    struct program program;
    if (!ARCHITECTURE) return ENOSYS;
    make(&program, filter);
    if (program.length > STEPS_MAX) return E2BIG;
    const struct sock_fprog whole = { .len = program.length, .filter = program.steps };
    const unsigned flags =
        SECCOMP_FILTER_FLAG_TSYNC | (filter->speculates ? SECCOMP_FILTER_FLAG_SPEC_ALLOW : 0);
    const long entered = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &whole);
    if (entered == 0) return 0;
    if (entered > 0) return EBUSY; /* a thread has a different filter */
    return errno == EINVAL ? ENOSYS : errno;
}

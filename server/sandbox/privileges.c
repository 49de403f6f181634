// SPDX-License-Identifier: Apache-2.0
/* The bounding set comes first: changing it needs CAP_SETPCAP. */
#include "server/sandbox/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SETS = _LINUX_CAPABILITY_U32S_3 };

static struct __user_cap_header_struct ours(void) {
    return (struct __user_cap_header_struct){ .version = _LINUX_CAPABILITY_VERSION_3 };
}

static void narrow_bounding_set(uint64_t kept) {
    struct __user_cap_header_struct header = ours();
    struct __user_cap_data_struct now[SETS];
    if (syscall(SYS_capget, &header, now) != 0 || !(now[0].effective & (1u << CAP_SETPCAP))) return;
    for (unsigned long i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (!(kept >> i & 1)) prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

/* Makes no call if nothing changes, since a service manager's filter may refuse the call. */
static bool narrow_sets(uint64_t kept) {
    struct __user_cap_header_struct header = ours();
    struct __user_cap_data_struct now[SETS];
    bool changed = false;
    if (syscall(SYS_capget, &header, now) != 0) return false;
    for (int i = 0; i < SETS; i++) {
        const uint32_t half = (uint32_t)(kept >> 32 * i);
        changed |= (now[i].permitted & ~half) || (now[i].effective & ~half) || now[i].inheritable;
        now[i].permitted &= half;
        now[i].effective &= half;
        now[i].inheritable = 0;
    }
    return !changed || syscall(SYS_capset, &header, now) == 0;
}

bool privileges_drop(uint64_t kept) {
    const bool no_new = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    narrow_bounding_set(kept);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return narrow_sets(kept) && no_new;
}

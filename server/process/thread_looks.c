// SPDX-License-Identifier: Apache-2.0
#include "server/process/thread_looks.h"

#include "server/process/launcher.h"

#include <string.h>

static struct {
    struct thread_id threads[LAUNCHER_LOOKS_MAX];
    struct thread_account accounts[LAUNCHER_LOOKS_MAX];
    bool wanted[LAUNCHER_LOOKS_MAX]; /* it was asked for since the last time */
    int count;
} looks;

struct thread_account thread_looks_last(pid_t pid, pid_t thread) {
    int at = 0;
    if (!launcher_is_open()) return thread_account_read(pid, thread);
    while (at < looks.count && (looks.threads[at].pid != pid || looks.threads[at].thread != thread))
        at++;
    if (at == LAUNCHER_LOOKS_MAX) return (struct thread_account){ .turns = 0 };
    if (at == looks.count) {
        looks.threads[looks.count++] = (struct thread_id){ pid, thread };
        looks.accounts[at] = (struct thread_account){ .turns = 0 };
    }
    looks.wanted[at] = true;
    return looks.accounts[at];
}

void thread_looks_take(void) {
    int kept = 0;
    for (int i = 0; i < looks.count; i++)
        if (looks.wanted[i]) looks.threads[kept++] = looks.threads[i];
    looks.count = kept;
    memset(looks.wanted, 0, sizeof looks.wanted);
    if (kept && !launcher_look(looks.threads, kept, looks.accounts))
        memset(looks.accounts, 0, sizeof looks.accounts);
}

// SPDX-License-Identifier: Apache-2.0
#include "server/stacks.h"

#include <pthread.h>
#include <sys/resource.h>

/* glibc takes the limit of the main stack for those of all threads. */
static void set_threads(void) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return;
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

bool stacks_make_room(struct failure *failure) {
    struct rlimit limit;
    set_threads();
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK) return true;
    limit.rlim_cur = limit.rlim_max < STACK ? limit.rlim_max : STACK;
    setrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur >= STACK_MIN) return true;
    fail(failure, STATUS_NO_MEMORY, "ulimit -s allows a stack of %llu kB, and %d are needed",
         (unsigned long long)limit.rlim_cur / 1024, STACK_MIN / 1024);
    return false;
}

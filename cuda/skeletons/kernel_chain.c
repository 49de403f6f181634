// SPDX-License-Identifier: Apache-2.0
/* How it works. A list of chains under one lock. The second request for a chain makes it WANTED and
 * starts a thread unless there is one. The thread makes wanted chains, one after another and
 * without the lock, and ends when none is left. Entries stay in place, so that names are constants.
 * */
#include "cuda/skeletons/kernel_chain.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { SEEN, WANTED, READY, WRONG };

struct chain {
    struct chain *next;
    struct kernel_chain_request request;
    enum state state;
    char name[64]; /* truncated where the operators' names are longer */
};

static struct chain *chains;
static int chain_count;
static bool making; /* the thread exists */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;

int kernel_chain_length(const struct user_op *const *ops, int count) {
    const int most = count < KERNEL_OPS_MAX ? count : KERNEL_OPS_MAX;
    int length = 0;
    while (length < most && ops[length]->skeleton == SKELETON_P2P) length++;
    /* In a larger window each P2P would be computed too often. */
    if (length > 0 && length < most && ops[length]->skeleton == SKELETON_N2P &&
        ops[length]->window <= USER_WINDOW_CHAINED_MAX)
        length++;
    return length > 0 ? length : 1;
}

/* ---- the list, under the lock */

static struct chain *find(const struct kernel_chain_request *request) {
    struct chain *one = chains;
    while (one && (one->request.device != request->device ||
                   one->request.capability != request->capability ||
                   memcmp(&one->request.form, &request->form, sizeof request->form) != 0))
        one = one->next;
    return one;
}

static struct chain *add(const struct kernel_chain_request *request) {
    struct chain *added = chain_count < KERNEL_CHAINS_MAX ? calloc(1, sizeof *added) : NULL;
    if (!added) return NULL;
    added->request = *request;
    size_t length = 0;
    for (int i = 0; i < request->form.count && length < sizeof added->name; i++)
        length += (size_t)snprintf(added->name + length, sizeof added->name - length,
                                   i ? "+%s" : "%s", request->form.ops[i]->op.name);
    added->next = chains;
    chains = added;
    chain_count++;
    return added;
}

static struct chain *first_wanted(void) {
    struct chain *one = chains;
    while (one && one->state != WANTED) one = one->next;
    return one;
}

/* ---- the thread */

static void *make_wanted(void *nothing) {
    (void)nothing;
    pthread_mutex_lock(&lock);
    for (struct chain *one; (one = first_wanted());) {
        pthread_mutex_unlock(&lock);
        const bool good = one->request.make(&one->request);
        pthread_mutex_lock(&lock);
        one->state = good ? READY : WRONG;
    }
    making = false;
    pthread_cond_broadcast(&made);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The thread blocks signals, which are for the process's other threads. Where no thread can be
 * started, the chain's next request tries again. */
static void start_making(void) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    making = pthread_create(&thread, NULL, make_wanted, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (making) pthread_detach(thread);
}

/* ---- questions */

const char *kernel_chain_ask(const struct kernel_chain_request *request) {
    pthread_mutex_lock(&lock);
    struct chain *one = find(request);
    if (!one)
        one = add(request);
    else if (one->state == SEEN)
        one->state = WANTED;
    if (one && one->state == WANTED && !making) start_making();
    const char *name = one && one->state == READY ? one->name : NULL;
    pthread_mutex_unlock(&lock);
    return name;
}

void kernel_chain_wait(void) {
    pthread_mutex_lock(&lock);
    while (making) pthread_cond_wait(&made, &lock);
    pthread_mutex_unlock(&lock);
}

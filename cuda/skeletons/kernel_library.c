// SPDX-License-Identifier: Apache-2.0
/* How it works. A list of kernels under one lock. The first request for a kernel enters it as
 * `making` and makes it without the lock; later requests for it wait for the condition. A source
 * that the compiler or the driver refuses stays in the list with its message. After any other
 * failure the entry is removed, since the next try may succeed.
 *
 * Code from the cache that cannot be loaded is compiled again, and replaced. */
#include "cuda/skeletons/kernel_library.h"

#include "cuda/skeletons/kernel_cache.h"
#include "cuda/skeletons/kernel_compiler.h"
#include "cuda/skeletons/kernel_source.h"
#include "cuda/skeletons/nvrtc.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { MAKING, READY, WRONG, DROPPED };

struct entry {
    struct entry *next;
    int capability;
    size_t identity_bytes;
    unsigned char identity[KERNEL_IDENTITY_MAX];
    enum state state;
    int waiting;            /* threads that hold it: the last one frees a dropped entry */
    void *kernel;           /* READY */
    struct failure failure; /* WRONG */
};

static struct entry *entries;
static char *cache; /* folder, or NULL */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* ---- making, without the lock */

/* Reports the compiler's first error, without the lines around it. */
static enum status compile_failed(const struct kernel_request *request, const char *log,
                                  struct failure *failure) {
    const char *missing = nvrtc_missing();
    if (missing) return fail(failure, STATUS_BAD_PARAM, "%s: %s", request->name, missing);
    const char *error = log ? strstr(log, "error: ") : NULL;
    const char *start = error;
    while (start && start > log && start[-1] != '\n') start--;
    const int length = start ? (int)strcspn(start, "\n") : 0;
    return fail(failure, STATUS_INTERNAL, "%s does not compile for the GPU: %.*s", request->name,
                start ? length : 100,
                start ? start
                : log ? log
                      : "out of memory");
}

/* WRONG is set where the compiler refused the source, or the driver the compiled code. */
static enum status compile(const struct kernel_request *request, const char *source,
                           const char *key, const char *folder, void **kernel, bool *wrong,
                           struct failure *failure) {
    struct kernel_code code;
    enum status status = STATUS_OK;
    if (kernel_compiler_compile(source, request->file, request->capability, &code)) {
        status = request->load(code.bytes, code.size, KERNEL_NAME, kernel, failure);
        *wrong = status == STATUS_INTERNAL;
        if (!status && folder) kernel_cache_keep(folder, key, code.bytes, code.size);
    } else {
        status = compile_failed(request, code.log, failure);
        *wrong = code.log && strstr(code.log, "error: ");
    }
    kernel_code_release(&code);
    return status;
}

static bool take_from_cache(const struct kernel_request *request, const char *folder,
                            const char *key, void **kernel) {
    size_t size;
    struct failure failure = { 0 };
    char *code = folder ? kernel_cache_find(folder, key, &size) : NULL;
    const bool good = code && request->load(code, size, KERNEL_NAME, kernel, &failure) == STATUS_OK;
    free(code);
    return good;
}

static enum status make(const struct kernel_request *request, const char *folder, void **kernel,
                        bool *wrong, struct failure *failure) {
    char *source = request->source(request->identity);
    char *key = source ? kernel_compiler_key(source, request->capability) : NULL;
    enum status status = STATUS_OK;
    if (!key)
        status = fail(failure, STATUS_NO_MEMORY, "no memory for a kernel's source");
    else if (!take_from_cache(request, folder, key, kernel))
        status = compile(request, source, key, folder, kernel, wrong, failure);
    free(key);
    free(source);
    return status;
}

/* ---- the list, under the lock */

static struct entry *find(const struct kernel_request *request) {
    struct entry *one = entries;
    while (one && (one->capability != request->capability ||
                   one->identity_bytes != request->identity_bytes ||
                   memcmp(one->identity, request->identity, one->identity_bytes) != 0))
        one = one->next;
    return one;
}

static struct entry *add(const struct kernel_request *request) {
    struct entry *added = calloc(1, sizeof *added);
    if (!added) return NULL;
    added->capability = request->capability;
    added->identity_bytes = request->identity_bytes;
    memcpy(added->identity, request->identity, request->identity_bytes);
    added->next = entries;
    entries = added;
    return added;
}

static void take_out(struct entry *entry) {
    struct entry **at = &entries;
    while (*at && *at != entry) at = &(*at)->next;
    if (*at) *at = entry->next;
}

/* Makes the kernel of ENTRY; no other thread does. */
static enum status fill(struct entry *entry, const struct kernel_request *request,
                        struct failure *failure) {
    bool wrong = false;
    char *folder = cache ? strdup(cache) : NULL;
    struct failure why = { 0 };
    pthread_mutex_unlock(&lock);
    const enum status status = make(request, folder, &entry->kernel, &wrong, &why);
    free(folder);
    pthread_mutex_lock(&lock);
    entry->state = !status ? READY : wrong ? WRONG : DROPPED;
    entry->failure = why;
    if (entry->state == DROPPED) take_out(entry);
    pthread_cond_broadcast(&changed);
    return status ? fail(failure, status, "%s", why.message) : STATUS_OK;
}

static enum status wait_for(struct entry *entry, struct failure *failure) {
    while (entry->state == MAKING) pthread_cond_wait(&changed, &lock);
    if (entry->state == READY) return STATUS_OK;
    return fail(failure, entry->failure.status, "%s", entry->failure.message);
}

enum status kernel_library_find(const struct kernel_request *request, void **kernel,
                                struct failure *failure) {
    assert(request->identity_bytes <= KERNEL_IDENTITY_MAX);
    pthread_mutex_lock(&lock);
    struct entry *entry = find(request);
    const bool found = entry != NULL;
    if (!entry) entry = add(request);
    enum status status = STATUS_NO_MEMORY;
    if (entry) {
        entry->waiting++;
        status = found ? wait_for(entry, failure) : fill(entry, request, failure);
        *kernel = entry->kernel;
        if (--entry->waiting == 0 && entry->state == DROPPED) free(entry);
    } else {
        fail(failure, status, "no memory for a kernel");
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- settings */

void kernel_library_keep_in(const char *folder) {
    pthread_mutex_lock(&lock);
    free(cache);
    cache = folder && kernel_cache_open(folder) ? strdup(folder) : NULL;
    pthread_mutex_unlock(&lock);
}

void kernel_library_forget(void) {
    pthread_mutex_lock(&lock);
    for (struct entry *next; entries; entries = next) {
        next = entries->next;
        free(entries);
    }
    pthread_mutex_unlock(&lock);
}

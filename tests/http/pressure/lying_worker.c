// SPDX-License-Identifier: Apache-2.0
/* lying_worker.c - loaded before the C library (LD_PRELOAD): a worker as one that was taken over
 * would be. Where a request's id is "lie-" and the name of a lie, the worker writes that lie over
 * the answer in the shared memory just before it says that the job is done; where it is "once-" and
 * such a name, in the first run alone. LYING_SLOTS is the daemon's number of slots, by which the
 * job is found in the largest mapping. */
#include "server/jobs/completion_pipe.h"
#include "server/jobs/job.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static ssize_t (*real_write)(int, const void *, size_t);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);
static uint8_t *memory;
static size_t memory_bytes;
static size_t slots;

__attribute__((constructor)) static void begin(void) {
    *(void **)&real_write = dlsym(RTLD_NEXT, "write");
    *(void **)&real_mmap = dlsym(RTLD_NEXT, "mmap");
    const char *count = getenv("LYING_SLOTS");
    slots = count ? strtoul(count, NULL, 10) : 0;
}

static void offset(struct job *job, uint8_t *bytes) {
    const uint64_t before = (uint64_t)(bytes - memory);
    job->outputs[0].offset = -before;
    job->outputs[0].length += before;
}
static void length(struct job *job, uint8_t *bytes) {
    job->outputs[0].length += memory_bytes - (size_t)(bytes - memory);
}
static void spans(struct job *job, uint8_t *bytes) {
    (void)bytes;
    job->timing.span_count = 1 << 28;
}
static void text(struct job *job, uint8_t *bytes) {
    (void)bytes;
    memset(job->device_name, 'x', sizeof job->device_name);
    memcpy(job->device_name, "cpu\r\nX-Forged: 1", 16);
}
static void nan_ms(struct job *job, uint8_t *bytes) {
    (void)bytes;
    job->timing.stage_ms[STAGE_QUEUE] = NAN;
}
static void status(struct job *job, uint8_t *bytes) {
    (void)bytes;
    job->failure.status = (enum status)1000;
}
static void asked(struct job *job, uint8_t *bytes) {
    (void)bytes;
    job->further = 1 << 20;
    job->image_length = job->body_length = UINT64_MAX;
    job->io_thread = -7;
    memset(&job->plan, 'x', sizeof job->plan);
}

static const struct {
    const char *name;
    void (*apply)(struct job *job, uint8_t *bytes);
} lies[] = {
    { "offset", offset }, { "length", length }, { "spans", spans }, { "text", text },
    { "nan", nan_ms },    { "status", status }, { "asked", asked },
};

static void lie(struct job *job) {
    const bool once = strncmp(job->request_id, "once-", 5) == 0;
    const char *name = job->request_id + (once ? 5 : 4);
    uint8_t *bytes = (uint8_t *)job + (sizeof *job + PAGE - 1) / PAGE * PAGE;
    if (once && job->deaths) return;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        if (strcmp(lies[i].name, name) == 0) lies[i].apply(job, bytes);
}

/* A page of counters, then the slots at equal distances, each with its job in front (slot.c). */
static void look(const struct completion *completion) {
    if (!memory || !slots) return;
    const size_t stride = (memory_bytes - PAGE) / slots;
    struct job *job = (struct job *)(void *)(memory + PAGE + (size_t)completion->slot * stride);
    const bool liar =
        strncmp(job->request_id, "lie-", 4) == 0 || strncmp(job->request_id, "once-", 5) == 0;
    if (liar && job->run_number == completion->run_number) lie(job);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    struct completion completion;
    if (count == sizeof completion && fd > STDERR_FILENO) {
        memcpy(&completion, bytes, sizeof completion);
        look(&completion);
    }
    return real_write(fd, bytes, count);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t at) {
    void *found = real_mmap(address, bytes, protection, flags, fd, at);
    const bool shared = (flags & MAP_SHARED) && (protection & PROT_WRITE) && fd >= 0;
    if (found == MAP_FAILED || !shared || bytes <= memory_bytes) return found;
    memory = found;
    memory_bytes = bytes;
    return found;
}

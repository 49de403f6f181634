// SPDX-License-Identifier: Apache-2.0
/* How it works. The head memfd, sealed against every change, has the layout of the slots and the
 * preamble. The second memfd has a page of counters, then the slots at equal distances: each a job,
 * padded to a page, and its bytes. Its length is sealed, since a process that reads behind the end
 * of a mapped file is killed. Each process maps all of it at once, without allocating: a page
 * exists once it is written. Pages of a slot's hot bytes stay. slot_give punches a hole where the
 * rest was used; for a large job the system takes tens of milliseconds, so a thread does it and the
 * I/O thread's other connections do not wait.
 *
 * Hot bytes come in levels, two for each power of two, so that slots are found by size. The front
 * alone keeps the free lists, a stack for each level, under one lock. A stack keeps few slots in
 * use, and the others are trimmed: the least recently used first. */
#include "server/jobs/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* LEVELS: of 128 KiB, up to 64 MiB: a larger upload takes far longer to decode than to copy.
 * NEAR: levels above the wanted one at which a slot is taken as it is, without growing another.
 * CRAMPED_MS: a slot that is not used for this long is trimmed where another is to grow. */
enum { MAGIC = 0x6275726e, LEVELS = 19, NEAR = 2, CRAMPED_MS = 1000 };
static const size_t RELEASED_APART = 16 << 20; /* bytes, whose release takes some 3 ms */

/* The layout of the slots; the preamble follows. */
struct header {
    uint32_t magic, count;
    uint64_t preamble_bytes, stride, job_bytes, span_bytes, base_bytes;
};

/* First page of the memory. */
struct counters {
    uint64_t log_dropped; /* atomic: the workers add to it */
};

/* A slot, in the front. */
struct place {
    struct job_owner *owner;
    int level;        /* of its hot bytes */
    int next;         /* in the list of free slots of its level; -1: the last one */
    bool free;        /* in that list */
    int64_t given_ns; /* when it was put there */
};

struct slots {
    struct slots_files files;
    const struct header *head; /* read-only, and the preamble behind it */
    uint8_t *memory;
    size_t length;
    struct header layout; /* a copy, on a cache line that nothing else writes to */
    /* in the front alone */
    struct job *jobs;                        /* by slot */
    char (*short_values)[REPORT_VALUES_MAX]; /* by slot */
    struct place *places;                    /* by slot */
    pthread_mutex_t lock;
    int levels;           /* that fit a slot */
    int free[LEVELS];     /* stacks of free slots; -1: empty */
    size_t hot_bytes_max; /* of all slots, beyond the base */
    long idle_ms;
    size_t grown; /* hot bytes of all slots beyond the base; atomic, as in_use is */
    bool cramped; /* a slot could not grow since the last trim */
    int in_use;
    int releasing; /* threads of release_apart */
    pthread_cond_t released;
};

struct release {
    struct slots *slots;
    int slot;
};

static uint8_t *slot_start(const struct slots *slots, int slot) {
    return slots->memory + SLOT_PAGE + (size_t)slot * slots->layout.stride;
}

static size_t level_bytes(const struct slots *slots, int level) {
    const size_t power = slots->layout.base_bytes << level / 2;
    return slot_paged(level % 2 ? power + power / 2 : power);
}

/* From the job on. */
static size_t hot_bytes(const struct slots *slots, int slot) {
    return slots->layout.job_bytes + slot_hot(slots, slot);
}

static size_t head_bytes(const struct header *header) {
    return sizeof *header + header->preamble_bytes;
}

static size_t memory_bytes(const struct header *header) {
    return SLOT_PAGE + header->stride * header->count;
}

static bool map_head(struct slots *slots, size_t bytes) {
    void *head = mmap(NULL, bytes, PROT_READ, MAP_SHARED, slots->files.head, 0);
    if (head != MAP_FAILED) slots->head = head;
    return head != MAP_FAILED;
}

static enum status map(struct slots *slots, struct failure *failure) {
    slots->length = memory_bytes(&slots->layout);
    slots->memory = mmap(NULL, slots->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                         slots->files.memory, 0);
    if (slots->memory == MAP_FAILED) {
        slots->memory = NULL;
        return fail(failure, STATUS_NO_MEMORY,
                    "cannot map %zu bytes of shared memory for the slots", slots->length);
    }
    return STATUS_OK;
}

/* Allocates the hot bytes here and not in a request. One fault a page takes up to 6 ms a MB; Linux
 * fills the whole range in 0.6 ms a MB from 5.14 on. */
static void allocate_hot(struct slots *slots, int slot) {
    uint8_t *start = slot_start(slots, slot);
    if (!madvise(start, hot_bytes(slots, slot), MADV_POPULATE_WRITE)) return;
    for (size_t i = 0; i < hot_bytes(slots, slot); i += SLOT_PAGE) start[i] = 0;
}

/* Maps the front's hot bytes at a worker's start: 0.1 ms a MB, up to 4 ms by single faults. A
 * worker only reads, since a restarted one finds jobs there, and reads nothing beyond the hot
 * bytes, which would fill a hole. ThreadSanitizer would keep a shadow page for each plain read. */
__attribute__((no_sanitize("thread"))) static void map_hot(const struct slots *slots, int slot) {
    const volatile uint8_t *start = slot_start(slots, slot);
    const size_t hot = hot_bytes(slots, slot);
    if (!madvise((void *)start, hot, MADV_POPULATE_READ)) return;
    for (size_t i = 0; i < hot; i += SLOT_PAGE) (void)start[i];
}

static enum status make_places(struct slots *slots, struct failure *failure) {
    const int count = (int)slots->layout.count;
    slots->places = calloc((size_t)count, sizeof *slots->places);
    slots->jobs = calloc((size_t)count, sizeof *slots->jobs);
    slots->short_values = calloc((size_t)count, sizeof *slots->short_values);
    if (!slots->places || !slots->jobs || !slots->short_values)
        return fail(failure, STATUS_NO_MEMORY, "out of memory for the list of slots");
    for (slots->levels = 1; slots->levels < LEVELS; slots->levels++)
        if (level_bytes(slots, slots->levels) > slots->layout.span_bytes) break;
    for (int level = 0; level < LEVELS; level++) slots->free[level] = -1;
    /* Lowest slot on top, so that a quiet daemon uses the same few. */
    for (int i = count - 1; i >= 0; i--) {
        slots->places[i] = (struct place){ .next = slots->free[0], .free = true };
        slots->free[0] = i;
    }
    return STATUS_OK;
}

static struct header layout_of(const struct slot_options *options) {
    struct header header = {
        .magic = MAGIC,
        .preamble_bytes = options->preamble_bytes,
        .job_bytes = slot_paged(sizeof(struct job)),
        .span_bytes = slot_paged(options->span_bytes),
        .base_bytes = slot_paged(options->base_bytes),
        .count = (uint32_t)options->count,
    };
    header.stride = header.job_bytes + header.span_bytes;
    return header;
}

/* OTHER: bytes beside the slots that count too. */
static enum status check_limit(const struct header *layout, int resource, char flag, uint64_t other,
                               struct failure *failure) {
    const uint64_t needed = other + layout->stride * layout->count;
    struct rlimit limit;
    if (getrlimit(resource, &limit) || limit.rlim_cur >= needed) return STATUS_OK;
    const uint64_t fits = limit.rlim_cur > other ? (limit.rlim_cur - other) / layout->stride : 0;
    const char *what = resource == RLIMIT_AS ? "addresses for" : "a file in memory of";
    if (fits)
        return fail(failure, STATUS_BAD_PARAM,
                    "%u slots take %s %llu kB, and ulimit -%c allows %llu: raise it, or "
                    "lower slots to %llu, or pixels_max and body_bytes_max",
                    layout->count, what, (unsigned long long)needed / 1024, flag,
                    (unsigned long long)limit.rlim_cur / 1024, (unsigned long long)fits);
    return fail(failure, STATUS_BAD_PARAM,
                "one slot takes %s %llu kB, and ulimit -%c allows %llu: raise it to %llu, "
                "or lower pixels_max, which takes some 26 bytes a pixel, and body_bytes_max",
                what, (unsigned long long)(other + layout->stride) / 1024, flag,
                (unsigned long long)limit.rlim_cur / 1024, (unsigned long long)needed / 1024);
}

enum status slots_check_limit(const struct slot_options *options, size_t spare_bytes,
                              struct failure *failure) {
    const struct header layout = layout_of(options);
    const uint64_t head = head_bytes(&layout);
    const enum status status = check_limit(&layout, RLIMIT_FSIZE, 'f', SLOT_PAGE, failure);
    return status ? status
                  : check_limit(&layout, RLIMIT_AS, 'v', head + SLOT_PAGE + spare_bytes, failure);
}

static bool write_all(int fd, const void *bytes, size_t count) {
    return !count || write(fd, bytes, count) == (ssize_t)count;
}

/* Workers read the head; a worker must not change it for those that start later. */
static bool make_head(struct slots *slots, const struct slot_options *options) {
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    const int fd = memfd_create("burin-slots-head", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    slots->files.head = fd;
    return fd >= 0 && write_all(fd, &slots->layout, sizeof slots->layout) &&
           write_all(fd, options->preamble, options->preamble_bytes) &&
           fcntl(fd, F_ADD_SEALS, seals) == 0 && map_head(slots, head_bytes(&slots->layout));
}

static bool make_memory(struct slots *slots) {
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const int fd = memfd_create("burin-slots", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    slots->files.memory = fd;
    return fd >= 0 && ftruncate(fd, (off_t)memory_bytes(&slots->layout)) == 0 &&
           fcntl(fd, F_ADD_SEALS, seals) == 0;
}

static struct slots *make(struct slots_files files, struct failure *failure) {
    struct slots *slots = calloc(1, sizeof *slots);
    if (!slots) return fail(failure, STATUS_NO_MEMORY, "out of memory for the slots"), NULL;
    pthread_mutex_init(&slots->lock, NULL);
    pthread_cond_init(&slots->released, NULL);
    slots->files = files;
    return slots;
}

struct slots *slots_create(const struct slot_options *options, struct failure *failure) {
    struct slots *slots = make((struct slots_files){ -1, -1 }, failure);
    if (!slots) return NULL;
    slots->layout = layout_of(options);
    slots->hot_bytes_max = options->hot_bytes_max;
    slots->idle_ms = options->idle_ms;
    if (!make_head(slots, options) || !make_memory(slots)) {
        fail(failure, STATUS_NO_MEMORY, "cannot create the shared memory for the slots: %s",
             strerror(errno));
        return slots_destroy(slots), NULL;
    }
    if (map(slots, failure) || make_places(slots, failure)) return slots_destroy(slots), NULL;
    *slots_log_dropped(slots) = 0; /* allocates its page at start too */
    for (int i = 0; i < slots_count(slots); i++) allocate_hot(slots, i);
    return slots;
}

static enum status open_head(struct slots *slots, struct failure *failure) {
    struct stat facts;
    const int fd = slots->files.head;
    if (fstat(fd, &facts) < 0 || facts.st_size < (off_t)sizeof slots->layout ||
        !map_head(slots, (size_t)facts.st_size))
        return fail(failure, STATUS_INTERNAL, "descriptor %d is not the head of slots", fd);
    slots->layout = *slots->head;
    if (slots->layout.magic != MAGIC || slots->layout.job_bytes != slot_paged(sizeof(struct job)))
        return fail(failure, STATUS_INTERNAL,
                    "the slots were made by a different build of this program");
    return STATUS_OK;
}

struct slots *slots_open(struct slots_files files, struct failure *failure) {
    struct slots *slots = make(files, failure);
    if (!slots) return NULL;
    if (open_head(slots, failure) || map(slots, failure)) return slots_destroy(slots), NULL;
    for (int i = 0; i < slots_count(slots); i++) map_hot(slots, i);
    return slots;
}

void slots_destroy(struct slots *slots) {
    if (!slots) return;
    pthread_mutex_lock(&slots->lock);
    while (slots->releasing) pthread_cond_wait(&slots->released, &slots->lock);
    pthread_mutex_unlock(&slots->lock);
    if (slots->memory) munmap(slots->memory, slots->length);
    if (slots->head) munmap((void *)slots->head, head_bytes(&slots->layout));
    if (slots->files.memory >= 0) close(slots->files.memory);
    if (slots->files.head >= 0) close(slots->files.head);
    free(slots->places);
    free(slots->jobs);
    free(slots->short_values);
    pthread_cond_destroy(&slots->released);
    pthread_mutex_destroy(&slots->lock);
    free(slots);
}

struct slots_files slots_files(const struct slots *slots) {
    return slots->files;
}

const void *slots_preamble(const struct slots *slots) {
    return slots->head + 1;
}

size_t slots_preamble_bytes(const struct slots *slots) {
    return slots->layout.preamble_bytes;
}

uint64_t *slots_log_dropped(const struct slots *slots) {
    return &((struct counters *)(void *)slots->memory)->log_dropped;
}

int slots_count(const struct slots *slots) {
    return (int)slots->layout.count;
}

int slots_in_use(const struct slots *slots) {
    return __atomic_load_n(&slots->in_use, __ATOMIC_RELAXED);
}

/* ---- free slots, under the lock */

static int pop(struct slots *slots, int level) {
    const int slot = slots->free[level];
    if (slot < 0) return slot;
    slots->free[level] = slots->places[slot].next;
    slots->places[slot].free = false;
    return slot;
}

static void push(struct slots *slots, int slot) {
    struct place *place = &slots->places[slot];
    place->next = slots->free[place->level];
    place->free = true;
    place->given_ns = clock_coarse_ns();
    slots->free[place->level] = slot;
}

static int find_slot(struct slots *slots, size_t expected) {
    int wanted = 0, slot = -1;
    while (wanted < slots->levels - 1 && level_bytes(slots, wanted) < expected) wanted++;
    for (int l = wanted; l < slots->levels && l <= wanted + NEAR && slot < 0; l++)
        slot = pop(slots, l);
    int below = wanted - 1;
    while (below >= 0 && slots->free[below] < 0) below--;
    if (slot < 0 && below >= 0) {
        const size_t more = level_bytes(slots, wanted) - level_bytes(slots, below);
        if (slots->grown + more <= slots->hot_bytes_max) {
            slot = pop(slots, below);
            slots->places[slot].level = wanted;
            __atomic_fetch_add(&slots->grown, more, __ATOMIC_RELAXED);
        } else {
            slots->cramped = true;
        }
    }
    for (int l = wanted + NEAR + 1; l < slots->levels && slot < 0; l++) slot = pop(slots, l);
    return slot < 0 && below >= 0 ? pop(slots, below) : slot;
}

int slot_take(struct slots *slots, size_t expected, struct job_owner *owner) {
    pthread_mutex_lock(&slots->lock);
    const int slot = find_slot(slots, expected);
    if (slot >= 0) __atomic_fetch_add(&slots->in_use, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&slots->lock);
    if (slot < 0) return slot;
    slots->places[slot].owner = owner;
    memset(slot_job(slots, slot), 0, sizeof(struct job));
    slot_job(slots, slot)->hot_bytes = slot_hot(slots, slot);
    return slot;
}

struct job_owner *slot_owner(const struct slots *slots, int slot) {
    return slots->places[slot].owner;
}

/* ---- memory goes back to the system */

static void punch(struct slots *slots, int slot) {
    const size_t hot = hot_bytes(slots, slot);
    fallocate(slots->files.memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              slot_start(slots, slot) - slots->memory + (off_t)hot,
              (off_t)(slots->layout.stride - hot));
}

/* Gives used pages beyond the hot bytes back to the system. */
static void release_cold(struct slots *slots, int slot) {
    const struct job *job = slot_job(slots, slot);
    /* More may have been written by a worker that died, an encoder that failed, a GPU before the
     * cores ran the job again, or a search for a quality whose first files were larger. */
    bool unknown = job->lost_runs || job->deaths || job->failure.status ||
                   job->decoded_by >= CODEC_REFUSED || job_encoders(job) >> CODEC_REFUSED;
    for (int o = 0; o < job_output_count(job); o++) unknown |= job->outputs[o].fitting.tries > 1;
    if (job_bytes_end(job) > slot_hot(slots, slot) || unknown) punch(slots, slot);
}

static void put_back(struct slots *slots, int slot) {
    pthread_mutex_lock(&slots->lock);
    push(slots, slot);
    __atomic_fetch_sub(&slots->in_use, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&slots->lock);
}

static void *release_main(void *argument) {
    struct release *release = argument;
    struct slots *slots = release->slots;
    release_cold(slots, release->slot);
    put_back(slots, release->slot);
    free(release);
    pthread_mutex_lock(&slots->lock);
    slots->releasing--;
    pthread_cond_broadcast(&slots->released);
    pthread_mutex_unlock(&slots->lock);
    return NULL;
}

/* Releases the slot in a thread; false: none could be started. */
static bool release_apart(struct slots *slots, int slot) {
    struct release *release = malloc(sizeof *release);
    pthread_t thread;
    if (!release) return false;
    *release = (struct release){ slots, slot };
    pthread_mutex_lock(&slots->lock);
    const bool begun = pthread_create(&thread, NULL, release_main, release) == 0;
    slots->releasing += begun;
    pthread_mutex_unlock(&slots->lock);
    if (begun)
        pthread_detach(thread);
    else
        free(release);
    return begun;
}

void slot_give(struct slots *slots, int slot) {
    if (job_bytes_end(slot_job(slots, slot)) > RELEASED_APART && release_apart(slots, slot)) return;
    release_cold(slots, slot);
    put_back(slots, slot);
}

/* Some slots stay free for jobs meanwhile. */
int slots_trim_begin(struct slots *slots, int64_t now_ns, bool spare) {
    int oldest = -1;
    pthread_mutex_lock(&slots->lock);
    const int64_t ms = slots->cramped && slots->idle_ms > CRAMPED_MS ? CRAMPED_MS : slots->idle_ms;
    int64_t before = now_ns - ms * INT64_C(1000000);
    const bool room = 4 * slots->in_use < 3 * slots_count(slots) &&
                      slots_count(slots) - slots->in_use > 1 && (!spare || slots->cramped);
    for (int i = 0; i < slots_count(slots) && slots->grown && room; i++) {
        const struct place *place = &slots->places[i];
        if (!place->free || !place->level || place->given_ns > before) continue;
        before = place->given_ns;
        oldest = i;
    }
    slots->cramped = false;
    if (oldest >= 0) {
        int *link = &slots->free[slots->places[oldest].level];
        while (*link != oldest) link = &slots->places[*link].next;
        *link = slots->places[oldest].next;
        slots->places[oldest].free = false;
    }
    pthread_mutex_unlock(&slots->lock);
    return oldest;
}

void slots_trim_end(struct slots *slots, int slot) {
    const size_t more = slot_hot(slots, slot) - slots_base(slots);
    slots->places[slot].level = 0;
    punch(slots, slot);
    pthread_mutex_lock(&slots->lock);
    __atomic_fetch_sub(&slots->grown, more, __ATOMIC_RELAXED);
    push(slots, slot);
    pthread_mutex_unlock(&slots->lock);
}

struct job *slot_shared_job(const struct slots *slots, int slot) {
    return (struct job *)slot_start(slots, slot);
}

struct job *slot_job(const struct slots *slots, int slot) {
    return slots->jobs ? &slots->jobs[slot] : slot_shared_job(slots, slot);
}

char *slot_short_values(const struct slots *slots, int slot) {
    return slots->short_values[slot];
}

uint8_t *slot_bytes(const struct slots *slots, int slot) {
    return slot_start(slots, slot) + slots->layout.job_bytes;
}

size_t slot_span(const struct slots *slots) {
    return slots->layout.span_bytes;
}

size_t slot_hot(const struct slots *slots, int slot) {
    return level_bytes(slots, slots->places ? slots->places[slot].level : 0);
}

size_t slots_base(const struct slots *slots) {
    return level_bytes(slots, 0);
}

size_t slots_grown(const struct slots *slots) {
    return __atomic_load_n(&slots->grown, __ATOMIC_RELAXED);
}

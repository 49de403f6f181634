// SPDX-License-Identifier: Apache-2.0
/* How it works. worker_run opens every lane and runs the self-test on each, starts a thread for
 * each lane and one for the heartbeat, and only then sends READY. The lanes take groups of jobs
 * from one list (pending.h), mark the jobs as started and run each group in one batch. When the
 * front closes the channel, no lane gets a further group and each thread ends. After a failure that
 * only a new process recovers from, this process calls _exit even in mid-job, and the front gives
 * its jobs to a different worker. */
#include "server/worker/worker.h"

#include "cuda/nvml.h"
#include "pipeline/pool.h"
#include "pipeline/thread_remains.h"
#include "server/jobs/channel.h"
#include "server/jobs/completion_pipe.h"
#include "server/log/log.h"
#include "server/process/process.h"
#include "server/sandbox/sandbox.h"
#include "server/sandbox/sandbox_calls.h"
#include "server/worker/executor.h"
#include "server/worker/gpu_sampler.h"
#include "server/worker/heartbeat.h"
#include "server/worker/pending.h"
#include "server/worker/preparation.h"
#include "server/worker/self_test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CORES_MAX = 256, LANES_MAX = CORES_MAX * JOB_DURATIONS, GPU_LANES = 4, TRIM_MS = 1 };

/* A GPU's lanes for jobs abreast have a part of the pinned memory, since nearly all files are
 * JPEGs, which the GPU reads in place; all lanes together take a part of the GPU's memory. */
enum { MANY_STAGING = 8, MANY_MEMORY = 4 };

/* How nice a CPU's lanes are, by their jobs' duration: all of them share the cores. A short job
 * gets a core at once; when a short, a medium and a long job compete for one core, they get 70, 23
 * and 7 % of it. */
static const int lane_nice[JOB_DURATIONS] = { [JOB_MEDIUM] = 5, [JOB_LONG] = 10 };

/* An idle lane checks every IDLE_MS, IDLE_LOOKS times, for memory that was not needed recently and
 * can be freed; then it sleeps. */
enum { IDLE_MS = 1000, IDLE_LOOKS = 3, HEAP_TRIM_MS = 2000 };

/* Other processes come first: an operator in an endless loop keeps all cores busy until its
 * deadline. */
enum { SANDBOX_NICE = 5 };

/* The longest time for which compiling operators delays READY. One that the cache holds takes a few
 * milliseconds. The first job of an operator that is not compiled by then waits for that one. */
enum { PREPARATION_WAIT_MS = 1000 };

/* The slots' memory that this process has registered: there the device reads uploads and writes
 * answers in place; other memory is copied. */
struct pins {
    const struct device_driver *driver;
    int index;
    size_t *bytes;         /* by slot, written by the lane that runs its job; NULL: none, as in a
                              sandbox, where a user's kernel could write there */
    bool failed;           /* a registration; only the first is reported */
    pthread_mutex_t lock;  /* held while unregistering */
    uint32_t unpin_number; /* the last request of the front; under `lock` */
};

struct worker {
    struct executor executor; /* shared by the lanes, read-only */
    int channel;
    struct pending *pending;
    int lanes;       /* in total */
    int lanes_alike; /* of each duration on a CPU, where durations have separate lanes; on a GPU
                        those for all jobs */
    int lanes_many;  /* for jobs abreast alone, on a GPU */
    int batch;       /* the most jobs in one */
    struct lane *lane[LANES_MAX];
    int busy[LANES_MAX]; /* by lane: 1 while it runs a batch; atomic */
    int opened;
    bool gpu;
    bool sandbox;
    const struct config *config;
    struct pool *pool; /* the lane's threads, in a sandbox on a CPU; else NULL */
    struct heartbeat heartbeat;
    struct gpu_sampler sampler;     /* on a GPU only */
    struct preparation preparation; /* in a sandbox on a GPU only */
    struct pins pins;
};

struct lane_thread {
    struct worker *worker;
    int number; /* of the lane */
    pthread_t thread;
};

/* The CUDA context is unusable, or the system refuses something that a worker needs. A process
 * cannot repair its context (measured), so it exits at once. */
static void give_up(const struct failure *failure) {
    log_event(LOG_ERROR, "worker_failed", "worker: %s; ending so that a new one is started",
              failure->message);
    log_stop();
    _exit(WORKER_FAILED);
}

/* Registers the slot's first BYTES, after touching them: the driver would take several times as
 * long. A registration takes 0.05 ms a MB, for which other calls of CUDA wait. */
static void pin_slot(struct pins *pins, const struct slots *slots, int slot, size_t bytes) {
    const size_t from = pins->bytes[slot];
    uint8_t *start = slot_bytes(slots, slot) + from;
    struct failure failure = { 0 };
    if (bytes <= from || bytes > slot_span(slots)) return;
    madvise(start, bytes - from, MADV_POPULATE_WRITE);
    if (pins->driver->codec->pin(pins->index, start, bytes - from, &failure) &&
        !__atomic_exchange_n(&pins->failed, true, __ATOMIC_RELAXED))
        log_event(LOG_ERROR, "memory_not_pinned",
                  "worker: memory of slots could not be pinned, and is copied: %s",
                  failure.message);
    pins->bytes[slot] = bytes; /* a failure is not tried again with each job */
}

static void pin_slots(struct worker *worker, const struct device_driver *driver, int index) {
    const struct slots *slots = worker->executor.slots;
    struct pins *pins = &worker->pins;
    pins->driver = driver;
    pins->index = index;
    pthread_mutex_init(&pins->lock, NULL);
    if (!driver->codec || !driver->codec->pin || worker->sandbox) return;
    pins->bytes = calloc((size_t)slots_count(slots), sizeof *pins->bytes);
    for (int i = 0; i < slots_count(slots) && pins->bytes; i++)
        pin_slot(pins, slots, i, slots_base(slots));
}

/* Unregisters what a slot has beyond BYTES. */
static void unpin_slot(struct pins *pins, const struct slots *slots, int slot, size_t bytes) {
    if (pins->bytes[slot] <= bytes) return;
    pins->driver->codec->unpin(pins->index, slot_bytes(slots, slot) + bytes,
                               pins->bytes[slot] - bytes);
    pins->bytes[slot] = bytes;
}

static void unpin_slots(struct worker *worker) {
    const struct slots *slots = worker->executor.slots;
    for (int i = 0; i < slots_count(slots) && worker->pins.bytes; i++)
        unpin_slot(&worker->pins, slots, i, 0);
    free(worker->pins.bytes);
}

/* The front reuses the slot after the first answer: a copy of its request, or of an earlier one,
 * must unpin nothing. */
static void answer_unpin(struct worker *worker, const struct unpin *unpin) {
    const struct slots *slots = worker->executor.slots;
    struct pins *pins = &worker->pins;
    pthread_mutex_lock(&pins->lock);
    const bool fresh = (int32_t)(unpin->number - pins->unpin_number) > 0;
    if (fresh && pins->bytes && unpin->slot >= 0 && unpin->slot < slots_count(slots))
        unpin_slot(pins, slots, unpin->slot, slots_base(slots));
    if (fresh) pins->unpin_number = unpin->number;
    pthread_mutex_unlock(&pins->lock);
    const struct message message = { .kind = CHANNEL_UNPINNED, .run_number = unpin->number };
    channel_send(worker->channel, &message);
}

static void answer_self_test(struct worker *worker, struct lane *lane) {
    struct message message = { .kind = CHANNEL_SELF_TESTED };
    struct failure failure = { 0 };
    const enum status status = self_test_run(lane, &failure);
    message.ok = status == STATUS_OK;
    snprintf(message.text, sizeof message.text, "%s", failure.message);
    channel_send(worker->channel, &message);
    if (status == STATUS_DEVICE) give_up(&failure);
}

/* Processor time of the calling thread. */
static double thread_cpu_ms(void) {
    struct timespec used;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)
               ? 0
               : (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

static _Thread_local double group_began_cpu_ms;

static void run_group(struct worker *worker, struct lane *lane, struct group *group) {
    struct failure failure = { 0 };
    if (group->self_test) answer_self_test(worker, lane);
    if (group->unpin.number) answer_unpin(worker, &group->unpin);
    if (!group->count) return;
    const int32_t thread = worker->gpu || worker->pool ? 0 : gettid(); /* 0: several do the work */
    for (int i = 0; i < group->count; i++) {
        struct job *job = slot_job(worker->executor.slots, group->slots[i]);
        /* A different lane may have written the job last, and released it by finished_ns. */
        (void)__atomic_load_n(&job->finished_ns, __ATOMIC_ACQUIRE);
        __atomic_store_n(&job->lane, thread, __ATOMIC_RELAXED);
        __atomic_store_n(&job->started, 1, __ATOMIC_RELEASE);
    }
    if (thread) group_began_cpu_ms = thread_cpu_ms();
    for (int i = 0; i < group->count && worker->pins.bytes; i++) {
        const int slot = group->slots[i];
        pin_slot(&worker->pins, worker->executor.slots, slot,
                 slot_job(worker->executor.slots, slot)->hot_bytes);
    }
    executor_run(&worker->executor, lane, group->slots, group->count, &failure);
    if (failure.status == STATUS_DEVICE) give_up(&failure);
}

static void empty(struct lane *lane) {
    struct failure failure = { 0 };
    if (lane->driver->empty(lane, &failure)) give_up(&failure);
    thread_remains_clear();
}

/* Returns memory that codecs have freed and malloc keeps to the system, for all lanes at once and
 * at most every HEAP_TRIM_MS: it takes a millisecond, for which other allocating threads may wait.
 */
static void trim_heap(void) {
    static int64_t trimmed_ns;
    const int64_t now = clock_ns();
    int64_t last = __atomic_load_n(&trimmed_ns, __ATOMIC_RELAXED);
    if (now - last < HEAP_TRIM_MS * INT64_C(1000000)) return;
    if (__atomic_compare_exchange_n(&trimmed_ns, &last, now, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        malloc_trim(0);
}

/* Takes the next group, and gives back the memory that a large batch needed: one piece after each
 * batch, since a lane may never be idle, and the rest while no job waits. So a job waits for one
 * piece at most, and a lane that sleeps in between gets a core at once. In a sandbox the lane is
 * emptied first, so that an operator finds nothing of the job before. */
static bool take_group(const struct worker *worker, struct lane *lane, struct group *group) {
    enum pending_outcome outcome = PENDING_NONE;
    if (worker->sandbox) empty(lane);
    for (int look = 0; look <= IDLE_LOOKS && outcome == PENDING_NONE; look++) {
        while (outcome == PENDING_NONE && lane->driver->trim(lane))
            outcome = pending_take(worker->pending, group, TRIM_MS);
        trim_heap();
        if (outcome == PENDING_NONE)
            outcome =
                pending_take(worker->pending, group, look < IDLE_LOOKS ? IDLE_MS : CHANNEL_FOREVER);
    }
    return outcome == PENDING_TAKEN;
}

static enum job_duration lane_duration(const struct worker *worker, int number) {
    if (worker->gpu) return number < worker->lanes_alike ? JOB_SHORT : JOB_MEDIUM;
    return (enum job_duration)(number / worker->lanes_alike);
}

static void *lane_main(void *argument) {
    struct lane_thread *self = argument;
    struct worker *worker = self->worker;
    struct group group = { .lane = lane_duration(worker, self->number) };
    struct lane *lane = worker->lane[self->number];
    const int nice = worker->gpu ? 0 : lane_nice[group.lane];
    if (nice) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + nice); /* this thread's */
    while (take_group(worker, lane, &group)) {
        __atomic_store_n(&worker->busy[self->number], 1, __ATOMIC_RELAXED);
        run_group(worker, lane, &group);
        __atomic_store_n(&worker->busy[self->number], 0, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Returns jobs that did not fit the lane's memory to the list, as not started. */
static void leave(void *context, const int *slots, int count) {
    const struct worker *worker = context;
    for (int i = 0; i < count; i++)
        __atomic_store_n(&slot_job(worker->executor.slots, slots[i])->started, 0, __ATOMIC_RELEASE);
    pending_return(worker->pending, slots, count);
}

void worker_finish_job(struct job *job, int slot) {
    const struct completion completion = { slot, job->run_number };
    const int pipe = PROCESS_PIPES_FD + job->io_thread;
    __atomic_store_n(&job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
    completion_pipe_send(pipe, &completion);
}

static void answer(void *context, int slot) {
    const struct worker *worker = context;
    struct job *job = slot_job(worker->executor.slots, slot);
    job->cpu_ms = worker->gpu || worker->pool ? 0 : thread_cpu_ms() - group_began_cpu_ms;
    worker_finish_job(job, slot);
}

static enum status open_lanes(struct worker *worker, const struct config *config,
                              const struct device_driver *driver, int index,
                              struct failure *failure) {
    const struct lane_options options = {
        .staging_bytes = worker->pool ? 0 : (size_t)config->staging_bytes,
        .idle_bytes = worker->pool ? 0 : (size_t)config->idle_bytes,
        .cpu_memory_bytes = (size_t)config->cpu_memory_bytes,
        .pool = worker->pool,
        .arena_bytes = worker->executor.arena_bytes,
        .pinned_pool_bytes = (size_t)config->pinned_pool_bytes,
        .device_pool_bytes = (size_t)config->device_pool_bytes,
    };
    for (int i = 0; i < worker->lanes; i++) {
        struct lane_options own = options;
        if (lane_duration(worker, i) == JOB_LONG) own.staging_bytes = own.idle_bytes = 0;
        const bool many = worker->lanes_many && i >= worker->lanes_alike;
        if (many) own.staging_bytes /= MANY_STAGING;
        const enum status status = driver->open(index, &own, &worker->lane[i], failure);
        if (status == STATUS_NO_MEMORY && many) {
            log_event(LOG_ERROR, "lanes_limited", "worker: %d of %d lanes: %s", i, worker->lanes,
                      failure->message);
            worker->lanes = i;
            worker->lanes_many = i - worker->lanes_alike;
            failure->status = STATUS_OK;
            break;
        }
        if (status) return status;
        worker->opened++;
    }
    /* The first job of a process pays for loading code and waking the device. */
    for (int i = 0; i < worker->lanes && lane_duration(worker, i) == JOB_SHORT; i++) {
        const enum status status = self_test_run(worker->lane[i], failure);
        if (status) return status;
    }
    return STATUS_OK;
}

/* Jobs that the front may send: a running and a waiting batch per lane, so that no lane idles until
 * a message arrives. */
static int capacity(const struct worker *worker) {
    return worker->sandbox ? 1 : 2 * (worker->lanes_alike + worker->lanes_many) * worker->batch;
}

static void say_ready(struct worker *worker) {
    struct message message = {
        .kind = CHANNEL_READY,
        .capacity = capacity(worker),
        .many = 2 * worker->lanes_many * worker->batch,
        .lanes = worker->lanes_alike,
        .engines = worker->sandbox ? 0 : worker->executor.engines,
        .thread = worker->heartbeat.number,
        .ok = 1,
    };
    snprintf(message.text, sizeof message.text, "%s", worker->executor.device_name);
    heartbeat_set_ready(&worker->heartbeat, &message);
    channel_send(worker->channel, &message);
}

static void run_lanes(struct worker *worker) {
    struct lane_thread threads[LANES_MAX];
    struct failure failure = { 0 };
    for (int i = 0; i < worker->lanes; i++) {
        threads[i] = (struct lane_thread){ .worker = worker, .number = i };
        const int error = pthread_create(&threads[i].thread, NULL, lane_main, &threads[i]);
        if (!error) continue;
        fail(&failure, STATUS_NO_MEMORY, "no thread for lane %d of %d: %s", i + 1, worker->lanes,
             strerror(error));
        give_up(&failure);
    }
    if (!heartbeat_start(&worker->heartbeat)) {
        fail(&failure, STATUS_NO_MEMORY, "no thread for the heartbeat");
        give_up(&failure);
    }
    if (worker->sandbox &&
        sandbox_calls_confine(worker->gpu ? CONFINED_GPU : CONFINED_CPU, &failure))
        give_up(&failure);
    if (worker->gpu || !worker->sandbox)
        sandbox_filter(worker->gpu ? SANDBOX_GPU : SANDBOX_CPU, worker->config, 0);
    if (worker->sandbox && worker->gpu)
        preparation_start(&worker->preparation, worker->lane[0], PREPARATION_WAIT_MS);
    say_ready(worker);
    if (worker->gpu && !worker->sandbox) gpu_sampler_start(&worker->sampler);
    for (int i = 0; i < worker->lanes; i++) pthread_join(threads[i].thread, NULL);
    preparation_join(&worker->preparation);
    gpu_sampler_join(&worker->sampler);
    heartbeat_join(&worker->heartbeat);
}

static enum status make_pending(struct worker *worker, struct failure *failure) {
    const struct pending_options options = {
        .channel = worker->channel,
        .lanes = worker->lanes_alike,
        .many = worker->lanes_many,
        .apart = worker->lanes_alike + worker->lanes_many < worker->lanes,
        .batch = worker->batch,
        .capacity = capacity(worker),
        .slots = worker->executor.slots,
    };
    worker->pending = pending_create(&options);
    return worker->pending ? STATUS_OK
                           : fail(failure, STATUS_NO_MEMORY, "out of memory for waiting jobs");
}

/* Lanes for jobs abreast, whose memory is taken at the start: as many as leave most of a small
 * GPU's memory free. */
static int many_lanes(const struct worker *worker, const struct config *config) {
    const size_t most = worker->executor.memory_bytes / MANY_MEMORY / worker->executor.arena_bytes;
    const int room = (int)most - worker->lanes, wanted = (int)config->many_lanes;
    return room <= 0 || worker->batch == 1 ? 0 : room < wanted ? room : wanted;
}

static struct pool *start_pool(int threads, struct failure *failure) {
    struct pool *pool = pool_create(threads);
    if (!pool) fail(failure, STATUS_NO_MEMORY, "%d threads could not be started", threads);
    return pool;
}

/* Decides the numbers of lanes and jobs, and starts the threads that work for the lanes. */
static enum status size_worker(struct worker *worker, const struct config *config,
                               struct failure *failure) {
    const bool gpu = worker->gpu;
    worker->lanes = config->lanes ? (int)config->lanes : gpu ? GPU_LANES : process_cores();
    if (worker->lanes > CORES_MAX) worker->lanes = CORES_MAX;
    worker->batch = gpu ? (int)config->batch : 1;
    if (worker->batch > RUN_BATCH_MAX) worker->batch = RUN_BATCH_MAX;
    if (worker->sandbox && !gpu) worker->pool = start_pool(worker->lanes, failure);
    if (worker->sandbox) worker->lanes = worker->batch = 1;
    worker->lanes_alike = worker->lanes;
    if (!gpu && !worker->sandbox) worker->lanes *= JOB_DURATIONS;
    if (gpu && !worker->sandbox) worker->lanes_many = many_lanes(worker, config);
    worker->lanes += worker->lanes_many;
    if (gpu)
        worker->executor.codecs = start_pool(
            config->codec_threads ? (int)config->codec_threads : process_cores(), failure);
    if (worker->sandbox) pool_leave_nothing(gpu ? worker->executor.codecs : worker->pool);
    return failure->status;
}

static struct gpu_sampler_options sampler_options(const struct worker *worker,
                                                  const struct config *config,
                                                  const struct device_driver *driver, int index) {
    return (struct gpu_sampler_options){
        .channel = worker->channel,
        .every_ms = (int)config->self_test_ms,
        .nvml_path = NVML_LIBRARY,
        .driver = driver,
        .index = index,
        .lanes = worker->lane,
        .busy = worker->busy,
        .lane_count = worker->lanes,
    };
}

static int run(struct slots *slots, int channel, const struct config *config,
               const struct device_driver *driver, int index, bool sandbox) {
    struct worker *worker = calloc(1, sizeof *worker);
    log_start((size_t)config->log_buffer_bytes, slots_log_dropped(slots));
    if (!worker) return 1;
    worker->sandbox = sandbox;
    worker->config = config;
    worker->channel = channel;
    worker->heartbeat.channel = channel;
    worker->executor = executor_make(slots, config, driver, index);
    worker->executor.answer = answer;
    worker->executor.leave = leave;
    worker->executor.context = worker;
    worker->gpu = strcmp(driver->kind, "cpu") != 0;
    struct failure failure = { 0 };
    int code = 0;
    const bool sized = size_worker(worker, config, &failure) == STATUS_OK;
    if (!sized || open_lanes(worker, config, driver, index, &failure) ||
        make_pending(worker, &failure)) {
        log_event(LOG_ERROR, "worker_failed", "worker: %s could not be opened: %s",
                  worker->executor.device_name, failure.message);
        code = WORKER_FAILED;
    } else {
        worker->sampler.options = sampler_options(worker, config, driver, index);
        pin_slots(worker, driver, index);
        run_lanes(worker);
    }
    for (int i = 0; i < worker->opened; i++) driver->close(worker->lane[i]);
    unpin_slots(worker);
    pool_destroy(worker->executor.codecs);
    pool_destroy(worker->pool);
    pending_destroy(worker->pending);
    free(worker);
    return code;
}

int worker_run(struct slots *slots, int channel, const struct config *config,
               const struct device_driver *driver, int index) {
    return run(slots, channel, config, driver, index, false);
}

int worker_run_sandbox(struct slots *slots, int channel, const struct config *config,
                       const struct device_driver *driver, int index) {
    mallopt(M_PERTURB, 0xa5);                   /* free() overwrites memory */
    setpriority(PRIO_PROCESS, 0, SANDBOX_NICE); /* new threads inherit it */
    return run(slots, channel, config, driver, index, true);
}

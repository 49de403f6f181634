// SPDX-License-Identifier: Apache-2.0
/* runs_scene.h - decoding cells, a CPU's worker, and in some scenes a GPU's with engines, which
 * exist only as channels. The test plays all of them, and the reader of the completion pipe. */
#ifndef BURIN_RUNS_SCENE_H
#define BURIN_RUNS_SCENE_H

#include "server/dispatch/dispatcher.h"
#include "server/jobs/completion_pipe.h"
#include "tests/server/jobs/right_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A GPU's worker, which stands before the cells, is there if the test defines GPUS as 1. */
#ifndef GPUS
#define GPUS 0
#endif
enum { SLOTS = 24, CPU = 0, GPU = 1, CELL = 1 + GPUS, OTHER, WORKERS, NOBODY = -1 };
enum { UPLOAD = 1000, PROFILE = 100, WIDTH = 30, HEIGHT = 20, AT = SLOT_PAGE };
enum { PIXELS = WIDTH * HEIGHT * 3, DECODER = 1500 };
static const struct config usual = { .queue_jobs = 4,
                                     .queue_bytes = 2 * PIXELS,
                                     .codec_memory_bytes = DECODER,   /* less than the file needs */
                                     .cpu_memory_bytes = 8 * DECODER, /* a quarter */
                                     .processing_ms = 5000,
                                     .no_worker_ms = 3000 };
static struct config config;
static struct slots *slots;
static struct worker_list workers;
static int lanes[WORKERS]; /* the workers' ends of their channels */
static int pipe_ends[2];
static struct dispatcher *dispatcher;

static inline void start(int number) {
    struct worker_handle *worker = &workers.all[number];
    int ends[2];
    assert_true(channel_open(ends));
    worker->pid = 1 << 30; /* no process has that number */
    worker->channel = ends[0], lanes[number] = ends[1];
    worker->ready = worker->self_test_ok = true;
    worker->capacity = worker->lanes = 1;
    worker->engines = worker->cpu ? 0 : 7;
}

static inline int begin_with(int cells) {
    const struct slot_options options = { .count = SLOTS, .base_bytes = 4096, .span_bytes = 65536 };
    struct failure failure = { 0 };
    slots = slots_create(&options, &failure);
    if (!slots || completion_pipe_open(pipe_ends, SLOTS, &failure)) return -1;
    workers.count = 1;
    worker_handle_init(&workers.all[CPU], "cpu", false);
    if (GPUS) worker_handle_init(&workers.all[workers.count++], "cuda:0", false);
    worker_list_add_cells(&workers, cells);
    for (int i = 0; i < workers.count; i++) {
        start(i);
        workers.all[i].wanted = true;
    }
    config = usual;
    const struct dispatcher_options how = { &config, slots, &pipe_ends[1], &workers };
    dispatcher = dispatcher_create(&how, &failure);
    return dispatcher ? 0 : -1;
}

static inline int begin(void **state) {
    (void)state;
    return begin_with(1);
}

static inline int begin_two(void **state) {
    (void)state;
    return begin_with(2);
}

static inline int end(void **state) {
    (void)state;
    dispatcher_destroy(dispatcher);
    for (int i = 0; i < workers.count; i++) {
        close(workers.all[i].channel);
        close(lanes[i]);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    slots_destroy(slots);
    return 0;
}

static inline int new_job(const char *device) {
    const int slot = slot_take(slots, 1, NULL);
    assert_true(slot >= 0);
    struct job *job = slot_job(slots, slot);
    snprintf(job->device, DEVICE_WANT_MAX, "%s", device);
    job->decodes_apart = true;
    job->probe.format = FORMAT_AVIF;
    job->probe.bits = 8;
    job->probe.components = 3;
    job->probe.shape = image_shape(WIDTH, HEIGHT, 3, 8);
    job->body_length = job->image_length = UPLOAD;
    job->pixels_offset = AT;
    job->pixels_end = AT + PIXELS;
    return slot;
}

static inline int submit(void) {
    struct failure failure = { 0 };
    const int slot = new_job("auto");
    if (dispatcher_submit(dispatcher, slot, &failure)) fail_msg("%s", failure.message);
    return slot;
}

/* The worker that was sent the job since the last call. */
static inline int sent_to(int slot) {
    int found = NOBODY;
    for (int i = 0; i < workers.count; i++) {
        struct message message;
        while (channel_take(lanes[i], &message, 1, 0) == 1)
            if (message.kind == CHANNEL_RUN && message.slot == slot) found = i;
    }
    return found;
}

/* The cell's answer: DECODE_MS for it, after QUEUE_MS. */
static inline void decoded(int slot, double queue_ms, double decode_ms) {
    struct job *job = slot_shared_job(slots, slot);
    job->notes = NOTE_PROFILE_DROPPED;
    job->profile_offset = AT + PIXELS;
    job->profile_length = PROFILE;
    job->timing.stage_ms[STAGE_QUEUE] = queue_ms;
    job->timing.stage_ms[STAGE_DECODE] = decode_ms;
    __atomic_store_n(&job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
}

static inline void planned(int slot) {
    struct job *job = slot_shared_job(slots, slot);
    right_answer(slots, slot);
    job->notes = NOTE_DEPTH_CUT;
    job->timing.stage_ms[STAGE_DECODE] = 0.5;
}

static inline bool complete(int slot) {
    return dispatcher_completed(dispatcher, slot, slot_job(slots, slot)->run_number);
}

static inline void die(int number) {
    workers.all[number].pid = 0;
    workers.all[number].running = 0;
    workers.all[number].alone = false;
    dispatcher_recover(dispatcher, &workers.all[number]);
}

/* The process of worker NUMBER ends in the job, which it had begun; another process follows. */
static inline void die_in_job(int number, int slot) {
    slot_shared_job(slots, slot)->started = 1;
    die(number);
    workers.all[number].pid = 1 << 30;
    dispatcher_assign(dispatcher);
}

#define RUNS_TWO(test)  cmocka_unit_test_setup_teardown(test, begin_two, end)
#define RUNS_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

#endif

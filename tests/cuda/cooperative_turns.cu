// SPDX-License-Identifier: Apache-2.0
/* The order of turns, over thousands of random runs of four lanes on a GPU that is made up here:
 * two long kernels never run at once, a short one never beside a long one, launches of many beside
 * neither but beside each other, and all come to an end. And when searches go as many, while their
 * number rises and falls. Needs no GPU.
 *
 * How it works. The source under test is compiled in here, with CUDA's events replaced. A stream is
 * a line of records, waits and kernels; at each tick the first of some of them moves on, chosen at
 * random, so that streams drift apart in every way.
 * covers: cuda/cooperative_lane.cu
 */
#include <cuda_runtime.h>

#include <deque>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- a GPU of our own */

enum kind { RECORD, WAIT, LONG, SHORT, MANY, PLAIN };

struct fake_event {
    long recorded, done; /* how often */
};

struct item {
    enum kind kind;
    struct fake_event *event;
    long number;   /* RECORD, WAIT: of the record */
    uint32_t left; /* kernels: ticks */
    bool runs;
};

typedef std::deque<struct item> fake_stream;

static fake_stream *stream_of(cudaStream_t stream) {
    return (fake_stream *)stream;
}

static cudaError_t fake_create(cudaEvent_t *event, unsigned) {
    *event = (cudaEvent_t) new fake_event();
    return cudaSuccess;
}

static cudaError_t fake_destroy(cudaEvent_t event) {
    delete (struct fake_event *)event;
    return cudaSuccess;
}

static cudaError_t fake_record(cudaEvent_t event, cudaStream_t stream) {
    struct fake_event *const fake = (struct fake_event *)event;
    stream_of(stream)->push_back({ RECORD, fake, ++fake->recorded, 0, false });
    return cudaSuccess;
}

static cudaError_t fake_wait(cudaStream_t stream, cudaEvent_t event, unsigned) {
    struct fake_event *const fake = (struct fake_event *)event;
    stream_of(stream)->push_back({ WAIT, fake, fake->recorded, 0, false });
    return cudaSuccess;
}

static cudaError_t fake_query(cudaEvent_t event) {
    const struct fake_event *const fake = (const struct fake_event *)event;
    return fake->done >= fake->recorded ? cudaSuccess : cudaErrorNotReady;
}

static cudaError_t fake_attributes(struct cudaFuncAttributes *, const void *) {
    return cudaSuccess;
}

#define cudaEventCreateWithFlags fake_create
#define cudaEventDestroy         fake_destroy
#define cudaEventRecord          fake_record
#define cudaStreamWaitEvent      fake_wait
#define cudaEventQuery           fake_query
#define cudaFuncGetAttributes    fake_attributes
#include "cuda/cooperative_lane.cu"

extern "C" {
#include "tests/noise.h"

#include <cmocka.h> /* after it: has a fail() of its own */
}

/* ---- lanes at work */

enum { LANES = 4, STREAMS = 2 * LANES, BATCHES = 60, STEPS_MAX = 3, RUNS = 3000, TICKS = 100000 };

struct run {
    uint32_t random;
    struct cooperative_lane lanes[LANES];
    fake_stream streams[STREAMS]; /* a lane's two beside each other */
    int batches;
    long beside; /* ticks in which two launches of many ran */
};

static uint32_t draw(struct run *run, uint32_t below) {
    noise_next(&run->random);
    return (run->random >> 16) % below;
}

static void queue_kernel(struct run *run, fake_stream *stream, enum kind kind, uint32_t most) {
    stream->push_back({ kind, NULL, 0, 1 + draw(run, most), false });
}

static void queue_long(struct run *run, struct cooperative_lane *lane, fake_stream *stream) {
    cudaError_t error;
    const cudaStream_t place =
        cooperative_lane_begin_long(lane, (cudaStream_t)stream, NULL, &error);
    assert_int_equal(error, cudaSuccess);
    const bool refused = draw(run, 8) == 0; /* by the driver */
    if (!refused) queue_kernel(run, stream_of(place), LONG, 30);
    cooperative_lane_end_long(lane, (cudaStream_t)stream);
}

static void queue_short(struct run *run, struct cooperative_lane *lane, fake_stream *stream) {
    cudaError_t error;
    const cudaStream_t place = cooperative_lane_begin_short(lane, (cudaStream_t)stream, &error);
    if (error) return queue_kernel(run, stream, PLAIN, 3);
    assert_ptr_equal(place, lane->stream); /* one priority for all of them */
    queue_kernel(run, stream_of(place), SHORT, 3);
    assert_int_equal(cooperative_lane_end_short(lane, (cudaStream_t)stream), cudaSuccess);
}

static void queue_many(struct run *run, struct cooperative_lane *lane, fake_stream *stream) {
    cudaError_t error;
    const cudaStream_t place = cooperative_lane_begin_many(lane, (cudaStream_t)stream, &error);
    assert_int_equal(error, cudaSuccess);
    assert_ptr_equal(place, lane->low_stream);
    queue_kernel(run, stream_of(place), MANY, 20);
    assert_int_equal(cooperative_lane_end_many(lane, (cudaStream_t)stream, 5), cudaSuccess);
}

/* A lane whose last batch is over may begin another, of a few steps, on one of its streams. */
static void begin_batch(struct run *run) {
    const uint32_t i = draw(run, LANES);
    if (run->batches == BATCHES || draw(run, 3)) return;
    if (!run->streams[2 * i].empty() || !run->streams[2 * i + 1].empty()) return;
    fake_stream *const stream = &run->streams[2 * i + draw(run, 2)];
    run->batches++;
    for (uint32_t steps = 1 + draw(run, STEPS_MAX); steps; steps--) {
        const uint32_t what = draw(run, 8);
        if (what == 0)
            queue_long(run, &run->lanes[i], stream);
        else if (what < 3)
            queue_many(run, &run->lanes[i], stream);
        else if (what < 7)
            queue_short(run, &run->lanes[i], stream);
        else
            queue_kernel(run, stream, PLAIN, 4);
    }
}

/* The first item of STREAM; false where it has to wait. */
static bool advance(fake_stream *stream) {
    struct item *const first = &stream->front();
    if (first->kind == WAIT && first->event->done < first->number) return false;
    if (first->kind == RECORD) first->event->done = first->number;
    first->runs = first->kind >= LONG;
    if (!first->runs || first->left-- == 0) stream->pop_front();
    return true;
}

/* How many kernels of KIND run. */
static int count_running(const struct run *run, enum kind kind) {
    int count = 0;
    for (const fake_stream &stream : run->streams)
        count += !stream.empty() && stream.front().runs && stream.front().kind == kind;
    return count;
}

static bool tick(struct run *run) {
    bool any = false, stuck = true;
    for (fake_stream &stream : run->streams) {
        if (stream.empty()) continue;
        any = true;
        const bool moved = draw(run, 2) && advance(&stream);
        const bool waits = !stream.empty() && stream.front().kind == WAIT &&
                           stream.front().event->done < stream.front().number;
        stuck = stuck && !moved && waits;
    }
    assert_false(any && stuck);
    const int longs = count_running(run, LONG), many = count_running(run, MANY);
    assert_true(longs <= 1);
    assert_false((longs || many) && count_running(run, SHORT));
    assert_false(longs && many);
    run->beside += many > 1;
    return any;
}

static void test_random_runs(void **) {
    long beside = 0;
    for (int i = 0; i < RUNS; i++) {
        struct run run = {};
        run.random = (uint32_t)i;
        for (int k = 0; k < LANES; k++)
            assert_int_equal(cooperative_lane_open(&run.lanes[k], 0,
                                                   (cudaStream_t)&run.streams[2 * k],
                                                   (cudaStream_t)&run.streams[2 * k + 1], NULL),
                             STATUS_OK);
        int ticks = 0;
        for (bool any = true; any || run.batches < BATCHES; any = tick(&run)) {
            begin_batch(&run);
            assert_true(ticks++ < TICKS);
        }
        for (struct cooperative_lane &lane : run.lanes) cooperative_lane_close(&lane);
        beside += run.beside;
    }
    assert_true(beside > RUNS);
}

/* Launches of many wait for a short kernel, but not for what its lane queues behind that. */
static void test_shorts_are_forgotten(void **) {
    fake_stream streams[2][2];
    struct cooperative_lane all[2];
    cudaError_t error;
    for (int i = 0; i < 2; i++)
        assert_int_equal(cooperative_lane_open(&all[i], 0, (cudaStream_t)&streams[i][0],
                                               (cudaStream_t)&streams[i][1], NULL),
                         STATUS_OK);
    const auto begin_many = [&](int i) {
        const cudaStream_t stream = (cudaStream_t)&streams[i][0];
        cooperative_lane_begin_many(&all[i], stream, &error);
        assert_int_equal(error, cudaSuccess);
        streams[i][1].push_back({ MANY, NULL, 0, 1000, false });
        assert_int_equal(cooperative_lane_end_many(&all[i], stream, 3), cudaSuccess);
    };
    cooperative_lane_begin_short(&all[0], (cudaStream_t)&streams[0][0], &error);
    streams[0][0].push_back({ SHORT, NULL, 0, 2, false });
    cooperative_lane_end_short(&all[0], (cudaStream_t)&streams[0][0]);
    begin_many(0);
    begin_many(1);
    begin_many(1);
    bool beside = false;
    for (int i = 0; i < 1000 && !beside; i++) {
        for (auto &pair : streams)
            for (fake_stream &stream : pair)
                if (!stream.empty()) advance(&stream);
        beside = !streams[0][1].empty() && !streams[1][1].empty() && streams[0][1].front().runs &&
                 streams[1][1].front().runs;
    }
    assert_true(beside);
    for (struct cooperative_lane &lane : all) cooperative_lane_close(&lane);
}

static void finish(fake_stream *stream) {
    while (!stream->empty()) advance(stream);
}

/* From 6 on searches go as many, and until fewer than 4 are left. */
static void test_crowd(void **) {
    fake_stream streams[3][2];
    struct cooperative_lane all[3];
    int crowd = 0;
    for (int i = 0; i < 3; i++)
        assert_int_equal(cooperative_lane_open(&all[i], 0, (cudaStream_t)&streams[i][0],
                                               (cudaStream_t)&streams[i][1], NULL),
                         STATUS_OK);
    const auto enter = [&](int i, int count) {
        return cooperative_lane_enter(&all[i], count, 6, &crowd);
    };
    const auto leave = [&](int i) {
        assert_int_equal(cooperative_lane_leave(&all[i], (cudaStream_t)&streams[i][0]),
                         cudaSuccess);
    };
    assert_false(enter(0, 5)); /* it still gathers while another comes */
    assert_int_equal(crowd, 5);
    assert_true(enter(1, 1));
    assert_int_equal(crowd, 6);
    leave(0), leave(1);
    finish(&streams[0][0]); /* 1 is left */
    assert_true(enter(2, 3));
    assert_int_equal(crowd, 4);
    leave(2);
    finish(&streams[1][0]);
    finish(&streams[2][0]);
    assert_false(enter(0, 3));
    assert_int_equal(crowd, 3);
    assert_false(enter(1, 2)); /* nearly as many, but the last ones were not */
    assert_int_equal(crowd, 5);
    leave(0), leave(1);
    finish(&streams[0][0]);
    finish(&streams[1][0]);
    leave(0); /* it has no searches now, and none come back */
    assert_false(enter(1, 3));
    assert_int_equal(crowd, 3);
    assert_true(cooperative_lane_enter(&all[2], 5, 10, &crowd)); /* a half and a half */
    for (struct cooperative_lane &lane : all) cooperative_lane_close(&lane);
    assert_true(cooperative_lane_enter(NULL, 6, 6, &crowd));
    assert_false(cooperative_lane_enter(NULL, 5, 6, &crowd));
    assert_int_equal(cooperative_lane_leave(NULL, (cudaStream_t)&streams[0][0]), cudaSuccess);
}

/* A lane alone, as in a benchmark, has no turns to take. */
static void test_alone(void **) {
    fake_stream stream;
    cudaError_t error = cudaErrorUnknown;
    assert_ptr_equal(cooperative_lane_begin_short(NULL, (cudaStream_t)&stream, &error), &stream);
    assert_int_equal(error, cudaSuccess);
    assert_int_equal(cooperative_lane_end_short(NULL, (cudaStream_t)&stream), cudaSuccess);
    assert_ptr_equal(cooperative_lane_begin_long(NULL, (cudaStream_t)&stream, NULL, &error),
                     &stream);
    assert_int_equal(error, cudaSuccess);
    assert_int_equal(cooperative_lane_end_long(NULL, (cudaStream_t)&stream), cudaSuccess);
    assert_ptr_equal(cooperative_lane_begin_many(NULL, (cudaStream_t)&stream, &error), &stream);
    assert_int_equal(cooperative_lane_end_many(NULL, (cudaStream_t)&stream, 9), cudaSuccess);
    assert_true(stream.empty());
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_runs),
        cmocka_unit_test(test_shorts_are_forgotten),
        cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

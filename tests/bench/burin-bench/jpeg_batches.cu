// SPDX-License-Identifier: Apache-2.0
/* How it works. The first batches are checked, until every subject has been seen; then a round is a
 * train of batches on all lines (jpeg_lines.cuh) between two events. A kernel holds the lines back
 * until the whole train is queued, so that the time is the device's alone. */
#include "tests/bench/burin-bench/jpeg_batches.h"

#include "cuda/check.cuh"
#include "pipeline/timing.h"
#include "tests/bench/burin-bench/jpeg_lines.cuh"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

enum {
    TRAIN_MIN = 2,
    TRAIN_MAX = 24,
    ALONE_ROUNDS = 3, /* for each round of a train */
    GUARD = 0xa5,
};
static const double TRAIN_US = 3000;
static const long long HOLD_CYCLES = 1000000000; /* at most: a queue may be full */

struct bench {
    const struct jpeg_batches *of;
    struct jpeg_lines lines;
    cudaEvent_t start, stop;
    uint32_t *go; /* pinned: the train is queued */
};

/* ---- right? */

static bool same_pixels(const struct image *expected, uint8_t *pixels) {
    struct image found = *expected;
    found.pixels = pixels;
    for (uint32_t y = 0; y < found.height; y++)
        if (memcmp(image_row(&found, y), image_row(expected, y), image_row_bytes(&found)) != 0)
            return false;
    return true;
}

static bool same_file(const struct jpeg_bytes *expected, const struct jpeg_encode_result *result,
                      const uint8_t *out) {
    return result->verdict == JPEG_ENCODE_WRITTEN && result->bytes == expected->length &&
           memcmp(out + result->offset, expected->data, expected->length) == 0;
}

/* FOUND: the turn's pixels, or the line's files. */
static enum status judge(const struct bench *bench, const struct jpeg_turn *turn, uint8_t *found,
                         struct failure *failure) {
    const struct jpeg_encode_result *results =
        jpeg_lines_encode(&bench->lines) ? jpeg_encode_results(&turn->encode) : NULL;
    for (int i = 0; i < bench->of->batch; i++) {
        const struct jpeg_subject *subject =
            &bench->of->subjects[jpeg_turn_subject(&bench->lines, turn, i)];
        if (jpeg_lines_decode(&bench->lines) && turn->decode.facts[i].flags)
            return fail(failure, STATUS_INTERNAL, "picture %d of %d was refused: flags %x", i,
                        bench->of->batch, turn->decode.facts[i].flags);
        const bool same =
            results ? same_file(jpeg_work_result(bench->of->work, subject), &results[i], found)
                    : same_pixels(&subject->pixels, found + i * bench->lines.pixel_stride);
        if (!same)
            return fail(failure, STATUS_INTERNAL, "picture %d of %d is not the CPU codec's", i,
                        bench->of->batch);
    }
    return STATUS_OK;
}

/* The line's next batch, over bytes of another kind. */
static enum status check_batch(const struct bench *bench, struct jpeg_line *line, uint8_t *found,
                               struct failure *failure) {
    const struct jpeg_turn *turn = &line->turns[line->next];
    uint8_t *const from = jpeg_lines_encode(&bench->lines) ? line->out : turn->pixels;
    const size_t bytes = jpeg_lines_encode(&bench->lines)
                             ? bench->lines.out_bytes
                             : bench->lines.pixel_stride * bench->of->batch;
    CUDA_TRY(failure, cudaMemset(from, GUARD, bytes));
    CUDA_TRY(failure, cudaDeviceSynchronize());
    enum status status = jpeg_line_queue(&bench->lines, line, failure);
    if (!status) status = jpeg_line_wait(line, failure);
    if (status) return status;
    CUDA_TRY(failure, cudaMemcpy(found, from, bytes, cudaMemcpyDeviceToHost));
    return judge(bench, turn, found, failure);
}

static enum status check(struct bench *bench, struct failure *failure) {
    const int count = bench->of->batch, subjects = bench->of->subject_count;
    const int batches = std::min(bench->lines.turns, (subjects + count - 1) / count);
    uint8_t *found = (uint8_t *)malloc(
        std::max(bench->lines.out_bytes, bench->lines.pixel_stride * bench->of->batch));
    enum status status =
        found ? STATUS_OK : fail(failure, STATUS_NO_MEMORY, "no memory to check results");
    for (int l = 0; l < bench->of->streams; l++)
        for (int i = 0; !status && i < batches; i++)
            status = check_batch(bench, &bench->lines.all[l], found, failure);
    free(found);
    return status;
}

/* ---- times */

static __global__ void hold_kernel(const volatile uint32_t *go, long long cycles) {
    const long long until = clock64() + cycles;
    while (!*go && clock64() < until) {
    }
}

static double median(double *values, int count) {
    std::sort(values, values + count);
    return values[count / 2];
}

/* Microseconds of a train of TRAIN batches on each line. */
static enum status time_train(struct bench *bench, int train, double *us, struct failure *failure) {
    struct jpeg_line *lines = bench->lines.all;
    const int count = bench->of->streams;
    enum status status = STATUS_OK;
    float ms;
    *(volatile uint32_t *)bench->go = 0;
    hold_kernel<<<1, 1, 0, lines[0].context.stream>>>(bench->go, HOLD_CYCLES);
    CUDA_TRY(failure, cudaEventRecord(bench->start, lines[0].context.stream));
    for (int l = 1; l < count; l++)
        CUDA_TRY(failure, cudaStreamWaitEvent(lines[l].context.stream, bench->start, 0));
    for (int i = 0; !status && i < train; i++)
        for (int l = 0; !status && l < count; l++)
            status = jpeg_line_queue(&bench->lines, &lines[l], failure);
    for (int l = 1; l < count; l++) {
        CUDA_TRY(failure, cudaEventRecord(lines[l].end, lines[l].context.stream));
        CUDA_TRY(failure, cudaStreamWaitEvent(lines[0].context.stream, lines[l].end, 0));
    }
    CUDA_TRY(failure, cudaEventRecord(bench->stop, lines[0].context.stream));
    *(volatile uint32_t *)bench->go = 1;
    if (status) return status;
    CUDA_TRY(failure, cudaEventSynchronize(bench->stop));
    CUDA_TRY(failure, cudaEventElapsedTime(&ms, bench->start, bench->stop));
    *us = 1e3 * ms;
    return STATUS_OK;
}

static enum status time_trains(struct bench *bench, double *batch_us, struct failure *failure) {
    static double us[JPEG_ROUNDS_MAX];
    const int streams = bench->of->streams, rounds = bench->of->rounds;
    double first = 0;
    enum status status = time_train(bench, 1, &first, failure);
    if (!status) status = time_train(bench, 1, &first, failure);
    const int train =
        first > 0 ? std::clamp((int)(TRAIN_US / first), (int)TRAIN_MIN, (int)TRAIN_MAX) : 1;
    for (int i = 0; !status && i < rounds; i++) status = time_train(bench, train, &us[i], failure);
    if (!status) *batch_us = median(us, rounds) / (train * streams);
    return status;
}

static enum status time_alone(struct bench *bench, double *alone_us, struct failure *failure) {
    static double us[ALONE_ROUNDS * JPEG_ROUNDS_MAX];
    const int rounds = ALONE_ROUNDS * bench->of->rounds;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < rounds; i++) {
        const int64_t start = clock_ns();
        status = jpeg_line_queue(&bench->lines, &bench->lines.all[0], failure);
        if (!status) status = jpeg_line_wait(&bench->lines.all[0], failure);
        us[i] = (double)(clock_ns() - start) / 1e3;
    }
    if (!status) *alone_us = median(us, rounds);
    return status;
}

/* ---- all of it */

static double mean_file(const struct jpeg_batches *of) {
    double sum = 0;
    for (int s = 0; s < of->subject_count; s++)
        sum += (double)(of->work == JPEG_WORK_ENCODE ? of->subjects[s].encoded.length
                                                     : of->subjects[s].file.length);
    return sum / of->subject_count;
}

static enum status open_bench(struct bench *bench, struct failure *failure) {
    CUDA_TRY(failure, cudaSetDevice(bench->of->device));
    CUDA_TRY(failure, cudaEventCreate(&bench->start));
    CUDA_TRY(failure, cudaEventCreate(&bench->stop));
    CUDA_TRY(failure, cudaMallocHost((void **)&bench->go, sizeof *bench->go));
    enum status status = jpeg_lines_size(&bench->lines, failure);
    for (int l = 0; !status && l < bench->of->streams; l++)
        status = jpeg_line_open(&bench->lines, &bench->lines.all[l], failure);
    return status;
}

static void close_bench(struct bench *bench) {
    for (int l = 0; l < bench->of->streams; l++) jpeg_line_close(&bench->lines.all[l]);
    if (bench->start) cudaEventDestroy(bench->start);
    if (bench->stop) cudaEventDestroy(bench->stop);
    cudaFreeHost(bench->go);
    cudaGetLastError();
    free(bench);
}

enum status jpeg_batches_measure(const struct jpeg_batches *batches,
                                 struct jpeg_batches_times *times, struct failure *failure) {
    if (batches->batch < 1 || batches->batch > JPEG_BATCH_MAX || batches->streams < 1 ||
        batches->streams > JPEG_STREAMS_MAX || batches->subject_count < 1 ||
        batches->subject_count > JPEG_LINES_SUBJECTS_MAX || batches->rounds < 1 ||
        batches->rounds > JPEG_ROUNDS_MAX)
        return fail(failure, STATUS_BAD_PARAM,
                    "more pictures, streams or rounds than there may be");
    struct bench *bench = (struct bench *)calloc(1, sizeof *bench);
    if (!bench) return fail(failure, STATUS_NO_MEMORY, "no memory for the benchmark");
    bench->of = bench->lines.of = batches;
    *times = {};
    times->file_bytes = mean_file(batches);
    enum status status = open_bench(bench, failure);
    if (!status) status = check(bench, failure);
    if (!status) status = time_trains(bench, &times->batch_us, failure);
    if (!status && batches->batch * batches->streams == 1)
        status = time_alone(bench, &times->alone_us, failure);
    close_bench(bench);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/jpeg_cores.h"

#include "pipeline/codec.h"
#include "tests/bench/burin-bench/jpeg_work.h"
#include "tests/bench/burin-bench/measurement.h"

#include <stdlib.h>
#include <string.h>

/* The memory of one core, which fails by itself. */
struct core {
    struct image pixels, worked;
    struct jpeg_bytes file;
    size_t room;
    enum status status;
    struct failure failure;
};

struct round {
    const struct jpeg_batches *of;
    struct core *cores;
};

static bool open_core(struct core *core, const struct image *shape) {
    core->pixels = core->worked = *shape;
    core->room = codec_encode_bound(shape, NULL, FORMAT_JPEG);
    core->pixels.pixels = calloc(1, image_bytes(shape));
    core->worked.pixels = calloc(1, image_bytes(shape));
    core->file.data = malloc(core->room);
    return core->pixels.pixels && core->worked.pixels && core->file.data;
}

static void close_core(struct core *core) {
    free(core->pixels.pixels);
    free(core->worked.pixels);
    free(core->file.data);
}

static enum status do_subject(const struct jpeg_batches *of, struct core *core,
                              const struct jpeg_subject *subject) {
    const struct image *pixels = of->work == JPEG_WORK_ENCODE ? &subject->pixels : &core->pixels;
    enum status status = STATUS_OK;
    core->file.length = core->room;
    if (of->work != JPEG_WORK_ENCODE)
        status = jpeg_work_decode(&subject->file, &core->pixels, &core->failure);
    if (!status && of->work == JPEG_WORK_BOTH) {
        status = jpeg_work_operate(of->op, of->params, pixels, &core->worked, &core->failure);
        pixels = &core->worked;
    }
    if (!status && of->work != JPEG_WORK_DECODE)
        status = jpeg_work_encode(pixels, of->quality, &core->file, &core->failure);
    return status;
}

/* Gaps between rows are 0 on both sides. */
static enum status check(const struct jpeg_batches *of, struct core *core,
                         const struct jpeg_subject *subject) {
    const struct jpeg_bytes *file = jpeg_work_result(of->work, subject);
    const bool same = of->work == JPEG_WORK_DECODE
                          ? memcmp(core->pixels.pixels, subject->pixels.pixels,
                                   image_bytes(&subject->pixels)) == 0
                          : core->file.length == file->length &&
                                memcmp(core->file.data, file->data, file->length) == 0;
    return same ? STATUS_OK : fail(&core->failure, STATUS_INTERNAL, "its result is wrong");
}

static void do_core(void *argument, int index) {
    const struct round *round = argument;
    const struct jpeg_batches *of = round->of;
    struct core *core = &round->cores[index];
    for (int i = 0; !core->status && i < of->subject_count; i++) {
        const struct jpeg_subject *subject = &of->subjects[(index + i) % of->subject_count];
        core->status = do_subject(of, core, subject);
        if (!core->status && i == 0) core->status = check(of, core, subject);
    }
}

static enum status time_rounds(struct round *round, struct pool *pool, double *picture_us,
                               struct failure *failure) {
    static double us[JPEG_ROUNDS_MAX];
    const int cores = pool_threads(pool), rounds = round->of->rounds;
    for (int i = -1; i < rounds; i++) {
        const int64_t start = clock_ns();
        pool_run(pool, do_core, round, cores);
        if (i >= 0) us[i] = 1e3 * ns_to_ms(clock_ns() - start);
        for (int c = 0; c < cores; c++)
            if (round->cores[c].status) {
                *failure = round->cores[c].failure;
                return round->cores[c].status;
            }
    }
    *picture_us = measurement_median(us, rounds) / (cores * round->of->subject_count);
    return STATUS_OK;
}

enum status jpeg_cores_measure(const struct jpeg_batches *batches, struct pool *pool,
                               double *picture_us, struct failure *failure) {
    const int cores = pool_threads(pool);
    struct round round = { batches, calloc((size_t)cores, sizeof *round.cores) };
    bool room = round.cores && batches->rounds <= JPEG_ROUNDS_MAX;
    for (int c = 0; room && c < cores; c++)
        room = open_core(&round.cores[c], &batches->subjects[0].pixels);
    const enum status status =
        room ? time_rounds(&round, pool, picture_us, failure)
             : fail(failure, STATUS_NO_MEMORY, "no memory for %d cores' pictures", cores);
    for (int c = 0; round.cores && c < cores; c++) close_core(&round.cores[c]);
    free(round.cores);
    return status;
}

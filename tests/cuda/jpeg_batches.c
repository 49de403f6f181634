// SPDX-License-Identifier: Apache-2.0
/* The GPU's rows of `burin bench jpeg`: every work, by batch and streams, gives times; a result
 * that is not the expected one gives none. nvJPEG's rows where its library is.
 *
 * covers: tests/bench/burin-bench/jpeg_lines.cu tests/bench/burin-bench/nvjpeg_batches.cu */
#include "tests/bench/burin-bench/jpeg_batches.h"
#include "tests/bench/burin-bench/nvjpeg_batches.h"

#include "pipeline/device.h"
#include "pipeline/registry.h"
#include "tests/bench/burin-bench/jpeg_subjects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 333, HEIGHT = 250, QUALITY = 85 };

static struct jpeg_scenes scenes;
static struct jpeg_subjects subjects;
static struct params params;
static const struct op *op;

static void make_subjects(enum jpeg_kind kind) {
    struct failure failure = { 0 };
    op = registry_find("brightness");
    assert_non_null(op);
    params_init(&params, op->params);
    assert_int_equal(jpeg_scenes_make(&scenes, NULL, WIDTH, HEIGHT, &failure), STATUS_OK);
    assert_int_equal(jpeg_subjects_make(&subjects, &scenes, kind, QUALITY, op, &params, &failure),
                     STATUS_OK);
}

static void release(void) {
    jpeg_subjects_release(&subjects);
    jpeg_scenes_release(&scenes);
}

static struct jpeg_batches batches_of(enum jpeg_work work, int batch, int streams) {
    return (struct jpeg_batches){ .work = work,
                                  .batch = batch,
                                  .streams = streams,
                                  .quality = QUALITY,
                                  .subjects = subjects.all,
                                  .subject_count = subjects.count,
                                  .op = op,
                                  .params = &params,
                                  .rounds = 3 };
}

static void every_work_has_times(void **state) {
    (void)state;
    static const int batches[] = { 1, 7, 65 };
    for (int kind = 0; kind < JPEG_KINDS; kind++) {
        make_subjects((enum jpeg_kind)kind);
        for (int i = 0; i < 9; i++) {
            const struct jpeg_batches one =
                batches_of((enum jpeg_work)(i % 3), batches[i / 3], i % 2 ? 3 : 1);
            struct jpeg_batches_times times;
            struct failure failure = { 0 };
            if (jpeg_batches_measure(&one, &times, &failure))
                fail_msg("kind %d, work %d, %d: %s", kind, (int)one.work, one.batch,
                         failure.message);
            assert_true(times.batch_us > 0 && times.file_bytes > 0 && times.difference == 0);
            assert_true((times.alone_us > 0) == (one.batch == 1 && one.streams == 1));
        }
        release();
    }
}

/* A byte of what is expected of subject 5 is changed. */
static void check_spoiled(uint8_t *byte, enum jpeg_work work, int batch) {
    const struct jpeg_batches one = batches_of(work, batch, 1);
    struct jpeg_batches_times times;
    struct failure failure = { 0 };
    *byte ^= 1;
    assert_int_equal(jpeg_batches_measure(&one, &times, &failure), STATUS_INTERNAL);
    assert_non_null(strstr(failure.message, "is not the CPU codec's"));
    *byte ^= 1;
}

static void what_is_wrong_has_no_times(void **state) {
    (void)state;
    for (int batch = 1; batch < 10; batch += 8) {
        make_subjects(JPEG_KIND_420);
        struct jpeg_subject *one = &subjects.all[5];
        check_spoiled(one->pixels.pixels + 500, JPEG_WORK_DECODE, batch);
        check_spoiled(one->encoded.data + one->encoded.length - 9, JPEG_WORK_ENCODE, batch);
        check_spoiled(one->worked.data + one->worked.length - 9, JPEG_WORK_BOTH, batch);
        release();
    }
}

static void nvjpeg_beside(void **state) {
    (void)state;
    const char *backend = nvjpeg_backend();
    printf("%s\n", backend ? backend : "no libnvjpeg here: its rows are left out");
    make_subjects(JPEG_KIND_420);
    for (int work = 0; work <= JPEG_WORK_BOTH; work++) {
        const struct jpeg_batches one = batches_of((enum jpeg_work)work, 9, 1);
        struct jpeg_batches_times times;
        struct failure failure = { 0 };
        const enum status status = nvjpeg_batches_measure(&one, &times, &failure);
        if (!backend)
            assert_int_equal(status, STATUS_BAD_PARAM);
        else if (status)
            printf("work %d: %s\n", work, failure.message);
        else
            assert_true(times.batch_us > 0 && times.difference <= NVJPEG_DIFFERENCE_MAX);
    }
    release();
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to measure");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_work_has_times),
        cmocka_unit_test(what_is_wrong_has_no_times),
        cmocka_unit_test(nvjpeg_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

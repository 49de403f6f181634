// SPDX-License-Identifier: Apache-2.0
/* The CPU's rows of `burin bench jpeg`: subjects are of the size, sampling and quality that was
 * asked for, and a result that is not the expected one gives no time.
 *
 * covers: tests/bench/burin-bench/jpeg_subjects.c tests/bench/burin-bench/jpeg_work.c */
#include "tests/bench/burin-bench/jpeg_cores.h"
#include "tests/bench/burin-bench/jpeg_subjects.h"

#include "pipeline/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jpeglib.h>

enum { WIDTH = 53, HEIGHT = 41, QUALITY = 77 };

static struct jpeg_scenes scenes;
static struct jpeg_subjects subjects;
static struct params params;
static const struct op *op;

static void make_subjects(enum jpeg_kind kind) {
    struct failure failure = { 0 };
    op = registry_find("threshold");
    assert_non_null(op);
    params_init(&params, op->params);
    assert_int_equal(jpeg_scenes_make(&scenes, NULL, WIDTH, HEIGHT, &failure), STATUS_OK);
    if (jpeg_subjects_make(&subjects, &scenes, kind, QUALITY, op, &params, &failure))
        fail_msg("%s", failure.message);
    assert_int_equal(subjects.count, scenes.count);
}

static void release(void) {
    jpeg_subjects_release(&subjects);
    jpeg_scenes_release(&scenes);
}

/* The kind in the file's own header. */
static enum jpeg_kind kind_of(const struct jpeg_bytes *file, unsigned *step) {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, file->data, file->length);
    jpeg_read_header(&cinfo, TRUE);
    assert_int_equal(cinfo.image_width, WIDTH);
    assert_int_equal(cinfo.image_height, HEIGHT);
    const int h = cinfo.comp_info[0].h_samp_factor, v = cinfo.comp_info[0].v_samp_factor;
    const int components = cinfo.num_components;
    *step = cinfo.quant_tbl_ptrs[0]->quantval[0];
    jpeg_destroy_decompress(&cinfo);
    if (components == 1) return JPEG_KIND_GRAY;
    return v == 2 ? JPEG_KIND_420 : h == 2 ? JPEG_KIND_422 : JPEG_KIND_444;
}

static void files_are_of_the_sampling_and_quality(void **state) {
    (void)state;
    for (int kind = 0; kind < JPEG_KINDS; kind++) {
        make_subjects((enum jpeg_kind)kind);
        for (int i = 0; i < subjects.count; i++) {
            const struct jpeg_subject *one = &subjects.all[i];
            unsigned step, again;
            assert_int_equal(kind_of(&one->file, &step), kind);
            assert_int_equal(step, (16 * (200 - 2 * QUALITY) + 50) / 100); /* T.81, K.1 */
            assert_int_equal(one->pixels.channels, kind == JPEG_KIND_GRAY ? 1 : 3);
            assert_int_equal(kind_of(&one->encoded, &again),
                             jpeg_kind_written((enum jpeg_kind)kind, QUALITY));
            assert_int_equal(again, step);
            assert_true(one->worked.length != one->encoded.length); /* two levels are left */
        }
        release();
    }
}

static void scenes_differ_and_are_busy(void **state) {
    (void)state;
    make_subjects(JPEG_KIND_420);
    assert_int_equal(scenes.count, JPEG_SUBJECTS_MAX);
    for (int i = 0; i < scenes.count; i++) {
        assert_true(subjects.all[i].file.length > WIDTH * HEIGHT / 8);
        for (int k = 0; k < i; k++)
            assert_true(memcmp(scenes.all[i].pixels, scenes.all[k].pixels,
                               image_bytes(&scenes.all[i])) != 0);
    }
    release();
}

static void a_folder_without_photographs(void **state) {
    (void)state;
    struct failure failure = { 0 };
    assert_int_equal(jpeg_scenes_make(&scenes, "/nonexistent", WIDTH, HEIGHT, &failure),
                     STATUS_NOT_AN_IMAGE);
    assert_non_null(strstr(failure.message, "/nonexistent"));
    release();
}

static enum status measure(enum jpeg_work work, struct pool *pool) {
    const struct jpeg_batches batches = { .work = work,
                                          .quality = QUALITY,
                                          .subjects = subjects.all,
                                          .subject_count = subjects.count,
                                          .op = op,
                                          .params = &params,
                                          .rounds = 1 };
    struct failure failure = { 0 };
    double us = -1;
    const enum status status = jpeg_cores_measure(&batches, pool, &us, &failure);
    if (status)
        assert_non_null(strstr(failure.message, "its result is wrong"));
    else
        assert_true(us > 0);
    return status;
}

/* A byte of what is expected is changed: work that makes it has no time, other work has. */
static void check_spoiled(uint8_t *byte, enum jpeg_work work, struct pool *pool) {
    *byte ^= 1;
    assert_int_equal(measure(work, pool), STATUS_INTERNAL);
    *byte ^= 1;
    assert_int_equal(measure(work, pool), STATUS_OK);
}

static void what_is_wrong_has_no_time(void **state) {
    (void)state;
    struct pool *pools[] = { NULL, pool_create(3) };
    for (int i = 0; i < 2; i++) {
        make_subjects(JPEG_KIND_420);
        struct jpeg_subject *first = &subjects.all[0];
        check_spoiled(first->pixels.pixels + 5, JPEG_WORK_DECODE, pools[i]);
        check_spoiled(first->encoded.data + first->encoded.length - 9, JPEG_WORK_ENCODE, pools[i]);
        check_spoiled(first->worked.data + first->worked.length - 9, JPEG_WORK_BOTH, pools[i]);
        release();
    }
    pool_destroy(pools[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_of_the_sampling_and_quality),
        cmocka_unit_test(scenes_differ_and_are_busy),
        cmocka_unit_test(a_folder_without_photographs),
        cmocka_unit_test(what_is_wrong_has_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* file_scenes.h - batches of jobs of every kind of file, plan and wish (file_jobs.h).
 *
 * Used by:  tests/server/jobs/codec_choice.c, tests/cuda/lane_codec.c.
 */
#ifndef BURIN_FILE_SCENES_H
#define BURIN_FILE_SCENES_H

#include "tests/server/jobs/file_jobs.h"

static const char *const plans[] = {
    "",
    "brightness:shift=10",
    "grayscale",
    "minimum",
    "histogram;mean",
    "minimum;brightness:shift=10;mean",
    "grayscale;brightness:shift=3;threshold:level=99;mean",
    "carve:dx=-3",
    "mean;trim:tolerance=90;resize:width=60,enlarge=true;thumbhash",
};
enum { PLANS = sizeof plans / sizeof *plans };

/* Every kind of file with one kind of result, in as few batches as their samples allow. */
static inline void run_any_files_to(enum format type, int quality, uint32_t width,
                                    uint32_t height) {
    for (int p = 0; p < PLANS; p++) {
        const struct wish wish = { .type = type, .quality = quality, .margin = (size_t)p * 77 };
        add_all_kinds(plans[p], &wish, width, height);
        run_file_jobs();
    }
}

/* Jobs alternate between kinds of results. */
static inline void run_mixed_wishes(void) {
    static const struct wish wishes[] = {
        { .type = FORMAT_JPEG },
        { .type = FORMAT_PNG },
        { .type = FORMAT_JPEG, .json_only = true },
        { .type = FORMAT_JPEG, .quality = 100, .margin = 4095 },
        { .json_only = true },
        { .accept_damage = true, .background = 40 },
    };
    for (int p = 0; p < PLANS; p++)
        for (int turn = 0; turn < 2; turn++) {
            for (unsigned i = 0; i < 30; i++) {
                const uint32_t side = 9 + i;
                struct bytes file = i % 5 == 4
                                        ? png_of(side, 30, PNG_COLOR_TYPE_RGB, 8, NULL)
                                        : jpeg_of(side, 40 - i, 3, 2, 1 + (int)i % 2, i % 9, NULL);
                if (i % 7 == 6) damage_jpeg(&file);
                add_and_free(file, plans[p], &wishes[(i + (unsigned)turn) % 6]);
            }
            run_file_jobs();
        }
}

/* Limits from one that any quality fits to one that none does; every second file is small enough at
 * once. A refusal for the size is an answer, and is not run again. */
static inline void run_fitting(void) {
    for (int p = 0; p < 3; p++)
        for (int64_t max = 300; max < 9000; max = max * 4 / 3) {
            for (unsigned i = 0; i < 12; i++) {
                const struct wish wish = { .type = FORMAT_JPEG,
                                           .quality = i % 5 == 4 ? 98 : 60 + (int)i,
                                           .min_quality = i % 3 ? 0 : 1 + (int)i * 4,
                                           .max_bytes = i % 7 == 6 ? 0 : max,
                                           .progressive = i == 5 };
                const uint32_t side = i % 2 ? 24 : 90 + i;
                add_and_free(jpeg_of(side, 70, 3, 2, 2, i % 9, NULL), plans[p], &wish);
            }
            run_file_jobs();
        }
}

static inline void run_files_alone(void) {
    const struct wish wish = { .type = FORMAT_NONE };
    for (int p = 0; p < PLANS; p++) {
        add_and_free(jpeg_of(33, 17, 3, 2, 2, 6, NULL), plans[p], &wish);
        run_file_jobs();
    }
}

/* Plans with branches: results encoded by the device and by cores, one image as several files,
 * results of the trunk, and branches with values alone. */
static inline void run_several_outputs(void) {
    static const struct wish_output outputs[] = {
        { 1, FORMAT_JPEG, 85 }, { 2, FORMAT_PNG, 85 },  { 1, FORMAT_NONE, 40 },
        { 0, FORMAT_JPEG, 97 }, { 3, FORMAT_PNM, 85 },  { 3, FORMAT_JPEG, 70 },
        { 0, FORMAT_PNG, 85 },  { 2, FORMAT_JPEG, 50 },
    };
    static const char *const trees[] = {
        "|brightness:shift=10|grayscale;mean|minimum",
        "grayscale|edge|brightness:shift=3;threshold:level=99|mean;maximum",
        "mean|carve:dx=-3|carve:dy=-2|brightness:shift=-9",
        "minimum;brightness:shift=2|mean||grayscale",
        "|resize:width=9|resize:width=40,kernel=cubic|resize:width=20,height=11,fit=contain",
        "trim:tolerance=90|mean|flop;trim:tolerance=60;minimum|resize:width=40",
        "mean|trim:tolerance=90;resize:width=33|flop;trim:tolerance=60|",
    };
    for (int t = 0; t < 7; t++)
        for (int count = 1; count <= 8; count++) {
            const struct wish wish = { .outputs = outputs,
                                       .output_count = count,
                                       .json_only = count == 7,
                                       .margin = (size_t)t * 77 };
            add_all_kinds(trees[t], &wish, 21, 19);
            run_file_jobs();
        }
}

/* The first mask is whole, the second damaged, and so is the third with its image. */
static inline void run_masks(void) {
    struct bytes mask = png_of(30, 30, PNG_COLOR_TYPE_GRAY, 8, NULL);
    struct bytes broken = png_of(30, 30, PNG_COLOR_TYPE_GRAY, 8, NULL);
    memset(broken.data + broken.length / 2, 0, 9);
    for (int i = 0; i < 8; i++) {
        const struct wish wish = { .type = i % 2 ? FORMAT_JPEG : FORMAT_PNG };
        struct bytes file = jpeg_of(30, 30, 3, 2, 2, 0, NULL);
        if (i % 4 == 3) damage_jpeg(&file);
        const int number = add_file_job(&file, "carve:dx=-4", &wish);
        if (i < 6) add_mask(number, i % 2, i % 3 == 2 ? &broken : &mask);
        free(file.data);
    }
    run_file_jobs();
    free(mask.data);
    free(broken.data);
}

#endif

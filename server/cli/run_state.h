// SPDX-License-Identifier: Apache-2.0
/* run_state.h - everything that one `burin run` holds.
 *
 * Used by:  command_run.c, which fills it; run_report.c prints what came of it.
 * Owns:     what is said to be heap, the pool and the lane, until command_run.c frees them.
 * Threads:  one.
 */
#ifndef BURIN_RUN_STATE_H
#define BURIN_RUN_STATE_H

#include "pipeline/run.h"
#include "server/cli/progress_line.h"
#include "server/cli/run_options.h"
#include "server/jobs/codec_choice.h"

/* A file that a step wants beside the image. */
struct aux_file {
    uint8_t *bytes; /* heap */
    size_t length;
    struct probe probe;
};

/* Everything that one run holds; zeroed, then filled from top to bottom. */
struct run_state {
    struct run_options options;
    struct codec_limits limits;
    const struct device_driver *driver;
    int index;
    uint8_t *bytes; /* of the input, heap */
    size_t length;
    struct probe probe;
    struct aux_file aux[OP_AUX_MAX];         /* by their place in the operator's record */
    struct image shapes[PLAN_STEPS_MAX + 1]; /* before the first step and after each */
    struct pool *pool;
    struct lane *lane;
    struct run_item item;
    struct progress progress;
    struct progress_line line;
    struct codec_choice choice;
    struct metadata metadata;
    uint8_t *result; /* encoded, heap */
    size_t result_length, result_room;
    struct fitting fitting;
    uint32_t notes;
    struct timing timing;
};

#endif

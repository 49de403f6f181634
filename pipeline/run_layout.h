// SPDX-License-Identifier: Apache-2.0
/* run_layout.h - where a batch's images lie in a lane's memory, on the host and on the device.
 *
 * Used by:  run.c.
 * Owns:     nothing.
 * Threads:  the lane's.
 */
#ifndef BURIN_RUN_LAYOUT_H
#define BURIN_RUN_LAYOUT_H

#include "pipeline/run.h"

/* Whether step S is done by a later one, inside a kernel. */
static inline bool run_is_fused(const struct run_part *part, int s) {
    return part->items[0].fused >> s & 1;
}

size_t run_layout_aligned(size_t bytes);

/* One operator's call for item I, or for all of them; shapes and params set. */
struct op_call run_make_call(const struct run_part *part, int s, int i);
void run_make_calls(const struct run_part *part, int s, int count, struct op_call *calls);

/* Of `work`: what branches have in common, two halves which steps that make an image use in turn,
 * and the scratch behind them. In bytes. */
struct run_layout {
    size_t common;
    size_t half[2];
    size_t scratch;
};

/* Of the steps of part PART: those of another come before or after them. */
struct run_layout run_layout_of(struct lane *lane, const struct run_tree *tree, int part);

/* Bytes in front of the scratch. */
static inline size_t run_layout_images(const struct run_layout *layout) {
    return layout->common + layout->half[0] + layout->half[1];
}

/* The batch's memory, of items whose shapes and values are known. */
struct lane_need run_layout_need(struct lane *lane, const struct run_tree *tree);

/* What is copied each way. */
size_t run_uploaded_bytes(const struct run_tree *tree);
size_t run_downloaded_bytes(const struct run_tree *tree);

/* As the caller sees them: `in`, `out`, `aux` and `values`; pixels NULL where they never come to
 * the host. */
void run_place_host(struct lane *lane, struct run_tree *tree);

/* As the device sees them: the trunk's shapes[0] and `aux`; then, part by part and step by step,
 * shapes[S + 1]. */
void run_place_inputs(struct lane *lane, struct run_tree *tree);
void run_place_step(struct lane *lane, struct run_tree *tree, int part, int s,
                    const struct run_layout *layout);

/* Part PART, a branch, begins with what the trunk has made: where that lies now, and the images
 * beside it, and what it has in common with other branches. */
void run_place_branch(struct run_tree *tree, int part);

#endif

// SPDX-License-Identifier: Apache-2.0
/* run_layout.h - where a batch's images lie in a lane's memory, on the host and on the device.
 *
 * Used by:  run.c.
 * Owns:     nothing; the trunk's items have parameters and image of the call that branches share.
 * Fails:    never.
 * Threads:  the lane's.
 * Units:    bytes.
 */
#ifndef BURIN_RUN_LAYOUT_H
#define BURIN_RUN_LAYOUT_H

#include "pipeline/run.h"

/* True if a kernel of a later step does step S as well. */
static inline bool run_is_fused(const struct run_part *part, int s) {
    return part->items[0].fused >> s & 1;
}

/* The calls of step S for items 0 to COUNT - 1, with shapes and parameters. */
void run_make_calls(const struct run_part *part, int s, int count, struct op_call *calls);

/* Sizes of the areas of `work`, in this order: results of the call that branches share; two halves
 * that the steps that make an image write in turn; scratch. */
struct run_layout {
    size_t common;
    size_t half[2];
    size_t scratch;
};

/* For the steps of part PART; parts use `work` one after the other. */
struct run_layout run_layout_of(struct lane *lane, const struct run_tree *tree, int part);

/* Bytes in front of the scratch. */
static inline size_t run_layout_images(const struct run_layout *layout) {
    return layout->common + layout->half[0] + layout->half[1];
}

/* The batch's memory. Shapes of items and values are set. */
struct lane_need run_layout_need(struct lane *lane, const struct run_tree *tree);

/* Makes NEED enough for MORE too, which is another run of the same batch. */
void run_layout_join(struct lane_need *need, const struct lane_need *more);

/* Bytes that are copied to the device and back. */
size_t run_uploaded_bytes(const struct run_tree *tree);
size_t run_downloaded_bytes(const struct run_tree *tree);

/* Sets the host's pointers: `in`, `out`, `aux` and `values`; NULL for pixels that never reach the
 * host. */
void run_place_host(struct lane *lane, struct run_tree *tree);

/* Whether the device decodes images to where results lie, which other steps do not leave there. */
bool run_inputs_are_results(const struct run_tree *tree);

/* Set the device's pointers: the trunk's shapes[0] and `aux`; then, for each step of each part in
 * turn, shapes[S + 1]. */
void run_place_inputs(struct lane *lane, struct run_tree *tree);
void run_place_step(struct lane *lane, struct run_tree *tree, int part, int s,
                    const struct run_layout *layout);

/* Gives branch PART the trunk's result as it lies now, the trunk's `aux`, and the result of the
 * call that it shares with other branches. */
void run_place_branch(struct run_tree *tree, int part);

/* ---- the one call that branches share (plan_tree.h), for each item: it runs between the trunk and
 * the first branch, and its images lie at the beginning of `work` until the last branch is done */

/* Finds the call. The trunk's shapes are set. */
void run_common_find(struct run_tree *tree);

/* How many items have such a call. */
int run_common_count(const struct run_tree *tree);

/* Bytes of all its images; run_common_place places them from BASE on. */
size_t run_common_bytes(const struct run_tree *tree);
void run_common_place(struct run_tree *tree, uint8_t *base);

/* Makes CALLS, one for each item that has one, and returns their number. Branches are placed. */
int run_common_calls(const struct run_tree *tree, struct op_call *calls);

#endif

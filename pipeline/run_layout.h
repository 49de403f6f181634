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

/* The last step that makes an image; -1: none does, and the result is the input. */
int run_last_maker(const struct plan *plan);

/* Whether step S is done by a later one, inside a kernel. */
static inline bool run_is_fused(const struct lane *lane, int s) {
    return lane->fused >> s & 1;
}

/* One operator's calls, shapes and params set. */
void run_make_calls(const struct plan *plan, int index, struct run_item *items, int count,
                    struct op_call *calls);

/* Two halves of `work`, which steps that make an image use in turn, and the scratch behind them. */
struct run_layout {
    size_t half[2]; /* bytes */
    size_t scratch;
};

struct run_layout run_layout_of(struct lane *lane, const struct plan *plan, struct run_item *items,
                                int count);

/* The batch's memory, of items whose shapes and values are known. */
struct lane_need run_layout_need(struct lane *lane, const struct plan *plan, struct run_item *items,
                                 int count);

/* What is copied each way. */
size_t run_uploaded_bytes(const struct run_item *items, int count);
size_t run_downloaded_bytes(const struct plan *plan, const struct run_item *items, int count);

/* As the caller sees them: `in`, `out`, `aux` and `values`; pixels NULL where they never come to
 * the host. */
void run_place_host(struct lane *lane, const struct plan *plan, struct run_item *items, int count);

/* As the device sees them: shapes[0] and `aux`; then, step by step, shapes[S + 1]. */
void run_place_inputs(struct lane *lane, const struct plan *plan, struct run_item *items,
                      int count);
void run_place_step(struct lane *lane, const struct plan *plan, int s, struct run_item *items,
                    int count, const struct run_layout *layout);

#endif

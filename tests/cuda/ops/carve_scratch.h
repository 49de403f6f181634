// SPDX-License-Identifier: Apache-2.0
/* carve_scratch.h - how much of the GPU's memory carving may take, as in cuda/ops/carve.cu.
 */
#ifndef BURIN_TESTS_CUDA_OPS_CARVE_SCRATCH_H
#define BURIN_TESTS_CUDA_OPS_CARVE_SCRATCH_H

#include "pipeline/device.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/registry.h"

#include <math.h>

static inline uint32_t goal_side(const struct params *params, int target, int change,
                                 uint32_t now) {
    const long *number = params->number;
    return (uint32_t)(number[target] ? number[target] : (long)now + number[change]);
}

/* The size that CALL carves to, also where `show` makes the output another size. */
static inline struct image goal_of(const struct op_call *call) {
    struct image goal = call->in;
    goal.width = goal_side(call->params, CARVE_WIDTH, CARVE_DX, goal.width);
    goal.height = goal_side(call->params, CARVE_HEIGHT, CARVE_DY, goal.height);
    return goal;
}

/* The pixels of the input or of the goal, whichever has more. */
static inline double pixels_of(const struct op_call *call) {
    const struct image goal = goal_of(call);
    return fmax((double)image_pixels(&call->in), (double)image_pixels(&goal));
}

/* The shortest side of the input or, where carving enlarges, of the goal. */
static inline uint32_t shortest_of(const struct op_call *call) {
    const struct image *in = &call->in, goal = goal_of(call);
    uint32_t sides[] = { in->width, in->height, in->width, in->height };
    if (goal.width > in->width || goal.height > in->height)
        sides[2] = goal.width, sides[3] = goal.height;
    for (int i = 1; i < 4; i++) sides[0] = sides[i] < sides[0] ? sides[i] : sides[0];
    return sides[0];
}

/* The most bytes of scratch that carving may ask for, as in carve.cu. */
static inline double scratch_most(const struct op_call *call) {
    const struct image *in = &call->in, goal = goal_of(call);
    const double lines = (double)in->width + in->height + goal.width + goal.height;
    const uint32_t shortest = shortest_of(call);
    return (call->aux[CARVE_REMOVE].width ? 18 : 16) * pixels_of(call) +
           (shortest < 800 ? 384 << 10 : 0) + (shortest < 480 ? 1280 * lines : 0);
}

/* The bytes that carving asks for. Reads only CALL's parameters and shapes. */
static inline double scratch_bytes(struct lane *lane, const struct op_call *call) {
    return (double)device_cuda.scratch(lane, registry_find("carve"), call, 1);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* sharpen.h - the unsharp mask of a sample: the arithmetic that both devices share.
 *
 * Integers only. b is the sample of the blurred image: v + floor((2 amount (v - b) + 100) / 200),
 * clamped to 0..M, where |v - b| is over the threshold, else v; amount is in percent.
 * 2 * 1000 * 65535 fits into 31 bits.
 *
 * Used by:  sharpen, on both devices.
 */
#ifndef BURIN_OPS_SHARPEN_H
#define BURIN_OPS_SHARPEN_H

#include "pipeline/host_device.h"
#include "pipeline/param.h"

#include <stdint.h>

/* Places in the parameter list. */
enum { SHARPEN_SIGMA, SHARPEN_AMOUNT, SHARPEN_THRESHOLD };
enum { SHARPEN_AMOUNT_MAX = 1000 };

struct sharpen_rule {
    int32_t amount;
    int32_t threshold, max; /* in samples' own units */
};

HOST_DEVICE struct sharpen_rule sharpen_rule_of(const struct params *params, unsigned depth) {
    const int32_t scale = depth == 16 ? 257 : 1;
    struct sharpen_rule rule;
    rule.amount = (int32_t)params->number[SHARPEN_AMOUNT];
    rule.threshold = (int32_t)params->number[SHARPEN_THRESHOLD] * scale;
    rule.max = 255 * scale;
    return rule;
}

/* Exceeds any difference times any amount over 100, so the dividend is never negative. */
enum { SHARPEN_LIFT = SHARPEN_AMOUNT_MAX / 100 * 65536 };

HOST_DEVICE uint32_t sharpen_result(uint32_t v, uint32_t b, struct sharpen_rule rule) {
    const int32_t difference = (int32_t)v - (int32_t)b;
    const int32_t lifted = 2 * rule.amount * difference + 100 + 200 * SHARPEN_LIFT;
    const int32_t level = (int32_t)v + (int32_t)((uint32_t)lifted / 200) - SHARPEN_LIFT;
    const int32_t size = difference < 0 ? -difference : difference;
    if (size <= rule.threshold) return v;
    return (uint32_t)(level < 0 ? 0 : level > rule.max ? rule.max : level);
}

#endif

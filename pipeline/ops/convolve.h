// SPDX-License-Identifier: Apache-2.0
/* convolve.h - a 3x3 or 5x5 kernel of integers over each colour channel: the shared arithmetic.
 *
 * Integers only. r = sum of taps[i] * sample, the window centred on the pixel and not mirrored
 * (correlation, as OpenCV's filter2D and libvips' conv do), the border replicated; |r| where `abs`;
 * result = floor((2 r + d) / (2 d)) + offset, clamped to 0..M, so rounding is half up: the same as
 * floor((r + floor(d / 2)) / d), since 2 r + d is odd where d is. d is the divisor; given as 0, the
 * sum of the taps, or 1 where that is not positive. |r| + d / 2 is at most 25 * 1024 * 65535 + 2^19
 * < 2^31.
 *
 * An image with alpha is laid over the background before; alpha is kept.
 *
 * Used by:  convolve, on both devices.
 */
#ifndef BURIN_OPS_CONVOLVE_H
#define BURIN_OPS_CONVOLVE_H

#include "pipeline/host_device.h"
#include "pipeline/param.h"

#include <stdint.h>

/* Places in the parameter list. */
enum { CONVOLVE_TAPS, CONVOLVE_DIVISOR, CONVOLVE_OFFSET, CONVOLVE_ABS, CONVOLVE_BACKGROUND };

struct convolve_rule {
    int32_t taps[TAPS_MAX];
    int32_t reach; /* 1 or 2 */
    int32_t half;  /* of the divisor, 1..2^20, rounded down */
    uint32_t reciprocal, shift;
    int32_t offset, max; /* in samples' own units */
    int32_t absolute;    /* 0 or -1 */
};

/* floor(n / divisor) = (2 n * reciprocal >> 32) >> shift for n < 2^31 (Granlund and Montgomery,
 * Division by Invariant Integers using Multiplication). */
HOST_DEVICE void convolve_divisor(struct convolve_rule *rule, int32_t divisor) {
    uint32_t log2_up = 0;
    while ((INT64_C(1) << log2_up) < divisor) log2_up++;
    const uint64_t power = UINT64_C(1) << (31 + log2_up);
    rule->half = divisor / 2;
    rule->shift = log2_up;
    rule->reciprocal = (uint32_t)((power + (uint32_t)divisor - 1) / (uint32_t)divisor);
}

HOST_DEVICE struct convolve_rule convolve_rule_of(const struct params *params, unsigned depth) {
    const int32_t scale = depth == 16 ? 257 : 1;
    struct convolve_rule rule;
    int32_t sum = 0;
    for (int i = 0; i < TAPS_MAX; i++) {
        rule.taps[i] = i < params->tap_count ? params->taps[i] : 0;
        sum += rule.taps[i];
    }
    const int32_t given = (int32_t)params->number[CONVOLVE_DIVISOR];
    convolve_divisor(&rule, given > 0 ? given : sum > 0 ? sum : 1);
    rule.reach = params->tap_count == TAPS_MAX ? 2 : 1;
    rule.offset = (int32_t)params->number[CONVOLVE_OFFSET] * scale;
    rule.max = 255 * scale;
    rule.absolute = params->number[CONVOLVE_ABS] ? -1 : 0;
    return rule;
}

/* Below 0, floor(n / d) is the complement of floor(~n / d). */
HOST_DEVICE int32_t convolve_result(int32_t sum, const struct convolve_rule *rule) {
    const int32_t turn = -(int32_t)(sum < 0) & rule->absolute;
    const int32_t n = (sum ^ turn) - turn + rule->half, sign = -(int32_t)(n < 0);
    const uint64_t twice = 2 * (uint32_t)(n ^ sign);
    const uint32_t size = (uint32_t)(twice * rule->reciprocal >> 32) >> rule->shift;
    const int32_t level = ((int32_t)size ^ sign) + rule->offset;
    return level < 0 ? 0 : level > rule->max ? rule->max : level;
}

#endif

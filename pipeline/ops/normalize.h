// SPDX-License-Identifier: Apache-2.0
/* normalize.h - the range of samples between two percentiles, stretched to the whole range.
 *
 * Of N visible pixels c(v) have a value up to v: the luma, or each colour channel by itself.
 *
 *   low  = the least v with c(v) > N lower / 100
 *   high = the least v with c(v) >= N upper / 100
 *
 * stretch.h makes the new samples. With lower 0 and upper 100 these are the least and the largest
 * value. Nothing changes where high is not above low, or where no pixel is visible.
 *
 * Used by:  normalize, on both devices.
 */
#ifndef BURIN_OPS_NORMALIZE_H
#define BURIN_OPS_NORMALIZE_H

#include "pipeline/ops/stretch.h"
#include "pipeline/param.h"

/* Places in the parameter list. */
enum { NORMALIZE_LOWER, NORMALIZE_UPPER, NORMALIZE_CHANNEL };
enum { NORMALIZE_LUMA, NORMALIZE_EACH };

/* The percentiles, in thousandths of a percent. */
struct normalize_rule {
    uint32_t lower, upper;
};

/* No change if `high` is not above `low`. */
struct normalize_range {
    uint32_t low, high;
};

HOST_DEVICE struct normalize_rule normalize_rule_of(const struct params *params) {
    struct normalize_rule rule;
    rule.lower = (uint32_t)params->number[NORMALIZE_LOWER];
    rule.upper = (uint32_t)params->number[NORMALIZE_UPPER];
    return rule;
}

/* Counts a level with SUM = c(v) of PIXELS: `low` and `high` are the numbers of levels below
 * them. */
HOST_DEVICE void normalize_count(struct normalize_range *range, struct normalize_rule rule,
                                 uint64_t sum, uint64_t pixels) {
    range->low += sum * 100000 <= pixels * rule.lower;
    range->high += sum * 100000 < pixels * rule.upper;
}

HOST_DEVICE uint32_t normalize_of(uint32_t value, struct normalize_range range, uint32_t max) {
    return range.high > range.low ? stretch(value, range.low, range.high, max) : value;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* edge.h - Sobel edges: the arithmetic that both devices share.
 *
 * Integers only, or roots that provably round to the same integer. M is the largest sample.
 * level  = luma (gray as it is) + brightness, clamped to 0..M; of an image with alpha, laid over
 *          the background before
 * m      = min(M, floor(sqrt(gx^2 + gy^2))) of the levels, correlation with sobel3 or sobel5
 * result = m > threshold ? (binary ? M : m) : 0; 0 where `border` is zero and the window leaves the
 *          image, else the border is replicated. The result is gray; alpha is kept.
 *
 * Used by:  edge, on both devices.
 */
#ifndef BURIN_OPS_EDGE_H
#define BURIN_OPS_EDGE_H

#include "pipeline/background.h"
#include "pipeline/ops/brightness.h"
#include "pipeline/param.h"

#include <math.h>
#include <stdint.h>

/* Places in the parameter list. */
enum { EDGE_KERNEL, EDGE_BRIGHTNESS, EDGE_THRESHOLD, EDGE_BINARY, EDGE_BORDER, EDGE_BACKGROUND };
enum { EDGE_SOBEL3, EDGE_SOBEL5 };
enum { EDGE_REPLICATE, EDGE_ZERO };

/* The parameters in units of samples. */
struct edge_rule {
    struct brightness_rule shift;
    uint32_t max, threshold;
    uint32_t white;  /* M where binary, else 0 */
    uint32_t reach;  /* 1 or 2 */
    uint32_t margin; /* pixels at every side that become 0 */
    struct background under;
};

HOST_DEVICE struct edge_rule edge_rule_of(const struct params *params, unsigned channels,
                                          unsigned depth) {
    struct edge_rule rule;
    rule.shift = brightness_rule_of(params->number[EDGE_BRIGHTNESS], depth);
    rule.max = depth == 16 ? 65535 : 255;
    rule.threshold = (uint32_t)params->number[EDGE_THRESHOLD] * (depth == 16 ? 257 : 1);
    rule.white = params->number[EDGE_BINARY] ? rule.max : 0;
    rule.reach = params->number[EDGE_KERNEL] == EDGE_SOBEL5 ? 2 : 1;
    rule.margin = params->number[EDGE_BORDER] == EDGE_ZERO ? rule.reach : 0;
    rule.under = background_of(params->number[EDGE_BACKGROUND], channels, depth);
    return rule;
}

/* min(65535, floor(sqrt(squares))). The float root is off by less than 1: squares as float by 2^-24
 * of itself, the root by 2^-24 more, together under 0.01 at 2^16. So a step of one either way
 * corrects it. */
HOST_DEVICE uint32_t edge_root(uint64_t squares) {
    if (squares >= UINT64_C(65535) * 65535) return 65535;
    const uint32_t n = (uint32_t)squares;
    uint32_t root = (uint32_t)sqrtf((float)n);
    if (root > 65535 || root * root > n) root--;
    return (root + 1) * (root + 1) <= n ? root + 1 : root;
}

HOST_DEVICE uint32_t edge_result(int32_t gx, int32_t gy, const struct edge_rule *rule) {
    const uint32_t root = edge_root((uint64_t)((int64_t)gx * gx) + (uint64_t)((int64_t)gy * gy));
    const uint32_t m = root < rule->max ? root : rule->max;
    return m > rule->threshold ? m | rule->white : 0;
}

#endif

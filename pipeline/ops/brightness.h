// SPDX-License-Identifier: Apache-2.0
/* brightness.h - a constant added to a sample and the sum clamped, without widening the sample.
 *
 * clamp(v + add, 0, M) = min(max(v, low), high) + add, where low = -add for add < 0 and high =
 * M - add for add > 0: the sum never leaves 0..M, so lanes of any width hold it.
 *
 * Used by:  brightness and edge, on both devices.
 */
#ifndef BURIN_OPS_BRIGHTNESS_H
#define BURIN_OPS_BRIGHTNESS_H

#include "pipeline/host_device.h"

#include <stdint.h>

enum { BRIGHTNESS_SHIFT }; /* place in the parameter list */

struct brightness_rule {
    uint16_t low, high;
    uint16_t add; /* modulo 2^depth */
};

/* SHIFT is -255..255; for 16 bit it is multiplied by 257. */
HOST_DEVICE struct brightness_rule brightness_rule_of(long shift, unsigned depth) {
    const int32_t scale = depth == 16 ? 257 : 1, add = (int32_t)shift * scale, max = 255 * scale;
    struct brightness_rule rule;
    rule.low = (uint16_t)(add < 0 ? -add : 0);
    rule.high = (uint16_t)(add > 0 ? max - add : max);
    rule.add = (uint16_t)(add & max);
    return rule;
}

HOST_DEVICE uint32_t brightness_of(uint32_t value, struct brightness_rule rule, uint32_t max) {
    const uint32_t least = value > rule.low ? value : rule.low;
    return ((least < rule.high ? least : rule.high) + rule.add) & max;
}

#endif

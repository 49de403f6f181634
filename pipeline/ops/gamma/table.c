// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/gamma.h"

#include <math.h>

/* MAX in double, and both divisions: equal wherever pow is. */
static double level(uint32_t value, double max, long gamma) {
    return floor(max * pow(value / max, 1000.0 / (double)gamma) + 0.5);
}

void gamma_table8(long gamma, uint8_t table[256]) {
    for (uint32_t v = 0; v < 256; v++) table[v] = (uint8_t)level(v, 255, gamma);
}

void gamma_table16(long gamma, uint32_t first, uint32_t end, uint16_t *table) {
    for (uint32_t v = first; v < end; v++) table[v] = (uint16_t)level(v, 65535, gamma);
}

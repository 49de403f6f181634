// SPDX-License-Identifier: Apache-2.0
/* light.h - tables between samples as they are stored and 16 bits of linear light.
 *
 * The curve is sRGB's for every profile: with v in 0..1, light is v / 12.92 up to
 * v = 0.04045, ((v + 0.055) / 1.055)^2.4 above, and back 12.92 light up to 0.0031308,
 * 1.055 light^(1 / 2.4) - 0.055 above; both in double, times the largest number, half up. An 8-bit
 * sample comes back unchanged.
 *
 * Used by:  resize, on both devices; the host uploads them to a GPU.
 * Owns:     the tables, until the process ends; they are made on first use.
 * Threads:  any.
 * Source:   IEC 61966-2-1.
 */
#ifndef BURIN_OPS_RESIZE_LIGHT_H
#define BURIN_OPS_RESIZE_LIGHT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIGHT_LEVELS = 65536 };

struct light_tables {
    uint16_t of_8[256], of_16[LIGHT_LEVELS]; /* light of a sample */
    uint8_t to_8[LIGHT_LEVELS];              /* a sample of light */
    uint16_t to_16[LIGHT_LEVELS];
};

const struct light_tables *light_tables(void);

#ifdef __cplusplus
}
#endif
#endif

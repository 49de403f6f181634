// SPDX-License-Identifier: Apache-2.0
/* gamma.h - the table that samples go through. The host makes it for both devices, so no device
 * computes powers.
 *
 * Used by:  gamma, on both devices.
 * Threads:  any; parts of a table may be made at the same time.
 */
#ifndef BURIN_OPS_GAMMA_H
#define BURIN_OPS_GAMMA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GAMMA_GAMMA }; /* place in the parameter list */

/* Set TABLE[v] = floor(M (v / M)^(1 / gamma) + 1/2) for v = FIRST..END-1; GAMMA is in thousandths.
 * 8 bit, then 16. */
void gamma_table8(long gamma, uint8_t table[256]);
void gamma_table16(long gamma, uint32_t first, uint32_t end, uint16_t *table);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
/* gamma.h - the table that samples go through. The host makes it for both devices, so no device
 * computes powers.
 *
 * Used by:  gamma, on both devices.
 * Threads:  any.
 */
#ifndef BURIN_OPS_GAMMA_H
#define BURIN_OPS_GAMMA_H

#include "pipeline/ops/tone.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GAMMA_GAMMA }; /* place in the parameter list */

/* LEVELS[v] = floor(M (v / M)^(1 / gamma) + 1/2) */
tone_fill gamma_fill;

#ifdef __cplusplus
}
#endif
#endif

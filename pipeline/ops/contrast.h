// SPDX-License-Identifier: Apache-2.0
/* contrast.h - samples moved away from the middle of their range, or towards it.
 *
 * v' = floor((f (2 v - M) + 1000 M + 1000) / 2000), clamped to 0..M; f is the factor in
 * thousandths: M / 2 + factor (v - M / 2), rounded half up. The largest sum, of 16 bits and factor
 * 10, is below 1000 * 10 * 65535 + 1001 * 65535 < 2^30.
 *
 * Used by:  contrast, on both devices.
 * Threads:  any.
 */
#ifndef BURIN_OPS_CONTRAST_H
#define BURIN_OPS_CONTRAST_H

#include "pipeline/ops/tone.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CONTRAST_FACTOR }; /* place in the parameter list */

tone_fill contrast_fill;

#ifdef __cplusplus
}
#endif
#endif

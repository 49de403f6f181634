// SPDX-License-Identifier: Apache-2.0
/* blur.h - the place of blur's parameter.
 *
 * Used by:  blur, on both devices.
 */
#ifndef BURIN_OPS_BLUR_H
#define BURIN_OPS_BLUR_H

enum { BLUR_SIGMA };

#endif

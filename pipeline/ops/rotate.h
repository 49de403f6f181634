// SPDX-License-Identifier: Apache-2.0
/* rotate.h - places of rotate's parameter and of its choices.
 *
 * Used by:  rotate, on both devices.
 */
#ifndef BURIN_OPS_ROTATE_H
#define BURIN_OPS_ROTATE_H

enum { ROTATE_ANGLE };                                /* place in the parameter list */
enum { ROTATE_0, ROTATE_90, ROTATE_180, ROTATE_270 }; /* clockwise */

#endif

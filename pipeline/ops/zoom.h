// SPDX-License-Identifier: Apache-2.0
/* zoom.h - the place of zoom's parameter.
 *
 * Used by:  zoom, on both devices.
 */
#ifndef BURIN_OPS_ZOOM_H
#define BURIN_OPS_ZOOM_H

enum { ZOOM_TIMES }; /* place in the parameter list */

#endif

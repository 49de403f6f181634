// SPDX-License-Identifier: Apache-2.0
/* reflect.h - the sample that is read beyond a border: mirrored about the border's own sample, as
 * in d c b | a b c d | c b a, and mirrored again further out.
 *
 * Used by:  operators whose windows leave the image, on either device.
 * Threads:  any; no state.
 */
#ifndef BURIN_REFLECT_H
#define BURIN_REFLECT_H

#include "pipeline/host_device.h"

#include <stdint.h>

/* Returns the index for AT among LENGTH samples; LENGTH is 1..2^30, AT above -2^31. */
HOST_DEVICE uint32_t reflect(int32_t at, uint32_t length) {
    const uint32_t size = at < 0 ? 0u - (uint32_t)at : (uint32_t)at, last = length - 1;
    if (size <= last) return size;
    if (!last) return 0;
    const uint32_t place = size % (2 * last);
    return place <= last ? place : 2 * last - place;
}

#endif

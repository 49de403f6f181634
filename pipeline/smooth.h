// SPDX-License-Identifier: Apache-2.0
/* smooth.h - an image through the weights of gaussian.h, across and down, on a CPU: borders
 * reflected, colours weighed by alpha where there is one, work shared out among threads.
 *
 * Used by:  blur, sharpen.
 * Owns:     nothing; scratch is the operator's call's.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE.
 * Threads:  the caller's and those of its pool.
 */
#ifndef BURIN_SMOOTH_H
#define BURIN_SMOOTH_H

#include "pipeline/gaussian.h"
#include "pipeline/op.h"

/* Makes of SAMPLES blurred ones what stands in OUT, which is memory of the image's; IN are the
 * input's of the same place. NULL: they are copied. */
typedef void (*smooth_finish)(const struct op_call *call, const uint8_t *in, const uint8_t *blurred,
                              uint8_t *out, size_t samples);

/* As op.passes; SIGMA is in thousandths. */
uint32_t smooth_passes(const struct image *in, long sigma);

size_t smooth_scratch(const struct image *in, const struct gaussian *gaussian);

enum status smooth_run(struct op_call *call, const struct gaussian *gaussian, smooth_finish finish);

#endif

// SPDX-License-Identifier: Apache-2.0
/* smooth.h - an image filtered with the weights of gaussian.h, across and down, on a CPU: borders
 * reflected, colours weighed by alpha, work shared among threads.
 *
 * Used by:  blur, sharpen.
 * Owns:     nothing; the scratch belongs to the operator's call.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE.
 * Threads:  the caller's and those of its pool.
 */
#ifndef BURIN_SMOOTH_H
#define BURIN_SMOOTH_H

#include "pipeline/gaussian.h"
#include "pipeline/op.h"

/* Writes SAMPLES samples of the image at OUT from the blurred ones and the input's, IN, of the same
 * place. NULL: blurred samples are copied. */
typedef void (*smooth_finish)(const struct op_call *call, const uint8_t *in, const uint8_t *blurred,
                              uint8_t *out, size_t samples);

/* Returns the value for op.passes; SIGMA is in thousandths of a pixel. */
uint32_t smooth_passes(const struct image *in, long sigma);

size_t smooth_scratch(const struct image *in, const struct gaussian *gaussian);

enum status smooth_run(struct op_call *call, const struct gaussian *gaussian, smooth_finish finish);

#endif

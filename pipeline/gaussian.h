// SPDX-License-Identifier: Apache-2.0
/* gaussian.h - the weights of a Gaussian in integers.
 *
 * There are 6 sigma + 1 taps for 8 bit and 8 sigma + 1 for 16 bit, rounded half to even and then up
 * to an odd number. A weight is exp(-x^2 / (2 sigma^2)) over the sum of all, in units of 2^-8
 * (2^-16). From the rim inwards each is rounded half to even and its error carried to the next; the
 * centre gets the rest of 1. So no weight is negative and the sum is exactly 1: constant images do
 * not change. The host computes them in double; the last bits of its exp() do not matter.
 *
 * Used by:  blur, sharpen, on both devices.
 * Source:   OpenCV 4.6, GaussianBlur of CV_8U and CV_16U (modules/imgproc/src/smooth.dispatch.cpp).
 * Threads:  any.
 * Limits:   sigma 0.3..64 pixels.
 */
#ifndef BURIN_GAUSSIAN_H
#define BURIN_GAUSSIAN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GAUSSIAN_SIGMA_MIN = 300, GAUSSIAN_SIGMA_MAX = 64000 }; /* thousandths of a pixel */
enum { GAUSSIAN_REACH_MAX = 256 };

struct gaussian {
    uint32_t depth; /* 8 or 16: weights are in units of 2^-depth */
    uint32_t reach; /* pixels from the centre to the last weight that is not 0 */
    uint16_t weight[GAUSSIAN_REACH_MAX + 1]; /* [k]: weight of the pixels k from the centre */
};

void gaussian_make(struct gaussian *gaussian, long sigma, unsigned depth);

#ifdef __cplusplus
}
#endif
#endif

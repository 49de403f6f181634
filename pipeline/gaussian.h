// SPDX-License-Identifier: Apache-2.0
/* gaussian.h - the weights of a Gaussian in integers.
 *
 * n taps: 6 sigma + 1 of 8 bit, 8 sigma + 1 of 16 bit, rounded half to even, made odd upwards;
 * exp(-x^2 / (2 sigma^2)) over its sum, in units of 2^-8 (2^-16), from the rim inwards, each
 * rounded half to even with the error of those before carried on; the centre is what is left of 1.
 * So weights are never negative and their sum is 1 exactly: constant images stay as they are.
 * Made by the host alone, in double; the result does not depend on the last bits of its exp().
 *
 * Used by:  blur, sharpen, on both devices.
 * Source:   OpenCV 4.6, GaussianBlur of CV_8U and CV_16U (modules/imgproc/src/smooth.dispatch.cpp).
 * Threads:  any.
 * Limits:   sigma 0.3..64.
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
    uint16_t weight[GAUSSIAN_REACH_MAX + 1]; /* [k]: of the pixels k from the centre */
};

void gaussian_make(struct gaussian *gaussian, long sigma, unsigned depth);

#ifdef __cplusplus
}
#endif
#endif

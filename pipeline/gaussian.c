// SPDX-License-Identifier: Apache-2.0
#include "pipeline/gaussian.h"

#include <math.h>

/* Distances count in half pixels, as their squares in the source do: -(2 x)^2 / (8 sigma^2). */
static double bell(int distance, double sigma) {
    const double x = 2.0 * distance;
    return exp(x * x * (-0.125 / (sigma * sigma)));
}

void gaussian_make(struct gaussian *gaussian, long sigma, unsigned depth) {
    const double pixels = (double)sigma / 1000, one = depth == 8 ? 256 : 65536;
    const int taps = (int)nearbyint(pixels * (depth == 8 ? 3 : 4) * 2 + 1) | 1, side = taps / 2;
    double sum = 0, error = 0;
    for (int k = side; k > 0; k--) sum += bell(k, pixels);
    const double scale = 1 / (2 * sum + 1);
    uint32_t left = (uint32_t)one;
    *gaussian = (struct gaussian){ .depth = depth };
    for (int k = side; k > 0; k--) {
        const double exact = bell(k, pixels) * scale * one + error, rounded = nearbyint(exact);
        error = exact - rounded;
        gaussian->weight[k] = (uint16_t)rounded;
        left -= 2 * (uint32_t)rounded;
        if (rounded > 0 && !gaussian->reach) gaussian->reach = (uint32_t)k;
    }
    gaussian->weight[0] = (uint16_t)left;
}

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rows/resample_weights.h"

#include <math.h>

#define PI 3.14159265358979323846

/* ---- kernels */

static double sinc(double x) {
    if (x == 0) return 1;
    x *= PI;
    return sin(x) / x;
}

static double lanczos3(double x) {
    return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

/* Catmull-Rom: the slope at 1 is -0.5. */
static double cubic(double x) {
    const double a = -0.5;
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double linear(double x) {
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double box(double x) {
    return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static const struct {
    double (*weight)(double x);
    double reach;
} kernels[] = {
    [RESAMPLE_LANCZOS3] = { lanczos3, 3 },
    [RESAMPLE_CUBIC] = { cubic, 2 },
    [RESAMPLE_LINEAR] = { linear, 1 },
    [RESAMPLE_BOX] = { box, 0.5 },
};

/* ---- windows */

struct scale {
    double scale, stretch, reach; /* reach in source pixels */
};

static struct scale scale_of(const struct resample_axis *axis) {
    const double scale = (double)axis->from / axis->to, stretch = scale < 1 ? 1 : scale;
    return (struct scale){ scale, stretch, kernels[axis->kernel].reach * stretch };
}

static double centre_of(const struct scale *scale, uint32_t target) {
    return (target + 0.5) * scale->scale;
}

static struct resample_window window_of(const struct resample_axis *axis, const struct scale *scale,
                                        uint32_t target) {
    const double centre = centre_of(scale, target);
    const int64_t first = (int64_t)(centre - scale->reach + 0.5);
    const int64_t end = (int64_t)(centre + scale->reach + 0.5);
    const uint32_t start = first < 0 ? 0 : (uint32_t)first;
    return (struct resample_window){ start,
                                     (end > axis->from ? axis->from : (uint32_t)end) - start };
}

struct resample_window resample_span(const struct resample_axis *axis) {
    if (!resample_changes(axis)) return (struct resample_window){ axis->first, axis->count };
    const struct scale scale = scale_of(axis);
    const struct resample_window first = window_of(axis, &scale, axis->first);
    const struct resample_window last = window_of(axis, &scale, axis->first + axis->count - 1);
    return (struct resample_window){ first.first, last.first + last.count - first.first };
}

/* ---- weights */

uint32_t resample_pitch(const struct resample_axis *axis) {
    const struct scale scale = scale_of(axis);
    const uint64_t taps = 2 * (uint64_t)ceil(scale.reach) + 1;
    const uint64_t most = taps < axis->from ? taps : axis->from;
    return (uint32_t)((most + RESAMPLE_PITCH - 1) / RESAMPLE_PITCH * RESAMPLE_PITCH);
}

/* Windows, weights, and one window's weights before they are divided. */
size_t resample_weights_bytes(const struct resample_axis *axis) {
    const size_t pitch = resample_pitch(axis);
    return axis->count * (sizeof(struct resample_window) + pitch * sizeof(int32_t)) +
           pitch * sizeof(double);
}

static int32_t whole(double weight) {
    const double scaled = weight * (1 << RESAMPLE_BITS);
    return (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

/* The weights of one window, whose real values REAL has room for. */
static void fill(int32_t *weights, double *real, uint32_t pitch, double centre, double shrink,
                 const struct resample_window *window, double (*weight)(double x)) {
    double sum = 0;
    for (uint32_t k = 0; k < window->count; k++) {
        real[k] = weight((window->first + k - centre + 0.5) * shrink);
        sum += real[k];
    }
    for (uint32_t k = 0; k < window->count; k++)
        weights[k] = whole(sum != 0 ? real[k] / sum : real[k]);
    for (uint32_t k = window->count; k < pitch; k++) weights[k] = 0;
}

struct resample_weights resample_weights_make(void *memory, const struct resample_axis *axis) {
    const struct scale scale = scale_of(axis);
    struct resample_weights made = { .windows = memory,
                                     .count = axis->count,
                                     .pitch = resample_pitch(axis) };
    made.weights = (int32_t *)(made.windows + made.count);
    double *real = (double *)(made.weights + (size_t)made.count * made.pitch);
    for (uint32_t i = 0; i < made.count; i++) {
        const uint32_t target = axis->first + i;
        made.windows[i] = window_of(axis, &scale, target);
        fill(made.weights + (size_t)i * made.pitch, real, made.pitch, centre_of(&scale, target),
             1 / scale.stretch, &made.windows[i], kernels[axis->kernel].weight);
    }
    return made;
}

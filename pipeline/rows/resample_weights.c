// SPDX-License-Identifier: Apache-2.0
/* How it works. A window's weights are first computed in double, side by side, then summed from
 * left to right, divided and rounded. Every operation is one that IEEE 754 defines, and none is
 * contracted, so tables are the same on every machine, with any vectors. */
#include "pipeline/rows/resample_weights.h"

#include "pipeline/rows/simd.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- kernels */

/* sinc(x) sinc(x / 3), where sinc(y) = sin(pi y) / (pi y) is its series in y^2. Since sin(3 a) is
 * sin(a) (3 - 4 sin(a)^2), one series is enough: with g = sinc(x / 3) and z = (x / 3)^2 the product
 * is g^2 (1 - 4/3 pi^2 z g^2). Its error is at most 3.4e-16, like that of two sines of libm, and it
 * does not depend on libm. No pixel of a window is further away than 3, where the value is 1e-33;
 * without a branch the compiler computes several weights at a time. */
INLINE double lanczos3(double x) {
    static const double series[] = {
        1,
        -1.6449340668482264,
        0.8117424252833536,
        -0.19075182412208422,
        0.0261478478176548,
        -0.0023460810354558235,
        0.000148428793031071,
        -6.975873661656381e-06,
        2.5312174041370274e-07,
        -7.304711822217775e-09,
        1.7165384749821432e-10,
        -3.3481335350440666e-12,
        5.507458912150965e-14,
        -7.743082723388031e-16,
    };
    const double z = x * x * (1.0 / 9);
    double g = series[13];
#pragma GCC unroll 13
    for (int i = 12; i >= 0; i--) g = g * z + series[i];
    return g * g * (1 - 13.159472534785811 * z * (g * g));
}

/* Catmull-Rom: the slope at 1 is -0.5. */
INLINE double cubic(double x) {
    const double a = -0.5;
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

INLINE double linear(double x) {
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

INLINE double box(double x) {
    return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static const double reaches[] = {
    [RESAMPLE_LANCZOS3] = 3, [RESAMPLE_CUBIC] = 2, [RESAMPLE_LINEAR] = 1, [RESAMPLE_BOX] = 0.5
};

/* ---- windows */

struct scale {
    double scale, stretch, reach; /* reach in source pixels */
};

static struct scale scale_of(const struct resample_axis *axis) {
    const double scale = (double)axis->from / axis->to, stretch = scale < 1 ? 1 : scale;
    return (struct scale){ scale, stretch, reaches[axis->kernel] * stretch };
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

/* Counts windows, weights, and one window's weights before division. */
size_t resample_weights_bytes(const struct resample_axis *axis) {
    const size_t pitch = resample_pitch(axis);
    return axis->count * (sizeof(struct resample_window) + pitch * sizeof(int32_t)) +
           pitch * sizeof(double);
}

/* Computes one window's weights; REAL has room for them before division. */
INLINE void fill(int32_t *restrict weights, double *restrict real, double centre, double shrink,
                 struct resample_window window, double (*weight)(double x)) {
    const int first = (int)window.first, count = (int)window.count;
    for (int k = 0; k < count; k++) real[k] = weight((first + k - centre + 0.5) * shrink);
    double sum = 0;
    for (int k = 0; k < count; k++) sum += real[k];
    for (int k = 0; k < count; k++) {
        const double scaled = real[k] / sum * (1 << RESAMPLE_BITS);
        weights[k] = (int32_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
    }
}

INLINE void fill_all(const struct resample_axis *axis, struct resample_weights *made,
                     double (*weight)(double x)) {
    const struct scale scale = scale_of(axis);
    void *behind = made->weights + (size_t)made->count * made->pitch;
    double *real = behind;
    for (uint32_t i = 0; i < made->count; i++) {
        int32_t *weights = made->weights + (size_t)i * made->pitch;
        const uint32_t target = axis->first + i;
        const struct resample_window window = window_of(axis, &scale, target);
        made->windows[i] = window;
        fill(weights, real, centre_of(&scale, target), 1 / scale.stretch, window, weight);
        for (uint32_t k = window.count; k < made->pitch; k++) weights[k] = 0;
    }
}

INLINE void fill_kernel(const struct resample_axis *axis, struct resample_weights *made) {
    switch (axis->kernel) {
    case RESAMPLE_LANCZOS3: fill_all(axis, made, lanczos3); break;
    case RESAMPLE_CUBIC: fill_all(axis, made, cubic); break;
    case RESAMPLE_LINEAR: fill_all(axis, made, linear); break;
    default: fill_all(axis, made, box); break;
    }
}

static void fill_plain(const struct resample_axis *axis, struct resample_weights *made) {
    fill_kernel(axis, made);
}

/* The same operations, several at a time; the AVX2 target alone contracts none. */
#ifdef __x86_64__
AVX2 static void fill_avx2(const struct resample_axis *axis, struct resample_weights *made) {
    fill_kernel(axis, made);
}
#else
#define fill_avx2 fill_plain
#endif

struct resample_weights resample_weights_make(void *memory, const struct resample_axis *axis) {
    struct resample_weights made = { .windows = memory,
                                     .count = axis->count,
                                     .pitch = resample_pitch(axis) };
    made.weights = (int32_t *)(made.windows + made.count);
    (simd_has_avx2() ? fill_avx2 : fill_plain)(axis, &made);
    return made;
}

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/sharpen.h"

#include "pipeline/rows/alpha.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"
#include "pipeline/smooth.h"

static const struct param params[] = {
    [SHARPEN_SIGMA] = { .name = "sigma",
                        .summary = "Standard deviation of the Gaussian that is taken away",
                        .unit = "pixels",
                        .type = PARAM_DECIMAL,
                        .min = GAUSSIAN_SIGMA_MIN,
                        .max = GAUSSIAN_SIGMA_MAX,
                        .def = 1000 },
    [SHARPEN_AMOUNT] = { .name = "amount",
                         .summary = "How much of the difference to the blurred image is added",
                         .unit = "%",
                         .type = PARAM_INT,
                         .min = 0,
                         .max = SHARPEN_AMOUNT_MAX,
                         .def = 100 },
    [SHARPEN_THRESHOLD] = { .name = "threshold",
                            .summary = "Differences not over it are left as they are",
                            .unit = "levels of 255",
                            .type = PARAM_INT,
                            .min = 0,
                            .max = 255 },
    { .name = NULL },
};

#define INLINE static inline __attribute__((always_inline))

/* Computes sharpen_result in 16 bits. With amount = 100 whole + part, part times a difference is at
 * least -25245; adding 253 hundreds makes it 0..50595. A 25th of a quarter of that is found by one
 * product: 5243 / 2^17 is 3 / (25 * 2^17) too large, which times 12648 is less than a 25th. */
INLINE void sharpen_bytes(const uint8_t *restrict in, const uint8_t *restrict blurred,
                          uint8_t *restrict out, size_t samples, struct sharpen_rule rule) {
    const int16_t whole = (int16_t)(rule.amount / 100), part = (int16_t)(rule.amount % 100),
                  threshold = (int16_t)rule.threshold;
    for (size_t i = 0; i < samples; i++) {
        const int16_t v = in[i], difference = (int16_t)(v - blurred[i]);
        const uint16_t lifted = (uint16_t)(part * difference + 50 + 25300);
        const uint16_t hundredth =
            (uint16_t)((uint16_t)((uint32_t)(lifted >> 2) * 5243 >> 16) >> 1);
        const int16_t level = (int16_t)(v + whole * difference + hundredth - 253);
        const int16_t clamped = level < 0 ? 0 : level > 255 ? 255 : level;
        const int16_t size = difference < 0 ? (int16_t)-difference : difference;
        out[i] = (uint8_t)(size > threshold ? clamped : v);
    }
}

INLINE void sharpen_words(const uint8_t *restrict in, const uint8_t *restrict blurred,
                          uint8_t *restrict out, size_t samples, struct sharpen_rule rule) {
    for (size_t i = 0; i < samples; i++)
        sample_put(out, i, 16,
                   sharpen_result(sample_get(in, i, 16), sample_get(blurred, i, 16), rule));
}

static void sharpen_plain(const uint8_t *in, const uint8_t *blurred, uint8_t *out, size_t samples,
                          struct sharpen_rule rule) {
    if (rule.max == 255)
        sharpen_bytes(in, blurred, out, samples, rule);
    else
        sharpen_words(in, blurred, out, samples, rule);
}

#ifdef __x86_64__
AVX2 static void sharpen_avx2(const uint8_t *in, const uint8_t *blurred, uint8_t *out,
                              size_t samples, struct sharpen_rule rule) {
    if (rule.max == 255)
        sharpen_bytes(in, blurred, out, samples, rule);
    else
        sharpen_words(in, blurred, out, samples, rule);
}
#else
#define sharpen_avx2 sharpen_plain
#endif

static void finish(const struct op_call *call, const uint8_t *in, const uint8_t *blurred,
                   uint8_t *out, size_t samples) {
    const struct sharpen_rule rule = sharpen_rule_of(call->params, call->in.depth);
    (simd_has_avx2() ? sharpen_avx2 : sharpen_plain)(in, blurred, out, samples, rule);
    if (image_has_alpha(&call->in))
        alpha_keep(in, out, samples / call->in.channels, call->in.channels, call->in.depth);
}

static struct gaussian gaussian_of(const struct op_call *call) {
    struct gaussian gaussian;
    gaussian_make(&gaussian, call->params->number[SHARPEN_SIGMA], call->in.depth);
    return gaussian;
}

static uint32_t sharpen_passes(const struct params *values, const struct image *in) {
    return smooth_passes(in, values->number[SHARPEN_SIGMA]);
}

static size_t sharpen_scratch(const struct op_call *call) {
    const struct gaussian gaussian = gaussian_of(call);
    return smooth_scratch(&call->in, &gaussian);
}

static enum status sharpen_run(struct op_call *call) {
    const struct gaussian gaussian = gaussian_of(call);
    return smooth_run(call, &gaussian, finish);
}

const struct op op_sharpen = {
    .name = "sharpen",
    .title = "Sharpen",
    .group = OP_DETAIL,
    .summary = "Unsharp mask: what a Gaussian blur takes away is added; alpha is kept",
    .params = params,
    .passes = sharpen_passes,
    .scratch = sharpen_scratch,
    .run = sharpen_run,
};

// SPDX-License-Identifier: Apache-2.0
/* composite.h - composite: the exact definition, and the arithmetic that both devices share.
 *
 * The overlay is RGBA (op.h: AUX_PICTURE). M is the picture's largest sample; round() rounds half
 * up, and what stands in no round() or floor() is exact.
 *   size     with `scale` its width is round(scale * W / 100), W the picture's, and its height
 *            keeps the shape, but where that is over the picture's, the height is the picture's and
 *            the width keeps the shape; at least 1 each; resize makes it with fit=fill;
 *   place    at the side or corner `position`, `x` and `y` pixels inwards from there, from the
 *            centre to the right and down; at the centre half of what is left, rounded down, lies
 *            before it. With `tile` it is repeated from there in all directions;
 *   samples  8 bits v become 257 v for a picture of 16 bits, and 16 bits (v + 128) / 257, rounded
 *            down, for one of 8; a gray result takes their luma; alpha becomes
 *            round(alpha * opacity), opacity in thousandths.
 * Where the overlay is, s is its sample, a its alpha, d and b the picture's (b = M without alpha):
 *   blend    s' = s for `over`, else round(((M - b) s + b B(d, s)) / M), where B is
 *            multiply    round(d s / M)
 *            screen      d + s - round(d s / M)
 *            overlay     2 d <= M: multiply(2 d, s), else screen(2 d - M, s)
 *            soft-light  2 s <= M: d - round((M - 2 s) d (M - d) / M^2), else
 *                        d + round((2 s - M) (D - d) / M), where D is the nearest integer to
 *                        4 d <= M: ((16 d - 12 M) d + 4 M^2) d / M^2, else sqrt(d M)
 *            as W3C's "Compositing and Blending Level 1" has them, with 1 as M;
 *   over     a = 0: d and b stay. b = M: d' = round((s' a + d (M - a)) / M), b' = M. Else, as
 *            Pillow computes it: e = a M + b (M - a), f = floor(128 a M^2 / e), g = 128 M - f,
 *            t = s' f + d g + 64 (M + 1), d' = floor((floor(t / (M + 1)) + t) / (128 (M + 1))),
 *            b' = round(e / M).
 *
 * Used by:  composite, on both devices.
 */
#ifndef BURIN_OPS_COMPOSITE_H
#define BURIN_OPS_COMPOSITE_H

#include "pipeline/background.h"
#include "pipeline/ops/crop.h"
#include "pipeline/ops/resize/definition.h"
#include "pipeline/rows/over.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "pipeline/builtin_ops.h"
#ifdef __cplusplus
}
#endif

#include <math.h>

/* Places in the parameter list. */
enum {
    COMPOSITE_POSITION,
    COMPOSITE_X,
    COMPOSITE_Y,
    COMPOSITE_TILE,
    COMPOSITE_OPACITY,
    COMPOSITE_SCALE,
    COMPOSITE_BLEND,
    COMPOSITE_COLOUR
};

/* ---- one pixel */

HOST_DEVICE uint32_t composite_max(unsigned depth) {
    return depth == 16 ? 65535 : 255;
}

/* round(a b / M). M is odd, so nothing lies on a half. */
HOST_DEVICE uint32_t composite_product(uint32_t a, uint32_t b, unsigned depth) {
    return (a * b + composite_max(depth) / 2) / composite_max(depth);
}

HOST_DEVICE uint32_t composite_screen(uint32_t a, uint32_t b, unsigned depth) {
    return a + b - composite_product(a, b, depth);
}

/* The nearest integer to sqrt(n). The root of a double is rounded right, and for n < 2^32 one below
 * a square stays below its root. */
HOST_DEVICE uint32_t composite_root(uint32_t n) {
    const uint32_t root = (uint32_t)sqrt((double)n);
    return root + (n - root * root > root);
}

HOST_DEVICE uint32_t composite_soft_light(uint32_t d, uint32_t s, unsigned depth) {
    const int64_t max = composite_max(depth), square = max * max, x = d, twice = 2 * (int64_t)s;
    if (twice <= max) return (uint32_t)(x - ((max - twice) * x * (max - x) + square / 2) / square);
    const int64_t lighter = 4 * x <= max
                                ? (((16 * x - 12 * max) * x + 4 * square) * x + square / 2) / square
                                : composite_root(d * composite_max(depth));
    return (uint32_t)(x + ((twice - max) * (lighter - x) + max / 2) / max);
}

HOST_DEVICE uint32_t composite_blend(uint32_t d, uint32_t s, int blend, unsigned depth) {
    const uint32_t max = composite_max(depth);
    switch (blend) {
    case BLEND_MULTIPLY: return composite_product(d, s, depth);
    case BLEND_SCREEN: return composite_screen(d, s, depth);
    case BLEND_OVERLAY:
        return 2 * d <= max ? composite_product(2 * d, s, depth)
                            : composite_screen(2 * d - max, s, depth);
    case BLEND_SOFT_LIGHT: return composite_soft_light(d, s, depth);
    default: return s;
    }
}

/* The weights of both samples, in 128ths of M, where the picture is not opaque. */
struct composite_weights {
    uint32_t front, back, alpha; /* `alpha`: of the result */
};

/* A is not 0. The largest numerator is 128 M^3: below 2^31 for 8 bits, below 2^55 for 16. */
HOST_DEVICE struct composite_weights composite_weigh(uint32_t a, uint32_t b, unsigned depth) {
    const uint32_t max = composite_max(depth), sum = a * max + b * (max - a);
    struct composite_weights weights;
    weights.front =
        depth == 8 ? 128 * max * max * a / sum : (uint32_t)((uint64_t)max * max * 128 * a / sum);
    weights.back = 128 * max - weights.front;
    weights.alpha = (sum + max / 2) / max;
    return weights;
}

/* d' of the definition; its t is below 2^24 for 8 bits, and below 2^40 for 16. */
HOST_DEVICE uint32_t composite_mean(uint32_t front, uint32_t back, struct composite_weights weights,
                                    unsigned depth) {
    if (depth == 8) {
        const uint32_t t = front * weights.front + back * weights.back + 64 * 256;
        return ((t >> 8) + t) >> 15;
    }
    const uint64_t t = (uint64_t)front * weights.front + (uint64_t)back * weights.back + 64 * 65536;
    return (uint32_t)(((t >> 16) + t) >> 23);
}

/* Lays FRONT, four samples in the picture's units, over BACK, the picture's. CHANNELS, DEPTH and
 * BLEND are constants where this is called. */
HOST_DEVICE void composite_pixel(uint32_t *back, const uint32_t *front, unsigned channels,
                                 unsigned depth, int blend) {
    const unsigned colours = channels < 3 ? 1 : 3;
    const uint32_t max = composite_max(depth), a = front[3];
    const uint32_t b = channels == colours ? max : back[colours];
    if (a == 0) return;
    struct composite_weights weights = { 0, 0, max };
    if (b < max) weights = composite_weigh(a, b, depth);
    for (unsigned c = 0; c < colours; c++) {
        const uint32_t blended =
            blend == BLEND_OVER ? front[c]
                                : background_lay(composite_blend(back[c], front[c], blend, depth),
                                                 b, front[c], depth);
        back[c] = b == max ? background_lay(blended, a, back[c], depth)
                           : composite_mean(blended, back[c], weights, depth);
    }
    if (channels != colours) back[colours] = weights.alpha;
}

/* FRONT, of FROM_DEPTH bits, in the units of a picture of DEPTH bits, whose COLOURS are 1 or 3. */
HOST_DEVICE void composite_front(uint32_t *front, unsigned from_depth, unsigned colours,
                                 unsigned depth, uint32_t opacity) {
    for (unsigned c = 0; c < 4 && from_depth != depth; c++)
        front[c] = depth == 16 ? front[c] * 257 : (front[c] + 128) / 257;
    if (colours == 1) front[0] = luma(front[0], front[1], front[2]);
    if (opacity != 1000) front[3] = (front[3] * opacity + 500) / 1000;
}

/* ---- the overlay's size and place, on the host */

/* The same quotient rounded half up, at least 1. */
static inline uint32_t composite_side(uint64_t numerator, uint64_t denominator) {
    const uint64_t side = (2 * numerator + denominator) / (2 * denominator);
    return side ? (uint32_t)side : 1;
}

/* The shape of the overlay OVER on the picture IN. */
static inline struct image composite_shape(const struct params *params, const struct image *in,
                                           const struct image *over) {
    const uint64_t scale = (uint64_t)params->number[COMPOSITE_SCALE];
    if (!scale || !over->width) return *over;
    uint32_t width = composite_side(scale * in->width, 100);
    uint64_t height = composite_side((uint64_t)over->height * width, over->width);
    if (height > in->height) {
        height = in->height;
        width = composite_side((uint64_t)over->width * height, over->height);
    }
    return image_shape(width, (uint32_t)height, over->channels, over->depth);
}

static inline bool composite_scales(const struct op_call *call) {
    return call->aux[0].width && call->params->number[COMPOSITE_SCALE];
}

/* The call of resize that makes CALL's overlay OUT, which has composite_shape(). PARAMS gets its
 * parameters. */
static inline struct op_call composite_resize(const struct op_call *call, const struct image *out,
                                              struct params *params) {
    struct op_call resize = *call;
    resize.op = builtin_op_find("resize");
    params_init(params, resize.op->params);
    params->number[RESIZE_WIDTH] = out->width;
    params->number[RESIZE_HEIGHT] = out->height;
    params->number[RESIZE_FIT] = FIT_FILL;
    resize.params = params;
    resize.in = call->aux[0];
    resize.out = *out;
    resize.aux[0].width = 0;
    return resize;
}

/* The column and the row of the picture where the overlay begins. */
struct composite_corner {
    int32_t left, top;
};

/* SIDE: of crop_side(). A right shift rounds down, as the centre does. */
static inline int32_t composite_offset(uint32_t whole, uint32_t part, int side, long inwards) {
    const int32_t rest = (int32_t)whole - (int32_t)part, by = (int32_t)inwards;
    return side < 0 ? by : side > 0 ? rest - by : (rest >> 1) + by;
}

static inline struct composite_corner composite_corner_of(const struct op_call *call,
                                                          const struct image *over) {
    const long *number = call->params->number;
    const signed char *side = crop_side(number[COMPOSITE_POSITION]);
    const struct composite_corner corner = {
        composite_offset(call->in.width, over->width, side[0], number[COMPOSITE_X]),
        composite_offset(call->in.height, over->height, side[1], number[COMPOSITE_Y])
    };
    return corner;
}

/* The place at or before 0 where a row of tiles of LENGTH pixels begins. */
static inline int32_t composite_first_tile(int32_t offset, uint32_t length) {
    const int32_t rest = offset % (int32_t)length;
    return rest > 0 ? rest - (int32_t)length : rest;
}

#endif

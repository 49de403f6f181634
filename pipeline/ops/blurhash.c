// SPDX-License-Identifier: Apache-2.0
/* How it works. placeholder.h makes the picture small; it is laid over the background. Its light
 * is multiplied by cosines of 0, 1, 2... half waves across and down and summed, in double and in a
 * fixed order, so that every machine gets the same sums (exact_math.h). The first sum is the mean.
 * The others, the variations, are stored in 19 steps of their square root for each colour, relative
 * to the largest one. The text is in base 83. The published TypeScript looks for the largest
 * variation with its sign, and so misses a larger negative one; the published C compares absolute
 * values, and so does this file.
 * Source:   https://github.com/woltapp/blurhash, Algorithm.md; C/encode.c, which uses float.
 */
#include "pipeline/background.h"
#include "pipeline/op.h"
#include "pipeline/ops/placeholder.h"

#include "pipeline/skeletons/exact_math.h"

#define HALF_TURN 3.14159265358979323846

enum { SIDE_MAX = 9, BASE = 83, STEPS = 19 };

static const struct param params[] = {
    { .name = "components",
      .summary = "Number of cosines across and down: more of them show more detail",
      .unit = "cosines",
      .type = PARAM_PAIR,
      .min = 1,
      .max = SIDE_MAX,
      .def = PAIR(4, 3) },
    BACKGROUND_PARAM(BACKGROUND_LAID),
    { .name = NULL },
};

/* ---- light, 0..1, of samples 0..255 and back: sRGB's curve */

static double light_of(uint32_t sample) {
    const double v = sample / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static uint32_t sample_of(double light) {
    const double l = light < 0 ? 0 : light > 1 ? 1 : light;
    const double v = l <= 0.0031308 ? l * 12.92 : 1.055 * pow(l, 1 / 2.4) - 0.055;
    return (uint32_t)(v * 255 + 0.5);
}

struct picture {
    uint32_t width, height;
    double light[PLACEHOLDER_PIXELS][3];
    double across[SIDE_MAX][PLACEHOLDER_SIDE], down[SIDE_MAX][PLACEHOLDER_SIDE]; /* cosines */
};

static void fill_light(struct picture *picture, const struct values *values, long background) {
    const struct background under = background_of(background, 3, 8);
    double light[256];
    for (uint32_t v = 0; v < 256; v++) light[v] = light_of(v);
    for (uint32_t i = 0; i < values->shape.length; i++)
        for (uint32_t c = 0; c < 3; c++)
            picture->light[i][c] =
                light[background_lay(placeholder_sample(values, i, c),
                                     placeholder_sample(values, i, 3), under.sample[c], 8)];
}

static void fill_cosines(double (*cosines)[PLACEHOLDER_SIDE], long waves, uint32_t length) {
    for (long w = 0; w < waves; w++)
        for (uint32_t i = 0; i < length; i++)
            cosines[w][i] = cos(HALF_TURN * (double)w * i / length);
}

/* ---- the amount of each wave in each colour */

/* Sums each row across first, then multiplies the row's sums by the cosines down. */
static void sum_up(const struct picture *picture, long across, long down, double (*sums)[3]) {
    const double scale = 1.0 / (picture->width * picture->height);
    memset(sums, 0, (size_t)(across * down) * sizeof *sums);
    for (uint32_t y = 0; y < picture->height; y++) {
        double row[SIDE_MAX][3] = { 0 };
        for (long w = 0; w < across; w++)
            for (uint32_t x = 0; x < picture->width; x++)
                for (int c = 0; c < 3; c++)
                    row[w][c] += picture->across[w][x] * picture->light[y * picture->width + x][c];
        for (long w = 0; w < across * down; w++)
            for (int c = 0; c < 3; c++)
                sums[w][c] += picture->down[w / across][y] * row[w % across][c];
    }
    for (long w = 0; w < across * down; w++)
        for (int c = 0; c < 3; c++) sums[w][c] *= w ? 2 * scale : scale;
}

/* ---- digits */

static char *put(char *at, uint32_t number, int digits) {
    static const char alphabet[BASE + 1] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "abcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";
    for (int i = digits - 1; i >= 0; i--, number /= BASE) at[i] = alphabet[number % BASE];
    return at + digits;
}

/* Returns the step, of 83 of 1/166 each, that reaches the largest of COUNT sums. */
static uint32_t largest_step(const double *sums, long count) {
    double largest = 0;
    for (long i = 0; i < count; i++)
        if (fabs(sums[i]) > largest) largest = fabs(sums[i]);
    const double step = floor(largest * 166 - 0.5);
    return step < 0 ? 0 : step > BASE - 1 ? BASE - 1 : (uint32_t)step;
}

/* Returns a variation as one of 19 steps between -1 and 1; 9 is the middle. */
static uint32_t variation_step(double variation) {
    const double root = sqrt(fabs(variation));
    const double step = floor((variation < 0 ? -root : root) * 9 + 9.5);
    return step < 0 ? 0 : step > STEPS - 1 ? STEPS - 1 : (uint32_t)step;
}

static size_t blurhash_text(const struct params *values, const struct values *small,
                            char text[VALUES_TEXT_MAX]) {
    const long across = PAIR_FIRST(values->number[0]), down = PAIR_SECOND(values->number[0]);
    const long others = across * down - 1;
    struct picture picture = { .width = small->shape.width };
    double sums[SIDE_MAX * SIDE_MAX][3];
    picture.height = small->shape.length / picture.width;
    fill_light(&picture, small, values->number[1]);
    fill_cosines(picture.across, across, picture.width);
    fill_cosines(picture.down, down, picture.height);
    sum_up(&picture, across, down, sums);
    const uint32_t largest = largest_step(sums[1], others * 3);
    char *at = put(text, (uint32_t)(across - 1 + (down - 1) * SIDE_MAX), 1);
    at = put(at, largest, 1);
    uint32_t mean = 0;
    for (int c = 0; c < 3; c++) mean = mean << 8 | sample_of(sums[0][c]);
    at = put(at, mean, 4);
    for (long i = 1; i <= others; i++) {
        uint32_t steps = 0;
        for (int c = 0; c < 3; c++)
            steps = steps * STEPS + variation_step(sums[i][c] / ((largest + 1) / 166.0));
        at = put(at, steps, 2);
    }
    return (size_t)(at - text);
}

const struct op op_blurhash = {
    .name = "blurhash",
    .title = "Placeholder (BlurHash)",
    .group = OP_VALUES,
    .summary = "The BlurHash, a text for a blurred picture without alpha; passes the image on",
    .params = params,
    .values = placeholder_values,
    .text = blurhash_text,
    .passes = placeholder_passes,
    .scratch = placeholder_scratch,
    .run = placeholder_run,
};

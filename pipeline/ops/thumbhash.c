// SPDX-License-Identifier: Apache-2.0
/* How it works. placeholder.h makes the picture small. It is laid onto its mean colour and
 * converted to lightness, yellow against blue, red against green and, unless all of it is opaque,
 * alpha. Each plane is stored as its mean, its largest variation, and its variations (cosines
 * across and down) in 16 steps; there are fewer along the shorter side. All sums are in double and
 * in a fixed order, so that every machine gets the same ones (exact_math.h). The bytes are printed
 * in base 64. Where a variation is 0 but for rounding, both middle steps are equally near: an
 * implementation whose cosines are not the nearest doubles may choose the other one.
 * Source:   https://github.com/evanw/thumbhash, js/thumbhash.js.
 */
#include "pipeline/op.h"
#include "pipeline/ops/placeholder.h"

#include "pipeline/skeletons/exact_math.h"

#define HALF_TURN 3.14159265358979323846

enum { WAVES_MAX = 7, VARIATIONS_MAX = 27, BYTES_MAX = 25 };

static const struct param params[] = { { .name = NULL } };

static uint32_t rounded(double x) {
    return (uint32_t)floor(x + 0.5);
}

static uint32_t most_of(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* ---- planes */

enum { LIGHTNESS, YELLOW_BLUE, RED_GREEN, ALPHA, PLANES };

struct picture {
    uint32_t width, height;
    bool has_alpha;
    double planes[PLANES][PLACEHOLDER_PIXELS];
    double across[WAVES_MAX][PLACEHOLDER_SIDE], down[WAVES_MAX][PLACEHOLDER_SIDE]; /* cosines */
};

static double part_of_255(const struct values *small, uint32_t pixel) {
    return placeholder_sample(small, pixel, 3) / 255.0;
}

/* Computes the mean colour, weighed by alpha; returns the sum of alpha. */
static double mean_colour(const struct values *small, double mean[3]) {
    double sum = 0;
    for (uint32_t i = 0; i < small->shape.length; i++) {
        const double alpha = part_of_255(small, i);
        for (uint32_t c = 0; c < 3; c++) mean[c] += alpha / 255 * placeholder_sample(small, i, c);
        sum += alpha;
    }
    for (int c = 0; c < 3 && sum > 0; c++) mean[c] /= sum;
    return sum;
}

static void fill_planes(struct picture *picture, const struct values *small) {
    double mean[3] = { 0, 0, 0 };
    picture->has_alpha = mean_colour(small, mean) < small->shape.length;
    for (uint32_t i = 0; i < small->shape.length; i++) {
        const double alpha = part_of_255(small, i);
        double rgb[3];
        for (uint32_t c = 0; c < 3; c++)
            rgb[c] = mean[c] * (1 - alpha) + alpha / 255 * placeholder_sample(small, i, c);
        picture->planes[LIGHTNESS][i] = (rgb[0] + rgb[1] + rgb[2]) / 3;
        picture->planes[YELLOW_BLUE][i] = (rgb[0] + rgb[1]) / 2 - rgb[2];
        picture->planes[RED_GREEN][i] = rgb[0] - rgb[1];
        picture->planes[ALPHA][i] = alpha;
    }
}

/* ---- variations */

struct variations {
    double mean, largest;
    int count;
    double parts[VARIATIONS_MAX]; /* relative to the largest: 0..1, 0.5 is none */
};

static void fill_cosines(double (*cosines)[PLACEHOLDER_SIDE], uint32_t length) {
    for (uint32_t w = 0; w < WAVES_MAX; w++)
        for (uint32_t i = 0; i < length; i++)
            cosines[w][i] = cos(HALF_TURN / length * w * (i + 0.5));
}

/* Returns the amount of the wave ACROSS, DOWN. The order is that of the published encoder, whose
 * rounding shows where a variation is 0. */
static double sum_up(const struct picture *picture, const double *plane, uint32_t across,
                     uint32_t down) {
    double sum = 0;
    for (uint32_t y = 0; y < picture->height; y++)
        for (uint32_t x = 0; x < picture->width; x++)
            sum +=
                plane[y * picture->width + x] * picture->across[across][x] * picture->down[down][y];
    return sum / (picture->width * picture->height);
}

/* Finds the variations of all waves below the diagonal from COLUMNS to ROWS. */
static struct variations vary(const struct picture *picture, int plane, uint32_t columns,
                              uint32_t rows) {
    struct variations found = { .count = 0 };
    for (uint32_t y = 0; y < rows; y++)
        for (uint32_t x = 0; x * rows < columns * (rows - y); x++) {
            const double sum = sum_up(picture, picture->planes[plane], x, y);
            if (x == 0 && y == 0) {
                found.mean = sum;
                continue;
            }
            found.parts[found.count++] = sum;
            if (fabs(sum) > found.largest) found.largest = fabs(sum);
        }
    for (int i = 0; i < found.count && found.largest > 0; i++)
        found.parts[i] = 0.5 + 0.5 / found.largest * found.parts[i];
    return found;
}

/* ---- bytes */

struct hash {
    uint8_t bytes[BYTES_MAX];
    int count;     /* bytes, the last perhaps half full */
    int nibble_at; /* place of the next four bits */
};

static void put(struct hash *hash, uint32_t number, int bytes) {
    for (int i = 0; i < bytes; i++) hash->bytes[hash->count++] = (uint8_t)(number >> 8 * i);
    hash->nibble_at = 2 * hash->count;
}

static void put_variations(struct hash *hash, const struct variations *variations) {
    for (int i = 0; i < variations->count; i++, hash->nibble_at++) {
        const uint32_t step = rounded(15 * variations->parts[i]);
        hash->bytes[hash->nibble_at / 2] |= (uint8_t)(step << 4 * (hash->nibble_at % 2));
    }
    hash->count = (hash->nibble_at + 1) / 2;
}

static void encode(const struct picture *picture, struct hash *hash) {
    const uint32_t width = picture->width, height = picture->height;
    const uint32_t waves = picture->has_alpha ? 5 : WAVES_MAX, longer = most_of(width, height);
    const uint32_t columns = most_of(1, rounded((double)(waves * width) / longer));
    const uint32_t rows = most_of(1, rounded((double)(waves * height) / longer));
    const struct variations l = vary(picture, LIGHTNESS, most_of(3, columns), most_of(3, rows));
    const struct variations p = vary(picture, YELLOW_BLUE, 3, 3),
                            q = vary(picture, RED_GREEN, 3, 3);
    put(hash,
        rounded(63 * l.mean) | rounded(31.5 + 31.5 * p.mean) << 6 |
            rounded(31.5 + 31.5 * q.mean) << 12 | rounded(31 * l.largest) << 18 |
            (uint32_t)picture->has_alpha << 23,
        3);
    put(hash,
        (columns < rows ? columns : rows) | rounded(63 * p.largest) << 3 |
            rounded(63 * q.largest) << 9 | (uint32_t)(width > height) << 15,
        2);
    struct variations a = { .count = 0 };
    if (picture->has_alpha) {
        a = vary(picture, ALPHA, 5, 5);
        put(hash, rounded(15 * a.mean) | rounded(15 * a.largest) << 4, 1);
    }
    put_variations(hash, &l);
    put_variations(hash, &p);
    put_variations(hash, &q);
    put_variations(hash, &a);
}

/* ---- text */

/* Three bytes give four digits; '=' fills up the last four. */
static size_t put_text(const struct hash *hash, char *text) {
    static const char digits[65] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = 0;
    for (int i = 0; i < hash->count; i += 3) {
        uint32_t bits = 0;
        for (int k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < hash->count ? hash->bytes[i + k] : 0u);
        for (int k = 0; k < 4; k++)
            text[length++] = k <= hash->count - i ? digits[bits >> (18 - 6 * k) & 63] : '=';
    }
    return length;
}

static size_t thumbhash_text(const struct params *values, const struct values *small,
                             char text[VALUES_TEXT_MAX]) {
    struct picture picture = { .width = small->shape.width };
    struct hash hash = { .count = 0 };
    (void)values;
    picture.height = small->shape.length / picture.width;
    fill_planes(&picture, small);
    fill_cosines(picture.across, picture.width);
    fill_cosines(picture.down, picture.height);
    encode(&picture, &hash);
    return put_text(&hash, text);
}

const struct op op_thumbhash = {
    .name = "thumbhash",
    .title = "Placeholder (ThumbHash)",
    .group = OP_VALUES,
    .summary = "The ThumbHash in base 64, bytes for a blurred picture with its shape and alpha; "
               "passes the image on",
    .params = params,
    .values = placeholder_values,
    .text = thumbhash_text,
    .passes = placeholder_passes,
    .scratch = placeholder_scratch,
    .run = placeholder_run,
};

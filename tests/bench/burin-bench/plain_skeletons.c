// SPDX-License-Identifier: Apache-2.0
/* The functions of skeletons.c as a serial program has them: called pixel by pixel. The Makefile
 * has them compiled without vector instructions, as a serial program's loop was in 2017. */
#include "tests/bench/burin-bench/plain.h"

#include <math.h>
#include <string.h>

static uint8_t binarize(uint8_t pixel, int tolerance) {
    return pixel + tolerance > 127 ? 255 : 0;
}

static uint8_t sobel(uint8_t p[3][3]) {
    const int gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
    const int gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
    const int root = (int)sqrtf((float)(gx * gx + gy * gy));
    return (uint8_t)(root < 255 ? root : 255);
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static void count_level(uint8_t pixel, int32_t *counts) {
    counts[pixel]++;
}

/* ---- loops */

void plain_binarize(const struct image *in, const struct image *out) {
    for (uint32_t y = 0; y < in->height; y++) {
        const uint8_t *from = image_row(in, y);
        uint8_t *to = image_row(out, y);
        for (uint32_t x = 0; x < in->width; x++) to[x] = binarize(from[x], PLAIN_TOLERANCE);
    }
}

void plain_sobel(const struct image *in, const struct image *out) {
    for (uint32_t y = 0; y < in->height; y++) {
        const uint8_t *rows[3] = { image_row(in, y ? y - 1 : 0), image_row(in, y),
                                   image_row(in, y + 1 < in->height ? y + 1 : y) };
        uint8_t *to = image_row(out, y);
        for (uint32_t x = 0; x < in->width; x++) {
            const uint32_t left = x ? x - 1 : 0, right = x + 1 < in->width ? x + 1 : x;
            uint8_t pixel[3][3];
            for (int r = 0; r < 3; r++) {
                pixel[r][0] = rows[r][left];
                pixel[r][1] = rows[r][x];
                pixel[r][2] = rows[r][right];
            }
            to[x] = sobel(pixel);
        }
    }
}

void plain_largest(const struct image *in, const struct image *out) {
    uint32_t largest = *in->pixels;
    for (uint32_t y = 0; y < in->height; y++) {
        const uint8_t *row = image_row(in, y);
        for (uint32_t x = 0; x < in->width; x++) largest = larger(largest, row[x]);
    }
    memcpy(out->pixels, &largest, sizeof largest);
}

void plain_counts(const struct image *in, const struct image *out) {
    int32_t counts[PLAIN_LEVELS] = { 0 };
    for (uint32_t y = 0; y < in->height; y++) {
        const uint8_t *row = image_row(in, y);
        for (uint32_t x = 0; x < in->width; x++) count_level(row[x], counts);
    }
    memcpy(out->pixels, counts, sizeof counts);
}

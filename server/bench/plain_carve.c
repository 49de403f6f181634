// SPDX-License-Identifier: Apache-2.0
#include "server/bench/plain.h"

#include "pipeline/ops/carve.h"

#include <stdlib.h>

/* Pixels as red, green, blue and luma, one behind the other in a word. */
struct strip {
    uint32_t *pixels, *costs;
    size_t stride;
    uint32_t width, height;
};

/* As a seam sees it: LINES from end to end, each of LENGTH pixels that stand ALONG apart. */
struct way {
    bool turned; /* lines are columns */
    uint32_t lines, length;
    size_t along, across;
};

static struct way way_of(const struct strip *strip, bool turned) {
    if (turned) return (struct way){ true, strip->width, strip->height, strip->stride, 1 };
    return (struct way){ false, strip->height, strip->width, 1, strip->stride };
}

static uint32_t energy_at(const struct strip *strip, const struct way *way, uint32_t line,
                          uint32_t i) {
    const size_t below = line + 1 < way->lines ? way->across : 0;
    const size_t right = i + 1 < way->length ? way->along : 0;
    const uint32_t *here = strip->pixels + line * way->across + i * way->along;
    return carve_gradient(*here >> 24, here[right] >> 24, here[below] >> 24,
                          here[below + right] >> 24);
}

/* Where the costs of LINE are least beside I or at it: the first such place. */
static uint32_t least_beside(const struct strip *strip, const struct way *way, uint32_t line,
                             uint32_t i) {
    const uint32_t *costs = strip->costs + line * way->across;
    const uint32_t end = i + 1 < way->length ? i + 1 : i;
    uint32_t least = i ? i - 1 : i;
    for (uint32_t at = least + 1; at <= end; at++)
        if (costs[at * way->along] < costs[least * way->along]) least = at;
    return least;
}

/* Costs of LINE, which follows line BEFORE on its way from an end to the middle. */
static void cost_line(const struct strip *strip, const struct way *way, uint32_t line,
                      uint32_t before) {
    const uint32_t *from = strip->costs + before * way->across;
    for (uint32_t i = 0; i < way->length; i++) {
        uint32_t cost = energy_at(strip, way, line, i);
        if (line != before) cost += from[least_beside(strip, way, before, i) * way->along];
        strip->costs[line * way->across + i * way->along] = cost;
    }
}

/* The least seam's places into SEAM; what it costs. */
static uint32_t find_seam(const struct strip *strip, const struct way *way, uint32_t *seam) {
    const uint32_t middle = (way->lines - 1) / 2, last = way->lines - 1;
    for (uint32_t line = 0; line <= middle; line++)
        cost_line(strip, way, line, line ? line - 1 : 0);
    for (uint32_t line = last; line > middle; line--)
        cost_line(strip, way, line, line < last ? line + 1 : last);
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < way->length; i++) {
        uint32_t cost = strip->costs[middle * way->across + i * way->along];
        if (middle < last)
            cost += strip->costs[(middle + 1) * way->across +
                                 least_beside(strip, way, middle + 1, i) * way->along];
        if (cost < least) least = cost, seam[middle] = i;
    }
    for (uint32_t line = middle; line > 0; line--)
        seam[line - 1] = least_beside(strip, way, line - 1, seam[line]);
    for (uint32_t line = middle; line < last; line++)
        seam[line + 1] = least_beside(strip, way, line + 1, seam[line]);
    return least;
}

static void remove_seam(struct strip *strip, const struct way *way, const uint32_t *seam) {
    for (uint32_t line = 0; line < way->lines; line++) {
        uint32_t *pixels = strip->pixels + line * way->across;
        for (uint32_t i = seam[line]; i + 1 < way->length; i++)
            pixels[i * way->along] = pixels[(i + 1) * way->along];
    }
    *(way->turned ? &strip->height : &strip->width) -= 1;
}

/* SEAMS: room for one of either direction. */
static void remove_seams(struct strip *strip, const struct image *out, uint32_t *seams[2]) {
    while (strip->width > out->width || strip->height > out->height) {
        uint32_t costs[2] = { UINT32_MAX, UINT32_MAX };
        const struct way ways[2] = { way_of(strip, false), way_of(strip, true) };
        if (strip->width > out->width) costs[0] = find_seam(strip, &ways[0], seams[0]);
        if (strip->height > out->height) costs[1] = find_seam(strip, &ways[1], seams[1]);
        const bool turned = costs[1] < costs[0];
        remove_seam(strip, &ways[turned], seams[turned]);
    }
}

static void load_strip(const struct strip *strip, const struct image *picture) {
    for (uint32_t y = 0; y < picture->height; y++)
        for (uint32_t x = 0; x < picture->width; x++) {
            const uint8_t *rgb = image_row(picture, y) + 3 * (size_t)x;
            strip->pixels[y * strip->stride + x] =
                rgb[0] | (uint32_t)rgb[1] << 8 | (uint32_t)rgb[2] << 16 |
                (uint32_t)carve_luma(rgb[0], rgb[1], rgb[2], 8) << 24;
        }
}

static void store_strip(const struct strip *strip, const struct image *out) {
    for (uint32_t y = 0; y < out->height; y++)
        for (uint32_t x = 0; x < out->width; x++)
            for (unsigned c = 0; c < 3; c++)
                image_row(out, y)[3 * (size_t)x + c] =
                    (uint8_t)(strip->pixels[y * strip->stride + x] >> 8 * c);
}

bool plain_carve(const struct image *picture, const struct image *out) {
    const size_t pixels = (size_t)image_pixels(picture);
    struct strip strip = { .stride = picture->width,
                           .width = picture->width,
                           .height = picture->height };
    uint32_t *words = malloc((2 * pixels + picture->width + picture->height) * sizeof *words);
    if (!words) return false;
    uint32_t *seams[2] = { words + 2 * pixels, words + 2 * pixels + picture->height };
    strip.pixels = words;
    strip.costs = words + pixels;
    load_strip(&strip, picture);
    remove_seams(&strip, out, seams);
    store_strip(&strip, out);
    free(words);
    return true;
}

// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/plain.h"

#include "pipeline/ops/carve/definition.h"

#include <stdlib.h>

/* The picture while it shrinks. A pixel is a word: red, green, blue, luma from the lowest byte. */
struct strip {
    uint32_t *pixels, *costs;
    size_t stride;
    uint32_t width, height;
};

/* A strip as the seams of one direction see it: they cross LINES, each of LENGTH pixels. Two
 * neighbours of a line are ALONG words apart, two lines ACROSS. */
struct view {
    bool turned; /* lines are columns */
    uint32_t lines, length;
    size_t along, across;
};

static struct view view_of(const struct strip *strip, bool turned) {
    if (turned) return (struct view){ true, strip->width, strip->height, strip->stride, 1 };
    return (struct view){ false, strip->height, strip->width, 1, strip->stride };
}

static uint32_t energy_at(const struct strip *strip, const struct view *view, uint32_t line,
                          uint32_t i) {
    const size_t below = line + 1 < view->lines ? view->across : 0;
    const size_t right = i + 1 < view->length ? view->along : 0;
    const uint32_t *here = strip->pixels + line * view->across + i * view->along;
    return carve_gradient(*here >> 24, here[right] >> 24, here[below] >> 24,
                          here[below + right] >> 24);
}

/* The first place of the least cost in LINE among I and its neighbours. */
static uint32_t least_beside(const struct strip *strip, const struct view *view, uint32_t line,
                             uint32_t i) {
    const uint32_t *costs = strip->costs + line * view->across;
    const uint32_t end = i + 1 < view->length ? i + 1 : i;
    uint32_t least = i ? i - 1 : i;
    for (uint32_t at = least + 1; at <= end; at++)
        if (costs[at * view->along] < costs[least * view->along]) least = at;
    return least;
}

/* Costs of LINE, which follows line BEFORE on its way from an end to the middle. */
static void cost_line(const struct strip *strip, const struct view *view, uint32_t line,
                      uint32_t before) {
    const uint32_t *from = strip->costs + before * view->across;
    for (uint32_t i = 0; i < view->length; i++) {
        uint32_t cost = energy_at(strip, view, line, i);
        if (line != before) cost += from[least_beside(strip, view, before, i) * view->along];
        strip->costs[line * view->across + i * view->along] = cost;
    }
}

/* The least seam's places into SEAM; what it costs. */
static uint32_t find_seam(const struct strip *strip, const struct view *view, uint32_t *seam) {
    const uint32_t middle = (view->lines - 1) / 2, last = view->lines - 1;
    for (uint32_t line = 0; line <= middle; line++)
        cost_line(strip, view, line, line ? line - 1 : 0);
    for (uint32_t line = last; line > middle; line--)
        cost_line(strip, view, line, line < last ? line + 1 : last);
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < view->length; i++) {
        uint32_t cost = strip->costs[middle * view->across + i * view->along];
        if (middle < last)
            cost += strip->costs[(middle + 1) * view->across +
                                 least_beside(strip, view, middle + 1, i) * view->along];
        if (cost < least) least = cost, seam[middle] = i;
    }
    for (uint32_t line = middle; line > 0; line--)
        seam[line - 1] = least_beside(strip, view, line - 1, seam[line]);
    for (uint32_t line = middle; line < last; line++)
        seam[line + 1] = least_beside(strip, view, line + 1, seam[line]);
    return least;
}

static void remove_seam(struct strip *strip, const struct view *view, const uint32_t *seam) {
    for (uint32_t line = 0; line < view->lines; line++) {
        uint32_t *pixels = strip->pixels + line * view->across;
        for (uint32_t i = seam[line]; i + 1 < view->length; i++)
            pixels[i * view->along] = pixels[(i + 1) * view->along];
    }
    *(view->turned ? &strip->height : &strip->width) -= 1;
}

/* SEAMS: room for one of either direction. */
static void remove_seams(struct strip *strip, const struct image *out, uint32_t *seams[2]) {
    while (strip->width > out->width || strip->height > out->height) {
        uint32_t costs[2] = { UINT32_MAX, UINT32_MAX };
        const struct view views[2] = { view_of(strip, false), view_of(strip, true) };
        if (strip->width > out->width) costs[0] = find_seam(strip, &views[0], seams[0]);
        if (strip->height > out->height) costs[1] = find_seam(strip, &views[1], seams[1]);
        const bool turned = costs[1] < costs[0];
        remove_seam(strip, &views[turned], seams[turned]);
    }
}

static void load_strip(const struct strip *strip, const struct image *in) {
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            const uint8_t *rgb = image_row(in, y) + 3 * (size_t)x;
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

bool plain_carve(const struct image *in, const struct image *out) {
    const size_t pixels = (size_t)image_pixels(in);
    struct strip strip = { .stride = in->width, .width = in->width, .height = in->height };
    uint32_t *words = malloc((2 * pixels + in->width + in->height) * sizeof *words);
    if (!words) return false;
    uint32_t *seams[2] = { words + 2 * pixels, words + 2 * pixels + in->height };
    strip.pixels = words;
    strip.costs = words + pixels;
    load_strip(&strip, in);
    remove_seams(&strip, out, seams);
    store_strip(&strip, out);
    free(words);
    return true;
}

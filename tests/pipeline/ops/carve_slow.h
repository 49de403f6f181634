// SPDX-License-Identifier: Apache-2.0
/* carve_slow.h - seam carving once more, straight from definition.h's text: whole tables of 64-bit
 * keys, every energy computed anew for every seam, every pixel moved at every step. */
#ifndef BURIN_TESTS_OPS_CARVE_SLOW_H
#define BURIN_TESTS_OPS_CARVE_SLOW_H

#include "pipeline/image.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/sample.h"

#include <stdlib.h>
#include <string.h>

struct dot {
    uint32_t sample[4];
    int luma;                 /* of 8 bits */
    bool keep, remove, fresh; /* fresh: not of the input */
    int id;                   /* place in the input */
};

struct slow {
    int width, height;
    unsigned channels, depth;
    struct dot *dots; /* row by row */
};

static inline struct dot *dot_at(const struct slow *slow, int x, int y) {
    return &slow->dots[(size_t)y * (size_t)slow->width + (size_t)x];
}

static inline int within(int i, int size) {
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

static inline struct slow slow_make(const struct slow *like, int width, int height) {
    struct slow slow = *like;
    slow.width = width, slow.height = height;
    slow.dots = calloc((size_t)width * (size_t)height + 1, sizeof *slow.dots);
    return slow;
}

static inline int slow_luma(const struct slow *slow, const struct dot *dot) {
    const double max = slow->depth == 16 ? 65535 : 255;
    uint32_t over[3]; /* white */
    for (unsigned c = 0; c < 3; c++) {
        const double alpha = slow->channels % 2 ? max : dot->sample[slow->channels - 1];
        over[c] = (uint32_t)((dot->sample[c] * alpha + max * (max - alpha)) / max + 0.5);
    }
    uint32_t gray = over[0];
    if (slow->channels > 2) gray = (77 * over[0] + 150 * over[1] + 29 * over[2] + 128) / 256;
    return (int)(slow->depth == 16 ? gray / 256 : gray);
}

static inline struct slow slow_load(const struct image *image, const struct image *keep,
                                    const struct image *remove) {
    const struct slow shape = { .channels = image->channels, .depth = image->depth };
    struct slow slow = slow_make(&shape, (int)image->width, (int)image->height);
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            struct dot *dot = dot_at(&slow, (int)x, (int)y);
            for (unsigned c = 0; c < image->channels; c++)
                dot->sample[c] =
                    sample_get(image_row(image, y), (size_t)x * image->channels + c, image->depth);
            dot->luma = slow_luma(&slow, dot);
            dot->keep = keep->width && image_row(keep, y)[x] >= 128;
            dot->remove = remove->width && image_row(remove, y)[x] >= 128;
            dot->id = (int)(y * image->width + x);
        }
    return slow;
}

static inline struct slow slow_turn(const struct slow *slow) {
    struct slow turned = slow_make(slow, slow->height, slow->width);
    for (int y = 0; y < slow->height; y++)
        for (int x = 0; x < slow->width; x++) *dot_at(&turned, y, x) = *dot_at(slow, x, y);
    return turned;
}

static inline int slow_gray(const struct slow *slow, int x, int y) {
    return dot_at(slow, within(x, slow->width), within(y, slow->height))->luma;
}

static inline int slow_root(int n) {
    int root = 0;
    for (int bit = 1 << 14; bit; bit /= 2)
        if ((root + bit) * (root + bit) <= n) root += bit;
    return root;
}

static inline int slow_energy(const struct slow *slow, int x, int y, int kind) {
    static const int smooth[2][5] = { { 0, 1, 2, 1, 0 }, { 1, 4, 6, 4, 1 } };
    static const int along[2][5] = { { 0, -1, 0, 1, 0 }, { -1, -2, 0, 2, 1 } };
    const int here = slow_gray(slow, x, y);
    if (kind == CARVE_GRADIENT)
        return abs(here - slow_gray(slow, x + 1, y)) + abs(here - slow_gray(slow, x, y + 1)) +
               (int)(46341LL * abs(here - slow_gray(slow, x + 1, y + 1)) / 65536);
    const int k = kind == CARVE_SOBEL5, zeros = 1 - k;
    int gx = 0, gy = 0;
    for (int j = zeros; j < 5 - zeros; j++)
        for (int i = zeros; i < 5 - zeros; i++) {
            const int luma = slow_gray(slow, x + i - 2, y + j - 2);
            gx += smooth[k][j] * along[k][i] * luma;
            gy += along[k][j] * smooth[k][i] * luma;
        }
    return slow_root(gx * gx + gy * gy);
}

static inline uint64_t slow_cost(const struct slow *slow, int x, int y, int kind, bool masked) {
    const struct dot *dot = dot_at(slow, x, y);
    const uint64_t energy = (uint64_t)slow_energy(slow, x, y, kind);
    if (!masked) return energy;
    return (dot->keep ? (uint64_t)1 << 48 : 0) + (dot->remove ? 0 : (uint64_t)1 << 32) + energy;
}

/* The smallest column next to X, or X itself, of least cost in ROW. */
static inline int slow_least(const uint64_t *row, int x, int width) {
    int best = -1;
    for (int i = x - 1; i <= x + 1; i++)
        if (i >= 0 && i < width && (best < 0 || row[i] < row[best])) best = i;
    return best;
}

/* Columns of the vertical seam into SEAM; its cost. */
static inline uint64_t slow_seam(const struct slow *slow, int kind, bool masked, int *seam) {
    const int w = slow->width, h = slow->height, m = (h - 1) / 2;
    uint64_t *cost = malloc(sizeof *cost * (size_t)w * (size_t)h * 3), *top = cost + w * h,
             *bottom = top + w * h;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) cost[y * w + x] = slow_cost(slow, x, y, kind, masked);
    memcpy(top, cost, sizeof *cost * (size_t)w * (size_t)h);
    memcpy(bottom, cost, sizeof *cost * (size_t)w * (size_t)h);
    for (int y = 1; y < h; y++)
        for (int x = 0; x < w; x++) {
            const uint64_t *above = top + (y - 1) * w, *below = bottom + (h - y) * w;
            top[y * w + x] += above[slow_least(above, x, w)];
            bottom[(h - 1 - y) * w + x] += below[slow_least(below, x, w)];
        }
    uint64_t least = UINT64_MAX;
    for (int x = 0; x < w; x++) {
        const uint64_t sum = top[m * w + x] + bottom[m * w + x] - cost[m * w + x];
        if (sum < least) least = sum, seam[m] = x;
    }
    for (int y = m - 1; y >= 0; y--) seam[y] = slow_least(top + y * w, seam[y + 1], w);
    for (int y = m + 1; y < h; y++) seam[y] = slow_least(bottom + y * w, seam[y - 1], w);
    free(cost);
    return least;
}

/* SLOW without, or with a second dot at, the seam; takes SLOW's memory. */
static inline struct slow slow_remove(struct slow slow, const int *seam) {
    struct slow less = slow_make(&slow, slow.width - 1, slow.height);
    for (int y = 0; y < slow.height; y++)
        for (int x = 0; x < less.width; x++)
            *dot_at(&less, x, y) = *dot_at(&slow, x + (x >= seam[y]), y);
    free(slow.dots);
    return less;
}

static inline struct dot slow_mean(const struct slow *slow, int x, int y) {
    struct dot dot = *dot_at(slow, x, y);
    double alpha = 0, weights = 0, sums[4] = { 0 };
    dot.fresh = true;
    for (int i = -1; i <= 1; i++)
        alpha += dot_at(slow, within(x + i, slow->width), y)->sample[slow->channels - 1];
    for (int i = -1; i <= 1; i++) {
        const struct dot *one = dot_at(slow, within(x + i, slow->width), y);
        const bool weighs = slow->channels % 2 == 0 && alpha > 0;
        const double weight = weighs ? one->sample[slow->channels - 1] : 1;
        for (unsigned c = 0; c < slow->channels; c++) sums[c] += weight * one->sample[c];
        weights += weight;
    }
    for (unsigned c = 0; c < slow->channels; c++)
        dot.sample[c] = (uint32_t)(sums[c] / weights + 0.5);
    if (slow->channels % 2 == 0) dot.sample[slow->channels - 1] = (uint32_t)(alpha / 3 + 0.5);
    dot.luma = slow_luma(slow, &dot);
    return dot;
}

/* COUNT columns more, found by taking them out of a copy. */
static inline struct slow slow_widen(struct slow slow, int count, int kind, bool masked,
                                     bool *touched) {
    struct slow copy = slow_make(&slow, slow.width, slow.height);
    struct slow wide = slow_make(&slow, slow.width + count, slow.height);
    bool *doubled = calloc((size_t)slow.width * (size_t)slow.height, 1);
    int *seam = malloc(sizeof *seam * (size_t)slow.height);
    memcpy(copy.dots, slow.dots, sizeof *copy.dots * (size_t)slow.width * (size_t)slow.height);
    int *place = malloc(sizeof *place * (size_t)slow.width * (size_t)slow.height);
    for (int i = 0; i < slow.width * slow.height; i++) {
        place[i] = copy.dots[i].id;
        copy.dots[i].id = i;
    }
    for (int k = 0; k < count; k++) {
        slow_seam(&copy, kind, masked, seam);
        for (int y = 0; y < slow.height; y++) doubled[dot_at(&copy, seam[y], y)->id] = true;
        copy = slow_remove(copy, seam);
    }
    for (int y = 0; y < slow.height; y++)
        for (int x = 0, to = 0; x < slow.width; x++) {
            *dot_at(&wide, to++, y) = *dot_at(&slow, x, y);
            if (!doubled[y * slow.width + x]) continue;
            *dot_at(&wide, to++, y) = slow_mean(&slow, x, y);
            if (!dot_at(&slow, x, y)->fresh) touched[place[y * slow.width + x]] = true;
        }
    free(copy.dots), free(slow.dots), free(doubled), free(seam), free(place);
    return wide;
}

static inline struct slow slow_swap(struct slow slow) {
    struct slow turned = slow_turn(&slow);
    free(slow.dots);
    return turned;
}

/* The cheaper of both directions, once. */
static inline struct slow slow_shrink(struct slow slow, bool columns, bool rows, int kind,
                                      bool masked, bool *touched, bool *went_down) {
    int *down = malloc(sizeof *down * (size_t)(slow.width + slow.height));
    int *across = malloc(sizeof *across * (size_t)(slow.width + slow.height));
    struct slow turned = slow_turn(&slow);
    const uint64_t a = slow_seam(&slow, kind, masked, down);
    const uint64_t b = slow_seam(&turned, kind, masked, across);
    const int64_t rank_a = (int64_t)a - (masked ? (int64_t)slow.height << 32 : 0);
    const int64_t rank_b = (int64_t)b - (masked ? (int64_t)slow.width << 32 : 0);
    *went_down = columns && (!rows || rank_a <= rank_b);
    const struct slow *from = *went_down ? &slow : &turned;
    const int *seam = *went_down ? down : across;
    for (int y = 0; y < from->height; y++) {
        const struct dot *dot = dot_at(from, seam[y], y);
        if (!dot->fresh) touched[dot->id] = true;
    }
    if (*went_down) {
        free(turned.dots);
        slow = slow_remove(slow, down);
    } else {
        free(slow.dots);
        slow = slow_swap(slow_remove(turned, across));
    }
    free(down), free(across);
    return slow;
}

/* The most pixels to be removed in a row. */
static inline int slow_marked(const struct slow *slow) {
    int most = 0;
    for (int y = 0; y < slow->height; y++) {
        int marked = 0;
        for (int x = 0; x < slow->width; x++) marked += dot_at(slow, x, y)->remove;
        most = marked > most ? marked : most;
    }
    return most;
}

/* LEAST columns less, then more while a seam crosses pixels to be removed; *CLEARED: a column is
 * left without them. */
static inline struct slow slow_clear(struct slow slow, int least, int kind, bool *touched,
                                     bool *cleared) {
    int *seam = malloc(sizeof *seam * (size_t)slow.height);
    for (*cleared = true;; least--) {
        bool crosses = false;
        slow_seam(&slow, kind, true, seam);
        for (int y = 0; y < slow.height; y++) crosses |= dot_at(&slow, seam[y], y)->remove;
        if (least <= 0 && !crosses) break;
        if (slow.width == 1) {
            *cleared = false;
            break;
        }
        for (int y = 0; y < slow.height; y++) touched[dot_at(&slow, seam[y], y)->id] = true;
        slow = slow_remove(slow, seam);
    }
    free(seam);
    return slow;
}

/* Clears as rmask asks, unless both sides shrink; false: nothing would be left. */
static inline bool slow_remove_marked(struct slow *slow, int columns, int rows, int kind,
                                      bool *touched) {
    struct slow turned = slow_turn(slow);
    const int row = slow_marked(slow), column = slow_marked(&turned);
    const bool down = rows <= 0 && row < slow->width;
    const bool across = columns <= 0 && column < slow->height;
    bool cleared = !row || columns > 0 || rows > 0;
    if (row && down && (!across || row <= column))
        *slow = slow_clear(*slow, columns, kind, touched, &cleared);
    else if (row && across)
        *slow = slow_swap(slow_clear(slow_swap(*slow), rows, kind, touched, &cleared));
    free(turned.dots);
    return cleared;
}

/* All the way; TOUCHED, a place for each pixel of the input, is set where a seam went. Without
 * dots: what is to be removed leaves nothing. */
static inline struct slow slow_carve(struct slow slow, int goal_width, int goal_height, int kind,
                                     bool masked, bool *touched) {
    int columns = slow.width - goal_width, rows = slow.height - goal_height;
    if (!slow_remove_marked(&slow, columns, rows, kind, touched)) {
        free(slow.dots);
        return (struct slow){ 0 };
    }
    columns = slow.width - goal_width, rows = slow.height - goal_height;
    while (columns > 0 || rows > 0) {
        bool went_down;
        slow = slow_shrink(slow, columns > 0, rows > 0, kind, masked, touched, &went_down);
        went_down ? columns-- : rows--;
    }
    while (slow.width < goal_width) {
        const int missing = goal_width - slow.width, most = slow.width / 2 > 1 ? slow.width / 2 : 1;
        slow = slow_widen(slow, missing < most ? missing : most, kind, masked, touched);
    }
    while (slow.height < goal_height) {
        const int missing = goal_height - slow.height;
        const int most = slow.height / 2 > 1 ? slow.height / 2 : 1;
        slow = slow_swap(
            slow_widen(slow_swap(slow), missing < most ? missing : most, kind, masked, touched));
    }
    return slow;
}

#endif

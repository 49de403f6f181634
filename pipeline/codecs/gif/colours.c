// SPDX-License-Identifier: Apache-2.0
/* How it works. The pixels of each colour are counted; where a picture has more than CELLS colours,
 * the lowest bits of each channel are dropped, and cells of two or four levels are counted. Median
 * cut begins with one box of all cells and cuts the box with the greatest sum of squared deviations
 * along one axis, at the mean of that axis: the median would spend entries on large areas that need
 * few. It ends with 256 boxes, or when each has one cell. Then each cell takes the nearest of the
 * boxes' means, and an entry of the palette is the mean of the pixels that take it. So at most 256
 * colours are kept as they are. All of this is in integers, and the first of equals is taken. */
#include "pipeline/codecs/common/argb_row.h"
#include "pipeline/codecs/gif/codec.h"

#include <stdlib.h>

enum {
    OPAQUE = 128,         /* from this alpha on */
    CELLS = 1 << 18,      /* of four levels, as many as there are */
    HASHED_BITS = 19,     /* twice as many */
    CHECKED_CELLS = 1024, /* between two looks at the progress */
};

struct box {
    uint32_t *cells;
    size_t count;
    uint64_t pixels, sums[3]; /* of levels */
    uint64_t spread;          /* the greatest sum of squared deviations, along `axis` */
    int axis;
};

struct chooser {
    const struct encoding *encoding;
    struct gif_palette *palette;
    uint32_t *row;                          /* words of one row */
    bool partial;                           /* an alpha is neither 0 nor 255 */
    uint32_t mask;                          /* the bits of a colour that cells differ by */
    size_t count;                           /* of cells, in the order in which they appear */
    uint32_t slots[1 << HASHED_BITS];       /* a cell's number plus 1; 0: free */
    uint32_t colours[CELLS], pixels[CELLS]; /* of a cell */
    uint8_t indices[CELLS];
    uint32_t order[CELLS]; /* cells by boxes */
    struct box boxes[GIF_COLOURS_MAX];
    unsigned box_count;
    int32_t means[3][GIF_COLOURS_MAX]; /* of boxes */
};

/* AXIS: 0 red, 1 green, 2 blue. */
static int32_t level(uint32_t colour, int axis) {
    return (int32_t)(colour >> (16 - 8 * axis) & 255);
}

static enum status check(const struct chooser *chooser) {
    const enum status status = progress_check(chooser->encoding->progress);
    return status ? codec_stopped(status, chooser->encoding->failure) : STATUS_OK;
}

static enum status read_row(struct chooser *chooser, uint32_t y) {
    const struct encoding *encoding = chooser->encoding;
    const enum status status = check(chooser);
    if (status) return status;
    argb_row(encoding->image, y, chooser->row);
    return STATUS_OK;
}

/* ---- cells */

/* The slot of COLOUR's cell, or a free one for it. */
static uint32_t *find_slot(struct chooser *chooser, uint32_t colour) {
    uint32_t at = colour * 0x9e3779b1u >> (32 - HASHED_BITS);
    while (chooser->slots[at] && chooser->colours[chooser->slots[at] - 1] != colour)
        at = (at + 1) % (1u << HASHED_BITS);
    return &chooser->slots[at];
}

static void count_colour(struct chooser *chooser, uint32_t colour, uint32_t pixels);

/* A cell goes to a place before its own, or stays. */
static void drop_bit(struct chooser *chooser) {
    const size_t count = chooser->count;
    chooser->mask &= chooser->mask << 1 & 0xfefefe;
    chooser->count = 0;
    memset(chooser->slots, 0, sizeof chooser->slots);
    for (size_t i = 0; i < count; i++)
        count_colour(chooser, chooser->colours[i], chooser->pixels[i]);
}

static void count_colour(struct chooser *chooser, uint32_t colour, uint32_t pixels) {
    uint32_t *slot = find_slot(chooser, colour & chooser->mask);
    while (!*slot && chooser->count == CELLS) {
        drop_bit(chooser);
        slot = find_slot(chooser, colour & chooser->mask);
    }
    if (!*slot) {
        chooser->colours[chooser->count] = colour & chooser->mask;
        chooser->pixels[chooser->count++] = 0;
        *slot = (uint32_t)chooser->count;
    }
    chooser->pixels[*slot - 1] += pixels;
}

static enum status count_cells(struct chooser *chooser) {
    const struct image *image = chooser->encoding->image;
    for (uint32_t y = 0; y < image->height; y++) {
        const enum status status = read_row(chooser, y);
        if (status) return status;
        for (uint32_t x = 0; x < image->width; x++) {
            const uint32_t word = chooser->row[x], alpha = word >> 24;
            chooser->partial |= alpha && alpha < 255;
            if (alpha >= OPAQUE)
                count_colour(chooser, word & 0xffffff, 1);
            else
                chooser->palette->transparent = 0;
        }
    }
    return STATUS_OK;
}

/* ---- boxes */

static void measure(const struct chooser *chooser, struct box *box) {
    box->pixels = box->spread = 0;
    memset(box->sums, 0, sizeof box->sums);
    for (size_t i = 0; i < box->count; i++) {
        const uint64_t pixels = chooser->pixels[box->cells[i]];
        box->pixels += pixels;
        for (int a = 0; a < 3; a++)
            box->sums[a] += pixels * (uint64_t)level(chooser->colours[box->cells[i]], a);
    }
    for (int a = 0; a < 3; a++) {
        const int32_t mean = (int32_t)((box->sums[a] + box->pixels / 2) / box->pixels);
        uint64_t spread = 0;
        for (size_t i = 0; i < box->count; i++) {
            const int32_t off = level(chooser->colours[box->cells[i]], a) - mean;
            spread += chooser->pixels[box->cells[i]] * (uint64_t)(off * off);
        }
        if (spread <= box->spread) continue;
        box->spread = spread;
        box->axis = a;
    }
}

/* Levels of the axis differ, so there are cells on either side of their mean. */
static void cut(struct chooser *chooser, struct box *box) {
    struct box *other = &chooser->boxes[chooser->box_count++];
    const int32_t mean = (int32_t)(box->sums[box->axis] / box->pixels);
    size_t low = 0;
    for (size_t i = 0; i < box->count; i++) {
        const uint32_t cell = box->cells[i];
        if (level(chooser->colours[cell], box->axis) > mean) continue;
        box->cells[i] = box->cells[low];
        box->cells[low++] = cell;
    }
    *other = (struct box){ .cells = box->cells + low, .count = box->count - low };
    box->count = low;
    measure(chooser, box);
    measure(chooser, other);
}

/* Makes at most MOST boxes of all cells. *SPREAD: the greatest of a box. */
static enum status cut_boxes(struct chooser *chooser, unsigned most, uint64_t *spread) {
    enum status status = STATUS_OK;
    struct box *widest = chooser->boxes;
    for (size_t i = 0; i < chooser->count; i++) chooser->order[i] = (uint32_t)i;
    *widest = (struct box){ .cells = chooser->order, .count = chooser->count };
    chooser->box_count = 1;
    measure(chooser, widest);
    while (widest->spread && chooser->box_count < most && !status) {
        status = check(chooser);
        cut(chooser, widest);
        widest = chooser->boxes;
        for (unsigned b = 0; b < chooser->box_count; b++)
            if (chooser->boxes[b].spread > widest->spread) widest = &chooser->boxes[b];
    }
    for (unsigned b = 0; b < chooser->box_count; b++) {
        const struct box *box = &chooser->boxes[b];
        for (int a = 0; a < 3; a++)
            chooser->means[a][b] = (int32_t)((box->sums[a] + box->pixels / 2) / box->pixels);
    }
    *spread = widest->spread;
    return status;
}

/* ---- indices */

static unsigned nearest(const struct chooser *chooser, uint32_t colour) {
    const int32_t red = level(colour, 0), green = level(colour, 1), blue = level(colour, 2);
    int32_t distances[GIF_COLOURS_MAX];
    unsigned best = 0;
    for (unsigned b = 0; b < chooser->box_count; b++) {
        const int32_t r = red - chooser->means[0][b], g = green - chooser->means[1][b];
        const int32_t l = blue - chooser->means[2][b];
        distances[b] = r * r + g * g + l * l;
    }
    for (unsigned b = 1; b < chooser->box_count; b++)
        if (distances[b] < distances[best]) best = b;
    return best;
}

static enum status place_cells(struct chooser *chooser) {
    for (size_t i = 0; i < chooser->count; i++) {
        const enum status status = i % CHECKED_CELLS ? STATUS_OK : check(chooser);
        if (status) return status;
        chooser->indices[i] = (uint8_t)nearest(chooser, chooser->colours[i]);
    }
    return STATUS_OK;
}

/* Sets INDICES, and makes the palette of the pixels' own colours. */
static enum status place_pixels(struct chooser *chooser, uint8_t *indices) {
    const struct image *image = chooser->encoding->image;
    struct gif_palette *palette = chooser->palette;
    uint64_t pixels[GIF_COLOURS_MAX] = { 0 }, sums[GIF_COLOURS_MAX][3] = { { 0 } };
    for (uint32_t y = 0; y < image->height; y++) {
        const enum status status = read_row(chooser, y);
        if (status) return status;
        for (uint32_t x = 0; x < image->width; x++, indices++) {
            const uint32_t word = chooser->row[x];
            *indices = (uint8_t)palette->transparent;
            if (word >> 24 < OPAQUE) continue;
            *indices = chooser->indices[*find_slot(chooser, word & chooser->mask) - 1];
            pixels[*indices]++;
            for (int a = 0; a < 3; a++) sums[*indices][a] += (uint64_t)level(word, a);
        }
    }
    for (int i = 0; i < GIF_COLOURS_MAX; i++)
        for (int a = 0; a < 3 && pixels[i]; a++)
            palette->colours[i][a] = (uint8_t)((sums[i][a] + pixels[i] / 2) / pixels[i]);
    return STATUS_OK;
}

/* ---- all of it */

static enum status choose(struct chooser *chooser, uint8_t *indices) {
    struct gif_palette *palette = chooser->palette;
    enum status status = count_cells(chooser);
    if (status) return status;
    const bool seen = palette->transparent == 0;
    uint64_t left = 0;
    if (chooser->count) status = cut_boxes(chooser, GIF_COLOURS_MAX - (unsigned)seen, &left);
    if (status) return status;
    const bool has =
        seen || (image_has_alpha(chooser->encoding->image) && chooser->box_count < GIF_COLOURS_MAX);
    palette->transparent = has ? (int)chooser->box_count : -1;
    palette->count = chooser->box_count + (unsigned)has;
    status = place_cells(chooser);
    if (!status) status = place_pixels(chooser, indices);
    if (left || chooser->mask != 0xffffff) *chooser->encoding->notes |= NOTE_COLOURS_CUT;
    if (chooser->partial) *chooser->encoding->notes |= NOTE_ALPHA_CUT;
    return status;
}

enum status gif_choose_colours(const struct encoding *encoding, struct gif_palette *palette,
                               uint8_t *indices) {
    struct chooser *chooser = calloc(1, sizeof *chooser);
    uint32_t *row = malloc(encoding->image->width * sizeof *row);
    enum status status = STATUS_NO_MEMORY;
    *palette = (struct gif_palette){ .transparent = -1 };
    if (chooser && row) {
        chooser->encoding = encoding;
        chooser->palette = palette;
        chooser->row = row;
        chooser->mask = 0xffffff;
        status = choose(chooser, indices);
    } else {
        fail(encoding->failure, status, "no memory for the colours of the GIF");
    }
    free(row);
    free(chooser);
    return status;
}

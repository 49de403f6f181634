// SPDX-License-Identifier: Apache-2.0
/* How it works. The pixels of each colour are counted; where a picture has more than CELLS colours,
 * the lowest bits of red, green and blue are dropped, and cells of two or four levels are counted.
 * Entries are chosen for the cells (clusters.c), and each pixel takes that of its cell.
 *
 * Dither: a cell has two entries between which it lies, and the part of the second in 64ths; an
 * ordered matrix of 8 x 8 (Bayer) decides between them. */
#include "pipeline/codecs/common/palette.h"

#include "pipeline/codecs/common/argb_row.h"
#include "pipeline/codecs/common/clusters.h"
#include "pipeline/codecs/common/hash_multiplier.h"

#include <stdlib.h>

enum {
    OPAQUE = 128,        /* from this alpha on */
    NEARLY_OPAQUE = 250, /* an entry of a greater alpha gets 255: areas stay opaque */
    HASHED_BITS = 19,    /* twice as many as there are cells */
    CELLS = CLUSTER_POINTS,
    AXES = CLUSTER_AXES,
    PARTS = 64,    /* of a pattern */
    ROUGHNESS = 2, /* a pattern's own variance counts a half of its error in the mean */
};

/* The pixels of a cell take its place, or where there is dither `part` PARTSths the second. */
struct pattern {
    uint8_t second, part;
};

struct chooser {
    const struct encoding *encoding;
    const struct palette_wish *wish;
    struct palette *palette;
    uint32_t *row;                    /* words of one row */
    uint32_t mask;                    /* the bits of a colour that cells differ by */
    int dropped;                      /* bits of each of red, green and blue */
    bool clear;                       /* a pixel has alpha 0 */
    uint64_t multiplier;              /* of slots */
    uint32_t slots[1 << HASHED_BITS]; /* a cell's number plus 1; 0: free */
    uint32_t colours[CELLS];          /* of a cell */
    struct pattern patterns[CELLS];
    struct clusters clusters; /* its points are the cells, in the order in which they appear */
};

/* ---- colours */

static uint32_t multiplied(uint32_t colour) {
    const uint32_t alpha = colour >> 24;
    uint32_t point = alpha;
    if (alpha == 255) return colour;
    for (int a = 1; a < AXES; a++)
        point = point << 8 | ((uint32_t)cluster_level(colour, a) * alpha + 127) / 255;
    return point;
}

static enum status read_row(struct chooser *chooser, uint32_t y) {
    const struct image *image = chooser->encoding->image;
    const enum status status = clusters_check(&chooser->clusters, 0);
    if (status) return status;
    argb_row(image, y, chooser->row);
    if (!image_has_alpha(image)) return STATUS_OK;
    for (uint32_t x = 0; x < image->width; x++) {
        uint32_t *word = &chooser->row[x];
        const uint32_t alpha = *word >> 24;
        if (alpha < (chooser->wish->opaque ? OPAQUE : 1))
            *word = 0;
        else if (chooser->wish->opaque)
            *word |= 255u << 24;
        chooser->palette->alpha_cut |= alpha && *word >> 24 != alpha;
    }
    return STATUS_OK;
}

/* ---- cells */

/* The slot of COLOUR's cell, or a free one for it. The order of cells does not depend on slots. */
static uint32_t *find_slot(struct chooser *chooser, uint32_t colour) {
    uint32_t at = (uint32_t)(colour * chooser->multiplier >> (64 - HASHED_BITS));
    while (chooser->slots[at] && chooser->colours[chooser->slots[at] - 1] != colour)
        at = (at + 1) % (1u << HASHED_BITS);
    return &chooser->slots[at];
}

static void count_colour(struct chooser *chooser, uint32_t colour, uint32_t pixels);

/* A cell goes to a place before its own, or stays. */
static void drop_bit(struct chooser *chooser) {
    const size_t count = chooser->clusters.count;
    chooser->mask &= chooser->mask << 1 & 0xfefefe;
    chooser->mask |= 255u << 24;
    chooser->dropped++;
    chooser->clusters.count = 0;
    memset(chooser->slots, 0, sizeof chooser->slots);
    for (size_t i = 0; i < count; i++)
        count_colour(chooser, chooser->colours[i], chooser->clusters.pixels[i]);
}

static void count_colour(struct chooser *chooser, uint32_t colour, uint32_t pixels) {
    uint32_t *slot = find_slot(chooser, colour & chooser->mask);
    while (!*slot && chooser->clusters.count == CELLS) {
        drop_bit(chooser);
        slot = find_slot(chooser, colour & chooser->mask);
    }
    if (!*slot) {
        chooser->colours[chooser->clusters.count] = colour & chooser->mask;
        chooser->clusters.pixels[chooser->clusters.count++] = 0;
        *slot = (uint32_t)chooser->clusters.count;
    }
    chooser->clusters.pixels[*slot - 1] += pixels;
}

static enum status count_cells(struct chooser *chooser) {
    const struct image *image = chooser->encoding->image;
    for (uint32_t y = 0; y < image->height; y++) {
        const enum status status = read_row(chooser, y);
        if (status) return status;
        for (uint32_t x = 0, from = 0; x < image->width; from = x) {
            const uint32_t word = chooser->row[x];
            while (x < image->width && chooser->row[x] == word) x++;
            if (word >> 24)
                count_colour(chooser, word, x - from);
            else
                chooser->clear = true;
        }
    }
    return STATUS_OK;
}

/* The bits that were dropped repeat the highest: black stays black, white white. */
static uint32_t middle(const struct chooser *chooser, uint32_t colour) {
    return colour | (colour >> (8 - chooser->dropped) & ~chooser->mask);
}

/* ---- entries */

/* The colour whose product with its alpha is the cluster's mean. */
static uint32_t colour_of(const struct cluster *cluster) {
    const uint64_t alpha = (cluster->sums[0] + cluster->pixels / 2) / cluster->pixels;
    uint32_t colour = alpha > NEARLY_OPAQUE ? 255 : (uint32_t)alpha;
    for (int a = 1; a < AXES; a++) {
        const uint64_t sample = (cluster->sums[a] * 255 + cluster->sums[0] / 2) / cluster->sums[0];
        colour = colour << 8 | (uint32_t)(sample < 255 ? sample : 255);
    }
    return colour;
}

static int compare(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Makes the palette of COUNT colours, each << 8 | its place before, which cells have. */
static void settle(struct chooser *chooser, uint64_t *colours, unsigned count) {
    uint32_t *entries = chooser->palette->colours + chooser->clear;
    uint8_t places[PALETTE_MAX] = { 0 };
    qsort(colours, count, sizeof *colours, compare);
    for (unsigned e = 0; e < count; e++) {
        places[colours[e] & 255] = (uint8_t)e;
        entries[e] = (uint32_t)(colours[e] >> 8);
        chooser->clusters.entries[e] = multiplied(entries[e]);
    }
    for (size_t i = 0; i < chooser->clusters.count; i++) {
        uint8_t *place = &chooser->clusters.places[i];
        *place = places[*place];
    }
    chooser->clusters.entry_count = count;
    chooser->palette->count = chooser->clear + count;
}

/* Few colours: each is an entry, and a cell. */
static void keep_cells(struct chooser *chooser) {
    uint64_t colours[PALETTE_MAX];
    for (size_t i = 0; i < chooser->clusters.count; i++) {
        colours[i] = (uint64_t)chooser->colours[i] << 8 | i;
        chooser->clusters.places[i] = (uint8_t)i;
    }
    settle(chooser, colours, (unsigned)chooser->clusters.count);
}

/* Fewer entries than cells. */
static enum status choose_entries(struct chooser *chooser, unsigned most) {
    uint64_t colours[PALETTE_MAX];
    unsigned count = 0;
    const enum status status = clusters_choose(&chooser->clusters, most);
    if (status) return status;
    for (unsigned e = 0; e < chooser->clusters.entry_count; e++)
        if (chooser->clusters.of[e].pixels)
            colours[count++] = (uint64_t)colour_of(&chooser->clusters.of[e]) << 8 | e;
    settle(chooser, colours, count);
    return clusters_place(&chooser->clusters);
}

/* ---- dither */

/* The square of the error of PARTS*PARTS pixels' mean, and of each of them in part. */
static uint64_t roughness(uint64_t from, uint64_t between, uint64_t along, uint64_t part) {
    const uint64_t mean = from * PARTS * PARTS + part * part * between - 2 * PARTS * part * along;
    return mean + part * (PARTS - part) * between / ROUGHNESS;
}

/* The second and its part that are least rough: a pattern begins at a quarter of the way to the
 * second, and is half of it in the middle. A second more than four times as far would be seen. */
static struct pattern mix(const struct clusters *clusters, size_t cell) {
    const uint8_t first = clusters->places[cell];
    const uint32_t point = clusters->points[cell], entry = clusters->entries[first];
    const uint32_t from = cluster_distance(point, entry), *near = clusters->near[first];
    struct pattern best = { first, 0 };
    uint64_t least = (uint64_t)from * PARTS * PARTS;
    for (unsigned i = 0; i < clusters->entry_count && near[i] >> 8 < 16 * from; i++) {
        const uint32_t other = clusters->entries[near[i] & 255], between = near[i] >> 8;
        int32_t along = 0;
        for (int a = 0; a < AXES; a++)
            along += (cluster_level(point, a) - cluster_level(entry, a)) *
                     (cluster_level(other, a) - cluster_level(entry, a));
        const int32_t over = 2 * ROUGHNESS * along - (int32_t)between;
        if (over <= 0) continue;
        const uint32_t part = (uint32_t)over * (PARTS / 2) / ((ROUGHNESS - 1) * between);
        const uint64_t rough = roughness(from, between, (uint64_t)along, part);
        if (rough >= least) continue;
        least = rough;
        best = (struct pattern){ (uint8_t)(near[i] & 255), (uint8_t)part };
    }
    return best;
}

/* Cells on both sides of the middle between two entries have them in one order, so that a pattern
 * goes on in the next cell. */
static enum status mix_cells(struct chooser *chooser) {
    for (size_t i = 0; i < chooser->clusters.count; i++) {
        uint8_t *first = &chooser->clusters.places[i];
        struct pattern *pattern = &chooser->patterns[i];
        const enum status status = clusters_check(&chooser->clusters, i);
        if (status) return status;
        *pattern = mix(&chooser->clusters, i);
        if (pattern->second > *first) continue;
        const uint8_t second = *first;
        *first = pattern->second;
        *pattern = (struct pattern){ second, (uint8_t)(PARTS - pattern->part) };
    }
    return STATUS_OK;
}

/* Bayer's matrix: 0..63, each once in 8 x 8 pixels. */
static unsigned threshold(uint32_t x, uint32_t y) {
    unsigned value = 0;
    for (int bit = 0; bit < 3; bit++)
        value = value << 2 | ((x ^ y) >> bit & 1) << 1 | (y >> bit & 1);
    return value;
}

/* ---- indices */

static enum status place_pixels(struct chooser *chooser, uint8_t *indices) {
    const struct image *image = chooser->encoding->image;
    const unsigned first = chooser->clear;
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t thresholds[8];
        const enum status status = read_row(chooser, y);
        if (status) return status;
        for (uint32_t x = 0; x < 8; x++) thresholds[x] = (uint8_t)threshold(x, y);
        size_t cell = 0;
        for (uint32_t x = 0; x < image->width; x++, indices++) {
            const uint32_t word = chooser->row[x];
            *indices = 0;
            if (!(word >> 24)) continue;
            if (!x || word != chooser->row[x - 1])
                cell = *find_slot(chooser, word & chooser->mask) - 1;
            const struct pattern *pattern = &chooser->patterns[cell];
            *indices = (uint8_t)(first + (thresholds[x & 7] < pattern->part
                                              ? pattern->second
                                              : chooser->clusters.places[cell]));
        }
    }
    return STATUS_OK;
}

/* ---- all of it */

static enum status choose(struct chooser *chooser, uint8_t *indices) {
    struct palette *palette = chooser->palette;
    enum status status = count_cells(chooser);
    if (status) return status;
    const unsigned most = chooser->wish->most - chooser->clear;
    for (size_t i = 0; i < chooser->clusters.count; i++)
        chooser->clusters.points[i] = multiplied(middle(chooser, chooser->colours[i]));
    palette->cut = chooser->clusters.count > most || chooser->dropped;
    if (palette->cut)
        status = choose_entries(chooser, most);
    else
        keep_cells(chooser);
    if (!status && palette->cut && chooser->wish->dither) status = mix_cells(chooser);
    return status ? status : place_pixels(chooser, indices);
}

enum status palette_choose(const struct encoding *encoding, const struct palette_wish *wish,
                           struct palette *palette, uint8_t *indices) {
    struct chooser *chooser = calloc(1, sizeof *chooser);
    uint32_t *row = malloc(encoding->image->width * sizeof *row);
    enum status status = STATUS_NO_MEMORY;
    *palette = (struct palette){ .cut = false };
    if (chooser && row) {
        chooser->encoding = chooser->clusters.encoding = encoding;
        chooser->wish = wish;
        chooser->palette = palette;
        chooser->row = row;
        chooser->mask = 0xffffffff;
        chooser->multiplier = hash_multiplier(chooser);
        status = choose(chooser, indices);
    } else {
        fail(encoding->failure, status, "no memory for the colours of the %s",
             format_record(encoding->options->format)->title);
    }
    free(row);
    free(chooser);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
/* clusters.h - many colours, each of some pixels, to a few near them.
 *
 *     clusters_choose(&clusters, 256);    makes entries, and a place of each point among them
 *     ...the entries are changed a little, and the places are set to match...
 *     clusters_place(&clusters);          makes each place that of the nearest entry
 *
 * Used by:  palette.c.
 * Owns:     nothing; the caller has the memory, zeroed but for what is said.
 * Fails:    STATUS_CANCELLED and STATUS_DEADLINE, as progress_check() says.
 * Threads:  any.
 */
#ifndef BURIN_CLUSTERS_H
#define BURIN_CLUSTERS_H

#include "pipeline/codecs/common/palette.h"

enum {
    CLUSTER_POINTS = 1 << 18,
    CLUSTER_AXES = 4, /* alpha, and red, green and blue multiplied by it */
};

struct cluster_box {
    uint32_t *cells;
    size_t count;
    uint64_t pixels, sums[CLUSTER_AXES]; /* of levels */
    uint64_t spread;                     /* the greatest sum of squared deviations, along `axis` */
    int axis;
};

/* The pixels whose nearest entry it is. */
struct cluster {
    uint64_t pixels, sums[CLUSTER_AXES];
};

struct clusters {
    const struct encoding *encoding;
    size_t count;                    /* of points */
    uint32_t points[CLUSTER_POINTS]; /* of four bytes, alpha highest; set by the caller */
    uint32_t pixels[CLUSTER_POINTS]; /* that a point counts for, likewise */
    uint8_t places[CLUSTER_POINTS];  /* the entry of a point */
    uint32_t order[CLUSTER_POINTS];  /* points by boxes */
    struct cluster_box boxes[PALETTE_MAX];
    unsigned entry_count;
    uint32_t entries[PALETTE_MAX];
    struct cluster of[PALETTE_MAX];          /* those of entries */
    uint32_t near[PALETTE_MAX][PALETTE_MAX]; /* by entry: distance << 8 | other, the least first */
};

/* AXIS: 0 alpha, 1 red, 2 green, 3 blue. */
static inline int32_t cluster_level(uint32_t colour, int axis) {
    return (int32_t)(colour >> (24 - 8 * axis) & 255);
}

/* Squared. */
static inline uint32_t cluster_distance(uint32_t p, uint32_t q) {
    uint32_t sum = 0;
    for (int a = 0; a < CLUSTER_AXES; a++) {
        const int32_t off = cluster_level(p, a) - cluster_level(q, a);
        sum += (uint32_t)(off * off);
    }
    return sum;
}

/* Makes at most MOST entries, at least one for a point. */
enum status clusters_choose(struct clusters *clusters, unsigned most);

enum status clusters_place(struct clusters *clusters);

/* Looks at the progress at each 4096th INDEX. */
enum status clusters_check(const struct clusters *clusters, size_t index);

#endif

// SPDX-License-Identifier: Apache-2.0
/* How it works. Median cut begins with one box of all points and cuts the box with the greatest sum
 * of squared deviations along one axis, at the level that leaves the least: the median would spend
 * entries on large areas that need few. Then the means of the boxes are moved (Lloyd's k-means):
 * each point takes the nearest, and a mean becomes that of the points that took it. The others are
 * listed by their distance from each entry: a search from a point's former entry ends where they
 * are twice as far from that as the point is. */
#include "pipeline/codecs/common/clusters.h"

enum {
    CHECKED = 4096, /* points between two looks at the progress */
    ROUNDS = 8,     /* of k-means */
};

enum status clusters_check(const struct clusters *clusters, size_t index) {
    if (index % CHECKED) return STATUS_OK;
    const enum status status = progress_check(clusters->encoding->progress);
    return status ? codec_stopped(status, clusters->encoding->failure) : STATUS_OK;
}

/* ---- boxes */

static void measure(const struct clusters *clusters, struct cluster_box *box) {
    uint64_t squares[CLUSTER_AXES] = { 0 };
    box->pixels = box->spread = 0;
    memset(box->sums, 0, sizeof box->sums);
    for (size_t i = 0; i < box->count; i++) {
        const uint64_t pixels = clusters->pixels[box->cells[i]];
        const uint32_t point = clusters->points[box->cells[i]];
        box->pixels += pixels;
        for (int a = 0; a < CLUSTER_AXES; a++) {
            const uint64_t v = (uint64_t)cluster_level(point, a);
            box->sums[a] += pixels * v;
            squares[a] += pixels * v * v;
        }
    }
    for (int a = 0; a < CLUSTER_AXES; a++) {
        const uint64_t mean = (box->sums[a] + box->pixels / 2) / box->pixels;
        const uint64_t spread = squares[a] + mean * mean * box->pixels - 2 * mean * box->sums[a];
        if (spread <= box->spread) continue;
        box->spread = spread;
        box->axis = a;
    }
}

/* SUM * SUM / PIXELS, which a part's sum of squared deviations lacks, in 256ths. */
static uint64_t kept_by(uint64_t pixels, uint64_t sum) {
    return pixels ? sum * ((sum << 8) / pixels) : 0;
}

/* The level of the axis, whose cells belong to the lower part, that leaves the least spread. Levels
 * differ, so both parts have cells. */
static int32_t find_cut(const struct clusters *clusters, const struct cluster_box *box) {
    uint64_t pixels[256] = { 0 }, low = 0, low_sum = 0, most = 0;
    int32_t best = (int32_t)(box->sums[box->axis] / box->pixels);
    for (size_t i = 0; i < box->count; i++)
        pixels[cluster_level(clusters->points[box->cells[i]], box->axis)] +=
            clusters->pixels[box->cells[i]];
    for (int32_t v = 0; v < 255; v++) {
        low += pixels[v];
        low_sum += pixels[v] * (uint64_t)v;
        if (!low || low == box->pixels) continue;
        const uint64_t kept =
            kept_by(low, low_sum) + kept_by(box->pixels - low, box->sums[box->axis] - low_sum);
        if (kept <= most) continue;
        most = kept;
        best = v;
    }
    return best;
}

static void cut(struct clusters *clusters, struct cluster_box *box) {
    struct cluster_box *other = &clusters->boxes[clusters->entry_count++];
    const int32_t highest = find_cut(clusters, box);
    size_t low = 0;
    for (size_t i = 0; i < box->count; i++) {
        const uint32_t cell = box->cells[i];
        if (cluster_level(clusters->points[cell], box->axis) > highest) continue;
        box->cells[i] = box->cells[low];
        box->cells[low++] = cell;
    }
    *other = (struct cluster_box){ .cells = box->cells + low, .count = box->count - low };
    box->count = low;
    measure(clusters, box);
    measure(clusters, other);
}

/* Makes at most MOST boxes of all cells. */
static enum status cut_boxes(struct clusters *clusters, unsigned most) {
    enum status status = STATUS_OK;
    struct cluster_box *widest = clusters->boxes;
    for (size_t i = 0; i < clusters->count; i++) clusters->order[i] = (uint32_t)i;
    *widest = (struct cluster_box){ .cells = clusters->order, .count = clusters->count };
    clusters->entry_count = 1;
    measure(clusters, widest);
    while (widest->spread && clusters->entry_count < most && !status) {
        status = clusters_check(clusters, 0);
        cut(clusters, widest);
        widest = clusters->boxes;
        for (unsigned b = 0; b < clusters->entry_count; b++)
            if (clusters->boxes[b].spread > widest->spread) widest = &clusters->boxes[b];
    }
    for (unsigned b = 0; b < clusters->entry_count; b++) {
        const struct cluster_box *box = &clusters->boxes[b];
        struct cluster *cluster = &clusters->of[b];
        cluster->pixels = box->pixels;
        memcpy(cluster->sums, box->sums, sizeof box->sums);
        for (size_t i = 0; i < box->count; i++) clusters->places[box->cells[i]] = (uint8_t)b;
    }
    return status;
}

/* ---- the nearest entry */

/* Shell's sort: between two rounds little changes. */
static void sort_row(uint32_t *row, unsigned count) {
    for (unsigned gap = 64; gap; gap /= 4)
        for (unsigned i = gap; i < count; i++) {
            const uint32_t key = row[i];
            unsigned at = i;
            for (; at >= gap && row[at - gap] > key; at -= gap) row[at] = row[at - gap];
            row[at] = key;
        }
}

/* BEGUN: the lists have an order already, of other distances. */
static void list_neighbours(struct clusters *clusters, bool begun) {
    for (unsigned e = 0; e < clusters->entry_count; e++) {
        uint32_t *row = clusters->near[e];
        for (unsigned i = 0; i < clusters->entry_count; i++) {
            const uint32_t other = begun ? row[i] & 255 : i;
            row[i] = cluster_distance(clusters->entries[e], clusters->entries[other]) << 8 | other;
        }
        sort_row(row, clusters->entry_count);
    }
}

static unsigned nearest(const struct clusters *clusters, uint32_t point, unsigned guess) {
    const uint32_t from = cluster_distance(point, clusters->entries[guess]);
    const uint32_t *near = clusters->near[guess];
    uint32_t least = from;
    unsigned best = guess;
    for (unsigned i = 0; i < clusters->entry_count && near[i] >> 8 < 4 * from; i++) {
        const uint32_t other = cluster_distance(point, clusters->entries[near[i] & 255]);
        if (other >= least) continue;
        least = other;
        best = near[i] & 255;
    }
    return best;
}

/* Moves each cell to the nearest entry. *MOVED: one went to another. */
static enum status place_cells(struct clusters *clusters, bool *moved) {
    *moved = false;
    for (size_t i = 0; i < clusters->count; i++) {
        const enum status status = clusters_check(clusters, i);
        if (status) return status;
        uint8_t *entry = &clusters->places[i];
        const unsigned best = nearest(clusters, clusters->points[i], *entry);
        *moved |= best != *entry;
        *entry = (uint8_t)best;
    }
    return STATUS_OK;
}

/* ---- entries */

static void sum_clusters(struct clusters *clusters) {
    memset(clusters->of, 0, sizeof clusters->of);
    for (size_t i = 0; i < clusters->count; i++) {
        struct cluster *cluster = &clusters->of[clusters->places[i]];
        cluster->pixels += clusters->pixels[i];
        for (int a = 0; a < CLUSTER_AXES; a++)
            cluster->sums[a] +=
                clusters->pixels[i] * (uint64_t)cluster_level(clusters->points[i], a);
    }
}

/* The mean of the cells that took an entry; an entry that none took stays. */
static void move_entries(struct clusters *clusters) {
    for (unsigned e = 0; e < clusters->entry_count; e++) {
        const struct cluster *cluster = &clusters->of[e];
        uint32_t mean = 0;
        for (int a = 0; a < CLUSTER_AXES && cluster->pixels; a++)
            mean =
                mean << 8 | (uint32_t)((cluster->sums[a] + cluster->pixels / 2) / cluster->pixels);
        if (cluster->pixels) clusters->entries[e] = mean;
    }
}

static enum status improve(struct clusters *clusters) {
    enum status status = STATUS_OK;
    bool moved = true;
    for (int round = 0; round < ROUNDS && moved && !status; round++) {
        move_entries(clusters);
        list_neighbours(clusters, round);
        status = place_cells(clusters, &moved);
        sum_clusters(clusters);
    }
    move_entries(clusters);
    return status;
}

enum status clusters_choose(struct clusters *clusters, unsigned most) {
    const enum status status = cut_boxes(clusters, most);
    return status ? status : improve(clusters);
}

enum status clusters_place(struct clusters *clusters) {
    bool moved;
    list_neighbours(clusters, false);
    return place_cells(clusters, &moved);
}

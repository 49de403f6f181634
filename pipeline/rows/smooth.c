// SPDX-License-Identifier: Apache-2.0
/* How it works. Taps go in pairs, since that is how vectors multiply and add: across, a sample and
 * its neighbour; down, a sample and the one below it, which the ring keeps side by side. The two
 * results of a step down share what they read: the second's weights stand one row lower. */
#include "pipeline/rows/smooth_paths.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

#include <string.h>

/* ---- weights */

/* Signed words hold no more. */
enum { WEIGHT_MAX = 32767 };

static uint16_t weight_of(const struct gaussian *gaussian, int tap) {
    const int distance = tap - (int)gaussian->reach;
    const unsigned size = (unsigned)(distance < 0 ? -distance : distance);
    return size <= gaussian->reach ? gaussian->weight[size] : 0;
}

/* What is too heavy becomes two taps at one place. Returns how many there are now. */
static int add_tap(struct smooth_tap *list, int count, struct smooth_tap tap) {
    struct smooth_tap rest = { .place = tap.place };
    uint32_t any = 0, left = 0;
    for (int i = 0; i < 4; i++) {
        uint16_t *weight = &tap.weight[i / 2][i % 2];
        any |= *weight;
        if (*weight <= WEIGHT_MAX) continue;
        left |= rest.weight[i / 2][i % 2] = (uint16_t)(*weight - WEIGHT_MAX);
        *weight = WEIGHT_MAX;
    }
    if (any) list[count++] = tap;
    if (left) list[count++] = rest;
    return count;
}

void smooth_taps_make(struct smooth_taps *taps, const struct gaussian *gaussian,
                      uint32_t channels) {
    taps->gaussian = *gaussian;
    taps->channels = channels;
    taps->across_count = taps->down_count = 0;
    for (int pair = 0; pair <= (int)gaussian->reach; pair++) {
        const uint16_t first = weight_of(gaussian, 2 * pair),
                       second = weight_of(gaussian, 2 * pair + 1),
                       before = weight_of(gaussian, 2 * pair - 1);
        const struct smooth_tap across = { (uint16_t)(2 * pair), { { first, second } } };
        const struct smooth_tap down = { (uint16_t)pair, { { first, second }, { before, first } } };
        taps->across_count = add_tap(taps->across, taps->across_count, across);
        taps->down_count = add_tap(taps->down, taps->down_count, down);
    }
}

struct smooth_sizes smooth_sizes_of(const struct smooth_taps *taps, size_t chunks) {
    const size_t sample = taps->gaussian.depth / 8, samples = chunks * SMOOTH_CHUNK;
    const size_t line =
        ((samples + (2 * taps->gaussian.reach + 2) * taps->channels) * sample + 127) / 64 * 64;
    return (struct smooth_sizes){ .line = line,
                                  .work = 4 * line,
                                  .ring = smooth_chunk_offset(taps, chunks),
                                  .slots = smooth_slots(taps),
                                  .row = samples * sample };
}

/* ---- plain: in the ring a chunk's two rows stand one after the other */

/* Sums of 8 bit fit into 16: 255 * 256. */
static void across_row8(const struct smooth_taps *taps, const uint8_t *line, size_t chunk,
                        uint8_t *to) {
    uint16_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->across_count; k++) {
        const struct smooth_tap *tap = &taps->across[k];
        const uint16_t one = tap->weight[0][0], two = tap->weight[0][1];
        const uint8_t *first = line + chunk * SMOOTH_CHUNK + tap->place * taps->channels,
                      *second = first + taps->channels;
        for (int i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] = (uint16_t)(sums[i] + one * first[i] + two * second[i]);
    }
    memcpy(to, sums, sizeof sums);
}

static void across_row16(const struct smooth_taps *taps, const uint8_t *line, size_t chunk,
                         uint8_t *to) {
    uint32_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->across_count; k++) {
        const struct smooth_tap *tap = &taps->across[k];
        const uint16_t one = tap->weight[0][0], two = tap->weight[0][1];
        const uint16_t *first = (const uint16_t *)line + chunk * SMOOTH_CHUNK +
                                tap->place * taps->channels,
                       *second = first + taps->channels;
        for (int i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] += (uint32_t)one * first[i] + (uint32_t)two * second[i];
    }
    memcpy(to, sums, sizeof sums);
}

static void smooth_across_plain(const struct smooth_taps *taps, const uint8_t *const lines[2],
                                uint8_t *work, size_t chunks, uint8_t *ring, size_t slot) {
    const size_t bytes = smooth_slot_bytes(taps);
    (void)work;
    for (size_t i = 0; i < 2 * chunks; i++) {
        uint8_t *to = ring + smooth_chunk_offset(taps, i / 2) + slot * bytes + i % 2 * bytes / 2;
        (taps->gaussian.depth == 8 ? across_row8 : across_row16)(taps, lines[i % 2], i / 2, to);
    }
}

static void down_row8(const struct smooth_taps *taps, const uint8_t *pairs, size_t slot, int row,
                      uint8_t *out) {
    uint32_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->down_count; k++) {
        const uint16_t *pair = (const uint16_t *)(pairs + smooth_tap_offset(taps, k, slot));
        const uint16_t one = taps->down[k].weight[row][0], two = taps->down[k].weight[row][1];
        for (int i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] += (uint32_t)one * pair[i] + (uint32_t)two * pair[SMOOTH_CHUNK + i];
    }
    for (size_t i = 0; i < SMOOTH_CHUNK; i++) out[i] = (uint8_t)((sums[i] + (1u << 15)) >> 16);
}

static void down_row16(const struct smooth_taps *taps, const uint8_t *pairs, size_t slot, int row,
                       uint8_t *out) {
    uint64_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->down_count; k++) {
        const uint32_t *pair = (const uint32_t *)(pairs + smooth_tap_offset(taps, k, slot));
        const uint32_t one = taps->down[k].weight[row][0], two = taps->down[k].weight[row][1];
        for (int i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] += (uint64_t)one * pair[i] + (uint64_t)two * pair[SMOOTH_CHUNK + i];
    }
    for (size_t i = 0; i < SMOOTH_CHUNK; i++)
        sample_put(out, i, 16, (uint32_t)((sums[i] + (UINT64_C(1) << 31)) >> 32));
}

static void smooth_down_plain(const struct smooth_taps *taps, const uint8_t *ring, size_t slot,
                              size_t chunks, uint8_t *const out[2]) {
    const size_t bytes = SMOOTH_CHUNK * (taps->gaussian.depth / 8);
    for (size_t chunk = 0; chunk < chunks; chunk++)
        for (int row = 0; row < 2; row++)
            (bytes == SMOOTH_CHUNK ? down_row8 : down_row16)(
                taps, ring + smooth_chunk_offset(taps, chunk), slot, row, out[row] + chunk * bytes);
}

/* ---- the way that the CPU has */

#ifdef __x86_64__
#define WAY(name) (simd_has_avx2() ? name##_avx2 : name##_plain)
#else
#define WAY(name) name##_plain
#endif

void smooth_across(const struct smooth_taps *taps, const uint8_t *const lines[2], uint8_t *work,
                   size_t chunks, uint8_t *ring, size_t slot) {
    WAY(smooth_across)(taps, lines, work, chunks, ring, slot);
}

void smooth_down(const struct smooth_taps *taps, const uint8_t *ring, size_t slot, size_t chunks,
                 uint8_t *const out[2]) {
    WAY(smooth_down)(taps, ring, slot, chunks, out);
}

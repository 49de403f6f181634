// SPDX-License-Identifier: Apache-2.0
/* How it works. Taps come in pairs, because vectors multiply and add in pairs: across, a sample and
 * its neighbour; down, a sample and the one below it, which the ring keeps side by side. The two
 * results of a step down share what they read: the second's weights are shifted by one row. */
#include "pipeline/rows/smooth_paths.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

#include <string.h>

/* ---- weights */

/* the largest signed word */
enum { WEIGHT_MAX = 32767 };

static uint16_t weight_of(const struct gaussian *gaussian, int tap) {
    const int distance = tap - (int)gaussian->reach;
    const unsigned size = (unsigned)(distance < 0 ? -distance : distance);
    return size <= gaussian->reach ? gaussian->weight[size] : 0;
}

static uint32_t words_of(uint32_t first, uint32_t second) {
    return first | second << 16;
}

static uint32_t at_most(uint32_t weight) {
    return weight < WEIGHT_MAX ? weight : WEIGHT_MAX;
}

/* Adds the tap of weights for two results, each of a first and a second sample. A weight beyond
 * WEIGHT_MAX makes two taps at one place. Returns the new count. */
static int add_tap(struct smooth_tap *list, int count, int place, const uint32_t weight[4]) {
    uint32_t first[4], rest[4];
    for (int i = 0; i < 4; i++) first[i] = at_most(weight[i]), rest[i] = weight[i] - first[i];
    const struct smooth_tap tap = {
        .place = (uint16_t)place,
        .bytes = (uint16_t)(first[0] | first[1] << 8),
        .words = { words_of(first[0], first[1]), words_of(first[2], first[3]) },
    };
    const struct smooth_tap more = {
        .place = (uint16_t)place,
        .words = { words_of(rest[0], rest[1]), words_of(rest[2], rest[3]) },
    };
    if (tap.words[0] | tap.words[1]) list[count++] = tap;
    if (more.words[0] | more.words[1]) list[count++] = more;
    return count;
}

static void add_quads(struct smooth_taps *taps) {
    for (int tap = 0; tap <= 2 * (int)taps->gaussian.reach; tap += 4) {
        struct smooth_quad quad = { .place = (uint32_t)tap };
        for (int i = 0; i < 4; i++)
            quad.weights |= (uint32_t)weight_of(&taps->gaussian, tap + i) << 8 * i;
        if (quad.weights) taps->quads[taps->quad_count++] = quad;
    }
}

void smooth_taps_make(struct smooth_taps *taps, const struct gaussian *gaussian,
                      uint32_t channels) {
    taps->gaussian = *gaussian;
    taps->channels = channels;
    taps->across_count = taps->down_count = taps->quad_count = 0;
    if (gaussian->depth == 8) add_quads(taps);
    for (int pair = 0; pair <= (int)gaussian->reach; pair++) {
        const uint32_t before = weight_of(gaussian, 2 * pair - 1),
                       first = weight_of(gaussian, 2 * pair),
                       second = weight_of(gaussian, 2 * pair + 1);
        taps->across_count = add_tap(taps->across, taps->across_count, 2 * pair,
                                     (const uint32_t[]){ first, second, 0, 0 });
        taps->down_count = add_tap(taps->down, taps->down_count, pair,
                                   (const uint32_t[]){ first, second, before, first });
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

/* ---- plain: in the ring a chunk's two rows lie one after the other */

/* Sums of 8-bit samples fit 16 bits: 255 * 256. */
static void across_row8(const struct smooth_taps *taps, const uint8_t *line, size_t chunk,
                        uint8_t *to) {
    uint16_t sums[SMOOTH_CHUNK] = { 0 };
    for (int k = 0; k < taps->across_count; k++) {
        const struct smooth_tap *tap = &taps->across[k];
        const uint16_t one = (uint16_t)tap->words[0], two = (uint16_t)(tap->words[0] >> 16);
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
        const uint16_t one = (uint16_t)tap->words[0], two = (uint16_t)(tap->words[0] >> 16);
        const uint8_t *first = line + 2 * (chunk * SMOOTH_CHUNK + tap->place * taps->channels),
                      *second = first + 2 * (size_t)taps->channels;
        for (size_t i = 0; i < SMOOTH_CHUNK; i++)
            sums[i] += one * sample_get(first, i, 16) + two * sample_get(second, i, 16);
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
        const uint32_t words = taps->down[k].words[row];
        const uint16_t one = (uint16_t)words, two = (uint16_t)(words >> 16);
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
        const uint32_t words = taps->down[k].words[row];
        const uint16_t one = (uint16_t)words, two = (uint16_t)(words >> 16);
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

/* ---- the CPU's way */

#ifdef __x86_64__
#define WAY(name)                                                                                  \
    (simd_has_vnni() && simd_has_vbmi() ? name##_avx512                                            \
     : simd_has_avx2()                  ? name##_avx2                                              \
                                        : name##_plain)
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

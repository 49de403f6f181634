// SPDX-License-Identifier: Apache-2.0
/* jpeg_join.h - makes each subsequence start where the one before it ends.
 *
 * Used by:  jpeg_parallel.c, and a GPU's kernels.
 * Limits:   JPEG_ROUNDS_MAX rounds, jpeg_repairs_max() subsequences decoded again: a picture that
 *           needs more is the cores'. A thread of a block of 256 decodes 576 subsequences one
 *           after another at most, and one more for each 512 of the picture: 7 ms of that block
 *           at 12 us each, 4 ms more where the scan has 11 MB. Noise of quality 100 needs 300.
 *
 * How it works. Of a hard picture each subsequence has seven decodings: the walk's, and those that
 * started from each block of an MCU some subsequences before, its candidates; of an MCU of three
 * blocks or one, from some bits on as well, since flat blocks of 6 bits never come into step from
 * the middle of one. Where one starts as another of the subsequence before ends, the path goes on;
 * so a table of 7 x 3 bits says of a subsequence which follows which, and the path is found by
 * look-ups alone. What still does not fit is decoded again from where the one before ends, its
 * successor too if that changed its end, and so on in rounds, all such places at once.
 */
#ifndef BURIN_JPEG_JOIN_H
#define BURIN_JPEG_JOIN_H

#include "pipeline/codecs/jpeg_walk.h"

enum {
    JPEG_ROUNDS_MAX = 512,
    JPEG_PHASE_LEAD = 2, /* subsequences that a candidate decodes before its own */
    JPEG_WALKED = 6,     /* the walk's own decoding, behind the candidates */
    JPEG_NONE = 7,
};

/* Of a picture of so many subsequences. */
HOST_DEVICE uint32_t jpeg_repairs_max(uint32_t subs) {
    return (1u << 14) + subs / 2;
}

/* Where SUB truly starts, if all before it fit. */
HOST_DEVICE uint32_t jpeg_true_start(const struct jpeg_picture *picture, uint32_t sub) {
    return sub ? picture->ends[sub - 1] : 0;
}

/* Fills candidate NUMBER of SUB, which starts JPEG_PHASE_LEAD subsequences before it. */
HOST_DEVICE void jpeg_make_candidate(const struct jpeg_picture *picture,
                                     const struct jpeg_lookup *lookups, struct jpeg_words words,
                                     uint32_t *buffer, uint32_t bits, uint32_t sub,
                                     uint32_t number) {
    struct jpeg_candidate candidate;
    struct jpeg_state guess = { number / picture->phases * picture->guess_step, 0,
                                number % picture->phases };
    uint32_t at = sub < JPEG_PHASE_LEAD ? 0 : sub - JPEG_PHASE_LEAD;
    candidate.end = jpeg_state_pack(guess, 0);
    for (;; at++) {
        struct jpeg_tally tally = { 0, { 0, 0, 0 } };
        jpeg_words_load(picture, at, buffer, words.stride);
        candidate.start = candidate.end;
        candidate.end = jpeg_walk(picture, lookups, words, bits, at, candidate.start, &tally, NULL);
        candidate.tally = tally;
        if (at == sub) break;
    }
    picture->candidates[(size_t)sub * JPEG_GUESSES + number] = candidate;
}

/* Which decoding of SUB, not the first, starts at START. */
HOST_DEVICE uint32_t jpeg_candidate_find(const struct jpeg_picture *picture, uint32_t sub,
                                         uint32_t start) {
    const struct jpeg_candidate *candidates = picture->candidates + (size_t)sub * JPEG_GUESSES;
    uint32_t found = JPEG_NONE;
    for (uint32_t i = 0; i < picture->guesses; i++)
        if (candidates[i].start == start) found = i;
    return picture->starts[sub] == start ? (uint32_t)JPEG_WALKED : found;
}

/* Bits 3 i .. 3 i + 2: which decoding of SUB follows decoding I of the one before. */
HOST_DEVICE uint32_t jpeg_followers(const struct jpeg_picture *picture, uint32_t sub) {
    const struct jpeg_candidate *before = picture->candidates + (size_t)(sub - 1) * JPEG_GUESSES;
    uint32_t followers = jpeg_candidate_find(picture, sub, picture->ends[sub - 1])
                         << 3 * JPEG_WALKED;
    for (uint32_t i = 0; i < picture->guesses; i++)
        followers |= jpeg_candidate_find(picture, sub, before[i].end) << 3 * i;
    return followers;
}

/* The decoding that follows AFTER; where none does, the walk's, which does not fit. */
HOST_DEVICE uint32_t jpeg_follow(uint32_t followers, uint32_t after) {
    const uint32_t next = followers >> 3 * after & 7;
    return next == JPEG_NONE ? (uint32_t)JPEG_WALKED : next;
}

/* Puts decoding CHOSEN in the walk's place. */
HOST_DEVICE void jpeg_choose(const struct jpeg_picture *picture, uint32_t sub, uint32_t chosen) {
    if (chosen == JPEG_WALKED) return;
    const struct jpeg_candidate *candidate =
        picture->candidates + (size_t)sub * JPEG_GUESSES + chosen;
    picture->starts[sub] = candidate->start;
    picture->ends[sub] = candidate->end;
    picture->tallies[sub] = candidate->tally;
}

/* Decodes SUB again, from START. BUFFER is WORDS' own. Returns whether it ends elsewhere now. */
HOST_DEVICE bool jpeg_repair(const struct jpeg_picture *picture, const struct jpeg_lookup *lookups,
                             struct jpeg_words words, uint32_t *buffer, uint32_t bits, uint32_t sub,
                             uint32_t start) {
    struct jpeg_tally tally = { 0, { 0, 0, 0 } };
    const uint32_t before = picture->ends[sub];
    jpeg_words_load(picture, sub, buffer, words.stride);
    const uint32_t end = jpeg_walk(picture, lookups, words, bits, sub, start, &tally, NULL);
    picture->starts[sub] = start;
    picture->ends[sub] = end;
    picture->tallies[sub] = tally;
    return end != before;
}

/* Whether the whole of it is the frame's, once all fit: LAST is what lies before the end. */
HOST_DEVICE uint32_t jpeg_joined_flags(const struct jpeg_picture *picture,
                                       const struct jpeg_base *last, uint32_t subs) {
    if (last->blocks != picture->blocks || !subs || picture->ends[subs - 1])
        return JPEG_FLAG_BLOCKS;
    return last->coefficients > picture->list_max ? JPEG_FLAG_CODE : 0;
}

/* ---- writing what is proven */

/* Writes subsequences FROM..TO-1 and proves that they end where the next one starts: returns flags.
 */
HOST_DEVICE uint32_t jpeg_write_subs(const struct jpeg_picture *picture,
                                     const struct jpeg_lookup *lookups, struct jpeg_words words,
                                     uint32_t *buffer, uint32_t *group, uint32_t bits,
                                     uint32_t from, uint32_t to) {
    const struct jpeg_base *after = &picture->bases[to];
    uint32_t state = jpeg_true_start(picture, from);
    struct jpeg_sink sink;
    sink.list = picture->list;
    sink.heads = picture->heads;
    sink.list_max = picture->list_max;
    sink.blocks_max = picture->blocks;
    sink.base = picture->bases[from];
    sink.first = sink.base.coefficients;
    sink.flags = 0;
    sink.group = group;
    sink.stride = words.stride;
    for (uint32_t sub = from; sub < to; sub++) {
        jpeg_words_load(picture, sub, buffer, words.stride);
        state = jpeg_walk(picture, lookups, words, bits, sub, state, NULL, &sink);
    }
    jpeg_sink_flush(&sink);
    if (state != picture->ends[to - 1] || sink.base.blocks != after->blocks ||
        sink.base.coefficients != after->coefficients)
        sink.flags |= JPEG_FLAG_PROOF;
    for (int i = 0; i < JPEG_PLANES; i++)
        if (sink.base.dc[i] != after->dc[i]) sink.flags |= JPEG_FLAG_PROOF;
    if (to * JPEG_SUB_BITS >= bits && sink.base.blocks == picture->blocks)
        picture->heads[picture->blocks].first = sink.base.coefficients;
    return sink.flags;
}

#endif

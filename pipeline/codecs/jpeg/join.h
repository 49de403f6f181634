// SPDX-License-Identifier: Apache-2.0
/* join.h - makes each subsequence start where the one before it ends.
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
 *
 * A batch with fewer subsequences than the GPU has threads is not walked: each subsequence, a
 * shorter one, is decoded from all phases at once. Blocks of JPEG_PHASE_SUBS neighbours then
 * continue, in a few rounds, ends that no decoding of the next one starts at: in place of a
 * decoding that follows no end. A block's path is one table, so only blocks are left to be joined.
 */
#ifndef BURIN_JPEG_JOIN_H
#define BURIN_JPEG_JOIN_H

#include "pipeline/codecs/jpeg/walk.h"

enum {
    JPEG_ROUNDS_MAX = 512,
    JPEG_PHASE_SUBS = 32, /* subsequences that a block of threads decodes from all phases at once */
    JPEG_PHASE_OVERLAP = 6, /* of them, those of the previous block */
    JPEG_PHASE_OWN = JPEG_PHASE_SUBS - JPEG_PHASE_OVERLAP,
    JPEG_PATH_STAY = 1 << 3 | 2 << 6 | 3 << 9 | 4 << 12 | 5 << 15,
    JPEG_WALKED = 6, /* the walk's own decoding, behind the candidates */
    JPEG_NONE = 7,
};

/* The most repairs for SUBS subsequences. Shorter ones cost less, and need more repairs. */
HOST_DEVICE uint32_t jpeg_repairs_max(const struct jpeg_picture *picture, uint32_t subs) {
    return ((1u << 14) << (JPEG_SUB_LOG2 - picture->sub_log2)) + subs / 2;
}

HOST_DEVICE uint32_t jpeg_rounds_max(const struct jpeg_picture *picture) {
    return (uint32_t)JPEG_ROUNDS_MAX << (JPEG_SUB_LOG2 - picture->sub_log2);
}

/* The true start of SUB, if all subsequences before it fit. */
HOST_DEVICE uint32_t jpeg_true_start(const struct jpeg_picture *picture, uint32_t sub) {
    return sub ? picture->ends[sub - 1] : 0;
}

/* SUB's decoding from START, no subsequence before it. */
HOST_DEVICE struct jpeg_candidate jpeg_candidate_from(const struct jpeg_picture *picture,
                                                      const struct jpeg_lookup *lookups,
                                                      struct jpeg_words words, uint32_t *buffer,
                                                      uint32_t bits, uint32_t sub, uint32_t start) {
    struct jpeg_candidate candidate;
    struct jpeg_tally tally = { 0, { 0, 0, 0 } };
    jpeg_words_load(picture, sub, buffer, words.stride);
    candidate.start = start;
    candidate.end = jpeg_walk(picture, lookups, words, bits, sub, start, &tally, NULL);
    candidate.tally = tally;
    return candidate;
}

/* Candidate NUMBER of SUB, which starts `lead` subsequences before it. */
HOST_DEVICE struct jpeg_candidate jpeg_make_candidate(const struct jpeg_picture *picture,
                                                      const struct jpeg_lookup *lookups,
                                                      struct jpeg_words words, uint32_t *buffer,
                                                      uint32_t bits, uint32_t sub,
                                                      uint32_t number) {
    struct jpeg_candidate candidate = { 0, 0, { 0, { 0, 0, 0 } } };
    struct jpeg_state guess = { number / picture->phases * picture->guess_step, 0,
                                number % picture->phases };
    candidate.end = jpeg_state_pack(guess, 0);
    for (uint32_t at = sub < picture->lead ? 0 : sub - picture->lead; at <= sub; at++)
        candidate = jpeg_candidate_from(picture, lookups, words, buffer, bits, at, candidate.end);
    return candidate;
}

/* ---- without a walk: all decodings of neighbouring subsequences, made to follow each other */

/* The subsequence before ends in COUNT ways, ENDS, and this one's decodings start at STARTS. Where
 * none starts at an end, one that follows no end must: bits 4 j .. 4 j + 3 say that decoding J is
 * to start at end i, as i + 1, or 0: it stays. Of equal ends one counts, and of equal starts, so
 * that there are enough to give way. */
HOST_DEVICE uint32_t jpeg_continue(const uint32_t *ends, const uint32_t *starts, uint32_t count) {
    uint32_t followed = 0, needed = 0, orders = 0, slot = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool twice = false;
        uint32_t found = JPEG_NONE;
        for (uint32_t j = 0; j < count; j++) {
            twice |= j < i && ends[j] == ends[i];
            if (found == JPEG_NONE && starts[j] == ends[i]) found = j;
        }
        if (found != JPEG_NONE)
            followed |= 1u << found;
        else if (!twice)
            needed |= 1u << i;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!(needed >> i & 1)) continue;
        while (followed >> slot & 1) slot++;
        orders |= (i + 1) << 4 * slot++;
    }
    return orders;
}

/* jpeg_followers for COUNT ends and starts; if nothing follows, decoding 0, which does not fit. */
HOST_DEVICE uint32_t jpeg_path(const uint32_t *ends, uint32_t ends_step, const uint32_t *starts,
                               uint32_t starts_step, uint32_t count) {
    uint32_t path = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t found = 0;
        for (uint32_t j = 0; j < count; j++)
            if (starts[j * starts_step] == ends[i * ends_step]) found = j;
        path |= found << 3 * i;
    }
    return path;
}

HOST_DEVICE uint32_t jpeg_path_go(uint32_t path, uint32_t from) {
    return path >> 3 * from & 7;
}

/* EARLIER, then LATER. */
HOST_DEVICE uint32_t jpeg_path_join(uint32_t earlier, uint32_t later) {
    uint32_t path = 0;
    for (uint32_t i = 0; i < JPEG_GUESSES; i++)
        path |= jpeg_path_go(later, jpeg_path_go(earlier, i)) << 3 * i;
    return path;
}

/* ---- behind a walk */

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

HOST_DEVICE void jpeg_put(const struct jpeg_picture *picture, uint32_t sub,
                          const struct jpeg_candidate *candidate) {
    picture->starts[sub] = candidate->start;
    picture->ends[sub] = candidate->end;
    picture->tallies[sub] = candidate->tally;
}

/* Puts decoding CHOSEN in the walk's place. */
HOST_DEVICE void jpeg_choose(const struct jpeg_picture *picture, uint32_t sub, uint32_t chosen) {
    if (chosen == JPEG_WALKED) return;
    jpeg_put(picture, sub, picture->candidates + (size_t)sub * JPEG_GUESSES + chosen);
}

/* Whether its subsequences have candidates. */
HOST_DEVICE bool jpeg_has_candidates(const struct jpeg_picture *picture) {
    return picture->sub_log2 < JPEG_SUB_LOG2 || picture->facts->hard;
}

/* Decodes SUB again, from START, where no candidate did. BUFFER is WORDS' own. Returns whether it
 * ends elsewhere now. */
HOST_DEVICE bool jpeg_repair(const struct jpeg_picture *picture, const struct jpeg_lookup *lookups,
                             struct jpeg_words words, uint32_t *buffer, uint32_t bits, uint32_t sub,
                             uint32_t start) {
    const uint32_t before = picture->ends[sub];
    const uint32_t found =
        jpeg_has_candidates(picture) ? jpeg_candidate_find(picture, sub, start) : +JPEG_NONE;
    const struct jpeg_candidate candidate =
        found < JPEG_WALKED
            ? picture->candidates[(size_t)sub * JPEG_GUESSES + found]
            : jpeg_candidate_from(picture, lookups, words, buffer, bits, sub, start);
    jpeg_put(picture, sub, &candidate);
    return candidate.end != before;
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
    if (to << picture->sub_log2 >= bits && sink.base.blocks == picture->blocks)
        picture->heads[picture->blocks].first = sink.base.coefficients;
    return sink.flags;
}

#endif

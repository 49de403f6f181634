// SPDX-License-Identifier: Apache-2.0
/* How it works. 1: the codes' tables; the scan's bytes are unstuffed piece by piece, each behind
 * what the pieces before it keep. 2: each thread decodes some subsequences from a guess; those that
 * then do not start where the one before ends are decoded again, and their successors while that
 * changes them, in rounds. Blocks of threads overlap, so that none waits for another. A picture
 * that needs too many rounds is hard: each of its subsequences is decoded from every block of an
 * MCU. 3: what still does not fit is replaced by such a candidate or decoded again; sums give what
 * lies before each subsequence. 4: coefficients are written as lists, and each thread proves that
 * it ends where the next one starts: so all of them together are the serial decode. 5, 6: the
 * transform; upsampling and colours. */
#include "tests/twins/jpeg_parallel.h"
#include "pipeline/codecs/jpeg/inverse.h"
#include "pipeline/codecs/jpeg/join.h"
#include "pipeline/codecs/jpeg/unstuff.h"
#include "tests/twins/jpeg_parallel_short.h"

#include <stdlib.h>
#include <string.h>

const struct jpeg_division jpeg_division_default = { 128, 8, 16, 64, 0, 0, 0 };

/* ---- 1: tables and bits */

static void make_lookup(struct jpeg_lookup *lookup, const uint8_t *counts, const uint8_t *symbols,
                        bool dc) {
    jpeg_lookup_measure(lookup, counts);
    for (uint32_t i = 0; i < JPEG_SYMBOLS; i++)
        lookup->symbols[i] = jpeg_lookup_symbol(counts, symbols, i, dc);
    for (uint32_t i = 0; i < JPEG_SHORTS; i++) {
        lookup->shorts[i] = jpeg_lookup_short(lookup, i);
        lookup->pairs[i] = jpeg_lookup_pair(lookup, i);
    }
    for (uint32_t i = 0; i < JPEG_LONGS; i++) lookup->longs[i] = jpeg_lookup_long(lookup, i);
}

static void count_piece(struct jpeg_picture *picture, uint32_t piece) {
    const uint32_t from = piece * JPEG_PIECE_BYTES;
    uint32_t before = from ? jpeg_scan_byte(picture, from - 1) : 0, kept = 0, restarts = 0;
    for (uint32_t i = from; i < from + JPEG_PIECE_BYTES && i < picture->scan_bytes; i++) {
        const uint32_t byte = jpeg_scan_byte(picture, i), after = jpeg_scan_byte(picture, i + 1);
        kept += jpeg_is_data(before, byte, after);
        restarts += jpeg_is_restart(byte, after);
        if (jpeg_is_stray(byte, after)) picture->facts->flags |= JPEG_FLAG_MARKER;
        before = byte;
    }
    picture->piece_kept[piece] = kept;
    picture->piece_restarts[piece] = restarts;
}

static void unstuff_piece(struct jpeg_picture *picture, uint32_t piece, uint32_t kept,
                          uint32_t restarts) {
    const uint32_t from = piece * JPEG_PIECE_BYTES;
    uint32_t before = from ? jpeg_scan_byte(picture, from - 1) : 0;
    for (uint32_t i = from; i < from + JPEG_PIECE_BYTES && i < picture->scan_bytes; i++) {
        const uint32_t byte = jpeg_scan_byte(picture, i), after = jpeg_scan_byte(picture, i + 1);
        if (jpeg_is_data(before, byte, after)) picture->bits[kept++] = (uint8_t)byte;
        if (jpeg_is_restart(byte, after))
            picture->facts->flags |= jpeg_note_restart(picture, restarts++, i, kept);
        before = byte;
    }
}

void jpeg_parallel_unstuff(struct jpeg_picture *picture) {
    uint32_t kept = 0, restarts = 0;
    memset(picture->facts, 0, sizeof *picture->facts);
    for (int i = 0; i < 4; i++)
        make_lookup(&picture->lookups[i], picture->code_counts[i], picture->code_symbols[i], i < 2);
    for (uint32_t i = 0; i < picture->pieces; i++) count_piece(picture, i);
    for (uint32_t i = 0; i < picture->pieces; i++) {
        unstuff_piece(picture, i, kept, restarts);
        kept += picture->piece_kept[i];
        restarts += picture->piece_restarts[i];
    }
    memset(picture->bits + kept, 0xff, JPEG_BITS_PADDING);
    picture->facts->bytes = kept;
    if (restarts + 1 != picture->segments) picture->facts->flags |= JPEG_FLAG_RESTARTS;
}

/* ---- 2: walk */

static uint32_t subs_of(const struct jpeg_picture *picture) {
    return picture->facts->flags ? 0 : jpeg_subs(picture->facts->bytes, picture->sub_log2);
}

/* Subsequences that a block of threads decodes, its lead first, and what it knows of them. */
struct part {
    uint32_t begin, first, end; /* first: of its own */
    uint32_t *starts, *ends, *starting;
    uint32_t *pending, *changed; /* to be decoded again, in this round and the next */
    uint32_t pending_count, changed_count;
};

static uint32_t walk_sub(struct jpeg_picture *picture, const struct part *part, uint32_t sub,
                         uint32_t start) {
    uint32_t buffer[JPEG_SUB_WORDS];
    const struct jpeg_words words = { .at = buffer, .stride = 1 };
    struct jpeg_tally tally = { 0 };
    jpeg_words_load(picture, sub, buffer, 1);
    const uint32_t end = jpeg_walk(picture, picture->lookups, words, 8 * picture->facts->bytes, sub,
                                   start, &tally, NULL);
    if (sub >= part->first) picture->tallies[sub] = tally;
    return end;
}

/* The first decoding: each thread's run from a guess. */
static void walk_runs(struct jpeg_picture *picture, struct part *part, uint32_t run) {
    for (uint32_t sub = part->begin; sub < part->end; sub++) {
        const uint32_t at = sub - part->begin;
        part->starts[at] = at % run ? part->ends[at - 1] : 0;
        part->ends[at] = walk_sub(picture, part, sub, part->starts[at]);
    }
    for (uint32_t at = run; at < part->end - part->begin; at += run)
        if (part->starts[at] != part->ends[at - 1]) part->pending[part->pending_count++] = at;
}

/* All threads read before any writes. */
static void walk_round(struct jpeg_picture *picture, struct part *part) {
    part->changed_count = 0;
    for (uint32_t i = 0; i < part->pending_count; i++)
        part->starting[i] = part->ends[part->pending[i] - 1];
    for (uint32_t i = 0; i < part->pending_count; i++) {
        const uint32_t at = part->pending[i];
        const uint32_t end = walk_sub(picture, part, part->begin + at, part->starting[i]);
        part->starts[at] = part->starting[i];
        if (end != part->ends[at] && part->begin + at + 1 < part->end)
            part->changed[part->changed_count++] = at + 1;
        part->ends[at] = end;
    }
    uint32_t *const pending = part->pending;
    part->pending = part->changed;
    part->pending_count = part->changed_count;
    part->changed = pending;
}

static void walk_part(struct jpeg_picture *picture, struct part *part,
                      const struct jpeg_division *division) {
    const uint32_t own = part->first - part->begin, count = part->end - part->first;
    part->pending_count = 0;
    walk_runs(picture, part, division->run);
    for (uint32_t round = 0; part->pending_count; round++) {
        if (round == division->rounds) {
            picture->facts->hard = 1;
            break;
        }
        walk_round(picture, part);
    }
    memcpy(picture->starts + part->first, part->starts + own, count * sizeof *part->starts);
    memcpy(picture->ends + part->first, part->ends + own, count * sizeof *part->ends);
}

static void walk_phases(struct jpeg_picture *picture) {
    uint32_t buffer[JPEG_SUB_WORDS];
    const struct jpeg_words words = { .at = buffer, .stride = 1 };
    for (uint32_t sub = 0; sub < subs_of(picture); sub++)
        for (uint32_t guess = 0; guess < picture->guesses; guess++)
            picture->candidates[(size_t)sub * JPEG_GUESSES + guess] = jpeg_make_candidate(
                picture, picture->lookups, words, buffer, 8 * picture->facts->bytes, sub, guess);
}

void jpeg_parallel_walk(struct jpeg_picture *picture, const struct jpeg_division *division) {
    if (division->short_log2) {
        jpeg_picture_cut(picture, division->short_log2, division->phase_lead);
        if (picture->sub_log2 < JPEG_SUB_LOG2) {
            jpeg_parallel_walk_short(picture, division->phase_rounds);
            return;
        }
    }
    jpeg_picture_cut(picture, JPEG_SUB_LOG2, JPEG_PHASE_LEAD);
    const uint32_t subs = subs_of(picture), most = division->threads * division->run;
    const uint32_t own = most - division->lead;
    uint32_t *memory = calloc((size_t)most * 5, sizeof *memory);
    struct part part = { 0 };
    if (!memory) {
        picture->facts->flags |= JPEG_FLAG_REPAIRS;
        return;
    }
    part.starts = memory;
    part.ends = memory + most;
    part.starting = memory + 2 * (size_t)most;
    part.pending = memory + 3 * (size_t)most;
    part.changed = memory + 4 * (size_t)most;
    for (part.first = 0; part.first < subs; part.first += own) {
        part.begin = part.first < division->lead ? 0 : part.first - division->lead;
        part.end = subs - part.first < own ? subs : part.first + own;
        walk_part(picture, &part, division);
    }
    free(memory);
    if (picture->facts->hard) walk_phases(picture);
}

/* ---- 3: join */

/* Chooses a hard picture's path through the decodings of its subsequences. */
static void choose(struct jpeg_picture *picture, uint32_t subs) {
    uint32_t chosen = JPEG_WALKED;
    for (uint32_t sub = 1; sub < subs; sub++) {
        chosen = jpeg_follow(jpeg_followers(picture, sub), chosen);
        jpeg_choose(picture, sub, chosen);
    }
}

static uint32_t find_misfits(const struct jpeg_picture *picture, uint32_t subs) {
    uint32_t count = 0;
    for (uint32_t sub = 1; sub < subs; sub++)
        if (picture->starts[sub] != picture->ends[sub - 1]) picture->pending[0][count++] = sub;
    return count;
}

/* Decodes COUNT pending subsequences again; all read where the one before ends before any decodes.
 * Returns how many are pending afterwards. */
static uint32_t repair_round(struct jpeg_picture *picture, uint32_t round, uint32_t count,
                             uint32_t subs) {
    uint32_t buffer[JPEG_SUB_WORDS], changed = 0;
    const struct jpeg_words words = { .at = buffer, .stride = 1 };
    const uint32_t *pending = picture->pending[round % 2], bits = 8 * picture->facts->bytes;
    for (uint32_t i = 0; i < count; i++) picture->pending_starts[i] = picture->ends[pending[i] - 1];
    for (uint32_t i = 0; i < count; i++)
        if (jpeg_repair(picture, picture->lookups, words, buffer, bits, pending[i],
                        picture->pending_starts[i]) &&
            pending[i] + 1 < subs)
            picture->pending[1 - round % 2][changed++] = pending[i] + 1;
    return changed;
}

static void repair(struct jpeg_picture *picture, uint32_t subs) {
    struct jpeg_facts *facts = picture->facts;
    uint32_t count = find_misfits(picture, subs);
    for (uint32_t round = 0; count; round++) {
        facts->repairs += count;
        if (round == jpeg_rounds_max(picture) || facts->repairs > jpeg_repairs_max(picture, subs)) {
            facts->flags |= JPEG_FLAG_REPAIRS;
            return;
        }
        count = repair_round(picture, round, count, subs);
    }
}

static void add_up(struct jpeg_picture *picture, uint32_t subs) {
    struct jpeg_base base = { 0 };
    for (uint32_t sub = 0; sub < subs; sub++) {
        picture->bases[sub] = base;
        jpeg_base_add(&base, &picture->tallies[sub]);
    }
    picture->bases[subs] = base;
    picture->facts->flags |= jpeg_joined_flags(picture, &base, subs);
}

void jpeg_parallel_join(struct jpeg_picture *picture) {
    const uint32_t subs = subs_of(picture);
    if (picture->sub_log2 < JPEG_SUB_LOG2)
        jpeg_parallel_choose_short(picture, subs);
    else if (picture->facts->hard)
        choose(picture, subs);
    repair(picture, subs);
    if (!picture->facts->flags) add_up(picture, subs);
}

/* ---- 4: write */

void jpeg_parallel_write(struct jpeg_picture *picture, const struct jpeg_division *division) {
    uint32_t buffer[JPEG_SUB_WORDS], group[JPEG_GROUP];
    const struct jpeg_words words = { .at = buffer, .stride = 1 };
    const uint32_t subs = subs_of(picture), bits = 8 * picture->facts->bytes;
    for (uint32_t sub = 0; sub < subs; sub += division->run) {
        const uint32_t to = subs - sub < division->run ? subs : sub + division->run;
        picture->facts->flags |=
            jpeg_write_subs(picture, picture->lookups, words, buffer, group, bits, sub, to);
    }
}

/* ---- 5: inverse */

/* Dequantized, by row and column. */
static void read_block(const struct jpeg_picture *picture, uint32_t block, const uint16_t *steps,
                       int32_t values[64]) {
    const struct jpeg_head *head = &picture->heads[block];
    memset(values, 0, 64 * sizeof *values);
    values[0] = head->dc * (steps[0] >> 6);
    for (uint32_t i = head[0].first; i < head[1].first; i++) {
        const int32_t entry = (int32_t)picture->list[i];
        const uint32_t step = steps[entry & 63];
        values[step & 63] = (entry >> 6) * (int32_t)(step >> 6);
    }
}

static bool fits(int32_t columns[8][8]) {
    for (uint32_t i = 0; i < JPEG_PAIRS; i++)
        if (!jpeg_inverse_fits(i, jpeg_magnitudes(columns[jpeg_pair_first(i)]),
                               jpeg_magnitudes(columns[jpeg_pair_second(i)])))
            return false;
    return true;
}

static bool inverse_block(const struct jpeg_picture *picture, uint32_t number) {
    const struct jpeg_block_place place = jpeg_block_place_of(picture, number);
    const uint32_t stride = picture->plane_stride[place.component];
    uint8_t *into = picture->planes[place.component] + (size_t)place.y * stride + place.x;
    int32_t values[64], columns[8][8], row[8];
    read_block(picture, place.block, picture->steps[place.component], values);
    for (int x = 0; x < 8; x++)
        for (int y = 0; y < 8; y++) columns[x][y] = values[8 * y + x];
    if (!fits(columns)) return false;
    for (int x = 0; x < 8; x++) jpeg_inverse_column(columns[x]);
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 8; x++) row[x] = columns[x][y];
        jpeg_inverse_row(row);
        for (int x = 0; x < 8; x++) into[y * (size_t)stride + x] = (uint8_t)jpeg_clamp(row[x]);
    }
    return true;
}

void jpeg_parallel_inverse(struct jpeg_picture *picture) {
    if (picture->facts->flags) return;
    for (uint32_t number = 0; number < picture->blocks; number++)
        if (!inverse_block(picture, number)) picture->facts->flags |= JPEG_FLAG_SUM;
}

/* ---- 6: pixels */

void jpeg_parallel_pixels(struct jpeg_picture *picture) {
    const struct jpeg_planes planes = jpeg_picture_planes(picture);
    if (picture->facts->flags) return;
    for (uint32_t y = 0; y < picture->into.height; y++) {
        uint8_t *out = image_row(&picture->into, y);
        for (uint32_t x = 0; x < picture->into.width; x++) {
            const struct jpeg_place at =
                jpeg_stored_place(picture->orientation, picture->width, picture->height, x, y);
            const uint32_t pixel = picture->components == 1 ? jpeg_luma(&planes, at.x, at.y)
                                                            : jpeg_pixel(&planes, at.x, at.y);
            for (int c = 0; c < picture->components; c++) *out++ = (uint8_t)(pixel >> 8 * c);
        }
    }
}

uint32_t jpeg_parallel_decode(struct jpeg_picture *picture, const struct jpeg_division *division) {
    jpeg_parallel_unstuff(picture);
    jpeg_parallel_walk(picture, division);
    jpeg_parallel_join(picture);
    jpeg_parallel_write(picture, division);
    jpeg_parallel_inverse(picture);
    jpeg_parallel_pixels(picture);
    return picture->facts->flags;
}

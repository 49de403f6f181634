// SPDX-License-Identifier: Apache-2.0
/* walk.h - decodes one subsequence of a JPEG's bits from any state: to learn where it ends and
 * what it holds, or, from the state that is proven, to write its coefficients.
 *
 * A state at a cut between subsequences: how many bits behind the cut the next symbol starts, its
 * place in zigzag order, its block of the MCU. Both uses are one function, so that they agree also
 * on bits that make no sense: a code that is none takes one bit, a place past the last one ends the
 * block, and after the end of a segment the next one starts with a new MCU in any case.
 *
 * Used by:  jpeg_parallel.c, and a GPU's kernels.
 * Threads:  one a subsequence.
 * Limits:   each symbol takes a bit or more, so a call ends after JPEG_SUB_BITS at most. Heads and
 *           list are written within the picture's blocks and list_max alone.
 *
 * How it works. Two words of bits are in registers, and one look-up gives a code and the size of
 * its number (lookup.h). Work for which lanes of a warp would branch at different symbols is done
 * at each: the time of one picture is a chain of symbols, and each branch costs two barriers. At
 * most 7 bits, all ones, fill a segment's last byte: no code consists of ones alone, so fill is
 * never taken for a symbol, nor a symbol for fill.
 */
#ifndef BURIN_JPEG_WALK_H
#define BURIN_JPEG_WALK_H

#include "pipeline/codecs/jpeg/picture.h"

enum { JPEG_GROUP = 8 /* coefficients that are stored at once */, JPEG_DC_MAX = 2047 };

/* ---- states */

struct jpeg_state {
    uint32_t bit;   /* behind the subsequence's first */
    uint32_t place; /* zigzag order; 0: DC is next */
    uint32_t block; /* of the MCU */
};

HOST_DEVICE uint32_t jpeg_state_pack(struct jpeg_state state, uint32_t cut) {
    return (state.bit - cut) | state.place << 8 | state.block << 14;
}

HOST_DEVICE struct jpeg_state jpeg_state_unpack(uint32_t packed) {
    struct jpeg_state state;
    state.bit = packed & 255;
    state.place = packed >> 8 & 63;
    state.block = packed >> 14;
    return state;
}

/* ---- bits */

/* The bits of SUB and the first of the next one as words, JPEG_SUB_WORDS at most, STRIDE apart. */
HOST_DEVICE void jpeg_words_load(const struct jpeg_picture *picture, uint32_t sub, uint32_t *into,
                                 uint32_t stride) {
    const uint32_t words = 1u << (picture->sub_log2 - 5);
    const uint8_t *bytes = picture->bits + (size_t)sub * words * 4;
#if defined(__CUDA_ARCH__)
#pragma unroll
    for (uint32_t i = 0; i < JPEG_SUB_WORDS - 2; i += 4) {
        if (i >= words) break;
        const uint4 four = *(const uint4 *)(bytes + 4 * i);
        into[i * stride] = __byte_perm(four.x, 0, 0x0123);
        into[(i + 1) * stride] = __byte_perm(four.y, 0, 0x0123);
        into[(i + 2) * stride] = __byte_perm(four.z, 0, 0x0123);
        into[(i + 3) * stride] = __byte_perm(four.w, 0, 0x0123);
    }
    const uint2 two = *(const uint2 *)(bytes + 4 * words);
    into[words * stride] = __byte_perm(two.x, 0, 0x0123);
    into[(words + 1) * stride] = __byte_perm(two.y, 0, 0x0123);
#else
    for (uint32_t i = 0; i < words + 2; i++)
        into[i * stride] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
                           (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
#endif
}

/* The words of a subsequence, first bit on top, STRIDE apart. */
struct jpeg_words {
    const uint32_t *at;
    uint32_t stride;
    uint32_t high, low;
};

HOST_DEVICE void jpeg_words_seek(struct jpeg_words *words, uint32_t bit) {
    words->high = words->at[(bit >> 5) * words->stride];
    words->low = words->at[((bit >> 5) + 1) * words->stride];
}

/* The 32 bits from BIT on, which lies in `high`. */
HOST_DEVICE uint32_t jpeg_words_next(const struct jpeg_words *words, uint32_t bit) {
#if defined(__CUDA_ARCH__)
    return __funnelshift_l(words->low, words->high, bit);
#else
    const uint64_t both = (uint64_t)words->high << 32 | words->low;
    return (uint32_t)(both << (bit & 31) >> 32);
#endif
}

/* ---- sums by component: by comparison, so that they stay in registers */

HOST_DEVICE uint32_t jpeg_at(const uint32_t dc[JPEG_PLANES], uint32_t component) {
    return component == 0 ? dc[0] : component == 1 ? dc[1] : dc[2];
}

HOST_DEVICE void jpeg_add_at(uint32_t dc[JPEG_PLANES], uint32_t component, uint32_t value) {
    dc[0] += component == 0 ? value : 0;
    dc[1] += component == 1 ? value : 0;
    dc[2] += component == 2 ? value : 0;
}

/* ---- where coefficients go */

struct jpeg_sink {
    uint32_t *list;
    struct jpeg_head *heads;
    uint32_t list_max, blocks_max;
    struct jpeg_base base; /* before the next symbol */
    uint32_t first;        /* coefficient of the subsequence */
    uint32_t flags;
    uint32_t *group; /* JPEG_GROUP coefficients that wait, STRIDE apart */
    uint32_t stride;
};

HOST_DEVICE void jpeg_sink_store(struct jpeg_sink *sink, uint32_t from, uint32_t to) {
    if (to > sink->list_max) return;
    for (uint32_t i = from; i < to; i++) sink->list[i] = sink->group[i % JPEG_GROUP * sink->stride];
}

/* A whole group at once, 32 bytes. */
HOST_DEVICE void jpeg_sink_store_group(struct jpeg_sink *sink, uint32_t from) {
#if defined(__CUDA_ARCH__)
    const uint32_t *group = sink->group;
    const uint32_t s = sink->stride;
    uint4 *into = (uint4 *)(sink->list + from);
    if (from + JPEG_GROUP > sink->list_max) return;
    into[0] = make_uint4(group[0], group[s], group[2 * s], group[3 * s]);
    into[1] = make_uint4(group[4 * s], group[5 * s], group[6 * s], group[7 * s]);
#else
    jpeg_sink_store(sink, from, from + JPEG_GROUP);
#endif
}

/* One that is NOT_ZERO; of others the next one takes the place, so that lanes stay together. */
HOST_DEVICE void jpeg_sink_put(struct jpeg_sink *sink, bool not_zero, int32_t value,
                               uint32_t place) {
    const uint32_t at = sink->base.coefficients;
    sink->group[at % JPEG_GROUP * sink->stride] = (uint32_t)value << 6 | (place & 63);
    sink->base.coefficients += not_zero;
    if (!not_zero || at % JPEG_GROUP != JPEG_GROUP - 1) return;
    const uint32_t from = at + 1 - JPEG_GROUP;
    if (from >= sink->first)
        jpeg_sink_store_group(sink, from);
    else
        jpeg_sink_store(sink, sink->first, at + 1);
}

/* Stores the rest of the last group. */
HOST_DEVICE void jpeg_sink_flush(struct jpeg_sink *sink) {
    const uint32_t end = sink->base.coefficients, group = end / JPEG_GROUP * JPEG_GROUP;
    jpeg_sink_store(sink, group > sink->first ? group : sink->first, end);
}

/* At once, 8 bytes. */
HOST_DEVICE void jpeg_head_store(struct jpeg_head *head, uint32_t first, int32_t dc) {
#if defined(__CUDA_ARCH__)
    *(uint2 *)head = make_uint2(first, (uint32_t)dc);
#else
    head->first = first;
    head->dc = dc;
#endif
}

HOST_DEVICE void jpeg_sink_head(struct jpeg_sink *sink, uint32_t component) {
    const int32_t dc = (int32_t)jpeg_at(sink->base.dc, component);
    if (dc > JPEG_DC_MAX || dc < -JPEG_DC_MAX) sink->flags |= JPEG_FLAG_DC;
    if (sink->base.blocks < sink->blocks_max) {
        jpeg_head_store(&sink->heads[sink->base.blocks], sink->base.coefficients, dc);
    } else {
        sink->flags |= JPEG_FLAG_BLOCKS;
    }
    sink->base.blocks++;
}

/* ---- segments */

/* Bits between two restarts. */
struct jpeg_segment_of_bits {
    uint32_t number;
    uint32_t end; /* bits behind the subsequence's first */
    bool last;
};

HOST_DEVICE void jpeg_segment_set(const struct jpeg_picture *picture, uint32_t cut, uint32_t bits,
                                  uint32_t number, struct jpeg_segment_of_bits *segment) {
    segment->number = number;
    segment->last = number + 1 >= picture->segments;
    segment->end = (segment->last ? bits : 8 * picture->segment_ends[number]) - cut;
}

/* The first that ends behind bit AT, of BITS in all. */
HOST_DEVICE void jpeg_segment_find(const struct jpeg_picture *picture, uint32_t cut, uint32_t at,
                                   uint32_t bits, struct jpeg_segment_of_bits *segment) {
    uint32_t low = 0, high = picture->segments - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (8 * picture->segment_ends[middle] > cut + at)
            high = middle;
        else
            low = middle + 1;
    }
    jpeg_segment_set(picture, cut, bits, low, segment);
}

/* Whether the segment ends at STATE: nothing is left of it, or fill alone. Fill never crosses a
 * cut, which is at a whole byte: what lies behind one is the next subsequence's to see. */
HOST_DEVICE bool jpeg_segment_ends(const struct jpeg_segment_of_bits *segment, uint32_t sub_bits,
                                   const struct jpeg_state *state, const struct jpeg_words *words) {
    if (state->bit >= segment->end) return true;
    if (state->bit >= sub_bits || (state->place | state->block)) return false;
    const uint32_t left = segment->end - state->bit;
    return ~jpeg_words_next(words, state->bit) >> (32 - left) == 0;
}

/* ---- walking */

/* Its sums start again. */
HOST_DEVICE void jpeg_tally_restart(struct jpeg_tally *tally) {
    tally->counts |= 1u << 31;
    for (int i = 0; i < JPEG_PLANES; i++) tally->dc[i] = 0;
}

HOST_DEVICE void jpeg_sink_restart(const struct jpeg_picture *picture, struct jpeg_sink *sink,
                                   const struct jpeg_state *state,
                                   const struct jpeg_segment_of_bits *segment) {
    if (state->bit > segment->end || state->place || state->block ||
        sink->base.blocks != jpeg_blocks_before(picture, segment->number + 1))
        sink->flags |= JPEG_FLAG_BLOCKS;
    for (int i = 0; i < JPEG_PLANES; i++) sink->base.dc[i] = 0;
}

/* Past the segments that end at STATE, where there are such. */
HOST_DEVICE void jpeg_walk_segments(const struct jpeg_picture *picture, uint32_t cut, uint32_t bits,
                                    struct jpeg_words *words, struct jpeg_state *state,
                                    struct jpeg_segment_of_bits *segment, struct jpeg_tally *tally,
                                    struct jpeg_sink *sink) {
    const uint32_t sub_bits = 1u << picture->sub_log2;
    while (state->bit + 8 > segment->end && jpeg_segment_ends(segment, sub_bits, state, words)) {
        if (sink)
            jpeg_sink_restart(picture, sink, state, segment);
        else
            jpeg_tally_restart(tally);
        state->bit = segment->end;
        state->place = state->block = 0;
        if (segment->last) break;
        jpeg_segment_set(picture, cut, bits, segment->number + 1, segment);
        if (state->bit < sub_bits) jpeg_words_seek(words, state->bit);
    }
}

/* A symbol of AC, or a DC difference NUMBER, that leads to place PAST. */
HOST_DEVICE void jpeg_sink_symbol(struct jpeg_sink *sink, const struct jpeg_symbol *symbol,
                                  int32_t number, uint32_t past, bool dc, uint32_t component) {
    if (symbol->step == 0) sink->flags |= JPEG_FLAG_CODE;
    if (past > 64 && past < JPEG_STEP_END) sink->flags |= JPEG_FLAG_RUN;
    jpeg_sink_put(sink, !dc && symbol->size, number, past - 1);
    jpeg_add_at(sink->base.dc, component, dc ? (uint32_t)number : 0);
    if (dc) jpeg_sink_head(sink, component);
}

HOST_DEVICE void jpeg_tally_symbol(struct jpeg_tally *tally, const struct jpeg_symbol *symbol,
                                   int32_t number, bool dc, uint32_t component) {
    const uint32_t coefficients = (symbol->size ? 1 : 0) + symbol->pair;
    tally->counts += dc ? 1 : coefficients << 12;
    jpeg_add_at(tally->dc, component, dc ? (uint32_t)number : 0);
}

/* Decodes subsequence SUB, of BITS bits in all, from packed state FROM; returns the packed state at
 * its end. SINK NULL: adds to TALLY, two symbols at once where nothing ends near them; else TALLY
 * may be NULL. */
HOST_DEVICE uint32_t jpeg_walk(const struct jpeg_picture *picture,
                               const struct jpeg_lookup *lookups, struct jpeg_words words,
                               uint32_t bits, uint32_t sub, uint32_t from, struct jpeg_tally *tally,
                               struct jpeg_sink *sink) {
    const uint32_t cut = sub << picture->sub_log2, sub_bits = 1u << picture->sub_log2;
    const uint32_t kinds = picture->kinds, phases = picture->phases;
    const uint32_t limit = bits - cut < sub_bits ? bits - cut : sub_bits;
    struct jpeg_state state = jpeg_state_unpack(from);
    struct jpeg_segment_of_bits segment;
    jpeg_segment_find(picture, cut, state.bit, bits, &segment);
    jpeg_words_seek(&words, state.bit);
    for (;;) {
        const bool far = state.bit + JPEG_SHORT_BITS <= (segment.end < limit ? segment.end : limit);
        if (!far) {
            jpeg_walk_segments(picture, cut, bits, &words, &state, &segment, tally, sink);
            if (state.bit >= limit) break;
        }
        const uint32_t next = jpeg_words_next(&words, state.bit), before = state.bit;
        const uint32_t kind = kinds >> 4 * state.block; /* and of the blocks behind it */
        const bool dc = state.place == 0;
        const bool two = !sink && far && !dc && state.place < JPEG_PAIR_PLACES;
        const struct jpeg_symbol symbol =
            jpeg_lookup_find(lookups + (kind >> (dc ? 2 : 3) & 1) + (dc ? 0 : 2), next, two);
        const uint32_t past = state.place + symbol.step;
        const int32_t number = jpeg_number(next << symbol.length, symbol.size);
        if (sink)
            jpeg_sink_symbol(sink, &symbol, number, past, dc, kind & 3);
        else
            jpeg_tally_symbol(tally, &symbol, number, dc, kind & 3);
        state.bit += symbol.length + symbol.size;
        state.place = past >= 64 ? 0 : past;
        if (past >= 64) state.block = state.block + 1 == phases ? 0 : state.block + 1;
        words.high = (state.bit ^ before) >> 5 ? words.low : words.high;
        words.low = words.at[((state.bit >> 5) + 1) * words.stride];
    }
    return jpeg_state_pack(state, limit);
}

HOST_DEVICE uint32_t jpeg_tally_blocks(const struct jpeg_tally *tally) {
    return tally->counts & 0xfff;
}

HOST_DEVICE uint32_t jpeg_tally_coefficients(const struct jpeg_tally *tally) {
    return tally->counts >> 12 & 0xfff;
}

/* Moves the base to the next subsequence. */
HOST_DEVICE void jpeg_base_add(struct jpeg_base *base, const struct jpeg_tally *tally) {
    base->blocks += jpeg_tally_blocks(tally);
    base->coefficients += jpeg_tally_coefficients(tally);
    for (int i = 0; i < JPEG_PLANES; i++)
        base->dc[i] = tally->dc[i] + (tally->counts >> 31 ? 0 : base->dc[i]);
}

#endif

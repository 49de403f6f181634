// SPDX-License-Identifier: Apache-2.0
/* How it works. A 64-bit window holds the next bits, filled eight bytes at a time if none of them
 * is 0xff. A table of the next ten bits gives code, number and length at once; longer codes are
 * found by the first and last values of their lengths. For each block only sums of magnitudes are
 * kept, by the columns that the transform's second pass adds up, to bound that pass. */
#include "pipeline/codecs/jpeg/scan.h"

#include <string.h>

enum {
    RESTART_FIRST = 0xd0,
    END_OF_IMAGE = 0xd9,
    BLOCK = 64,
    SIDE = 8,
    DC_BITS_MAX = 11,
    DC_MAX = 2047,
    AC_BITS_MAX = 10,
    SUMS = 5,
    SUM_MAX = 5900,
};

/* ---- prefix codes */

/* EXTEND of T.81: the number in the lowest SIZE bits of VALUE; SIZE is 1 or more. */
static int extend(int value, int size) {
    return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

/* All that the next bits may be where they begin with a code of BITS bits. */
static void fill_lookup(struct huffman *huffman, int bits, uint32_t value, uint8_t symbol) {
    const int spare = HUFFMAN_LOOKUP_BITS - bits, size = symbol & 15;
    if (spare < 0) return;
    const bool whole = size > 0 && size <= spare;
    for (uint32_t i = 0; i < 1u << spare; i++) {
        struct huffman_entry *entry = &huffman->lookup[(value << spare) + i];
        *entry = (struct huffman_entry){ 0, symbol, (uint8_t)bits };
        if (!whole) continue;
        entry->number = (int16_t)extend((int)(i >> (spare - size)), size);
        entry->bits = (uint8_t)(bits + size);
    }
}

bool huffman_is_code(const uint8_t counts[16]) {
    uint32_t value = 0;
    bool any = false;
    for (int bits = 1; bits <= 16; bits++, value *= 2) {
        const uint32_t count = counts[bits - 1];
        /* The code of ones alone is no code, of any length. */
        if (count && value + count >= 1u << bits) return false;
        any |= count > 0;
        value += count;
    }
    return any;
}

bool huffman_make(struct huffman *huffman, const uint8_t counts[16], const uint8_t *symbols) {
    uint32_t value = 0;
    int place = 0;
    if (!huffman_is_code(counts)) return false;
    memset(huffman->lookup, 0, sizeof huffman->lookup);
    for (int bits = 1; bits <= 16; bits++, value *= 2) {
        huffman->first[bits] = (int32_t)value;
        huffman->from[bits] = place;
        for (int i = 0; i < counts[bits - 1]; i++, place++, value++) {
            huffman->symbols[place] = symbols[place];
            fill_lookup(huffman, bits, value, symbols[place]);
        }
        huffman->last[bits] = counts[bits - 1] ? (int32_t)value - 1 : -1;
    }
    return true;
}

/* ---- bits */

/* The next ones from the top of the window down; `at` stops at a marker. */
struct bits {
    const uint8_t *at, *end;
    uint64_t window;
    int count;
};

static uint64_t read_be64(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return __builtin_bswap64(word);
}

static bool has_ff(uint64_t word) {
    const uint64_t lows = UINT64_C(0x0101010101010101), tops = lows << 7;
    return (~word - lows) & word & tops;
}

/* At least 57 bits, unless a marker or the end is nearer. */
static void refill(struct bits *bits) {
    if (bits->count < 32 && bits->end - bits->at >= 8) {
        const uint64_t word = read_be64(bits->at);
        if (!has_ff(word)) {
            const int bytes = (64 - bits->count) / 8;
            bits->window |= word >> (64 - 8 * bytes) << (64 - 8 * bytes) >> bits->count;
            bits->at += bytes;
            bits->count += 8 * bytes;
            return;
        }
    }
    while (bits->count <= 56 && bits->at < bits->end) {
        const uint8_t byte = *bits->at;
        if (byte == 0xff && (bits->end - bits->at < 2 || bits->at[1] != 0)) return;
        bits->at += byte == 0xff ? 2 : 1;
        bits->window |= (uint64_t)byte << (56 - bits->count);
        bits->count += 8;
    }
}

static void drop(struct bits *bits, int count) {
    bits->count -= count;
    bits->window <<= count;
}

/* A code that is too long for the table. */
static bool find_long_code(const struct bits *bits, const struct huffman *huffman,
                           struct huffman_entry *entry) {
    for (int length = HUFFMAN_LOOKUP_BITS + 1; length <= 16; length++) {
        const int32_t value = (int32_t)(bits->window >> (64 - length));
        if (value > huffman->last[length]) continue;
        const int place = huffman->from[length] + value - huffman->first[length];
        *entry = (struct huffman_entry){ 0, huffman->symbols[place], (uint8_t)length };
        return true;
    }
    return false;
}

/* A code and its number; false: no code of this table, or the bits end. At most 16 and 15 bits, so
 * one look for more of them does for both. */
static inline bool read_symbol(struct bits *bits, const struct huffman *huffman,
                               struct huffman_entry *entry) {
    if (bits->count < 32) refill(bits);
    *entry = huffman->lookup[bits->window >> (64 - HUFFMAN_LOOKUP_BITS)];
    if (!entry->bits && !find_long_code(bits, huffman, entry)) return false;
    drop(bits, entry->bits);
    const int size = entry->symbol & 15;
    if (size && !entry->number) {
        entry->number = (int16_t)extend((int)(bits->window >> (64 - size)), size);
        drop(bits, size);
    }
    return bits->count >= 0;
}

/* ---- blocks */

/* The sum for each place in zigzag order: columns 0 and 4 are summed together, 1 and 5, 3 and 7; 2
 * and 6 each have a sum of their own, numbers 2 and 4. */
static const uint8_t sum_of[BLOCK] = {
    0, 1, 0, 0, 1, 2, 3, 2, 1, 0, 0, 1, 2, 3, 0, 1, 0, 3, 2, 1, 0, 0, 1, 2, 3, 0, 1, 4, 3, 4, 1, 0,
    3, 2, 1, 0, 1, 2, 3, 0, 1, 4, 3, 3, 4, 1, 0, 3, 2, 3, 0, 1, 4, 3, 3, 4, 1, 0, 1, 4, 3, 3, 4, 3,
};

static uint32_t magnitude(int number) {
    return (uint32_t)(number < 0 ? -number : number);
}

static bool walk_dc(struct bits *bits, const struct huffman *huffman, int *dc) {
    struct huffman_entry entry;
    if (!read_symbol(bits, huffman, &entry) || entry.symbol > DC_BITS_MAX) return false;
    *dc += entry.number;
    return magnitude(*dc) <= DC_MAX;
}

static bool walk_block(struct bits *stream, const struct jpeg_scan *scan, int component, int *dc) {
    const uint8_t *quantization = scan->quantization[component];
    const struct huffman *huffman = scan->ac[component];
    struct bits bits = *stream; /* in registers */
    uint32_t sums[SUMS] = { 0 }, all = 0;
    if (!walk_dc(&bits, scan->dc[component], dc)) return false;
    all = sums[0] = magnitude(*dc) * quantization[0];
    for (int k = 1; k < BLOCK; k++) {
        struct huffman_entry entry;
        if (!read_symbol(&bits, huffman, &entry)) return false;
        if (entry.symbol == 0) break;
        k += entry.symbol >> 4;
        if (k >= BLOCK || (entry.symbol & 15) > AC_BITS_MAX) return false;
        if (!entry.number && entry.symbol != 0xf0) return false;
        const uint32_t share = magnitude(entry.number) * quantization[k];
        sums[sum_of[k]] += share;
        all += share;
    }
    *stream = bits;
    for (int i = 0; all > SUM_MAX && i < SUMS; i++)
        if (sums[i] > SUM_MAX) return false;
    return true;
}

static bool walk_mcu(struct bits *bits, const struct jpeg_scan *scan, int *dc) {
    for (unsigned i = 0; i < scan->across * scan->down; i++)
        if (!walk_block(bits, scan, 0, &dc[0])) return false;
    for (int c = 1; c < scan->components; c++)
        if (!walk_block(bits, scan, c, &dc[c])) return false;
    return true;
}

/* Nothing is left but the bits that fill a byte, and here stands the marker. */
static bool at_marker(struct bits *bits, unsigned marker) {
    refill(bits);
    if (bits->count >= 8 || bits->end - bits->at < 2) return false;
    if (bits->at[0] != 0xff || bits->at[1] != marker) return false;
    bits->at += 2;
    bits->window = 0;
    bits->count = 0;
    return true;
}

bool jpeg_scan_is_sound(const struct jpeg_scan *scan, const uint8_t *data, size_t length) {
    struct bits bits = { .at = data, .end = data + length };
    const uint32_t across = SIDE * scan->across, down = SIDE * scan->down;
    const uint64_t mcus =
        (uint64_t)((scan->width + across - 1) / across) * ((scan->height + down - 1) / down);
    int dc[JPEG_SCAN_COMPONENTS] = { 0 };
    uint32_t left = scan->interval;
    unsigned restart = 0;
    for (uint64_t i = 0; i < mcus; i++) {
        if (scan->interval && left == 0) {
            if (!at_marker(&bits, RESTART_FIRST + restart++ % 8)) return false;
            memset(dc, 0, sizeof dc);
            left = scan->interval;
        }
        if (!walk_mcu(&bits, scan, dc)) return false;
        left--;
    }
    return at_marker(&bits, END_OF_IMAGE) && bits.at == bits.end;
}

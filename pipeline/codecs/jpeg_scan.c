// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/jpeg_scan.h"

#include <string.h>

enum {
    RESTART_FIRST = 0xd0,
    END_OF_IMAGE = 0xd9,
    BLOCK = 64,
    SIDE = 8,
    DC_BITS_MAX = 11,
    DC_MAX = 2047,
    AC_BITS_MAX = 10,
    COLUMN_MAX = 5900,
};

/* ---- prefix codes */

static void fill_fast(struct scan_code *code, int bits, uint32_t value, uint8_t symbol) {
    const int spare = SCAN_FAST_BITS - bits;
    for (uint32_t i = 0; spare >= 0 && i < 1u << spare; i++)
        code->fast[(value << spare) + i] = (uint16_t)(bits << 8 | symbol);
}

bool scan_code_make(struct scan_code *code, const uint8_t counts[16], const uint8_t *symbols) {
    uint32_t value = 0;
    int place = 0;
    memset(code->fast, 0, sizeof code->fast);
    for (int bits = 1; bits <= 16; bits++, value *= 2) {
        code->first[bits] = (int32_t)value;
        code->from[bits] = place;
        /* The code of ones alone is no code, of any length. */
        if (counts[bits - 1] && value + counts[bits - 1] >= 1u << bits) return false;
        for (int i = 0; i < counts[bits - 1]; i++, place++, value++) {
            code->symbols[place] = symbols[place];
            fill_fast(code, bits, value, symbols[place]);
        }
        code->last[bits] = counts[bits - 1] ? (int32_t)value - 1 : -1;
    }
    return place > 0;
}

/* ---- bits */

/* The next ones from the top of the window down; `at` stops at a marker. */
struct bits {
    const uint8_t *at, *end;
    uint64_t window;
    int count;
};

static void refill(struct bits *bits) {
    while (bits->count <= 56 && bits->at < bits->end) {
        const uint8_t byte = *bits->at;
        if (byte == 0xff && (bits->end - bits->at < 2 || bits->at[1] != 0)) return;
        bits->at += byte == 0xff ? 2 : 1;
        bits->window |= (uint64_t)byte << (56 - bits->count);
        bits->count += 8;
    }
}

static bool drop(struct bits *bits, int count) {
    bits->count -= count;
    bits->window <<= count;
    return bits->count >= 0;
}

/* -1: no code of this table, or the bits end. */
static int next_symbol(struct bits *bits, const struct scan_code *code) {
    if (bits->count < 32) refill(bits);
    const unsigned fast = code->fast[bits->window >> (64 - SCAN_FAST_BITS)];
    if (fast) return drop(bits, (int)(fast >> 8)) ? (int)(fast & 255) : -1;
    for (int length = SCAN_FAST_BITS + 1; length <= 16; length++) {
        const int32_t value = (int32_t)(bits->window >> (64 - length));
        if (value > code->last[length]) continue;
        if (!drop(bits, length)) return -1;
        return code->symbols[code->from[length] + value - code->first[length]];
    }
    return -1;
}

/* A number of SIZE bits, 1 or more, as T.81's EXTEND has it. */
static bool next_number(struct bits *bits, int size, int *number) {
    const int value = (int)(bits->window >> (64 - size));
    *number = value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
    return drop(bits, size);
}

/* ---- blocks */

/* Of a place in zigzag order. */
static const uint8_t column_of[BLOCK] = {
    0, 1, 0, 0, 1, 2, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 4,
    3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 5, 6, 7, 7, 6, 7,
};

static uint32_t magnitude(int number) {
    return (uint32_t)(number < 0 ? -number : number);
}

static bool walk_dc(struct bits *bits, const struct scan_code *code, int *dc) {
    const int size = next_symbol(bits, code);
    int difference = 0;
    if (size < 0 || size > DC_BITS_MAX) return false;
    if (size && !next_number(bits, size, &difference)) return false;
    *dc += difference;
    return magnitude(*dc) <= DC_MAX;
}

static bool walk_block(struct bits *bits, const struct scan *scan, int component, int *dc) {
    const uint8_t *steps = scan->steps[component];
    uint32_t columns[SIDE] = { 0 };
    if (!walk_dc(bits, scan->dc[component], dc)) return false;
    columns[0] = magnitude(*dc) * steps[0];
    for (int k = 1; k < BLOCK; k++) {
        const int symbol = next_symbol(bits, scan->ac[component]), size = symbol & 15;
        int number;
        if (symbol == 0) break;
        if (symbol < 0 || size > AC_BITS_MAX || (size == 0 && symbol != 0xf0)) return false;
        k += symbol >> 4;
        if (k >= BLOCK) return false;
        if (size == 0) continue;
        if (!next_number(bits, size, &number)) return false;
        columns[column_of[k]] += magnitude(number) * steps[k];
    }
    uint32_t largest = 0;
    for (int c = 0; c < SIDE; c++) largest = columns[c] > largest ? columns[c] : largest;
    return largest <= COLUMN_MAX;
}

static bool walk_mcu(struct bits *bits, const struct scan *scan, int *dc) {
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

bool scan_sound(const struct scan *scan, const uint8_t *data, size_t length) {
    struct bits bits = { .at = data, .end = data + length };
    const uint32_t across = SIDE * scan->across, down = SIDE * scan->down;
    const uint64_t mcus =
        (uint64_t)((scan->width + across - 1) / across) * ((scan->height + down - 1) / down);
    int dc[SCAN_COMPONENTS] = { 0 };
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

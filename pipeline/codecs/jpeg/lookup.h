// SPDX-License-Identifier: Apache-2.0
/* lookup.h - a prefix code of a JPEG's scan as tables, from the next bits to a symbol.
 *
 * An entry packs what a decoder needs to go on: bits of the code, bits of the number behind it, and
 * how far the symbol moves on in zigzag order. Bits that are no code, and symbols that baseline
 * JPEG does not have, are JPEG_NO_CODE: one bit long, so that every loop over symbols ends.
 *
 * Used by:  walk.h; the decoders that fill them, an entry a thread.
 * Limits:   the code is one (huffman_is_code), which keeps every index within its table.
 *
 * How it works. The next 9 bits identify all codes up to that length. Longer ones have the greatest
 * values, as DHT numbers codes: a second table holds the 16-bit values from the first long one on.
 * Values beyond it, of rare tables, are found by the lengths' limits. A pass that only counts takes
 * two symbols at once where 9 bits show a coefficient and the code behind it: their steps are
 * added, and the entry's size is that of the second.
 */
#ifndef BURIN_JPEG_LOOKUP_H
#define BURIN_JPEG_LOOKUP_H

#include "pipeline/host_device.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    JPEG_CODE_LENGTHS = 16,
    JPEG_SYMBOLS = 256,
    JPEG_SHORT_BITS = 9,
    JPEG_SHORTS = 1 << JPEG_SHORT_BITS,
    JPEG_LONGS = 1024,
    JPEG_NO_CODE = 1,
    JPEG_STEP_END = 127,   /* beyond any place that runs of zeros lead to */
    JPEG_PAIR = 16,        /* in the bits of an entry for two symbols, which are 9 at most */
    JPEG_PAIR_PLACES = 48, /* from a place below it no first symbol ends a block */
};

struct jpeg_lookup {
    uint32_t limits[JPEG_CODE_LENGTHS]; /* codes of up to 1 + i bits lie below, 16 bits wide */
    int32_t places[JPEG_CODE_LENGTHS];  /* of a code's symbol, less the code */
    uint16_t shorts[JPEG_SHORTS];       /* by the next 9 bits; 0: longer, or no code */
    uint16_t longs[JPEG_LONGS];         /* by the next 16 bits less the last short code's end */
    uint16_t symbols[JPEG_SYMBOLS];     /* entries in the order of the codes */
    uint16_t pairs[JPEG_SHORTS];        /* of AC: `shorts`, two symbols at once where 9 bits do */
};

HOST_DEVICE uint32_t jpeg_entry_bits(uint32_t entry) {
    return entry & 31;
}

HOST_DEVICE uint32_t jpeg_entry_size(uint32_t entry) {
    return entry >> 5 & 15;
}

HOST_DEVICE uint32_t jpeg_entry_step(uint32_t entry) {
    return entry >> 9;
}

/* ---- making them */

/* SYMBOL, whose code has BITS bits, of DC (a size) or AC (a run of zeros and a size). */
HOST_DEVICE uint16_t jpeg_entry_make(uint32_t symbol, uint32_t bits, bool dc) {
    const uint32_t size = dc ? symbol : symbol & 15;
    uint32_t step = dc ? 1 : (symbol >> 4) + 1;
    if (size > (dc ? 11u : 10u)) return JPEG_NO_CODE;
    if (!dc && size == 0) {
        if (symbol != 0 && symbol != 0xf0) return JPEG_NO_CODE;
        step = symbol ? 16 : JPEG_STEP_END;
    }
    return (uint16_t)(bits | size << 5 | step << 9);
}

HOST_DEVICE void jpeg_lookup_measure(struct jpeg_lookup *lookup, const uint8_t *counts) {
    uint32_t code = 0, place = 0;
    for (uint32_t i = 0; i < JPEG_CODE_LENGTHS; i++, code *= 2) {
        lookup->places[i] = (int32_t)place - (int32_t)code;
        code += counts[i];
        place += counts[i];
        lookup->limits[i] = code << (JPEG_CODE_LENGTHS - 1 - i);
    }
}

/* The entry of the PLACE-th symbol. */
HOST_DEVICE uint16_t jpeg_lookup_symbol(const uint8_t *counts, const uint8_t *symbols,
                                        uint32_t place, bool dc) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < JPEG_CODE_LENGTHS; i++) {
        end += counts[i];
        if (place < end) return jpeg_entry_make(symbols[place], i + 1, dc);
    }
    return JPEG_NO_CODE;
}

/* By the lengths' limits, from FROM bits on. NEXT: the next 16 bits. */
HOST_DEVICE uint32_t jpeg_lookup_search(const struct jpeg_lookup *lookup, uint32_t next,
                                        uint32_t from) {
    for (uint32_t i = from - 1; i < JPEG_CODE_LENGTHS; i++)
        if (next < lookup->limits[i])
            return lookup
                ->symbols[lookup->places[i] + (int32_t)(next >> (JPEG_CODE_LENGTHS - 1 - i))];
    return JPEG_NO_CODE;
}

HOST_DEVICE uint16_t jpeg_lookup_short(const struct jpeg_lookup *lookup, uint32_t index) {
    const uint32_t next = index << (JPEG_CODE_LENGTHS - JPEG_SHORT_BITS);
    if (next >= lookup->limits[JPEG_SHORT_BITS - 1]) return 0;
    return (uint16_t)jpeg_lookup_search(lookup, next, 1);
}

HOST_DEVICE uint16_t jpeg_lookup_long(const struct jpeg_lookup *lookup, uint32_t index) {
    const uint32_t next = lookup->limits[JPEG_SHORT_BITS - 1] + index;
    return (uint16_t)jpeg_lookup_search(lookup, next, JPEG_SHORT_BITS + 1);
}

/* Two symbols, of which the first is a coefficient and the second one too or the block's end. */
HOST_DEVICE uint16_t jpeg_lookup_pair(const struct jpeg_lookup *lookup, uint32_t index) {
    const uint32_t first = jpeg_lookup_short(lookup, index), size = jpeg_entry_size(first);
    const uint32_t used = jpeg_entry_bits(first) + size;
    if (size == 0 || used >= JPEG_SHORT_BITS) return (uint16_t)first;
    const uint32_t next = index << (JPEG_CODE_LENGTHS - JPEG_SHORT_BITS) << used & 0xffff;
    const uint32_t second = jpeg_lookup_search(lookup, next, 1);
    const bool end = jpeg_entry_step(second) == JPEG_STEP_END;
    const uint32_t bits = used + jpeg_entry_bits(second);
    if (bits > JPEG_SHORT_BITS || (jpeg_entry_size(second) == 0 && !end)) return (uint16_t)first;
    const uint32_t step = jpeg_entry_step(first) + (end ? 64 : jpeg_entry_step(second));
    return (uint16_t)(bits | JPEG_PAIR | jpeg_entry_size(second) << 5 | step << 9);
}

/* ---- reading them */

/* The next symbol. */
struct jpeg_symbol {
    uint32_t length, size; /* bits of the code, or of two with a number between; of the number */
    uint32_t step;
    uint32_t pair; /* 1: a coefficient before it */
};

/* NEXT: the next 32 bits. */
HOST_DEVICE uint32_t jpeg_lookup_beyond(const struct jpeg_lookup *lookup, uint32_t next) {
    const uint32_t index = (next >> 16) - lookup->limits[JPEG_SHORT_BITS - 1];
    if (index < JPEG_LONGS) return lookup->longs[index];
    return jpeg_lookup_search(lookup, next >> 16, JPEG_SHORT_BITS + 1);
}

/* TWO: two symbols at once if they are there. */
HOST_DEVICE struct jpeg_symbol jpeg_lookup_find(const struct jpeg_lookup *lookup, uint32_t next,
                                                bool two) {
    const uint16_t *entries = two ? &lookup->pairs[0] : &lookup->shorts[0];
    uint32_t entry = entries[next >> (32 - JPEG_SHORT_BITS)];
    struct jpeg_symbol symbol;
    symbol.length = entry & (JPEG_PAIR - 1);
    symbol.pair = entry / JPEG_PAIR & 1;
    if (!entry) {
        entry = jpeg_lookup_beyond(lookup, next);
        symbol.length = jpeg_entry_bits(entry);
    }
    symbol.size = jpeg_entry_size(entry);
    symbol.step = jpeg_entry_step(entry);
    return symbol;
}

/* The number of SIZE bits at the top of BITS, as T.81's EXTEND has it; 0 of none. */
HOST_DEVICE int32_t jpeg_number(uint32_t bits, uint32_t size) {
    const uint32_t value = bits >> 1 >> (31 - size);
    const uint32_t negative = ~bits >> 31; /* begins with 0 */
    return size ? (int32_t)(value + negative - (negative << size)) : 0;
}

#endif

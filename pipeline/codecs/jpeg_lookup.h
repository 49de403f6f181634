// SPDX-License-Identifier: Apache-2.0
/* jpeg_lookup.h - a prefix code of a JPEG's scan as tables that tell a symbol by the next bits.
 *
 * An entry packs what a decoder needs to go on: bits of the code, bits of the number behind it, and
 * how far the symbol moves on in zigzag order. Bits that are no code, and symbols that baseline
 * JPEG does not have, are JPEG_NO_CODE: one bit long, so that every loop over symbols ends.
 *
 * Used by:  jpeg_walk.h; the decoders that fill them, an entry a thread.
 * Limits:   the code is one (huffman_is_code), which keeps every index within its table.
 *
 * How it works. The next 9 bits tell all codes up to that length. Longer ones have the greatest
 * values, as DHT numbers codes: a second table holds the 16-bit values from the first long one on.
 * Values beyond it, of rare tables, are found by the lengths' limits.
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
    JPEG_STEP_END = 127, /* beyond any place that runs of zeros lead to */
};

struct jpeg_lookup {
    uint32_t limits[JPEG_CODE_LENGTHS]; /* codes of up to 1 + i bits lie below, 16 bits wide */
    int32_t places[JPEG_CODE_LENGTHS];  /* of a code's symbol, less the code */
    uint16_t shorts[JPEG_SHORTS];       /* by the next 9 bits; 0: longer, or no code */
    uint16_t longs[JPEG_LONGS];         /* by the next 16 bits less the last short code's end */
    uint16_t symbols[JPEG_SYMBOLS];     /* entries in the order of the codes */
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

/* ---- reading them */

/* NEXT: the next 32 bits. */
HOST_DEVICE uint32_t jpeg_lookup_find(const struct jpeg_lookup *lookup, uint32_t next) {
    const uint32_t entry = lookup->shorts[next >> (32 - JPEG_SHORT_BITS)];
    if (entry) return entry;
    const uint32_t index = (next >> 16) - lookup->limits[JPEG_SHORT_BITS - 1];
    if (index < JPEG_LONGS) return lookup->longs[index];
    return jpeg_lookup_search(lookup, next >> 16, JPEG_SHORT_BITS + 1);
}

/* The number of SIZE bits at the top of BITS, as T.81's EXTEND has it; 0 of none. */
HOST_DEVICE int32_t jpeg_number(uint32_t bits, uint32_t size) {
    const uint32_t value = bits >> 1 >> (31 - size);
    const uint32_t negative = ~bits >> 31; /* begins with 0 */
    return size ? (int32_t)(value + negative - (negative << size)) : 0;
}

#endif

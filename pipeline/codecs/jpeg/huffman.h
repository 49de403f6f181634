// SPDX-License-Identifier: Apache-2.0
/* huffman.h - a block's coefficients to the bits that stand for them in a JPEG.
 *
 * A table by sign, run of zeros and size of the number that ends it holds, in one word, the code
 * with room for the number behind it, what a number below 0 is coded with beside itself, and how
 * many bits that is: the number is added. The size is the exponent of the number as a float. Bits
 * go into words from the highest down; a word is stored at each symbol, whole or not, so that there
 * is nothing to decide.
 *
 * Used by:  jpeg_tiles.c, cuda/codecs/.
 * Source:   ISO/IEC 10918-1, annex F.1.2; jchuff.c of libjpeg-turbo.
 * Limits:   DC differences of 11 bits, other coefficients of 10: what 8-bit samples can give.
 */
#ifndef BURIN_JPEG_HUFFMAN_H
#define BURIN_JPEG_HUFFMAN_H

#include "pipeline/codecs/jpeg/forward.h"
#include "pipeline/codecs/jpeg/zigzag.h"
#include "pipeline/host_device.h"

enum {
    JPEG_SYMBOL_LENGTH = 27, /* the number of bits lies from this bit upwards */
    JPEG_SYMBOL_NONE = 14,   /* in place of a size: the number is 0 */
    JPEG_SYMBOL_NEGATIVE = 256,
    JPEG_SYMBOLS_AC = 512,
    JPEG_SYMBOLS = JPEG_SYMBOLS_AC + 32, /* a DC's follow */
    JPEG_SYMBOLS_DC_NEGATIVE = 16,
    JPEG_SYMBOL_BLOCK_END = JPEG_SYMBOL_NONE,
    JPEG_SYMBOL_16_ZEROS = 15 * 16 + JPEG_SYMBOL_NONE,
    JPEG_DC_SIZE_MAX = 11,
    JPEG_AC_SIZE_MAX = 10,
    JPEG_BLOCK_BITS_MAX = 9 + 11 + 63 * (16 + 10), /* DC, then no zero at all */
    JPEG_STAGE_WORDS = 16                          /* that one call of jpeg_code_block stores */
};

/* ---- the table, on the host */

/* Code and length of each symbol, as DHT means them. */
static inline void jpeg_huffman_codes(const struct jpeg_huffman_table *table, uint32_t codes[256],
                                      uint8_t lengths[256]) {
    uint32_t code = 0, next = 0;
    for (uint32_t length = 1; length <= JPEG_CODE_BITS_MAX; length++, code <<= 1)
        for (int i = 0; i < table->counts[length - 1]; i++, next++, code++) {
            codes[table->symbols[next]] = code;
            lengths[table->symbols[next]] = (uint8_t)length;
        }
}

static inline uint32_t jpeg_symbol(uint32_t code, uint32_t length, uint32_t size, int negative) {
    const uint32_t beside = negative ? (1u << size) - 1 : 0;
    return ((code << size) + beside) | (length + size) << JPEG_SYMBOL_LENGTH;
}

/* WHICH: 0 luma, 1 chroma. */
static inline void jpeg_symbols_init(uint32_t symbols[JPEG_SYMBOLS], int which) {
    uint32_t codes[256];
    uint8_t lengths[256];
    memset(symbols, 0, JPEG_SYMBOLS * sizeof *symbols);
    jpeg_huffman_codes(&jpeg_standard_dc[which], codes, lengths);
    for (uint32_t size = 0; size <= JPEG_DC_SIZE_MAX; size++)
        for (int negative = 0; negative < 2; negative++)
            symbols[JPEG_SYMBOLS_AC + negative * JPEG_SYMBOLS_DC_NEGATIVE +
                    (size + JPEG_SYMBOL_NONE) % 16] =
                jpeg_symbol(codes[size], lengths[size], size, negative);
    jpeg_huffman_codes(&jpeg_standard_ac[which], codes, lengths);
    for (uint32_t run = 0; run < 16; run++)
        for (uint32_t size = 0; size <= JPEG_AC_SIZE_MAX; size++)
            for (int negative = 0; negative < 2; negative++) {
                const uint32_t value = run << 4 | size;
                if (size == 0 && run != 0 && run != 15) continue;
                symbols[negative * JPEG_SYMBOL_NEGATIVE + run * 16 +
                        (size + JPEG_SYMBOL_NONE) % 16] =
                    jpeg_symbol(codes[value], lengths[value], size, negative);
            }
}

/* ---- bits */

struct jpeg_bits {
    uint32_t *words;
    uint32_t place;  /* in `words`, of which JPEG_STAGE_WORDS are stored; others are left out */
    uint32_t offset; /* bits of the word that is being filled */
    uint32_t word;   /* from the highest bit down */
};

HOST_DEVICE void jpeg_put(struct jpeg_bits *bits, uint32_t value, uint32_t length) {
    const uint32_t end = bits->offset + length;
    const uint64_t window = (uint64_t)value << (64 - end);
    const uint32_t filled = bits->word | (uint32_t)(window >> 32);
    if (bits->place < JPEG_STAGE_WORDS) bits->words[bits->place] = filled;
    bits->word = end < 32 ? filled : (uint32_t)window;
    bits->place += end >> 5;
    bits->offset = end & 31;
}

/* Writes the last word, which is not full. */
HOST_DEVICE void jpeg_put_rest(struct jpeg_bits *bits) {
    if (bits->offset && bits->place < JPEG_STAGE_WORDS) bits->words[bits->place] = bits->word;
}

HOST_DEVICE void jpeg_put_symbol(struct jpeg_bits *bits, uint32_t symbol, int32_t number) {
    const uint32_t value = (symbol & ((1u << JPEG_SYMBOL_LENGTH) - 1)) + (uint32_t)number;
    jpeg_put(bits, value, symbol >> JPEG_SYMBOL_LENGTH);
}

/* Sign in bit 8 and exponent: of 0, all bits are 0. */
HOST_DEVICE uint32_t jpeg_sign_and_size(int32_t number) {
    return jpeg_float_bits((float)number) >> 23;
}

HOST_DEVICE uint32_t jpeg_dc_symbol(const uint32_t *symbols, int32_t difference) {
    const uint32_t s = jpeg_sign_and_size(difference);
    const uint32_t index = (s & 15) | (s >> 4 & JPEG_SYMBOLS_DC_NEGATIVE);
    return symbols[JPEG_SYMBOLS_AC + (s ? index : (uint32_t)JPEG_SYMBOL_NONE)];
}

HOST_DEVICE uint32_t jpeg_leading_zeros(uint32_t mask) {
#ifdef __CUDA_ARCH__
    return (uint32_t)__clz((int)mask);
#else
    return (uint32_t)__builtin_clz(mask);
#endif
}

HOST_DEVICE void jpeg_put_coefficient(struct jpeg_bits *bits, const uint32_t *symbols,
                                      uint32_t zeros, int32_t number) {
    PACKED_NO_UNROLL
    for (; zeros > 15; zeros -= 16) jpeg_put_symbol(bits, symbols[JPEG_SYMBOL_16_ZEROS], 0);
    const uint32_t s = jpeg_sign_and_size(number) & (JPEG_SYMBOL_NEGATIVE | 15);
    jpeg_put_symbol(bits, symbols[zeros * 16 + s], number);
}

/* A block's bits from its first to its last, of which words FIRST.. are stored: JPEG_STAGE_WORDS at
 * most, the last one filled up with zeros. MASK is jpeg_forward's. Returns how many bits all are.
 */
HOST_DEVICE uint32_t jpeg_code_block(const int16_t *coefficients, uint64_t mask, int32_t difference,
                                     const uint32_t *symbols, uint32_t *words, uint32_t first) {
    struct jpeg_bits bits;
    const uint32_t halves[2] = { (uint32_t)(mask >> 32), (uint32_t)mask };
    uint32_t before = 0; /* the last coefficient that is coded */
    bits.words = words;
    bits.place = 0 - first;
    bits.offset = bits.word = 0;
    jpeg_put_symbol(&bits, jpeg_dc_symbol(symbols, difference), difference);
    PACKED_NO_UNROLL
    for (uint32_t start = 1; start < JPEG_BLOCK; start += 32) {
        uint32_t left = start == 1 ? halves[0] : halves[1], skipped = 0;
        int32_t next = 0;
        if (left) {
            skipped = jpeg_leading_zeros(left);
            next = coefficients[start + skipped];
        }
        PACKED_NO_UNROLL
        while (left) {
            const uint32_t k = start + skipped;
            const int32_t number = next;
            left &= 0x7fffffffu >> skipped;
            if (left) { /* early, so that nothing waits for it later */
                skipped = jpeg_leading_zeros(left);
                next = coefficients[start + skipped];
            }
            jpeg_put_coefficient(&bits, symbols, k - before - 1, number);
            before = k;
        }
    }
    /* the last coefficient is 0: the block needs an end */
    if (!(mask & 2)) jpeg_put_symbol(&bits, symbols[JPEG_SYMBOL_BLOCK_END], 0);
    jpeg_put_rest(&bits);
    return 32 * (bits.place + first) + bits.offset;
}

#endif

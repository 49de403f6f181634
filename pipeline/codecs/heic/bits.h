// SPDX-License-Identifier: Apache-2.0
/* bits.h - the bits of a NAL unit, one by one, past the bytes that keep a start code from
 * appearing.
 *
 * Behind the end all bits are 0, and the reader has failed.
 *
 * Used by:  heic/configuration.c, heic/parameters.c.
 * Owns:     nothing.
 * Threads:  any.
 * Source:   ITU-T H.265, 7.2, 7.3.1.1, 7.3.3 and 9.2.
 */
#ifndef BURIN_HEVC_BITS_H
#define BURIN_HEVC_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SUB_LAYERS_MAX = 7 };

struct bits {
    const uint8_t *bytes;
    size_t length, at; /* at: the byte that the next bit is in */
    unsigned used;     /* bits of that byte */
    unsigned zeros;    /* bytes of 0 right before it */
    bool failed;
};

static inline unsigned take_bit(struct bits *bits) {
    if (!bits->used && bits->zeros >= 2 && bits->at < bits->length && bits->bytes[bits->at] == 3) {
        bits->at++;
        bits->zeros = 0;
    }
    if (bits->at >= bits->length) {
        bits->failed = true;
        return 0;
    }
    const uint8_t byte = bits->bytes[bits->at];
    const unsigned bit = byte >> (7 - bits->used) & 1;
    if (++bits->used == 8) {
        bits->used = 0;
        bits->zeros = byte ? 0 : bits->zeros + 1;
        bits->at++;
    }
    return bit;
}

static inline uint32_t take_bits(struct bits *bits, unsigned count) {
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++) value = value << 1 | take_bit(bits);
    return value;
}

static inline void skip_bits(struct bits *bits, unsigned count) {
    for (unsigned i = 0; i < count; i++) take_bit(bits);
}

/* ue(v): as many bits as there were zeros before the first 1, which belongs to them. */
static inline uint32_t take_golomb(struct bits *bits) {
    unsigned zeros = 0;
    while (!bits->failed && !take_bit(bits))
        if (++zeros > 31) bits->failed = true;
    return bits->failed ? 0 : (1u << zeros) - 1 + take_bits(bits, zeros);
}

/* profile_tier_level: 88 bits of profile, and 8 of level for the whole; then which of the lower
 * layers have either. */
static inline void skip_profile(struct bits *bits, unsigned sub_layers) {
    unsigned profile[SUB_LAYERS_MAX] = { 0 }, level[SUB_LAYERS_MAX] = { 0 };
    skip_bits(bits, 96);
    for (unsigned i = 0; i < sub_layers; i++) {
        profile[i] = take_bit(bits);
        level[i] = take_bit(bits);
    }
    if (sub_layers) skip_bits(bits, 2 * (8 - sub_layers));
    for (unsigned i = 0; i < sub_layers; i++) skip_bits(bits, 88 * profile[i] + 8 * level[i]);
}

/* se(v) */
static inline int32_t take_signed_golomb(struct bits *bits) {
    const uint32_t code = take_golomb(bits);
    const int32_t half = (int32_t)(code / 2);
    return code % 2 ? half + 1 : -half;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* splice.h - strings of bits from tiles that know nothing of each other, joined into the bytes
 * of a JPEG with a zero after each 0xff.
 *
 * The bit at which a string begins in its first byte, its phase, depends on all strings before it.
 * So each string counts its bytes of 0xff for all eight phases; these counts and the lengths give
 * the places of all strings before a byte is written. A byte that two strings share belongs to the
 * later one. The very last byte is filled with ones.
 *
 * Used by:  jpeg_tiles.c, cuda/codecs/.
 * Limits:   each string but the last has 8 bits or more.
 */
#ifndef BURIN_JPEG_SPLICE_H
#define BURIN_JPEG_SPLICE_H

#include "pipeline/host_device.h"

#include <stdbool.h>
#include <stdint.h>

#define JPEG_NO_PLACE UINT32_MAX

enum { JPEG_PHASES = 8, JPEG_PLACE_BYTES = 16 };

/* Facts about a tile's string. */
struct jpeg_string {
    uint32_t bits;
    uint32_t place; /* in scratch, in JPEG_PLACE_BYTES; JPEG_NO_PLACE: no room there */
    uint16_t stuffed[JPEG_PHASES]; /* 0xff among the bytes that lie in it whole */
    uint8_t head, tail;            /* its first and its last 8 bits */
    uint8_t unused[6];
};

/* Bit i: a run of eight ones ends in bit i of WORD. BEFORE is the word before it, or 0. Bit 0 is
 * the last of the string, so that i % 8 is the phase in which the eight are a byte. */
HOST_DEVICE uint32_t jpeg_ff_ends(uint32_t before, uint32_t word) {
    uint64_t ones = (uint64_t)before << 32 | word;
    ones &= ones >> 1;
    ones &= ones >> 2;
    return (uint32_t)(ones & ones >> 4);
}

/* The phase of a string and what the string adds to the file. */
struct jpeg_splice {
    uint32_t phase;
    uint32_t bytes;   /* that end in it */
    uint32_t stuffed; /* of which are 0xff */
};

HOST_DEVICE bool jpeg_all_ones(uint32_t bits, uint32_t count) {
    return (~bits & ((1u << count) - 1)) == 0;
}

/* The byte that STRING shares with the one before it is 0xff. SHARED bits of it are STRING's. */
HOST_DEVICE bool jpeg_shared_ff(const struct jpeg_string *string, uint32_t phase, uint8_t tail) {
    const uint32_t shared = string->bits < 8 - phase ? string->bits : 8 - phase;
    return jpeg_all_ones(tail, phase) &&
           jpeg_all_ones((uint32_t)string->head >> (8 - shared), shared);
}

/* TAIL is the last byte of the string before, BEFORE the bits before STRING. */
HOST_DEVICE struct jpeg_splice jpeg_splice_of(const struct jpeg_string *string, uint64_t before,
                                              uint8_t tail, bool last) {
    struct jpeg_splice splice;
    const uint32_t phase = (uint32_t)(before & 7), end = phase + string->bits, open = end & 7;
    splice.phase = phase;
    splice.bytes = end / 8;
    splice.stuffed = string->stuffed[phase];
    if (phase && (end >= 8 || last)) splice.stuffed += jpeg_shared_ff(string, phase, tail);
    if (!last || !open) return splice;
    splice.bytes++;
    if (end >= 8 || !phase) splice.stuffed += jpeg_all_ones(string->tail, open);
    return splice;
}

/* 32 bits of the file, from a string's word and the one before it; for the first, `tail` stands in
 * its place. */
HOST_DEVICE uint32_t jpeg_spliced_word(uint32_t before, uint32_t word, uint32_t phase) {
    return (uint32_t)(((uint64_t)before << 32 | word) >> phase);
}

/* The file's last bits are followed by ones. END counts the word's bits that are the file's. */
HOST_DEVICE uint32_t jpeg_padded_word(uint32_t word, uint32_t end) {
    return end < 32 ? word | 0xffffffffu >> end : word;
}

#endif

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/png/isal_place.h"

#include <stdbool.h>
#include <string.h>

/* The hash is of bits 16 to 47 of the address. Of any four places that lie so its lowest HASH_LEAST
 * bits differ from each other. */
enum { FIRST = 3, PLACES = FIRST + 1, APART = 1 << 16, HASH_LEAST = 5, HASH_MOST = 12 };

size_t isal_place_room(void) {
    return sizeof(struct isal_zstream) + (PLACES - 1) * APART;
}

/* CRC-32C of four bytes, from 0 on and not inverted, as the processor's instruction has it. */
static uint32_t hash(uint32_t word) {
    for (int bit = 0; bit < 32; bit++) word = word >> 1 ^ (word & 1 ? 0x82f63b78u : 0);
    return word;
}

/* isa-l takes as many bits of a hash as its table has use for: 13; where all of a stream's LENGTH
 * bytes come at once, 6 from 16 bytes on and one more each time that they are doubled. These are
 * one less; of fewer bytes it finds the same anywhere. */
static uint32_t hash_mask(size_t length) {
    int bits = HASH_LEAST;
    while (bits < HASH_MOST && length >> bits) bits++;
    return (1u << bits) - 1;
}

static bool is_sound(const uint8_t *place, const uint8_t *bytes, uint32_t mask) {
    const uint32_t own = hash((uint32_t)((uintptr_t)place >> 16));
    bool sound = true;
    for (int i = 0; i < FIRST; i++) {
        uint32_t word;
        memcpy(&word, bytes + i, sizeof word);
        sound = sound && (hash(word) ^ own) & mask;
    }
    return sound;
}

struct isal_zstream *isal_place(uint8_t *room, const uint8_t *bytes, size_t length) {
    const uint32_t mask = hash_mask(length);
    int place = 0;
    if (length >= FIRST - 1 + sizeof(uint32_t))
        while (place < PLACES - 1 && !is_sound(room + (size_t)place * APART, bytes, mask)) place++;
    return (struct isal_zstream *)(void *)(room + (size_t)place * APART);
}

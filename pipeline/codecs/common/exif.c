// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/common/exif.h"

#include <stdbool.h>
#include <string.h>

enum { TAG_ORIENTATION = 0x0112, ENTRY_BYTES = 12 };
/* TIFF's types; EXIF has a SHORT, other writers and readers all four. */
enum { SHORT = 3, LONG = 4, SSHORT = 8, SLONG = 9 };

struct tiff {
    const uint8_t *bytes;
    size_t length;
    bool big_endian;
};

/* Callers have checked that AT + 2 (+ 4) bytes are there. */
static uint32_t read_16(const struct tiff *tiff, size_t at) {
    const uint8_t *b = tiff->bytes + at;
    return tiff->big_endian ? (uint32_t)b[0] << 8 | b[1] : (uint32_t)b[1] << 8 | b[0];
}

static uint32_t read_32(const struct tiff *tiff, size_t at) {
    uint32_t first = read_16(tiff, at), second = read_16(tiff, at + 2);
    return tiff->big_endian ? first << 16 | second : second << 16 | first;
}

static bool open_tiff(struct tiff *tiff, const uint8_t *bytes, size_t length) {
    if (length < 8) return false;
    tiff->bytes = bytes;
    tiff->length = length;
    tiff->big_endian = bytes[0] == 'M';
    return (memcmp(bytes, "MM", 2) == 0 || memcmp(bytes, "II", 2) == 0) && read_16(tiff, 2) == 42;
}

uint8_t exif_orientation(const uint8_t *bytes, size_t length) {
    struct tiff tiff;
    if (!open_tiff(&tiff, bytes, length)) return 1;
    size_t at = read_32(&tiff, 4);
    if (at > length - 2) return 1;
    uint32_t entries = read_16(&tiff, at);
    at += 2;
    for (; entries && length - at >= ENTRY_BYTES; entries--, at += ENTRY_BYTES) {
        if (read_16(&tiff, at) != TAG_ORIENTATION) continue;
        /* One value lies in the entry itself, in the first of its last four bytes. */
        uint32_t value = 0;
        if (read_32(&tiff, at + 4) != 1) return 1;
        switch (read_16(&tiff, at + 2)) {
        case SHORT:
        case SSHORT: value = read_16(&tiff, at + 8); break;
        case LONG:
        case SLONG: value = read_32(&tiff, at + 8); break;
        default: break;
        }
        return value >= 1 && value <= 8 ? (uint8_t)value : 1;
    }
    return 1;
}

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/jpeg/lost.h"
#include "pipeline/codecs/jpeg/segment.h"
#include "pipeline/codecs/jpeg/zigzag.h"

#include <string.h>

enum { SEGMENT_MAX = 65536 /* bytes, without the marker's 0xff */ };

/* libjpeg has these codes where a file has none. */
static bool are_standard_codes(const uint8_t *data, size_t size) {
    while (size > 1 + JPEG_CODE_BITS_MAX) {
        const unsigned number = data[0] & 1;
        const struct jpeg_huffman_table *table =
            data[0] >> 4 ? &jpeg_standard_ac[number] : &jpeg_standard_dc[number];
        const size_t length = 1 + JPEG_CODE_BITS_MAX + table->symbol_count;
        if (data[0] & ~0x11u || size < length ||
            memcmp(data + 1, table->counts, JPEG_CODE_BITS_MAX) != 0 ||
            memcmp(data + 1 + JPEG_CODE_BITS_MAX, table->symbols, table->symbol_count) != 0)
            return false;
        data += length;
        size -= length;
    }
    return size == 0;
}

/* Whether Adobe's segment would have given the probe another space. */
static bool changes_colours(const uint8_t *data, size_t size, const struct probe *probe) {
    if (size < 12 || memcmp(data, "Adobe", 5) != 0 || probe->components == 1) return false;
    const char *space = probe->components == 4 ? data[11] ? "ycck" : "cmyk"
                        : data[11]             ? "ycbcr"
                                               : "rgb";
    return strcmp(probe->space, space) != 0;
}

static bool matters(unsigned marker, const uint8_t *data, size_t size, const struct probe *probe) {
    switch (marker) {
    case MARKER_DQT:
    case MARKER_DAC: return true;
    case MARKER_DHT: return !are_standard_codes(data, size);
    case MARKER_APP14: return changes_colours(data, size, probe);
    default: return false;
    }
}

/* SIZE bytes before END lie between two segments. What is left of the marker, or other bytes, may
 * come first. */
static bool have_lost(const uint8_t *end, size_t size, const struct probe *probe) {
    for (size_t its = size < SEGMENT_MAX ? size : SEGMENT_MAX; its >= 3; its--) {
        const uint8_t *at = end - its;
        if (read_be16(at + 1) + 1u == its && matters(at[0], at + 3, its - 3, probe)) return true;
    }
    return false;
}

bool jpeg_lost_matters(const uint8_t *bytes, size_t length, const struct probe *probe) {
    struct segment segment = { .marker = 0 };
    size_t before = 2, at = before; /* behind SOI */
    while (segment.marker != MARKER_SOS && jpeg_segment(bytes, length, &at, &segment)) {
        if (have_lost(bytes + before + segment.skipped, segment.skipped, probe)) return true;
        before = at;
    }
    return false;
}

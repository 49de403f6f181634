// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/codecs.h"
#include "pipeline/codecs/jpeg_segment.h"
#include "pipeline/device_jpeg.h"

#include <string.h>

/* Ids, sampling factors and tables of the frame: three bytes a component behind six. */
static bool read_sampling(const struct segment *frame, const struct probe *probe,
                          struct device_jpeg *out) {
    const unsigned components = probe->components;
    if (frame->length != 6 + 3 * components || frame->data[0] != 8) return false;
    if (read_be16(frame->data + 1) != probe->height || read_be16(frame->data + 3) != probe->width)
        return false;
    for (unsigned c = 1; c < components; c++)
        if (frame->data[7 + 3 * c] != 0x11) return false;
    out->across = frame->data[7] >> 4;
    out->down = frame->data[7] & 15;
    if (components == 1) return out->across == 1 && out->down == 1;
    return out->across * 10 + out->down == 11 || out->across * 10 + out->down == 21 ||
           out->across * 10 + out->down == 22;
}

/* All components in the frame's order, all coefficients at once. */
static bool is_whole_scan(const struct segment *scan, const struct segment *frame) {
    const unsigned components = frame->data[5];
    if (scan->length != 4 + 2 * components || scan->data[0] != components) return false;
    for (unsigned c = 0; c < components; c++)
        if (scan->data[1 + 2 * c] != frame->data[6 + 3 * c]) return false;
    const uint8_t *range = scan->data + 1 + 2 * components;
    return range[0] == 0 && range[1] == 63 && range[2] == 0;
}

/* From the scan's first byte to the end: no markers but restarts in their order, and the last. */
static bool ends_well(const uint8_t *data, size_t length) {
    unsigned restarts = 0;
    while (length >= 2) {
        const uint8_t *at = memchr(data, 0xff, length - 1);
        if (!at) return false;
        const unsigned next = at[1];
        length -= (size_t)(at - data) + 2;
        data = at + 2;
        if (next == MARKER_EOI) return length == 0;
        if (next >= MARKER_RST0 && next <= MARKER_RST7 && next - MARKER_RST0 == restarts++ % 8)
            continue;
        if (next != 0) return false;
    }
    return false;
}

bool device_jpeg_of(const uint8_t *bytes, size_t length, const struct probe *probe,
                    struct device_jpeg *out) {
    struct segment segment, frame = { .marker = 0 };
    size_t at = 2; /* past SOI */
    *out =
        (struct device_jpeg){ .bytes = bytes, .length = length, .orientation = probe->orientation };
    out->width = probe->width;
    out->height = probe->height;
    out->into = probe->shape;
    const bool known = strcmp(probe->space, "gray") == 0 || strcmp(probe->space, "ycbcr") == 0;
    if (probe->format != FORMAT_JPEG || !known || probe->progressive) return false;
    while (jpeg_segment(bytes, length, &at, &segment)) {
        if (segment.marker == MARKER_SOS)
            return frame.marker && is_whole_scan(&segment, &frame) &&
                   ends_well(bytes + at, length - at);
        if (!jpeg_is_frame(segment.marker)) {
            if (segment.marker < MARKER_SOF0) return false;
            continue;
        }
        if (frame.marker || segment.marker != MARKER_SOF0) return false;
        frame = segment;
        if (!read_sampling(&frame, probe, out)) return false;
    }
    return false;
}

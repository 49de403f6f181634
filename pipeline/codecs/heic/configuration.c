// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/heic/configuration.h"
#include "pipeline/codecs/codecs.h"
#include "pipeline/codecs/heic/bits.h"

enum { HEAD_BYTES = 23, SIDE_MAX = 1 << 16 };

/* Sides that a window cuts off, in samples of luma; false: nothing is left. */
static bool take_window(struct bits *bits, struct hevc_shape *shape) {
    const uint64_t across = shape->chroma == HEVC_420 || shape->chroma == HEVC_422 ? 2 : 1;
    const uint64_t down = shape->chroma == HEVC_420 ? 2 : 1;
    uint64_t cut_x = 0, cut_y = 0;
    if (take_bit(bits)) {
        cut_x = across * take_golomb(bits);
        cut_x += across * take_golomb(bits);
        cut_y = down * take_golomb(bits);
        cut_y += down * take_golomb(bits);
    }
    if (cut_x >= shape->width || cut_y >= shape->height) return false;
    shape->shown_width = shape->width - (uint32_t)cut_x;
    shape->shown_height = shape->height - (uint32_t)cut_y;
    return true;
}

static const char *read_sps(const struct hevc_unit *unit, struct hevc_shape *shape) {
    struct bits bits = { .bytes = unit->bytes, .length = unit->length };
    skip_bits(&bits, 16 + 4); /* the head, and the VPS that the set belongs to */
    const unsigned sub_layers = take_bits(&bits, 3);
    skip_bits(&bits, 1);
    if (sub_layers >= SUB_LAYERS_MAX) return "its SPS has too many layers";
    skip_profile(&bits, sub_layers);
    take_golomb(&bits); /* its number */
    shape->chroma = take_golomb(&bits);
    if (shape->chroma > HEVC_444) return "its SPS has an unknown kind of chroma";
    if (shape->chroma == HEVC_444 && take_bit(&bits))
        return "its colours are coded as three pictures";
    shape->width = take_golomb(&bits);
    shape->height = take_golomb(&bits);
    if (!shape->width || !shape->height || shape->width > SIDE_MAX || shape->height > SIDE_MAX)
        return "its SPS has a side of 0, or above 65536";
    if (!take_window(&bits, shape)) return "its SPS shows nothing of the picture";
    shape->bits = 8 + take_golomb(&bits);
    if (8 + take_golomb(&bits) != shape->bits)
        return "its chroma has other bits a sample than its luma";
    return bits.failed ? "its SPS is cut off" : NULL;
}

/* The sets of a file agree in all that they promise. */
static const char *add_set(struct hevc_configuration *configuration, unsigned type,
                           const struct hevc_unit *unit) {
    struct hevc_shape shape;
    if (configuration->count == HEVC_SETS_MAX) return "its hvcC has more than 16 parameter sets";
    configuration->sets[configuration->count++] = *unit;
    const char *fault = type == HEVC_SPS ? read_sps(unit, &shape) : NULL;
    if (type != HEVC_SPS || fault) return fault;
    if (configuration->shape.width && memcmp(&configuration->shape, &shape, sizeof shape) != 0)
        return "its parameter sets contradict each other";
    configuration->shape = shape;
    return NULL;
}

const char *hevc_configuration_read(const uint8_t *bytes, size_t length,
                                    struct hevc_configuration *configuration) {
    *configuration = (struct hevc_configuration){ .count = 0 };
    if (length < HEAD_BYTES) return "its picture has no hvcC";
    configuration->length_bytes = 1 + (bytes[21] & 3);
    size_t at = HEAD_BYTES;
    for (unsigned arrays = bytes[22]; arrays; arrays--) {
        if (length - at < 3) return "its hvcC is cut off";
        unsigned units = read_be16(bytes + at + 1);
        for (at += 3; units; units--) {
            const size_t size = length - at < 2 ? 0 : read_be16(bytes + at);
            if (size < 2 || size > length - at - 2) return "its hvcC is cut off";
            const struct hevc_unit unit = { bytes + at + 2, size };
            const unsigned type = hevc_unit_type(unit.bytes);
            const char *fault =
                type >= HEVC_VPS && type <= HEVC_PPS ? add_set(configuration, type, &unit) : NULL;
            if (fault) return fault;
            at += 2 + size;
        }
    }
    return configuration->shape.width ? NULL : "its hvcC has no SPS";
}

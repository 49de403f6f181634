// SPDX-License-Identifier: Apache-2.0
/* How it works. The boxes say which items are the tiles (isobmff.h), and each item's hvcC what its
 * picture is (configuration.h). Both are checked against each other. */
#include "pipeline/codecs/heic/header.h"
#include "pipeline/codecs/heic/codec.h"
#include "pipeline/codecs/heic/tile.h"

/* Tiles may stand out of a small picture by a megapixel. A block of 64 x 64 takes more than a bit,
 * since the choice of its direction is not compressed: x265 needs seven. */
enum { OVERHANG = 1 << 20, PIXELS_A_BYTE = 32768, HIDDEN_MAX = 64 /* a block's side */ };

bool is_heic(const uint8_t *bytes, size_t length) {
    return isobmff_is(bytes, length, "heicheixheimheishevchevx", "hvc1");
}

const char *heic_configuration_read(const uint8_t *bytes, const struct isobmff_place *place,
                                    const struct isobmff_tiling *tiling,
                                    struct hevc_configuration *configuration) {
    const char *fault = hevc_configuration_read(bytes + place->at, place->length, configuration);
    const struct hevc_shape *shape = &configuration->shape;
    if (fault) return fault;
    if (shape->shown_width != tiling->width || shape->shown_height != tiling->height)
        return "its ispe and its hvcC differ in the sides of a picture";
    return shape->width - shape->shown_width <= HIDDEN_MAX &&
                   shape->height - shape->shown_height <= HIDDEN_MAX
               ? NULL
               : "its hvcC hides more of a picture than a block";
}

const char *heic_header_read(const uint8_t *bytes, size_t length, struct heic_header *header) {
    const struct isobmff_picture *picture = &header->picture;
    struct hevc_configuration configuration;
    const char *fault = isobmff_read(bytes, length, &header->picture);
    if (fault) return fault;
    if (strcmp(picture->codec, "hvc1") != 0) return "its picture is not coded as HEVC";
    for (int layer = 0; layer < 1 + picture->alpha && !fault; layer++)
        fault = isobmff_tiles(bytes, length, picture, layer, &header->tiling[layer], NULL);
    if (!fault)
        fault = heic_configuration_read(bytes, &picture->configuration, &header->tiling[0],
                                        &configuration);
    if (fault) return fault;
    header->chroma = configuration.shape.chroma;
    header->bits = configuration.shape.bits;
    if (header->bits != 8 && header->bits != 10 && header->bits != 12)
        return "its samples have other than 8, 10 or 12 bits";
    if (picture->bits && picture->bits != header->bits)
        return "its pixi and its hvcC differ in the bits of a sample";
    const bool halved_x = header->chroma == HEVC_420 || header->chroma == HEVC_422;
    if (picture->tiled && ((halved_x && header->tiling[0].width % 2) ||
                           (header->chroma == HEVC_420 && header->tiling[0].height % 2)))
        return "the tiles of its grid divide a sample of chroma";
    return NULL;
}

enum status heic_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                       struct failure *failure) {
    struct heic_header header;
    const struct isobmff_picture *picture = &header.picture;
    const char *fault = heic_header_read(bytes, length, &header);
    if (fault)
        return fail(failure, STATUS_CORRUPT,
                    "the HEIC is broken or cut off: %s; send an intact file", fault);
    const uint64_t least = (uint64_t)picture->width * picture->height / PIXELS_A_BYTE;
    const bool gray = header.chroma == HEVC_GRAY;
    probe->width = picture->across;
    probe->height = picture->down;
    probe->orientation = picture->orientation;
    probe->bits = (uint8_t)header.bits;
    probe->components = (uint8_t)((gray ? 1 : 3) + picture->alpha);
    probe->animated = picture->animated;
    probe->profile = picture->profile.length > 0;
    strcpy(probe->space, gray ? "gray" : "ycbcr");
    probe->shape.channels = probe->components;
    probe->shape.depth = header.bits > 8 ? 16 : 8;
    probe->data_bytes = picture->there_bytes;
    probe->data_bytes_least = picture->stated_bytes > least ? picture->stated_bytes : least;
    return STATUS_OK;
}

/* Heap bytes for planes of PIXELS, and for one tile of TILE_PIXELS at a time, which may have all
 * CODED bytes. */
static uint64_t memory_of(uint64_t pixels, uint64_t tile_pixels, uint64_t coded, unsigned chroma,
                          bool alpha, unsigned bits) {
    const unsigned planes = (chroma ? 3 : 1) + alpha;
    return pixels * planes * (bits > 8 ? 2 : 1) +
           hevc_picture_memory(tile_pixels, coded, chroma, bits);
}

/* A crop has left half of the pixels, at least. */
uint64_t heic_decode_memory(const struct probe *probe) {
    const uint64_t pixels = 2 * image_pixels(&probe->shape);
    const uint64_t sides = 2 * ((uint64_t)probe->shape.width + probe->shape.height);
    return memory_of(pixels, pixels + OVERHANG + HIDDEN_MAX * (sides + HIDDEN_MAX),
                     probe->data_bytes, HEVC_444, true, probe->bits);
}

/* The most that a tile has, with what its configuration hides. */
static uint64_t coded_pixels(const struct isobmff_tiling *tiling) {
    return ((uint64_t)tiling->width + HIDDEN_MAX) * (tiling->height + HIDDEN_MAX);
}

uint64_t heic_header_memory(const struct heic_header *header) {
    const struct isobmff_picture *picture = &header->picture;
    const struct isobmff_tiling *tiling = header->tiling;
    uint64_t most = coded_pixels(&tiling[0]);
    if (picture->alpha && coded_pixels(&tiling[1]) > most) most = coded_pixels(&tiling[1]);
    return memory_of((uint64_t)picture->width * picture->height, most, picture->there_bytes,
                     header->chroma, picture->alpha, header->bits);
}

bool heic_header_is_of(const struct heic_header *header, const struct probe *probe) {
    return header->picture.across == probe->width && header->picture.down == probe->height &&
           (header->chroma ? 3 : 1) + header->picture.alpha == probe->shape.channels &&
           (header->bits > 8 ? 16 : 8) == probe->shape.depth &&
           header->picture.orientation == probe->orientation;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. The header is read here: the boxes say which items are the tiles (isobmff.h), and
 * each item's hvcC what its picture is (configuration.h). Both are checked against each other
 * before memory is allocated. Then tile after tile is decoded (tile.h) and copied into planes of
 * the whole picture, as far as that goes; so chroma is widened over the borders of tiles. */
#include "pipeline/codecs/common/isobmff_pixels.h"
#include "pipeline/codecs/heic/codec.h"
#include "pipeline/codecs/heic/library.h"
#include "pipeline/codecs/heic/tile.h"

#include <stdio.h>
#include <stdlib.h>

/* Tiles may stand out of a small picture by a megapixel. A block of 64 x 64 takes more than a bit,
 * since the choice of its direction is not compressed: x265 needs seven. */
enum { OVERHANG = 1 << 20, PIXELS_A_BYTE = 32768, HIDDEN_MAX = 64 /* a block's side */ };
enum { UNSPECIFIED = 2 }; /* a matrix of H.273 */

bool is_heic(const uint8_t *bytes, size_t length) {
    return isobmff_is(bytes, length, "heicheixheimheishevchevx", "hvc1");
}

/* ---- the header */

/* The probe keeps less than decoding needs. */
struct header {
    struct isobmff_picture picture;
    struct isobmff_tiling tiling[2]; /* of the colours, of alpha */
    uint32_t chroma, bits;
};

static const char *read_configuration(const uint8_t *bytes, const struct isobmff_place *place,
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

static const char *read_heic_header(const uint8_t *bytes, size_t length, struct header *header) {
    const struct isobmff_picture *picture = &header->picture;
    struct hevc_configuration configuration;
    const char *fault = isobmff_read(bytes, length, &header->picture);
    if (fault) return fault;
    if (strcmp(picture->codec, "hvc1") != 0) return "its picture is not coded as HEVC";
    for (int layer = 0; layer < 1 + picture->alpha && !fault; layer++)
        fault = isobmff_tiles(bytes, length, picture, layer, &header->tiling[layer], NULL);
    if (!fault)
        fault =
            read_configuration(bytes, &picture->configuration, &header->tiling[0], &configuration);
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
    struct header header;
    const struct isobmff_picture *picture = &header.picture;
    const char *fault = read_heic_header(bytes, length, &header);
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

#ifdef BURIN_WITH_HEIC

static enum status broken(const struct decoding *decoding, const char *why) {
    return fail(decoding->failure, STATUS_CORRUPT,
                "the HEIC is broken or cut off (%s); send an intact file", why);
}

/* ---- planes of the whole picture */

struct canvas {
    struct ycbcr_planes planes;
    uint8_t *memory[4]; /* of the planes */
};

static void canvas_release(struct canvas *canvas) {
    for (int p = 0; p < 4; p++) free(canvas->memory[p]);
}

static uint32_t plane_width(const struct ycbcr_planes *planes, int plane) {
    const bool halved = (plane == 1 || plane == 2) && planes->halved_x;
    return halved ? (planes->width + 1) / 2 : planes->width;
}

static uint32_t plane_height(const struct ycbcr_planes *planes, int plane) {
    const bool halved = (plane == 1 || plane == 2) && planes->halved_y;
    return halved ? (planes->height + 1) / 2 : planes->height;
}

/* All is black, and transparent. */
static bool canvas_init(struct canvas *canvas, const struct header *header) {
    const struct isobmff_picture *picture = &header->picture;
    *canvas = (struct canvas){ .planes = { .width = picture->width,
                                           .height = picture->height,
                                           .bits = header->bits,
                                           .halved_x = header->chroma == HEVC_420 ||
                                                       header->chroma == HEVC_422,
                                           .halved_y = header->chroma == HEVC_420,
                                           .premultiplied = picture->premultiplied } };
    struct ycbcr_planes *planes = &canvas->planes;
    for (int p = 0; p < 4; p++) {
        if ((p == 3 && !picture->alpha) || ((p == 1 || p == 2) && !header->chroma)) continue;
        const size_t samples = (size_t)plane_width(planes, p) * plane_height(planes, p);
        planes->strides[p] = plane_width(planes, p) * (header->bits > 8 ? (size_t)2 : 1);
        canvas->memory[p] = calloc(samples, header->bits > 8 ? 2 : 1);
        if (!canvas->memory[p]) return false;
        planes->planes[p] = canvas->memory[p];
        if (p == 0 || p == 3) continue;
        if (header->bits == 8) memset(canvas->memory[p], 128, samples);
        for (size_t i = 0; i < samples && header->bits > 8; i++)
            ((uint16_t *)(void *)canvas->memory[p])[i] = (uint16_t)(1 << (header->bits - 1));
    }
    return true;
}

/* Copies plane FROM of a tile, whose first pixel is X, Y, into plane TO, as far as that goes. */
static void paste(struct canvas *canvas, int to, const struct hevc_picture *tile, int from,
                  uint32_t x, uint32_t y) {
    const struct ycbcr_planes *planes = &canvas->planes;
    const struct ycbcr_planes sides = { .width = tile->configuration->shape.shown_width,
                                        .height = tile->configuration->shape.shown_height,
                                        .halved_x = planes->halved_x,
                                        .halved_y = planes->halved_y };
    const bool chroma = to == 1 || to == 2;
    const size_t sample = planes->bits > 8 ? 2 : 1;
    if (chroma && planes->halved_x) x /= 2;
    if (chroma && planes->halved_y) y /= 2;
    const uint32_t right = plane_width(planes, to) - x, below = plane_height(planes, to) - y;
    const uint32_t width = plane_width(&sides, to), height = plane_height(&sides, to);
    const size_t bytes = (width < right ? width : right) * sample;
    for (uint32_t row = 0; row < height && row < below; row++)
        memcpy(canvas->memory[to] + (size_t)(y + row) * planes->strides[to] + x * sample,
               tile->planes[from] + row * tile->strides[from], bytes);
}

/* ---- tiles */

struct reading {
    const struct decoding *decoding;
    struct header header;
    struct canvas canvas;
    struct isobmff_tile *tiles;
    struct hevc_configuration configuration; /* of the tile that is read */
};

static const char *configure(struct reading *reading, const struct isobmff_tile *tile, int layer) {
    const struct header *header = &reading->header;
    const struct hevc_configuration *configuration = &reading->configuration;
    const char *fault = read_configuration(reading->decoding->bytes, &tile->configuration,
                                           &header->tiling[layer], &reading->configuration);
    if (fault) return fault;
    if (configuration->shape.bits != header->bits)
        return "its parts differ in the bits of a sample";
    return layer || configuration->shape.chroma == header->chroma
               ? NULL
               : "its tiles differ in their chroma";
}

/* Decodes a tile, and once more if it is damaged and that is accepted. */
static enum status decode_tile(struct reading *reading, const struct isobmff_tile *tile,
                               struct hevc_picture *picture) {
    const struct decoding *decoding = reading->decoding;
    const uint8_t *bytes = decoding->bytes + tile->coded.at;
    enum status status = hevc_picture_decode(picture, &reading->configuration, bytes,
                                             tile->coded.length, false, decoding->failure);
    const char *damage = picture->damage;
    if (status || !damage) return status;
    if (!decoding->limits->accept_damage) return broken(decoding, damage);
    codec_damage(decoding, damage);
    hevc_picture_release(picture);
    return hevc_picture_decode(picture, &reading->configuration, bytes, tile->coded.length, true,
                               decoding->failure);
}

static enum status read_tile(struct reading *reading, int layer, uint32_t number) {
    struct header *header = &reading->header;
    const struct isobmff_tiling *tiling = &header->tiling[layer];
    const struct isobmff_tile *tile = &reading->tiles[number];
    struct hevc_picture picture;
    const char *fault = configure(reading, tile, layer);
    if (fault) return broken(reading->decoding, fault);
    const enum status status = decode_tile(reading, tile, &picture);
    const uint32_t x = number % tiling->columns * tiling->width;
    const uint32_t y = number / tiling->columns * tiling->height;
    if (!status && picture.planes[0]) {
        for (int p = 0; p < (layer || !header->chroma ? 1 : 3); p++)
            paste(&reading->canvas, layer ? 3 : p, &picture, p, x, y);
        if (!layer && !header->picture.nclx.there) header->picture.nclx = picture.vui;
    }
    hevc_picture_release(&picture);
    return status;
}

static enum status read_tiles(struct reading *reading) {
    const struct decoding *decoding = reading->decoding;
    const struct isobmff_picture *picture = &reading->header.picture;
    for (int layer = 0; layer < 1 + picture->alpha; layer++) {
        struct isobmff_tiling *tiling = &reading->header.tiling[layer];
        const char *fault = isobmff_tiles(decoding->bytes, decoding->length, picture, layer, tiling,
                                          reading->tiles);
        if (fault) return broken(decoding, fault);
        for (uint32_t i = 0; i < tiling->columns * tiling->rows; i++) {
            enum status status = progress_check(decoding->progress);
            if (status) return codec_stopped(status, decoding->failure);
            status = read_tile(reading, layer, i);
            if (status) return status;
        }
    }
    return STATUS_OK;
}

/* ---- the picture */

static enum status read_heic(struct reading *reading) {
    const struct decoding *decoding = reading->decoding;
    struct ycbcr_planes *planes = &reading->canvas.planes;
    const struct isobmff_nclx *nclx = &reading->header.picture.nclx;
    reading->tiles = malloc(sizeof *reading->tiles * ISOBMFF_ITEMS_MAX);
    if (!canvas_init(&reading->canvas, &reading->header) || !reading->tiles)
        return fail(decoding->failure, STATUS_NO_MEMORY, "no memory for the planes of the HEIC");
    const enum status status = read_tiles(reading);
    if (status) return status;
    planes->limited = !nclx->full;
    planes->matrix = nclx->there ? nclx->matrix : UNSPECIFIED;
    return isobmff_pixels(decoding, &reading->header.picture, planes);
}

/* The most that a tile has, with what its configuration hides. */
static uint64_t coded_pixels(const struct isobmff_tiling *tiling) {
    return ((uint64_t)tiling->width + HIDDEN_MAX) * (tiling->height + HIDDEN_MAX);
}

static enum status check_memory(const struct decoding *decoding, const struct header *header) {
    const struct isobmff_picture *picture = &header->picture;
    const struct isobmff_tiling *tiling = header->tiling;
    uint64_t most = coded_pixels(&tiling[0]);
    if (picture->alpha && coded_pixels(&tiling[1]) > most) most = coded_pixels(&tiling[1]);
    const uint64_t memory =
        memory_of((uint64_t)picture->width * picture->height, most, picture->there_bytes,
                  header->chroma, picture->alpha, header->bits);
    if (memory <= decoding->limits->memory_max) return STATUS_OK;
    return fail(decoding->failure, STATUS_TOO_LARGE,
                "this HEIC takes %llu bytes to decode and %zu are allowed (codec_memory_bytes); "
                "send a smaller one",
                (unsigned long long)memory, decoding->limits->memory_max);
}

enum status heic_decode(const struct decoding *decoding) {
    const struct probe *probe = decoding->probe;
    struct reading reading = { .decoding = decoding };
    const struct header *header = &reading.header;
    const char *missing = heic_reading_missing();
    if (missing) return fail(decoding->failure, STATUS_NOT_AN_IMAGE, "%s", missing);
    const char *fault = read_heic_header(decoding->bytes, decoding->length, &reading.header);
    if (fault) return broken(decoding, fault);
    if (header->picture.across != probe->width || header->picture.down != probe->height ||
        (header->chroma ? 3 : 1) + header->picture.alpha != probe->shape.channels ||
        (header->bits > 8 ? 16 : 8) != probe->shape.depth ||
        header->picture.orientation != probe->orientation)
        return broken(decoding, "its header contradicts itself");
    enum status status = check_memory(decoding, header);
    if (!status) status = read_heic(&reading);
    canvas_release(&reading.canvas);
    free(reading.tiles);
    return status;
}

#else

enum status heic_decode(const struct decoding *decoding) {
    return fail(decoding->failure, STATUS_NOT_AN_IMAGE, "%s", heic_reading_missing());
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* How it works. The header (header.h) is checked before memory is allocated. Then tile after tile
 * is decoded (tile.h) and copied into planes of the whole picture, as far as that goes; so chroma
 * is widened over the borders of tiles. */
#include "pipeline/codecs/common/isobmff_pixels.h"
#include "pipeline/codecs/heic/codec.h"
#include "pipeline/codecs/heic/header.h"
#include "pipeline/codecs/heic/library.h"
#include "pipeline/codecs/heic/tile.h"

#include <stdio.h>
#include <stdlib.h>

enum { UNSPECIFIED = 2 }; /* a matrix of H.273 */

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
static bool canvas_init(struct canvas *canvas, const struct heic_header *header) {
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
    struct heic_header header;
    struct canvas canvas;
    struct isobmff_tile *tiles;
    struct hevc_configuration configuration; /* of the tile that is read */
};

static const char *configure(struct reading *reading, const struct isobmff_tile *tile, int layer) {
    const struct heic_header *header = &reading->header;
    const struct hevc_configuration *configuration = &reading->configuration;
    const char *fault = heic_configuration_read(reading->decoding->bytes, &tile->configuration,
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
    struct heic_header *header = &reading->header;
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

static enum status check_memory(const struct decoding *decoding, const struct heic_header *header) {
    const uint64_t memory = heic_header_memory(header);
    if (memory <= decoding->limits->memory_max) return STATUS_OK;
    return fail(decoding->failure, STATUS_TOO_LARGE,
                "this HEIC takes %llu bytes to decode and %zu are allowed (codec_memory_bytes); "
                "send a smaller one",
                (unsigned long long)memory, decoding->limits->memory_max);
}

enum status heic_decode(const struct decoding *decoding) {
    struct reading reading = { .decoding = decoding };
    const struct heic_header *header = &reading.header;
    const char *missing = heic_reading_missing();
    if (missing) return fail(decoding->failure, STATUS_NOT_AN_IMAGE, "%s", missing);
    const char *fault = heic_header_read(decoding->bytes, decoding->length, &reading.header);
    if (fault) return broken(decoding, fault);
    if (!heic_header_is_of(header, decoding->probe))
        return broken(decoding, "its header contradicts itself");
    enum status status =
        probe_check_data(decoding->probe, decoding->limits->accept_damage, decoding->failure);
    if (!status) status = check_memory(decoding, header);
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

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/heic/still.h"
#include "pipeline/codecs/common/isobmff_pixels.h"

#include <stdlib.h>

enum { SIDE_MIN = 144, SIDE_MAX = 8192 };
enum { UNSPECIFIED = 2, PRIMARIES = 10, MATRICES = 10 }; /* of H.273, as libde265 knows them */

/* ---- tiles */

/* The parameters of the first tile, which are those of all: front and worker read them once. */
static bool read_parameters(const struct heic_still *still, const struct isobmff_tile *first,
                            const struct isobmff_tiling *tiling,
                            struct hevc_configuration *configuration, struct hevc_parameters *p) {
    return !heic_configuration_read(still->bytes, &first->configuration, tiling, configuration) &&
           hevc_parameters_read(configuration, p) && p->bits == still->header.bits &&
           p->width >= SIDE_MIN && p->width <= SIDE_MAX && p->height >= SIDE_MIN &&
           p->height <= SIDE_MAX && p->left + tiling->width <= p->width &&
           p->top + tiling->height <= p->height;
}

static bool has_configuration_of(const struct heic_still *still, const struct isobmff_tile *tile,
                                 const struct isobmff_tile *first) {
    const struct isobmff_place *one = &tile->configuration, *other = &first->configuration;
    return one->length == other->length &&
           memcmp(still->bytes + one->at, still->bytes + other->at, one->length) == 0;
}

bool heic_still_tiles(const struct heic_still *still, bool alpha, struct heic_still_tile *tiles) {
    struct isobmff_tile *found = malloc(sizeof *found * ISOBMFF_ITEMS_MAX);
    struct isobmff_tiling tiling;
    struct hevc_configuration configuration;
    const uint32_t count = heic_still_count(still, alpha);
    bool good = found && !isobmff_tiles(still->bytes, still->length, &still->header.picture, alpha,
                                        &tiling, found);
    good = good && memcmp(&tiling, &still->header.tiling[alpha], sizeof tiling) == 0 &&
           read_parameters(still, found, &tiling, &configuration, &tiles->parameters);
    for (uint32_t i = 0; i < count && good; i++) {
        tiles[i].parameters = tiles->parameters;
        good = has_configuration_of(still, &found[i], found) &&
               hevc_slice_find(&configuration, &tiles->parameters, still->bytes + found[i].coded.at,
                               found[i].coded.length, &tiles[i].slice);
    }
    free(found);
    return good;
}

static bool check_tiles(struct heic_still *still, bool alpha) {
    const uint32_t count = heic_still_count(still, alpha);
    struct heic_still_tile *tiles = malloc(count * sizeof *tiles);
    struct isobmff_nclx *nclx = &still->header.picture.nclx;
    const bool good = tiles && heic_still_tiles(still, alpha, tiles);
    if (good && !nclx->there && !alpha) {
        const struct hevc_parameters *p = &tiles->parameters;
        const bool known = p->primaries && p->primaries <= PRIMARIES;
        *nclx = (struct isobmff_nclx){ .there = true,
                                       .full = p->full_range,
                                       .primaries = known ? p->primaries : UNSPECIFIED,
                                       .matrix = p->matrix };
    }
    free(tiles);
    return good;
}

/* ---- the picture */

bool heic_still_read(const uint8_t *bytes, size_t length, const struct probe *probe,
                     const struct codec_limits *limits, struct heic_still *still) {
    struct heic_header *header = &still->header;
    *still = (struct heic_still){ .bytes = bytes, .length = length };
    if (heic_header_read(bytes, length, header) || !heic_header_is_of(header, probe) ||
        header->chroma != HEVC_420 || header->bits > 10 ||
        heic_header_memory(header) > limits->memory_max)
        return false;
    const bool stated = header->picture.nclx.there;
    for (int layer = 0; layer < 1 + header->picture.alpha; layer++)
        if (!check_tiles(still, layer)) return false;
    const unsigned matrix = header->picture.nclx.matrix;
    if (!stated && (!matrix || matrix > MATRICES)) return false;
    if (isobmff_loses_primaries(&header->picture)) still->notes |= NOTE_PRIMARIES_IGNORED;
    if (probe->animated) still->notes |= NOTE_FIRST_FRAME;
    return true;
}

enum status heic_read_metadata(const struct decoding *decoding) {
    struct isobmff_picture picture;
    if (isobmff_read(decoding->bytes, decoding->length, &picture))
        return fail(decoding->failure, STATUS_CORRUPT, "the header of the HEIC is broken");
    return codec_keep_profile(decoding, picture.profile.at, picture.profile.length);
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. libde265 reports most damage, but not a slice that is missing or ends too soon. So
 * the planes are filled with noise before, which depends on the place alone: where a block still
 * has it afterwards, nothing was decoded. A missing part is made of whole blocks of 16 x 16, but
 * for the picture's rim; the filters change up to 3 samples at their edges. */
#include "pipeline/codecs/heic/tile.h"
#include "pipeline/codecs/heic/library.h"

/* BESIDE, FIXED: bytes by pixel, and once, measured with libde265 1.0.11 and rounded up. */
enum { ALIGNMENT = 64, BLOCK = 16, MARGIN = 4, BESIDE = 2, FIXED = 1 << 20 };

static unsigned quarters(unsigned chroma) {
    static const unsigned of[] = { 4, 6, 8, 12 };
    return of[chroma & 3];
}

/* It copies the slices, and a plane for its last filter. */
uint64_t hevc_picture_memory(uint64_t pixels, uint64_t coded, unsigned chroma, unsigned bits) {
    return pixels * (quarters(chroma) + 4) * (bits > 8 ? 2 : 1) / 4 + pixels * BESIDE + coded +
           FIXED;
}

#ifdef BURIN_WITH_HEIC

#include <stdlib.h>
#include <string.h>

enum { FIRST_ALONE = 16, LAST_ALONE = 21, OTHERS = 32 }; /* types of NAL units */

/* ---- the planes */

static unsigned noise_at(const struct hevc_picture *picture, size_t sample) {
    const uint32_t hash = (uint32_t)sample * 2654435761u;
    return hash >> (32 - picture->configuration->shape.bits);
}

static void fill_luma(const struct hevc_picture *picture, size_t samples) {
    const bool wide = picture->configuration->shape.bits > 8;
    for (size_t i = 0; i < samples; i++) {
        const unsigned value = picture->black ? 0 : noise_at(picture, i);
        if (wide)
            ((uint16_t *)(void *)picture->luma)[i] = (uint16_t)value;
        else
            picture->luma[i] = (uint8_t)value;
    }
}

static void fill_chroma(uint8_t *plane, size_t samples, unsigned bits) {
    if (bits == 8) memset(plane, 128, samples);
    for (size_t i = 0; i < samples && bits > 8; i++)
        ((uint16_t *)(void *)plane)[i] = (uint16_t)(1u << (bits - 1));
}

/* libde265 asks for the memory of a picture: 0 refuses. It asks only
 * for pictures without its last filter, SAO, which it applies later; so the filter is off until
 * then. */
static int lend_planes(de265_decoder_context *decoder, struct de265_image_spec *spec,
                       struct de265_image *image, void *user) {
    struct hevc_picture *picture = user;
    const struct hevc_shape *promised = &picture->configuration->shape;
    de265.set_parameter(decoder, DE265_DECODER_PARAM_DISABLE_SAO, 0);
    if (picture->memory || spec->width < 0 || (uint32_t)spec->width != promised->width ||
        spec->height < 0 || (uint32_t)spec->height != promised->height)
        return 0;
    const bool halved_x = promised->chroma == HEVC_420 || promised->chroma == HEVC_422;
    const bool halved_y = promised->chroma == HEVC_420;
    const size_t sample = promised->bits > 8 ? 2 : 1;
    const size_t across = halved_x ? promised->width / 2 : promised->width;
    const size_t down = halved_y ? promised->height / 2 : promised->height;
    const size_t stride = (promised->width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t chroma_stride =
        promised->chroma ? (across + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : 0;
    const size_t luma = stride * promised->height, chroma = chroma_stride * down;
    picture->memory = aligned_alloc(ALIGNMENT, (luma + 2 * chroma) * sample + ALIGNMENT);
    if (!picture->memory) return 0;
    picture->luma = picture->memory;
    picture->luma_stride = stride;
    fill_luma(picture, luma);
    de265.set_plane(image, 0, picture->memory, (int)(stride * sample), NULL);
    for (size_t p = 1; p < 3; p++) {
        uint8_t *plane = picture->memory + (luma + (p - 1) * chroma) * sample;
        fill_chroma(plane, chroma, promised->bits);
        de265.set_plane(image, (int)p, promised->chroma ? plane : NULL,
                        (int)(chroma_stride * sample), NULL);
    }
    return 1;
}

static void take_planes_back(de265_decoder_context *decoder, struct de265_image *image,
                             void *user) {
    (void)decoder;
    (void)image;
    (void)user; /* they are the picture's */
}

/* The block at X, Y was never written. */
static bool is_untouched(const struct hevc_picture *picture, uint32_t x, uint32_t y) {
    const bool wide = picture->configuration->shape.bits > 8;
    for (uint32_t i = 0; i < MARGIN * MARGIN; i++) {
        const size_t at =
            (y + MARGIN + i / MARGIN) * picture->luma_stride + x + MARGIN + i % MARGIN;
        const unsigned value =
            wide ? ((const uint16_t *)(const void *)picture->luma)[at] : picture->luma[at];
        if (value != noise_at(picture, at)) return false;
    }
    return true;
}

static bool has_gaps(const struct hevc_picture *picture) {
    const struct hevc_shape *promised = &picture->configuration->shape;
    for (uint32_t y = 0; y + 2 * MARGIN <= promised->height; y += BLOCK)
        for (uint32_t x = 0; x + 2 * MARGIN <= promised->width; x += BLOCK)
            if (is_untouched(picture, x, y)) return true;
    return false;
}

/* ---- the decoder */

/* Gives the decoder the slices; returns NULL, or the damage. Other units of an item are not needed
 * for its pixels. */
static const char *push_slices(const struct hevc_picture *picture, const uint8_t *bytes,
                               size_t length) {
    const unsigned head = picture->configuration->length_bytes;
    unsigned slices = 0;
    for (size_t at = 0, size = 0; at < length; at += size) {
        if (length - at < head) return "a unit is cut off";
        size = 0;
        for (unsigned i = 0; i < head; i++) size = size << 8 | bytes[at++];
        if (size < 3 || size > length - at) return "a unit is cut off";
        const unsigned type = hevc_unit_type(bytes + at);
        if (type >= OTHERS || hevc_unit_is_of_other_layer(bytes + at)) continue;
        if (type < FIRST_ALONE || type > LAST_ALONE) return "a picture is not coded alone";
        if (++slices > HEVC_UNITS_MAX) return "a picture has more than 600 slices";
        if (de265.push_unit(picture->decoder, bytes + at, (int)size, 0, NULL) != DE265_OK)
            return "a slice is not taken";
    }
    return slices ? NULL : "a picture has no slices";
}

/* Returns the first fault that the decoder reports. It decodes from the first byte to the last, so
 * no sample depends on where rows of blocks are said to begin. */
static const char *run_decoder(const struct hevc_picture *picture) {
    const char *damage = NULL;
    de265_error error = de265.flush(picture->decoder);
    for (int more = 1, steps = 0; more && steps < 4 * HEVC_UNITS_MAX && !error; steps++) {
        more = 0;
        error = de265.decode(picture->decoder, &more);
    }
    if (error && error != DE265_ERROR_WAITING_FOR_INPUT_DATA) damage = de265.error_text(error);
    while ((error = de265.warning(picture->decoder)) != DE265_OK)
        if (!damage && error != DE265_WARNING_INCORRECT_ENTRY_POINT_OFFSET)
            damage = de265.error_text(error);
    return damage;
}

/* The picture that was decoded is the one that was promised. */
static bool is_promised(const struct hevc_shape *promised, const struct de265_image *image) {
    return de265.width(image, 0) == (int)promised->shown_width &&
           de265.height(image, 0) == (int)promised->shown_height &&
           (uint32_t)de265.chroma(image) == promised->chroma &&
           de265.bits(image, 0) == (int)promised->bits &&
           (!promised->chroma || de265.bits(image, 1) == (int)promised->bits);
}

static const char *take_image(struct hevc_picture *picture) {
    const struct de265_image *image = de265.next_picture(picture->decoder);
    if (!image || !picture->memory) return "there is no picture in it";
    if (!is_promised(&picture->configuration->shape, image)) return "its header contradicts it";
    for (int p = 0; p < (picture->configuration->shape.chroma ? 3 : 1); p++) {
        int stride = 0;
        picture->planes[p] = de265.plane(image, p, &stride);
        picture->strides[p] = (size_t)stride;
    }
    if (picture->strides[0] !=
        picture->luma_stride * (picture->configuration->shape.bits > 8 ? 2 : 1))
        return "its decoder counts other bytes in a row";
    picture->vui =
        (struct isobmff_nclx){ true, de265.full_range(image) != 0, (uint16_t)de265.primaries(image),
                               0, (uint16_t)de265.matrix(image) };
    return !picture->black && has_gaps(picture) ? "parts of the picture are missing" : NULL;
}

enum status hevc_picture_decode(struct hevc_picture *picture,
                                const struct hevc_configuration *configuration,
                                const uint8_t *bytes, size_t length, bool black,
                                struct failure *failure) {
    *picture = (struct hevc_picture){ .configuration = configuration, .black = black };
    struct de265_image_allocation lender = { lend_planes, take_planes_back };
    picture->decoder = de265.new_decoder();
    if (!picture->decoder) return fail(failure, STATUS_NO_MEMORY, "no memory for the HEIC codec");
    de265.set_allocation(picture->decoder, &lender, picture);
    de265.set_parameter(picture->decoder, DE265_DECODER_PARAM_DISABLE_SAO, 1);
    for (unsigned i = 0; i < configuration->count; i++)
        de265.push_unit(picture->decoder, configuration->sets[i].bytes,
                        (int)configuration->sets[i].length, 0, NULL);
    const char *unread = push_slices(picture, bytes, length);
    const char *wrong = run_decoder(picture), *missing = take_image(picture);
    picture->damage = unread ? unread : wrong ? wrong : missing;
    return STATUS_OK;
}

void hevc_picture_release(struct hevc_picture *picture) {
    if (picture->decoder) de265.free_decoder(picture->decoder);
    free(picture->memory);
    *picture = (struct hevc_picture){ .decoder = NULL };
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* How it works. Tables lead from a format to its codec. codec_encode_fitting() encodes again and
 * again into the same bytes, at the qualities that quality_search.h asks for; a file that grows
 * over max_bytes meets the end of its room there, and is given up. */
#include "pipeline/codecs/avif_library.h"
#include "pipeline/codecs/codecs.h"
#include "pipeline/quality_search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct codec_limits codec_limits_default = {
    .probe = { .pixels_max = 64u << 20, .side_max = IMAGE_SIDE_MAX },
    .scans_max = 100,
    .scan_pixels_max = 1500000000,
    .memory_max = (size_t)512 << 20,
    .profile_max = 1 << 20,
};

const char *note_text(int index) {
    static const char *const texts[NOTE_COUNT] = {
        "only the first frame of the animation was taken",
        "16-bit samples were rounded to 8 bits, because the output type holds no more",
        "transparency was laid on the background colour, because the output type has none",
        "the colour profile was dropped: it is too large, broken, or made for other colours",
        "CMYK was converted to RGB without a colour profile",
        "extra bytes between the JPEG's segments or after its end were skipped",
        "the image is damaged: what could be read of it was used",
        "light was weighed by sRGB's curve, although the image has a colour profile of its own",
        "some results are not as wide as asked, and of equal ones there is one",
    };
    return index >= 0 && index < NOTE_COUNT ? texts[index] : "";
}

void metadata_release(struct metadata *metadata) {
    free(metadata->profile);
    *metadata = (struct metadata){ 0 };
}

enum status codec_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                         const struct codec_limits *limits, struct progress *progress,
                         const struct image *into, struct metadata *metadata, uint32_t *notes,
                         struct failure *failure) {
    assert(image_same_shape(into, &probe->shape) && into->stride >= image_row_bytes(into));
    static enum status (*const decoders[FORMAT_COUNT])(const struct decoding *) = {
        [FORMAT_JPEG] = jpeg_decode,
        [FORMAT_PNG] = png_decode,
        [FORMAT_PNM] = pnm_decode,
        [FORMAT_WEBP] = webp_decode,
    };
    struct metadata read = { 0 };
    const struct decoding decoding = { bytes, length, probe, limits, progress,
                                       into,  &read,  notes, failure };
    assert(decoders[probe->format]);
    /* Rows that never come are black, not what the memory held before. */
    for (uint32_t y = 0; limits->accept_damage && y < into->height; y++)
        memset(image_row(into, y), 0, image_row_bytes(into));
    const enum status status = decoders[probe->format](&decoding);
    if (status == STATUS_OK && probe->animated) *notes |= NOTE_FIRST_FRAME;
    if (status == STATUS_OK && metadata)
        *metadata = read;
    else
        metadata_release(&read);
    return status;
}

enum status codec_read_metadata(const uint8_t *bytes, size_t length, const struct probe *probe,
                                const struct codec_limits *limits, struct metadata *metadata,
                                uint32_t *notes, struct failure *failure) {
    const struct decoding decoding = { bytes, length,   probe, limits, NULL,
                                       NULL,  metadata, notes, failure };
    assert(probe->format == FORMAT_JPEG);
    *metadata = (struct metadata){ 0 };
    return probe->profile ? jpeg_profile(&decoding) : STATUS_OK;
}

double codec_still_ms(const struct image *image, const struct encode_options *options) {
    if (options->format == FORMAT_AVIF) return avif_still_ms(image, options);
    return options->format == FORMAT_WEBP ? webp_still_ms(image, options) : 0;
}

/* An encoder that cannot be stopped does not start if it may miss the deadline. */
static enum status check_time_left(const struct encoding *encoding) {
    const struct progress *progress = encoding->progress;
    const double ms = codec_still_ms(encoding->image, encoding->options);
    if (!progress || !progress->deadline_ns || ms <= 0) return STATUS_OK;
    if (clock_coarse_ns() + (int64_t)(ms * 1e6) <= progress->deadline_ns) return STATUS_OK;
    return fail(encoding->failure, STATUS_DEADLINE,
                "encoding the %s was not begun: it may take %.1f s, in which it cannot be stopped, "
                "and not so much of the time allowed is left",
                format_name(encoding->options->format), ms / 1e3);
}

enum status codec_encode(const struct image *image, const struct metadata *metadata,
                         const struct encode_options *options, struct progress *progress,
                         uint8_t *bytes, size_t capacity, size_t *length, uint32_t *notes,
                         struct failure *failure) {
    static enum status (*const encoders[FORMAT_COUNT])(const struct encoding *) = {
        [FORMAT_JPEG] = jpeg_encode, [FORMAT_PNG] = png_encode,   [FORMAT_PNM] = pnm_encode,
        [FORMAT_WEBP] = webp_encode, [FORMAT_AVIF] = avif_encode,
    };
    const struct encoding encoding = { image,    metadata, options, progress, bytes,
                                       capacity, length,   notes,   failure };
    assert(encoders[options->format]);
    *length = 0;
    enum status status = codec_check_sides(image, options->format, failure);
    if (!status) status = check_time_left(&encoding);
    return status ? status : encoders[options->format](&encoding);
}

enum format codec_result_format(const struct probe *input, const struct image *result) {
    const bool holds = input->format == FORMAT_PNG || input->format == FORMAT_PNM;
    return result->depth > input->shape.depth && !holds ? FORMAT_PNG : input->format;
}

const char *codec_missing(enum format format) {
    return format == FORMAT_AVIF ? avif_library_missing() : NULL;
}

/* ---- within max_bytes */

bool codec_has_quality(const struct encode_options *options) {
    const bool either = options->format == FORMAT_WEBP || options->format == FORMAT_AVIF;
    return options->format == FORMAT_JPEG || (either && !options->lossless);
}

/* At the quality that SEARCH is at. A file whose size nobody is told is given up as soon as it
 * cannot fit: its length is then one byte too many. */
static enum status encode_try(const struct encoding *encoding,
                              const struct quality_search *search) {
    const bool gives_up = !quality_search_tells(search);
    const size_t room = gives_up && search->max_bytes < encoding->capacity
                            ? (size_t)search->max_bytes
                            : encoding->capacity;
    struct encode_options options = *encoding->options;
    struct failure failure = { .status = STATUS_OK };
    options.quality = search->quality;
    const enum status status =
        codec_encode(encoding->image, encoding->metadata, &options, encoding->progress,
                     encoding->bytes, room, encoding->length, encoding->notes, &failure);
    if (status != STATUS_TOO_LARGE || !gives_up) {
        if (status && encoding->failure) *encoding->failure = failure;
        return status;
    }
    *encoding->length = (size_t)search->max_bytes + 1;
    return STATUS_OK;
}

static enum status search_quality(const struct encoding *encoding, struct fitting *fitting) {
    struct quality_search search;
    enum status status;
    quality_search_begin(&search, encoding->options);
    do {
        status = encode_try(encoding, &search);
        if (status) return status;
    } while (quality_search_next(&search, *encoding->length));
    *fitting = (struct fitting){ search.quality, search.tries };
    if (search.fits) return STATUS_OK;
    return quality_search_refuse(&search, encoding->options->format, encoding->failure);
}

static enum status refuse_size(const struct encoding *encoding) {
    const char *name = format_name(encoding->options->format);
    return fail(
        encoding->failure, STATUS_TOO_LARGE,
        "the %s takes %zu bytes and max_bytes is %lld; raise max_bytes, or ask for type=jpeg, "
        "webp or avif, whose quality can be lowered",
        name, *encoding->length, (long long)encoding->options->max_bytes);
}

enum status codec_encode_fitting(const struct image *image, const struct metadata *metadata,
                                 const struct encode_options *options, struct progress *progress,
                                 uint8_t *bytes, size_t capacity, size_t *length,
                                 struct fitting *fitting, uint32_t *notes,
                                 struct failure *failure) {
    const struct encoding encoding = { image,    metadata, options, progress, bytes,
                                       capacity, length,   notes,   failure };
    *fitting = (struct fitting){ 0, 0 };
    enum status status = codec_check_sides(image, options->format, failure);
    if (status) return status;
    if (options->max_bytes && codec_has_quality(options)) return search_quality(&encoding, fitting);
    status =
        codec_encode(image, metadata, options, progress, bytes, capacity, length, notes, failure);
    if (status || !options->max_bytes || *length <= (uint64_t)options->max_bytes) return status;
    return refuse_size(&encoding);
}

/* ---- limits */

enum status codec_check_sides(const struct image *shape, enum format format,
                              struct failure *failure) {
    static const uint32_t sides[FORMAT_COUNT] = {
        [FORMAT_JPEG] = 65500, /* libjpeg's */
        [FORMAT_WEBP] = 16383, /* 14 bits */
    };
    const uint32_t most = sides[format];
    if (!most || (shape->width <= most && shape->height <= most)) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the result is %u x %u pixels and a side of a %s may have at most %u; ask for PNG",
                shape->width, shape->height, format_name(format), most);
}

size_t codec_encode_bound(const struct image *image, const struct metadata *metadata,
                          enum format format) {
    const size_t profile_length = metadata ? metadata->profile_length : 0;
    if (format == FORMAT_JPEG) return jpeg_bound(image, profile_length);
    if (format == FORMAT_PNG) return png_bound(image, profile_length);
    if (format == FORMAT_WEBP) return webp_bound(image, profile_length);
    if (format == FORMAT_AVIF) return avif_bound(image, profile_length);
    return pnm_bound(image);
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. A format's record (format.h) has the functions of its codec. codec_encode_fitting()
 * encodes repeatedly into the same bytes, at the qualities that quality_search.h asks for; a file
 * that grows over max_bytes reaches the end of its room and is given up. */
#include "pipeline/codecs/codecs.h"
#include "pipeline/quality_search.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct codec_limits codec_limits_default = {
    .probe = { .pixels_max = 64u << 20, .side_max = IMAGE_SIDE_MAX },
    .scans_max = 100,
    .scan_pixels_max = 1500000000,
    .memory_max = (size_t)512 << 20,
    .profile_max = 1 << 20,
    .metadata_max = METADATA_MAX,
};

const char *note_text(int index) {
    static const char *const texts[NOTE_COUNT] = {
        "only the first frame of the animation, or the first page, was taken",
        "16-bit samples were rounded to 8 bits, because the output type holds no more",
        "transparency was laid on the background colour, because the output type has none",
        "the colour profile was dropped: it is too large, broken, or made for other colours",
        "CMYK was converted to RGB without a colour profile",
        "extra bytes between the JPEG's segments, before a restart or after its end were skipped",
        "the image is damaged: what could be read of it was used",
        "light was weighed by sRGB's curve, although the image has a colour profile of its own",
        "some results are not as wide as asked, and of equal ones there is one",
        "the JPEG's header has wrong fields that no pixel depends on",
        "parts of the PNG that no pixel needs are broken, missing or too many: they were left out",
        "gAMA, cHRM, sRGB, cICP, mDCV or cLLI were dropped: the output type cannot carry them",
        "samples of the TIFF that are neither colours nor transparency were left out",
        "the colours have other primaries than sRGB's (by nclx, without a profile), which are lost",
        "the picture has more colours than its palette: 256 were chosen, or as many as `colors`",
        "alpha below 128 became transparent and other alpha opaque: the output type has no more",
        "metadata were dropped: they are too large or broken, or the output type cannot carry them",
        "the colour profile cannot be used: the colours were taken as sRGB",
    };
    return index >= 0 && index < NOTE_COUNT ? texts[index] : "";
}

void metadata_release(struct metadata *metadata) {
    free(metadata->profile);
    for (int kept = 0; kept < METADATA_CHOICES; kept++) free(metadata->texts.exif[kept]);
    free(metadata->texts.xmp);
    *metadata = (struct metadata){ 0 };
}

/* ---- decoding */

enum status codec_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                         const struct codec_limits *limits, struct progress *progress,
                         const struct image *into, struct metadata *metadata, uint32_t *notes,
                         struct failure *failure) {
    assert(image_same_shape(into, &probe->shape) && into->stride >= image_row_bytes(into));
    const struct format_record *format = format_record(probe->format);
    struct metadata read = { 0 };
    const struct decoding decoding = { bytes, length, probe, limits, progress,
                                       into,  &read,  notes, failure };
    assert(format->decode);
    if (limits->exposed && format->contained)
        return fail(failure, STATUS_INTERNAL, "%s is decoded in a process of its own, not here",
                    format->title);
    /* Rows that are missing in the file are black, not what the memory held before. */
    for (uint32_t y = 0; limits->accept_damage && y < into->height; y++)
        memset(image_row(into, y), 0, image_row_bytes(into));
    const enum status status = format->decode(&decoding);
    if (status == STATUS_OK && probe->animated) *notes |= NOTE_FIRST_FRAME;
    if (status == STATUS_OK && metadata) {
        read.texts = metadata->texts;
        *metadata = read;
    } else {
        metadata_release(&read);
    }
    return status;
}

enum status codec_read_metadata(const uint8_t *bytes, size_t length, const struct probe *probe,
                                const struct codec_limits *limits, struct metadata *metadata,
                                uint32_t *notes, struct failure *failure) {
    const struct decoding decoding = { bytes, length,   probe, limits, NULL,
                                       NULL,  metadata, notes, failure };
    const struct format_record *format = format_record(probe->format);
    assert(format->read_metadata);
    *metadata = (struct metadata){ 0 };
    return probe->profile ? format->read_metadata(&decoding) : STATUS_OK;
}

void codec_damage(const struct decoding *decoding, const char *text) {
    char *warning = decoding->metadata->warning;
    *decoding->notes |= NOTE_DAMAGED;
    if (!*warning) snprintf(warning, WARNING_MAX, "%s", text);
}

enum status codec_keep_profile(const struct decoding *decoding, size_t at, size_t length) {
    if (!length) return STATUS_OK;
    if (length > decoding->limits->profile_max) {
        *decoding->notes |= NOTE_PROFILE_DROPPED;
        return STATUS_OK;
    }
    decoding->metadata->profile = malloc(length);
    if (!decoding->metadata->profile)
        return fail(decoding->failure, STATUS_NO_MEMORY, "no memory for the colour profile");
    memcpy(decoding->metadata->profile, decoding->bytes + at, length);
    decoding->metadata->profile_length = length;
    return STATUS_OK;
}

uint64_t codec_turned_bytes(const struct probe *probe) {
    return probe->orientation > 1 ? image_pixels(&probe->shape) * image_pixel_bytes(&probe->shape)
                                  : 0;
}

size_t codec_memory_decode(const struct probe *probe, size_t most) {
    const struct format_record *format = format_record(probe->format);
    const uint64_t bytes = format->decode_memory ? format->decode_memory(probe) : 0;
    return bytes < most ? (size_t)bytes : most;
}

enum status codec_stopped(enum status status, struct failure *failure) {
    return fail(failure, status,
                status == STATUS_DEADLINE
                    ? "the time allowed ran out in the codec; send a smaller image"
                    : "the request was cancelled in the codec");
}

/* ---- encoding */

double codec_still_ms(const struct image *image, const struct encode_options *options) {
    const struct format_record *format = format_record(options->format);
    return format->still_ms ? format->still_ms(image, options) : 0;
}

/* An encoder that cannot be stopped is not started if it may miss the deadline. */
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
    const struct format_record *format = format_record(options->format);
    const struct encoding encoding = { image,    metadata, options, progress, bytes,
                                       capacity, length,   notes,   failure };
    assert(format->encode);
    *length = 0;
    codec_note_colour(metadata, options, notes);
    enum status status = codec_check_sides(image, options->format, failure);
    if (!status) status = check_time_left(&encoding);
    return status ? status : format->encode(&encoding);
}

enum format codec_result_format(const struct probe *input, const struct image *result) {
    const struct format_record *format = format_record(input->format);
    const bool deeper = result->depth > input->shape.depth && format->depth < result->depth;
    if (format->photographs && result->depth == 8 && !image_has_alpha(result)) return FORMAT_JPEG;
    return format->encode && !deeper ? input->format : FORMAT_PNG;
}

const char *codec_missing(enum format format) {
    const struct format_record *record = format_record(format);
    return record->missing ? record->missing() : NULL;
}

void codec_open_libraries(void) {
    for (int format = 0; format < FORMAT_COUNT; format++) {
        codec_missing((enum format)format);
        if (format_records[format]->unreadable) format_records[format]->unreadable();
    }
}

struct carried codec_carried(const struct metadata *metadata, const struct encode_options *options,
                             unsigned colours, uint32_t *notes) {
    struct carried carried = { .profile_length = 0 };
    if (!metadata) return carried;
    const struct metadata_texts *texts = &metadata->texts;
    const int kept = options->metadata;
    const bool any = texts->exif_length[kept] || (kept == METADATA_KEEP && texts->xmp_length);
    if (any && format_can(options->format, FORMAT_METADATA)) {
        carried.exif = texts->exif[kept];
        carried.exif_length = texts->exif_length[kept];
        carried.xmp = texts->xmp;
        carried.xmp_length = kept == METADATA_KEEP ? texts->xmp_length : 0;
    } else if (any) {
        *notes |= NOTE_METADATA_DROPPED;
    }
    if (!metadata->profile_length || options->profile != PROFILE_KEEP) return carried;
    /* An ICC header names the colour space of its samples in bytes 16 to 19. */
    if (metadata->profile_length < 20 ||
        memcmp(metadata->profile + 16, colours == 1 ? "GRAY" : "RGB ", 4) != 0) {
        *notes |= NOTE_PROFILE_DROPPED;
        return carried;
    }
    carried.profile = metadata->profile;
    carried.profile_length = metadata->profile_length;
    return carried;
}

void codec_note_colour(const struct metadata *metadata, const struct encode_options *options,
                       uint32_t *notes) {
    if (metadata && metadata->colour_length && options->profile == PROFILE_KEEP &&
        options->format != FORMAT_PNG)
        *notes |= NOTE_COLOUR_DROPPED;
}

enum status codec_overflow(const struct encoding *encoding) {
    return fail(encoding->failure, STATUS_TOO_LARGE,
                "the encoded %u x %u image does not fit into %zu bytes; ask for a smaller one",
                encoding->image->width, encoding->image->height, encoding->capacity);
}

/* ---- within max_bytes */

/* Whether quality changes the size of the file. */
static bool has_quality(const struct encode_options *options) {
    return format_can(options->format, FORMAT_QUALITY) &&
           !(options->lossless && format_can(options->format, FORMAT_LOSSLESS));
}

/* Encodes at the quality of SEARCH. A file whose size will not be reported is given up as soon as
 * it cannot fit; its length is then max_bytes + 1. */
static enum status encode_try(const struct encoding *encoding,
                              const struct quality_search *search) {
    const bool gives_up = !quality_search_reports(search);
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
    char names[FORMAT_LIST_MAX];
    return fail(encoding->failure, STATUS_TOO_LARGE,
                "the %s takes %zu bytes and max_bytes is %lld; raise max_bytes, or ask for "
                "type=%s, whose quality can be lowered",
                format_name(encoding->options->format), *encoding->length,
                (long long)encoding->options->max_bytes,
                format_list(FORMAT_NAMES, FORMAT_QUALITY, ", ", " or ", names));
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
    if (options->max_bytes && has_quality(options)) return search_quality(&encoding, fitting);
    status =
        codec_encode(image, metadata, options, progress, bytes, capacity, length, notes, failure);
    if (status || !options->max_bytes || *length <= (uint64_t)options->max_bytes) return status;
    return refuse_size(&encoding);
}

/* ---- limits */

enum status codec_check_sides(const struct image *shape, enum format format,
                              struct failure *failure) {
    const uint32_t most = format_record(format)->side_max;
    if (!most || (shape->width <= most && shape->height <= most)) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the result is %u x %u pixels and a side of a %s may have at most %u; ask for PNG",
                shape->width, shape->height, format_name(format), most);
}

size_t codec_encode_bound(const struct image *image, const struct metadata *metadata,
                          enum format format) {
    const struct format_record *record = format_record(format);
    if (!metadata) return record->bound(image, 0);
    return record->bound(image, metadata->profile_length) + 2 * METADATA_MAX + CARRIED_FRAMES_MAX;
}

size_t codec_memory_encode(const struct image *image, const struct encode_options *options) {
    const struct format_record *format = format_record(options->format);
    return format->encode_memory ? (size_t)format->encode_memory(image, options) : 0;
}

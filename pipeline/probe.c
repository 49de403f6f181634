// SPDX-License-Identifier: Apache-2.0
/* How it works. The first bytes choose a row of the table of formats, whose function reads the
 * header; limits and orientation are judged here, once for all of them. */
#include "pipeline/codecs/codecs.h"

#include <string.h>
#include <strings.h>

/* Of a damaged picture less is not worth the memory and the time of a whole one. */
enum { DAMAGED_PART = 16 };

static const struct {
    const char *name, *media_type;
    enum status (*probe)(const uint8_t *, size_t, struct probe *, struct failure *);
} formats[FORMAT_COUNT] = {
    [FORMAT_NONE] = { "none", "application/octet-stream", NULL },
    [FORMAT_JPEG] = { "jpeg", "image/jpeg", jpeg_probe },
    [FORMAT_PNG] = { "png", "image/png", png_probe },
    [FORMAT_PNM] = { "pnm", "image/x-portable-anymap", pnm_probe },
    [FORMAT_WEBP] = { "webp", "image/webp", webp_probe },
    [FORMAT_AVIF] = { "avif", "image/avif", NULL },
};

/* Not read here, but known well enough to be called by name in the refusal. */
static const struct {
    const char *name;
    size_t at, length;
    const char *magic;
} strangers[] = {
    { "GIF", 0, 4, "GIF8" },
    { "AVIF", 4, 8, "ftypavif" },
    { "HEIC", 4, 7, "ftyphei" },
    { "TIFF", 0, 4, "II*\0" },
    { "TIFF", 0, 4, "MM\0*" },
    { "BMP", 0, 2, "BM" },
    { "JPEG XL", 0, 2, "\xff\x0a" },
    { "plain PNM", 0, 2, "P2" },
    { "plain PNM", 0, 2, "P3" },
    { "PBM", 0, 2, "P1" },
    { "PBM", 0, 2, "P4" },
    { "PAM", 0, 2, "P7" },
    { "PDF", 0, 4, "%PDF" },
    { "SVG or XML", 0, 1, "<" },
    { "JPEG 2000", 0, 8, "\0\0\0\x0cjP  " },
    { "JPEG XL", 0, 8, "\0\0\0\x0cJXL " },
};

static bool has(const uint8_t *bytes, size_t length, size_t at, const char *magic, size_t size) {
    return length >= at + size && memcmp(bytes + at, magic, size) == 0;
}

enum format probe_format(const uint8_t *bytes, size_t length) {
    if (has(bytes, length, 0, "\x89PNG\r\n\x1a\n", 8)) return FORMAT_PNG;
    if (has(bytes, length, 0, "\xff\xd8\xff", 3)) return FORMAT_JPEG;
    if (has(bytes, length, 0, "RIFF", 4) && has(bytes, length, 8, "WEBP", 4)) return FORMAT_WEBP;
    if (length < 3 || bytes[0] != 'P' || (bytes[1] != '5' && bytes[1] != '6')) return FORMAT_NONE;
    return memchr(" \t\n\v\f\r#", bytes[2], 7) ? FORMAT_PNM : FORMAT_NONE;
}

static enum status refuse_stranger(const uint8_t *bytes, size_t length, struct failure *failure) {
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (has(bytes, length, strangers[i].at, strangers[i].magic, strangers[i].length))
            return fail(failure, STATUS_NOT_AN_IMAGE,
                        "this looks like %s, which is not supported; send JPEG, PNG, WebP or "
                        "binary PNM (P5, P6)",
                        strangers[i].name);
    return fail(failure, STATUS_NOT_AN_IMAGE, "%s; send JPEG, PNG, WebP or binary PNM (P5, P6)",
                length ? "the data is not an image of a known format" : "the image has no bytes");
}

static enum status check_limits(const struct probe *probe, const struct probe_limits *limits,
                                struct failure *failure) {
    const uint32_t side_max =
        limits->side_max < IMAGE_SIDE_MAX ? limits->side_max : (uint32_t)IMAGE_SIDE_MAX;
    const uint64_t pixels = (uint64_t)probe->width * probe->height;
    if (probe->width > side_max || probe->height > side_max)
        return fail(
            failure, STATUS_TOO_LARGE,
            "the image is %u x %u pixels and a side may have at most %u (side_max); send a smaller "
            "one",
            probe->width, probe->height, side_max);
    if (pixels > limits->pixels_max)
        return fail(
            failure, STATUS_TOO_LARGE,
            "the image is %u x %u = %llu pixels and at most %llu are allowed (pixels_max); send a "
            "smaller one",
            probe->width, probe->height, (unsigned long long)pixels,
            (unsigned long long)limits->pixels_max);
    return STATUS_OK;
}

/* The formats tell what is stored and, in shape, channels and depth; sides are turned here. */
static void orient_shape(struct probe *probe) {
    const bool turned = probe->orientation >= 5;
    probe->shape =
        image_shape(turned ? probe->height : probe->width, turned ? probe->width : probe->height,
                    probe->shape.channels, probe->shape.depth);
}

enum status probe_image(const uint8_t *bytes, size_t length, const struct probe_limits *limits,
                        struct probe *probe, struct failure *failure) {
    memset(probe, 0, sizeof *probe);
    const enum format format = probe_format(bytes, length);
    if (format == FORMAT_NONE) return refuse_stranger(bytes, length, failure);
    probe->format = format;
    probe->orientation = 1;
    enum status status = formats[format].probe(bytes, length, probe, failure);
    if (status == STATUS_OK) status = check_limits(probe, limits, failure);
    if (status == STATUS_OK) orient_shape(probe);
    return status;
}

enum status probe_check_data(const struct probe *probe, bool accept_damage,
                             struct failure *failure) {
    const uint64_t least = probe->data_bytes_least / (accept_damage ? DAMAGED_PART : 1);
    if (probe->data_bytes >= least) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT,
                "the image is cut off: %s%u x %u pixels take at least %llu bytes in this %s and "
                "%llu are there; send the whole file%s",
                accept_damage ? "a sixteenth of " : "its ", probe->width, probe->height,
                (unsigned long long)least, format_name(probe->format),
                (unsigned long long)probe->data_bytes,
                probe->format == FORMAT_WEBP ? ", or one written with more effort" : "");
}

const char *format_name(enum format format) {
    return formats[(unsigned)format < FORMAT_COUNT ? format : FORMAT_NONE].name;
}

const char *format_media_type(enum format format) {
    return formats[(unsigned)format < FORMAT_COUNT ? format : FORMAT_NONE].media_type;
}

enum format format_from_name(const char *name) {
    static const struct {
        const char *name;
        enum format format;
    } names[] = {
        { "png", FORMAT_PNG },   { "jpeg", FORMAT_JPEG }, { "jpg", FORMAT_JPEG },
        { "pnm", FORMAT_PNM },   { "ppm", FORMAT_PNM },   { "pgm", FORMAT_PNM },
        { "webp", FORMAT_WEBP }, { "avif", FORMAT_AVIF },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i].name) == 0) return names[i].format;
    return FORMAT_NONE;
}

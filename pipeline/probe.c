// SPDX-License-Identifier: Apache-2.0
/* How it works. The first bytes decide which format's record reads the header. Limits and
 * orientation are applied here, once for all formats. Some other formats are known by name: their
 * refusal says with which program to convert them. */
#include "pipeline/codecs/codecs.h"

#include <string.h>

/* With less of its data a damaged picture is not worth the cost of a whole one. */
enum { DAMAGED_PART = 16 };

/* Files that are not read but named in the refusal, with what makes of them a type that is. Formats
 * that have a record come first, and of those here the first that fits. */
static const struct {
    const char *name, *converter;
    size_t at, length;
    const char *magic;
} strangers[] = {
#define MAGIC(at, text) at, sizeof(text) - 1, text
    { "an SVG image", "resvg or rsvg-convert", MAGIC(0, "<svg") },
    { "an XML document, perhaps an SVG image", "resvg or rsvg-convert", MAGIC(0, "<?xml") },
    { "an XML document, perhaps an SVG image", "resvg or rsvg-convert", MAGIC(0, "\xef\xbb\xbf<") },
    { "an HTML or XML document, perhaps an SVG image", "resvg or rsvg-convert", MAGIC(0, "<") },
    { "a PDF document", "pdftoppm", MAGIC(0, "%PDF") },
    { "a HEIC image", "heif-convert", MAGIC(4, "ftyphei") },
    { "a HEIC image", "heif-convert", MAGIC(4, "ftyphev") },
    { "a HEIC or AVIF image", "heif-convert", MAGIC(4, "ftypmif1") },
    { "a HEIC or AVIF image", "heif-convert", MAGIC(4, "ftypmsf1") },
    { "a Canon raw image", "darktable-cli", MAGIC(4, "ftypcrx ") },
    { "an MP4 or MOV video", "ffmpeg -frames:v 1", MAGIC(4, "ftyp") },
    { "an MP4 or MOV video", "ffmpeg -frames:v 1", MAGIC(4, "moov") },
    { "an MP4 or MOV video", "ffmpeg -frames:v 1", MAGIC(4, "mdat") },
    { "a JPEG XL image", "djxl", MAGIC(0, "\xff\x0a") },
    { "a JPEG XL image", "djxl", MAGIC(0, "\0\0\0\x0cJXL ") },
    { "a JPEG 2000 image", "opj_decompress", MAGIC(0, "\0\0\0\x0cjP  ") },
    { "a JPEG 2000 image", "opj_decompress", MAGIC(0, "\xff\x4f\xff\x51") },
    { "an ICO image", "icotool", MAGIC(0, "\0\0\1\0") },
    { "a CUR image", "icotool", MAGIC(0, "\0\0\2\0") },
    { "a PostScript or Illustrator file", "Ghostscript", MAGIC(0, "%!PS") },
    { "an XBM image", "ImageMagick", MAGIC(0, "#define ") },
    { "a PSD image", "ImageMagick", MAGIC(0, "8BPS") },
#undef MAGIC
};

enum format probe_format(const uint8_t *bytes, size_t length) {
    for (int f = FORMAT_NONE + 1; f < FORMAT_COUNT; f++)
        if (format_records[f]->recognizes && format_records[f]->recognizes(bytes, length))
            return (enum format)f;
    return FORMAT_NONE;
}

static enum status refuse_stranger(const uint8_t *bytes, size_t length, struct failure *failure) {
    char inputs[FORMAT_LIST_MAX];
    format_list(FORMAT_INPUTS, FORMAT_READ, ", ", " or ", inputs);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (codec_has_magic(bytes, length, strangers[i].at, strangers[i].magic,
                            strangers[i].length))
            return fail(failure, STATUS_NOT_AN_IMAGE,
                        "this is %s, which Burin does not read: convert it with %s first, or send "
                        "%s",
                        strangers[i].name, strangers[i].converter, inputs);
    return fail(failure, STATUS_NOT_AN_IMAGE, "%s; send %s",
                length ? "the data is not an image of a known format" : "the image has no bytes",
                inputs);
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

/* Formats set the stored sides, and channels and depth of the shape; its sides are set here. */
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
    const struct format_record *record = format_record(format);
    const char *missing = record->unreadable ? record->unreadable() : NULL;
    if (missing) return fail(failure, STATUS_NOT_AN_IMAGE, "%s", missing);
    probe->format = format;
    probe->orientation = 1;
    enum status status = record->probe(bytes, length, probe, failure);
    if (status == STATUS_OK) status = check_limits(probe, limits, failure);
    if (status == STATUS_OK) orient_shape(probe);
    return status;
}

enum status probe_frames(const uint8_t *bytes, size_t length, uint32_t most,
                         const struct probe_limits *limits, struct probe *probe,
                         struct failure *failure) {
    const enum status status =
        format_record(probe->format)->probe_frames(bytes, length, most, probe, failure);
    const uint64_t pixels = (uint64_t)probe->width * probe->height * probe->frames;
    if (status) return status;
    probe->orientation = 1;
    orient_shape(probe);
    if (probe->frames > most)
        return fail(failure, STATUS_TOO_LARGE,
                    "the animation has more than the %u frames that are allowed (frames_max); send "
                    "fewer, or leave out animation=keep",
                    most);
    if (pixels <= limits->pixels_max) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the animation has %u frames of %u x %u, together %llu pixels, and at most %llu "
                "are allowed (pixels_max); send a smaller one, or leave out animation=keep",
                probe->frames, probe->width, probe->height, (unsigned long long)pixels,
                (unsigned long long)limits->pixels_max);
}

enum status probe_check_data(const struct probe *probe, bool accept_damage,
                             struct failure *failure) {
    const uint64_t least = probe->data_bytes_least / (accept_damage ? DAMAGED_PART : 1);
    const char *advice = format_record(probe->format)->cut_advice;
    if (probe->data_bytes >= least) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT,
                "the image is cut off: %s%u x %u pixels take at least %llu bytes in this %s and "
                "%llu are there; send the whole file%s",
                accept_damage ? "a sixteenth of " : "its ", probe->width, probe->height,
                (unsigned long long)least, format_name(probe->format),
                (unsigned long long)probe->data_bytes, advice ? advice : "");
}

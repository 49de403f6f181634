// SPDX-License-Identifier: Apache-2.0
/* codec.h - compressed bytes to pixels and back, within limits.
 *
 * Decoding writes into pixels that the caller laid out from the probe, with EXIF orientation
 * already applied. Encoding writes into memory of fixed capacity.
 *
 * Used by:  the worker, `burin run`, benchmarks.
 * Owns:     metadata's profile is the metadata's own; metadata_release accepts a zeroed one.
 * Fails:    STATUS_CORRUPT, STATUS_TOO_LARGE, STATUS_NO_MEMORY, STATUS_CANCELLED, STATUS_DEADLINE,
 *           each with a sentence.
 * Threads:  any; nothing is shared between calls.
 * Limits:   struct codec_limits, each checked before memory is taken or while time is spent.
 */
#ifndef BURIN_CODEC_H
#define BURIN_CODEC_H

#include "pipeline/encode_options.h"
#include "pipeline/image.h"
#include "pipeline/probe.h"
#include "pipeline/progress.h"
#include "pipeline/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct codec_limits {
    struct probe_limits probe;
    uint32_t scans_max;       /* of a progressive JPEG */
    uint64_t scan_pixels_max; /* scans x pixels, that bounds the time a JPEG can cost */
    size_t memory_max;        /* bytes that a decoder may take beyond the pixels */
    size_t profile_max;       /* bytes of ICC profile carried along; a larger one is dropped */
    bool accept_damage; /* of a damaged image, what can be had: not STATUS_CORRUPT but a note */
};

/* Values that suit tests, tools and the daemon's defaults. */
extern const struct codec_limits codec_limits_default;

/* What was dropped or changed on the way: bits, told to the user under `notes`. */
enum note {
    NOTE_FIRST_FRAME = 1 << 0,     /* of an animation */
    NOTE_DEPTH_CUT = 1 << 1,       /* 16 bit rounded to 8: the output type holds no more */
    NOTE_ALPHA_FLATTENED = 1 << 2, /* laid on the background */
    NOTE_PROFILE_DROPPED = 1 << 3, /* too large, or the output type or colours cannot carry it */
    NOTE_CMYK_CONVERTED = 1 << 4,  /* to RGB, without a colour profile */
    NOTE_BYTES_SKIPPED = 1 << 5,   /* of a JPEG, that belong to none of its segments */
    NOTE_DAMAGED = 1 << 6,         /* pixels are missing or wrong; accept_damage was set */
    NOTE_SRGB_ASSUMED = 1 << 7,    /* by a step that weighs light, of an image with a profile */
    NOTE_OTHER_WIDTHS = 1 << 8,    /* of several results, that are not as wide as asked */
};
enum { NOTE_COUNT = 9, WARNING_MAX = 96 };

/* The sentence for note bit INDEX (0..NOTE_COUNT-1). */
const char *note_text(int index);

struct metadata {
    uint8_t *profile; /* ICC, heap */
    size_t profile_length;
    char warning[WARNING_MAX]; /* with NOTE_DAMAGED: the codec's own words for the first damage */
};
void metadata_release(struct metadata *metadata);

/* INTO has the probe's shape and its own stride. NOTES are or-ed in. PROGRESS is looked at while
 * decoding (cancel, deadline); may be NULL. STATUS_CORRUPT for the first thing that damages pixels,
 * warnings of libjpeg included: truncated data never becomes silent gray. With `accept_damage` it
 * becomes NOTE_DAMAGED, once the header was sound: pixels are what libjpeg makes of the bytes, or
 * of PNG, PNM and WebP the rows that came; the rest is 0. */
enum status codec_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                         const struct codec_limits *limits, struct progress *progress,
                         const struct image *into, struct metadata *metadata, uint32_t *notes,
                         struct failure *failure);

/* Of a JPEG that somebody else decodes, what codec_decode would put into METADATA and NOTES. */
enum status codec_read_metadata(const uint8_t *bytes, size_t length, const struct probe *probe,
                                const struct codec_limits *limits, struct metadata *metadata,
                                uint32_t *notes, struct failure *failure);

/* Whether there is a profile and it may stand in a file of COLOURS (1 or 3) channels. One that may
 * not is noted in NOTES. METADATA may be NULL. */
bool codec_profile_fits(const struct metadata *metadata, unsigned colours, uint32_t *notes);

/* Bytes written to LENGTH. STATUS_TOO_LARGE when CAPACITY is too small. Same picture and options:
 * same bytes, whatever was encoded before. */
enum status codec_encode(const struct image *image, const struct metadata *metadata,
                         const struct encode_options *options, struct progress *progress,
                         uint8_t *bytes, size_t capacity, size_t *length, uint32_t *notes,
                         struct failure *failure);

/* How a file came to fit max_bytes. */
struct fitting {
    int32_t quality; /* of the answer */
    int32_t tries;   /* qualities that were tried; 0: none had to be */
};

/* The same within the options' max_bytes, at the highest quality that halving finds
 * (quality_search.h). STATUS_TOO_LARGE, naming both sizes, where there is none. */
enum status codec_encode_fitting(const struct image *image, const struct metadata *metadata,
                                 const struct encode_options *options, struct progress *progress,
                                 uint8_t *bytes, size_t capacity, size_t *length,
                                 struct fitting *fitting, uint32_t *notes, struct failure *failure);

/* The type of RESULT where nobody names one: the input's, but PNG where the steps made it deeper
 * than such a file holds: 16 bits that are no rounded picture but numbers. */
enum format codec_result_format(const struct probe *input, const struct image *result);

/* NULL: results of FORMAT can be written on this machine. Else what is missing, as a sentence. The
 * first call opens the format's library. */
const char *codec_missing(enum format format);

/* Opens the libraries of all formats: a process calls this before it may open no more files. */
void codec_open_libraries(void);

/* Whether quality changes how large the file is. */
bool codec_has_quality(const struct encode_options *options);

/* Milliseconds of a core for which encoding IMAGE, told of by its shape alone, may go on without
 * looking whether it is wanted: of the picture that takes longest. 0: it looks all the time. */
double codec_still_ms(const struct image *image, const struct encode_options *options);

/* STATUS_TOO_LARGE where no file of FORMAT has such sides. Told of a shape alone. */
enum status codec_check_sides(const struct image *shape, enum format format,
                              struct failure *failure);

/* Bytes that always suffice to encode an image of that shape. */
size_t codec_encode_bound(const struct image *image, const struct metadata *metadata,
                          enum format format);

/* Heap bytes that the CPU's codec takes for one file beside its pixels and its bytes, from shapes
 * alone. Upper bounds, for noise; rows and tables below a MiB are left out. A decoder that needs
 * more than MOST (codec_limits' memory_max) fails. */
size_t codec_memory_decode(const struct probe *probe, size_t most);
size_t codec_memory_encode(const struct image *image, const struct encode_options *options);

#ifdef __cplusplus
}
#endif
#endif

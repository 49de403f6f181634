// SPDX-License-Identifier: Apache-2.0
/* codec.h - compressed bytes to pixels and back, within limits.
 *
 * Decoding writes into pixels that the caller laid out from the probe, and applies EXIF
 * orientation. Encoding writes into memory of fixed capacity.
 *
 * Used by:  the worker, `burin run`, benchmarks.
 * Owns:     the caller releases metadata, which owns its blocks; zeroed metadata may be released.
 * Fails:    STATUS_CORRUPT, STATUS_TOO_LARGE, STATUS_NO_MEMORY, STATUS_CANCELLED, STATUS_DEADLINE,
 *           each with a sentence.
 * Threads:  any; nothing is shared between calls.
 * Limits:   struct codec_limits: checked before memory is allocated, and while time passes.
 */
#ifndef BURIN_CODEC_H
#define BURIN_CODEC_H

#include "pipeline/carried.h"
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
    uint64_t scan_pixels_max; /* scans x pixels: bounds the time a JPEG can cost */
    size_t memory_max;        /* heap bytes of a decoder beside the pixels */
    size_t profile_max;       /* bytes of ICC profile carried along; a larger one is dropped */
    size_t metadata_max;      /* the same of EXIF and of XMP; at most METADATA_MAX */
    bool cmyk_to_srgb;        /* by a CMYK JPEG's own profile, where it has a good one */
    bool accept_damage;       /* decode what is readable and note it, in place of STATUS_CORRUPT */
    bool exposed;             /* the process serves others too: formats that are `contained`
                                 (format.h) are STATUS_INTERNAL */
};

/* Values that suit tests, tools and the daemon's defaults. */
extern const struct codec_limits codec_limits_default;

/* Bits for what a codec dropped or changed; the report shows their texts under `notes`. */
enum note {
    NOTE_FIRST_FRAME = 1 << 0,        /* of an animation, or the first page */
    NOTE_DEPTH_CUT = 1 << 1,          /* 16 bits rounded to 8: the output type holds no more */
    NOTE_ALPHA_FLATTENED = 1 << 2,    /* laid on the background */
    NOTE_PROFILE_DROPPED = 1 << 3,    /* too large, or the output type or colours cannot carry it */
    NOTE_CMYK_CONVERTED = 1 << 4,     /* to RGB, without a colour profile */
    NOTE_BYTES_SKIPPED = 1 << 5,      /* bytes of a JPEG that belong to nothing */
    NOTE_DAMAGED = 1 << 6,            /* pixels are missing or wrong; accept_damage was set */
    NOTE_SRGB_ASSUMED = 1 << 7,       /* a step weighed light although there is a profile */
    NOTE_OTHER_WIDTHS = 1 << 8,       /* some of several results are not as wide as asked */
    NOTE_HEADER_ODD = 1 << 9,         /* a JPEG's header is wrong where no pixel depends on it */
    NOTE_PARTS_LEFT_OUT = 1 << 10,    /* of a PNG, broken or too many, which no pixel needs */
    NOTE_COLOUR_DROPPED = 1 << 11,    /* chunks of a PNG, which the output type cannot carry */
    NOTE_SAMPLES_LEFT_OUT = 1 << 12,  /* of a TIFF: neither colours nor transparency */
    NOTE_PRIMARIES_IGNORED = 1 << 13, /* of an AVIF or HEIC without a profile */
    NOTE_COLOURS_CUT = 1 << 14,       /* to 256, or `colors` of the options */
    NOTE_ALPHA_CUT = 1 << 15,         /* pixels are opaque or transparent, and nothing between */
    NOTE_METADATA_DROPPED = 1 << 16,  /* too large, broken, or the output type cannot carry them */
    NOTE_PROFILE_UNUSABLE = 1 << 17,  /* for a conversion to sRGB: pixels stay as they are */
};
enum { NOTE_COUNT = 18, WARNING_MAX = 96 };

/* Bytes of a PNG's chunks that describe its colours: six of them, with their frames. */
enum { COLOUR_CHUNKS_MAX = 6 * 12 + 73 };

/* The sentence for note bit INDEX (0..NOTE_COUNT-1). */
const char *note_text(int index);

/* EXIF, by enum metadata_kept a TIFF block, and XMP's text: set by codec_keep_metadata. */
struct metadata_texts {
    uint8_t *exif[METADATA_CHOICES], *xmp; /* heap */
    size_t exif_length[METADATA_CHOICES], xmp_length;
};

struct metadata {
    uint8_t *profile; /* ICC, heap */
    size_t profile_length;
    uint8_t colour[COLOUR_CHUNKS_MAX]; /* gAMA, cHRM, sRGB, cICP, mDCV, cLLI as they stood */
    size_t colour_length;
    struct metadata_texts texts; /* codec_decode leaves them */
    char warning[WARNING_MAX];   /* with NOTE_DAMAGED: the codec's text for the first damage */
};
void metadata_release(struct metadata *metadata);

/* Adds to METADATA the EXIF and the XMP of the file, for results with METADATA_COPYRIGHT or
 * METADATA_KEEP. EXIF is built anew of its sound entries, upright; what refers to the stored pixels
 * or to other places of the file, thumbnails and makers' notes are left out. XMP must be UTF-8
 * without a DTD. Notes what is broken or too large. */
void codec_keep_metadata(const uint8_t *bytes, size_t length, const struct probe *probe,
                         const struct codec_limits *limits, int kept, struct metadata *metadata,
                         uint32_t *notes);

/* Decodes into INTO, which has the probe's shape and any stride; or-s into NOTES. Checks PROGRESS
 * (cancel, deadline), which may be NULL. The first damage to pixels is STATUS_CORRUPT, including
 * what libraries only warn of, so truncated data never becomes gray unnoticed; a warning of what no
 * pixel depends on is a note. With `accept_damage` and a
 * sound header it is NOTE_DAMAGED: a JPEG's pixels are what libjpeg makes of the bytes; others
 * have the rows that are in the file, and 0 elsewhere. */
enum status codec_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                         const struct codec_limits *limits, struct progress *progress,
                         const struct image *into, struct metadata *metadata, uint32_t *notes,
                         struct failure *failure);

/* Sets METADATA and NOTES as codec_decode would, for a file that a device decodes. */
enum status codec_read_metadata(const uint8_t *bytes, size_t length, const struct probe *probe,
                                const struct codec_limits *limits, struct metadata *metadata,
                                uint32_t *notes, struct failure *failure);

/* The part of METADATA, which may be NULL, that goes into a file of COLOURS (1 or 3) channels. A
 * profile made for other colours does not, which is noted. */
struct carried codec_carried(const struct metadata *metadata, const struct encode_options *options,
                             unsigned colours, uint32_t *notes);

/* Notes colour chunks in METADATA, which may be NULL, that a file with OPTIONS should carry and
 * cannot. */
void codec_note_colour(const struct metadata *metadata, const struct encode_options *options,
                       uint32_t *notes);

/* Writes at most CAPACITY bytes, and their number to LENGTH; STATUS_TOO_LARGE if more are needed.
 * The bytes depend on picture and options alone, not on earlier calls. */
enum status codec_encode(const struct image *image, const struct metadata *metadata,
                         const struct encode_options *options, struct progress *progress,
                         uint8_t *bytes, size_t capacity, size_t *length, uint32_t *notes,
                         struct failure *failure);

/* How a file came to fit max_bytes. */
struct fitting {
    int32_t quality; /* of the file */
    int32_t tries;   /* encodings; 0: there was no search */
};

/* codec_encode within the options' max_bytes, at the highest quality that bisection finds
 * (quality_search.h). STATUS_TOO_LARGE, naming both sizes, if no quality fits. */
enum status codec_encode_fitting(const struct image *image, const struct metadata *metadata,
                                 const struct encode_options *options, struct progress *progress,
                                 uint8_t *bytes, size_t capacity, size_t *length,
                                 struct fitting *fitting, uint32_t *notes, struct failure *failure);

/* The type of RESULT if the request names none: the input's; if that is only read, JPEG for a
 * photograph that fits, else PNG; and PNG where steps made 16 bits of 8 and the input's type cannot
 * hold them: such samples are numbers, not a picture to round. */
enum format codec_result_format(const struct probe *input, const struct image *result);

/* NULL: results of FORMAT can be written on this machine. Else what is missing, as a sentence. The
 * first call opens the format's library. */
const char *codec_missing(enum format format);

/* Opens the libraries of all formats: a process calls this before it may open no more files. */
void codec_open_libraries(void);

/* Milliseconds of a core for which encoding a picture of IMAGE's shape may not check PROGRESS, at
 * worst. 0: it always checks. */
double codec_still_ms(const struct image *image, const struct encode_options *options);

/* STATUS_TOO_LARGE if a file of FORMAT cannot have the sides of SHAPE. */
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

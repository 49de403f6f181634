// SPDX-License-Identifier: Apache-2.0
/* format.h - what an image format is: a record that describes itself, and its codec.
 *
 * One file of pipeline/codecs/ defines `const struct format_record format_<file name>`; the folder
 * of the same name holds the rest of its codec. The Makefile finds the file and generates the enum
 * and the list of records. A format without `decode` is only written, one without `encode` only
 * read.
 *
 * Used by:  probe.c and codec.c, which call codecs; everything that names or lists formats.
 * Owns:     nothing: records are constants.
 * Threads:  any.
 */
#ifndef BURIN_FORMAT_H
#define BURIN_FORMAT_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An index into the records. The numbers mean the same in all processes of one build. */
enum format {
    FORMAT_NONE,
#define FORMAT(name, NAME) FORMAT_##NAME,
#include "formats.inc"
#undef FORMAT
    FORMAT_COUNT
};

struct image;
struct probe;
struct encode_options;
struct decoding; /* pipeline/codecs/codecs.h */
struct encoding;
struct frame_sink;
struct animation_file; /* pipeline/animation_file.h */
struct metadata_places;
struct codec_limits;
struct heic_still;

/* Bits for the abilities of a format. The first two follow from `decode` and `encode`. */
enum format_ability {
    FORMAT_READ = 1 << 0,
    FORMAT_WRITTEN = 1 << 1,
    FORMAT_QUALITY = 1 << 2, /* options.quality makes its files smaller, so max_bytes can be met */
    FORMAT_LOSSLESS = 1 << 3,
    FORMAT_EFFORT = 1 << 4,
    FORMAT_PROGRESSIVE = 1 << 5,
    FORMAT_COMPRESSION = 1 << 6,
    FORMAT_METADATA = 1 << 7, /* its files hold EXIF and XMP */
    FORMAT_PALETTE = 1 << 8,
};

/* Lists of formats, each in an order of its own. */
enum format_order {
    FORMATS_DESCRIBED, /* in sentences, and where media types are listed */
    FORMATS_OFFERED,   /* as values of `type` */
    FORMATS_PREFERRED, /* of image types that Accept likes equally, the first is sent */
    FORMAT_ORDERS
};

/* Limits: media types and file name endings of one format, less the NULL that ends them; kinds of
 * files that cost differently. */
enum { FORMAT_NAMES_MAX = 4, FORMAT_DECODE_KINDS = 2, FORMAT_ENCODE_KINDS = 5 };

/* Measured defaults, in ms: on a core of a Xeon at 2.1 GHz, and on a worker of an H200. `gpu` is
 * zero where cores do the work beside a GPU, too; then `cpu` is the cost and counts as theirs. */
struct decode_cost {
    float cpu[3], gpu[3]; /* a file, a megabyte of the file, a megabyte of pixels */
};
struct encode_cost {
    float cpu[2], gpu[2]; /* a file, a megabyte of pixels */
};

struct format_record {
    const char *name;                          /* the file's name, a value of `type` */
    const char *title;                         /* in sentences: "WebP" */
    const char *input_title;                   /* where users are asked to send it; NULL: title */
    const char *media_types[FORMAT_NAMES_MAX]; /* the first is sent; Accept may name all */
    const char *endings[FORMAT_NAMES_MAX];     /* of file names, the usual one first */
    uint8_t places[FORMAT_ORDERS];             /* from 1; 0: behind the formats with a place */
    unsigned abilities;                        /* FORMAT_QUALITY and following */

    /* ---- reading */

    /* BYTES begin as files of this format do. */
    bool (*recognizes)(const uint8_t *bytes, size_t length);

    /* Reads the header into PROBE, which is zeroed but for `format` and an `orientation` of 1.
     * Sets all but the sides of `shape`. Checks no limits. */
    enum status (*probe)(const uint8_t *bytes, size_t length, struct probe *probe,
                         struct failure *failure);
    const char *cut_advice; /* ends the refusal of a file with too little data; NULL: nothing */

    enum status (*decode)(const struct decoding *decoding);

    /* NULL: can be read. Else what is missing on this machine, as a sentence, as `missing`. */
    const char *(*unreadable)(void);

    /* Only read, and files are photographs: a JPEG is what they become, if that loses no bits and
     * no alpha. */
    bool photographs;

    /* The orientation belongs to the picture and is no EXIF: every reader applies it. */
    bool turns;

    /* `decode` runs a library with a bad record: only in a process that serves nothing else. */
    bool contained;

    /* Metadata and notes alone, for a file that a device decodes. NULL: no device does. */
    enum status (*read_metadata)(const struct decoding *decoding);

    /* Finds EXIF and XMP in a file whose header was read; PLACES is zeroed. NULL: nowhere. */
    void (*find_metadata)(const uint8_t *bytes, size_t length, struct metadata_places *places);
    /* False: a GPU's video engine does not take the file (heic/still.h). NULL: it takes none. */
    bool (*read_still)(const uint8_t *bytes, size_t length, const struct probe *probe,
                       const struct codec_limits *limits, struct heic_still *still);

    /* Heap bytes that decoding takes beside pixels and file, at most. NULL: less than a MiB. */
    uint64_t (*decode_memory)(const struct probe *probe);

    struct decode_cost decode_costs[FORMAT_DECODE_KINDS];
    int (*decode_kind)(const struct probe *probe); /* of decode_costs; NULL: 0 */

    /* ---- animations; NULL: the format has none, or the first frame alone is read */

    /* Counts the frames of a file whose header `probe` has read, up to MOST + 1. */
    enum status (*probe_frames)(const uint8_t *bytes, size_t length, uint32_t most,
                                struct probe *probe, struct failure *failure);

    /* Composes each frame in turn in `into`, which is the canvas, and hands it to SINK. */
    enum status (*decode_frames)(const struct decoding *decoding, const struct frame_sink *sink);

    /* ---- writing */

    uint32_t side_max; /* pixels; 0: IMAGE_SIDE_MAX */
    unsigned depth;    /* the most bits a sample: 8 or 16 */
    bool slow; /* takes tens of times as long as JPEG: a browser's page gets it by `prefer` alone */

    /* NULL: can be written. Else what is missing on this machine, as a sentence. Opens a library
     * in the first call. A NULL function: nothing can be missing. */
    const char *(*missing)(void);

    enum status (*encode)(const struct encoding *encoding);

    /* An animation of frames that are files of this format, each of the whole canvas; NULL: there
     * are none. The functions return false if FILE has no room. */
    bool (*begin_animation)(struct animation_file *file);
    bool (*add_frame)(struct animation_file *file, const uint8_t *frame, size_t length,
                      uint32_t ms);
    bool (*end_animation)(struct animation_file *file);

    /* Bytes that always suffice for a file of that shape. */
    size_t (*bound)(const struct image *image, size_t profile_length);

    /* Heap bytes that encoding takes beside pixels and file, at most. NULL: less than a MiB. */
    uint64_t (*encode_memory)(const struct image *image, const struct encode_options *options);

    /* Milliseconds that encoding may take without looking whether it is still wanted, for the
     * picture that takes longest. NULL: it always looks. */
    double (*still_ms)(const struct image *image, const struct encode_options *options);

    struct encode_cost encode_costs[FORMAT_ENCODE_KINDS];
    int (*encode_kind)(const struct encode_options *options); /* of encode_costs; NULL: 0 */

    /* Megabytes of pixels that take as long as IMAGE with OPTIONS. NULL: those of the image. */
    double (*encode_megabytes)(const struct image *image, const struct encode_options *options);
};

extern const struct format_record *const format_records[FORMAT_COUNT];

/* FORMAT may be any number; an unknown one gives the record of FORMAT_NONE, which does nothing. */
static inline const struct format_record *format_record(enum format format) {
    return format_records[(unsigned)format < FORMAT_COUNT ? format : FORMAT_NONE];
}

/* "jpeg", "image/jpeg"; of FORMAT_NONE "none", "application/octet-stream". */
const char *format_name(enum format format);
const char *format_media_type(enum format format);

/* The written format with that name or file name ending, in any case; FORMAT_NONE: none. */
enum format format_from_name(const char *name);

/* FORMAT has all of ABILITIES. */
bool format_can(enum format format, unsigned abilities);

/* A stands before B. */
bool format_before(enum format_order order, enum format a, enum format b);

/* Walks all formats; FORMAT_NONE: INDEX is behind the last. */
enum format format_at(enum format_order order, int index);

enum { FORMAT_LIST_MAX = 256 };
enum format_words {
    FORMAT_NAMES,   /* as offered: png, jpeg */
    FORMAT_ENDINGS, /* as offered, with their dots: .png, .jpg, .jpeg */
    FORMAT_TITLES,  /* as described: JPEG, PNG */
    FORMAT_INPUTS,  /* as described, for input */
};

/* The WORDS of all formats with ABILITIES, with BETWEEN between them and LAST before the last.
 * Cut off at FORMAT_LIST_MAX. Returns TEXT. */
const char *format_list(enum format_words words, unsigned abilities, const char *between,
                        const char *last, char text[FORMAT_LIST_MAX]);

#ifdef __cplusplus
}
#endif
#endif

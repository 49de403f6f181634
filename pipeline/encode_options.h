// SPDX-License-Identifier: Apache-2.0
/* encode_options.h - how a result is written: its type and the settings of types.
 *
 * One table has each setting's name, range and reader, for all users that read settings as text. A
 * setting that the type does not have is read and does nothing: a client may ask for quality
 * before it knows that the answer is a PNG.
 *
 * Used by:  codec.h and the codecs; settings.c and options.c, which read text.
 * Owns:     nothing; plain data, shared by two processes.
 * Fails:    encode_option_set() returns false; encode_options_check() STATUS_BAD_PARAM.
 * Threads:  any.
 */
#ifndef BURIN_ENCODE_OPTIONS_H
#define BURIN_ENCODE_OPTIONS_H

#include "pipeline/probe.h"
#include "pipeline/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MIN_QUALITY_DEFAULT = 10 };

/* The metadata of the input that go into the file. */
enum metadata_kept {
    METADATA_NONE,
    METADATA_COPYRIGHT, /* who made the picture, and whose it is */
    METADATA_KEEP,      /* EXIF and XMP */
    METADATA_CHOICES
};

/* The colour profile of the input, and what a PNG has beside it. */
enum profile_kept {
    PROFILE_KEEP,
    PROFILE_SRGB, /* none: pixels are converted by a step (op.by_profile) */
    PROFILE_NONE  /* none, and pixels stay */
};

struct encode_options {
    enum format format;    /* FORMAT_NONE: chosen later, by Accept or the input */
    int quality;           /* 1..100; formats with FORMAT_QUALITY */
    int compression;       /* 0..3; FORMAT_COMPRESSION */
    bool progressive;      /* FORMAT_PROGRESSIVE */
    bool lossless;         /* FORMAT_LOSSLESS: quality does nothing */
    bool palette, dither;  /* FORMAT_PALETTE; dither: colours in patterns */
    int colors;            /* 2..256, the most in a palette, which it implies; 0: not given */
    bool no_palette;       /* palette=false was given */
    bool loss_chosen;      /* quality, lossless or max_bytes was given */
    int effort;            /* 0..6, more time for fewer bytes; FORMAT_EFFORT */
    uint8_t background[4]; /* R, G, B under alpha where the format has none; A for operators */
    bool has_background;   /* given by the user, so operators with a background get it too */
    bool animated;         /* all frames of an animation are kept, if the type has animations */
    uint8_t profile;       /* enum profile_kept */
    uint8_t metadata;      /* enum metadata_kept; formats with FORMAT_METADATA */
    int min_quality;       /* with max_bytes; 0: not given */
    int64_t max_bytes;     /* of the file, at a lower quality if need be; 0: no limit */
};
extern const struct encode_options encode_options_default; /* JPEG, 85, 1, 4, white */

/* The name of setting INDEX; NULL behind the last. */
const char *encode_option_name(int index);

/* The values it may have: "a whole number 1..100". TEXT is room for the sentence. */
const char *encode_option_range(int index, char text[FORMAT_LIST_MAX]);

/* false: the setting may not have VALUE. */
bool encode_option_set(struct encode_options *options, int index, const char *value);

/* R in the highest byte, then G, B, A, as param_colour() returns them. */
uint32_t encode_background(const struct encode_options *options);

/* The most colours that a file of a format with FORMAT_PALETTE may have; 0: any. */
int encode_colors(const struct encode_options *options);

/* Sets the type to FORMAT if the user chose none. If that is the type of the input and the user
 * chose nothing about loss, the result is lossless if the input is. */
void encode_options_as_input(struct encode_options *options, const struct probe *probe,
                             enum format format);

/* Checks the settings against each other, once all are set. */
enum status encode_options_check(const struct encode_options *options, struct failure *failure);

/* The lowest quality that a search for max_bytes may try. */
int encode_min_quality(const struct encode_options *options);

#ifdef __cplusplus
}
#endif
#endif

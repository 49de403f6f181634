// SPDX-License-Identifier: Apache-2.0
/* encode_options.h - how a result is written: its type, and what each type may be asked for.
 *
 * One table has every setting's name, what it may be and how it is read, for all who take settings
 * as text. A setting that the type does not have is read and does nothing: a client may ask for
 * quality before it knows that the answer is a PNG.
 *
 * Used by:  codec.h and the codecs; settings.c and run_options.c, which read text.
 * Owns:     nothing; plain data, that lies in memory of two processes.
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

struct encode_options {
    enum format format;    /* FORMAT_NONE: as the input, or as somebody else chooses */
    int quality;           /* JPEG, WebP, AVIF 1..100 */
    int compression;       /* PNG 0..3 */
    bool progressive;      /* JPEG */
    bool lossless;         /* WebP, AVIF: quality does nothing */
    bool loss_chosen;      /* quality, lossless or max_bytes was given */
    int effort;            /* WebP, AVIF 0..6: time for fewer bytes */
    uint8_t background[4]; /* R, G, B under alpha where the format has none; A: of operators */
    bool has_background;   /* it was given: operators that have one get it too */
    int min_quality;       /* with max_bytes; 0: none is given */
    int64_t max_bytes;     /* of the file, by a lower quality if need be; 0: any */
};
extern const struct encode_options encode_options_default; /* JPEG, 85, 1, 4, white */

/* The INDEX-th setting's name; NULL behind the last. */
const char *encode_option_name(int index);

/* What it must be: "a whole number 1..100". TEXT is room for it. */
const char *encode_option_range(int index, char text[FORMAT_LIST_MAX]);

/* false: VALUE is nothing that the setting may be. */
bool encode_option_set(struct encode_options *options, int index, const char *value);

/* R, G, B, A from the highest byte on, as param_colour() reads them. */
uint32_t encode_background(const struct encode_options *options);

/* Where no type is chosen: FORMAT, which comes of the input, PROBE. If it is the input's own and
 * nothing was said of losses, lossless as that is. */
void encode_options_as_input(struct encode_options *options, const struct probe *probe,
                             enum format format);

/* Whether they go together, once all are set. */
enum status encode_options_check(const struct encode_options *options, struct failure *failure);

/* The lowest quality that max_bytes may lead to. */
int encode_min_quality(const struct encode_options *options);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
/* avif_library.h - libavif, where it is on this machine: opened while the program runs, so that
 * nobody needs its 20 MB for other types.
 *
 * Who has no files left once it has started opens it before: a worker and the front, by asking
 * avif_library_missing(). It takes 3 ms and 600 KB. Built without its header there is no AVIF.
 *
 * Used by:  avif_encoder.c, codec.c.
 * Owns:     the library, as long as the process.
 * Fails:    avif_library_missing() returns a sentence.
 * Threads:  any.
 */
#ifndef BURIN_AVIF_LIBRARY_H
#define BURIN_AVIF_LIBRARY_H

#if __has_include(<avif/avif.h>)

#include <avif/avif.h>
#define BURIN_WITH_AVIF 1

struct avif_library {
    __typeof__(avifCodecName) *codec_name;
    __typeof__(avifImageCreateEmpty) *image_create;
    __typeof__(avifImageDestroy) *image_destroy;
    __typeof__(avifImageSetProfileICC) *set_profile;
    __typeof__(avifEncoderCreate) *encoder_create;
    __typeof__(avifEncoderSetCodecSpecificOption) *set_option;
    __typeof__(avifEncoderWrite) *encoder_write;
    __typeof__(avifEncoderDestroy) *encoder_destroy;
    __typeof__(avifRWDataFree) *data_free;
    __typeof__(avifResultToString) *result_text;
};
extern struct avif_library avif; /* once avif_library_missing() is NULL */

#endif

/* NULL: it is here. Else why AVIF cannot be written, and what to do. */
const char *avif_library_missing(void);

#endif

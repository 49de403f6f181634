// SPDX-License-Identifier: Apache-2.0
/* library.h - libavif, opened while the program runs if it is on this machine: it takes 20 MB of
 * disk, which a machine without AVIF need not have.
 *
 * The front and each worker open it (codec_open_libraries) before their sandbox allows no more
 * files; that takes 3 ms and 600 KB. A build without the header of libavif has no AVIF.
 *
 * Used by:  pipeline/codecs/avif.c.
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

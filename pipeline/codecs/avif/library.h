// SPDX-License-Identifier: Apache-2.0
/* library.h - libavif, opened while the program runs if it is on this machine: it takes 20 MB of
 * disk, which a machine without AVIF need not have.
 *
 * The front, which only asks what it can do, and each decoding cell open it (codec_open_libraries)
 * before their sandbox allows no more files; that takes 3 ms and 600 KB. A build without the header
 * of libavif has no AVIF.
 *
 * Used by:  avif.c and avif/reader.c.
 * Owns:     the library, as long as the process.
 * Fails:    avif_library_missing() and avif_reading_missing() return a sentence.
 * Threads:  any.
 */
#ifndef BURIN_AVIF_LIBRARY_H
#define BURIN_AVIF_LIBRARY_H

#include <stdbool.h>

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
    __typeof__(avifDecoderCreate) *decoder_create;
    __typeof__(avifDecoderDestroy) *decoder_destroy;
    __typeof__(avifDecoderSetSource) *set_source;
    __typeof__(avifDecoderSetIOMemory) *set_memory;
    __typeof__(avifDecoderParse) *parse;
    __typeof__(avifDecoderNextImage) *next_image;
};
extern struct avif_library avif; /* once one of the functions below returns NULL */

#endif

/* NULL: AVIF can be written. Else why not, and what to do. */
const char *avif_library_missing(void);

/* The same for reading AVIF. */
const char *avif_reading_missing(void);

/* False: libavif was built without dav1d, and reads by another decoder. */
bool avif_reads_by_dav1d(void);

#endif

// SPDX-License-Identifier: Apache-2.0
/* library.h - libde265, opened while the program runs if it is on this machine: as libavif is
 * (avif/library.h), and for that reason.
 *
 * A build without the header of libde265 has no HEIC, nor has one with HEIC=0, which leaves this
 * folder out.
 *
 * Used by:  heic.c and heic/tile.c.
 * Owns:     the library, as long as the process.
 * Fails:    heic_reading_missing() returns a sentence.
 * Threads:  any.
 */
#ifndef BURIN_HEIC_LIBRARY_H
#define BURIN_HEIC_LIBRARY_H

#if __has_include(<libde265/de265.h>)

#include <libde265/de265.h>
#define BURIN_WITH_HEIC 1

struct de265_library {
    __typeof__(de265_init) *init;
    __typeof__(de265_new_decoder) *new_decoder;
    __typeof__(de265_free_decoder) *free_decoder;
    __typeof__(de265_set_image_allocation_functions) *set_allocation;
    __typeof__(de265_set_image_plane) *set_plane;
    __typeof__(de265_set_parameter_bool) *set_parameter;
    __typeof__(de265_push_NAL) *push_unit;
    __typeof__(de265_flush_data) *flush;
    __typeof__(de265_decode) *decode;
    __typeof__(de265_get_warning) *warning;
    __typeof__(de265_get_error_text) *error_text;
    __typeof__(de265_get_next_picture) *next_picture;
    __typeof__(de265_get_image_plane) *plane;
    __typeof__(de265_get_image_width) *width;
    __typeof__(de265_get_image_height) *height;
    __typeof__(de265_get_bits_per_pixel) *bits;
    __typeof__(de265_get_chroma_format) *chroma;
    __typeof__(de265_get_image_full_range_flag) *full_range;
    __typeof__(de265_get_image_colour_primaries) *primaries;
    __typeof__(de265_get_image_matrix_coefficients) *matrix;
};
extern struct de265_library de265; /* once the function below returns NULL */

#endif

/* NULL: HEIC can be read. Else why not, and what to do. */
const char *heic_reading_missing(void);

#endif

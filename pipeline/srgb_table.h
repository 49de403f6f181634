// SPDX-License-Identifier: Apache-2.0
/* srgb_table.h - the table of ops/srgb.h, made from a colour profile by lcms2.
 *
 * Intent: relative colorimetric with black point compensation, by the tables that the profile has
 * for that intent.
 *
 * Used by:  the worker and `burin run`; jpeg/decoder.c for CMYK.
 * Owns:     the last table of each thread with its profile, 2.3 MB at most; the table that is
 *           made is the caller's memory.
 * Fails:    false for a profile that cannot be used. Profiles are hostile: only a sandboxed process
 *           may read them.
 * Threads:  any.
 * Limits:   a profile of RGB or gray that describes an input, a display, an output or a colour
 *           space, without floating-point tables (D2B0 and so on).
 */
#ifndef BURIN_SRGB_TABLE_H
#define BURIN_SRGB_TABLE_H

#include "pipeline/image.h"

/* The table for images like SHAPE, as bytes in rows. */
struct image srgb_table_shape(const struct image *shape);

/* Fills TABLE, which has that shape and memory, for images like SHAPE. false: the profile cannot be
 * used, and TABLE leaves pixels as they are. PROFILE may be NULL. */
bool srgb_table_make(const uint8_t *profile, size_t length, const struct image *shape,
                     const struct image *table);

/* Frees what the thread keeps of the last profile. */
void srgb_table_forget(void);

/* Converts rows of CMYK, 8 bits, each 255 less the ink, to sRGB. */
struct cmyk_rows;

/* NULL: the profile cannot be used. */
struct cmyk_rows *cmyk_rows_open(const uint8_t *profile, size_t length);
void cmyk_rows_convert(const struct cmyk_rows *rows, const uint8_t *cmyk, uint32_t width,
                       uint8_t *rgb);
void cmyk_rows_close(struct cmyk_rows *rows); /* may be NULL */

#endif

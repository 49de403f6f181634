// SPDX-License-Identifier: Apache-2.0
/* unstuff.h - which bytes of a JPEG's scan are data.
 *
 * Used by:  jpeg_parallel.c, and a GPU's kernels.
 * Source:   ITU-T T.81, B.1.1.
 *
 * How it works. A 0 behind 0xff is stuffed; 0xff before anything else is a marker, which of all
 * markers only a restart may be here. So a byte and its two neighbours decide.
 */
#ifndef BURIN_JPEG_UNSTUFF_H
#define BURIN_JPEG_UNSTUFF_H

#include "pipeline/codecs/jpeg/picture.h"

/* Behind the scan stands the 0xff of the end's marker. */
HOST_DEVICE uint32_t jpeg_scan_byte(const struct jpeg_picture *picture, uint32_t at) {
    return at < picture->scan_bytes ? picture->scan[at] : 0xff;
}

HOST_DEVICE bool jpeg_is_data(uint32_t before, uint32_t byte, uint32_t after) {
    return before != 0xff && (byte != 0xff || after == 0);
}

/* BYTE is the first of a restart's marker. */
HOST_DEVICE bool jpeg_is_restart(uint32_t byte, uint32_t after) {
    return byte == 0xff && after >= 0xd0 && after <= 0xd7;
}

HOST_DEVICE bool jpeg_is_stray(uint32_t byte, uint32_t after) {
    return byte == 0xff && after != 0 && !jpeg_is_restart(byte, after);
}

/* Whether the restart marker at AT ends a segment of no bytes. A walk would pass such segments
 * unjudged where the scan starts with one, and one by one where there are many. */
HOST_DEVICE bool jpeg_ends_nothing(const struct jpeg_picture *picture, uint32_t at) {
    return at < 2
               ? at == 0
               : jpeg_is_restart(jpeg_scan_byte(picture, at - 2), jpeg_scan_byte(picture, at - 1));
}

/* Notes the restart marker at AT, the NUMBER-th of the scan, behind KEPT bytes of data. Returns
 * flags. */
HOST_DEVICE uint32_t jpeg_note_restart(const struct jpeg_picture *picture, uint32_t number,
                                       uint32_t at, uint32_t kept) {
    const uint32_t turn = jpeg_scan_byte(picture, at + 1) & 7;
    if (number + 1 >= picture->segments || turn != (number & 7)) return JPEG_FLAG_RESTARTS;
    if (jpeg_ends_nothing(picture, at)) return JPEG_FLAG_RESTARTS;
    picture->segment_ends[number] = kept;
    return 0;
}

#endif

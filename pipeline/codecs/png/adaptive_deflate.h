// SPDX-License-Identifier: Apache-2.0
/* adaptive_deflate.h - deflate for the smallest file: each band is searched for repetitions, or
 * only for runs, or stored, whichever makes a sample of it smallest. Or all of it is searched.
 *
 * Filtered rows of a photograph repeat by chance: coding such repetitions takes more bits than the
 * bytes themselves, so a search makes the file larger and takes ten times as long. Filtered rows of
 * a drawing are mostly repetition.
 *
 *     adaptive_deflate_band(&deflate, bytes, length, last);
 *     while (adaptive_deflate_take(&deflate, out, room, &written)) ...room is full, there is more
 *
 * Used by:  png/encoder.c, at compression 3, and for indices of a palette.
 * Owns:     the memory of zlib's streams, which the caller frees by adaptive_deflate_release; a
 *           zeroed state may be released.
 * Fails:    false: no memory.
 * Threads:  one at a time.
 * Source:   RFC 1950, 1951; the strategies of zlib.
 */
#ifndef BURIN_ADAPTIVE_DEFLATE_H
#define BURIN_ADAPTIVE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

/* The least room for a call: the bytes that zlib holds back between bands fit. */
enum { ADAPTIVE_ROOM_LEAST = 64 };

struct adaptive_deflate {
    z_stream stream;
    bool open;
    bool fixed;                 /* all bands are written in one way */
    int level, strategy, flush; /* of the current band */
    const uint8_t *band;        /* NULL: zlib has got it */
    size_t length;
};

/* LEVEL: 0, or zlib's for all of it: what was not filtered repeats in a photograph, too. */
bool adaptive_deflate_init(struct adaptive_deflate *state, int level);
void adaptive_deflate_release(struct adaptive_deflate *state);

/* Takes the next LENGTH bytes, at least one; LAST ends the stream. BYTES must stay until all output
 * is taken. */
bool adaptive_deflate_band(struct adaptive_deflate *state, const uint8_t *bytes, size_t length,
                           bool last);

/* Writes up to ROOM bytes. true: the room is full, and there may be more. */
bool adaptive_deflate_take(struct adaptive_deflate *state, uint8_t *out, size_t room,
                           size_t *written);

#endif

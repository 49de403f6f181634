// SPDX-License-Identifier: Apache-2.0
/* adaptive_deflate.h - deflate for the smallest file: each band is searched for repetitions, or
 * only for runs, or stored, whichever makes a piece of it smallest.
 *
 * What filters leave of a photograph repeats by chance: naming such repetitions takes more bits
 * than the bytes themselves, so that a search makes it larger, and takes ten times as long. What
 * they leave of a drawing is mostly repetition.
 *
 *     adaptive_deflate_band(&deflate, bytes, length, last);
 *     while (adaptive_deflate_take(&deflate, out, room, &written)) ...room is full, there is more
 *
 * Used by:  png/encoder.c, at compression 3.
 * Owns:     the memory of zlib's streams; adaptive_deflate_release accepts a zeroed one.
 * Fails:    false, where there is no memory.
 * Threads:  one at a time.
 * Source:   RFC 1950, 1951; the strategies of zlib.
 */
#ifndef BURIN_ADAPTIVE_DEFLATE_H
#define BURIN_ADAPTIVE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

/* Room to be given at least: what zlib holds back between bands fits. */
enum { ADAPTIVE_ROOM_LEAST = 64 };

struct adaptive_deflate {
    z_stream stream;
    bool open;
    int level, strategy; /* of the band under way */
    int flush;           /* likewise */
    const uint8_t *band; /* until zlib has got it; NULL then */
    size_t length;
};

bool adaptive_deflate_init(struct adaptive_deflate *state);
void adaptive_deflate_release(struct adaptive_deflate *state);

/* The next LENGTH bytes, at least one; LAST: they end the stream. BYTES stay until all is taken. */
bool adaptive_deflate_band(struct adaptive_deflate *state, const uint8_t *bytes, size_t length,
                           bool last);

/* Writes up to ROOM bytes. true: all of it was needed, and there may be more. */
bool adaptive_deflate_take(struct adaptive_deflate *state, uint8_t *out, size_t room,
                           size_t *written);

#endif

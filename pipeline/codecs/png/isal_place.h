// SPDX-License-Identifier: Apache-2.0
/* isal_place.h - a place for a stream of isa-l at which its output does not depend on the address.
 *
 * At levels 1 and 2 isa-l (2.30, on x86) hashes the stream's own address in place of the third
 * position, and finds different matches if that equals the hash of one of the first three: at one
 * in some 3,000 addresses, and up to one in 30 for short streams, whose tables are small. A room
 * has several places for a stream, and one of them is sound.
 *
 * Used by:  png/encoder.c.
 * Owns:     nothing; the room is the caller's.
 * Threads:  any; no state.
 */
#ifndef BURIN_ISAL_PLACE_H
#define BURIN_ISAL_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include <isa-l/igzip_lib.h>

/* Bytes of a room, at any address that malloc returns. */
size_t isal_place_room(void);

/* The place for a stream whose input begins with the LENGTH bytes at BYTES. */
struct isal_zstream *isal_place(uint8_t *room, const uint8_t *bytes, size_t length);

#endif

// SPDX-License-Identifier: Apache-2.0
/* isal_place.h - where a stream of isa-l lies, so that its bytes do not depend on that.
 *
 * At levels 1 and 2 isa-l (2.30, on x86) takes a hash of the stream's own address for that of the
 * third position, and finds other matches where this is the hash of one of the first three: at one
 * in some 3,000 addresses, and of short streams, whose tables are small, at up to one in 30. A room
 * holds a stream at several places; one of them is sound.
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

/* The place for a stream that deflates what begins with the LENGTH bytes at BYTES. */
struct isal_zstream *isal_place(uint8_t *room, const uint8_t *bytes, size_t length);

#endif

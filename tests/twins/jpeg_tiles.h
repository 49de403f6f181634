// SPDX-License-Identifier: Apache-2.0
/* jpeg_tiles.h - the JPEG encoder as a GPU runs it, in plain C: tiles that are coded without each
 * other, then joined. It writes what jpeg_encode writes.
 *
 * Used by:  tests; it is the reference of cuda/codecs/.
 * Fails:    as jpeg_encode; STATUS_NO_MEMORY.
 * Threads:  any.
 * Limits:   images of 8 bits with 1 or 3 channels.
 */
#ifndef BURIN_JPEG_TILES_H
#define BURIN_JPEG_TILES_H

#include "pipeline/codecs/codecs.h"

enum status jpeg_tiles_encode(const struct encoding *encoding);

#endif

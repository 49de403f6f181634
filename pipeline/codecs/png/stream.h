// SPDX-License-Identifier: Apache-2.0
/* stream.h - the filtered rows of a PNG, inflated from its IDATs piece by piece.
 *
 * Used by:  png/decoder.c.
 * Owns:     a window of PNG_WINDOW bytes and a row, and isa-l's state; the caller frees them by
 *           png_stream_close. A zeroed stream may be closed.
 * Fails:    `damage` says what is wrong, `status` that time ran out; codec_damage() hears of what
 *           the caller accepts.
 * Threads:  one at a time.
 * Source:   RFC 1950.
 */
#ifndef BURIN_PNG_STREAM_H
#define BURIN_PNG_STREAM_H

#include "pipeline/codecs/codecs.h"

#include <isa-l/igzip_lib.h>

/* isa-l delivers all that it holds into a window that is as large as its own. */
enum { PNG_WINDOW = sizeof(((struct inflate_state *)0)->tmp_out_buffer) };

struct png_stream {
    const struct decoding *decoding;
    size_t at;            /* the next IDAT */
    const uint8_t *piece; /* of the one before, what isa-l has not got yet */
    size_t piece_left;
    struct inflate_state *inflate;
    uint8_t *window; /* [from, to) is inflated and not yet taken */
    size_t from, to, room;
    bool surplus;       /* there are bytes behind the last row */
    const char *damage; /* NULL: none so far */
    enum status status; /* STATUS_CANCELLED, STATUS_DEADLINE: it stopped */
};

/* Bytes of memory for rows of ROW bytes. */
size_t png_stream_memory(size_t row);

/* AT: the first IDAT. false: no memory. */
bool png_stream_open(struct png_stream *stream, const struct decoding *decoding, size_t at,
                     size_t row);
void png_stream_close(struct png_stream *stream);

/* The next COUNT bytes, at most a row; UNFILTER_PAD more can be read. They stay until the next
 * call. NULL: the stream is damaged, or stopped. */
const uint8_t *png_stream_take(struct png_stream *stream, size_t count);

/* Reads on behind the last row, to the stream's checksum and through all IDATs. More than MOST
 * bytes of pixels are damage. */
void png_stream_finish(struct png_stream *stream, uint64_t most);

#endif

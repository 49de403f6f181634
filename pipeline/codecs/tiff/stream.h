// SPDX-License-Identifier: Apache-2.0
/* stream.h - the bytes of one block of a TIFF, unpacked piece by piece.
 *
 * Used by:  tiff/decoder.c.
 * Owns:     nothing; the packed bytes are the file's.
 * Fails:    `damage` says what is wrong, `status` that time ran out.
 * Threads:  one at a time.
 * Source:   TIFF 6.0, sections 9 and 13; RFC 1950; for old LZW libtiff's reader.
 */
#ifndef BURIN_TIFF_STREAM_H
#define BURIN_TIFF_STREAM_H

#include "pipeline/codecs/common/lzw.h"
#include "pipeline/codecs/tiff/codec.h"

#include <isa-l/igzip_lib.h>

struct tiff_stream {
    struct progress *progress;
    enum tiff_compression compression;
    const uint8_t *at, *end; /* of the packed bytes; isa-l has got those before */
    const char *damage;      /* NULL: none so far */
    enum status status;      /* STATUS_CANCELLED, STATUS_DEADLINE: it stopped */
    size_t taken;            /* bytes */

    /* Bytes that are ready and not yet taken: a string of LZW, or bytes of PackBits as they lie in
     * the file; or one byte of PackBits, again and again. */
    const uint8_t *ready;
    size_t ready_bytes;
    bool again;

    struct lzw lzw;
    lzw_string table[LZW_CODES];
    uint8_t string[LZW_CODES + LZW_PART]; /* one that is not wanted whole yet */
    bool old_codes;                       /* of the first writers: the first bit is the lowest */
    struct tiff_bits {                    /* that were read */
        uint64_t word;                    /* the next ones highest, those of old codes lowest */
        unsigned held;                    /* their number */
    } bits;

    struct inflate_state inflate;
};

/* Begins with BYTES of COMPRESSION. */
void tiff_stream_open(struct tiff_stream *stream, enum tiff_compression compression,
                      const uint8_t *bytes, size_t length);

/* Writes the next COUNT bytes. False: they are not there. */
bool tiff_stream_take(struct tiff_stream *stream, uint8_t *to, size_t count);

/* Behind the last byte that is wanted: finds damage by deflate's checksum, unless more bytes come
 * than half of those before and 512. Their input is within the bounds of tiff_find_block(). */
void tiff_stream_finish(struct tiff_stream *stream);

#endif

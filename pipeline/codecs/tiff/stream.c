// SPDX-License-Identifier: Apache-2.0
/* How it works. PackBits and LZW read a code when what is ready has been taken. isa-l inflates
 * straight to where the bytes are wanted. */
#include "pipeline/codecs/tiff/stream.h"

/* isa-l counts bytes in 32 bits, only to refuse what points to before the first. The deadline is
 * looked at between pieces, and for the other kinds wherever a multiple of it is left. */
enum { TOTAL_MAX = 1 << 30, PIECE_MAX = 64 << 10, MORE = 512 }; /* bytes */

void tiff_stream_open(struct tiff_stream *stream, enum tiff_compression compression,
                      const uint8_t *bytes, size_t length) {
    stream->compression = compression;
    stream->at = bytes;
    stream->end = bytes + length;
    stream->damage = NULL;
    stream->ready_bytes = stream->taken = 0;
    stream->word = stream->held = 0;
    switch (compression) {
    case TIFF_RAW:
        stream->ready = bytes;
        stream->ready_bytes = length;
        stream->at = stream->end;
        break;
    case TIFF_PACKBITS: break;
    case TIFF_LZW: /* the first code clears: nine bits, of which the highest is set */
        stream->old_codes = length >= 2 && bytes[0] == 0 && bytes[1] & 1;
        stream->lzw.literal_bits = 8;
        stream->lzw.early = !stream->old_codes;
        lzw_clear(&stream->lzw);
        break;
    default: isal_inflate_init(&stream->inflate); stream->inflate.crc_flag = ISAL_ZLIB;
    }
}

/* ---- deflate */

static bool is_deflate(const struct tiff_stream *stream) {
    return stream->compression == TIFF_DEFLATE || stream->compression == TIFF_OLD_DEFLATE;
}

static bool is_ended(const struct tiff_stream *stream) {
    return stream->inflate.block_state == ISAL_BLOCK_FINISH;
}

/* Returns the bytes that it wrote, at most COUNT. */
static size_t inflate_bytes(struct tiff_stream *stream, uint8_t *to, size_t count) {
    struct inflate_state *inflate = &stream->inflate;
    inflate->next_out = to;
    inflate->avail_out = (uint32_t)count;
    if (inflate->total_out > TOTAL_MAX) inflate->total_out = TOTAL_MAX;
    while (inflate->avail_out && !is_ended(stream)) {
        const uint32_t before = inflate->avail_out;
        const size_t left = (size_t)(stream->end - stream->at);
        const bool more = inflate->avail_in || left;
        if (!inflate->avail_in) {
            inflate->next_in = (uint8_t *)stream->at; /* isa-l reads it only */
            inflate->avail_in = (uint32_t)(left < PIECE_MAX ? left : PIECE_MAX);
            stream->at += inflate->avail_in;
        }
        stream->status = progress_check(stream->progress);
        if (stream->status) break;
        const int result = isal_inflate(inflate);
        if (result == ISAL_INCORRECT_CHECKSUM)
            stream->damage = "the checksum of a strip or tile is wrong";
        else if (result != ISAL_DECOMP_OK)
            stream->damage = "a strip or tile cannot be unpacked";
        else if (!more && before == inflate->avail_out && !is_ended(stream))
            stream->damage = "a strip or tile is cut off";
        if (stream->damage) break;
    }
    return count - inflate->avail_out;
}

/* ---- the other kinds */

/* -1: there is none, or time ran out. */
static int next_byte(struct tiff_stream *stream) {
    const size_t left = (size_t)(stream->end - stream->at);
    if (left % PIECE_MAX == 0) stream->status = progress_check(stream->progress);
    return left && !stream->status ? *stream->at++ : -1;
}

/* False: there are no more codes. */
static bool next_run(struct tiff_stream *stream) {
    int code;
    do code = next_byte(stream);
    while (code == 128); /* means nothing */
    if (code < 0) return false;
    const size_t left = (size_t)(stream->end - stream->at);
    stream->again = code > 128;
    stream->ready = stream->at;
    stream->ready_bytes = stream->again ? 257 - (size_t)code : (size_t)code + 1;
    const size_t bytes = stream->again ? 1 : stream->ready_bytes;
    if (left < bytes) stream->ready_bytes = stream->again ? 0 : left;
    stream->at += left < bytes ? left : bytes;
    return stream->ready_bytes > 0;
}

/* Some bytes more, which is faster than one. False: there is none, or time ran out. */
static bool hold_bytes(struct tiff_stream *stream) {
    const size_t left = (size_t)(stream->end - stream->at), bytes = left < 4 ? left : 4;
    if (left / PIECE_MAX != (left - bytes) / PIECE_MAX)
        stream->status = progress_check(stream->progress);
    if (!left || stream->status) return false;
    if (bytes == 4 && !stream->old_codes) {
        stream->word = stream->word << 32 | read_be32(stream->at);
        stream->at += 4;
        stream->held += 32;
        return true;
    }
    for (size_t i = 0; i < bytes; i++, stream->held += 8) {
        const uint64_t byte = *stream->at++;
        stream->word =
            stream->old_codes ? stream->word | byte << stream->held : stream->word << 8 | byte;
    }
    return true;
}

/* -1: there is none. */
static inline int next_code(struct tiff_stream *stream) {
    const unsigned bits = stream->lzw.bits;
    const uint64_t mask = (1u << bits) - 1;
    uint64_t code;
    while (stream->held < bits)
        if (!hold_bytes(stream)) return -1;
    stream->held -= bits;
    if (stream->old_codes) {
        code = stream->word & mask;
        stream->word >>= bits;
    } else {
        code = stream->word >> stream->held & mask;
    }
    return (int)code;
}

/* False: there are no more codes, or one means nothing. */
static bool next_string(struct tiff_stream *stream) {
    struct lzw *lzw = &stream->lzw;
    int code = next_code(stream);
    while (code == lzw_clear_code(lzw)) {
        lzw_clear(lzw);
        code = next_code(stream);
    }
    if (code < 0 || code == lzw_end_code(lzw)) return false;
    stream->ready = lzw_string(lzw, code, &stream->ready_bytes);
    if (!stream->ready) {
        stream->ready_bytes = 0;
        stream->damage = "a strip or tile has a code of no meaning";
    }
    return stream->ready != NULL;
}

/* Returns the bytes that it wrote, at most COUNT. */
static size_t take_ready(struct tiff_stream *stream, uint8_t *to, size_t count) {
    const size_t bytes = stream->ready_bytes < count ? stream->ready_bytes : count;
    if (stream->again && stream->compression == TIFF_PACKBITS) {
        memset(to, *stream->ready, bytes);
    } else {
        memcpy(to, stream->ready, bytes);
        stream->ready += bytes;
    }
    stream->ready_bytes -= bytes;
    return bytes;
}

static bool refill(struct tiff_stream *stream) {
    if (stream->compression == TIFF_PACKBITS) return next_run(stream);
    return stream->compression == TIFF_LZW && next_string(stream);
}

/* ---- all of them */

bool tiff_stream_take(struct tiff_stream *stream, uint8_t *to, size_t count) {
    size_t done = 0;
    if (is_deflate(stream))
        done = inflate_bytes(stream, to, count);
    else
        while (done < count && (stream->ready_bytes || refill(stream)))
            done += take_ready(stream, to + done, count - done);
    if (done < count && !stream->damage) stream->damage = "a strip or tile has too few bytes";
    stream->taken += done;
    return !stream->damage && !stream->status;
}

void tiff_stream_finish(struct tiff_stream *stream) {
    uint8_t more[MORE];
    size_t most = stream->taken / 2 + MORE;
    while (is_deflate(stream) && !is_ended(stream) && !stream->damage && !stream->status && most)
        most -= inflate_bytes(stream, more, most < MORE ? most : MORE);
}

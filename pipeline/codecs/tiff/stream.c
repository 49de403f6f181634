// SPDX-License-Identifier: Apache-2.0
/* How it works. PackBits reads a code when what is ready has been taken. LZW writes its strings
 * straight to where the bytes are wanted, as isa-l does; a part of the last one may be ready then.
 */
#include "pipeline/codecs/tiff/stream.h"

/* isa-l counts bytes in 32 bits, only to refuse what points to before the first. The deadline is
 * looked at between pieces, and for the other kinds wherever a multiple of it is left. */
enum { TOTAL_MAX = 1 << 30, PIECE_MAX = 1 << 16, MORE = 512 }; /* bytes */
enum { LITERAL_BITS = 8, GROUP = 4 }; /* of LZW: codes, of which 56 bits have room */

void tiff_stream_open(struct tiff_stream *stream, enum tiff_compression compression,
                      const uint8_t *bytes, size_t length) {
    stream->compression = compression;
    stream->at = bytes;
    stream->end = bytes + length;
    stream->damage = NULL;
    stream->ready_bytes = stream->taken = 0;
    stream->bits = (struct tiff_bits){ 0, 0 };
    switch (compression) {
    case TIFF_RAW:
        stream->ready = bytes;
        stream->ready_bytes = length;
        stream->at = stream->end;
        break;
    case TIFF_PACKBITS: break;
    case TIFF_LZW: /* the first code clears: nine bits, of which the highest is set */
        stream->old_codes = length >= 2 && bytes[0] == 0 && bytes[1] & 1;
        lzw_begin(&stream->lzw, stream->table, LITERAL_BITS, !stream->old_codes);
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

/* ---- PackBits */

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

/* ---- LZW */

#define INLINE static inline __attribute__((always_inline))

/* The file's last bytes, or those of old codes, to come behind HELD bits. */
static uint64_t read_bytes(const struct tiff_stream *stream, size_t bytes, unsigned held) {
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++, held += 8)
        word |= (uint64_t)stream->at[i] << (stream->old_codes ? held : 56 - held);
    return word;
}

static bool is_wanted(struct tiff_stream *stream) {
    stream->status = progress_check(stream->progress);
    return !stream->status;
}

/* Reads as many bytes as BITS has room for. False: there is none, or time ran out. */
INLINE bool hold_bytes(struct tiff_stream *stream, struct tiff_bits *bits, bool old) {
    const size_t left = (size_t)(stream->end - stream->at), room = (63 - bits->held) / 8;
    const bool many = left >= 8 && !old;
    const size_t bytes = many || left > room ? room : left;
    if (((left - bytes) ^ left) & PIECE_MAX && !is_wanted(stream)) return false;
    /* The first bits of a byte that has no room for all come once more, the same. */
    bits->word |=
        many ? read_be64(stream->at) >> bits->held : read_bytes(stream, bytes, bits->held);
    bits->held += 8 * (unsigned)bytes;
    stream->at += bytes;
    return bytes > 0;
}

/* Takes the next COUNT bits. False: there are none. */
INLINE bool next_code(struct tiff_stream *stream, struct tiff_bits *bits, unsigned count, bool old,
                      unsigned *code) {
    while (bits->held < count)
        if (!hold_bytes(stream, bits, old)) return false;
    *code = (unsigned)(old ? bits->word & ((1u << count) - 1) : bits->word >> (64 - count));
    bits->word = old ? bits->word >> count : bits->word << count;
    bits->held -= count;
    return true;
}

/* Takes the codes that no byte is missing for: GROUP of them between two looks at the input, the
 * room and the size of codes, which is what a code costs most. Stops before one that clears, ends,
 * is an entry of its own string, has no room or may be wrong, and where the deadline is to be
 * looked at: that is one code's way. Returns the bytes that it wrote, less than COUNT, so that no
 * code is read behind the last byte that is wanted. */
INLINE size_t unpack_groups(struct tiff_stream *stream, struct lzw *lzw, struct tiff_bits *bits,
                            uint8_t *to, size_t count) {
    size_t done = 0;
    while (count - done > GROUP * LZW_PART && lzw->next + GROUP < lzw->grow_at) {
        const size_t left = (size_t)(stream->end - stream->at), bytes = (63 - bits->held) / 8;
        if (left < 8 || ((left - bytes) ^ left) & PIECE_MAX) return done;
        const unsigned width = lzw->bits;
        uint64_t word = bits->word | read_be64(stream->at) >> bits->held;
        unsigned i = 0;
#pragma GCC unroll 4
        for (; i < GROUP; i++) {
            const unsigned code = (unsigned)(word >> (64 - width));
            if (code >= lzw->next || code >> 1 == 1u << (LITERAL_BITS - 1)) break;
            const size_t length = lzw_length(lzw->table[code]);
            if (length > LZW_PART && count - done < length + GROUP * LZW_PART) break;
            word <<= width;
            lzw_enter(lzw, code);
            if (length > LZW_PART)
                lzw_write(lzw, to + done);
            else
                lzw_write_part(lzw->last, to + done);
            done += length;
        }
        bits->word = word;
        bits->held += 8 * (unsigned)bytes - i * width;
        stream->at += bytes;
        if (i < GROUP) break;
    }
    return done;
}

/* Returns the bytes that it wrote, COUNT unless there are no more codes or one means nothing. Each
 * code changes LZW and BITS, which are in registers meanwhile. */
INLINE size_t unpack_strings(struct tiff_stream *stream, uint8_t *to, size_t count, bool old) {
    struct lzw lzw = stream->lzw;
    struct tiff_bits bits = stream->bits;
    size_t done = stream->ready_bytes ? take_ready(stream, to, count) : 0;
    lzw.literal_bits = LITERAL_BITS; /* a constant from here on */
    lzw.early = !old;
    for (unsigned code; done < count;) {
        if (!old) done += unpack_groups(stream, &lzw, &bits, to + done, count - done);
        if (!next_code(stream, &bits, lzw.bits, old, &code)) break;
        if (code >> 1 == lzw_clear_code(&lzw) >> 1) {
            if (code == lzw_end_code(&lzw)) break;
            lzw_clear(&lzw);
            continue;
        }
        if (!lzw_take(&lzw, code)) {
            stream->damage = "a strip or tile has a code of no meaning";
            break;
        }
        const size_t length = lzw_length(lzw.last);
        if (count - done >= length + LZW_PART) {
            lzw_write(&lzw, to + done);
            done += length;
            continue;
        }
        lzw_write(&lzw, stream->string);
        stream->ready = stream->string;
        stream->ready_bytes = length;
        done += take_ready(stream, to + done, count - done);
    }
    stream->lzw = lzw;
    stream->bits = bits;
    return done;
}

/* ---- all of them */

bool tiff_stream_take(struct tiff_stream *stream, uint8_t *to, size_t count) {
    size_t done = 0;
    if (is_deflate(stream))
        done = inflate_bytes(stream, to, count);
    else if (stream->compression == TIFF_LZW)
        done = stream->old_codes ? unpack_strings(stream, to, count, true)
                                 : unpack_strings(stream, to, count, false);
    else
        while (done < count && (stream->ready_bytes || next_run(stream)))
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

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/png/stream.h"

#include "pipeline/codecs/png/parts.h"
#include "pipeline/rows/unfilter.h"

#include <stdlib.h>

/* isa-l counts bytes in 32 bits, only to refuse what points to before the first. Of empty blocks
 * a piece takes 40 ms, and the deadline is looked at between pieces. */
enum { MATCH_MAX = 258, TOTAL_MAX = 1 << 30, PIECE_MAX = 256 << 10 }; /* bytes */

size_t png_stream_memory(size_t row) {
    return sizeof(struct inflate_state) + PNG_WINDOW + row + UNFILTER_PAD;
}

bool png_stream_open(struct png_stream *stream, const struct decoding *decoding, size_t at,
                     size_t row) {
    *stream = (struct png_stream){ .decoding = decoding, .at = at, .room = PNG_WINDOW + row };
    stream->inflate = calloc(1, sizeof *stream->inflate); /* no bytes of others, whatever comes */
    stream->window = calloc(1, stream->room + UNFILTER_PAD);
    if (!stream->inflate || !stream->window) return false;
    isal_inflate_init(stream->inflate);
    stream->inflate->crc_flag = ISAL_ZLIB;
    return true;
}

void png_stream_close(struct png_stream *stream) {
    free(stream->inflate);
    free(stream->window);
}

static bool is_ended(const struct png_stream *stream) {
    return stream->inflate->block_state == ISAL_BLOCK_FINISH;
}

/* A damaged IDAT may be accepted: the stream's own checksum judges, too. */
static bool accept(struct png_stream *stream, const char *damage) {
    const bool accepted = stream->decoding->limits->accept_damage;
    if (accepted)
        codec_damage(stream->decoding, damage);
    else
        stream->damage = damage;
    return accepted;
}

/* Gives isa-l more of the IDATs. false: there is none, or it is damaged. */
static bool next_piece(struct png_stream *stream) {
    const struct decoding *decoding = stream->decoding;
    struct png_chunk chunk;
    if (!stream->piece_left) {
        const size_t end = png_read_chunk(decoding->bytes, decoding->length, stream->at, &chunk);
        if (!end || !png_is(&chunk, "IDAT")) return false;
        if (!chunk.sound && !accept(stream, "IDAT is cut off or its checksum is wrong"))
            return false;
        stream->at = end;
        stream->piece = chunk.data;
        stream->piece_left = chunk.length;
    }
    const size_t size = stream->piece_left < PIECE_MAX ? stream->piece_left : PIECE_MAX;
    stream->inflate->next_in = (uint8_t *)stream->piece; /* isa-l reads it only */
    stream->inflate->avail_in = (uint32_t)size;
    stream->piece += size;
    stream->piece_left -= size;
    return true;
}

/* Fills the window as far as there is data. */
static void inflate_more(struct png_stream *stream) {
    struct inflate_state *inflate = stream->inflate;
    memmove(stream->window, stream->window + stream->from, stream->to - stream->from);
    stream->to -= stream->from;
    stream->from = 0;
    inflate->next_out = stream->window + stream->to;
    inflate->avail_out = (uint32_t)(stream->room - stream->to);
    if (inflate->total_out > TOTAL_MAX) inflate->total_out = TOTAL_MAX;
    while (inflate->avail_out && !is_ended(stream) && !stream->damage) {
        const bool more = inflate->avail_in || next_piece(stream);
        const uint32_t before = inflate->avail_out;
        stream->status = progress_check(stream->decoding->progress);
        if (stream->damage || stream->status) break;
        const int result = isal_inflate(inflate);
        const uint32_t fresh = before - inflate->avail_out;
        if (result == ISAL_INCORRECT_CHECKSUM) {
            stream->damage = "the checksum of the pixels in IDAT is wrong";
        } else if (result != ISAL_DECOMP_OK) { /* a match that is wrong is counted, not written */
            inflate->next_out -= fresh < MATCH_MAX ? fresh : MATCH_MAX;
            stream->damage = "the pixels in IDAT cannot be unpacked";
        } else if (!more && !fresh && !is_ended(stream)) {
            stream->damage = "IDAT ends before the pixels do";
        }
    }
    stream->to = (size_t)(inflate->next_out - stream->window);
}

const uint8_t *png_stream_take(struct png_stream *stream, size_t count) {
    if (stream->to - stream->from < count) inflate_more(stream);
    if (stream->to - stream->from < count) {
        if (!stream->damage && !stream->status)
            stream->damage = "IDAT has fewer pixels than the header says";
        return NULL;
    }
    const uint8_t *bytes = stream->window + stream->from;
    stream->from += count;
    return bytes;
}

void png_stream_finish(struct png_stream *stream, uint64_t most) {
    const struct inflate_state *inflate = stream->inflate;
    uint64_t pixels = 0;
    do {
        pixels += stream->to - stream->from;
        stream->from = stream->to;
        if (pixels > most) stream->damage = "IDAT has far more pixels than the header says";
        if (!stream->damage) inflate_more(stream);
    } while (!stream->status && !stream->damage &&
             (stream->from < stream->to || !is_ended(stream)));
    if (stream->status || stream->damage) return;
    size_t behind = inflate->avail_in + (size_t)inflate->read_in_length / 8;
    while (next_piece(stream)) behind += inflate->avail_in;
    stream->surplus = pixels || behind;
}

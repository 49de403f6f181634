// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/png/adaptive_deflate.h"

enum {
    LEVEL = 7,            /* half again as fast as 8, and 2 % larger on drawings */
    MEMORY = 9,           /* blocks of 32 Ki symbols */
    WINDOW = 15,          /* 32 KiB */
    SAMPLE_PART = 8,      /* of a band is tried: most of the time is the search of that */
    SAMPLE_LEAST = 16384, /* bytes; what is smaller is tried whole */
    SCRATCH = 16384
};

/* The ways to write a band. */
struct way {
    int level, strategy;
};
static const struct way search = { LEVEL, Z_FILTERED };
static const struct way runs = { LEVEL, Z_RLE };
static const struct way store = { 0, Z_DEFAULT_STRATEGY };

bool adaptive_deflate_init(struct adaptive_deflate *state, int level) {
    *state = (struct adaptive_deflate){ .fixed = level, .level = level ? level : LEVEL };
    state->strategy = level ? Z_DEFAULT_STRATEGY : Z_RLE;
    state->open = deflateInit2(&state->stream, state->level, Z_DEFLATED, WINDOW, MEMORY,
                               state->strategy) == Z_OK;
    return state->open;
}

void adaptive_deflate_release(struct adaptive_deflate *state) {
    if (state->open) deflateEnd(&state->stream);
    state->open = false;
}

/* Bytes that LENGTH of them become by WAY, behind what the stream has had; 0: no memory. The bytes
 * themselves are thrown away. */
static size_t try_way(const struct adaptive_deflate *state, const struct way *way,
                      const uint8_t *bytes, size_t length) {
    uint8_t scratch[SCRATCH];
    size_t size = 0;
    z_stream trial = { .zalloc = Z_NULL };
    if (deflateCopy(&trial, (z_stream *)&state->stream) != Z_OK) return 0; /* reads it only */
    trial.next_out = scratch;
    trial.avail_out = sizeof scratch;
    deflateParams(&trial, way->level, way->strategy);
    trial.next_in = (Bytef *)bytes; /* zlib reads it only */
    trial.avail_in = (uInt)length;
    do {
        size += sizeof scratch - trial.avail_out;
        trial.next_out = scratch;
        trial.avail_out = sizeof scratch;
        deflate(&trial, Z_BLOCK);
    } while (trial.avail_out == 0);
    size += sizeof scratch - trial.avail_out;
    deflateEnd(&trial);
    return size;
}

/* false: no memory. */
static bool choose_way(struct adaptive_deflate *state, const uint8_t *bytes, size_t length) {
    const size_t part = length / SAMPLE_PART;
    const size_t sample = part > SAMPLE_LEAST     ? part
                          : length < SAMPLE_LEAST ? length
                                                  : SAMPLE_LEAST;
    const size_t searched = try_way(state, &search, bytes, sample);
    const size_t run = try_way(state, &runs, bytes, sample);
    const struct way *way = searched < run ? &search : &runs;
    if (searched >= sample && run >= sample) way = &store;
    state->level = way->level;
    state->strategy = way->strategy;
    return searched && run;
}

bool adaptive_deflate_band(struct adaptive_deflate *state, const uint8_t *bytes, size_t length,
                           bool last) {
    state->flush = last ? Z_FINISH : Z_BLOCK;
    state->band = bytes;
    state->length = length;
    return state->fixed || choose_way(state, bytes, length);
}

bool adaptive_deflate_take(struct adaptive_deflate *state, uint8_t *out, size_t room,
                           size_t *written) {
    z_stream *stream = &state->stream;
    stream->next_out = out;
    stream->avail_out = (uInt)room;
    if (state->band) { /* what came before is written in its own way */
        deflateParams(stream, state->level, state->strategy);
        stream->next_in = (Bytef *)state->band;
        stream->avail_in = (uInt)state->length;
        state->band = NULL;
    }
    deflate(stream, state->flush);
    *written = room - stream->avail_out;
    return stream->avail_out == 0;
}

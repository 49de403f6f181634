// SPDX-License-Identifier: Apache-2.0
/* How it works. A row is done by AVX2 as far as that goes, its ends in plain C: of 64 pixels at a
 * time the map tells by a bit each where a seam goes through, and from one such bit to the next a
 * run of pixels is copied. Behind the run the pixel of the seam is left out, or it is the run's
 * last one and a new one follows. */
#include "pipeline/ops/carve/retarget.h"

#include "pipeline/band.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/ops/carve/retarget_row.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

#include <assert.h>

enum { BLOCK = 64, ROWS_A_LOOK = 16, PLAIN_FIRST = 4 };

/* Which of the COUNT pixels from FIRST on, BLOCK at most, are a seam's: bit by bit. */
static inline uint64_t crossed(const struct retarget_row *row, uint32_t first, uint32_t count) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < count; i++)
        bits |= (uint64_t)retarget_crosses(row->map[first + i], row->seams) << i;
    return bits;
}

/* As far as there is room: a map that lacks numbers leaves more pixels than the row has. */
static inline void copy_run(struct retarget_row *row, const uint8_t *from, size_t bytes) {
    const size_t room = (size_t)(row->out_end - row->out);
    if (bytes > room) bytes = room;
    memcpy(row->out, from, bytes);
    row->out += bytes;
}

/* The new pixel behind the one at AT, if there is room. */
static inline void put_mean(struct retarget_row *row, uint32_t at, unsigned channels,
                            unsigned depth) {
    if (row->out == row->out_end) return; /* else a whole pixel fits */
    const size_t left = (at ? at - 1 : 0) * (size_t)channels, here = at * (size_t)channels;
    const size_t right = (at + 1 < row->width ? at + 1 : at) * (size_t)channels;
    for (unsigned c = 0; c < channels; c++)
        sample_put(row->out, c, depth,
                   carve_mean(sample_get(row->in, left + c, depth),
                              sample_get(row->in, here + c, depth),
                              sample_get(row->in, right + c, depth)));
    row->out += channels * (depth / 8);
}

/* Pixels FIRST to END - 1. */
static inline void put_pixels(struct retarget_row *row, uint32_t first, uint32_t end,
                              unsigned channels, unsigned depth) {
    const size_t bytes = channels * (depth / 8);
    uint32_t start = first; /* of the run that is not copied yet */
    for (; first < end; first += BLOCK) {
        uint64_t bits = crossed(row, first, end - first < BLOCK ? end - first : BLOCK);
        for (; bits; bits &= bits - 1) {
            const uint32_t at = first + (uint32_t)__builtin_ctzll(bits);
            const uint32_t stop = row->grows ? at + 1 : at;
            copy_run(row, row->in + start * bytes, (stop - start) * bytes);
            if (row->grows) put_mean(row, at, channels, depth);
            start = at + 1;
        }
    }
    copy_run(row, row->in + start * bytes, (end - start) * bytes);
}

/* SHUFFLES: NULL without AVX2. */
static void put_row(struct retarget_row *row, const struct retarget_shuffles *shuffles) {
    uint32_t x = shuffles && row->width > PLAIN_FIRST ? PLAIN_FIRST : 0;
    SPECIALISE(row->channels, row->depth, put_pixels, row, 0, x);
    if (x) x = retarget_row_avx2(row, shuffles, x);
    SPECIALISE(row->channels, row->depth, put_pixels, row, x, row->width);
}

static struct retarget_row row_of(const struct op_call *call, uint32_t y) {
    const struct image *in = &call->in, *out = &call->out;
    return (struct retarget_row){
        .map = (const uint16_t *)(const void *)image_row(&call->common, y),
        .in = image_row(in, y),
        .in_end = image_row(in, y) + image_row_bytes(in),
        .out = image_row(out, y),
        .out_end = image_row(out, y) + image_row_bytes(out),
        .width = in->width,
        .seams = (uint16_t)carve_apart(in->width, out->width),
        .grows = out->width > in->width,
        .channels = in->channels,
        .depth = in->depth,
    };
}

static void retarget_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(call->in.height, index, pool_threads(call->pool));
    struct retarget_shuffles shuffles;
    const bool vectors = simd_has_avx2();
    if (vectors)
        retarget_shuffles_make(&shuffles, image_pixel_bytes(&call->in),
                               call->out.width > call->in.width);
    for (uint32_t y = band.first; y < band.end; y++) {
        struct retarget_row row = row_of(call, y);
        if (y % ROWS_A_LOOK == 0 && progress_check(call->progress)) return;
        put_row(&row, vectors ? &shuffles : NULL);
    }
}

enum status carve_retarget(const struct op_call *call) {
    const int64_t start = clock_ns();
    assert(call->common.width == call->in.width && call->common.height == call->in.height);
    assert(call->out.height == call->in.height);
    pool_run(call->pool, retarget_band, (void *)call, pool_threads(call->pool));
    timing_span(call->timing, "remove", 1, ns_to_ms(clock_ns() - start));
    return progress_check(call->progress);
}

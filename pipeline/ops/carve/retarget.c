// SPDX-License-Identifier: Apache-2.0
/* How it works. Of 64 pixels at a time the map tells by a bit each where a seam goes through. From
 * one such bit to the next a run of pixels is copied, mostly a short one: 32 bytes at once, of
 * which those that are too many are written again by what follows. Behind the run the pixel of the
 * seam is left out, or it is the run's last one and a new one follows. */
#include "pipeline/ops/carve/retarget.h"

#include "pipeline/band.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/sample.h"

#include <assert.h>

enum { BLOCK = 64, RUN_BYTES = 32, ROWS_A_LOOK = 16 };

struct row {
    const uint16_t *map;
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end; /* of what is still to be written */
    uint32_t width;
    uint16_t seams; /* so many are taken out or doubled */
    bool grows;
};

/* Which of the COUNT pixels from FIRST on, BLOCK at most, are a seam's: bit by bit. */
static inline uint64_t crossed(const struct row *row, uint32_t first, uint32_t count) {
    uint16_t numbers[BLOCK] = { 0 };
    uint8_t flags[BLOCK];
    uint64_t bits = 0;
    memcpy(numbers, row->map + first, count * sizeof *numbers);
    for (int i = 0; i < BLOCK; i++) flags[i] = (uint16_t)(numbers[i] - 1) < row->seams;
    for (int i = 0; i < BLOCK; i += 8) {
        uint64_t eight;
        memcpy(&eight, flags + i, sizeof eight);
        /* A byte is 0 or 1; byte b comes to bit 56 + b, and nothing is carried. */
        bits |= (eight * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return bits;
}

static inline void copy_run(struct row *row, const uint8_t *from, size_t bytes) {
    if (bytes <= RUN_BYTES && row->out_end - row->out >= RUN_BYTES &&
        row->in_end - from >= RUN_BYTES)
        memcpy(row->out, from, RUN_BYTES);
    else
        memcpy(row->out, from, bytes);
    row->out += bytes;
}

/* The new pixel behind the one at AT. */
static inline void put_mean(struct row *row, uint32_t at, unsigned channels, unsigned depth) {
    const size_t left = (at ? at - 1 : 0) * (size_t)channels, here = at * (size_t)channels;
    const size_t right = (at + 1 < row->width ? at + 1 : at) * (size_t)channels;
    for (unsigned c = 0; c < channels; c++)
        sample_put(row->out, c, depth,
                   carve_mean(sample_get(row->in, left + c, depth),
                              sample_get(row->in, here + c, depth),
                              sample_get(row->in, right + c, depth)));
    row->out += channels * (depth / 8);
}

static inline void retarget_row(const struct row *given, unsigned channels, unsigned depth) {
    struct row here = *given, *row = &here; /* which nothing else can point to */
    const size_t bytes = channels * (depth / 8);
    uint32_t start = 0; /* of the run that is not copied yet */
    for (uint32_t first = 0; first < row->width; first += BLOCK) {
        const uint32_t left = row->width - first;
        uint64_t bits = crossed(row, first, left < BLOCK ? left : BLOCK);
        for (; bits; bits &= bits - 1) {
            const uint32_t at = first + (uint32_t)__builtin_ctzll(bits);
            const uint32_t end = row->grows ? at + 1 : at;
            copy_run(row, row->in + start * bytes, (end - start) * bytes);
            if (row->grows) put_mean(row, at, channels, depth);
            start = at + 1;
        }
    }
    memcpy(row->out, row->in + start * bytes, (row->width - start) * bytes);
}

static struct row row_of(const struct op_call *call, uint32_t y) {
    const struct image *in = &call->in, *out = &call->out;
    return (struct row){
        .map = (const uint16_t *)(const void *)image_row(&call->common, y),
        .in = image_row(in, y),
        .in_end = image_row(in, y) + image_row_bytes(in),
        .out = image_row(out, y),
        .out_end = image_row(out, y) + image_row_bytes(out),
        .width = in->width,
        .seams = (uint16_t)carve_apart(in->width, out->width),
        .grows = out->width > in->width,
    };
}

static void retarget_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(call->in.height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end; y++) {
        const struct row row = row_of(call, y);
        if (y % ROWS_A_LOOK == 0 && progress_check(call->progress)) return;
        SPECIALISE(call->in.channels, call->in.depth, retarget_row, &row);
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

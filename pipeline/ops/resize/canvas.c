// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/resize/canvas.h"

#include "pipeline/band.h"

#include <string.h>

struct canvas {
    const struct frame *frame;
    struct image out;
    uint8_t pixel[8];
    struct pool *pool;
};

/* Pixels FIRST .. END - 1 of a row, from one on in pieces twice as long. */
static void fill_run(const struct canvas *canvas, uint8_t *row, uint32_t first, uint32_t end) {
    const size_t pixel = image_pixel_bytes(&canvas->out), bytes = (end - first) * pixel;
    uint8_t *to = row + first * pixel;
    if (first == end) return;
    memcpy(to, canvas->pixel, pixel);
    for (size_t done = pixel; done < bytes; done *= 2)
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

static void fill_band(void *argument, int index) {
    const struct canvas *canvas = argument;
    const struct frame_side *x = &canvas->frame->x, *y = &canvas->frame->y;
    const struct band band = band_of(y->out, index, pool_threads(canvas->pool));
    for (uint32_t i = band.first; i < band.end; i++) {
        uint8_t *row = image_row(&canvas->out, i);
        const bool beside = i >= y->at && i < y->at + y->count;
        fill_run(canvas, row, 0, beside ? x->at : x->out);
        if (beside) fill_run(canvas, row, x->at + x->count, x->out);
    }
}

void canvas_fill(const struct frame *frame, const struct image *out, uint32_t rgba,
                 struct pool *pool) {
    struct canvas canvas = { .frame = frame, .out = *out, .pool = pool };
    uint16_t samples[4];
    if (frame->x.count == frame->x.out && frame->y.count == frame->y.out) return;
    canvas_pixel(rgba, out->channels, out->depth, samples);
    for (unsigned c = 0; c < out->channels; c++) {
        if (out->depth == 16)
            memcpy(canvas.pixel + 2 * c, &samples[c], 2);
        else
            canvas.pixel[c] = (uint8_t)samples[c];
    }
    pool_run(pool, fill_band, &canvas, pool_threads(pool));
}

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/resize/canvas.h"

#include "pipeline/band.h"

#include <string.h>

struct canvas {
    const struct frame *frame;
    struct image out;
    long around;
    uint8_t pixel[8];
    struct pool *pool;
};

/* Fills pixels FIRST .. END - 1 of a row: one pixel first, then copies of doubling length. */
static void fill_run(const struct canvas *canvas, uint8_t *row, uint32_t first, uint32_t end) {
    const size_t pixel = image_pixel_bytes(&canvas->out), bytes = (end - first) * pixel;
    uint8_t *to = row + first * pixel;
    if (first == end) return;
    memcpy(to, canvas->pixel, pixel);
    for (size_t done = pixel; done < bytes; done *= 2)
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

/* Copies pixels of the picture, which is in place. */
static void repeat_around(const struct canvas *canvas, uint32_t row) {
    const struct frame_side *x = &canvas->frame->x, *y = &canvas->frame->y;
    const size_t pixel = image_pixel_bytes(&canvas->out);
    const uint32_t source = canvas_source(row, y->at, y->count, canvas->around);
    const uint8_t *from = image_row(&canvas->out, source);
    uint8_t *to = image_row(&canvas->out, row);
    if (from != to) memcpy(to + x->at * pixel, from + x->at * pixel, x->count * pixel);
    for (uint32_t i = 0; i < x->out; i++) {
        if (i == x->at) i += x->count;
        if (i == x->out) break;
        memcpy(to + i * pixel, to + canvas_source(i, x->at, x->count, canvas->around) * pixel,
               pixel);
    }
}

static void fill_around(void *argument, int index) {
    const struct canvas *canvas = argument;
    const struct frame_side *x = &canvas->frame->x, *y = &canvas->frame->y;
    const struct band band = band_of(y->out, index, pool_threads(canvas->pool));
    for (uint32_t i = band.first; i < band.end; i++) {
        if (canvas->around != AROUND_BACKGROUND) {
            repeat_around(canvas, i);
            continue;
        }
        uint8_t *row = image_row(&canvas->out, i);
        const bool beside = i >= y->at && i < y->at + y->count;
        fill_run(canvas, row, 0, beside ? x->at : x->out);
        if (beside) fill_run(canvas, row, x->at + x->count, x->out);
    }
}

void canvas_fill(const struct frame *frame, const struct image *out, uint32_t rgba, long around,
                 struct pool *pool) {
    struct canvas canvas = { .frame = frame, .out = *out, .around = around, .pool = pool };
    if (frame->x.count == frame->x.out && frame->y.count == frame->y.out) return;
    canvas_pixel_bytes(rgba, out->channels, out->depth, canvas.pixel);
    pool_run(pool, fill_around, &canvas, pool_threads(pool));
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. resize scales the overlay into the scratch, if asked to. Then bands of rows are
 * copied to the result, which gets three channels of one where it becomes RGB, and the overlay is
 * laid over the copy, a piece of a row at a time: a piece for each tile. */
#include "pipeline/ops/composite.h"

#include "pipeline/arena.h"
#include "pipeline/sample.h"

static const struct param params[] = {
    [COMPOSITE_POSITION] = { .name = "position",
                             .summary = "The side of the image at which the overlay lies",
                             .type = PARAM_CHOICE,
                             .choices = { "centre", "north", "northeast", "east", "southeast",
                                          "south", "southwest", "west", "northwest" } },
    [COMPOSITE_X] = { .name = "x",
                      .summary = "Columns from that side inwards; from the centre to the right",
                      .unit = "pixels",
                      .type = PARAM_INT,
                      .min = -IMAGE_SIDE_MAX,
                      .max = IMAGE_SIDE_MAX },
    [COMPOSITE_Y] = { .name = "y",
                      .summary = "Rows from that side inwards; from the centre down",
                      .unit = "pixels",
                      .type = PARAM_INT,
                      .min = -IMAGE_SIDE_MAX,
                      .max = IMAGE_SIDE_MAX },
    [COMPOSITE_TILE] = { .name = "tile",
                         .summary = "Repeat the overlay over the whole image",
                         .type = PARAM_BOOL },
    [COMPOSITE_OPACITY] = { .name = "opacity",
                            .summary = "How much of the overlay shows; 0: nothing, 1: as it is",
                            .type = PARAM_DECIMAL,
                            .min = 0,
                            .max = 1000,
                            .def = 1000 },
    [COMPOSITE_SCALE] = { .name = "scale",
                          .summary = "The overlay's width beside the image's; it never gets higher "
                                     "than the image. 0: as it is",
                          .unit = "percent",
                          .type = PARAM_INT,
                          .min = 0,
                          .max = 100 },
    [COMPOSITE_BLEND] = { .name = "blend",
                          .summary = "How colours mix: the overlay's alone, or by W3C's formulas",
                          .type = PARAM_CHOICE,
                          .choices = { "over", "multiply", "screen", "overlay", "soft-light" } },
    [COMPOSITE_COLOUR] = { .name = "colour",
                           .summary = "Whether a gray image becomes RGB for the overlay's colours",
                           .type = PARAM_BOOL,
                           .def = true },
    { .name = NULL },
};

static enum status composite_size(const struct params *values, const struct image *in,
                                  struct image *out, struct failure *failure) {
    if (values->number[COMPOSITE_SCALE] && !builtin_op_find("resize"))
        return fail(failure, STATUS_BAD_PARAM,
                    "composite: scale is not in this build, which has no resize");
    const unsigned more = in->channels < 3 && values->number[COMPOSITE_COLOUR] ? 2 : 0;
    *out = image_shape(in->width, in->height, in->channels + more, in->depth);
    return STATUS_OK;
}

/* Scaling reads the overlay, whose size is not known yet, with many taps. */
static uint32_t composite_aux_passes(const struct params *values, const struct image *in,
                                     int place) {
    (void)in, (void)place;
    return values->number[COMPOSITE_SCALE] ? 8 : 1;
}

struct composite {
    const struct op_call *call;
    struct image over; /* width 0: there is none */
    struct composite_corner corner;
};

/* ---- memory */

/* Lays out the scaled overlay; RESIZE's call follows it in the scratch. */
static size_t lay_out(const struct op_call *call, void *memory, struct image *over,
                      struct params *values, struct op_call *resize) {
    struct arena arena = { memory, 0 };
    *over = composite_shape(call->params, &call->in, &call->aux[0]);
    over->pixels = arena_take(&arena, image_bytes(over));
    arena.used = (arena.used + 255) / 256 * 256; /* as scratch begins */
    *resize = composite_resize(call, over, values);
    resize->scratch_bytes = resize->op->scratch(resize);
    resize->scratch = arena_take(&arena, resize->scratch_bytes);
    return arena.used;
}

static size_t composite_scratch(const struct op_call *call) {
    struct image over;
    struct params values;
    struct op_call resize;
    return composite_scales(call) ? lay_out(call, NULL, &over, &values, &resize) : 0;
}

/* ---- rows */

static inline void expand_row(const uint8_t *in, uint8_t *out, uint32_t width, unsigned channels,
                              unsigned depth) {
    const unsigned to = channels + 2;
    for (size_t x = 0; x < width; x++) {
        for (unsigned c = 0; c < 3; c++)
            sample_put(out, x * to + c, depth, sample_get(in, x * channels, depth));
        if (channels == 2)
            sample_put(out, x * to + 3, depth, sample_get(in, x * channels + 1, depth));
    }
}

/* The general case. OUT holds the picture's samples. */
static inline void lay_row(uint8_t *out, const uint8_t *over, uint32_t width, unsigned over_depth,
                           uint32_t opacity, int blend, unsigned channels, unsigned depth) {
    for (size_t x = 0; x < width; x++) {
        uint32_t front[4], back[4];
        for (unsigned c = 0; c < 4; c++) front[c] = sample_get(over, 4 * x + c, over_depth);
        if (front[3] == 0) continue;
        composite_front(front, over_depth, channels < 3 ? 1 : 3, depth, opacity);
        for (unsigned c = 0; c < channels; c++) back[c] = sample_get(out, x * channels + c, depth);
        composite_pixel(back, front, channels, depth, blend);
        for (unsigned c = 0; c < channels; c++) sample_put(out, x * channels + c, depth, back[c]);
    }
}

/* The same with BLEND_OVER as a constant, which is the usual case. */
static inline void lay_row_over(uint8_t *out, const uint8_t *over, uint32_t width,
                                unsigned over_depth, uint32_t opacity, unsigned channels,
                                unsigned depth) {
    lay_row(out, over, width, over_depth, opacity, BLEND_OVER, channels, depth);
}

static void lay_piece(const struct composite *composite, uint8_t *out, const uint8_t *over,
                      uint32_t width) {
    const long *number = composite->call->params->number;
    const uint32_t opacity = (uint32_t)number[COMPOSITE_OPACITY];
    const unsigned channels = composite->call->out.channels, depth = composite->call->out.depth;
    const int blend = (int)number[COMPOSITE_BLEND];
    const unsigned over_depth = composite->over.depth;
    if (channels == 3 && depth == 8 && over_depth == 8 && blend != BLEND_SOFT_LIGHT)
        over_rgb8(out, over, width, opacity, blend);
    else if (blend != BLEND_OVER)
        SPECIALISE(channels, depth, lay_row, out, over, width, over_depth, opacity, blend);
    else if (channels == 4 && depth == 8 && over_depth == 8)
        over_rgba8(out, over, width, opacity);
    else
        SPECIALISE(channels, depth, lay_row_over, out, over, width, over_depth, opacity);
}

/* Lays row OVER_Y of the overlay over OUT, a row of the picture. */
static void lay_overlay(const struct composite *composite, uint8_t *out, uint32_t over_y) {
    const struct image *over = &composite->over, *picture = &composite->call->out;
    const bool tile = composite->call->params->number[COMPOSITE_TILE];
    const int32_t width = (int32_t)picture->width, length = (int32_t)over->width;
    int32_t left = composite->corner.left;
    if (tile) left = composite_first_tile(left, over->width);
    for (; left < width; left += length) {
        const int32_t first = left < 0 ? 0 : left;
        const int32_t end = left + length < width ? left + length : width;
        if (first < end)
            lay_piece(composite, out + (size_t)first * image_pixel_bytes(picture),
                      image_row(over, over_y) + (size_t)(first - left) * image_pixel_bytes(over),
                      (uint32_t)(end - first));
        if (!tile) break;
    }
}

static void composite_row(const struct composite *composite, uint32_t y) {
    const struct op_call *call = composite->call;
    const uint8_t *in = image_row(&call->in, y);
    uint8_t *out = image_row(&call->out, y);
    if (call->in.channels != call->out.channels)
        SPECIALISE(call->in.channels, call->in.depth, expand_row, in, out, call->in.width);
    else
        memcpy(out, in, image_row_bytes(&call->in));
    if (!composite->over.width) return;
    int64_t over_y = (int64_t)y - composite->corner.top;
    const int64_t height = composite->over.height;
    if (call->params->number[COMPOSITE_TILE]) over_y = (over_y % height + height) % height;
    if (over_y >= 0 && over_y < height) lay_overlay(composite, out, (uint32_t)over_y);
}

static void composite_band(void *argument, int index) {
    const struct composite *composite = argument;
    const struct op_call *call = composite->call;
    const struct band band = band_of(call->in.height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        composite_row(composite, y);
}

static enum status composite_run(struct op_call *call) {
    struct composite composite = { .call = call, .over = call->aux[0] };
    if (composite_scales(call)) {
        struct params values;
        struct op_call resize;
        lay_out(call, call->scratch, &composite.over, &values, &resize);
        const enum status status = resize.op->run(&resize);
        if (status) return status;
    }
    if (composite.over.width) composite.corner = composite_corner_of(call, &composite.over);
    pool_run(call->pool, composite_band, &composite, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_composite = {
    .name = "composite",
    .title = "Overlay a picture",
    .group = OP_SIZE,
    .summary = "A second picture over the image, such as a watermark",
    .params = params,
    .aux = { { "overlay", "The picture to lay over, of any size and type; its profile is ignored",
               AUX_PICTURE } },
    .size = composite_size,
    .aux_passes = composite_aux_passes,
    .scratch = composite_scratch,
    .run = composite_run,
};

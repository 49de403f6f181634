// SPDX-License-Identifier: Apache-2.0
/* How it works. The sides of the scaled picture are found first, then for each axis which part is
 * kept and where it lies. */
#include "pipeline/ops/resize/frame.h"

#include "pipeline/ops/resize/canvas.h"

/* The request for one axis: its length, 0 if none; a point in thousandths, or -1; the compass as
 * -1, 0 or 1. */
struct wish {
    uint32_t size;
    long point;
    int compass;
};

/* Rounds half up, at least 1. Products of two sides, doubled, fit easily. */
static uint64_t in_proportion(uint64_t side, uint64_t other_goal, uint64_t other) {
    const uint64_t rounded = (2 * side * other_goal + other) / (2 * other);
    return rounded ? rounded : 1;
}

/* ---- the scaled picture */

struct sides {
    uint64_t x, y;
};

static struct sides in_width(const struct image *in, uint32_t width) {
    return (struct sides){ width, in_proportion(in->height, width, in->width) };
}

static struct sides in_height(const struct image *in, uint32_t height) {
    return (struct sides){ in_proportion(in->width, height, in->height), height };
}

static struct sides scaled(const struct params *params, const struct image *in,
                           const struct wish wishes[2]) {
    const uint32_t width = wishes[0].size, height = wishes[1].size;
    const long fit = params->number[RESIZE_FIT];
    struct sides sides = { width, height };
    if (!width || !height) {
        sides = width ? in_width(in, width) : in_height(in, height);
    } else if (fit != FIT_FILL) {
        const bool outside = fit != FIT_INSIDE && fit != FIT_CONTAIN;
        const bool wide = (uint64_t)width * in->height <= (uint64_t)height * in->width;
        sides = wide != outside ? in_width(in, width) : in_height(in, height);
    }
    if (params->number[RESIZE_ENLARGE] || (sides.x <= in->width && sides.y <= in->height))
        return sides;
    if (fit != FIT_FILL || !width || !height) return (struct sides){ in->width, in->height };
    return (struct sides){ sides.x < in->width ? sides.x : in->width,
                           sides.y < in->height ? sides.y : in->height };
}

/* ---- the kept part and its place */

/* Returns the start of a window of COUNT pixels on LENGTH. */
static uint32_t start_of(const struct wish *wish, uint64_t length, uint64_t count) {
    const uint64_t slack = length - count;
    if (wish->point < 0) return (uint32_t)(wish->compass < 0 ? 0 : slack >> !wish->compass);
    const uint64_t middle = 2 * (uint64_t)wish->point * length, half = 1000 * count;
    const uint64_t start = middle < half ? 0 : (middle - half) / 2000;
    return (uint32_t)(start < slack ? start : slack);
}

/* SHARE is the percentage of the excess that is removed by seams. */
static void cut(struct frame_side *side, const struct wish *wish, unsigned share) {
    const uint64_t over = side->to > wish->size ? side->to - wish->size : 0;
    side->seams = (uint32_t)((2 * over * share + 100) / 200);
    side->count = side->out = (uint32_t)(side->to - over);
    side->first = start_of(wish, side->to - side->seams, side->count);
}

static void lay(struct frame_side *side, const struct wish *wish) {
    const uint64_t slack = wish->size - side->to;
    side->out = wish->size;
    if (wish->point >= 0)
        side->at = (uint32_t)(slack * (uint64_t)wish->point / 1000);
    else
        side->at = (uint32_t)(wish->compass < 0 ? 0 : slack >> !wish->compass);
}

/* ---- checks */

static enum status check_wishes(const struct params *params, const struct wish wishes[2],
                                struct failure *failure) {
    if (!wishes[0].size && !wishes[1].size)
        return fail(failure, STATUS_BAD_PARAM,
                    "resize: width or height must be given, or both: integer 1..%d pixels",
                    IMAGE_SIDE_MAX);
    if (params->number[RESIZE_POSITION] != POSITION_CENTRE &&
        (params->number[RESIZE_X] >= 0 || params->number[RESIZE_Y] >= 0))
        return fail(failure, STATUS_BAD_PARAM, "resize takes position, or x and y, not both");
    return STATUS_OK;
}

static enum status check_whole(const struct frame *frame, const struct sides *sides,
                               struct failure *failure) {
    const uint64_t in = (uint64_t)frame->x.from * frame->y.from;
    const uint64_t out = (uint64_t)frame->x.out * frame->y.out;
    uint64_t most = FRAME_GROWTH_MAX * (in > out ? in : out);
    if (most < FRAME_PIXELS_MIN) most = FRAME_PIXELS_MIN;
    if (!frame->whole ||
        (sides->x <= IMAGE_SIDE_MAX && sides->y <= IMAGE_SIDE_MAX && sides->x * sides->y <= most))
        return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "resize: for fit=carve or position=smart the image becomes %llu x %llu before it "
                "is cut, over %llu pixels or %d a side: choose width and height more like its own",
                (unsigned long long)sides->x, (unsigned long long)sides->y,
                (unsigned long long)most, IMAGE_SIDE_MAX);
}

/* ---- all together */

static void read_wishes(const struct params *params, struct wish wishes[2]) {
    static const signed char compass[][2] = {
        [POSITION_NORTH] = { 0, -1 }, [POSITION_NORTHEAST] = { 1, -1 },
        [POSITION_EAST] = { 1, 0 },   [POSITION_SOUTHEAST] = { 1, 1 },
        [POSITION_SOUTH] = { 0, 1 },  [POSITION_SOUTHWEST] = { -1, 1 },
        [POSITION_WEST] = { -1, 0 },  [POSITION_NORTHWEST] = { -1, -1 },
        [POSITION_SMART] = { 0, 0 },
    };
    const long *number = params->number;
    for (int i = 0; i < 2; i++)
        wishes[i] = (struct wish){ .size = (uint32_t)number[i ? RESIZE_HEIGHT : RESIZE_WIDTH],
                                   .point = number[i ? RESIZE_Y : RESIZE_X],
                                   .compass = compass[number[RESIZE_POSITION]][i] };
}

enum status frame_make(struct frame *frame, const struct params *params, const struct image *in,
                       struct failure *failure) {
    struct wish wishes[2];
    read_wishes(params, wishes);
    enum status status = check_wishes(params, wishes, failure);
    if (status) return status;
    const struct sides sides = scaled(params, in, wishes);
    const long fit = params->number[RESIZE_FIT];
    const bool both = wishes[0].size && wishes[1].size;
    *frame = (struct frame){ .channels = in->channels };
    for (int i = 0; i < 2; i++) {
        struct frame_side *side = i ? &frame->y : &frame->x;
        side->from = i ? in->height : in->width;
        side->to = side->count = side->out = (uint32_t)(i ? sides.y : sides.x);
        if (both && (fit == FIT_COVER || fit == FIT_CARVE))
            cut(side, &wishes[i], fit == FIT_CARVE ? (unsigned)params->number[RESIZE_SHARE] : 0);
        if (both && fit == FIT_CONTAIN) lay(side, &wishes[i]);
        const bool rest = side->count < side->to - side->seams;
        frame->smart |= rest && params->number[RESIZE_POSITION] == POSITION_SMART;
        frame->whole |= side->seams > 0;
    }
    frame->whole |= frame->smart;
    if (both && fit == FIT_CONTAIN)
        frame->channels = canvas_channels((uint32_t)params->number[RESIZE_BACKGROUND],
                                          params->number[RESIZE_AROUND], in->channels);
    return check_whole(frame, &sides, failure);
}

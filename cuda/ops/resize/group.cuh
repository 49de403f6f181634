// SPDX-License-Identifier: Apache-2.0
/* group.cuh - pictures of a batch that resize.cu processes together: their scratch and tables.
 *
 * Used by:  resize.cu.
 * Owns:     nothing. Memory is the call's scratch, or NULL while it is only counted.
 * Fails:    as frame.h and device_tables.cuh say; STATUS_TOO_LARGE where one picture alone needs
 *           more tables than the device keeps.
 *
 * How it works. pipeline/ops/resize/frame.h computes a picture's size and the part that is kept.
 * Mostly that part is made right in its place in the result. Where the picture must be seen whole
 * before it is cut, all of it is made in scratch, and with seams a second time.
 */
#ifndef BURIN_RESIZE_GROUP_CUH
#define BURIN_RESIZE_GROUP_CUH

#include "cuda/ops/resize/weigh.cuh"
#include "pipeline/arena.h"
#include "pipeline/builtin_ops.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/ops/resize/frame.h"
#include "pipeline/ops/resize/light.h"

#include <stdio.h>
#include <string.h>

/* ---- one picture */

extern "C" {}

struct picture {
    const struct op_call *call;
    struct frame frame;
    bool moves;                  /* its pixels only change their place */
    struct weighing weigh;       /* `in`, `to` and the axes are set for moved pictures too */
    struct image scaled, carved; /* where it must be seen whole before it is cut */
    struct params carving;       /* of the call that carves it */
    uint32_t *sums;              /* with smart: see smart.cuh */
    uint64_t *weighed;
    struct device_table columns, rows; /* with nearest: sources */
};

static inline bool picture_has_seams(const struct picture *picture) {
    return picture->frame.x.seams || picture->frame.y.seams;
}

/* Smart looks along the side that is cut further. */
static inline bool picture_cuts_columns(const struct picture *picture) {
    const struct frame_side *const x = &picture->frame.x;
    return x->count < x->to - x->seams;
}

/* The picture to cut, scaled and carved. */
static inline struct image picture_whole(const struct picture *picture) {
    return picture_has_seams(picture) ? picture->carved : picture->scaled;
}

/* A picture that is seen whole at its original size is the input itself. */
static inline bool picture_is_moved(const struct picture *picture) {
    return picture->moves && !(picture->frame.whole && !frame_scales(&picture->frame));
}

/* Bytes of a number between the passes. */
static inline unsigned picture_between_bytes(const struct op_call *call) {
    const bool deep = call->in.depth == 16 || call->params->number[RESIZE_LINEAR];
    return (unsigned)between_bytes_of(image_has_alpha(&call->in), 1 + deep);
}

/* ---- carving */

/* NULL where this build has no carve. */
static inline const struct op *carve_op(void) {
    const struct op *found = NULL;
    for (int i = 0; i < builtin_op_count() && !found; i++)
        if (strcmp(builtin_op_at(i)->name, "carve") == 0) found = builtin_op_at(i);
    return found;
}

static inline void set_number(struct params *params, const char *name, uint32_t value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    params_set(params, carve_op()->params, "carve", name, text, NULL);
}

static inline struct op_call picture_carve_call(struct picture *picture) {
    struct op_call call = {};
    params_init(&picture->carving, carve_op()->params);
    set_number(&picture->carving, "width", picture->carved.width);
    set_number(&picture->carving, "height", picture->carved.height);
    picture->carving.number[CARVE_BACKGROUND] = picture->call->params->number[RESIZE_BACKGROUND];
    call.op = carve_op();
    call.params = &picture->carving;
    call.in = picture->scaled;
    call.out = picture->carved;
    call.progress = picture->call->progress;
    call.failure = picture->call->failure;
    return call;
}

/* ---- memory */

static inline struct resample_axis axis_of(const struct picture *picture,
                                           const struct frame_side *side) {
    const long kernel = picture->call->params->number[RESIZE_KERNEL];
    struct resample_axis axis = {};
    axis.from = side->from;
    axis.to = side->to;
    axis.first = picture->frame.whole ? 0 : side->first;
    axis.count = picture->frame.whole ? side->to : side->count;
    axis.kernel = kernel == KERNEL_NEAREST ? RESAMPLE_BOX : (enum resample_kernel)kernel;
    return axis;
}

static inline struct image take_image(struct arena *arena, uint32_t width, uint32_t height,
                                      const struct image *like) {
    struct image image = image_shape(width, height, like->channels, like->depth);
    image.pixels = (uint8_t *)arena_take(arena, image_bytes(&image));
    return image;
}

/* The picture's place in the result. */
static inline struct image place_in(const struct op_call *call, const struct frame *frame) {
    struct image place = call->out;
    place.width = frame->x.count, place.height = frame->y.count;
    if (place.pixels)
        place.pixels =
            image_row(&call->out, frame->y.at) + frame->x.at * image_pixel_bytes(&call->out);
    return place;
}

/* Columns or rows that smart weighs; 0: it has no choice. */
static inline size_t picture_sums(const struct picture *picture) {
    const struct image whole = picture_whole(picture);
    if (!picture->frame.smart) return 0;
    return picture_cuts_columns(picture) ? whole.width : whole.height;
}

/* Takes memory from ARENA. Failures are those of CALL. */
static inline enum status picture_make(struct picture *picture, const struct op_call *call,
                                       struct arena *arena, struct failure *failure) {
    const struct image *const in = &call->in;
    struct frame *const frame = &picture->frame;
    *picture = {};
    picture->call = call;
    const enum status status = frame_make(frame, call->params, in, failure);
    if (status) return status;
    picture->moves = call->params->number[RESIZE_KERNEL] == KERNEL_NEAREST || !frame_scales(frame);
    if (frame->whole)
        picture->scaled =
            frame_scales(frame) ? take_image(arena, frame->x.to, frame->y.to, in) : *in;
    if (picture_has_seams(picture))
        picture->carved =
            take_image(arena, frame->x.to - frame->x.seams, frame->y.to - frame->y.seams, in);
    struct weighing *const weigh = &picture->weigh;
    weigh->in = *in;
    weigh->to = frame->whole ? picture->scaled : place_in(call, frame);
    weigh->x = axis_of(picture, &frame->x);
    weigh->y = axis_of(picture, &frame->y);
    if (!picture->moves)
        weigh->between =
            (uint32_t *)arena_take(arena, between_bytes(weigh, picture_between_bytes(call)));
    return STATUS_OK;
}

struct group {
    const struct cuda_context *context;
    struct failure *failure;
    struct work_rule rule;
    int count;
    struct picture pictures[CUDA_BATCH_MAX];
    void *sums; /* of all pictures with smart */
    size_t sums_bytes;
    uint8_t *rest; /* the rest of scratch: carve's */
    size_t rest_bytes;
};

/* ---- scratch */

/* Returns the bytes that CALLS need, without carve's. */
static inline enum status group_lay(struct group *group, const struct op_call *calls, int count,
                                    uint8_t *scratch, size_t *bytes) {
    struct arena arena = { scratch, 0 };
    group->count = count;
    for (int i = 0; i < count; i++) {
        const enum status status =
            picture_make(&group->pictures[i], &calls[i], &arena, group->failure);
        if (status) return status;
    }
    const size_t sums_at = arena.used;
    group->sums = arena_take(&arena, 0);
    for (int i = 0; i < count; i++) {
        const size_t n = picture_sums(&group->pictures[i]);
        if (n) group->pictures[i].sums = (uint32_t *)arena_take(&arena, (n + 1) * sizeof(uint32_t));
    }
    group->sums_bytes = arena.used - sums_at;
    for (int i = 0; i < count; i++) {
        const size_t n = picture_sums(&group->pictures[i]);
        if (n)
            group->pictures[i].weighed = (uint64_t *)arena_take(&arena, (n + 1) * sizeof(uint64_t));
    }
    arena.used = (arena.used + 255) / 256 * 256; /* as scratch begins */
    group->rest = (uint8_t *)arena_take(&arena, 0);
    *bytes = arena.used;
    return STATUS_OK;
}

/* Makes the calls of carve; returns their number. */
static inline int group_carve_calls(struct group *group, struct op_call *calls) {
    int count = 0;
    for (int i = 0; i < group->count; i++)
        if (picture_has_seams(&group->pictures[i]))
            calls[count++] = picture_carve_call(&group->pictures[i]);
    return count;
}

/* ---- tables */

/* Keys of tables that are no weights: their fifth number is no kernel's. */
enum { KEY_NEAREST = 1000, KEY_LIGHT };

static inline uint32_t make_nearest(const struct device_table_key *key, void *memory) {
    const uint32_t *const n = key->numbers;
    for (uint32_t i = 0; i < n[3]; i++)
        ((uint32_t *)memory)[i] = resize_nearest((uint64_t)n[2] + i, n[0], n[1]);
    return 1;
}

static inline uint32_t make_light(const struct device_table_key *key, void *memory) {
    (void)key;
    memcpy(memory, light_tables(), sizeof(struct light_tables));
    return 1;
}

static inline enum status get_table(const struct group *group, const struct device_table_key &key,
                                    size_t bytes, device_table_make *make,
                                    struct device_table *table) {
    return device_tables_get(group->context->tables, group->context->stream, &key, bytes, make,
                             table, group->failure);
}

static inline enum status get_axis(const struct group *group, const struct picture &picture,
                                   const struct resample_axis &axis, struct device_table *table) {
    if (!picture.moves)
        return get_table(group, table_key(&axis), table_bytes(&axis), table_make, table);
    const struct device_table_key key = { { axis.from, axis.to, axis.first, axis.count,
                                            KEY_NEAREST } };
    return get_table(group, key, axis.count * sizeof(uint32_t), make_nearest, table);
}

/* ROOM: whether all tables of the picture fit. */
static inline enum status get_tables(struct group *group, struct picture *picture, bool *room) {
    const bool moves = picture->moves;
    struct device_table *const x = moves ? &picture->columns : &picture->weigh.across;
    struct device_table *const y = moves ? &picture->rows : &picture->weigh.down;
    *room = true;
    if (moves && !frame_scales(&picture->frame)) return STATUS_OK;
    enum status status = get_axis(group, *picture, picture->weigh.x, x);
    if (!status) status = get_axis(group, *picture, picture->weigh.y, y);
    *room = x->memory && y->memory;
    return status;
}

static inline enum status get_light(struct group *group, bool *room) {
    const struct device_table_key key = { { 0, 0, 0, 0, KEY_LIGHT } };
    struct device_table table;
    const enum status status =
        get_table(group, key, sizeof(struct light_tables), make_light, &table);
    const struct light_tables *const light = (const struct light_tables *)table.memory;
    *room = light;
    if (status || !light) return status;
    const bool bytes = group->pictures[0].call->in.depth == 8;
    group->rule.to_light = bytes ? light->of_8 : light->of_16;
    group->rule.from_light = bytes ? (const void *)light->to_8 : light->to_16;
    return STATUS_OK;
}

/* Keeps as many pictures as there is room for their tables, and drops the others. */
static inline enum status group_get_tables(struct group *group) {
    const struct op_call *const first = group->pictures[0].call;
    bool room = true;
    enum status status = STATUS_OK;
    int count = 0;
    group->rule = {};
    if (first->params->number[RESIZE_LINEAR]) status = get_light(group, &room);
    while (!status && room && count < group->count) {
        status = get_tables(group, &group->pictures[count], &room);
        count += room;
    }
    group->count = count;
    if (status || count) return status;
    return fail(group->failure, STATUS_TOO_LARGE, "the image has too many pixels a side for a GPU");
}

#endif

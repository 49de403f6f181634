// SPDX-License-Identifier: Apache-2.0
/* group.cuh - pictures of a batch that resize.cu processes together: their scratch and tables.
 *
 * Used by:  resize.cu.
 * Owns:     nothing. Memory is the call's scratch, or NULL while it is only counted.
 * Fails:    as frame.h and device_tables.cuh say; STATUS_TOO_LARGE where one picture alone needs
 *           more tables than the device keeps.
 */
#ifndef BURIN_RESIZE_GROUP_CUH
#define BURIN_RESIZE_GROUP_CUH

#include "cuda/ops/resize/picture.cuh"
#include "pipeline/ops/resize/light.h"

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
    for (int i = 0; i < count; i++) picture_take_sums(&group->pictures[i], &arena);
    group->sums_bytes = arena.used - sums_at;
    for (int i = 0; i < count; i++) picture_take_weighed(&group->pictures[i], &arena);
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
    group->rule.multiplied = image_has_alpha(&first->in);
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

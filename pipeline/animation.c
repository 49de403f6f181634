// SPDX-License-Identifier: Apache-2.0
/* How it works. The decoder composes frame by frame in one canvas and hands each over; take()
 * copies the canvas into the lane's memory. A full group is run and its results are encoded as
 * still files, each into memory of its own, which the format then joins to the animation. Before
 * that, the frames go in the same way through the steps up to each finder, without results. */
#include "pipeline/animation.h"

#include "pipeline/animation_file.h"
#include "pipeline/codecs/codecs.h"
#include "pipeline/srgb_table.h"

#include <stdlib.h>

/* A frame of the group. */
struct frame {
    uint32_t ms;
    uint8_t *bytes; /* its still file */
    size_t length;
    uint32_t notes;
    struct failure failure;
};

struct group {
    struct lane *lane;
    struct animation *animation;
    const struct plan *plan; /* the animation's, or the steps up to a finder */
    struct cut *finds;       /* what the finder leaves of all frames; NULL: no finder */
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct image canvas;
    struct animation_file file;
    int room, count; /* frames */
    uint32_t taken;  /* frames of the groups before */
    struct metadata metadata;
    struct run_item items[RUN_BATCH_MAX];
    struct frame frames[RUN_BATCH_MAX];
    struct failure *failure;
    int64_t away_ns; /* time in the sink, which is not the decoder's */
};

static int smaller(uint64_t a, uint64_t b) {
    return (int)(a < b ? a : b);
}

/* ---- a group */

/* Bytes that always suffice for the still file of a frame, as far as the result has room. */
static size_t file_room(const struct animation *animation) {
    const size_t bound = codec_encode_bound(&animation->result, NULL, animation->encode->format);
    return bound < animation->capacity ? bound : animation->capacity;
}

/* Lays out memory for as many frames as may still come. Heap counts too: of all frames their
 * encoders' and their files, and once the canvas and the decoder's. */
static enum status reserve(struct group *group, uint32_t left) {
    const struct animation *animation = group->animation;
    const struct image *in = &animation->probe->shape;
    const size_t out = image_bytes(&animation->result);
    const size_t encoder =
        group->finds
            ? 0
            : codec_memory_encode(&animation->result, animation->encode) + file_room(animation);
    const uint64_t most = animation->group_bytes / (image_bytes(in) > out ? image_bytes(in) : out);
    group->room = animation->pool ? smaller(most ? most : 1, RUN_BATCH_MAX) : 1;
    group->room = smaller(left, (uint64_t)group->room);
    group->count = 0;
    const bool converts = animation->probe->profile && plan_converts(group->plan);
    for (int i = 0; i < group->room; i++)
        group->items[i] = (struct run_item){
            .in = *in,
            .table = converts ? srgb_table_shape(in) : (struct image){ .width = 0 },
            .want = group->finds ? RUN_NOTHING : RUN_PIXELS,
            .given = animation->cuts,
            .codec_bytes = encoder,
            .progress = animation->progress,
        };
    group->items[0].codec_bytes +=
        image_bytes(in) + codec_memory_decode(animation->probe, animation->limits->memory_max);
    return run_reserve(group->lane, group->plan, group->items, group->room,
                       animation->limits->probe.pixels_max, group->failure);
}

/* The spans of all groups are the same operators and kernels: their times are added. */
static void add_times(struct timing *all, const struct timing *one) {
    for (int s = 0; s < STAGE_COUNT; s++) all->stage_ms[s] += one->stage_ms[s];
    for (int k = 0; k < one->span_count; k++)
        if (k < all->span_count && !strcmp(all->spans[k].name, one->spans[k].name))
            all->spans[k].ms += one->spans[k].ms;
        else
            timing_span(all, one->spans[k].name, one->spans[k].level, one->spans[k].ms);
}

static void encode_frame(void *argument, int index) {
    struct group *group = argument;
    const struct animation *animation = group->animation;
    struct frame *frame = &group->frames[index];
    const struct image *image = &group->items[index].out;
    const size_t room = file_room(animation);
    frame->notes = 0;
    frame->failure = (struct failure){ .status = STATUS_OK };
    frame->bytes = malloc(room);
    if (!frame->bytes) {
        fail(&frame->failure, STATUS_NO_MEMORY, "no memory for a frame of the result");
        return;
    }
    codec_encode(image, NULL, animation->encode, animation->progress, frame->bytes, room,
                 &frame->length, &frame->notes, &frame->failure);
    uint8_t *shrunk = frame->failure.status ? NULL : realloc(frame->bytes, frame->length);
    if (shrunk) frame->bytes = shrunk;
}

static enum status no_room(const struct group *group) {
    return fail(group->failure, STATUS_TOO_LARGE,
                "the animation takes more than the %zu bytes that a result may have; ask for a "
                "smaller one",
                group->animation->capacity);
}

/* Adds the encoded frames to the file, which begins with the first, and frees them. */
static enum status join(struct group *group) {
    struct animation *animation = group->animation;
    const struct format_record *format = format_record(animation->encode->format);
    enum status status = STATUS_OK;
    if (!group->taken && !format->begin_animation(&group->file)) status = no_room(group);
    for (int i = 0; i < group->count; i++) {
        struct frame *frame = &group->frames[i];
        if (!status && frame->failure.status) {
            *group->failure = frame->failure;
            status = frame->failure.status;
        }
        if (!status && !format->add_frame(&group->file, frame->bytes, frame->length, frame->ms))
            status = no_room(group);
        group->file.shown_ms += frame->ms;
        animation->notes |= frame->notes;
        free(frame->bytes);
    }
    return status;
}

/* The table by which frame INDEX becomes sRGB; all frames have the same. */
static void take_table(struct group *group, int index) {
    struct run_item *item = &group->items[index], *first = &group->items[0];
    if (!item->table.width) return;
    if (index)
        memcpy(item->table.pixels, first->table.pixels, image_bytes(&item->table));
    else if (!srgb_table_make(group->metadata.profile, group->metadata.profile_length, &item->in,
                              &item->table))
        group->animation->notes |= NOTE_PROFILE_UNUSABLE;
}

static uint32_t less(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Keeps what the frames of the group need; a frame that is border alone needs nothing. */
static void join_cuts(struct group *group) {
    const int step = group->plan->count - 1;
    struct cut *all = group->finds;
    for (int i = 0; i < group->count; i++) {
        struct cut one;
        memcpy(&one, group->items[i].values[step].numbers, sizeof one);
        if (!cut_leaves(&one, &group->shapes[step])) continue;
        *all = (struct cut){ less(all->left, one.left), less(all->top, one.top),
                             less(all->right, one.right), less(all->bottom, one.bottom) };
    }
}

static enum status run_group(struct group *group) {
    struct animation *animation = group->animation;
    struct timing timing = { .span_count = 0 };
    if (!group->count) return STATUS_OK;
    group->items[0].timing = &timing;
    for (int i = group->count; i < group->room; i++) { /* the file has ended before its time */
        memset(group->items[i].in.pixels, 0, image_bytes(&group->items[i].in));
        take_table(group, i);
    }
    enum status status =
        run_batch(group->lane, group->plan, group->items, group->room, group->failure);
    for (int i = 0; i < group->count && !status; i++) {
        status = group->items[i].failure.status;
        if (status) *group->failure = group->items[i].failure;
    }
    add_times(animation->timing, &timing);
    if (status) return status;
    if (group->finds) return join_cuts(group), STATUS_OK;
    const int64_t start = clock_ns();
    pool_run(animation->pool, encode_frame, group, group->count);
    status = join(group);
    animation->timing->stage_ms[STAGE_ENCODE] += ns_to_ms(clock_ns() - start);
    return status;
}

/* ---- all frames */

static enum status take(void *context, uint32_t ms) {
    struct group *group = context;
    const uint32_t frames = group->animation->probe->frames;
    const struct image *canvas = &group->canvas, *in = &group->items[group->count].in;
    const int64_t start = clock_ns();
    enum status status = STATUS_OK;
    for (uint32_t y = 0; y < canvas->height; y++)
        memcpy(image_row(in, y), image_row(canvas, y), image_row_bytes(canvas));
    take_table(group, group->count);
    group->frames[group->count++].ms = ms;
    if (group->count == group->room) {
        status = run_group(group);
        group->taken += (uint32_t)group->count;
        group->count = 0;
        if (!status && group->taken < frames) status = reserve(group, frames - group->taken);
    }
    group->away_ns += clock_ns() - start;
    return status;
}

static enum status decode(struct group *group) {
    struct animation *animation = group->animation;
    const struct probe *probe = animation->probe;
    const struct frame_sink sink = { take, group };
    const struct decoding decoding = { animation->file,   animation->length,   probe,
                                       animation->limits, animation->progress, &group->canvas,
                                       &group->metadata,  &animation->notes,   group->failure };
    const int64_t start = clock_ns();
    const enum status status = format_record(probe->format)->decode_frames(&decoding, &sink);
    animation->timing->stage_ms[STAGE_DECODE] += ns_to_ms(clock_ns() - start - group->away_ns);
    return status;
}

static enum status finish(struct group *group) {
    struct animation *animation = group->animation;
    const int64_t most = animation->encode->max_bytes;
    const struct metadata *metadata = &group->metadata;
    if (!format_record(animation->encode->format)->end_animation(&group->file))
        return no_room(group);
    animation->result_length = group->file.length;
    if (metadata->profile_length && animation->encode->profile != PROFILE_SRGB &&
        plan_assumes_srgb(animation->plan))
        animation->notes |= NOTE_SRGB_ASSUMED;
    if (!most || group->file.length <= (uint64_t)most) return STATUS_OK;
    return fail(group->failure, STATUS_TOO_LARGE,
                "the animation takes %zu bytes and max_bytes is %lld, for which the quality of an "
                "animation is not lowered; raise max_bytes, or ask for a lower quality",
                group->file.length, (long long)most);
}

static enum status run_frames(struct group *group) {
    group->taken = 0;
    group->away_ns = 0;
    enum status status = reserve(group, group->animation->probe->frames);
    if (!status) status = decode(group);
    return !status && group->count ? run_group(group) : status;
}

/* Sets the shapes by what is cut off as far as that is known. */
static enum status find_shapes(struct group *group) {
    struct animation *animation = group->animation;
    const struct plan *plan = animation->plan;
    const enum status status =
        plan_shapes_cut(plan, &animation->probe->shape, animation->limits->probe.pixels_max,
                        animation->cuts, group->shapes, group->failure);
    if (!status) animation->result = group->shapes[plan->count];
    return status;
}

/* Finds what step S cuts off all frames. */
static enum status find_cut(struct group *group, int s) {
    struct plan plan;
    struct cut all = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
    plan_find(&plan, group->animation->plan, s);
    group->plan = &plan;
    group->finds = &all;
    enum status status = run_frames(group);
    metadata_release(&group->metadata);
    group->metadata = (struct metadata){ .profile = NULL };
    group->plan = group->animation->plan;
    group->finds = NULL;
    if (!status && all.left < UINT32_MAX) group->animation->cuts[s] = all;
    return status ? status : find_shapes(group);
}

/* The front's limit (request/submit.c) for all frames, whose size is known now. */
static enum status check_pixels(const struct group *group) {
    const struct animation *animation = group->animation;
    const uint64_t pixels = image_pixels(&animation->result) * animation->probe->frames;
    if (plan_knows_size(animation->plan, PLAN_STEPS_MAX)) return STATUS_OK;
    return plan_tree_check_pixels(pixels, animation->limits->probe.pixels_max,
                                  animation->probe->frames, true, group->failure);
}

static enum status run_all(struct group *group) {
    struct animation *animation = group->animation;
    const struct plan *plan = group->plan = animation->plan;
    memset(animation->cuts, 0, sizeof animation->cuts);
    enum status status = find_shapes(group);
    for (int s = plan_finder_step(plan, 0); s >= 0 && !status; s = plan_finder_step(plan, s + 1))
        status = find_cut(group, s);
    if (!status) status = check_pixels(group);
    if (status) return status;
    group->file = (struct animation_file){ .canvas = &animation->result,
                                           .metadata = &group->metadata,
                                           .options = animation->encode,
                                           .notes = &animation->notes,
                                           .plays = animation->probe->plays,
                                           .bytes = animation->bytes,
                                           .capacity = animation->capacity };
    codec_keep_metadata(animation->file, animation->length, animation->probe, animation->limits,
                        animation->encode->metadata, &group->metadata, &animation->notes);
    status = codec_check_sides(&animation->result, animation->encode->format, group->failure);
    if (!status) status = run_frames(group);
    return status ? status : finish(group);
}

enum status animation_run(struct lane *lane, struct animation *animation, struct failure *failure) {
    struct group *group = calloc(1, sizeof *group);
    enum status status = STATUS_NO_MEMORY;
    animation->notes = 0;
    if (group) {
        group->lane = lane;
        group->animation = animation;
        group->failure = failure;
        group->canvas = animation->probe->shape;
        group->canvas.pixels = malloc(image_bytes(&group->canvas));
    }
    if (group && group->canvas.pixels)
        status = run_all(group);
    else
        fail(failure, status, "no memory for the frames of the animation");
    if (!group) return status;
    memcpy(animation->warning, group->metadata.warning, sizeof animation->warning);
    metadata_release(&group->metadata);
    free(group->canvas.pixels);
    free(group);
    return status;
}

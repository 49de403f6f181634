// SPDX-License-Identifier: Apache-2.0
/* carve.cu - seam carving on the GPU, the twin of pipeline/ops/carve.c; carve/ holds its parts.
 *
 * How it works. A call has few phases (carve_next): one that shrinks, then steps that grow. With
 * rmask the first may clear, and with both masks a method may leave seams to any_gpu: then the host
 * waits for the number of seams (clearing.cuh). Each phase first searches seams on the luma alone,
 * turned where they are horizontal (fill_search, find_seams): this takes nearly all the time. Then
 * the pixels follow (apply_seams). The first
 * phase moves pixels from the input to the output; later ones grow them there in place, so that
 * pixels need no scratch. Only where seams are shown, in a result of the input's size, a copy of
 * the image is carved along.
 *
 * A lone image's seams are removed by the first method that takes the phase's search (method.cuh),
 * which has all of the GPU and is the quickest for one image:
 *
 *   method          takes                      where
 *   fast_one_axis   one direction              compute capability 9.0; sides up to 16000; half a
 *                                              path costs less than 2^28 - 2^22; all blocks
 *                                              resident; with masks gradient up to 2348 rows,
 *                                              sobel3 up to 1838
 *   fast_both_axes  both directions, no masks  the same for both sides, of which 2 rows stay
 *   weighed         weighed searches, and      any GPU, any number of blocks
 *                   nothing else
 *   any_gpu         everything else, and       any GPU, any number of blocks
 *                   refused launches; with
 *                   both masks the rest of a
 *                   search, from a seam on
 *                   that crosses a kept pixel
 *
 * The images of a batch that one_block takes in each phase (one direction at a time; masks by
 * gradient alone; compute capability 8.0; up to 11264 rows, with masks 2400, and 7680 columns,
 * without clusters 3840) go abreast (abreast.cuh), phase by phase, each with a block or two of its
 * own, once enough of them are there: those of the batch and those that other lanes have queued
 * count, and the way changes back only once there are a third fewer (cooperative_lane_enter).
 * Nothing waits for a batch to fill. An image then takes longer, but hardly longer with a hundred
 * others. An image with both masks is carved alone after all where a seam must cross a kept pixel,
 * or where clearing leaves a phase that one_block does not take.
 *
 * fast_one_axis: a cluster of blocks sweeps the costs of each half towards the middle; a block for
 * each band of rows keeps parents behind the sweep and removes the seam. fast_both_axes: the same
 * for both axes at once, with a verdict each step. any_gpu: every warp does a tile of columns, and
 * each seam ends with a barrier of all blocks. weighed: the plainest,
 * with a barrier after each part. one_block: the warps of a block sweep both halves,
 * with all seams in one launch. All find the same seams; which one is least, and which of equals is
 * taken, is in pipeline/ops/carve/definition.h.
 *
 * Several widths of one image share the map of their seams (op.common): each is then a single pass
 * over the pixels (retarget.cuh).
 *
 * Start reading at the end of this file, run(), and go up to run_phase(). Then read
 * carve/carve_context.cuh (memory), carve/method.cuh (the choice), carve/any_gpu/any_gpu.cuh (the
 * simplest kernel: any_gpu_kernel), carve/fast_one_axis/args.cuh (the parts of the fast methods),
 * and sweep.cuh, band.cuh, traceback.cuh beside it. Blocks exchange tagged words
 * (tagged_words.cuh), with the instructions of ptx.cuh. tests/bench/kernels/carve.cu climbs from a
 * launch a row to fast_one_axis.
 *
 * Scratch: at most 16 bytes a pixel of the input or of the size it is carved to, whichever is more,
 * or 18 with rmask.
 * Where a side of either is under 800 pixels, 384 KiB more; where one is under 480, 1280 bytes more
 * for every row and column of both. Bytes a pixel: luma 1; seams up to 2; bits of all phases up to
 * 3/4; the method's own (any_gpu: 3.4, with masks 2.6; weighed 1.3, with masks 2.3; fast_one_axis
 * 3; both directions 7 to 10, fast_both_axes no more, and 4 for origins); masks 1 or 2; seams
 * shown in several phases: the pixel itself. Images that go abreast have theirs at the same time: 3
 * to 4 each, with masks up to 9, more for small ones. */
#include "pipeline/ops/carve/definition.h"

#include "cuda/ops/carve/abreast.cuh"
#include "cuda/ops/carve/apply.cuh"
#include "cuda/ops/carve/byte_plane.cuh"
#include "cuda/ops/carve/carve_context.cuh"
#include "cuda/ops/carve/clearing.cuh"
#include "cuda/ops/carve/energy.cuh"
#include "cuda/ops/carve/retarget.cuh"
#include "cuda/ops/carve/seam_mask.cuh"

/* ---- pictures of the carving in place of its result: show=seams and show=energy */

enum draw_what { DRAW_INPUT, DRAW_RED, DRAW_ENERGY };

struct draw_args {
    struct image in, out;
    enum draw_what what;
    const uint8_t *luma; /* DRAW_ENERGY; with its stride */
    uint32_t luma_stride;
    int energy;
};

DEVICE void put_red(const struct image &out, uint32_t x, uint32_t y) {
    put_sample(out, x, y, 0, out.depth == 16 ? 65535 : 255);
    put_sample(out, x, y, 1, 0);
    put_sample(out, x, y, 2, 0);
}

DEVICE void put_input(const struct image &in, const struct image &out, uint32_t x, uint32_t y) {
    for (unsigned c = 0; c < 3; c++)
        put_sample(out, x, y, c, sample_at(in, x, y, in.channels < 3 ? 0 : c)); /* gray or not */
}

static __global__ void draw_kernel(const __grid_constant__ struct draw_args args) {
    const uint32_t x = thread_pixel().x, y = thread_pixel().y;
    if (x >= args.in.width || y >= args.in.height) return;
    if (args.what == DRAW_INPUT) put_input(args.in, args.out, x, y);
    if (args.what == DRAW_RED) put_red(args.out, x, y);
    if (args.what == DRAW_ENERGY) {
        const struct luma_plane luma = { args.luma, args.luma_stride, (int)args.in.width,
                                         (int)args.in.height };
        const uint32_t energy =
            args.energy == CARVE_FORWARD
                ? carve_apart(luma.at((int)x - 1, (int)y), luma.at((int)x + 1, (int)y))
                : energy_at(luma, args.energy, (int)x, (int)y);
        const uint32_t level = min(energy, 255u);
        put_sample(args.out, x, y, 0, args.out.depth == 16 ? 257 * level : level);
    }
    if (args.in.channels % 2 == 0)
        put_sample(args.out, x, y, args.out.channels - 1u,
                   sample_at(args.in, x, y, args.in.channels - 1u));
}

/* ---- one phase's seams on the picture */

struct paint_args {
    struct seam_mask mask; /* of an image of WIDTH x HEIGHT */
    uint32_t width, height;
    struct origin_map origin_map; /* of that image */
    struct image out;
};

/* New pixels are not painted: each leads to its seam's, which was painted when it was inserted. */
static __global__ void paint_kernel(const __grid_constant__ struct paint_args args) {
    const uint32_t x = thread_pixel().x, y = thread_pixel().y;
    if (x >= args.width || y >= args.height) return;
    if (!crossing_at(args.mask, line_of(args.mask, x, y), place_of(args.mask, x, y)).seam) return;
    uint32_t column = x, row = y;
    for (int i = args.origin_map.count - 1; i >= 0; i--)
        step_back(args.origin_map.phases[i], column, row);
    put_red(args.out, column, row);
}

/* Both directions at once, on a red picture: the remaining pixels get their colours back. */
static __global__ void restore_kernel(const __grid_constant__ struct gather_args args) {
    const uint32_t x = thread_pixel().x, y = thread_pixel().y;
    if (x >= args.width || y >= args.height) return;
    const uint2 origin = origin_at(args, x, y);
    put_input(args.in, args.out, origin.x, origin.y);
}

/* ---- one phase */

/* Copies the marks of the image that the phase begins with to TO. */
static enum status fill_marks(const struct carve_context *carve, const struct phase *phase,
                              uint8_t *to, uint32_t stride, bool turned) {
    struct fill_args args = { phase->width, phase->height, to, stride, turned };
    if (carve->done)
        args.image = carve->kept;
    else
        args.keep = carve->call->aux[CARVE_KEEP], args.remove = carve->call->aux[CARVE_REMOVE];
    args.soft = carve_is_soft(carve->call->params, true);
    return fill_planes(carve->queue, &args, 1);
}

static enum status fill_search(const struct carve_context *carve, const struct phase *phase,
                               const struct seam_search *search) {
    const bool turned = is_turned(phase);
    const uint32_t stride = search->luma_stride;
    struct fill_args args = { phase->width, phase->height, search->luma,    stride,
                              turned,       carve->now,    carve->progress, carve->total };
    args.under = carve->under;
    const enum status status = fill_planes(carve->queue, &args, 1);
    if (status || !carve->masked) return status;
    return fill_marks(carve, phase, search->marks, stride, turned);
}

/* Waits for the number of seams. Those that fast_one_axis left, any_gpu takes. */
static enum status finish_search(const struct carve_context *carve, struct seam_search *search) {
    clearing_facts facts;
    enum status status = read_facts(carve->context, carve->facts, &facts, 1, carve->failure);
    if (status) return status;
    const uint32_t found = facts[SEAMS_TAKEN] & ~SEAMS_LEFT;
    struct seam_search rest = *search;
    if (search->clears) search->columns = found;
    if (!(facts[SEAMS_TAKEN] & SEAMS_LEFT)) return STATUS_OK;
    rest.width -= found, rest.columns -= found, rest.done += found;
    rest.least -= min(rest.least, found);
    rest.seams += (size_t)found * rest.height;
    /* So that a search that is stopped counts as no seams. */
    status = clear_facts(carve->queue, carve->facts, 1);
    if (!status) status = any_gpu_run(carve->context, &rest, carve->failure);
    if (status || !search->clears) return status;
    status = read_facts(carve->context, carve->facts, &facts, 1, carve->failure);
    search->columns = found + facts[SEAMS_TAKEN];
    return status;
}

static enum status find_seams(struct carve_context *carve, struct phase *phase) {
    struct seam_search search = search_of(carve, phase);
    const enum carve_method method = carve->methods[carve->origin_map.count];
    const bool waits = search.clears || (search.taken && method == METHOD_FAST_ONE_AXIS);
    enum status status = fill_search(carve, phase, &search);
    if (!status && waits) status = clear_facts(carve->queue, carve->facts, 1);
    if (!status)
        status = method_run(carve->context, &carve->limits, method, &search, carve->failure);
    if (!status && waits) status = finish_search(carve, &search);
    cuda_record_kernel(carve->context, carve->timed && carve->progress ? NULL : "seams");
    if (!status && search.clears) status = finish_clearing(carve, phase, search.columns);
    if (status || is_both(phase) || !search.columns) return status;
    struct mask_args args = { present_mask(carve), search.seams, search.columns };
    if (carve->maps) args.map = carve->call->out;
    return make_masks(carve->queue, &args, 1);
}

/* Both directions: takes the remaining pixels from where they came. */
static enum status take_origins(const struct carve_context *carve, const struct phase *phase,
                                void (*kernel)(struct gather_args)) {
    const struct phase after = behind(phase);
    const struct gather_args args = { carve->origins,   carve->origin_stride, carve->call->in,
                                      carve->call->out, after.width,          after.height };
    return launch_pixels(kernel, after.width, after.height, carve->queue, args);
}

static enum status paint_phase(const struct carve_context *carve, const struct phase *phase) {
    if (is_both(phase)) return take_origins(carve, phase, restore_kernel);
    const struct paint_args args = { present_mask(carve), phase->width, phase->height,
                                     carve->origin_map, carve->call->out };
    return launch_pixels(paint_kernel, phase->width, phase->height, carve->queue, args);
}

/* COPIES: see apply_args. */
static enum status apply_one(const struct carve_context *carve, const struct phase *phase,
                             const struct image &from, const struct image &to, bool copies) {
    const struct apply_args args = apply_args_of(carve, phase, from, to, copies);
    return apply_masks(carve->queue, from, &args, 1);
}

/* In the first phase marks come fresh from the masks; where it shrinks, through the search's plane,
 * which is free by now. */
static enum status apply_to_marks(const struct carve_context *carve, const struct phase *phase) {
    struct image from = carve->kept;
    if (!phase->seams.grow) from.pixels = carve->marks, from.stride = round16(phase->width);
    enum status status = STATUS_OK;
    if (!carve->done) status = fill_marks(carve, phase, from.pixels, (uint32_t)from.stride, false);
    return status ? status : apply_one(carve, phase, from, carve->kept, true);
}

/* The pixels follow the seams unless nothing shows them any more; marks follow if another phase
 * comes. */
static enum status apply_seams(const struct carve_context *carve, const struct phase *phase,
                               bool last) {
    if (last && (carve->shows || carve->maps)) return STATUS_OK;
    if (is_both(phase)) return take_origins(carve, phase, apply_kernels_of(carve->call->in).gather);
    enum status status = apply_one(carve, phase, carve->now, carve->to, false);
    if (!status && !last && carve->masked) status = apply_to_marks(carve, phase);
    return status;
}

static enum status run_phase(struct carve_context *carve, struct phase *phase) {
    enum status status = find_seams(carve, phase);
    const struct phase after = behind(phase);
    const bool last = after.width == carve->goal_width && after.height == carve->goal_height;
    if (status || (!phase->seams.columns && !phase->seams.rows)) return status;
    if (carve->shows) status = paint_phase(carve, phase);
    if (!status) status = apply_seams(carve, phase, last);
    cuda_record_kernel(carve->context, "pixels");
    end_phase(carve, phase);
    return status;
}

/* ---- one image */

static enum status draw(const struct carve_context *carve, enum draw_what what) {
    const struct image *in = &carve->call->in;
    const struct draw_args args = {
        *in,         carve->call->out,   what,
        carve->luma, round16(in->width), (int)carve->call->params->number[CARVE_ENERGY]
    };
    return launch_pixels(draw_kernel, in->width, in->height, carve->queue, args);
}

static enum status draw_energy(const struct carve_context *carve) {
    const struct image *in = &carve->call->in;
    struct fill_args args = { in->width, in->height, carve->luma, round16(in->width), false, *in };
    args.under = carve->under;
    enum status status = fill_planes(carve->queue, &args, 1);
    if (!status) status = draw(carve, DRAW_ENERGY);
    if (!status) cuda_record_kernel(carve->context, "energy");
    return status;
}

static enum status clear_map(const struct carve_context *carve) {
    const struct image *out = &carve->call->out;
    CUDA_TRY(carve->failure, cudaMemset2DAsync(out->pixels, out->stride, 0, image_row_bytes(out),
                                               out->height, carve->context->stream));
    return STATUS_OK;
}

/* The first phase, if it clears. */
static enum status clear_marked(struct carve_context *carve, struct phase *phase) {
    const struct count_args args = { carve->call->aux[CARVE_REMOVE], carve->facts };
    clearing_facts facts;
    enum status status = clear_facts(carve->queue, carve->facts, 1);
    if (!status) status = count_marked(carve->queue, &args, 1);
    if (!status) status = read_facts(carve->context, carve->facts, &facts, 1, carve->failure);
    if (!status) status = plan_clearing(carve, phase, facts);
    return status || !phase->seams.clears ? status : run_phase(carve, phase);
}

static enum status carve_image(struct carve_context *carve) {
    struct phase phase;
    enum status status = STATUS_OK;
    carve->now = carve->call->in;
    first_phase(carve, &phase);
    if (carve->shows) status = draw(carve, is_both(&phase) ? DRAW_RED : DRAW_INPUT);
    if (carve->maps) status = clear_map(carve);
    if (!status && carve->clears) status = clear_marked(carve, &phase);
    while (!status && next_phase(carve, &phase)) status = run_phase(carve, &phase);
    if (!status && !carve->done && !carve->shows && !carve->maps) status = copy_image(carve);
    return status;
}

/* A call with a map is only prepared: run() handles all such calls at once. A mismatch fails this
 * image alone. */
static enum status run_one(const struct cuda_context *context, const struct op_call *call,
                           const struct op_call *first) {
    struct failure *const failure = first->failure;
    if (call->common.width || carve_check_masks(call, call->failure)) return STATUS_OK;
    struct carve_context carve = context_of(context, call);
    carve.queue.failure = carve.failure = failure;
    lay_out(&carve, (uint8_t *)first->scratch, first->scratch_bytes);
    if (call->params->number[CARVE_SHOW] == CARVE_SHOW_ENERGY) return draw_energy(&carve);
    static const char *const timed[] = { "seam", "trace", "remove", NULL }; /* as SPAN_SEAM... */
    if (carve.phases || carve.clears)
        carve.progress = kernel_progress_add(context, call, carve.timed ? timed : NULL);
    const enum status status = carve_image(&carve);
    return status == STATUS_MISMATCH ? STATUS_OK : status;
}

/* ---- the twin */

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    size_t most = 0, abreast = 0;
    struct arena facts = {};
    for (int i = 0; i < count; i++) {
        if (calls[i].common.width) continue; /* a width from a map needs no scratch */
        struct carve_context carve = context_of(context, &calls[i]);
        raise_to(&most, lay_out_all(&carve, NULL));
        abreast += lay_out_abreast(context, &calls[i], &carve, NULL);
    }
    if (abreast) arena_take<uint32_t>(&facts, ABREAST_FACTS);
    return max(most, facts.bytes + abreast);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    uint64_t left;
    enum status status = run_some_abreast(context, calls, count, &left);
    int widths = 0; /* from maps */
    for (int i = 0; i < count && !status; i++) {
        if (left >> i & 1) status = run_one(context, &calls[i], &calls[0]);
        widths += calls[i].common.width != 0;
    }
    const cudaError_t left_all = cooperative_lane_leave(context->cooperative, context->stream);
    if (!status) CUDA_TRY(calls[0].failure, left_all);
    if (status || !widths) return status;
    status = retarget_images({ context->stream, calls[0].failure }, calls, count);
    cuda_record_kernel(context, "pixels");
    return status;
}

extern "C" const struct cuda_op cuda_op_carve = { scratch, run };

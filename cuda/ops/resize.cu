// SPDX-License-Identifier: Apache-2.0
/* resize.cu - another size on the GPU, the twin of pipeline/ops/resize.c; resize/ holds its parts.
 *
 * How it works. A batch is a constant number of launches for any sizes of its images:
 *   across, down   weighed pictures, x then y (weigh.cuh): into their place in the result, or into
 *                  scratch where they must be seen whole before they are cut
 *   move           moved pictures: nearest, or those that keep their size
 *   carve's own    carves pictures in scratch, one after another
 *   sum, choose    find where smart cuts pictures; the place stays on the device
 *   cut            copies the kept part of pictures in scratch
 *   canvas         fills what is around a picture
 * A launch that no picture needs is left out. Weights come from the host and stay on the
 * device (device_tables.cuh); a batch that needs more of them than fit is done in parts, and the
 * lane waits between the parts.
 *
 * Start reading with run() at the end, then weigh.cuh and the kernels in across.cuh and down.cuh.
 * tests/bench/kernels/resize.cu compares their times with simpler ones.
 */
#include "pipeline/ops/resize/definition.h"

#include "cuda/ops/resize/group.cuh"
#include "cuda/ops/resize/smart.cuh"
#include "cuda/ops/resize/tiles.cuh"
#include "cuda/ops/resize/work_pixels.cuh"
#include "pipeline/ops/resize/canvas.h"

/* ---- the kernels of move and canvas: a block makes 32 columns of 32 rows of a result */

enum { MOVE_THREADS = 256, MOVE_SIDE = 32 };

struct move_image {
    const uint8_t *in;
    uint8_t *out;
    /* The source of each, or with `found` of the first one; NULL: from the first ones on. */
    const uint32_t *columns, *rows;
    uint32_t in_stride, out_stride, first_tile;
    uint16_t first_column, first_row;
    uint16_t width, height; /* of the result */
    uint16_t tiles_across;
    bool found;
};

struct move_batch {
    int count;
    int channels; /* of the results, at least as many as of the inputs */
    struct move_image images[CUDA_BATCH_MAX];
};

static __device__ __forceinline__ uint32_t move_source(const uint32_t *places, bool found,
                                                       uint32_t first, uint32_t i) {
    if (!places) return first + i;
    return found ? __ldg(places) + i : __ldg(places + i);
}

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(MOVE_THREADS)
    move_kernel(const __grid_constant__ struct move_batch batch) {
    typedef work_kind<CHANNELS, DEPTH, DEPTH == 16> K;
    const struct move_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - image.first_tile, down = tile / image.tiles_across;
    const uint32_t x = (tile - down * image.tiles_across) * MOVE_SIDE + threadIdx.x % MOVE_SIDE;
    const uint32_t top = down * MOVE_SIDE, end = min(top + MOVE_SIDE, (uint32_t)image.height);
    if (x >= image.width) return;
    const uint32_t column = move_source(image.columns, image.found, image.first_column, x);
    for (uint32_t y = top + threadIdx.x / MOVE_SIDE; y < end; y += MOVE_THREADS / MOVE_SIDE) {
        const uint32_t row = move_source(image.rows, image.found, image.first_row, y);
        const uint8_t *const from = image.in + (size_t)row * image.in_stride;
        uint8_t *const to = image.out + (size_t)y * image.out_stride;
        uint32_t samples[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            samples[c] = load_sample<DEPTH>(from, column * CHANNELS + c);
        work_store<K>(to + (size_t)x * batch.channels * (DEPTH / 8), batch.channels, samples);
    }
}

/* ---- around a picture */

struct canvas_image {
    uint8_t *out;
    uint32_t stride, first_tile;
    uint16_t width, height;            /* of the result */
    uint16_t left, top, columns, rows; /* the picture's place */
    uint16_t tiles_across;
};

struct canvas_batch {
    int count;
    int channels, depth, around;
    uint16_t pixel[4];
    struct canvas_image images[CUDA_BATCH_MAX];
};

static __global__ void __launch_bounds__(MOVE_THREADS)
    canvas_kernel(const __grid_constant__ struct canvas_batch batch) {
    const struct canvas_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - image.first_tile, down = tile / image.tiles_across;
    const uint32_t x = (tile - down * image.tiles_across) * MOVE_SIDE + threadIdx.x % MOVE_SIDE;
    const uint32_t top = down * MOVE_SIDE, end = min(top + MOVE_SIDE, (uint32_t)image.height);
    const bool beside = x - image.left >= image.columns;
    const bool repeats = batch.around != AROUND_BACKGROUND; /* pixels that this launch leaves */
    const uint32_t column = canvas_source(x, image.left, image.columns, batch.around);
    if (x >= image.width) return;
    for (uint32_t y = top + threadIdx.x / MOVE_SIDE; y < end; y += MOVE_THREADS / MOVE_SIDE) {
        if (!beside && y - image.top < image.rows) continue;
        uint8_t *const to = image.out + (size_t)y * image.stride;
        const uint32_t row = canvas_source(y, image.top, image.rows, batch.around);
        const uint8_t *const from = image.out + (size_t)row * image.stride;
        for (int c = 0; c < batch.channels; c++) {
            const uint32_t index = x * batch.channels + c, source = column * batch.channels + c;
            if (batch.depth == 8)
                store_sample<8>(to, index, repeats ? from[source] : batch.pixel[c]);
            else
                store_sample<16>(to, index,
                                 repeats ? ((const uint16_t *)from)[source] : batch.pixel[c]);
        }
    }
}

/* ---- moved */

static void (*move_kernel_of(const struct image &in))(struct move_batch) {
    static void (*const kernels[4][2])(struct move_batch) = {
        { move_kernel<1, 8>, move_kernel<1, 16> },
        { move_kernel<2, 8>, move_kernel<2, 16> },
        { move_kernel<3, 8>, move_kernel<3, 16> },
        { move_kernel<4, 8>, move_kernel<4, 16> },
    };
    return kernels[in.channels - 1][in.depth / 16];
}

static void add_move(const struct image &in, const struct image &out, struct move_image image,
                     struct tiles<move_batch> *tiles) {
    image.in = in.pixels;
    image.out = out.pixels;
    image.in_stride = (uint32_t)in.stride;
    image.out_stride = (uint32_t)out.stride;
    image.width = (uint16_t)out.width;
    image.height = (uint16_t)out.height;
    tiles->batch.channels = out.channels;
    tiles_add(tiles, image, tiles_over(out.width, MOVE_SIDE), tiles_over(out.height, MOVE_SIDE));
}

static enum status launch_moves(const struct group *group, const struct tiles<move_batch> &tiles,
                                const char *name) {
    const enum status status = tiles_launch(tiles, move_kernel_of(group->pictures[0].call->in),
                                            MOVE_THREADS, group->context->stream, group->failure);
    if (!status && tiles.batch.count) cuda_record_kernel(group->context, name);
    return status;
}

static enum status move_pictures(const struct group *group) {
    struct tiles<move_batch> tiles = {};
    for (int i = 0; i < group->count; i++) {
        const struct picture &picture = group->pictures[i];
        if (!picture_is_moved(&picture)) continue;
        struct move_image image = {};
        image.columns = (const uint32_t *)picture.columns.memory;
        image.rows = (const uint32_t *)picture.rows.memory;
        image.first_column = (uint16_t)picture.weigh.x.first;
        image.first_row = (uint16_t)picture.weigh.y.first;
        struct image to = picture.weigh.to;
        to.width = picture.weigh.x.count, to.height = picture.weigh.y.count;
        add_move(picture.weigh.in, to, image, &tiles);
    }
    return launch_moves(group, tiles, "move");
}

/* ---- weighed */

static enum status weigh_pictures(const struct group *group) {
    struct weighing weighings[CUDA_BATCH_MAX];
    int count = 0;
    for (int i = 0; i < group->count; i++)
        if (!group->pictures[i].moves) weighings[count++] = group->pictures[i].weigh;
    return weigh(group->context, weighings, count, group->rule, group->failure);
}

/* ---- pictures seen whole, then cut */

static enum status carve_pictures(struct group *group) {
    struct op_call calls[CUDA_BATCH_MAX];
    const int count = group_carve_calls(group, calls);
    if (count == 0) return STATUS_OK;
    calls[0].scratch = group->rest;
    calls[0].scratch_bytes = group->rest_bytes;
    return cuda_twin(carve_op())->run(group->context, calls, count);
}

static void (*smart_kernel_of(const struct image &in))(struct smart_batch) {
    static void (*const kernels[4][2])(struct smart_batch) = {
        { smart_sum_kernel<1, 8>, smart_sum_kernel<1, 16> },
        { smart_sum_kernel<2, 8>, smart_sum_kernel<2, 16> },
        { smart_sum_kernel<3, 8>, smart_sum_kernel<3, 16> },
        { smart_sum_kernel<4, 8>, smart_sum_kernel<4, 16> },
    };
    return kernels[in.channels - 1][in.depth / 16];
}

static struct smart_image smart_of(const struct picture &picture) {
    const struct image whole = picture_whole(&picture);
    struct smart_image image = {};
    image.picture = whole.pixels;
    image.stride = (uint32_t)whole.stride;
    image.sums = picture.sums;
    image.weighed = picture.weighed;
    image.width = (uint16_t)whole.width;
    image.height = (uint16_t)whole.height;
    image.columns = picture_cuts_columns(&picture);
    image.count = (uint16_t)(image.columns ? picture.frame.x.count : picture.frame.y.count);
    return image;
}

static enum status find_windows(const struct group *group) {
    const struct op_call *const first = group->pictures[0].call;
    cudaStream_t stream = group->context->stream;
    struct tiles<smart_batch> tiles = {};
    tiles.batch.under = background_of(first->params->number[RESIZE_BACKGROUND], first->in.channels,
                                      first->in.depth);
    for (int i = 0; i < group->count; i++) {
        if (!group->pictures[i].frame.smart) continue;
        const struct smart_image image = smart_of(group->pictures[i]);
        tiles_add(&tiles, image, tiles_over(image.width, SMART_SIDE),
                  tiles_over(image.height, SMART_SIDE));
    }
    if (tiles.batch.count == 0) return STATUS_OK;
    CUDA_TRY(group->failure, cudaMemsetAsync(group->sums, 0, group->sums_bytes, stream));
    enum status status = tiles_launch(tiles, smart_kernel_of(group->pictures[0].call->in),
                                      SMART_THREADS, stream, group->failure);
    cuda_record_kernel(group->context, "sum");
    tiles.count = (uint64_t)tiles.batch.count; /* a block each */
    if (!status)
        status = tiles_launch(tiles, smart_choose_kernel, SMART_CHOOSERS, stream, group->failure);
    cuda_record_kernel(group->context, "choose");
    return status;
}

static enum status cut_pictures(const struct group *group) {
    struct tiles<move_batch> tiles = {};
    for (int i = 0; i < group->count; i++) {
        const struct picture &picture = group->pictures[i];
        const struct frame &frame = picture.frame;
        if (!frame.whole) continue;
        const struct image whole = picture_whole(&picture);
        struct move_image image = {};
        image.first_column = (uint16_t)frame.x.first;
        image.first_row = (uint16_t)frame.y.first;
        image.found = frame.smart;
        const bool columns = picture_cuts_columns(&picture);
        if (frame.smart)
            *(columns ? &image.columns : &image.rows) =
                picture.sums + (columns ? whole.width : whole.height);
        add_move(whole, picture.call->out, image, &tiles);
    }
    return launch_moves(group, tiles, "cut");
}

/* ---- around a picture */

static enum status fill_canvases(const struct group *group) {
    const struct op_call *const first = group->pictures[0].call;
    struct tiles<canvas_batch> tiles = {};
    tiles.batch.channels = first->out.channels;
    tiles.batch.depth = first->out.depth;
    tiles.batch.around = (int)first->params->number[RESIZE_AROUND];
    canvas_pixel((uint32_t)first->params->number[RESIZE_BACKGROUND], first->out.channels,
                 first->out.depth, tiles.batch.pixel);
    for (int i = 0; i < group->count; i++) {
        const struct frame_side &x = group->pictures[i].frame.x, &y = group->pictures[i].frame.y;
        const struct image &out = group->pictures[i].call->out;
        if (x.count == x.out && y.count == y.out) continue;
        struct canvas_image image = {};
        image.out = out.pixels;
        image.stride = (uint32_t)out.stride;
        image.width = (uint16_t)out.width, image.height = (uint16_t)out.height;
        image.left = (uint16_t)x.at, image.columns = (uint16_t)x.count;
        image.top = (uint16_t)y.at, image.rows = (uint16_t)y.count;
        tiles_add(&tiles, image, tiles_over(out.width, MOVE_SIDE),
                  tiles_over(out.height, MOVE_SIDE));
    }
    const enum status status =
        tiles_launch(tiles, canvas_kernel, MOVE_THREADS, group->context->stream, group->failure);
    if (!status && tiles.batch.count) cuda_record_kernel(group->context, "canvas");
    return status;
}

/* ---- the twin */

static enum status run_group(struct group *group) {
    enum status status = weigh_pictures(group);
    if (!status) status = move_pictures(group);
    if (!status) status = carve_pictures(group);
    if (!status) status = find_windows(group);
    if (!status) status = cut_pictures(group);
    if (!status) status = fill_canvases(group);
    return status;
}

/* After this the next pictures' tables may replace those in use. */
static enum status wait_for_group(const struct group *group) {
    CUDA_TRY(group->failure, cudaStreamSynchronize(group->context->stream));
    device_tables_next_batch(group->context->tables);
    return STATUS_OK;
}

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    struct failure failure = {};
    struct op_call carving[CUDA_BATCH_MAX];
    struct group group;
    size_t bytes = 0;
    group.context = context;
    group.failure = &failure;
    if (group_lay(&group, calls, count, NULL, &bytes)) return 0; /* run() reports the failure */
    const int carved = group_carve_calls(&group, carving);
    return bytes + (carved ? cuda_twin(carve_op())->scratch(context, carving, carved) : 0);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct group group;
    enum status status = STATUS_OK;
    group.context = context;
    group.failure = calls[0].failure;
    for (int done = 0; !status && done < count; done += group.count) {
        size_t bytes;
        if (done) status = wait_for_group(&group);
        if (!status)
            status =
                group_lay(&group, calls + done, count - done, (uint8_t *)calls[0].scratch, &bytes);
        if (!status) status = group_get_tables(&group);
        if (status) return status;
        group.rest_bytes = calls[0].scratch_bytes - bytes;
        status = run_group(&group);
    }
    return status;
}

extern "C" const struct cuda_op cuda_op_resize = { scratch, run };

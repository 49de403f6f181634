// SPDX-License-Identifier: Apache-2.0
/* smartcrop.cu - the part of an image with the most detail, the twin of pipeline/ops/smartcrop.c.
 *
 * How it works. smartcrop/search.cuh leaves the best part of each of its blocks, and every block of
 * the kernel here takes the best of all before it copies its share of the rows. The host never sees
 * the choice. Scratch is 8.25 bytes a pixel, so a batch is done in groups of images that fit into
 * GROUP_BYTES together, one group after another in the same scratch: five launches each, for any
 * image sizes. An image that does not fit is a group of its own.
 */
#include "cuda/ops/smartcrop/search.cuh"

#include "cuda/cuda_op.h"
#include "cuda/ops/move/load_any.cuh"

enum { ALIGN = 256, COPY_BYTES = 16, COPY_ROWS = 8, GROUP_BYTES = 256 << 20 };

/* ---- the part */

/* A tile: some rows; a thread has 16 bytes of them. */
static __global__ void __launch_bounds__(SEARCH_THREADS)
    part_kernel(const __grid_constant__ struct search_batch batch) {
    const struct search_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const struct smartcrop_part part = search_result(image);
    const uint32_t pixel = batch.pixel_bytes, bytes = image.part_width * pixel;
    const bool aligned = ((uintptr_t)image.out | image.out_stride) % 16 == 0;
    const uint32_t first = (blockIdx.x - image.first_tile) * COPY_ROWS;
    const uint32_t end = min(first + COPY_ROWS, (uint32_t)image.part_height);
    for (uint32_t y = first; y < end; y++) {
        const uint8_t *from =
            image.in + (size_t)(part.top + y) * image.in_stride + (size_t)part.left * pixel;
        uint8_t *to = image.out + (size_t)y * image.out_stride;
        for (uint32_t i = threadIdx.x * COPY_BYTES; i < bytes; i += SEARCH_THREADS * COPY_BYTES) {
            uint32_t words[4];
            const uint32_t here = min(bytes - i, (uint32_t)COPY_BYTES);
            load_any(words, from + i, here);
            store_chunk(words, to + i, here, aligned);
        }
    }
}

/* ---- memory */

static size_t image_scratch(const struct op_call *call) {
    return (search_bytes(call->in.width, call->in.height) + ALIGN - 1) / ALIGN * ALIGN;
}

/* The sum of all images' needs, but at most GROUP_BYTES, or the largest image's need if that is
 * more. */
static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    size_t all = 0, most = GROUP_BYTES;
    for (int i = 0; i < count; i++) {
        const size_t bytes = image_scratch(&calls[i]);
        all += bytes;
        if (bytes > most) most = bytes;
    }
    return all < most ? all : most;
}

/* ---- a group */

struct group {
    const struct cuda_context *context;
    struct failure *failure;
    uint32_t pixel_bytes;
    int count;
    struct search_image images[CUDA_BATCH_MAX];
};

static struct search_image image_of(const struct op_call *call, uint8_t *memory) {
    struct search_image image = {};
    image.in = call->in.pixels;
    image.out = call->out.pixels;
    image.sums = (uint64_t *)memory;
    image.in_stride = (uint32_t)call->in.stride;
    image.out_stride = (uint32_t)call->out.stride;
    image.width = (uint16_t)call->in.width;
    image.height = (uint16_t)call->in.height;
    image.part_width = (uint16_t)call->out.width;
    image.part_height = (uint16_t)call->out.height;
    return image;
}

/* Takes the first of COUNT CALLS, as many as fit in BYTES of MEMORY, and at least one. */
static void take_group(struct group *group, const struct op_call *calls, int count, uint8_t *memory,
                       size_t bytes) {
    size_t used = 0;
    group->count = 0;
    while (group->count < count) {
        const struct op_call *call = &calls[group->count];
        if (group->count && used + image_scratch(call) > bytes) break;
        group->images[group->count++] = image_of(call, memory + used);
        used += image_scratch(call);
    }
}

/* ---- launches: the tiles of an image for each kernel */

struct grid {
    uint32_t across, down;
};

static struct grid rows_grid(const struct search_image *image) {
    return { 1, image->height };
}

static struct grid columns_grid(const struct search_image *image) {
    return { tiles_over(image->width, SEARCH_THREADS), strips_of(image->height) };
}

static struct grid strips_grid(const struct search_image *image) {
    return { tiles_over(image->width, SEARCH_THREADS), 1 };
}

static struct grid parts_grid(const struct search_image *image) {
    return { 1, parts_of(*image) };
}

static struct grid copy_grid(const struct search_image *image) {
    return { 1, tiles_over(image->part_height, COPY_ROWS) };
}

static enum status launch(const struct group *group, void (*kernel)(struct search_batch),
                          struct grid (*grid_of)(const struct search_image *)) {
    struct tiles<search_batch> tiles = {};
    tiles.batch.pixel_bytes = group->pixel_bytes;
    for (int i = 0; i < group->count; i++) {
        const struct grid grid = grid_of(&group->images[i]);
        tiles_add(&tiles, group->images[i], grid.across, grid.down);
    }
    return tiles_launch(tiles, kernel, SEARCH_THREADS, group->context->stream, group->failure);
}

static void (*rows_kernel_of(const struct image *in))(struct search_batch) {
    static void (*const kernels[4][2])(struct search_batch) = {
        { search_rows_kernel<1, 8>, search_rows_kernel<1, 16> },
        { search_rows_kernel<2, 8>, search_rows_kernel<2, 16> },
        { search_rows_kernel<3, 8>, search_rows_kernel<3, 16> },
        { search_rows_kernel<4, 8>, search_rows_kernel<4, 16> },
    };
    return kernels[in->channels - 1][in->depth / 16];
}

static enum status run_group(const struct group *group, const struct image *kind) {
    enum status status = launch(group, rows_kernel_of(kind), rows_grid);
    if (!status) status = launch(group, search_columns_kernel, columns_grid);
    if (!status) status = launch(group, search_strips_kernel, strips_grid);
    if (!status) status = launch(group, search_parts_kernel, parts_grid);
    if (!status) status = launch(group, part_kernel, copy_grid);
    return status;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct group group;
    enum status status = STATUS_OK;
    group.context = context;
    group.failure = calls[0].failure;
    group.pixel_bytes = (uint32_t)image_pixel_bytes(&calls[0].in);
    for (int done = 0; !status && done < count; done += group.count) {
        take_group(&group, calls + done, count - done, (uint8_t *)calls[0].scratch,
                   calls[0].scratch_bytes);
        status = run_group(&group, &calls[0].in);
    }
    if (!status) cuda_record_kernel(context, "smartcrop");
    return status;
}

extern "C" const struct cuda_op cuda_op_smartcrop = { scratch, run };

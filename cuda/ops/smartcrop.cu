// SPDX-License-Identifier: Apache-2.0
/* smartcrop.cu - the part of an image with the most detail, the twin of pipeline/ops/smartcrop.c.
 *
 * How it works. The search leaves the best part of each of its blocks, and every block of the last
 * kernel takes the best of all before it copies its share of the rows. The host never sees
 * the choice. Scratch is 8.25 bytes a pixel, so a batch is done in groups of images that fit into
 * GROUP_BYTES together, one group after another in the same scratch: five launches each, for any
 * image sizes. An image that does not fit is a group of its own.
 */

#include "cuda/chunk.cuh"
#include "cuda/cuda_op.h"
#include "cuda/luma8_over.cuh"
#include "cuda/ops/move/load_any.cuh"
#include "cuda/ops/resize/tiles.cuh"
#include "pipeline/ops/smartcrop.h"

/* ---- the search for the best part, on the device
 *
 * Four launches for all images of any sizes; a tile is a block's work:
 *   rows     each block makes prefix sums of the weighed energies of a row
 *   columns  each thread sums these down a column, within a strip of rows
 *   strips   each thread sums the strips before each strip, so that two numbers give a pixel's sum
 *            of all pixels above and left of it
 *   parts    four such sums give a part's; each block keeps its best part
 * The blocks that copy the part find the best of all blocks again by themselves: there are few. */

enum { SEARCH_THREADS = 256, SEARCH_WARPS = SEARCH_THREADS / 32, SEARCH_STRIP = 32 };
enum { SEARCH_PARTS_MAX = 512 };

struct search_image {
    const uint8_t *in;
    uint8_t *out;
    uint64_t *sums; /* row by row; then come search_strips and search_parts */
    uint32_t in_stride, out_stride, first_tile;
    uint16_t width, height;
    uint16_t part_width, part_height;
    uint16_t tiles_across;
};

struct search_batch {
    int count;
    uint32_t pixel_bytes;
    struct background under;
    struct search_image images[CUDA_BATCH_MAX];
};

/* ---- memory of an image */

static __host__ __device__ inline uint32_t strips_of(uint32_t height) {
    return (height + SEARCH_STRIP - 1) / SEARCH_STRIP;
}

/* Blocks that look for an image's part: at most one for each row where a part may begin. */
static __host__ __device__ inline uint32_t parts_of(const struct search_image &image) {
    const uint32_t rows = image.height - image.part_height + 1u;
    return rows < SEARCH_PARTS_MAX ? rows : (uint32_t)SEARCH_PARTS_MAX;
}

/* Sums of all strips before each, a row for each strip. */
static __device__ __forceinline__ uint64_t *search_strips(const struct search_image &image) {
    return image.sums + (size_t)image.width * image.height;
}

/* The best of each block. */
static __device__ __forceinline__ struct smartcrop_part *
search_parts(const struct search_image &image) {
    return (struct smartcrop_part *)(search_strips(image) +
                                     (size_t)image.width * strips_of(image.height));
}

static inline size_t search_bytes(uint32_t width, uint32_t height) {
    return (size_t)width * (height + strips_of(height)) * sizeof(uint64_t) +
           SEARCH_PARTS_MAX * sizeof(struct smartcrop_part);
}

/* ---- energy */

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t search_luma(const struct search_image &image,
                                                       const struct background &under, uint32_t x,
                                                       uint32_t y) {
    const uint8_t *row = image.in + (size_t)min(y, image.height - 1u) * image.in_stride;
    return luma8_over<CHANNELS, DEPTH>(row, min(x, image.width - 1u), under);
}

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint64_t weighed_energy(const struct search_image &image,
                                                          const struct background &under,
                                                          uint32_t x, uint32_t y) {
    const uint32_t energy =
        carve_gradient(search_luma<CHANNELS, DEPTH>(image, under, x, y),
                       search_luma<CHANNELS, DEPTH>(image, under, x + 1, y),
                       search_luma<CHANNELS, DEPTH>(image, under, x, y + 1),
                       search_luma<CHANNELS, DEPTH>(image, under, x + 1, y + 1));
    return (uint64_t)energy * smartcrop_weight(x, image.width, image.part_width) *
           smartcrop_weight(y, image.height, image.part_height);
}

/* ---- sums */

/* Called by all threads: the sum of OWN over the threads up to this one; ALL: over all. */
static __device__ __forceinline__ uint64_t sum_up_to(uint64_t own, uint64_t *all) {
    __shared__ uint64_t warps[SEARCH_WARPS];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint64_t before = __shfl_up_sync(UINT32_MAX, own, step);
        if (lane >= step) own += before;
    }
    __syncthreads(); /* the sums of the call before have been read */
    if (lane == 31) warps[warp] = own;
    __syncthreads();
    *all = 0;
    for (uint32_t i = 0; i < SEARCH_WARPS; i++) {
        if (i < warp) own += warps[i];
        *all += warps[i];
    }
    return own;
}

/* A tile: a row. */
template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_rows_kernel(const __grid_constant__ struct search_batch batch) {
    const struct search_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t y = blockIdx.x - image.first_tile, width = image.width;
    uint64_t *row = image.sums + (size_t)y * width;
    uint64_t before = 0;
    for (uint32_t first = 0; first < width; first += SEARCH_THREADS) {
        const uint32_t x = first + threadIdx.x;
        const uint64_t own =
            x < width ? weighed_energy<CHANNELS, DEPTH>(image, batch.under, x, y) : 0;
        uint64_t all;
        const uint64_t sum = before + sum_up_to(own, &all);
        if (x < width) row[x] = sum;
        before += all;
    }
}

/* This thread's column, in an image whose tiles have SEARCH_THREADS columns. */
static __device__ __forceinline__ uint32_t search_column(const struct search_image &image) {
    return (blockIdx.x - image.first_tile) % image.tiles_across * SEARCH_THREADS + threadIdx.x;
}

/* A tile: a strip of some columns. */
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_columns_kernel(const __grid_constant__ struct search_batch batch) {
    const struct search_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t x = search_column(image), width = image.width;
    const uint32_t first = (blockIdx.x - image.first_tile) / image.tiles_across * SEARCH_STRIP;
    const uint32_t end = min(first + SEARCH_STRIP, (uint32_t)image.height);
    if (x >= width) return;
    uint64_t sum = 0;
    for (uint32_t y = first; y < end; y++) {
        uint64_t *at = image.sums + (size_t)y * width + x;
        sum += *at;
        *at = sum;
    }
}

/* A tile: some columns. */
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_strips_kernel(const __grid_constant__ struct search_batch batch) {
    const struct search_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t x = search_column(image), width = image.width, height = image.height;
    if (x >= width) return;
    uint64_t sum = 0;
    for (uint32_t s = 0; s < strips_of(height); s++) {
        search_strips(image)[(size_t)s * width + x] = sum;
        const uint32_t last = min((s + 1) * SEARCH_STRIP, height) - 1;
        sum += image.sums[(size_t)last * width + x];
    }
}

/* ---- parts */

/* The sum of all pixels above row Y and left of column X. */
static __device__ __forceinline__ uint64_t sum_before(const struct search_image &image, uint32_t x,
                                                      uint32_t y) {
    if (x == 0 || y == 0) return 0;
    const size_t width = image.width;
    return image.sums[(y - 1) * width + x - 1] +
           search_strips(image)[(y - 1) / SEARCH_STRIP * width + x - 1];
}

static __device__ __forceinline__ struct smartcrop_part part_at(const struct search_image &image,
                                                                uint32_t left, uint32_t top) {
    const uint32_t right = left + image.part_width, end = top + image.part_height;
    struct smartcrop_part part;
    part.sum = sum_before(image, right, end) - sum_before(image, left, end) -
               sum_before(image, right, top) + sum_before(image, left, top);
    part.apart = smartcrop_apart(left, top, image.width - image.part_width,
                                 image.height - image.part_height);
    part.top = top;
    part.left = left;
    return part;
}

/* Called by all threads: the best of their parts, through shared memory. */
static __device__ __forceinline__ struct smartcrop_part best_of_block(struct smartcrop_part own) {
    __shared__ struct smartcrop_part parts[SEARCH_THREADS];
    parts[threadIdx.x] = own;
    for (uint32_t half = SEARCH_THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && smartcrop_better(&parts[threadIdx.x + half], &parts[threadIdx.x]))
            parts[threadIdx.x] = parts[threadIdx.x + half];
    }
    __syncthreads();
    return parts[0];
}

static __device__ __forceinline__ struct smartcrop_part no_part(void) {
    struct smartcrop_part part;
    part.sum = 0;
    part.apart = part.top = part.left = UINT32_MAX;
    return part;
}

/* A tile: one of parts_of(); they take the rows where parts begin in turn. */
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_parts_kernel(const __grid_constant__ struct search_batch batch) {
    const struct search_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t own = blockIdx.x - image.first_tile, step = parts_of(image);
    const uint32_t across = image.width - image.part_width;
    const uint32_t down = image.height - image.part_height;
    struct smartcrop_part best = no_part();
    for (uint32_t top = own; top <= down; top += step)
        for (uint32_t left = threadIdx.x; left <= across; left += SEARCH_THREADS) {
            const struct smartcrop_part part = part_at(image, left, top);
            if (smartcrop_better(&part, &best)) best = part;
        }
    best = best_of_block(best);
    if (threadIdx.x == 0) search_parts(image)[own] = best;
}

/* Called by all threads of a block: the image's part. */
static __device__ __forceinline__ struct smartcrop_part
search_result(const struct search_image &image) {
    const uint32_t count = parts_of(image);
    struct smartcrop_part best = no_part();
    for (uint32_t i = threadIdx.x; i < count; i += SEARCH_THREADS)
        if (smartcrop_better(&search_parts(image)[i], &best)) best = search_parts(image)[i];
    return best_of_block(best);
}

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
    struct background under;
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
    tiles.batch.under = group->under;
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
    group.under = background_of(calls[0].params->number[SMARTCROP_BACKGROUND], calls[0].in.channels,
                                calls[0].in.depth);
    for (int done = 0; !status && done < count; done += group.count) {
        take_group(&group, calls + done, count - done, (uint8_t *)calls[0].scratch,
                   calls[0].scratch_bytes);
        status = run_group(&group, &calls[0].in);
    }
    if (!status) cuda_record_kernel(context, "smartcrop");
    return status;
}

extern "C" const struct cuda_op cuda_op_smartcrop = { scratch, run };

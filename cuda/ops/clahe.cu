// SPDX-License-Identifier: Apache-2.0
/* How it works. A single plane of 8 bits without alpha goes through one kernel, whose blocks wait
 * for one another (clahe/fused8.cuh: until a tile's counts sum to its pixels, of which alpha would
 * leave out some), if they all run at once and it is worth it (fused_parts). Else there are two
 * kernels over all planes of a batch: tables (clahe/table8.cuh, table16.cuh), then look-ups
 * (clahe/blend.cuh). Where the tables are more than TABLES_BYTES, as those of 16 bits soon are,
 * planes go in groups, and a single plane in rounds of some rows of tiles each. */
#include "cuda/check.cuh"
#include "cuda/cooperative.cuh"
#include "cuda/ops/clahe/blend.cuh"
#include "cuda/ops/clahe/fused8.cuh"
#include "cuda/ops/clahe/table16.cuh"
#include "cuda/ops/clahe/table8.cuh"

enum {
    TABLES_BYTES = 64 << 20,
    PART_PIXELS = 4096, /* the least for a block that shares a tile */
    FUSED_PARTS = 4,    /* of a region, at most */
    BLOCKS8 = 4,        /* of 512 threads on a multiprocessor */
    BLOCKS16 = 1,
};

/* ---- the pieces of the work */

struct pieces {
    int planes;        /* of an image */
    int group;         /* pictures of a launch */
    uint32_t rows;     /* of tiles, in a launch */
    uint32_t ring;     /* rows of tables that are kept */
    uint32_t columns;  /* the most of any picture */
    uint32_t rows_max; /* the most of any picture */
    size_t table_bytes;
};

static struct clahe_grid grid_of(const struct op_call *call) {
    return clahe_grid_of(call->in.width, call->in.height,
                         (uint32_t)call->params->number[CLAHE_TILES],
                         (uint32_t)call->params->number[CLAHE_CLIP], image_max(&call->in));
}

static int planes_of(const struct op_call *call) {
    const bool each = call->params->number[CLAHE_CHANNEL] == CLAHE_EACH;
    return each ? (int)image_colours(&call->in) : 1;
}

static struct pieces pieces_of(const struct op_call *calls, int count) {
    struct pieces pieces = {};
    pieces.planes = planes_of(&calls[0]);
    pieces.table_bytes = calls[0].in.depth == 8 ? (size_t)BINS8 : BINS16 * sizeof(uint16_t);
    for (int i = 0; i < count; i++) {
        const struct clahe_grid grid = grid_of(&calls[i]);
        pieces.columns = max(pieces.columns, grid.x.tiles);
        pieces.rows_max = max(pieces.rows_max, grid.y.tiles);
    }
    const size_t row = pieces.columns * pieces.table_bytes,
                 fit = TABLES_BYTES / (row * pieces.rows_max);
    const size_t most = min(count * pieces.planes, (int)CUDA_BATCH_MAX);
    pieces.group = (int)(fit < 1 ? 1 : fit < most ? fit : most);
    pieces.ring = fit < 1 ? (uint32_t)(TABLES_BYTES / row) : pieces.rows_max;
    pieces.rows = fit < 1 ? pieces.ring - 1 : pieces.rows_max;
    return pieces;
}

static size_t tables_bytes(const struct pieces *pieces) {
    return pieces->group * pieces->ring * pieces->columns * pieces->table_bytes;
}

/* Counters of 16 bits: one a table that blocks share, or one a block. */
static uint32_t counters16(const struct cuda_context *context, const struct pieces *pieces) {
    const uint64_t tables = (uint64_t)pieces->group * pieces->rows * pieces->columns;
    const uint32_t blocks = BLOCKS16 * (uint32_t)context->multiprocessors;
    return tables < blocks ? (uint32_t)tables : blocks;
}

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    const struct pieces pieces = pieces_of(calls, count);
    const size_t counters = calls[0].in.depth == 8 ? 0 : counters16(context, &pieces);
    return tables_bytes(&pieces) + counters * BINS16 * sizeof(uint32_t);
}

/* ---- a launch */

static struct clahe_picture picture_of(const struct op_call *call, uint32_t channel,
                                       uint32_t ring) {
    const struct clahe_grid grid = grid_of(call);
    struct clahe_picture picture = {};
    picture.in = call->in.pixels;
    picture.out = call->out.pixels;
    picture.in_stride = (uint32_t)call->in.stride;
    picture.out_stride = (uint32_t)call->out.stride;
    picture.width = call->in.width;
    picture.height = call->in.height;
    picture.tile_width = (uint16_t)grid.x.tile;
    picture.tile_height = (uint16_t)grid.y.tile;
    picture.limit = grid.limit;
    picture.channel = channel;
    picture.ring = ring;
    return picture;
}

/* The pictures from FIRST on; each channel of an image is one. */
static struct clahe_batch group_of(const struct cuda_context *context, const struct op_call *calls,
                                   int count, const struct pieces *pieces, int first) {
    struct clahe_batch batch = {};
    batch.count = min(pieces->group, count * pieces->planes - first);
    batch.tiles = (uint32_t)calls[0].params->number[CLAHE_TILES];
    batch.clip = (uint32_t)calls[0].params->number[CLAHE_CLIP];
    batch.background = background_of(calls[0].params->number[CLAHE_BACKGROUND],
                                     calls[0].in.channels, calls[0].in.depth);
    batch.ring_rows = pieces->ring;
    batch.tables = (uint8_t *)calls[0].scratch;
    batch.tickets = context->zeroed;
    for (int i = 0; i < batch.count; i++)
        batch.pictures[i] = picture_of(&calls[(first + i) / pieces->planes],
                                       (uint32_t)((first + i) % pieces->planes),
                                       (uint32_t)i * pieces->ring * pieces->columns);
    return batch;
}

/* Blocks that share PIXELS, ROOM at most; 0 where one block has not enough work. */
static uint32_t parts_of(uint64_t pixels, uint32_t room) {
    const uint64_t wanted = pixels / PART_PIXELS;
    return wanted < room ? (uint32_t)wanted : room;
}

/* Numbers the blocks of a round, which begins at row FIRST of tiles. */
static void begin_round(const struct cuda_context *context, struct clahe_batch *batch,
                        const struct pieces *pieces, uint32_t first, unsigned depth) {
    const uint32_t blocks = (uint32_t)context->multiprocessors * (depth == 8 ? BLOCKS8 : BLOCKS16);
    uint32_t tables = 0, strips = 0;
    uint64_t pixels = 0;
    batch->first_row = first;
    batch->end_row = first + pieces->rows;
    for (int i = 0; i < batch->count; i++) {
        struct clahe_picture *picture = &batch->pictures[i];
        const struct clahe_grid grid =
            clahe_grid_of(picture->width, picture->height, batch->tiles, 0, 255); /* for sides */
        const uint64_t tile = (uint64_t)grid.x.tile * grid.y.tile;
        picture->first_part = tables;
        picture->first_strip = strips;
        tables += clahe_tile_rows(batch, &grid) * grid.x.tiles;
        strips += clahe_cell_rows(batch, &grid) * grid.x.cells * clahe_cell_strips(&grid);
        if (tile > pixels) pixels = tile;
    }
    batch->tables_made = tables;
    batch->strips = strips;
    batch->parts = max(parts_of(pixels, tables ? blocks / tables : 1), 1u);
    for (int i = 0; i < batch->count; i++) batch->pictures[i].first_part *= batch->parts;
}

template <class K>
static enum status make_tables(const struct cuda_context *context, struct clahe_batch *batch,
                               uint32_t counters, struct failure *failure) {
    const uint32_t blocks = batch->tables_made * batch->parts;
    if constexpr (K::DEPTH == 8) {
        batch->counts = context->zeroed + BLOCKS8 * context->multiprocessors;
        clahe_table8_kernel<K><<<blocks, TABLE8_THREADS, 0, context->stream>>>(*batch);
    } else {
        const uint32_t most = batch->parts > 1 || blocks < counters ? blocks : counters;
        clahe_table16_kernel<K><<<most, TABLE16_THREADS, 0, context->stream>>>(*batch);
    }
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, "tables");
    return STATUS_OK;
}

template <class K>
static enum status run_round(const struct cuda_context *context, struct clahe_batch *batch,
                             uint32_t counters, struct failure *failure) {
    const enum status status = make_tables<K>(context, batch, counters, failure);
    if (status) return status;
    clahe_blend_kernel<K><<<batch->strips, BLEND_THREADS, 0, context->stream>>>(*batch);
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, "blend");
    return STATUS_OK;
}

/* ---- one launch */

/* Blocks of a region, of MOST that run at once; 0: two launches are better. The fused kernel holds
 * the whole GPU, on which other lanes work too: it must not do small pictures, whose regions have
 * not enough work for a block, nor leave most of the GPU idle. All blocks of a region read the same
 * counts and add to them, and many obstruct one another: on an H200 one tile of 4K, 66 blocks a
 * region, took 42 us, in two launches 39. */
static uint32_t fused_parts(const struct clahe_grid *grid, uint32_t most) {
    if (!fused8_fits(grid)) return 0;
    const uint32_t regions = FUSED_REGIONS * grid->x.of * grid->y.of;
    const uint64_t pixels = (uint64_t)grid->x.tile * grid->y.tile / FUSED_REGIONS;
    const uint32_t parts = parts_of(pixels, min(most / regions, (uint32_t)FUSED_PARTS));
    return 2 * regions * parts >= most ? parts : 0;
}

template <class K>
static cudaError_t launch_fused8(const struct cuda_context *context, struct clahe_fused *fused) {
    const void *const kernel = (const void *)clahe_fused8_kernel<K>;
    void *arguments[] = { fused };
    const struct cooperative_launch launch = { kernel, FUSED_THREADS, 0, arguments };
    const uint32_t regions = FUSED_REGIONS * fused->grid.x.of * fused->grid.y.of;
    static uint64_t prepared; /* a bit for each device */
    const cudaError_t error = prepare_kernels(&kernel, 1, 0, &prepared);
    return error ? error : cooperative_launch(context, &launch, regions * fused->parts);
}

/* DONE is false where this is not worth it or the blocks do not run at once: nothing has changed
 * then. */
template <class K>
static enum status run_fused8(const struct cuda_context *context, const struct op_call *call,
                              bool *done) {
    const struct clahe_grid grid = grid_of(call);
    const uint32_t most = (uint32_t)(fused8_blocks(context->capability) * context->multiprocessors);
    struct clahe_fused fused = { picture_of(call, 0, 0), grid, fused_parts(&grid, most) };
    *done = fused.parts > 0;
    if (!*done) return STATUS_OK;
    fused.counts = context->zeroed;
    fused.tickets = fused.counts + grid.x.of * grid.y.of * BINS8;
    fused8_halves(fused.columns, &grid.x);
    fused8_halves(fused.rows, &grid.y);
    const cudaError_t error = launch_fused8<K>(context, &fused);
    *done = error != cudaErrorCooperativeLaunchTooLarge;
    if (!*done) return STATUS_OK;
    CUDA_TRY(call->failure, error);
    cuda_record_kernel(context, "equalize");
    return STATUS_OK;
}

/* ---- run */

template <class K>
static enum status run_kind(const struct cuda_context *context, const struct op_call *calls,
                            int count) {
    if constexpr (K::DEPTH == 8 && K::WHOLE && !K::ALPHA) {
        bool done = false;
        const enum status status = count == 1 ? run_fused8<K>(context, calls, &done) : STATUS_OK;
        if (status || done) return status;
    }
    const struct pieces pieces = pieces_of(calls, count);
    const uint32_t counters = K::DEPTH == 8 ? 0 : counters16(context, &pieces);
    uint8_t *counts = (uint8_t *)calls[0].scratch + tables_bytes(&pieces);
    if (counters)
        CUDA_TRY(calls[0].failure,
                 cudaMemsetAsync(counts, 0, counters * BINS16 * sizeof(uint32_t), context->stream));
    for (int first = 0; first < count * pieces.planes; first += pieces.group) {
        struct clahe_batch batch = group_of(context, calls, count, &pieces, first);
        batch.counts = (uint32_t *)counts;
        for (uint32_t row = 0; row < pieces.rows_max; row += pieces.rows) {
            begin_round(context, &batch, &pieces, row, K::DEPTH);
            if (!batch.tables_made) break;
            const enum status status = run_round<K>(context, &batch, counters, calls[0].failure);
            if (status) return status;
        }
    }
    return STATUS_OK;
}

template <int CHANNELS, int DEPTH>
static enum status run_colour(const struct cuda_context *context, const struct op_call *calls,
                              int count) {
    switch (calls[0].params->number[CLAHE_CHANNEL]) {
    case CLAHE_VALUE:
        return run_kind<clahe_kind<CHANNELS, DEPTH, CLAHE_VALUE>>(context, calls, count);
    case CLAHE_LUMA:
        return run_kind<clahe_kind<CHANNELS, DEPTH, CLAHE_LUMA>>(context, calls, count);
    default: return run_kind<clahe_kind<CHANNELS, DEPTH, CLAHE_EACH>>(context, calls, count);
    }
}

template <int DEPTH>
static enum status run_depth(const struct cuda_context *context, const struct op_call *calls,
                             int count) {
    switch (calls[0].in.channels) {
    case 1: return run_kind<clahe_kind<1, DEPTH, CLAHE_VALUE>>(context, calls, count);
    case 2: return run_kind<clahe_kind<2, DEPTH, CLAHE_VALUE>>(context, calls, count);
    case 3: return run_colour<3, DEPTH>(context, calls, count);
    default: return run_colour<4, DEPTH>(context, calls, count);
    }
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return calls[0].in.depth == 8 ? run_depth<8>(context, calls, count)
                                  : run_depth<16>(context, calls, count);
}

extern "C" const struct cuda_op cuda_op_clahe = { scratch, run };

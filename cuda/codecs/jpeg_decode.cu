// SPDX-License-Identifier: Apache-2.0
/* How it works. All grids follow from headers and lengths alone, so that nothing is read back
 * between the launches: descriptors up, eight kernels, verdicts down, for a batch of any size.
 *   1 tables of the Huffman codes, and how much each piece of a scan keeps (unstuff.cuh)
 *   2 the scans' bits without stuffing (unstuff.cuh)
 *   3 subsequences synchronized (walk.cuh, or phases.cuh where there are few)
 *   4 subsequences of hard pictures decoded from every block of an MCU (walk.cuh)
 *   5 subsequences fitted together, their counts added up (join.cuh)
 *   6 coefficients written and checked (walk.cuh)
 *   7 the inverse transform (inverse.cuh)
 *   8 pixels (pixels.cuh)
 * Once a kernel finds a flaw in a picture, later kernels skip that picture. jpeg_parallel.c does
 * the same on the CPU. */
#include "cuda/codecs/jpeg_decode.h"

#include "cuda/check.cuh"
#include "cuda/codecs/jpeg_decode/inverse.cuh"
#include "cuda/codecs/jpeg_decode/join.cuh"
#include "cuda/codecs/jpeg_decode/phases.cuh"
#include "cuda/codecs/jpeg_decode/pixels.cuh"
#include "cuda/codecs/jpeg_decode/unstuff.cuh"
#include "cuda/codecs/jpeg_decode/walk.cuh"

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* ---- transfers between pinned memory and the device, by a kernel
 *
 * The GPU has one engine for copies in each direction, and a few KB that are queued there wait for
 * the 60 MB of another lane. A kernel reads and writes pinned memory by itself, and one launch does
 * what took two copies and a memset. */

enum {
    JPEG_TRANSFER_PARTS = 3,
    JPEG_TRANSFER_THREADS = 256,
    JPEG_TRANSFER_LOADS = 4, /* loads of a thread, under way together */
    JPEG_TRANSFER_BLOCK = JPEG_TRANSFER_THREADS * JPEG_TRANSFER_LOADS /* words */
};

struct jpeg_transfers {
    int count;
    uint32_t words_max;
    struct jpeg_transfer_part {
        uint32_t *to;
        const uint32_t *from; /* NULL: zeros */
        uint32_t words;
    } parts[JPEG_TRANSFER_PARTS];
};

static inline void jpeg_transfer_add(struct jpeg_transfers *transfers, void *to, const void *from,
                                     size_t bytes) {
    const uint32_t words = (uint32_t)(bytes / sizeof(uint32_t));
    transfers->parts[transfers->count++] = { (uint32_t *)to, (const uint32_t *)from, words };
    if (words > transfers->words_max) transfers->words_max = words;
}

static __global__ void __launch_bounds__(JPEG_TRANSFER_THREADS)
    jpeg_transfer_kernel(const __grid_constant__ struct jpeg_transfers transfers) {
    const struct jpeg_transfers::jpeg_transfer_part &part = transfers.parts[blockIdx.y];
    const uint32_t first = blockIdx.x * JPEG_TRANSFER_BLOCK + threadIdx.x;
    uint32_t words[JPEG_TRANSFER_LOADS] = { 0 };
#pragma unroll
    for (int i = 0; i < JPEG_TRANSFER_LOADS; i++)
        if (part.from && first + i * JPEG_TRANSFER_THREADS < part.words)
            words[i] = part.from[first + i * JPEG_TRANSFER_THREADS];
#pragma unroll
    for (int i = 0; i < JPEG_TRANSFER_LOADS; i++)
        if (first + i * JPEG_TRANSFER_THREADS < part.words)
            part.to[first + i * JPEG_TRANSFER_THREADS] = words[i];
}

static inline cudaError_t jpeg_transfer_launch(const struct jpeg_transfers *transfers,
                                               cudaStream_t stream) {
    const unsigned blocks = (transfers->words_max + JPEG_TRANSFER_BLOCK - 1) / JPEG_TRANSFER_BLOCK;
    const dim3 grid(blocks, (unsigned)transfers->count);
    jpeg_transfer_kernel<<<grid, JPEG_TRANSFER_THREADS, 0, stream>>>(*transfers);
    return cudaGetLastError();
}

/* A thread that decodes a longer run of subsequences starts from a guess less often; a
 * multiprocessor must keep JPEG_THREADS_LEAST threads. */
enum {
    JPEG_THREADS_LEAST = 512,
    JPEG_PHASES_BLOCKS = 4, /* of a multiprocessor */
    JPEG_SHORT_LOG2 = 8,
    JPEG_SHORT_LEAD = 1,
    JPEG_SHORT_ROUNDS = 5,
    JPEG_SHORT_BATCH = 64, /* JPEG_SUB_BITS a multiprocessor, at most */
};

/* The work of a thread, as in struct jpeg_decode_batch. */
struct shape {
    uint32_t run, short_log2, lead, rounds, spread, join_threads, tile_run;
};

const char *const jpeg_decode_stages[JPEG_DECODE_STAGES] = { "count",   "unstuff", "walk",
                                                             "phases",  "join",    "write",
                                                             "inverse", "pixels" };

/* ---- arena: facts, descriptors, units, then each picture's own */

static size_t align_up(size_t bytes) {
    return (bytes + JPEG_ARENA_ALIGN - 1) / JPEG_ARENA_ALIGN * JPEG_ARENA_ALIGN;
}

static size_t facts_bytes(int count) {
    return align_up((size_t)count * sizeof(struct jpeg_facts));
}

static size_t pictures_bytes(int count) {
    return align_up((size_t)count * sizeof(struct jpeg_picture));
}

size_t jpeg_decode_units(int count) {
    return (size_t)JPEG_UNIT_STAGES * ((size_t)count + 1);
}

static size_t shared_bytes(int count) {
    return facts_bytes(count) + pictures_bytes(count) +
           align_up(jpeg_decode_units(count) * sizeof(uint32_t));
}

size_t jpeg_decode_bytes(const struct jpeg_picture *pictures, int count) {
    size_t bytes = shared_bytes(count);
    for (int i = 0; i < count; i++) bytes += jpeg_picture_bytes(&pictures[i]);
    return bytes;
}

static void place_pictures(const struct jpeg_decode_batch *batch) {
    uint8_t *arena = batch->arena + shared_bytes(batch->count);
    for (int i = 0; i < batch->count; i++) {
        struct jpeg_picture *picture = &batch->pictures[i];
        jpeg_picture_place(picture, arena);
        arena += jpeg_picture_bytes(picture);
        picture->facts = (struct jpeg_facts *)batch->arena + i;
    }
}

/* ---- units */

/* A thread that goes on to the next rows reads less. This pays where all threads are busy
 * anyway. */
static uint32_t choose_tile_run(const struct cuda_context *context,
                                const struct jpeg_decode_batch *batch) {
    uint64_t spans = 0; /* of 8 pixels of two rows */
    for (int i = 0; i < batch->count; i++)
        spans += (uint64_t)batch->pictures[i].width * batch->pictures[i].height / 16;
    const uint64_t threads = (uint64_t)context->multiprocessors * 2048;
    return spans > 2 * threads ? 4 : 1;
}

static uint32_t choose_run(const struct cuda_context *context, uint64_t subs) {
    uint32_t run = 1;
    while (run < 8 && subs > (uint64_t)run * context->multiprocessors * JPEG_THREADS_LEAST)
        run *= 2;
    return run;
}

/* Cuts the pictures into subsequences. A batch that fills the GPU is walked, which decodes each
 * subsequence about twice; all phases together decode a dozen times and more. A picture that cannot
 * be cut short is walked too. */
static void choose_cut(const struct cuda_context *context, const struct jpeg_decode_batch *batch,
                       uint64_t subs, struct shape *shape) {
    const bool few = subs <= (uint64_t)context->multiprocessors * JPEG_SHORT_BATCH;
    if (!shape->short_log2) shape->short_log2 = few ? +JPEG_SHORT_LOG2 : +JPEG_SUB_LOG2;
    if (!shape->lead) shape->lead = JPEG_SHORT_LEAD;
    if (!shape->rounds) shape->rounds = JPEG_SHORT_ROUNDS;
    for (int i = 0; i < batch->count; i++) {
        struct jpeg_picture *picture = &batch->pictures[i];
        jpeg_picture_cut(picture, shape->short_log2, shape->lead);
        if (picture->sub_log2 == JPEG_SUB_LOG2)
            jpeg_picture_cut(picture, JPEG_SUB_LOG2, JPEG_PHASE_LEAD);
    }
}

/* For writing, a warp needs four lanes at least; more threads than the GPU holds do not help. */
static uint32_t choose_spread(const struct cuda_context *context, uint64_t subs) {
    uint32_t spread = 1;
    while (spread < 4 && subs * spread <= (uint64_t)context->multiprocessors * JPEG_THREADS_LEAST)
        spread *= 2;
    return spread;
}

static struct shape choose_shape(const struct cuda_context *context,
                                 const struct jpeg_decode_batch *batch) {
    struct shape shape = { batch->run,
                           batch->short_log2,
                           batch->lead,
                           batch->rounds,
                           batch->spread,
                           batch->join_threads,
                           0 };
    uint64_t subs = 0, cut = 0;
    uint32_t most = 0;
    for (int i = 0; i < batch->count; i++)
        subs += jpeg_subs(batch->pictures[i].scan_bytes, JPEG_SUB_LOG2);
    choose_cut(context, batch, subs, &shape);
    for (int i = 0; i < batch->count; i++) {
        const uint32_t its = batch->pictures[i].subs_max;
        cut += its;
        most = its > most ? its : most;
    }
    if (!shape.run) shape.run = choose_run(context, subs);
    if (!shape.spread) shape.spread = choose_spread(context, cut);
    if (!shape.join_threads) shape.join_threads = most > 1024 ? 1024 : 256;
    shape.tile_run = choose_tile_run(context, batch);
    return shape;
}

static uint64_t units_of(const struct jpeg_picture *picture, int stage, const struct shape *shape) {
    const uint64_t subs = picture->subs_max;
    const uint32_t own = jpeg_part_subs(shape->run);
    const bool is_short = picture->sub_log2 < JPEG_SUB_LOG2;
    const uint32_t writes = JPEG_WALK_THREADS / shape->spread;
    switch (stage) {
    case JPEG_STAGE_PIECES: return picture->pieces;
    case JPEG_STAGE_PARTS: return is_short ? 0 : (subs + own - 1) / own;
    case JPEG_STAGE_SHORTS: return is_short ? (subs + JPEG_PHASE_OWN - 1) / JPEG_PHASE_OWN : 0;
    case JPEG_STAGE_WRITES: return (subs + writes - 1) / writes;
    case JPEG_STAGE_BLOCKS: return jpeg_divide_up(picture->blocks, JPEG_BLOCKS_OF_UNIT);
    default:
        return (uint64_t)jpeg_tiles_across(picture) * jpeg_tiles_down(picture, shape->tile_run);
    }
}

/* Numbers the units through the batch; false: there are more than a grid can have. TOTALS: of each
 * stage. */
static bool number_units(const struct jpeg_decode_batch *batch, const struct shape *shape,
                         unsigned *totals) {
    uint32_t *first = batch->units;
    for (int stage = 0; stage < JPEG_UNIT_STAGES; stage++) {
        uint64_t units = 0;
        for (int i = 0; i < batch->count; i++) {
            *first++ = (uint32_t)units;
            units += units_of(&batch->pictures[i], stage, shape);
            if (units + 4 * JPEG_DECODE_MAX > INT32_MAX) return false;
        }
        totals[stage] = *first++ = (uint32_t)units;
    }
    return true;
}

static_assert(sizeof(struct jpeg_picture) % 4 == 0 && sizeof(struct jpeg_facts) % 4 == 0,
              "whole words");

/* ---- launches */

struct launcher {
    cudaStream_t stream;
    struct jpeg_units units;
    const unsigned *totals;
    unsigned phases_blocks;
    cudaEvent_t *events; /* NULL, or the next one */
};

static void record(struct launcher *launcher) {
    if (launcher->events) cudaEventRecord(*launcher->events++, launcher->stream);
}

template <int RUN> static void launch_walk(struct launcher *l) {
    jpeg_walk_kernel<RUN>
        <<<l->totals[JPEG_STAGE_PARTS], JPEG_WALK_THREADS, 0, l->stream>>>(l->units);
}

/* Synchronizes the subsequences of both kinds of pictures. */
static void launch_steps(struct launcher *l, uint32_t run) {
    const unsigned shorts = l->totals[JPEG_STAGE_SHORTS];
    if (shorts) jpeg_short_kernel<<<shorts, JPEG_PHASE_THREADS, 0, l->stream>>>(l->units);
    if (!l->totals[JPEG_STAGE_PARTS]) return;
    switch (run) {
    case 1: launch_walk<1>(l); break;
    case 2: launch_walk<2>(l); break;
    case 4: launch_walk<4>(l); break;
    default: launch_walk<8>(l);
    }
}

static void launch(struct launcher *l, const struct shape *shape) {
    const struct jpeg_units units = l->units;
    const unsigned pieces = l->totals[JPEG_STAGE_PIECES];
    record(l);
    jpeg_count_kernel<<<pieces + 4 * units.count, JPEG_PIECE_THREADS, 0, l->stream>>>(units,
                                                                                      pieces);
    record(l);
    jpeg_unstuff_kernel<<<pieces, JPEG_PIECE_THREADS, 0, l->stream>>>(units);
    record(l);
    launch_steps(l, shape->run);
    record(l);
    if (l->totals[JPEG_STAGE_PARTS])
        jpeg_phases_kernel<<<l->phases_blocks, JPEG_WALK_THREADS, 0, l->stream>>>(units);
    record(l);
    if (shape->join_threads > 256)
        jpeg_join_kernel<1024><<<units.count, 1024, 0, l->stream>>>(units);
    else
        jpeg_join_kernel<256><<<units.count, 256, 0, l->stream>>>(units);
    record(l);
    jpeg_write_kernel<<<l->totals[JPEG_STAGE_WRITES], JPEG_WALK_THREADS, 0, l->stream>>>(
        units, shape->spread);
    record(l);
    jpeg_inverse_kernel<<<l->totals[JPEG_STAGE_BLOCKS], JPEG_BLOCK_THREADS, 0, l->stream>>>(units);
    record(l);
    jpeg_pixels_kernel<<<l->totals[JPEG_STAGE_TILES], JPEG_TILE_THREADS, 0, l->stream>>>(units);
    record(l);
}

enum status jpeg_decode_queue(const struct cuda_context *context, struct jpeg_decode_batch *batch,
                              struct failure *failure) {
    const int count = batch->count;
    const struct shape shape = choose_shape(context, batch);
    uint8_t *d_pictures = batch->arena + facts_bytes(count);
    uint8_t *d_units = d_pictures + pictures_bytes(count);
    unsigned totals[JPEG_UNIT_STAGES];
    struct launcher launcher = { context->stream,
                                 { (const struct jpeg_picture *)d_pictures,
                                   (const uint32_t *)d_units, count, shape.rounds, shape.tile_run },
                                 totals,
                                 (unsigned)context->multiprocessors * JPEG_PHASES_BLOCKS,
                                 batch->events };
    if (count < 1 || count > JPEG_DECODE_MAX || !number_units(batch, &shape, totals))
        return fail(failure, STATUS_TOO_LARGE, "too many JPEGs for one batch on the GPU");
    place_pictures(batch);
    struct jpeg_transfers up = {}, down = {};
    jpeg_transfer_add(&up, d_pictures, batch->pictures, count * sizeof *batch->pictures);
    jpeg_transfer_add(&up, d_units, batch->units, jpeg_decode_units(count) * sizeof *batch->units);
    jpeg_transfer_add(&up, batch->arena, NULL, facts_bytes(count));
    jpeg_transfer_add(&down, batch->facts, batch->arena, count * sizeof *batch->facts);
    CUDA_TRY(failure, jpeg_transfer_launch(&up, context->stream));
    launch(&launcher, &shape);
    CUDA_LAUNCHED(failure);
    CUDA_TRY(failure, jpeg_transfer_launch(&down, context->stream));
    return STATUS_OK;
}

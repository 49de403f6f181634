// SPDX-License-Identifier: Apache-2.0
/* How it works. Three kernels for any batch: tiles to strings of bits (jpeg_encode_tile.cuh),
 * the place of each (jpeg_encode_place.cuh), strings to files (jpeg_encode_stuff.cuh). Grids follow
 * from the images' sizes, so that nothing is waited for in between. Up to FEW images travel in the
 * kernels' parameters, more by a copy from pinned memory. jpeg/prologue.c writes the headers into
 * pinned memory. Scratch holds descriptions, then the strings one after another; tiles take places
 * for them from one counter, in any order: the files do not depend on that. */
#include "cuda/codecs/jpeg_encode_place.cuh"
#include "cuda/codecs/jpeg_encode_stuff.cuh"
#include "cuda/codecs/jpeg_encode_tile.cuh"

#include "cuda/check.cuh"
#include "pipeline/codecs/jpeg/prologue.h"

#include <cassert>
#include <cstdlib>
#include <cstring>

namespace jpeg_encode {

enum {
    SIDE_MAX = 65500, /* libjpeg's */
    TILE_BITS_MAX = JPEG_TILE_BLOCKS * JPEG_BLOCK_BITS_MAX,
    PROLOGUE_BYTES_MAX = 640, /* without anything carried: 623 */
    ROLLED_TILES_MAX = 0      /* slower on an H200, at every batch: tests/bench/kernels */
};

/* Hands out memory piece by piece; without memory it only counts bytes. */
struct arena {
    uint8_t *memory;
    size_t used;

    template <class T> T *take(size_t count) {
        T *const taken = memory ? (T *)(memory + used) : NULL;
        used += (count * sizeof(T) + JPEG_ENCODE_ALIGN - 1) / JPEG_ENCODE_ALIGN * JPEG_ENCODE_ALIGN;
        return taken;
    }
};

/* The host's part of a batch, in pinned memory. */
struct host_part {
    struct jpeg_encode_result *host_results;
    struct source *sources;
    uint32_t *firsts;
    uint8_t *prologues;
    size_t many_bytes; /* sources and firsts, which are copied together */
};

struct totals {
    uint64_t tiles, pieces, prologue_bytes;
};

static enum jpeg_sampling sampling_of(const struct jpeg_encode_image &image) {
    return jpeg_sampling_of(image.image.channels, image.quality);
}

static struct jpeg_frame frame_of(const struct jpeg_encode_image &image) {
    return jpeg_frame_of(image.image.width, image.image.height, sampling_of(image));
}

static size_t prologue_bytes(const struct jpeg_encode_image &image) {
    return jpeg_prologue_bytes(sampling_of(image), &image.carried);
}

static size_t prologue_room(const struct jpeg_encode_image &image) {
    return (prologue_bytes(image) + OUT_ALIGN - 1) / OUT_ALIGN * OUT_ALIGN;
}

static struct totals totals_of(const struct jpeg_encode_image *images, int count) {
    struct totals totals = {};
    for (int i = 0; i < count; i++) {
        const struct jpeg_frame frame = frame_of(images[i]);
        totals.tiles += jpeg_frame_tiles(&frame);
        totals.pieces += (prologue_bytes(images[i]) + PIECE_BYTES - 1) / PIECE_BYTES;
        totals.prologue_bytes += prologue_room(images[i]);
    }
    return totals;
}

static struct host_part host_part_of(struct arena &arena, const struct totals &totals, int count) {
    struct host_part part;
    part.host_results = arena.take<struct jpeg_encode_result>(count);
    const size_t before = arena.used;
    part.sources = arena.take<struct source>(count);
    part.firsts = arena.take<uint32_t>(2 * (size_t)count);
    part.many_bytes = arena.used - before;
    part.prologues = arena.take<uint8_t>(totals.prologue_bytes);
    return part;
}

/* Lays out scratch; the rest of it is for the strings. */
static void lay_out(struct batch &batch, struct arena &arena, const struct totals &totals,
                    int count) {
    batch.many = arena.take<struct source>(count);
    batch.many_firsts = arena.take<uint32_t>(2 * (size_t)count);
    batch.strings = arena.take<struct jpeg_string>(totals.tiles);
    batch.tile_places = arena.take<struct tile_place>(totals.tiles);
    batch.sizes = arena.take<struct image_size>(count);
    batch.results = arena.take<struct jpeg_encode_result>(count);
    batch.string_bytes = arena.memory ? arena.memory + arena.used : NULL;
}

/* floor(n / divisor) = (n * reciprocal >> 32) >> shift for n < 2^31 and 1 < divisor < 2^31
 * (Granlund and Montgomery, Division by Invariant Integers using Multiplication); reciprocal 0 for
 * a divisor of 1. */
static void set_division(struct source &source, uint32_t divisor) {
    uint8_t log2_up = 0;
    while ((1ull << log2_up) < divisor) log2_up++;
    const uint64_t power = 1ull << (31 + log2_up);
    source.reciprocal = divisor == 1 ? 0 : (uint32_t)((power + divisor - 1) / divisor);
    source.shift = divisor == 1 ? 0 : log2_up - 1;
}

/* Prologues without anything carried, for one pixel: [colour][quality - 1]. Writing one takes
 * longer than a small image's kernels. */
struct prologues {
    uint8_t bytes[2][QUALITIES][PROLOGUE_BYTES_MAX];
};

static void fill_prologues(struct prologues &prologues) {
    const struct carried nothing = {};
    for (int colour = 0; colour < 2; colour++)
        for (unsigned quality = 1; quality <= QUALITIES; quality++) {
            const struct jpeg_frame frame =
                jpeg_frame_of(1, 1, jpeg_sampling_of(colour ? 3 : 1, quality));
            jpeg_prologue_write(&frame, quality, &nothing, prologues.bytes[colour][quality - 1]);
        }
}

static void write_prologue(const struct prologues &prologues, const struct jpeg_frame &frame,
                           const struct jpeg_encode_image &image, uint8_t *bytes) {
    const size_t length = prologue_bytes(image);
    if (carried_bytes(&image.carried))
        return jpeg_prologue_write(&frame, image.quality, &image.carried, bytes);
    memcpy(bytes, prologues.bytes[image.image.channels > 1][image.quality - 1], length);
    jpeg_prologue_resize(&frame, bytes, length);
}

static uint32_t mcu_side(const struct source &source) {
    return source.frame.sampling == JPEG_420 ? 16 : 8;
}

static struct source source_of(const struct jpeg_encode_image &image, uint8_t *prologue,
                               uint64_t first_tile) {
    struct source source = {};
    source.frame = frame_of(image);
    source.pixels = image.image.pixels;
    source.stride = (uint32_t)image.image.stride;
    source.aligned = ((uintptr_t)source.pixels | source.stride) % 8 == 0;
    source.plain =
        source.aligned && source.frame.width == mcu_side(source) * source.frame.mcus_across;
    source.first_tile = (uint32_t)first_tile;
    source.tiles = jpeg_frame_tiles(&source.frame);
    source.quality = (uint8_t)image.quality;
    source.room = image.room < UINT32_MAX ? (uint32_t)image.room : UINT32_MAX;
    set_division(source, source.frame.mcus_across);
    source.prologue = (const uint4 *)prologue;
    source.prologue_bytes = (uint32_t)prologue_bytes(image);
    return source;
}

static void describe_images(const struct jpeg_encode_batch *asked, const struct prologues &ready,
                            struct source *sources, uint32_t *firsts, uint8_t *prologues) {
    uint64_t tiles = 0, pieces = 0;
    for (int i = 0; i < asked->count; i++) {
        sources[i] = source_of(asked->images[i], prologues, tiles);
        write_prologue(ready, sources[i].frame, asked->images[i], prologues);
        firsts[i] = (uint32_t)tiles;
        firsts[asked->count + i] = (uint32_t)pieces;
        tiles += sources[i].tiles;
        pieces += (sources[i].prologue_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
        prologues += prologue_room(asked->images[i]);
    }
}

/* ---- launches */

struct launch_shape {
    unsigned blocks, threads;
    size_t shared_bytes;
    bool overlaps; /* begins while the kernel before it ends */
};

static cudaError_t launch(void (*kernel)(struct batch), const struct launch_shape &shape,
                          cudaStream_t stream, const struct batch &batch) {
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = shape.blocks;
    config.blockDim = shape.threads;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = shape.overlaps;
    return cudaLaunchKernelEx(&config, kernel, batch);
}

/* Batches of up to this many tiles take the rolled kind of the tile kernel; 0: none do. A variable,
 * for tests/bench/kernels/jpeg_encode.cu. */
static uint32_t rolled_tiles_max = ROLLED_TILES_MAX;

static cudaError_t launch_tiles(const struct batch &batch, cudaStream_t stream) {
    const struct launch_shape tile = { batch.tiles, TILE_THREADS, sizeof(struct tile_memory),
                                       false };
    const bool rolled = batch.tiles <= rolled_tiles_max;
    return launch(rolled ? tile_kernel<true> : tile_kernel<false>, tile, stream, batch);
}

/* After a refused launch the counters are not 0, and the next batch's strings would find no room.
 * Kernels of the refused batch that were queued run before this reset. */
static void reset_counters(struct tables *tables, cudaStream_t stream) {
    cudaMemsetAsync(&tables->places_taken, 0, sizeof tables->places_taken, stream);
    cudaMemsetAsync(&tables->images_done, 0, sizeof tables->images_done, stream);
    cudaGetLastError(); /* the refusal is the error to report */
}

static enum status launch_three(const struct batch &batch, cudaStream_t stream, bool overlaps,
                                struct failure *failure) {
    const unsigned stuff_blocks = (batch.tiles + batch.pieces + STUFF_WARPS - 1) / STUFF_WARPS;
    const struct launch_shape place = { batch.count, PLACE_THREADS, 0, overlaps };
    const struct launch_shape stuff = { stuff_blocks, STUFF_THREADS, 0, overlaps };
    CUDA_TRY(failure, launch_tiles(batch, stream));
    CUDA_TRY(failure, launch(place_kernel, place, stream, batch));
    CUDA_TRY(failure, launch(stuff_kernel, stuff, stream, batch));
    return STATUS_OK;
}

static enum status launch_all(const struct batch &batch, cudaStream_t stream, bool overlaps,
                              struct failure *failure) {
    const enum status status = launch_three(batch, stream, overlaps, failure);
    if (status) reset_counters(batch.tables, stream);
    return status;
}

/* ---- tables */

static void fill_tables(struct tables &tables) {
    memset(&tables, 0, sizeof tables);
    jpeg_places_init(tables.places);
    for (int which = 0; which < 2; which++) {
        jpeg_symbols_init(tables.symbols[which], which);
        for (unsigned quality = 1; quality <= QUALITIES; quality++) {
            uint8_t steps[JPEG_BLOCK];
            jpeg_quantization_steps(quality, which, steps);
            jpeg_reciprocals_init(tables.reciprocals[quality - 1][which], steps);
        }
    }
}

} // namespace jpeg_encode

using namespace jpeg_encode;

struct jpeg_encoder {
    struct tables *tables; /* device */
    struct tables *origin; /* host, pinned; the device's are a copy */
    bool overlaps;         /* kernels may begin early: their code is for 9.0, and waits by itself */
    struct prologues prologues;
};

static enum status set_up(struct jpeg_encoder *encoder, struct failure *failure) {
    struct cudaFuncAttributes place;
    CUDA_TRY(failure, cudaFuncGetAttributes(&place, place_kernel));
    encoder->overlaps = place.ptxVersion >= 90;
    void (*const kernels[])(struct batch) = { tile_kernel<false>, tile_kernel<true> };
    for (void (*kernel)(struct batch) : kernels)
        CUDA_TRY(failure, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               (int)sizeof(struct tile_memory)));
    CUDA_TRY(failure, cudaMalloc((void **)&encoder->tables, sizeof *encoder->tables));
    CUDA_TRY(failure, cudaMemcpy(encoder->tables, encoder->origin, sizeof *encoder->tables,
                                 cudaMemcpyHostToDevice));
    return STATUS_OK;
}

extern "C" enum status jpeg_encoder_restore(struct jpeg_encoder *encoder, cudaStream_t stream,
                                            struct failure *failure) {
    CUDA_TRY(failure, cudaMemcpyAsync(encoder->tables, encoder->origin, sizeof *encoder->tables,
                                      cudaMemcpyHostToDevice, stream));
    return STATUS_OK;
}

extern "C" enum status jpeg_encoder_create(struct jpeg_encoder **encoder, struct failure *failure) {
    *encoder = (struct jpeg_encoder *)calloc(1, sizeof **encoder);
    if (*encoder) (*encoder)->origin = (struct tables *)malloc(sizeof *(*encoder)->origin);
    enum status status = STATUS_NO_MEMORY;
    if (!*encoder || !(*encoder)->origin) {
        fail(failure, status, "no memory for the tables of JPEG");
    } else {
        fill_tables(*(*encoder)->origin);
        fill_prologues((*encoder)->prologues);
        status = set_up(*encoder, failure);
    }
    if (status == STATUS_OK) return status;
    jpeg_encoder_destroy(*encoder);
    *encoder = NULL;
    return status;
}

extern "C" void jpeg_encoder_destroy(struct jpeg_encoder *encoder) {
    if (!encoder) return;
    if (encoder->tables) cudaFree(encoder->tables);
    free(encoder->origin);
    free(encoder);
}

extern "C" bool jpeg_encode_takes(const struct image *image) {
    return image->depth == 8 && (image->channels == 1 || image->channels == 3) &&
           image->width <= SIDE_MAX && image->height <= SIDE_MAX && image->stride <= UINT32_MAX;
}

extern "C" struct jpeg_encode_needs jpeg_encode_needs(const struct jpeg_encode_image *images,
                                                      int count) {
    const struct totals totals = totals_of(images, count);
    struct jpeg_encode_needs needs;
    struct batch batch;
    struct arena pinned = {}, scratch = {};
    host_part_of(pinned, totals, count);
    lay_out(batch, scratch, totals, count);
    needs.pinned_bytes = pinned.used;
    needs.fixed_bytes = scratch.used;
    needs.string_bytes_max = totals.tiles * ((TILE_BITS_MAX + 127) / 128 * JPEG_PLACE_BYTES);
    return needs;
}

static enum status check_batch(const struct jpeg_encode_batch *batch, const struct totals &totals,
                               struct failure *failure) {
    const struct jpeg_encode_needs needs = jpeg_encode_needs(batch->images, batch->count);
    assert(batch->count > 0 && batch->count <= JPEG_ENCODE_IMAGES_MAX);
    if (totals.tiles > INT32_MAX || totals.pieces > INT32_MAX)
        return fail(failure, STATUS_TOO_LARGE, "too many pixels for one batch of JPEGs on the GPU");
    if (batch->pinned_bytes >= needs.pinned_bytes && batch->scratch_bytes >= needs.fixed_bytes)
        return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE, "too little memory for a batch of JPEGs on the GPU");
}

/* Rounded up, so that an image's first tile is not attributed to the image before. */
static uint32_t ratio_of(uint32_t images, uint32_t parts) {
    const uint64_t ratio = (((uint64_t)images << 32) + parts - 1) / parts;
    return ratio < UINT32_MAX ? (uint32_t)ratio : UINT32_MAX;
}

/* Writes the host's part and returns the kernels' parameters. */
static struct batch make_batch(const struct jpeg_encoder *encoder,
                               const struct jpeg_encode_batch *asked, const struct totals &totals,
                               struct host_part &part) {
    struct arena pinned = { (uint8_t *)asked->pinned, 0 };
    struct arena scratch = { (uint8_t *)asked->scratch, 0 };
    struct batch batch = {};
    part = host_part_of(pinned, totals, asked->count);
    lay_out(batch, scratch, totals, asked->count);
    const size_t places = (asked->scratch_bytes - scratch.used) / JPEG_PLACE_BYTES;
    batch.string_places = places < JPEG_NO_PLACE ? (uint32_t)places : JPEG_NO_PLACE - 1;
    batch.tables = encoder->tables;
    batch.host_results = part.host_results;
    batch.out = asked->out;
    batch.out_bytes = asked->out_bytes < UINT32_MAX ? (uint32_t)asked->out_bytes : UINT32_MAX;
    batch.count = (uint32_t)asked->count;
    batch.tiles = (uint32_t)totals.tiles;
    batch.pieces = (uint32_t)totals.pieces;
    batch.tile_ratio = ratio_of(batch.count, batch.tiles);
    batch.piece_ratio = ratio_of(batch.count, batch.pieces);
    const bool few = asked->count <= FEW;
    describe_images(asked, encoder->prologues, few ? batch.few : part.sources,
                    few ? batch.few_firsts : part.firsts, part.prologues);
    return batch;
}

extern "C" enum status jpeg_encode_launch(struct jpeg_encoder *encoder,
                                          const struct jpeg_encode_batch *asked,
                                          struct failure *failure) {
    const struct totals totals = totals_of(asked->images, asked->count);
    const enum status status = check_batch(asked, totals, failure);
    if (status) return status;
    struct host_part part;
    const struct batch batch = make_batch(encoder, asked, totals, part);
    if (asked->count > FEW)
        CUDA_TRY(failure, cudaMemcpyAsync((void *)batch.many, part.sources, part.many_bytes,
                                          cudaMemcpyHostToDevice, asked->stream));
    return launch_all(batch, asked->stream, encoder->overlaps, failure);
}

extern "C" const struct jpeg_encode_result *
jpeg_encode_results(const struct jpeg_encode_batch *batch) {
    return (const struct jpeg_encode_result *)batch->pinned;
}

extern "C" const struct jpeg_encode_result *
jpeg_encode_device_results(const struct jpeg_encode_batch *asked) {
    struct arena scratch = { (uint8_t *)asked->scratch, 0 };
    struct batch batch;
    lay_out(batch, scratch, totals_of(asked->images, asked->count), asked->count);
    return batch.results;
}

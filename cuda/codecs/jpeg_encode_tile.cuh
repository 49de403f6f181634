// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode_tile.cuh - the encoder's first kernel: a tile's pixels to its string of bits.
 *
 * Used by:  jpeg_encode.cu.
 * Limits:   80 registers a thread, so that four blocks share a multiprocessor.
 *
 * How it works. A thread takes a block of coefficients (jpeg/tile.h), whose samples, then
 * coefficients, lie in a slot of shared memory; slots are 33 words apart, so that neighbours do not
 * share a bank. jpeg_tiles.c is the same with loops in place of threads. The kernel exists twice:
 * with few tiles, the kind with an unrolled transform spends a third of its time waiting for its
 * instructions, 18 KB that every multiprocessor reads for one or two tiles.
 */
#ifndef BURIN_JPEG_ENCODE_TILE_CUH
#define BURIN_JPEG_ENCODE_TILE_CUH

#include "cuda/codecs/jpeg_encode_pixels.cuh"
#include "cuda/codecs/jpeg_encode_string.cuh"

#include <cuda_pipeline.h>

namespace jpeg_encode {

/* ---- tables */

static __device__ __forceinline__ void copy_async(void *to, const void *from, uint32_t bytes) {
    for (uint32_t i = 16 * threadIdx.x; i < bytes; i += 16 * TILE_THREADS)
        __pipeline_memcpy_async((uint8_t *)to + i, (const uint8_t *)from + i, 16);
}

template <bool ROLLED>
static __device__ __forceinline__ void begin_tile(struct tile_memory &memory,
                                                  const struct tables &tables, uint32_t quality) {
    copy_async(memory.reciprocals, tables.reciprocals[quality - 1], sizeof memory.reciprocals);
    if (ROLLED) copy_async(memory.places, tables.places, sizeof memory.places);
    copy_async(memory.symbols, tables.symbols, sizeof memory.symbols);
    __pipeline_commit();
    for (uint32_t i = threadIdx.x; i < WINDOW_WORDS / 4; i += TILE_THREADS)
        ((uint4 *)memory.window)[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x < JPEG_PHASES) memory.stuffed[threadIdx.x] = 0;
}

/* ---- blocks */

/* A thread's block. */
struct worker {
    struct jpeg_block block;
    struct jpeg_predecessor before;
    uint32_t which; /* luma or chroma */
    uint32_t place; /* among the tile's blocks, in the file's order */
    bool codes;     /* there is such an MCU */
    bool fills;     /* and its block only pads it */
    bool first;     /* its DC has no predecessor */
};

static __device__ __forceinline__ struct worker worker_of(const struct tile_task &task) {
    const struct jpeg_frame &frame = task.source.frame;
    struct worker worker;
    worker.block = jpeg_block_of(frame.sampling, threadIdx.x);
    const uint32_t mcu = task.first_mcu + worker.block.mcu, row = mcu_row(task.source, mcu);
    const uint32_t column = mcu - row * frame.mcus_across, within = worker.block.within;
    worker.which = frame.sampling == JPEG_420 ? within >= 4 : within > 0;
    worker.place = worker.block.mcu * jpeg_mcu_blocks(frame.sampling) + within;
    worker.codes = mcu < task.mcus;
    worker.fills = jpeg_block_fills(&frame, column, row, within);
    worker.before = jpeg_predecessor_of(&frame, column, row, within);
    worker.first = mcu == 0 && !worker.before.same_mcu;
    return worker;
}

/* Replaces the slot's samples by its coefficients, each of which depends on all samples. */
template <bool ROLLED>
static __device__ __forceinline__ uint64_t transform_slot(const struct tile_memory &memory,
                                                          const float *reciprocals,
                                                          uint32_t *slot) {
    int16_t *coefficients = (int16_t *)slot;
    if constexpr (ROLLED) {
        return jpeg_forward_rolled(slot, reciprocals, memory.places, coefficients);
    } else {
        uint32_t samples[JPEG_BLOCK_WORDS];
#pragma unroll
        for (int i = 0; i < JPEG_BLOCK_WORDS; i++) samples[i] = slot[i];
        return jpeg_forward(samples, reciprocals, coefficients);
    }
}

template <bool ROLLED>
static __device__ __forceinline__ uint64_t transform(struct tile_memory &memory, uint32_t sampling,
                                                     const struct worker &worker) {
    const float *reciprocals = memory.reciprocals[worker.which];
    uint32_t *slot = memory.slots + SLOT_WORDS * threadIdx.x;
    if (!worker.codes || worker.fills) return 0;
    const uint64_t mask = transform_slot<ROLLED>(memory, reciprocals, slot);
    memory.dcs[threadIdx.x] = *(const int16_t *)slot;
    if (worker.block.mcu || worker.before.same_mcu || worker.first) return mask;
    const uint32_t before = jpeg_slot_of(sampling, -1, worker.before.within);
    memory.dcs[before] = jpeg_forward_dc(memory.slots + SLOT_WORDS * before, reciprocals);
    return mask;
}

static __device__ __forceinline__ int32_t dc_difference(const struct tile_memory &memory,
                                                        uint32_t sampling,
                                                        const struct worker &worker) {
    if (!worker.codes || worker.fills) return 0;
    const int32_t dc = memory.dcs[threadIdx.x];
    if (worker.first) return dc;
    const int32_t mcu = (int32_t)worker.block.mcu - !worker.before.same_mcu;
    return dc - memory.dcs[jpeg_slot_of(sampling, mcu, worker.before.within)];
}

/* ---- the kernel */

static __device__ __forceinline__ struct tile_task task_of(const struct batch &batch) {
    struct tile_task task;
    task.number = blockIdx.x;
    const uint32_t guess = guess_image(batch, batch.tile_ratio, blockIdx.x);
    task.source = sources(batch)[guess];
    const uint32_t index = find_image(first_tiles(batch), batch.count, blockIdx.x, guess);
    if (index != guess) task.source = sources(batch)[index];
    const struct jpeg_frame &frame = task.source.frame;
    task.first_mcu = (blockIdx.x - task.source.first_tile) * jpeg_tile_mcus(frame.sampling);
    task.mcus = jpeg_frame_mcus(&frame);
    return task;
}

template <bool ROLLED>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS_RESIDENT)
    tile_kernel(const __grid_constant__ struct batch batch) {
    extern __shared__ uint4 dynamic_memory[];
    struct tile_memory &memory = *(struct tile_memory *)dynamic_memory;
    let_next_begin();
    const struct tile_task task = task_of(batch);
    const uint32_t sampling = task.source.frame.sampling;
    begin_tile<ROLLED>(memory, *batch.tables, task.source.quality);
    if (sampling == JPEG_420)
        take_pixels_of<JPEG_420>(memory, task);
    else if (sampling == JPEG_444)
        take_pixels_of<JPEG_444>(memory, task);
    else
        take_pixels_of<JPEG_GRAY>(memory, task);
    __pipeline_wait_prior(0);
    __syncthreads();
    const struct worker worker = worker_of(task);
    struct code_task code;
    code.which = worker.which;
    code.mask = transform<ROLLED>(memory, sampling, worker);
    __syncthreads();
    code.difference = dc_difference(memory, sampling, worker);
    code.bits = worker.codes ? code_block(memory, code, 0) : 0;
    memory.lengths[worker.place] = code.bits;
    __syncthreads();
    write_string(memory, batch, task, worker.place, code);
}

} // namespace jpeg_encode

#endif

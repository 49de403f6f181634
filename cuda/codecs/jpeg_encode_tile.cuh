// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode_tile.cuh - the encoder's first kernel: a tile's pixels to its string of bits.
 *
 * Used by:  jpeg_encode.cu.
 * Limits:   80 registers a thread and 54 KB of shared memory, so that four blocks share a
 *           multiprocessor.
 *
 * How it works. A thread takes a block of coefficients (jpeg/tile.h), whose samples, then
 * coefficients, lie in a slot of shared memory; slots are 33 words apart, so that neighbours do not
 * share a bank. jpeg_tiles.c is the same with loops in place of threads. The kernel exists twice:
 * with few tiles, the kind with an unrolled transform spends a third of its time waiting for its
 * instructions, 18 KB that every multiprocessor reads for one or two tiles.
 */
#ifndef BURIN_JPEG_ENCODE_TILE_CUH
#define BURIN_JPEG_ENCODE_TILE_CUH

#include "cuda/chunk.cuh"
#include "cuda/codecs/jpeg_encode_batch.cuh"
#include "pipeline/codecs/jpeg/colour.h"

#include <cuda_pipeline.h>

namespace jpeg_encode {

/* ---- the shared memory of a tile's threads, 54 KB, and each thread's view of the tile */

enum {
    TILE_THREADS = JPEG_TILE_BLOCKS,
    TILE_BLOCKS_RESIDENT = 4, /* of a multiprocessor */
    SLOT_WORDS = 33,
    STAGE_STRIDE = JPEG_STAGE_WORDS + 1,
    WINDOW_WORDS = 2048,
    LANE_BLOCKS = JPEG_TILE_BLOCKS / WARP
};

struct tile_memory {
    float reciprocals[2][JPEG_BLOCK];
    uint32_t symbols[2][JPEG_SYMBOLS];
    uint8_t places[JPEG_BLOCK];
    uint32_t window[WINDOW_WORDS];
    uint32_t lengths[JPEG_TILE_BLOCKS]; /* in the order of the file's blocks */
    uint32_t slots[JPEG_TILE_SLOTS * SLOT_WORDS];
    uint32_t stages[JPEG_TILE_BLOCKS * STAGE_STRIDE];
    int32_t dcs[JPEG_TILE_SLOTS];
    uint32_t stuffed[JPEG_PHASES];
    uint32_t place, head, carry; /* `carry` is the last word of the window before */
};

/* A thread's copy of the facts about its tile. */
struct tile_task {
    struct source source;     /* a copy: the compiler must reload memory after any store */
    uint32_t number;          /* in the batch */
    uint32_t first_mcu, mcus; /* of the picture */
};

static __device__ __forceinline__ uint32_t mcu_row(const struct source &source, uint32_t mcu) {
    return source.reciprocal ? __umulhi(mcu, source.reciprocal) >> source.shift : mcu;
}

/* ---- a tile's pixels to samples in the slots of its blocks
 *
 * A thread takes strips of eight pixels (jpeg/tile.h) in rounds, and asks for the pixels of all
 * rounds before it converts the first. Rows that start at any byte are read in words that are
 * shifted together; beyond the right edge the last pixel repeats. */

/* Loads eight pixels, of which those from WIDTH on repeat the last one. */
template <int WORDS>
static __device__ __forceinline__ void load_edge(uint32_t (&words)[WORDS], const uint8_t *row,
                                                 uint32_t x, uint32_t width) {
    constexpr uint32_t CHANNELS = WORDS / 2;
    const uint8_t *end = row + (size_t)(width - 1) * CHANNELS;
    const uint32_t there = x < width ? (width - x) * CHANNELS : 0; /* bytes */
    uint32_t last[3]; /* words that hold the last pixel three or four times */
    if (CHANNELS == 1) {
        last[0] = last[1] = last[2] = __ldg(end) * 0x01010101u;
    } else {
        const uint32_t r = __ldg(end), g = __ldg(end + 1), b = __ldg(end + 2);
        last[0] = r | g << 8 | b << 16 | r << 24;
        last[1] = g | b << 8 | r << 16 | g << 24;
        last[2] = b | r << 8 | g << 16 | b << 24;
    }
    load_unaligned(words, x < width ? row + (size_t)x * CHANNELS : end, max(there, CHANNELS));
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const uint32_t bytes = there > 4 * i ? there - 4 * i : 0;
        const uint32_t keep = bytes >= 4 ? ~0u : (1u << 8 * bytes) - 1;
        words[i] = (words[i] & keep) | (last[i % 3] & ~keep);
    }
}

template <int WORDS>
static __device__ __forceinline__ void load_aligned(uint32_t (&words)[WORDS], const uint8_t *from) {
#pragma unroll
    for (int i = 0; i < WORDS / 2; i++) {
        const uint2 two = __ldg((const uint2 *)from + i);
        words[2 * i] = two.x;
        words[2 * i + 1] = two.y;
    }
}

/* PLAIN: without a branch, so that all loads are under way together. */
template <bool PLAIN, int WORDS>
static __device__ __forceinline__ void
load_pixels(uint32_t (&words)[WORDS], const struct source &source, uint32_t x, uint32_t y) {
    const uint8_t *row = source.pixels + (size_t)y * source.stride;
    const uint8_t *from = row + x * (WORDS / 2);
    if (PLAIN) return load_aligned(words, from);
    if (x + 8 > source.frame.width) return load_edge(words, row, x, source.frame.width);
    if (source.aligned) return load_aligned(words, from);
    load_unaligned(words, from, 4 * WORDS);
}

template <int SAMPLING> struct strip_shape {
    static constexpr int ROWS = SAMPLING == JPEG_420 ? 2 : 1;
    static constexpr int WORDS = SAMPLING == JPEG_GRAY ? 2 : 6;
    static constexpr int STRIPS = SAMPLING == JPEG_420   ? 33 * 16
                                  : SAMPLING == JPEG_444 ? 65 * 8
                                                         : 193 * 8;
    static constexpr int ROUNDS = (STRIPS + TILE_THREADS - 1) / TILE_THREADS;
};

/* Places the strip; false: there is none, and STRIP is at the picture's origin. */
template <int SAMPLING>
static __device__ __forceinline__ bool place_strip(struct jpeg_strip &strip,
                                                   const struct tile_task &task, int round) {
    const uint32_t number = threadIdx.x + TILE_THREADS * round;
    strip = jpeg_strip_of(SAMPLING, number);
    const uint32_t mcu = task.first_mcu + (uint32_t)strip.mcu;
    const bool there = number < strip_shape<SAMPLING>::STRIPS && mcu < task.mcus;
    const uint32_t row = there ? mcu_row(task.source, mcu) : 0;
    const uint32_t column = there ? mcu - row * task.source.frame.mcus_across : 0;
    jpeg_strip_place(&strip, &task.source.frame, column, row);
    return there;
}

static __device__ __forceinline__ uint32_t *
slot_words(struct tile_memory &memory, uint32_t sampling, int32_t mcu, uint32_t within) {
    return memory.slots + SLOT_WORDS * jpeg_slot_of(sampling, mcu, within);
}

static __device__ __forceinline__ void store_halved(struct tile_memory &memory,
                                                    const struct jpeg_strip &strip,
                                                    const uint32_t (&rows)[2][6]) {
    uint32_t *luma = slot_words(memory, JPEG_420, strip.mcu, jpeg_strip_luma(&strip)) +
                     2 * jpeg_strip_luma_row(&strip);
    const uint32_t above[2] = { jpeg_luma4(rows[0]), jpeg_luma4(rows[0] + 3) };
    const uint32_t below[2] = { jpeg_luma4(rows[1]), jpeg_luma4(rows[1] + 3) };
    luma[0] = strip.lower_twice ? below[0] : above[0];
    luma[1] = strip.lower_twice ? below[1] : above[1];
    luma[2] = below[0];
    luma[3] = below[1];
    uint32_t *chroma = slot_words(memory, JPEG_420, strip.mcu, 4) + 2 * strip.line + strip.half;
    *chroma = jpeg_chroma_halved4(rows[0], rows[1], JPEG_CB_WEIGHTS);
    chroma = slot_words(memory, JPEG_420, strip.mcu, 5) + 2 * strip.line + strip.half;
    *chroma = jpeg_chroma_halved4(rows[0], rows[1], JPEG_CR_WEIGHTS);
}

static __device__ __forceinline__ void
store_full(struct tile_memory &memory, const struct jpeg_strip &strip, const uint32_t (&row)[6]) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t at = 2 * strip.line + i;
        slot_words(memory, JPEG_444, strip.mcu, 0)[at] = jpeg_luma4(row + 3 * i);
        slot_words(memory, JPEG_444, strip.mcu, 1)[at] = jpeg_chroma4(row + 3 * i, JPEG_CB_WEIGHTS);
        slot_words(memory, JPEG_444, strip.mcu, 2)[at] = jpeg_chroma4(row + 3 * i, JPEG_CR_WEIGHTS);
    }
}

static __device__ __forceinline__ void
store_gray(struct tile_memory &memory, const struct jpeg_strip &strip, const uint32_t (&row)[2]) {
    uint32_t *to = slot_words(memory, JPEG_GRAY, strip.mcu, 0) + 2 * strip.line;
    to[0] = row[0] ^ JPEG_LEVELS;
    to[1] = row[1] ^ JPEG_LEVELS;
}

template <int SAMPLING, bool PLAIN>
static __device__ __forceinline__ void take_pixels(struct tile_memory &memory,
                                                   const struct tile_task &task) {
    using shape = strip_shape<SAMPLING>;
    uint32_t words[shape::ROUNDS][shape::ROWS][shape::WORDS];
    struct jpeg_strip strip;
#pragma unroll
    for (int round = 0; round < shape::ROUNDS; round++) {
        if (!place_strip<SAMPLING>(strip, task, round) && !PLAIN) continue;
        load_pixels<PLAIN>(words[round][0], task.source, strip.x, strip.above);
        if constexpr (SAMPLING == JPEG_420)
            load_pixels<PLAIN>(words[round][1], task.source, strip.x, strip.below);
    }
#pragma unroll
    for (int round = 0; round < shape::ROUNDS; round++) {
        if (!place_strip<SAMPLING>(strip, task, round)) continue;
        if constexpr (SAMPLING == JPEG_420) store_halved(memory, strip, words[round]);
        if constexpr (SAMPLING == JPEG_444) store_full(memory, strip, words[round][0]);
        if constexpr (SAMPLING == JPEG_GRAY) store_gray(memory, strip, words[round][0]);
    }
}

template <int SAMPLING>
static __device__ __forceinline__ void take_pixels_of(struct tile_memory &memory,
                                                      const struct tile_task &task) {
    if (task.source.plain)
        take_pixels<SAMPLING, true>(memory, task);
    else
        take_pixels<SAMPLING, false>(memory, task);
}

/* ---- a tile's blocks to its string of bits
 *
 * Each thread has coded its block into a stage of its own. Once all lengths are known, the stages
 * are joined in a window of shared memory, which is stored to scratch 16 bytes at a time; meanwhile
 * 0xff bytes are counted, for all phases. Most tiles fit one window. A block longer than its stage
 * is coded again, part by part. */

/* A thread's block to code; a block longer than its stage is coded again. */
struct code_task {
    uint64_t mask;
    int32_t difference;
    uint32_t which, bits;
};

static __device__ __forceinline__ uint32_t code_block(struct tile_memory &memory,
                                                      const struct code_task &code,
                                                      uint32_t first) {
    return jpeg_code_block((const int16_t *)(memory.slots + SLOT_WORDS * threadIdx.x), code.mask,
                           code.difference, memory.symbols[code.which],
                           memory.stages + STAGE_STRIDE * threadIdx.x, first);
}

/* ---- the string */

/* Returns the bits before block PLACE of the tile; TOTAL is those of the whole tile. Every warp
 * adds up all lengths, which costs less than another barrier. */
static __device__ __forceinline__ uint32_t bits_before(const struct tile_memory &memory,
                                                       uint32_t place, uint32_t &total) {
    const uint32_t lane = threadIdx.x % WARP;
    uint32_t own = 0;
#pragma unroll
    for (int i = 0; i < LANE_BLOCKS; i++) own += memory.lengths[LANE_BLOCKS * lane + i];
    uint32_t sum = own;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += other;
    }
    total = __shfl_sync(~0u, sum, WARP - 1);
    const uint32_t group = place / LANE_BLOCKS, rest = place % LANE_BLOCKS;
    uint32_t before = __shfl_sync(~0u, sum - own, group);
#pragma unroll
    for (uint32_t i = 0; i + 1 < LANE_BLOCKS; i++)
        if (i < rest) before += memory.lengths[LANE_BLOCKS * group + i];
    return before;
}

/* Adds BITS of the thread's stage at bit OFFSET of the string. The window begins at the string's
 * word WINDOW. */
static __device__ __forceinline__ void lay(struct tile_memory &memory, uint32_t window,
                                           uint32_t offset, uint32_t bits) {
    const uint32_t *stage = memory.stages + STAGE_STRIDE * threadIdx.x;
    const uint32_t words = (bits + 31) / 32, phase = offset & 31, first = offset / 32 - window;
    const uint32_t end = (phase + bits + 31) / 32;
    uint32_t before = 0;
    for (uint32_t i = 0; i < end; i++) {
        const uint32_t word = i < words ? stage[i] : 0;
        if (first + i < WINDOW_WORDS)
            atomicOr(&memory.window[first + i], __funnelshift_r(word, before, phase));
        before = word;
    }
}

static __device__ __forceinline__ void lay_block(struct tile_memory &memory, uint32_t window,
                                                 uint32_t offset, const struct code_task &code) {
    constexpr uint32_t PART = 32 * JPEG_STAGE_WORDS;
    if (code.bits <= PART) return lay(memory, window, offset, code.bits);
    for (uint32_t done = 0; done < code.bits; done += PART) {
        code_block(memory, code, done / 32);
        lay(memory, window, offset + done, min(code.bits - done, PART));
    }
}

static __device__ __forceinline__ void count_ff(struct tile_memory &memory, uint32_t before,
                                                uint32_t word) {
    for (uint32_t ends = jpeg_ff_ends(before, word); ends; ends &= ends - 1)
        atomicAdd(&memory.stuffed[(__ffs((int)ends) - 1) % JPEG_PHASES], 1u);
}

/* Stores the window to scratch, up to the end of a string of BITS. */
static __device__ __forceinline__ void flush_window(struct tile_memory &memory,
                                                    const struct batch &batch, uint32_t window,
                                                    uint32_t bits) {
    const uint32_t vectors = min((bits - 32 * window + 127) / 128, WINDOW_WORDS / 4);
    const uint32_t place = memory.place;
    uint4 *to = (uint4 *)(batch.string_bytes + (size_t)JPEG_PLACE_BYTES * place) + window / 4;
    for (uint32_t v = threadIdx.x; v < vectors; v += TILE_THREADS) {
        const uint4 words = ((const uint4 *)memory.window)[v];
        count_ff(memory, v ? memory.window[4 * v - 1] : window ? memory.carry : 0, words.x);
        count_ff(memory, words.x, words.y);
        count_ff(memory, words.y, words.z);
        count_ff(memory, words.z, words.w);
        if (place != JPEG_NO_PLACE) to[v] = words;
    }
    if (threadIdx.x == 0 && window == 0) memory.head = memory.window[0] >> 24;
}

/* Clears the window for the next part of the string. */
static __device__ __forceinline__ void clear_window(struct tile_memory &memory) {
    __syncthreads();
    if (threadIdx.x == 0) memory.carry = memory.window[WINDOW_WORDS - 1];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < WINDOW_WORDS; i += TILE_THREADS) memory.window[i] = 0;
    __syncthreads();
}

/* Called by one thread, after the last window, which is at word WINDOW. */
static __device__ __forceinline__ void describe(const struct tile_memory &memory,
                                                struct jpeg_string *string, uint32_t window,
                                                uint32_t bits) {
    const uint32_t last = (bits - 1) / 32 - window;
    const uint32_t before = last ? memory.window[last - 1] : window ? memory.carry : 0;
    const uint64_t end = (uint64_t)before << 32 | memory.window[last];
    const uint32_t tail = (uint32_t)(end >> (31 - (bits - 1) % 32)) & 0xff;
    const uint32_t *stuffed = memory.stuffed;
    uint4 *to = (uint4 *)string;
    to[0] = make_uint4(bits, memory.place, stuffed[0] | stuffed[1] << 16,
                       stuffed[2] | stuffed[3] << 16);
    to[1] = make_uint4(stuffed[4] | stuffed[5] << 16, stuffed[6] | stuffed[7] << 16,
                       memory.head | tail << 8, 0);
}

/* Called by one thread: takes room for the string from the counter that all blocks share. */
static __device__ __forceinline__ void take_place(struct tile_memory &memory,
                                                  const struct batch &batch, uint32_t bits) {
    const uint32_t places = (bits + 8 * JPEG_PLACE_BYTES - 1) / (8 * JPEG_PLACE_BYTES);
    const uint32_t place = atomicAdd(&batch.tables->places_taken, places);
    const bool fits = place < batch.string_places && places <= batch.string_places - place;
    memory.place = fits ? place : JPEG_NO_PLACE;
}

static __device__ __forceinline__ void write_string(struct tile_memory &memory,
                                                    const struct batch &batch,
                                                    const struct tile_task &task, uint32_t place,
                                                    const struct code_task &code) {
    uint32_t bits, window = 0;
    const uint32_t offset = bits_before(memory, place, bits);
    if (threadIdx.x == 0) take_place(memory, batch, bits);
    for (;;) {
        lay_block(memory, window, offset, code);
        __syncthreads();
        flush_window(memory, batch, window, bits);
        if (bits <= 32 * (window + WINDOW_WORDS)) break;
        clear_window(memory);
        window += WINDOW_WORDS;
    }
    __syncthreads();
    if (threadIdx.x == 0) describe(memory, batch.strings + task.number, window, bits);
}

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

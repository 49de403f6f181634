// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode_stuff.cuh - the encoder's third kernel: strings of bits, each at its phase, to the
 * bytes of the files, with a zero after each 0xff.
 *
 * Used by:  jpeg_encode.cu.
 *
 * How it works. A warp takes a tile, 16 bytes a lane at a time; the lanes' bytes are joined in
 * shared memory, from where whole vectors go to their place. Tiles that share a vector of a file
 * each write their own bytes of it. Warps of their own copy the prologues out of the host's memory.
 */
#ifndef BURIN_JPEG_ENCODE_STUFF_CUH
#define BURIN_JPEG_ENCODE_STUFF_CUH

#include "cuda/codecs/jpeg_encode_batch.cuh"

namespace jpeg_encode {

enum {
    STUFF_WARPS = 4,
    STUFF_THREADS = STUFF_WARPS * WARP,
    VECTOR_BYTES = 16,
    ROUND_BYTES = WARP * VECTOR_BYTES,
    /* the rest of a round, a round of nothing but 0xff, EOI */
    STUFF_BYTES = VECTOR_BYTES + 2 * ROUND_BYTES + VECTOR_BYTES
};

/* Bytes of one warp on their way to memory. All lanes have the same copy. */
struct stuff_row {
    uint8_t *bytes; /* shared; bytes[0] goes to `to` */
    uint8_t *to;    /* a multiple of VECTOR_BYTES */
    uint32_t skip;  /* first bytes, which another warp writes */
    uint32_t fill;  /* bytes in the row, with those skipped */
};

struct stuff_task {
    const uint4 *string;
    uint32_t vectors;           /* of the string */
    uint32_t phase, bytes, end; /* bytes that end in it; bits, with the shared byte's */
    uint32_t tail;              /* of the string before this one */
    bool last;
};

/* Returns 16 bytes of the file. BEFORE is the string's word before them. */
static __device__ __forceinline__ void splice_vector(const struct stuff_task &task, uint32_t vector,
                                                     uint32_t before, uint4 in,
                                                     uint32_t (&out)[4]) {
    const uint32_t words[5] = { before, in.x, in.y, in.z, in.w };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        out[i] = __funnelshift_r(words[i + 1], words[i], task.phase);
        const uint32_t start = 128 * vector + 32 * i;
        if (task.last) out[i] = jpeg_padded_word(out[i], task.end > start ? task.end - start : 0);
    }
}

/* Returns how many of the first VALID bytes are 0xff. */
static __device__ __forceinline__ uint32_t count_stuffed(const uint32_t (&words)[4],
                                                         uint32_t valid) {
    uint32_t count = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t bytes = valid > 4 * i ? valid - 4 * i : 0;
        const uint32_t mask = bytes >= 4 ? ~0u : ~(~0u >> 8 * bytes);
        count += __popc(__vcmpeq4(words[i], ~0u) & mask) / 8;
    }
    return count;
}

static __device__ __forceinline__ void put_bytes(uint8_t *to, const uint32_t (&words)[4],
                                                 uint32_t valid) {
#pragma unroll
    for (int b = 0; b < VECTOR_BYTES; b++) {
        const uint8_t byte = (uint8_t)(words[b / 4] >> (24 - 8 * (b % 4)));
        if (b >= valid) break;
        *to++ = byte;
        if (byte == 0xff) *to++ = 0;
    }
}

/* Stores whole vectors; the rest moves to the front. */
static __device__ __forceinline__ void flush_row(struct stuff_row &row) {
    const uint32_t lane = threadIdx.x % WARP, vectors = row.fill / VECTOR_BYTES;
    __syncwarp();
    if (vectors == 0) return;
    if (row.skip && lane >= row.skip && lane < VECTOR_BYTES) row.to[lane] = row.bytes[lane];
    for (uint32_t v = lane; v < vectors; v += WARP)
        if (v || !row.skip) ((uint4 *)row.to)[v] = ((const uint4 *)row.bytes)[v];
    const uint32_t whole = vectors * VECTOR_BYTES;
    const uint8_t rest = row.bytes[whole + lane % VECTOR_BYTES];
    __syncwarp();
    if (lane < VECTOR_BYTES) row.bytes[lane] = rest;
    row.to += whole;
    row.fill -= whole;
    row.skip = 0;
    __syncwarp();
}

static __device__ __forceinline__ void finish_row(struct stuff_row &row, bool last) {
    const uint32_t lane = threadIdx.x % WARP;
    if (last && lane < 2) row.bytes[row.fill + lane] = lane ? 0xd9 : 0xff;
    if (last) row.fill += 2;
    __syncwarp();
    if (lane >= row.skip && lane < row.fill) row.to[lane] = row.bytes[lane];
}

/* One round of the warp. BEFORE is the word before the round's first. */
static __device__ __forceinline__ void stuff_round(const struct stuff_task &task,
                                                   struct stuff_row &row, uint32_t vector, uint4 in,
                                                   uint32_t before) {
    const uint32_t lane = threadIdx.x % WARP, start = VECTOR_BYTES * vector;
    const uint32_t valid = task.bytes > start ? min(task.bytes - start, (uint32_t)VECTOR_BYTES) : 0;
    const uint32_t other = __shfl_up_sync(~0u, in.w, 1);
    uint32_t words[4];
    splice_vector(task, vector, lane ? other : before, in, words);
    const uint32_t own = valid + count_stuffed(words, valid);
    uint32_t sum = own;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const uint32_t lower = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += lower;
    }
    put_bytes(row.bytes + row.fill + sum - own, words, valid);
    row.fill += __shfl_sync(~0u, sum, WARP - 1);
    flush_row(row);
}

static __device__ __forceinline__ uint4 load_vector(const struct stuff_task &task,
                                                    uint32_t vector) {
    return vector < task.vectors ? task.string[vector] : make_uint4(0, 0, 0, 0);
}

/* Loads the next round's vector before this one's is used. */
static __device__ __forceinline__ void stuff_string(const struct stuff_task &task,
                                                    struct stuff_row &row) {
    uint32_t vector = threadIdx.x % WARP, before = task.tail;
    uint4 in = load_vector(task, vector);
    for (uint32_t done = 0; done < task.bytes; done += ROUND_BYTES) {
        const uint4 next = load_vector(task, vector + WARP);
        stuff_round(task, row, vector, in, before);
        before = __shfl_sync(~0u, in.w, WARP - 1);
        vector += WARP;
        in = next;
    }
    finish_row(row, task.last);
}

/* Writes a tile of image INDEX. */
static __device__ __forceinline__ void stuff_tile(const struct batch &batch, uint32_t index,
                                                  uint32_t tile, uint8_t *bytes) {
    const struct source &source = sources(batch)[index];
    const uint32_t first = source.first_tile, end = first + source.tiles;
    wait_for_previous();
    const struct jpeg_encode_result &result = batch.results[index];
    const struct jpeg_string &string = batch.strings[tile];
    const struct tile_place place = batch.tile_places[tile];
    const uint32_t tail = tile == first ? 0 : batch.strings[tile - 1].tail;
    if (result.verdict != JPEG_ENCODE_WRITTEN) return;
    struct stuff_task task;
    task.string = (const uint4 *)(batch.string_bytes + (size_t)JPEG_PLACE_BYTES * string.place);
    task.vectors = (string.bits + 127) / 128;
    task.phase = place.phase;
    task.end = place.phase + string.bits;
    task.last = tile + 1 == end;
    task.bytes = (task.end + (task.last ? 7 : 0)) / 8;
    task.tail = tail;
    uint8_t *to = batch.out + result.offset + place.offset;
    struct stuff_row row;
    row.bytes = bytes;
    row.skip = row.fill = (uint32_t)(uintptr_t)to % VECTOR_BYTES;
    row.to = to - row.skip;
    stuff_string(task, row);
}

/* Copies PIECE_BYTES of an image's prologue, which are read while the kernel before still runs.
 * Files begin at OUT_ALIGN. */
static __device__ __forceinline__ void copy_piece(const struct batch &batch, uint32_t index,
                                                  uint32_t piece) {
    constexpr uint32_t VECTORS = PIECE_BYTES / ROUND_BYTES;
    const struct source &source = sources(batch)[index];
    const uint32_t start = (piece - first_pieces(batch)[index]) * PIECE_BYTES;
    const uint32_t lane = threadIdx.x % WARP;
    const uint32_t bytes = min(source.prologue_bytes - start, (uint32_t)PIECE_BYTES);
    const uint32_t whole = bytes / VECTOR_BYTES * VECTOR_BYTES;
    const uint8_t *from = (const uint8_t *)source.prologue + start;
    uint4 vectors[VECTORS];
    uint8_t rest = 0;
#pragma unroll
    for (uint32_t i = 0; i < VECTORS; i++)
        if (VECTOR_BYTES * (WARP * i + lane) < whole)
            vectors[i] = ((const uint4 *)from)[WARP * i + lane];
    if (whole + lane < bytes) rest = from[whole + lane];
    wait_for_previous();
    const struct jpeg_encode_result &result = batch.results[index];
    if (result.verdict != JPEG_ENCODE_WRITTEN) return;
    uint8_t *to = batch.out + result.offset + start;
#pragma unroll
    for (uint32_t i = 0; i < VECTORS; i++)
        if (VECTOR_BYTES * (WARP * i + lane) < whole) ((uint4 *)to)[WARP * i + lane] = vectors[i];
    if (whole + lane < bytes) to[whole + lane] = rest;
}

static __global__ void __launch_bounds__(STUFF_THREADS, 8)
    stuff_kernel(const __grid_constant__ struct batch batch) {
    __shared__ __align__(16) uint8_t rows[STUFF_WARPS][STUFF_BYTES];
    const uint32_t warp = threadIdx.x / WARP, unit = blockIdx.x * STUFF_WARPS + warp;
    if (unit >= batch.tiles + batch.pieces) return;
    const bool tile = unit < batch.tiles;
    const uint32_t number = tile ? unit : unit - batch.tiles;
    const uint32_t guess = guess_image(batch, tile ? batch.tile_ratio : batch.piece_ratio, number);
    const uint32_t index =
        find_image(tile ? first_tiles(batch) : first_pieces(batch), batch.count, number, guess);
    if (tile)
        stuff_tile(batch, index, number, rows[warp]);
    else
        copy_piece(batch, index, number);
}

} // namespace jpeg_encode

#endif

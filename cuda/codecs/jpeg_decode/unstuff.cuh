// SPDX-License-Identifier: Apache-2.0
/* unstuff.cuh - makes the codes' tables; takes stuffing and markers out of the scans.
 *
 * Used by:  jpeg_decode.cu.
 *
 * How it works. A block takes 4 KB of a scan, a thread 16 bytes with a neighbour on either side,
 * read as aligned words. One kernel counts what each piece keeps; the next one sums up the pieces
 * before its own, gathers its bytes in shared memory as they will be aligned, and writes words.
 */
#ifndef BURIN_JPEG_UNSTUFF_CUH
#define BURIN_JPEG_UNSTUFF_CUH

#include "cuda/codecs/jpeg_decode/units.cuh"
#include "pipeline/codecs/jpeg/unstuff.h"

enum { JPEG_THREAD_BYTES = JPEG_PIECE_BYTES / JPEG_PIECE_THREADS };

/* A thread's bytes, and one byte on either side. */
struct jpeg_bytes {
    uint32_t words[5]; /* byte 0 is the one before the thread's first */
    uint32_t count;    /* its own bytes within the scan */
};

static __device__ __forceinline__ uint32_t jpeg_byte(const struct jpeg_bytes &bytes, int i) {
    return bytes.words[i / 4] >> 8 * (i % 4) & 255;
}

/* Position in the scan of this thread's first byte. */
static __device__ __forceinline__ uint32_t jpeg_bytes_at(uint32_t piece) {
    return piece * JPEG_PIECE_BYTES + threadIdx.x * JPEG_THREAD_BYTES;
}

/* Byte 0 stands for the one before the scan; after the scan comes the next marker's 0xff, in the
 * file too. */
static __device__ __forceinline__ struct jpeg_bytes
jpeg_bytes_load(const struct jpeg_picture *picture, uint32_t piece) {
    const uint32_t at = jpeg_bytes_at(piece);
    const uint32_t left = at < picture->scan_bytes ? picture->scan_bytes - at : 0;
    struct jpeg_bytes bytes = {};
    bytes.count = min(left, (uint32_t)JPEG_THREAD_BYTES);
    if (!left) return bytes;
    const uintptr_t address = (uintptr_t)(picture->scan + at) - 1;
    const uint32_t *aligned = (const uint32_t *)(address & ~(uintptr_t)3);
    const uint32_t shift = 8 * (address & 3);
    uint32_t low = aligned[0];
#pragma unroll
    for (int i = 0; i < 5; i++) {
        const bool needed = 4 * (i + 1) < (int)(address & 3) + 2 + (int)bytes.count;
        const uint32_t high = needed ? aligned[i + 1] : 0;
        bytes.words[i] = __funnelshift_r(low, high, shift);
        low = high;
    }
    if (at == 0) bytes.words[0] &= ~255u;
    return bytes;
}

/* ---- first kernel: tables and counts */

static __device__ void jpeg_count_piece(const struct jpeg_picture *picture, uint32_t piece) {
    __shared__ uint32_t shared[JPEG_PIECE_THREADS / 32];
    const struct jpeg_bytes bytes = jpeg_bytes_load(picture, piece);
    uint32_t kept = 0, stray = 0, total; /* restarts in the upper half */
#pragma unroll
    for (int i = 1; i <= JPEG_THREAD_BYTES; i++) {
        const uint32_t byte = jpeg_byte(bytes, i), after = jpeg_byte(bytes, i + 1);
        if (i > (int)bytes.count) break;
        kept += jpeg_is_data(jpeg_byte(bytes, i - 1), byte, after);
        kept += jpeg_is_restart(byte, after) ? 1u << 16 : 0;
        stray |= jpeg_is_stray(byte, after);
    }
    jpeg_scan_block(kept, shared, &total);
    if (threadIdx.x == 0) {
        picture->piece_kept[piece] = total & 0xffff;
        picture->piece_restarts[piece] = total >> 16;
    }
    if (stray) atomicOr(&picture->facts->flags, JPEG_FLAG_MARKER);
}

static __device__ void jpeg_make_lookup(const struct jpeg_picture *picture, uint32_t number) {
    struct jpeg_lookup *lookup = &picture->lookups[number];
    const uint8_t *counts = picture->code_counts[number];
    if (threadIdx.x == 0) jpeg_lookup_measure(lookup, counts);
    for (uint32_t i = threadIdx.x; i < JPEG_SYMBOLS; i += blockDim.x)
        lookup->symbols[i] =
            jpeg_lookup_symbol(counts, picture->code_symbols[number], i, number < 2);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < JPEG_SHORTS; i += blockDim.x) {
        lookup->shorts[i] = jpeg_lookup_short(lookup, i);
        lookup->pairs[i] = jpeg_lookup_pair(lookup, i);
    }
    for (uint32_t i = threadIdx.x; i < JPEG_LONGS; i += blockDim.x)
        lookup->longs[i] = jpeg_lookup_long(lookup, i);
}

/* Behind the blocks of the pieces come four of each picture, one a table. */
static __global__ void __launch_bounds__(JPEG_PIECE_THREADS)
    jpeg_count_kernel(const struct jpeg_units units, uint32_t pieces) {
    if (blockIdx.x >= pieces) {
        const uint32_t table = blockIdx.x - pieces;
        jpeg_make_lookup(units.pictures + table / 4, table % 4);
        return;
    }
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_PIECES);
    jpeg_count_piece(unit.picture, unit.index);
}

/* ---- second kernel: the bits */

struct jpeg_before {
    uint32_t kept, restarts;
};

/* The sums over the pieces before PIECE. */
static __device__ __forceinline__ struct jpeg_before
jpeg_sum_pieces(const struct jpeg_picture *picture, uint32_t piece, uint32_t *shared) {
    struct jpeg_before before = { 0, 0 };
    for (uint32_t i = threadIdx.x; i < piece; i += blockDim.x) {
        before.kept += picture->piece_kept[i];
        before.restarts += picture->piece_restarts[i];
    }
    jpeg_scan_block(before.kept, shared, &before.kept);
    jpeg_scan_block(before.restarts, shared, &before.restarts);
    return before;
}

/* Behind the last piece: stores the length, and ones for reads past the end. */
static __device__ void jpeg_end_bits(const struct jpeg_picture *picture, uint32_t kept,
                                     uint32_t restarts) {
    if (threadIdx.x < JPEG_BITS_PADDING) picture->bits[kept + threadIdx.x] = 0xff;
    if (threadIdx.x) return;
    picture->facts->bytes = kept;
    if (restarts + 1 != picture->segments) atomicOr(&picture->facts->flags, JPEG_FLAG_RESTARTS);
}

static __global__ void __launch_bounds__(JPEG_PIECE_THREADS)
    jpeg_unstuff_kernel(const struct jpeg_units units) {
    __shared__ uint32_t gathered[JPEG_PIECE_BYTES / 4 + 2], shared[JPEG_PIECE_THREADS / 32];
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_PIECES);
    const struct jpeg_picture *picture = unit.picture;
    const struct jpeg_bytes bytes = jpeg_bytes_load(picture, unit.index);
    const struct jpeg_before before = jpeg_sum_pieces(picture, unit.index, shared);
    uint32_t kept = 0, total, restarts = 0;
#pragma unroll
    for (int i = 1; i <= JPEG_THREAD_BYTES; i++) {
        const uint32_t byte = jpeg_byte(bytes, i), after = jpeg_byte(bytes, i + 1);
        if (i > (int)bytes.count) break;
        kept += jpeg_is_data(jpeg_byte(bytes, i - 1), byte, after);
        kept += jpeg_is_restart(byte, after) ? 1u << 16 : 0;
    }
    kept = jpeg_scan_block(kept, shared, &total);
    restarts = before.restarts + (kept >> 16);
    kept &= 0xffff;
    total &= 0xffff;
    const uint32_t shift = before.kept & 3; /* as in memory */
    uint8_t *into = (uint8_t *)gathered + shift;
#pragma unroll
    for (int i = 1; i <= JPEG_THREAD_BYTES; i++) {
        const uint32_t byte = jpeg_byte(bytes, i), after = jpeg_byte(bytes, i + 1);
        if (i > (int)bytes.count) break;
        if (jpeg_is_data(jpeg_byte(bytes, i - 1), byte, after)) into[kept++] = (uint8_t)byte;
        if (!jpeg_is_restart(byte, after)) continue;
        const uint32_t flags = jpeg_note_restart(
            picture, restarts++, jpeg_bytes_at(unit.index) + i - 1, before.kept + kept);
        if (flags) atomicOr(&picture->facts->flags, flags);
    }
    __syncthreads();
    uint8_t *bits = picture->bits + (before.kept - shift);
    for (uint32_t at = 4 * threadIdx.x; at < shift + total; at += 4 * blockDim.x) {
        if (at >= shift && at + 4 <= shift + total) {
            *(uint32_t *)(bits + at) = gathered[at / 4];
        } else {
            for (uint32_t i = max(at, shift); i < min(at + 4, shift + total); i++)
                bits[i] = ((const uint8_t *)gathered)[i];
        }
    }
    if (unit.index + 1 == picture->pieces)
        jpeg_end_bits(picture, before.kept + total,
                      before.restarts + picture->piece_restarts[unit.index]);
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* pixels.cuh - from planes to the upright picture: upsampling, colours, orientation.
 *
 * Used by:  jpeg_decode.cu.
 *
 * How it works. A thread makes 8 pixels of two rows: of 4:2:0 those between two rows of chroma,
 * which it weighs once. A warp's 256 pixels of a row go through shared memory, so that they leave
 * in 16 bytes a thread. Pictures that are turned, rows that do not start at 16 bytes and chroma of
 * one or two columns are made pixel by pixel, by jpeg_samples.h alone.
 */
#ifndef BURIN_JPEG_PIXELS_CUH
#define BURIN_JPEG_PIXELS_CUH

#include "cuda/codecs/jpeg_decode/pack.cuh"
#include "cuda/codecs/jpeg_decode/units.cuh"

enum { JPEG_SPAN = 8 /* pixels of a thread's row */, JPEG_ROW_WORDS = JPEG_TILE_COLUMNS * 3 / 4 };

/* ---- pixel by pixel */

static __device__ void jpeg_pixels_slowly(const struct jpeg_picture *picture, uint32_t x0,
                                          uint32_t y) {
    const struct jpeg_planes planes = jpeg_picture_planes(picture);
    const uint32_t channels = picture->components;
    for (uint32_t x = x0; x < min(x0 + JPEG_SPAN, picture->into.width); x++) {
        uint8_t *out = picture->into.pixels + (size_t)y * picture->into.stride + x * channels;
        const struct jpeg_place at =
            jpeg_stored_place(picture->orientation, picture->width, picture->height, x, y);
        if (channels == 1) {
            out[0] = (uint8_t)jpeg_luma(&planes, at.x, at.y);
            continue;
        }
        const uint32_t pixel = jpeg_pixel(&planes, at.x, at.y);
        out[0] = (uint8_t)pixel;
        out[1] = (uint8_t)(pixel >> 8);
        out[2] = (uint8_t)(pixel >> 16);
    }
}

/* ---- eight pixels of a row */

/* Chroma under 8 pixels from X on, one sample more on either side, of 4:2:x; the plane's own last
 * column goes on. */
static __device__ __forceinline__ void jpeg_chroma_row(const uint8_t *row, uint32_t x,
                                                       uint32_t columns, uint32_t samples[6]) {
    const uint32_t first = x / 2;
    const uint32_t word = *(const uint32_t *)(row + first);
    samples[0] = first ? row[first - 1] : word & 255;
#pragma unroll
    for (int i = 0; i < 4; i++) samples[i + 1] = word >> 8 * i & 255;
    samples[5] = row[min(first + 4, columns - 1)];
#pragma unroll
    for (int i = 1; i < 5; i++) /* at the right edge */
        if (first + i > columns - 1) samples[i + 1] = samples[i];
}

/* From samples, or sums of two rows of them, to 8 pixels' values. */
template <int SHIFT>
static __device__ __forceinline__ void jpeg_chroma_spread(const uint32_t samples[6],
                                                          int32_t chroma[8]) {
    const uint32_t even = SHIFT == 4 ? 8 : 1, odd = SHIFT == 4 ? 7 : 2;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        chroma[2 * i] = (int32_t)((3 * samples[i + 1] + samples[i] + even) >> SHIFT);
        chroma[2 * i + 1] = (int32_t)((3 * samples[i + 1] + samples[i + 2] + odd) >> SHIFT);
    }
}

/* Bytes of 8 pixels, 24, as six words. */
static __device__ __forceinline__ void jpeg_pack_span(uint2 luma, const int32_t cb[8],
                                                      const int32_t cr[8], uint32_t words[6]) {
    int32_t samples[24];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int32_t y = (int32_t)((i < 4 ? luma.x : luma.y) >> 8 * (i % 4) & 255);
        samples[3 * i] = jpeg_red(y, cr[i]);
        samples[3 * i + 1] = jpeg_green(y, cb[i], cr[i]);
        samples[3 * i + 2] = jpeg_blue(y, cb[i]);
    }
#pragma unroll
    for (int i = 0; i < 6; i++)
        words[i] =
            jpeg_pack(samples[4 * i], samples[4 * i + 1], samples[4 * i + 2], samples[4 * i + 3]);
}

/* A warp's row: 24 bytes a lane become 16, of which VALID in all belong to the row at OUT. */
static __device__ __forceinline__ void jpeg_store_row(uint32_t *shared, const uint32_t words[6],
                                                      uint8_t *out, uint32_t valid) {
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 3; i++)
        ((uint2 *)shared)[3 * lane + i] = make_uint2(words[2 * i], words[2 * i + 1]);
    __syncwarp();
    for (uint32_t at = 16 * lane; at < valid; at += 16 * 32) {
        if (at + 16 <= valid) {
            *(uint4 *)(out + at) = ((const uint4 *)shared)[at / 16];
        } else {
            for (uint32_t i = at; i < valid; i++) out[i] = ((const uint8_t *)shared)[i];
        }
    }
    __syncwarp();
}

struct jpeg_span {
    const struct jpeg_picture *picture;
    uint32_t x;       /* of this thread */
    uint32_t first_x; /* of its warp */
    uint32_t *shared; /* JPEG_ROW_WORDS of its warp */
};

/* Row Y of the picture; lanes beyond the row's end take part with whatever they have. */
static __device__ __forceinline__ void jpeg_finish_row(const struct jpeg_span &span, uint32_t y,
                                                       const int32_t cb[8], const int32_t cr[8]) {
    const struct jpeg_picture *picture = span.picture;
    const uint8_t *luma = picture->planes[0] + (size_t)y * picture->plane_stride[0];
    uint32_t words[6];
    const uint2 eight =
        span.x < picture->width ? *(const uint2 *)(luma + span.x) : make_uint2(0, 0);
    jpeg_pack_span(eight, cb, cr, words);
    jpeg_store_row(span.shared, words,
                   picture->into.pixels + (size_t)y * picture->into.stride + 3 * span.first_x,
                   3 * min(picture->width - span.first_x, (uint32_t)JPEG_TILE_COLUMNS));
}

/* ---- by kind, rows 2 PAIR - 1 and 2 PAIR */

static __device__ __forceinline__ void jpeg_pair_420(const struct jpeg_span &span, uint32_t pair) {
    const struct jpeg_picture *picture = span.picture;
    const uint32_t columns = jpeg_chroma_length(picture->width, 2);
    const uint32_t rows = jpeg_chroma_length(picture->height, 2);
    const uint32_t upper = pair ? pair - 1 : 0, lower = min(pair, rows - 1);
    int32_t above[2][8], below[2][8];
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const uint8_t *plane = picture->planes[1 + c];
        const uint32_t stride = picture->plane_stride[1 + c];
        uint32_t high[6] = {}, low[6] = {}, sums[6];
        if (span.x < picture->width) {
            jpeg_chroma_row(plane + (size_t)upper * stride, span.x, columns, high);
            jpeg_chroma_row(plane + (size_t)lower * stride, span.x, columns, low);
        }
#pragma unroll
        for (int i = 0; i < 6; i++) sums[i] = 3 * high[i] + low[i];
        jpeg_chroma_spread<4>(sums, above[c]);
#pragma unroll
        for (int i = 0; i < 6; i++) sums[i] = 3 * low[i] + high[i];
        jpeg_chroma_spread<4>(sums, below[c]);
    }
    if (pair) jpeg_finish_row(span, 2 * pair - 1, above[0], above[1]);
    if (2 * pair < picture->height) jpeg_finish_row(span, 2 * pair, below[0], below[1]);
}

static __device__ __forceinline__ void jpeg_row_422(const struct jpeg_span &span, uint32_t y) {
    const struct jpeg_picture *picture = span.picture;
    const uint32_t columns = jpeg_chroma_length(picture->width, 2);
    int32_t chroma[2][8];
#pragma unroll
    for (int c = 0; c < 2; c++) {
        uint32_t samples[6] = {};
        if (span.x < picture->width)
            jpeg_chroma_row(picture->planes[1 + c] + (size_t)y * picture->plane_stride[1 + c],
                            span.x, columns, samples);
        jpeg_chroma_spread<2>(samples, chroma[c]);
    }
    jpeg_finish_row(span, y, chroma[0], chroma[1]);
}

static __device__ __forceinline__ void jpeg_row_444(const struct jpeg_span &span, uint32_t y) {
    const struct jpeg_picture *picture = span.picture;
    int32_t chroma[2][8];
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const uint8_t *row = picture->planes[1 + c] + (size_t)y * picture->plane_stride[1 + c];
        const uint2 eight =
            span.x < picture->width ? *(const uint2 *)(row + span.x) : make_uint2(0, 0);
#pragma unroll
        for (int i = 0; i < 8; i++)
            chroma[c][i] = (int32_t)((i < 4 ? eight.x : eight.y) >> 8 * (i % 4) & 255);
    }
    jpeg_finish_row(span, y, chroma[0], chroma[1]);
}

static __device__ __forceinline__ void jpeg_row_gray(const struct jpeg_span &span, uint32_t y) {
    const struct jpeg_picture *picture = span.picture;
    if (span.x >= picture->width) return;
    const uint8_t *row = picture->planes[0] + (size_t)y * picture->plane_stride[0] + span.x;
    uint8_t *out = picture->into.pixels + (size_t)y * picture->into.stride + span.x;
    if (span.x + JPEG_SPAN <= picture->width) {
        *(uint2 *)out = *(const uint2 *)row;
    } else {
        for (uint32_t i = 0; i < picture->width - span.x; i++) out[i] = row[i];
    }
}

static __device__ __forceinline__ bool jpeg_is_plain(const struct jpeg_picture *picture) {
    const uint32_t columns = jpeg_chroma_length(picture->width, picture->across);
    return picture->orientation <= 1 && (picture->across == 1 || columns > JPEG_PLAIN_COLUMNS) &&
           ((uintptr_t)picture->into.pixels | picture->into.stride) % 16 == 0;
}

static __global__ void __launch_bounds__(JPEG_TILE_THREADS)
    jpeg_pixels_kernel(const struct jpeg_units units) {
    __shared__ __align__(16) uint32_t shared[JPEG_TILE_PAIRS][JPEG_ROW_WORDS];
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_TILES);
    const struct jpeg_picture *picture = unit.picture;
    if (picture->facts->flags) return;
    const uint32_t across = jpeg_tiles_across(picture), tile_y = unit.index / across;
    const uint32_t pair = tile_y * JPEG_TILE_PAIRS + threadIdx.x / 32;
    struct jpeg_span span;
    span.picture = picture;
    span.first_x = (unit.index - tile_y * across) * JPEG_TILE_COLUMNS;
    span.x = span.first_x + threadIdx.x % 32 * JPEG_SPAN;
    span.shared = shared[threadIdx.x / 32];
    const uint32_t height = picture->into.height;
    if (2 * pair > height) return; /* of a warp all or none */
    if (jpeg_is_plain(picture) && picture->down == 2) {
        jpeg_pair_420(span, pair);
        return;
    }
    for (uint32_t y = pair ? 2 * pair - 1 : 0; y < min(2 * pair + 1, height); y++) {
        if (!jpeg_is_plain(picture))
            jpeg_pixels_slowly(picture, span.x, y);
        else if (picture->components == 1)
            jpeg_row_gray(span, y);
        else if (picture->across == 2)
            jpeg_row_422(span, y);
        else
            jpeg_row_444(span, y);
    }
}

#endif

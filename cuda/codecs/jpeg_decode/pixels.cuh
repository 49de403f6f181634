// SPDX-License-Identifier: Apache-2.0
/* pixels.cuh - from planes to the upright picture: upsampling, colours, orientation.
 *
 * Used by:  jpeg_decode.cu.
 *
 * How it works. Eight lanes make 64 pixels of two rows, so that narrow pictures fill a warp too;
 * each lane then goes on to the rows below, which share one row of chroma, and asks for their
 * samples before it works on its own. In 4:2:0 Cb and Cr are weighed together, 16 bits each. A
 * row's 192 bytes go through shared memory, so that a thread stores 16 bytes at a time. Rotated
 * pictures, rows that do not start at 16 bytes and chroma of one or two columns are made pixel by
 * pixel, by jpeg/samples.h alone.
 */
#ifndef BURIN_JPEG_PIXELS_CUH
#define BURIN_JPEG_PIXELS_CUH

#include "cuda/codecs/jpeg_decode/units.cuh"

enum {
    JPEG_SPAN = 8, /* pixels that a thread makes of a row */
    JPEG_GROUPS_OF_WARP = 32 / JPEG_TILE_LANES,
    JPEG_WARP_WORDS = 32 * JPEG_SPAN * 3 / 4,   /* rows of all its groups */
    JPEG_ROW_QUADS = JPEG_TILE_COLUMNS * 3 / 16 /* 16 bytes each, of a group's row */
};

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

/* Chroma of 4:2:2 under 8 pixels from X on, with one sample more on either side; beyond the border
 * the plane's last column repeats. */
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

static __device__ __forceinline__ void jpeg_chroma_spread(const uint32_t samples[6],
                                                          int32_t chroma[8]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        chroma[2 * i] = (int32_t)((3 * samples[i + 1] + samples[i] + 1) >> 2);
        chroma[2 * i + 1] = (int32_t)((3 * samples[i + 1] + samples[i + 2] + 2) >> 2);
    }
}

/* Packs the 24 bytes of 8 pixels into six words. */
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

/* The place of a thread's pixels. */
struct jpeg_span {
    const struct jpeg_picture *picture;
    uint32_t x;          /* of this thread's pixels */
    uint32_t load_x;     /* the same, clamped to where the planes have samples */
    uint32_t first_x;    /* of the group, the same for all groups of the warp */
    uint32_t group;      /* its number in the warp */
    uint32_t group_rows; /* from one group to the next */
    uint32_t *shared;    /* JPEG_WARP_WORDS of its warp */
};

/* Stores row Y of this group and the rows of the warp's other groups, GROUP_ROWS apart. Each lane
 * gives 24 bytes and stores 16; rows outside and bytes behind a row's end are left out. */
static __device__ __forceinline__ void jpeg_store_rows(const struct jpeg_span &span, uint32_t y,
                                                       const uint32_t words[6]) {
    const struct image *into = &span.picture->into;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t valid = 3 * min(into->width - span.first_x, (uint32_t)JPEG_TILE_COLUMNS);
#pragma unroll
    for (int i = 0; i < 3; i++)
        ((uint2 *)span.shared)[3 * lane + i] = make_uint2(words[2 * i], words[2 * i + 1]);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t quad = lane + 32 * i, group = quad / JPEG_ROW_QUADS;
        const uint32_t at = 16 * (quad - group * JPEG_ROW_QUADS);
        const uint32_t row = y + (group - span.group) * span.group_rows;
        if (quad >= JPEG_GROUPS_OF_WARP * JPEG_ROW_QUADS || row >= into->height || at >= valid)
            continue;
        uint8_t *out = into->pixels + (size_t)row * into->stride + 3 * span.first_x + at;
        if (at + 16 <= valid) {
            *(uint4 *)out = ((const uint4 *)span.shared)[quad];
        } else {
            for (uint32_t k = 0; k < valid - at; k++)
                out[k] = ((const uint8_t *)span.shared)[16 * quad + k];
        }
    }
    __syncwarp();
}

/* A row outside the plane reads as the nearest one. */
static __device__ __forceinline__ uint2 jpeg_load_luma(const struct jpeg_span &span, uint32_t y) {
    const struct jpeg_picture *picture = span.picture;
    const uint32_t row = (int32_t)y < 0 ? 0 : min(y, picture->height - 1);
    return *(const uint2 *)(picture->planes[0] + (size_t)row * picture->plane_stride[0] +
                            span.load_x);
}

/* Row Y of the picture. Lanes and rows beyond its end take part with undefined pixels. */
static __device__ __forceinline__ void jpeg_finish_row(const struct jpeg_span &span, uint32_t y,
                                                       uint2 luma, const int32_t cb[8],
                                                       const int32_t cr[8]) {
    uint32_t words[6];
    jpeg_pack_span(luma, cb, cr, words);
    jpeg_store_rows(span, y, words);
}

/* ---- 4:2:0: Cb in the lower half of a word, Cr in the upper one */

/* Four samples of each plane, and the neighbours on either side. */
struct jpeg_chroma_raw {
    uint32_t words[2], left[2], right[2];
};

static __device__ __forceinline__ struct jpeg_chroma_raw
jpeg_load_chroma(const struct jpeg_span &span, uint32_t y, uint32_t columns, uint32_t rows) {
    const struct jpeg_picture *picture = span.picture;
    const uint32_t row = (int32_t)y < 0 ? 0 : min(y, rows - 1), first = span.load_x / 2;
    struct jpeg_chroma_raw raw;
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const uint8_t *at =
            picture->planes[1 + c] + (size_t)row * picture->plane_stride[1 + c] + first;
        raw.words[c] = *(const uint32_t *)at;
        raw.left[c] = first ? at[-1] : 0;
        raw.right[c] = first + 4 < columns ? at[4] : 0;
    }
    return raw;
}

/* Six samples of both planes; beyond the plane's ends its last column repeats. */
static __device__ __forceinline__ void jpeg_unpack_chroma(const struct jpeg_span &span,
                                                          struct jpeg_chroma_raw raw,
                                                          uint32_t columns, uint32_t samples[6]) {
    const uint32_t first = span.load_x / 2;
    const uint32_t valid = first + 4 < columns ? 5 : columns - first; /* 1 .. 5 */
    const uint32_t low = __byte_perm(raw.words[0], raw.words[1], 0x5140);
    const uint32_t high = __byte_perm(raw.words[0], raw.words[1], 0x7362);
    samples[0] = raw.left[0] | raw.left[1] << 16;
    samples[1] = __byte_perm(low, 0, 0x4140);
    samples[2] = __byte_perm(low, 0, 0x4342);
    samples[3] = __byte_perm(high, 0, 0x4140);
    samples[4] = __byte_perm(high, 0, 0x4342);
    samples[5] = raw.right[0] | raw.right[1] << 16;
    if (first == 0) samples[0] = samples[1];
    if (valid == 5) return;
#pragma unroll
    for (uint32_t i = 1; i < 5; i++)
        if (i >= valid) samples[i + 1] = samples[i];
}

/* Eight pixels of a row between two rows of chroma, the one that is closer in NEAR. */
static __device__ __forceinline__ void
jpeg_weigh_chroma(const uint32_t near[6], const uint32_t far[6], int32_t cb[8], int32_t cr[8]) {
    uint32_t sums[6];
#pragma unroll
    for (int i = 0; i < 6; i++) sums[i] = 3 * near[i] + far[i];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t own = 3 * sums[i + 1] + 0x00080008;
        const uint32_t even = own + sums[i], odd = own + sums[i + 2] - 0x00010001;
        cb[2 * i] = (int32_t)(even >> 4 & 255);
        cr[2 * i] = (int32_t)(even >> 20);
        cb[2 * i + 1] = (int32_t)(odd >> 4 & 255);
        cr[2 * i + 1] = (int32_t)(odd >> 20);
    }
}

/* COUNT pairs from PAIR on. A pair is rows 2 PAIR - 1 and 2 PAIR, which lie between the same two
 * rows of chroma. */
static __device__ __forceinline__ void jpeg_pairs_420(const struct jpeg_span &span, uint32_t pair,
                                                      uint32_t count) {
    const struct jpeg_picture *picture = span.picture;
    const uint32_t columns = jpeg_chroma_length(picture->width, 2);
    const uint32_t rows = jpeg_chroma_length(picture->height, 2);
    struct jpeg_chroma_raw raw = jpeg_load_chroma(span, pair, columns, rows);
    uint2 upper = jpeg_load_luma(span, 2 * pair - 1), lower = jpeg_load_luma(span, 2 * pair);
    uint32_t above[6];
    jpeg_unpack_chroma(span, jpeg_load_chroma(span, pair - 1, columns, rows), columns, above);
#pragma unroll 1
    for (uint32_t end = pair + count; pair < end; pair++) {
        const uint2 luma[2] = { upper, lower };
        uint32_t below[6];
        int32_t cb[8], cr[8];
        jpeg_unpack_chroma(span, raw, columns, below);
        if (pair + 1 < end) {
            raw = jpeg_load_chroma(span, pair + 1, columns, rows);
            upper = jpeg_load_luma(span, 2 * pair + 1);
            lower = jpeg_load_luma(span, 2 * pair + 2);
        }
        jpeg_weigh_chroma(above, below, cb, cr);
        jpeg_finish_row(span, 2 * pair - 1, luma[0], cb, cr);
        jpeg_weigh_chroma(below, above, cb, cr);
        jpeg_finish_row(span, 2 * pair, luma[1], cb, cr);
#pragma unroll
        for (int i = 0; i < 6; i++) above[i] = below[i];
    }
}

/* ---- other kinds, a row each */

static __device__ __forceinline__ void jpeg_row_422(const struct jpeg_span &span, uint32_t y) {
    const struct jpeg_picture *picture = span.picture;
    const uint32_t columns = jpeg_chroma_length(picture->width, 2);
    int32_t chroma[2][8];
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const uint32_t row = min(y, picture->height - 1);
        uint32_t samples[6];
        jpeg_chroma_row(picture->planes[1 + c] + (size_t)row * picture->plane_stride[1 + c],
                        span.load_x, columns, samples);
        jpeg_chroma_spread(samples, chroma[c]);
    }
    jpeg_finish_row(span, y, jpeg_load_luma(span, y), chroma[0], chroma[1]);
}

static __device__ __forceinline__ void jpeg_row_444(const struct jpeg_span &span, uint32_t y) {
    const struct jpeg_picture *picture = span.picture;
    int32_t chroma[2][8];
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const uint32_t row = min(y, picture->height - 1);
        const uint2 eight =
            *(const uint2 *)(picture->planes[1 + c] + (size_t)row * picture->plane_stride[1 + c] +
                             span.load_x);
#pragma unroll
        for (int i = 0; i < 8; i++)
            chroma[c][i] = (int32_t)((i < 4 ? eight.x : eight.y) >> 8 * (i % 4) & 255);
    }
    jpeg_finish_row(span, y, jpeg_load_luma(span, y), chroma[0], chroma[1]);
}

static __device__ __forceinline__ void jpeg_row_gray(const struct jpeg_span &span, uint32_t y) {
    const struct jpeg_picture *picture = span.picture;
    if (span.x >= picture->width || y >= picture->height) return;
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

/* The picture's kind decides, so a warp does not diverge. */
static __device__ __forceinline__ void jpeg_row_of(const struct jpeg_span &span, uint32_t y) {
    const struct jpeg_picture *picture = span.picture;
    if (picture->components == 1)
        jpeg_row_gray(span, y);
    else if (picture->across == 2)
        jpeg_row_422(span, y);
    else
        jpeg_row_444(span, y);
}

static __global__ void __launch_bounds__(JPEG_TILE_THREADS, 8)
    jpeg_pixels_kernel(const struct jpeg_units units) {
    __shared__ __align__(16) uint32_t shared[JPEG_TILE_THREADS / 32][JPEG_WARP_WORDS];
    const struct jpeg_unit unit = jpeg_unit_of(units, JPEG_STAGE_TILES);
    const struct jpeg_picture *picture = unit.picture;
    if (picture->facts->flags) return;
    const uint32_t across = jpeg_tiles_across(picture), tile_y = unit.index / across;
    const uint32_t pairs = units.tile_run, group = threadIdx.x / JPEG_TILE_LANES;
    const uint32_t height = picture->into.height;
    uint32_t pair = (tile_y * JPEG_TILE_GROUPS + group) * pairs;
    struct jpeg_span span;
    span.picture = picture;
    span.first_x = (unit.index - tile_y * across) * JPEG_TILE_COLUMNS;
    span.x = span.first_x + threadIdx.x % JPEG_TILE_LANES * JPEG_SPAN;
    span.load_x = min(span.x, (picture->width - 1) / JPEG_SPAN * JPEG_SPAN);
    span.group = group % JPEG_GROUPS_OF_WARP;
    span.group_rows = 2 * pairs;
    span.shared = shared[threadIdx.x / 32];
    if (2 * (pair - span.group * pairs) > height) return; /* the same for a whole warp */
    const bool plain = jpeg_is_plain(picture);
    if (plain && picture->down == 2) {
        jpeg_pairs_420(span, pair, pairs);
        return;
    }
    for (uint32_t end = pair + pairs; pair < end; pair++)
        for (uint32_t y = 2 * pair - 1; y != 2 * pair + 1; y++) {
            if (plain)
                jpeg_row_of(span, y);
            else if (y < height)
                jpeg_pixels_slowly(picture, span.x, y);
        }
}

#endif

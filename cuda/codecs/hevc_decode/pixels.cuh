// SPDX-License-Identifier: Apache-2.0
/* pixels.cuh - the planes of a HEIC to pixels, each thread one, by the tables and formulas of
 * ycbcr.h. Threads follow the rows of the result, which the orientation may have turned.
 *
 * Used by:  hevc_decode.cu.
 * Threads:  PIXELS_SIDE x PIXELS_SIDE of a block.
 */
#ifndef BURIN_HEVC_PIXELS_CUH
#define BURIN_HEVC_PIXELS_CUH

#include "cuda/codecs/hevc_decode/canvas.cuh"
#include "pipeline/codecs/common/oriented_rows.h"

enum { PIXELS_SIDE = 32 };

struct pixels {
    struct canvas canvas;
    uint32_t left, top, across, down; /* the part that is shown */
    uint8_t *origin;                  /* as oriented_rows.h has it */
    ptrdiff_t step_x, step_y;
    bool swapped; /* rows of the result are columns */
    bool premultiplied;
};

template <bool WIDE>
static __device__ __forceinline__ uint32_t sample_at(const uint8_t *row, uint32_t x,
                                                     unsigned bits) {
    return WIDE ? ((const uint16_t *)row)[x] >> (16 - bits) : row[x];
}

struct chroma {
    uint32_t cb, cr;
};

/* Three times the nearer row and the other, of chroma's column I. */
template <bool WIDE>
static __device__ __forceinline__ struct chroma mix_rows(const uint8_t *near, const uint8_t *next,
                                                         uint32_t i, unsigned bits) {
    struct chroma mixed;
    mixed.cb = 3 * sample_at<WIDE>(near, 2 * i, bits) + sample_at<WIDE>(next, 2 * i, bits);
    mixed.cr = 3 * sample_at<WIDE>(near, 2 * i + 1, bits) + sample_at<WIDE>(next, 2 * i + 1, bits);
    return mixed;
}

/* The sample beside number NEAR of COUNT, on the side where X, of twice as many, lies. */
static __device__ __forceinline__ uint32_t beside(uint32_t x, uint32_t near, uint32_t count) {
    const uint32_t other = x & 1 ? near + 1 : near ? near - 1 : 0;
    return other < count ? other : count - 1;
}

template <bool WIDE>
static __device__ __forceinline__ struct chroma chroma_at(const struct canvas &canvas, uint32_t x,
                                                          uint32_t y) {
    const uint32_t i = x / 2, j = y / 2;
    const uint8_t *near = canvas.chroma + j * canvas.chroma_stride;
    const uint8_t *next =
        canvas.chroma + beside(y, j, (canvas.height + 1) / 2) * canvas.chroma_stride;
    const struct chroma here = mix_rows<WIDE>(near, next, i, canvas.bits);
    const struct chroma there =
        mix_rows<WIDE>(near, next, beside(x, i, (canvas.width + 1) / 2), canvas.bits);
    return { (3 * here.cb + there.cb + 8) >> 4, (3 * here.cr + there.cr + 8) >> 4 };
}

template <bool WIDE> static __device__ __forceinline__ uint32_t settle(int32_t sum) {
    return ycbcr_settle(sum, WIDE ? +YCBCR_FRACTION_16 : +YCBCR_FRACTION_8, WIDE ? 65535 : 255);
}

template <bool WIDE, bool ALPHA>
static __global__ void __launch_bounds__(PIXELS_SIDE *PIXELS_SIDE)
    pixels_kernel(const __grid_constant__ struct pixels pixels) {
    const struct canvas &canvas = pixels.canvas;
    const uint32_t u = blockIdx.x * PIXELS_SIDE + threadIdx.x,
                   v = blockIdx.y * PIXELS_SIDE + threadIdx.y;
    const uint32_t column = pixels.swapped ? v : u, row = pixels.swapped ? u : v;
    if (column >= pixels.across || row >= pixels.down) return;
    const uint32_t x = pixels.left + column, y = pixels.top + row;
    const int32_t *tables = canvas.tables;
    const unsigned bits = canvas.bits;
    const struct chroma c = chroma_at<WIDE>(canvas, x, y);
    const int32_t luma =
        tables[(YCBCR_LUMA << bits) + sample_at<WIDE>(canvas.luma + y * canvas.stride, x, bits)];
    uint32_t pixel[4];
    pixel[0] = settle<WIDE>(luma + tables[(YCBCR_RED_CR << bits) + c.cr]);
    pixel[1] = settle<WIDE>(luma + tables[(YCBCR_GREEN_CB << bits) + c.cb] +
                            tables[(YCBCR_GREEN_CR << bits) + c.cr]);
    pixel[2] = settle<WIDE>(luma + tables[(YCBCR_BLUE_CB << bits) + c.cb]);
    if (ALPHA) {
        const uint32_t alpha = sample_at<WIDE>(canvas.alpha + y * canvas.stride, x, bits);
        pixel[3] = settle<WIDE>(tables[(YCBCR_OPACITY << bits) + alpha]);
        for (int i = 0; i < 3 && pixels.premultiplied; i++)
            pixel[i] = ycbcr_divide(pixel[i], pixel[3], WIDE ? 65535 : 255);
    }
    uint8_t *to = pixels.origin + column * pixels.step_x + row * pixels.step_y;
#pragma unroll
    for (int i = 0; i < 3 + ALPHA; i++) {
        if (WIDE)
            ((uint16_t *)to)[i] = (uint16_t)pixel[i];
        else
            to[i] = (uint8_t)pixel[i];
    }
}

static inline struct pixels pixels_of(const struct heic_still *still, const struct canvas *canvas,
                                      const struct image *into) {
    const struct isobmff_picture *picture = &still->header.picture;
    struct oriented_rows rows;
    oriented_rows_plan(&rows, into, picture->orientation, picture->across, picture->down);
    return {
        *canvas,     picture->left, picture->top, picture->across,           picture->down,
        rows.origin, rows.step_x,   rows.step_y,  picture->orientation >= 5, picture->premultiplied
    };
}

#endif

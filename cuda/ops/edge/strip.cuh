// SPDX-License-Identifier: Apache-2.0
/* strip */
#ifndef BURIN_EDGE_STRIP_CUH
#define BURIN_EDGE_STRIP_CUH

#include "cuda/launch.cuh"
#include "pipeline/ops/edge.h"

/* A kind of image and window. PLAIN: neither brightness nor threshold, binary or a border of 0 is
 * asked for, and every row starts at 16 bytes. */
template <int SAMPLE_BITS, int WINDOW_REACH, int IN_CHANNELS, bool IS_PLAIN> struct edge_kind {
    static constexpr int DEPTH = SAMPLE_BITS, REACH = WINDOW_REACH, CHANNELS = IN_CHANNELS;
    static constexpr bool PLAIN = IS_PLAIN;
    static constexpr int PIXELS = 128 / DEPTH, SAMPLES = 32 / DEPTH; /* of a chunk, of a word */
    static constexpr int PIXEL_BYTES = CHANNELS * DEPTH / 8;
    static constexpr bool ALPHA = CHANNELS % 2 == 0;
    /* Words that are read on either side, of which one load is made. */
    static constexpr int WORDS_BESIDE = (REACH * PIXEL_BYTES + 3) / 4;
    static constexpr int BESIDE = WORDS_BESIDE == 3 ? 4 : WORDS_BESIDE;
};

/* ---- where a thread's strip lies */

/* A selector for __byte_perm: samples A and B of two words, numbered through. */
template <int DEPTH> static __device__ __forceinline__ constexpr uint32_t two_of(int a, int b) {
    return DEPTH == 8 ? a | b << 4 : (0x10 + 0x22 * a) | (0x10 + 0x22 * b) << 8;
}

struct strip {
    const uint8_t *from; /* own chunk of the row that is fetched next */
    uint32_t stride;
    int below;              /* rows of the image below that one */
    int pixels, behind;     /* of the chunk that exist, and of the row behind it */
    bool first;             /* chunk of its row */
    bool aligned;           /* every row starts at 16 bytes */
    uint32_t join[2];       /* the levels at both sides of the chunk's left end and of its right */
    uint32_t join_aside[2]; /* the two levels before the chunk and the two behind it */
};

/* At the image's border the outermost pixel is taken again. */
template <class KIND> static __device__ __forceinline__ void set_joins(struct strip &strip) {
    constexpr int DEPTH = KIND::DEPTH, LAST = KIND::SAMPLES - 1, NEXT = LAST + 1;
    const int behind = strip.behind;
    const uint32_t here = two_of<DEPTH>(NEXT, NEXT), end = two_of<DEPTH>(LAST, LAST);
    strip.join[0] = strip.first ? here : two_of<DEPTH>(LAST, NEXT);
    strip.join[1] = behind ? two_of<DEPTH>(LAST, NEXT) : end;
    strip.join_aside[0] = strip.first ? here : two_of<DEPTH>(LAST - 1, LAST);
    strip.join_aside[1] = behind > 1 ? two_of<DEPTH>(NEXT, NEXT + 1) : behind ? here : end;
}

template <class KIND>
static __device__ __forceinline__ struct strip strip_of(const struct picture &picture,
                                                        struct place place, uint32_t top) {
    const uint32_t x = place.x * KIND::PIXELS, left = picture.width - x;
    struct strip strip;
    strip.pixels = (int)min(left, (uint32_t)KIND::PIXELS);
    strip.behind = (int)left - strip.pixels;
    strip.first = place.x == 0;
    const uint32_t row = top - min(top, (uint32_t)KIND::REACH);
    strip.below = (int)(picture.height - 1 - row);
    strip.stride = picture.in_stride;
    strip.from = picture.in + (uint64_t)row * picture.in_stride + (uint64_t)x * KIND::PIXEL_BYTES;
    strip.aligned = KIND::PLAIN || picture.aligned;
    set_joins<KIND>(strip);
    return strip;
}

/* Below the image's last row that one comes again. */
static __device__ __forceinline__ void next_row(struct strip &strip) {
    const int step = min(strip.below, 1);
    strip.below -= step;
    strip.from += (uint64_t)(uint32_t)step * strip.stride;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* neighbourhood.cuh - N2P: every sample becomes a function of the window around it; alpha stays.
 *
 * Used by:  users' operators, in text that is compiled while the program runs; the ladder of
 *           tests/bench/kernels.
 * Limits:   windows of 3 x 3 and 5 x 5, 1 to 4 channels of 8 or 16 bits, any stride.
 *
 * How it works. A thread has 16 bytes of a row, and goes down so many rows. The rows that its
 * windows reach stay in registers, so that each sample is read from memory once a strip, and the
 * next row is on its way while one is worked on. Beside its own 16 bytes a thread loads the words
 * to the left and to the right that windows reach. Beyond the border the outermost pixel is
 * replicated: only threads there take the time to do so. Rows that do not start at 16 bytes are
 * read sample by sample.
 *
 * FUNCTION is passed by value: window[row][column], x and y of the pixel to sample.
 */
#ifndef BURIN_SKELETON_NEIGHBOURHOOD_CUH
#define BURIN_SKELETON_NEIGHBOURHOOD_CUH

#include "cuda/batch_chunks.cuh"

enum { NEIGHBOURHOOD_THREADS = 128 };

template <int BITS> struct sample_of;
template <> struct sample_of<8> { typedef unsigned char type; };
template <> struct sample_of<16> { typedef unsigned short type; };

template <int SAMPLE_BITS, int IN_CHANNELS, int WINDOW_REACH> struct neighbourhood_traits {
    static constexpr int DEPTH = SAMPLE_BITS, CHANNELS = IN_CHANNELS, REACH = WINDOW_REACH;
    static constexpr int SIDE = 2 * REACH + 1, BYTES = DEPTH / 8;
    static constexpr int SAMPLES = 16 / BYTES;    /* of a thread's own chunk */
    static constexpr int HALO = REACH * CHANNELS; /* samples that windows reach on either side */
    static constexpr int SPAN = SAMPLES + 2 * HALO;
    static constexpr int NEEDED = (HALO * BYTES + 3) / 4;
    static constexpr int HALO_WORDS = NEEDED == 3 ? 4 : NEEDED; /* as one load takes them */
    static constexpr int WORDS = 4 + 2 * HALO_WORDS;
    static constexpr int FIRST = HALO_WORDS * 4 / BYTES - HALO; /* samples of WORDS before SPAN */
    typedef typename sample_of<DEPTH>::type sample;
};

/* One row of a strip: samples -HALO to SAMPLES + HALO of the chunk, in whole words. */
template <class T> struct strip_row {
    uint32_t words[T::WORDS];
    __device__ __forceinline__ uint32_t sample(int i) const {
        return chunk_sample<T::DEPTH>(words, i + T::FIRST);
    }
    __device__ __forceinline__ void set_sample(int i, uint32_t value) {
        chunk_set_sample<T::DEPTH>(words, i + T::FIRST, value);
    }
};

/* Where a thread's strip is. */
struct strip {
    const uint8_t *chunk; /* in the image's first row */
    uint32_t stride;
    int column, samples; /* of the row: the chunk's first one, and all */
    int last_row;        /* of the image */
    bool aligned;        /* every row starts at 16 bytes */
    bool border;         /* windows reach over the left or the right border */
};

template <int COUNT>
static __device__ __forceinline__ void load_words(uint32_t *words, const uint8_t *from) {
    if constexpr (COUNT == 1) {
        words[0] = __ldg((const unsigned *)from);
    } else if constexpr (COUNT == 2) {
        const uint2 two = __ldg((const uint2 *)from);
        words[0] = two.x, words[1] = two.y;
    } else {
        unpack_vector(words, __ldg((const uint4 *)from));
    }
}

/* For a row that was read from its first sample on. */
template <class T> static __device__ __forceinline__ void shift_right(struct strip_row<T> &row) {
#pragma unroll
    for (int i = T::WORDS - 1; i >= T::HALO_WORDS; i--) row.words[i] = row.words[i - T::HALO_WORDS];
}

/* Row Y, or the first or last one where there is none. What lies beyond its ends is not set. */
template <class T>
static __device__ __forceinline__ void load_strip_row(struct strip_row<T> &to,
                                                      const struct strip &strip, int y) {
    const uint8_t *row =
        strip.chunk + (uint64_t)(uint32_t)max(0, min(y, strip.last_row)) * strip.stride;
    const bool left = strip.column > 0, right = strip.column + T::SAMPLES < strip.samples;
    if (strip.aligned) {
        if (left) load_words<T::HALO_WORDS>(to.words, row - 4 * T::HALO_WORDS);
        load_words<4>(to.words + T::HALO_WORDS, row);
        if (right) load_words<T::HALO_WORDS>(to.words + T::HALO_WORDS + 4, row + 16);
    } else {
        const uint8_t *from = left ? row - 4 * T::HALO_WORDS : row;
        load_unaligned(to.words, from, (strip.samples - strip.column) * T::BYTES + (row - from));
        if (!left) shift_right<T>(to);
    }
}

/* Replicates the outermost pixels over the border. */
template <class T>
static __device__ __forceinline__ void replicate(struct strip_row<T> &row,
                                                 const struct strip &strip) {
    if (!strip.border) return;
    const int end = T::HALO + strip.samples - strip.column; /* the first that is not there */
    if (strip.column == 0)
#pragma unroll
        for (int i = 0; i < T::HALO; i++) row.set_sample(i, row.sample(T::HALO + i % T::CHANNELS));
#pragma unroll
    for (int i = T::HALO + 1; i < T::SPAN; i++)
        if (i >= end) row.set_sample(i, row.sample(i - T::CHANNELS));
}

template <class T, class FUNCTION>
static __device__ __forceinline__ void
strip_row_result(uint32_t (&out)[4], const struct strip_row<T> (&rows)[T::SIDE],
                 const FUNCTION &function, int column, int y) {
#pragma unroll
    for (int i = 0; i < T::SAMPLES; i++) {
        typename T::sample window[T::SIDE][T::SIDE];
#pragma unroll
        for (int r = 0; r < T::SIDE; r++)
#pragma unroll
            for (int c = 0; c < T::SIDE; c++)
                window[r][c] = (typename T::sample)rows[r].sample(i + c * T::CHANNELS);
        const bool alpha = T::CHANNELS % 2 == 0 && i % T::CHANNELS == T::CHANNELS - 1;
        const uint32_t result = alpha ? rows[T::REACH].sample(i + T::HALO)
                                      : function(window, (column + i) / T::CHANNELS, y);
        chunk_set_sample<T::DEPTH>(out, i, result);
    }
}

/* A thread each tile of 16 bytes across and ROWS down; images of BATCH are as wide as they have
 * samples in a row. */
template <class T, int CAPACITY, class FUNCTION>
static __device__ __forceinline__ void neighbourhood_strip(const struct batch_of<CAPACITY> &batch,
                                                           const FUNCTION &function,
                                                           uint32_t rows) {
    const uint32_t number = blockIdx.x * NEIGHBOURHOOD_THREADS + threadIdx.x;
    if (number >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, number)];
    const struct chunk_position position = chunk_position_of(image, number - image.first_chunk);
    const int column = (int)position.x * T::SAMPLES, top = (int)(position.y * rows);
    const int end = min(top + (int)rows, (int)image.height), width = (int)image.width;
    const struct strip strip = { image.in + column * T::BYTES,
                                 image.in_stride,
                                 column,
                                 width,
                                 (int)image.height - 1,
                                 image.aligned,
                                 column == 0 || column + T::SAMPLES + T::HALO > width };
    uint8_t *to = image.out + (uint64_t)(uint32_t)top * image.out_stride + column * T::BYTES;
    const uint32_t bytes = (uint32_t)min(width - column, T::SAMPLES) * T::BYTES;
    struct strip_row<T> window[T::SIDE], next;
#pragma unroll 1
    for (int y = top - 2 * T::REACH - 1; y < end; y++) {
#pragma unroll
        for (int r = 0; r + 1 < T::SIDE; r++) window[r] = window[r + 1];
        window[T::SIDE - 1] = next;
        replicate(window[T::SIDE - 1], strip);
        load_strip_row(next, strip, y + T::REACH + 1);
        if (y < top) continue;
        uint32_t out[4] = {};
        strip_row_result<T>(out, window, function, column, y);
        store_chunk(out, to, bytes, image.aligned);
        to += image.out_stride;
    }
}

#endif

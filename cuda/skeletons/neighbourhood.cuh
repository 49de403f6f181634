// SPDX-License-Identifier: Apache-2.0
/* neighbourhood.cuh - N2P: every sample becomes a function of the window around it; alpha stays.
 *
 * Used by:  kernel_source.c and convert_gpu.c, as text around users' operators; launch.cuh; the
 *           ladder of tests/bench/kernels.
 * Limits:   windows of 3 x 3 and 5 x 5, 1 to 4 channels of 8 or 16 bits, any stride.
 *
 * How it works. A thread has 16 bytes of a row, and goes down so many rows. The rows that its
 * windows reach stay in registers, so that each sample is read from memory once a strip, and the
 * next row is on its way while one is worked on: nothing branches between a load and its use, since
 * the compiler would wait there. Beside its own 16 bytes a thread loads the words to the left and
 * to the right that windows reach. Beyond the border the outermost pixel is replicated: only
 * threads there take the time to do so. Where rows do not start at 16 bytes, windows are read
 * sample by sample.
 *
 * FUNCTION is passed by value: window[row][column], x and y of the pixel to sample. So is POINT, a
 * P2P that is done before it: sample and number of the pixel to sample. It is given what is loaded,
 * once a strip, and of the border's repetitions the pixel that is repeated and that one's number:
 * windows see what the P2P alone would have written.
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

/* A row as windows read it: its samples one by one where there are registers for that, so that each
 * is taken out of its word once; else the words. */
template <class T, bool APART = T::SIDE *T::SPAN <= 72> struct window_row {
    uint32_t samples[T::SPAN];
    __device__ __forceinline__ void set(const struct strip_row<T> &row) {
#pragma unroll
        for (int i = 0; i < T::SPAN; i++) samples[i] = row.sample(i);
    }
    __device__ __forceinline__ uint32_t sample(int i) const {
        return samples[i];
    }
    __device__ __forceinline__ void set_sample(int i, uint32_t value) {
        samples[i] = value;
    }
};
template <class T> struct window_row<T, false> {
    struct strip_row<T> row;
    __device__ __forceinline__ void set(const struct strip_row<T> &from) {
        row = from;
    }
    __device__ __forceinline__ uint32_t sample(int i) const {
        return row.sample(i);
    }
    __device__ __forceinline__ void set_sample(int i, uint32_t value) {
        row.set_sample(i, value);
    }
};

/* Where there is no P2P before. */
struct as_loaded {
    __device__ __forceinline__ uint32_t operator()(uint32_t sample, uint32_t) const {
        return sample;
    }
};

/* Whether sample I, counted from any pixel's first one, is alpha. */
template <class T> static __device__ __forceinline__ bool is_alpha(int i) {
    return T::CHANNELS % 2 == 0 && i % T::CHANNELS == T::CHANNELS - 1;
}

/* Where a thread's strip is. */
struct strip {
    const uint8_t *chunk; /* in the image's first row */
    uint32_t stride;
    int column, samples; /* of the row: the chunk's first one, and all */
    int last_row;        /* of the image */
    int left, right; /* bytes from the chunk to the words at its sides; 0 where there are none */
    bool border;     /* windows reach over the left or the right border */
};

template <class T>
static __device__ __forceinline__ struct strip strip_of(const struct batch_image &image,
                                                        int column) {
    const int samples = (int)image.width;
    struct strip strip;
    strip.chunk = image.in + column * T::BYTES;
    strip.stride = image.in_stride;
    strip.column = column;
    strip.samples = samples;
    strip.last_row = (int)image.height - 1;
    strip.left = column > 0 ? 4 * T::HALO_WORDS : 0;
    strip.right = column + T::SAMPLES < samples ? 16 : 0;
    strip.border = column == 0 || column + T::SAMPLES + T::HALO > samples;
    return strip;
}

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

/* The row that stands for Y: the first or last one where there is none. */
static __device__ __forceinline__ int strip_line(const struct strip &strip, int y) {
    return max(0, min(y, strip.last_row));
}

static __device__ __forceinline__ const uint8_t *strip_row_at(const struct strip &strip, int y) {
    return strip.chunk + (uint64_t)(uint32_t)strip_line(strip, y) * strip.stride;
}

/* Row Y, or what stands for it. What lies beyond its ends is anything. */
template <class T>
static __device__ __forceinline__ void load_strip_row(struct strip_row<T> &to,
                                                      const struct strip &strip, int y) {
    const uint8_t *row = strip_row_at(strip, y);
    load_words<T::HALO_WORDS>(to.words, row - strip.left);
    load_words<4>(to.words + T::HALO_WORDS, row);
    load_words<T::HALO_WORDS>(to.words + T::HALO_WORDS + 4, row + strip.right);
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

template <class T>
static __device__ __forceinline__ void set_row(struct window_row<T> &row, const struct strip &,
                                               const struct strip_row<T> &from, int,
                                               const struct as_loaded &) {
    row.set(from);
}

/* Row Y as windows read it, of what was loaded. */
template <class T, class POINT>
static __device__ __forceinline__ void set_row(struct window_row<T> &row, const struct strip &strip,
                                               const struct strip_row<T> &from, int y,
                                               const POINT &point) {
    const int width = strip.samples / T::CHANNELS, first = strip_line(strip, y) * width;
    row.set(from);
#pragma unroll
    for (int i = 0; i < T::SPAN; i++) {
        const int x = (strip.column + i) / T::CHANNELS - T::REACH;
        const uint32_t sample = from.sample(i);
        if (!is_alpha<T>(i))
            row.set_sample(i, point(sample, (uint32_t)(first + max(0, min(x, width - 1)))));
    }
}

template <class T, class FUNCTION>
static __device__ __forceinline__ void
strip_row_result(uint32_t (&out)[4], const struct window_row<T> (&rows)[T::SIDE],
                 const FUNCTION &function, int column, int y) {
#pragma unroll
    for (int i = 0; i < T::SAMPLES; i++) {
        typename T::sample window[T::SIDE][T::SIDE];
#pragma unroll
        for (int r = 0; r < T::SIDE; r++)
#pragma unroll
            for (int c = 0; c < T::SIDE; c++) {
                const uint32_t sample = rows[r].sample(i + c * T::CHANNELS);
                __builtin_assume(sample < 1u << T::DEPTH); /* spares a mask at each use */
                window[r][c] = (typename T::sample)sample;
            }
        const uint32_t result = is_alpha<T>(i) ? rows[T::REACH].sample(i + T::HALO)
                                               : function(window, (column + i) / T::CHANNELS, y);
        chunk_set_sample<T::DEPTH>(out, i, result);
    }
}

/* Rows TOP to END of a strip whose rows start at 16 bytes. */
template <class T, class FUNCTION, class POINT>
static __device__ __forceinline__ void slide_down(const struct strip &strip, uint8_t *to,
                                                  uint32_t out_stride, int top, int end,
                                                  const FUNCTION &function, const POINT &point) {
    const uint32_t bytes = (uint32_t)min(strip.samples - strip.column, T::SAMPLES) * T::BYTES;
    struct window_row<T> window[T::SIDE];
    struct strip_row<T> next;
#pragma unroll
    for (int r = 0; r + 1 < T::SIDE; r++) {
        load_strip_row(next, strip, top - T::REACH + r);
        replicate(next, strip);
        set_row(window[r + 1], strip, next, top - T::REACH + r, point);
    }
    load_strip_row(next, strip, top + T::REACH);
#pragma unroll 1
    for (int y = top; y < end; y++) {
#pragma unroll
        for (int r = 0; r + 1 < T::SIDE; r++) window[r] = window[r + 1];
        replicate(next, strip);
        set_row(window[T::SIDE - 1], strip, next, y + T::REACH, point);
        load_strip_row(next, strip, y + 1 + T::REACH);
        uint32_t out[4] = {};
        strip_row_result<T>(out, window, function, strip.column, y);
        store_chunk(out, to, bytes, true);
        to += out_stride;
    }
}

/* Sample X of row Y, whatever these are: beyond the border the same channel of the last pixel. */
template <class T, class POINT>
static __device__ __forceinline__ typename T::sample
clamped_sample(const struct strip &strip, int x, int y, const POINT &point) {
    if (x < 0) x = (x + T::HALO) % T::CHANNELS;
    if (x >= strip.samples) x = strip.samples - T::CHANNELS + (x - strip.samples) % T::CHANNELS;
    const uint8_t *row = strip_row_at(strip, y) - strip.column * T::BYTES;
    const uint32_t sample = load_sample<T::DEPTH>(row, x);
    const int pixel = strip_line(strip, y) * (strip.samples / T::CHANNELS) + x / T::CHANNELS;
    return (typename T::sample)(is_alpha<T>(x) ? sample : point(sample, (uint32_t)pixel));
}

/* The same for any rows. */
template <class T, class FUNCTION, class POINT>
static __device__ __forceinline__ void step_down(const struct strip &strip, uint8_t *to,
                                                 uint32_t out_stride, int top, int end,
                                                 const FUNCTION &function, const POINT &point) {
    const int samples = min(strip.samples - strip.column, T::SAMPLES);
#pragma unroll 1
    for (int i = 0; i < (end - top) * samples; i++) {
        const int y = top + i / samples, x = strip.column + i % samples;
        typename T::sample window[T::SIDE][T::SIDE];
#pragma unroll
        for (int r = 0; r < T::SIDE; r++)
#pragma unroll
            for (int c = 0; c < T::SIDE; c++)
                window[r][c] = clamped_sample<T>(strip, x + (c - T::REACH) * T::CHANNELS,
                                                 y + r - T::REACH, point);
        const uint32_t result =
            is_alpha<T>(x) ? window[T::REACH][T::REACH] : function(window, x / T::CHANNELS, y);
        typename T::sample *row =
            (typename T::sample *)(to + (uint64_t)(uint32_t)(y - top) * out_stride);
        row[x - strip.column] = (typename T::sample)result;
    }
}

/* A thread each tile of 16 bytes across and ROWS down; images of BATCH are as wide as they have
 * samples in a row. */
template <class T, int CAPACITY, class FUNCTION, class POINT = struct as_loaded>
static __device__ __forceinline__ void neighbourhood_strip(const struct batch_of<CAPACITY> &batch,
                                                           const FUNCTION &function, uint32_t rows,
                                                           const POINT &point = POINT()) {
    const uint32_t number = blockIdx.x * NEIGHBOURHOOD_THREADS + threadIdx.x;
    if (number >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, number)];
    const struct chunk_position position = chunk_position_of(image, number - image.first_chunk);
    const int column = (int)position.x * T::SAMPLES, top = (int)(position.y * rows);
    const int end = min(top + (int)rows, (int)image.height);
    const struct strip strip = strip_of<T>(image, column);
    uint8_t *to = image.out + (uint64_t)(uint32_t)top * image.out_stride + column * T::BYTES;
    if (image.aligned)
        slide_down<T>(strip, to, image.out_stride, top, end, function, point);
    else
        step_down<T>(strip, to, image.out_stride, top, end, function, point);
}

/* On the host: rows of a strip, of images that have so many CHUNKS of 16 bytes: few where there
 * would not be threads for all multiprocessors. */
static inline uint32_t neighbourhood_rows(uint64_t chunks, int multiprocessors) {
    enum { THREADS_WANTED = 1024 /* a multiprocessor */, ROWS_MIN = 4, ROWS_MAX = 32 };
    uint32_t rows = ROWS_MAX;
    while (rows > ROWS_MIN && chunks / rows < THREADS_WANTED * (uint64_t)multiprocessors) rows /= 2;
    return rows;
}

#endif

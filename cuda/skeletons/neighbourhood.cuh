// SPDX-License-Identifier: Apache-2.0
/* neighbourhood.cuh - N2P: every sample becomes a function of the window around it; alpha stays.
 *
 * Used by:  kernel_source.c and convert_gpu.c, as text around users' operators; launch.cuh; the
 *           ladder of tests/bench/kernels.
 * Limits:   windows of an odd side up to 15, 1 to 4 channels of 8 or 16 bits, any stride.
 *
 * How it works. A thread has 16 bytes of a row, and goes down the rows of a strip. The rows that
 * its windows reach stay in registers, so that a strip reads each sample from memory once, and the
 * next row is on its way while one is processed. Samples are taken out of a row's words as windows
 * reach them: fewer registers, and so more warps at a time. Beside its own 16 bytes a thread loads
 * the words on either side that windows reach. Beyond the border the outermost pixel repeats: only
 * threads there take the time for that. Where rows do not start at 16 bytes, and for windows
 * larger than 5 x 5, which registers do not hold, windows are read sample by sample.
 *
 * FUNCTION is passed by value: window[row][column] and burin_place to sample. So is POINT, a P2P
 * that runs before it: sample and burin_place to sample. It gets each loaded sample once a strip,
 * and for the border's repetitions the repeated pixel with that pixel's place: windows see what the
 * P2P alone would have written.
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
    static constexpr int HALO_WORDS = NEEDED == 3 ? 4 : NEEDED; /* a whole load */
    static constexpr int WORDS = 4 + 2 * HALO_WORDS;
    static constexpr int FIRST = HALO_WORDS * 4 / BYTES - HALO; /* samples of WORDS before SPAN */
    /* Measured on an H200. BLOCKS of a multiprocessor for which the compiler leaves registers (1:
     * no bound); AHEAD: rows from the one that is loaded to the one that is fetched into L2. */
    static constexpr int BLOCKS = DEPTH == 8 && REACH == 1 ? 5 : 1;
    static constexpr int AHEAD = BLOCKS > 1 ? 2 : 0;
    static constexpr bool SLIDES = REACH <= 2; /* rows stay in registers */
    static constexpr int UNROLLED = SLIDES ? SIDE : 1;
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

/* A row as windows read it: its samples one by one where registers allow it, so that each is taken
 * out of its word once; else the words. */
template <class T, bool APART = T::SIDE *T::SPAN <= 72> struct window_row {
    uint32_t samples[T::SPAN];
    __device__ __forceinline__ uint32_t sample(int i) const {
        return samples[i];
    }
    __device__ __forceinline__ void set_sample(int i, uint32_t value) {
        samples[i] = value;
    }
};
template <class T> struct window_row<T, false> {
    struct strip_row<T> row;
    __device__ __forceinline__ uint32_t sample(int i) const {
        return row.sample(i);
    }
    __device__ __forceinline__ void set_sample(int i, uint32_t value) {
        row.set_sample(i, value);
    }
};

/* Stands for the P2P where there is none. */
struct as_loaded {
    __device__ __forceinline__ uint32_t operator()(uint32_t sample,
                                                   const struct burin_place &) const {
        return sample;
    }
};

/* Whether sample I, counted from the first one of some pixel, is alpha. */
template <class T> static __device__ __forceinline__ bool is_alpha(int i) {
    return T::CHANNELS % 2 == 0 && i % T::CHANNELS == T::CHANNELS - 1;
}

/* The place of a thread's strip. */
struct strip {
    const uint8_t *chunk; /* in the image's first row */
    uint32_t stride;
    int column, samples; /* of the row: the chunk's first sample, and all samples */
    int last_row;        /* of the image */
    int left;            /* bytes of the words to the chunk's left; 0 where there are none */
    int rest;            /* bytes of the row from the chunk on */
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
    strip.rest = (samples - column) * T::BYTES;
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

/* The row read for Y: the first or last one beyond the border. */
static __device__ __forceinline__ int strip_line(const struct strip &strip, int y) {
    return max(0, min(y, strip.last_row));
}

static __device__ __forceinline__ const uint8_t *strip_row_at(const struct strip &strip, int y) {
    return strip.chunk + (uint64_t)(uint32_t)strip_line(strip, y) * strip.stride;
}

/* Loads the row whose chunk is at FROM. Samples beyond the row's ends are undefined. */
template <class T>
static __device__ __forceinline__ void
load_strip_row(struct strip_row<T> &to, const struct strip &strip, const uint8_t *from) {
    load_words<T::HALO_WORDS>(to.words, from - strip.left);
    load_words<4>(to.words + T::HALO_WORDS, from);
    load_words<T::HALO_WORDS>(to.words + T::HALO_WORDS + 4, from + (strip.rest > 16 ? 16 : 0));
}

/* Repeats the outermost pixels beyond the border. */
template <class T>
static __device__ __forceinline__ void replicate(struct strip_row<T> &row,
                                                 const struct strip &strip) {
    if (strip.left && strip.rest >= 16 + T::HALO * T::BYTES) return;
    const int end = T::HALO + strip.rest / T::BYTES; /* the first that does not exist */
    if (!strip.left)
#pragma unroll
        for (int i = 0; i < T::HALO; i++) row.set_sample(i, row.sample(T::HALO + i % T::CHANNELS));
#pragma unroll
    for (int i = T::HALO + 1; i < T::SPAN; i++)
        if (i >= end) row.set_sample(i, row.sample(i - T::CHANNELS));
}

/* The place of sample I, counted from the strip's first column, of row Y; beyond the border that
 * of the repeated pixel. */
template <class T>
static __device__ __forceinline__ struct burin_place strip_place(const struct strip &strip, int i,
                                                                 int y) {
    const int width = strip.samples / T::CHANNELS, height = strip.last_row + 1;
    const int sample = strip.column + i + T::HALO; /* not negative; HALO is of whole pixels */
    const int x = max(0, min(sample / T::CHANNELS - T::REACH, width - 1));
    return { x, strip_line(strip, y), sample % T::CHANNELS, width, height, T::CHANNELS };
}

/* Sample I of row Y as windows read it. */
template <class T>
static __device__ __forceinline__ uint32_t window_sample(const struct strip &,
                                                         const struct strip_row<T> &row, int i, int,
                                                         const struct as_loaded &) {
    return row.sample(i);
}

template <class T, class POINT>
static __device__ __forceinline__ uint32_t window_sample(const struct strip &strip,
                                                         const struct strip_row<T> &row, int i,
                                                         int y, const POINT &point) {
    const uint32_t sample = row.sample(i);
    if (is_alpha<T>(i)) return sample;
    return point(sample, strip_place<T>(strip, i - T::HALO, y));
}

/* Samples FIRST to END, both constants once loops are unrolled, of ROW, which is row Y. */
template <class T, class POINT>
static __device__ __forceinline__ void
set_samples(struct window_row<T> &to, const struct strip &strip, const struct strip_row<T> &row,
            int first, int end, int y, const POINT &point) {
#pragma unroll
    for (int i = 0; i < T::SPAN; i++)
        if (i >= first && i < end) to.set_sample(i, window_sample<T>(strip, row, i, y, point));
}

/* The window around sample I of the chunk. */
template <class T, class FUNCTION>
static __device__ __forceinline__ typename T::sample
window_result(const struct window_row<T> (&rows)[T::SIDE], const struct strip &strip,
              const FUNCTION &function, int i, int y) {
    typename T::sample window[T::SIDE][T::SIDE];
#pragma unroll
    for (int r = 0; r < T::SIDE; r++)
#pragma unroll
        for (int c = 0; c < T::SIDE; c++) {
            const uint32_t sample = rows[r].sample(i + c * T::CHANNELS);
            __builtin_assume(sample < 1u << T::DEPTH); /* spares a mask at each use */
            window[r][c] = (typename T::sample)sample;
        }
    if (is_alpha<T>(i)) return window[T::REACH][T::REACH];
    return (typename T::sample)function(window, strip_place<T>(strip, i, y));
}

/* Row Y of the result. The last of ROWS is made here from LAST, as windows reach it. */
template <class T, class FUNCTION, class POINT>
static __device__ __forceinline__ void
strip_row_result(uint32_t (&out)[4], struct window_row<T> (&rows)[T::SIDE],
                 const struct strip &strip, const struct strip_row<T> &last, int y,
                 const FUNCTION &function, const POINT &point) {
    constexpr int BEFORE = (T::SIDE - 1) * T::CHANNELS, WORD = 4 / T::BYTES;
    struct window_row<T> &newest = rows[T::SIDE - 1];
    set_samples<T>(newest, strip, last, 0, BEFORE, y + T::REACH, point);
#pragma unroll
    for (int i = 0; i < T::SAMPLES; i++) {
        set_samples<T>(newest, strip, last, BEFORE + i, BEFORE + i + 1, y + T::REACH, point);
        const uint32_t result = window_result<T>(rows, strip, function, i, y);
        /* Three instructions for a word of bytes; chunk_set_sample would need a mask for each. */
        out[i / WORD] = i % WORD ? out[i / WORD] | result << i % WORD * T::DEPTH : result;
    }
}

/* Stores a row's first BYTES, at most 16. Few rows end within a chunk: little code. */
static __device__ __forceinline__ void store_strip_row(uint32_t (&words)[4], uint8_t *to,
                                                       int bytes) {
    if (bytes >= 16) return __stcs((uint4 *)to, pack_vector(words));
#pragma unroll 1
    for (int i = 0; i < bytes; i++, chunk_shift<1>(words)) to[i] = (uint8_t)words[0];
}

/* Forces later uses of ROW behind the branch that may have changed it: otherwise the compiler takes
 * its samples out of the words on both sides. */
template <class T> static __device__ __forceinline__ void settle(struct strip_row<T> &row) {
#pragma unroll
    for (int i = 0; i < T::WORDS; i++) asm volatile("" : "+r"(row.words[i]));
}

/* The tests compile this for CPUs, which have no such instruction. */
static __device__ __forceinline__ void fetch_row(const uint8_t *from) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

/* Rows TOP to END of a strip whose rows start at 16 bytes. */
template <class T, class FUNCTION, class POINT>
static __device__ __forceinline__ void slide_down(const struct strip &strip, uint8_t *to,
                                                  uint32_t out_stride, int top, int end,
                                                  const FUNCTION &function, const POINT &point) {
    struct window_row<T> window[T::SIDE];
    struct strip_row<T> rows[T::SIDE], next;
    const uint8_t *from = strip_row_at(strip, top + T::REACH);
    int below = strip.last_row - top - T::REACH; /* rows of the image below FROM */
#pragma unroll
    for (int r = 0; r + 1 < T::SIDE; r++)
        load_strip_row(rows[r], strip, strip_row_at(strip, top - T::REACH + r));
    load_strip_row(next, strip, from);
#pragma unroll
    for (int r = 0; r + 1 < T::SIDE; r++) {
        replicate(rows[r], strip);
        set_samples<T>(window[r], strip, rows[r], 0, T::SPAN, top - T::REACH + r, point);
    }
#pragma unroll 1
    for (int y = top, count = end - top; count > 0; y++, count--) {
        struct strip_row<T> last = next;
        uint32_t out[4];
        from += below > 0 ? strip.stride : 0;
        below--;
        load_strip_row(next, strip, from);
        if (T::AHEAD && count > T::AHEAD + 1 && below >= T::AHEAD)
            fetch_row(from + (uint64_t)strip.stride * T::AHEAD);
        replicate(last, strip);
        settle(last);
        strip_row_result<T>(out, window, strip, last, y, function, point);
        store_strip_row(out, to, strip.rest);
        to += out_stride;
#pragma unroll
        for (int r = 0; r + 1 < T::SIDE; r++) window[r] = window[r + 1];
    }
}

/* Sample X of row Y, for any X and Y: beyond the border the same channel of the last pixel. */
template <class T, class POINT>
static __device__ __forceinline__ typename T::sample
clamped_sample(const struct strip &strip, int x, int y, const POINT &point) {
    if (x < 0) x = (x + T::HALO) % T::CHANNELS;
    if (x >= strip.samples) x = strip.samples - T::CHANNELS + (x - strip.samples) % T::CHANNELS;
    const uint8_t *row = strip_row_at(strip, y) - strip.column * T::BYTES;
    const uint32_t sample = load_sample<T::DEPTH>(row, x);
    const struct burin_place place = strip_place<T>(strip, x - strip.column, y);
    return (typename T::sample)(is_alpha<T>(x) ? sample : point(sample, place));
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
#pragma unroll T::UNROLLED
        for (int r = 0; r < T::SIDE; r++)
#pragma unroll T::UNROLLED
            for (int c = 0; c < T::SIDE; c++)
                window[r][c] = clamped_sample<T>(strip, x + (c - T::REACH) * T::CHANNELS,
                                                 y + r - T::REACH, point);
        const uint32_t result = is_alpha<T>(x)
                                    ? window[T::REACH][T::REACH]
                                    : function(window, strip_place<T>(strip, x - strip.column, y));
        typename T::sample *row =
            (typename T::sample *)(to + (uint64_t)(uint32_t)(y - top) * out_stride);
        row[x - strip.column] = (typename T::sample)result;
    }
}

/* A thread for each tile of 16 bytes across and ROWS down. An image of BATCH is as wide as its row
 * has samples. */
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
    if constexpr (T::SLIDES)
        if (image.aligned)
            return slide_down<T>(strip, to, image.out_stride, top, end, function, point);
    step_down<T>(strip, to, image.out_stride, top, end, function, point);
}

/* On the host: rows of a strip, for images with CHUNKS of 16 bytes: few where otherwise some
 * multiprocessors would have no threads. */
static inline uint32_t neighbourhood_rows(uint64_t chunks, int multiprocessors) {
    enum { THREADS_WANTED = 1024 /* of a multiprocessor */, ROWS_MIN = 4, ROWS_MAX = 32 };
    uint32_t rows = ROWS_MAX;
    while (rows > ROWS_MIN && chunks / rows < THREADS_WANTED * (uint64_t)multiprocessors) rows /= 2;
    return rows;
}

#endif

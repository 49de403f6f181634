// SPDX-License-Identifier: Apache-2.0
/* prelude.h - the beginning of the source of a CPU twin, before the user's operators.
 *
 * It replaces <stdint.h>, <limits.h>, <stdbool.h> and <stddef.h>, and exact_math.h after it
 * replaces <math.h> and <stdlib.h>: a twin includes nothing and is linked with nothing.
 *
 * Used by:  user_text.c, as text.
 * Threads:  any; no state.
 */
#ifndef BURIN_TWIN_PRELUDE_H
#define BURIN_TWIN_PRELUDE_H

#include "pipeline/skeletons/twin/limits.h"

#define BURIN_INLINE static inline __attribute__((__always_inline__, __unused__))
#define BURIN_EXPORT __attribute__((visibility("default")))

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
#define NULL ((void *)0)

#define bool _Bool
#define true 1
#define false 0

/* ---- memory: compilers call these to copy or clear, and no library provides them */

#ifndef BURIN_HOSTED
#ifdef __OPTIMIZE__
#define BURIN_NO_CALLS __attribute__((optimize("no-tree-loop-distribute-patterns"), unused))
#else
#define BURIN_NO_CALLS
#endif

BURIN_NO_CALLS void *memcpy(void *to, const void *from, size_t size);
BURIN_NO_CALLS void *memmove(void *to, const void *from, size_t size);
BURIN_NO_CALLS void *memset(void *to, int value, size_t size);
BURIN_NO_CALLS int memcmp(const void *a, const void *b, size_t size);

BURIN_NO_CALLS void *memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

/* volatile keeps the compiler from turning this into a call of memmove. */
BURIN_NO_CALLS void *memmove(void *to, const void *from, size_t size) {
    if ((char *)to <= (const char *)from) return memcpy(to, from, size);
    for (size_t i = size; i-- > 0;) ((volatile char *)to)[i] = ((const char *)from)[i];
    return to;
}

BURIN_NO_CALLS void *memset(void *to, int value, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = (char)value;
    return to;
}

BURIN_NO_CALLS int memcmp(const void *a, const void *b, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)a)[i] != ((const unsigned char *)b)[i])
            return ((const unsigned char *)a)[i] < ((const unsigned char *)b)[i] ? -1 : 1;
    return 0;
}

#endif

/* Each thread has its own counts here, so this need not be atomic as on a GPU. */
BURIN_INLINE int atomicAdd(void *sum, int value) {
    const int before = *(int *)sum;
    *(int *)sum = before + value;
    return before;
}

/* The same inside an R2V's function: a count outside its list of BINS is ignored. */
BURIN_INLINE int burin_count(void *sum, int value, const void *list, int bins) {
    const unsigned long at = (unsigned long)((char *)sum - (const char *)list);
    return at < (unsigned long)bins * sizeof(int) ? atomicAdd(sum, value) : 0;
}

/* ---- rows: 16-bit samples may begin at any byte */

typedef unsigned char burin_sample8;
typedef unsigned short __attribute__((aligned(1), may_alias)) burin_sample16;

/* A pixel of 2 or 4 samples as one number, alpha in the high bits. */
typedef unsigned short __attribute__((aligned(1), may_alias)) burin_pixel16;
typedef unsigned int __attribute__((aligned(1), may_alias)) burin_pixel32;
typedef unsigned long __attribute__((aligned(1), may_alias)) burin_pixel64;

/* Functions never see alpha, and loops over contiguous samples are fast: so the colour sample
 * before it replaces alpha on the way in, and alpha is restored on the way out. */
#define BURIN_ALPHA(pixel, bits)                                                                   \
    BURIN_INLINE void pixel##_cover(const void *from, void *to, long pixels) {                     \
        const pixel *__restrict__ in = (const pixel *)from;                                        \
        pixel *__restrict__ out = (pixel *)to;                                                     \
        const pixel alpha = (pixel)((pixel)-1 << (sizeof(pixel) * 8 - bits));                      \
        for (long i = 0; i < pixels; i++)                                                          \
            out[i] = (pixel)((in[i] & ~alpha) | (pixel)((pixel)(in[i] << bits) & alpha));          \
    }                                                                                              \
    BURIN_INLINE void pixel##_restore(const void *from, void *to, long pixels) {                   \
        const pixel *__restrict__ in = (const pixel *)from;                                        \
        pixel *__restrict__ out = (pixel *)to;                                                     \
        const pixel alpha = (pixel)((pixel)-1 << (sizeof(pixel) * 8 - bits));                      \
        for (long i = 0; i < pixels; i++) out[i] = (pixel)((out[i] & ~alpha) | (in[i] & alpha));   \
    }

typedef burin_pixel32 burin_pixel32_16;
typedef burin_pixel64 burin_pixel64_16;
BURIN_ALPHA(burin_pixel16, 8)
BURIN_ALPHA(burin_pixel32, 8)
BURIN_ALPHA(burin_pixel32_16, 16)
BURIN_ALPHA(burin_pixel64_16, 16)

BURIN_INLINE void burin_cover(const void *from, void *to, long pixels, int channels, int bits) {
    if (bits == 8 && channels == 2)
        burin_pixel16_cover(from, to, pixels);
    else if (bits == 8)
        burin_pixel32_cover(from, to, pixels);
    else if (channels == 2)
        burin_pixel32_16_cover(from, to, pixels);
    else
        burin_pixel64_16_cover(from, to, pixels);
}

BURIN_INLINE void burin_restore(const void *from, void *to, long pixels, int channels, int bits) {
    if (bits == 8 && channels == 2)
        burin_pixel16_restore(from, to, pixels);
    else if (bits == 8)
        burin_pixel32_restore(from, to, pixels);
    else if (channels == 2)
        burin_pixel32_16_restore(from, to, pixels);
    else
        burin_pixel64_16_restore(from, to, pixels);
}

/* Number of an R2S's partial results: a multiple of 3, so that a lane belongs to one channel. */
enum { BURIN_LANES = 192 };

/* Pixels that a loop copies at once; their colours fill all lanes. */
enum { BURIN_CHUNK = 3 * BURIN_LANES };

/* A sample's place, and the image's size. */
struct burin_place {
    int x, y, channel;
    int width, height, channels;
};

/* Operators without parameters. */
struct burin_nothing {
    char nothing;
};

#endif

// SPDX-License-Identifier: Apache-2.0
/* freestanding.h - the four functions that compilers call on their own account: memcpy, memmove,
 * memset, memcmp.
 *
 * gcc and clang make a call of memset of an array that is initialised, of memcpy of a struct that
 * is copied, and either of a loop that does the same; tcc calls memmove. What is linked without
 * libc needs its own. Hidden: nobody else sees them, and nothing from outside takes their place.
 * CUDA's compilers have theirs.
 *
 * Used by:  users' operators compiled for the CPU, behind exact_math.h.
 * Why:      a loop that is written plainly here would itself become a call; a barrier prevents it,
 *           and where the processor has an instruction for the whole loop, that is faster.
 */
#ifndef BURIN_FREESTANDING_H
#define BURIN_FREESTANDING_H

#if !defined(__CUDACC__)

#if defined(__TINYC__)
#define BURIN_RUNTIME __attribute__((visibility("hidden")))
#define BURIN_BARRIER
#else
#define BURIN_RUNTIME __attribute__((visibility("hidden"), used, noinline))
#define BURIN_BARRIER __asm__ volatile("" ::: "memory")
#endif
#if defined(__x86_64__) && !defined(__TINYC__)
#define BURIN_REPEATED 1
#else
#define BURIN_REPEATED 0
#endif

BURIN_RUNTIME void *memcpy(void *to, const void *from, __SIZE_TYPE__ count);
BURIN_RUNTIME void *memmove(void *to, const void *from, __SIZE_TYPE__ count);
BURIN_RUNTIME void *memset(void *to, int value, __SIZE_TYPE__ count);
BURIN_RUNTIME int memcmp(const void *a, const void *b, __SIZE_TYPE__ count);

BURIN_RUNTIME void *memcpy(void *to, const void *from, __SIZE_TYPE__ count) {
    return memmove(to, from, count);
}

BURIN_RUNTIME void *memmove(void *to, const void *from, __SIZE_TYPE__ count) {
    unsigned char *out = (unsigned char *)to;
    const unsigned char *in = (const unsigned char *)from;
#if BURIN_REPEATED
    if (out <= in || out >= in + count) {
        __asm__ volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(count)::"memory");
        return to;
    }
#endif
    if (out <= in) {
        for (__SIZE_TYPE__ i = 0; i < count; i++) {
            out[i] = in[i];
            BURIN_BARRIER;
        }
    } else {
        for (__SIZE_TYPE__ i = count; i > 0; i--) {
            out[i - 1] = in[i - 1];
            BURIN_BARRIER;
        }
    }
    return to;
}

BURIN_RUNTIME void *memset(void *to, int value, __SIZE_TYPE__ count) {
    unsigned char *out = (unsigned char *)to;
#if BURIN_REPEATED
    __asm__ volatile("rep stosb" : "+D"(out), "+c"(count) : "a"(value) : "memory");
#else
    for (__SIZE_TYPE__ i = 0; i < count; i++) {
        out[i] = (unsigned char)value;
        BURIN_BARRIER;
    }
#endif
    return to;
}

BURIN_RUNTIME int memcmp(const void *a, const void *b, __SIZE_TYPE__ count) {
    const unsigned char *left = (const unsigned char *)a, *right = (const unsigned char *)b;
    for (__SIZE_TYPE__ i = 0; i < count; i++) {
        if (left[i] != right[i]) return left[i] - right[i];
        BURIN_BARRIER;
    }
    return 0;
}

#endif

#endif

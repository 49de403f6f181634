// SPDX-License-Identifier: Apache-2.0
/* pointwise.h - rows of samples through a function of one sample, alpha unchanged.
 *
 * Rows are processed sixteen bytes at a time in the compiler's own vectors, which every machine has
 * in some form. Rows may start at any byte; the lanes of alpha are the same along the whole row.
 *
 * Used by:  ops/threshold.c, ops/negate.c, ops/brightness_row.h.
 * Threads:  any; no state.
 */
#ifndef BURIN_POINTWISE_H
#define BURIN_POINTWISE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t vector8 __attribute__((vector_size(16)));
typedef uint16_t vector16 __attribute__((vector_size(16)));

/* VECTOR_all(x): x in every lane. VECTOR_over(a, b): all ones in the lanes where a > b.
 * VECTOR_keep(channels): all ones in the lanes of alpha; three channels have none. */
#define POINTWISE_TYPE(vector, sample)                                                             \
    static inline vector vector##_all(uint32_t x) {                                                \
        return (vector){ 0 } + (sample)x;                                                          \
    }                                                                                              \
    static inline vector vector##_over(vector a, vector b) {                                       \
        return (vector)(a > b);                                                                    \
    }                                                                                              \
    static inline vector vector##_max(vector a, vector b) {                                        \
        const vector over = vector##_over(a, b);                                                   \
        return (a & over) | (b & ~over);                                                           \
    }                                                                                              \
    static inline vector vector##_min(vector a, vector b) {                                        \
        const vector over = vector##_over(a, b);                                                   \
        return (b & over) | (a & ~over);                                                           \
    }                                                                                              \
    static inline vector vector##_keep(unsigned channels) {                                        \
        vector keep = { 0 };                                                                       \
        for (unsigned k = 0; channels % 2 == 0 && k < sizeof keep / sizeof(sample); k++)           \
            keep[k] = k % channels == channels - 1 ? (sample)-1 : 0;                               \
        return keep;                                                                               \
    }
POINTWISE_TYPE(vector8, uint8_t)
POINTWISE_TYPE(vector16, uint16_t)

/* Defines NAME(in, out, bytes, rule, channels); FUNCTION takes a vector and the rule. OUT may be
 * IN. */
#define POINTWISE_ROW(name, vector, rule_type, function)                                           \
    static void name(const uint8_t *in, uint8_t *out, size_t bytes, rule_type rule,                \
                     unsigned channels) {                                                          \
        const vector keep = vector##_keep(channels);                                               \
        vector v;                                                                                  \
        size_t i = 0;                                                                              \
        for (; i + sizeof v <= bytes; i += sizeof v) {                                             \
            memcpy(&v, in + i, sizeof v);                                                          \
            v = (function(v, rule) & ~keep) | (v & keep);                                          \
            memcpy(out + i, &v, sizeof v);                                                         \
        }                                                                                          \
        memcpy(&v, in + i, bytes - i);                                                             \
        v = (function(v, rule) & ~keep) | (v & keep);                                              \
        memcpy(out + i, &v, bytes - i);                                                            \
    }

#endif

// SPDX-License-Identifier: Apache-2.0
/* matrix.cuh - multiplies small matrices of bytes, by a warp's 32 lanes together; makes bytes of
 * the sums.
 *
 * Used by:  axis_sum.cuh, stage.cuh, table.cuh.
 * Threads:  all lanes of a warp call each function of "together" together.
 *
 * How it works. Tensor cores multiply 16 rows of 32 bytes (unsigned or signed) by 8 columns of 32
 * signed ones and add 32-bit integers, exactly. With g = lane / 4 and t = lane % 4 a lane holds, of
 * the samples, words t (bytes 4 t to 4 t + 3) of rows g and g + 8, then words t + 4 of both; of the
 * weights words t and t + 4 of column g; of the sums row g of columns 2 t and 2 t + 1, then row g +
 * 8 of both. The caller chooses the picture's rows: see axis_sum.cuh.
 */
#ifndef BURIN_RESIZE_MATRIX_CUH
#define BURIN_RESIZE_MATRIX_CUH

#include <cuda_runtime.h>
#include <stdint.h>

enum {
    MATRIX_ROWS = 16,  /* of samples */
    MATRIX_WORDS = 8,  /* of a row, or of a column of weights */
    MATRIX_COLUMNS = 8 /* of weights */
};

/* ---- together */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
/* Two rows' halves: 8 rows of 16 bytes. */
template <bool SIGNED>
static __device__ __forceinline__ void matrix_quarter(int32_t &first, int32_t &second,
                                                      uint32_t samples, uint32_t weights) {
    if constexpr (SIGNED)
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, "
                     "%1};"
                     : "+r"(first), "+r"(second)
                     : "r"(samples), "r"(weights));
    else
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, "
                     "%1};"
                     : "+r"(first), "+r"(second)
                     : "r"(samples), "r"(weights));
}
#endif

/* SUMS += SAMPLES * WEIGHTS. SIGNED: the samples too. */
template <bool SIGNED = false>
static __device__ __forceinline__ void matrix_add(int32_t (&sums)[4], const uint32_t (&samples)[4],
                                                  const uint2 &weights) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    matrix_quarter<SIGNED>(sums[0], sums[1], samples[0], weights.x);
    matrix_quarter<SIGNED>(sums[2], sums[3], samples[1], weights.x);
    matrix_quarter<SIGNED>(sums[0], sums[1], samples[2], weights.y);
    matrix_quarter<SIGNED>(sums[2], sums[3], samples[3], weights.y);
#else
    if constexpr (SIGNED)
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                     : "r"(samples[0]), "r"(samples[1]), "r"(samples[2]), "r"(samples[3]),
                       "r"(weights.x), "r"(weights.y));
    else
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                     : "r"(samples[0]), "r"(samples[1]), "r"(samples[2]), "r"(samples[3]),
                       "r"(weights.x), "r"(weights.y));
#endif
}

/* SUMS = BEGIN + SAMPLES * WEIGHTS. */
static __device__ __forceinline__ void matrix_first(int32_t (&sums)[4], int32_t begin,
                                                    const uint32_t (&samples)[4],
                                                    const uint2 &weights) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#pragma unroll
    for (int i = 0; i < 4; i++) sums[i] = begin;
    matrix_add(sums, samples, weights);
#else
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
                 : "r"(samples[0]), "r"(samples[1]), "r"(samples[2]), "r"(samples[3]),
                   "r"(weights.x), "r"(weights.y), "r"(begin));
#endif
}

/* ---- each lane */

/* LOW and HIGH as bytes 0 and 1, each clamped to 0..255; bytes 0 and 1 of UPPER above them. */
static __device__ __forceinline__ uint32_t pack_bytes(int32_t low, int32_t high, uint32_t upper) {
    uint32_t packed;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(high), "r"(low), "r"(upper));
    return packed;
}

#endif

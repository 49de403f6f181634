// SPDX-License-Identifier: Apache-2.0
/* matrix.cuh - small matrices of bytes that a warp's 32 lanes multiply together.
 *
 * Used by:  strip.cuh.
 * Threads:  all lanes of a warp call each function together.
 *
 * How it works. Tensor cores multiply 16 rows of unsigned bytes by 8 columns of unsigned bytes and
 * add 32-bit integers, exactly. With g = lane / 4 and t = lane % 4 a lane holds, of each 16 bytes
 * of a row or column, bytes 4 t to 4 t + 3: ROWS.x of row g and ROWS.y of row g + 8, COLUMN of
 * column g. It gets the sums of row g in columns 2 t and 2 t + 1, then of row g + 8.
 */
#ifndef BURIN_SMOOTH_MATRIX_CUH
#define BURIN_SMOOTH_MATRIX_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
static __device__ __forceinline__ void matrix_quarter(uint32_t &first, uint32_t &second,
                                                      uint32_t row, uint32_t column) {
    asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+r"(first), "+r"(second)
        : "r"(row), "r"(column));
}
#endif

/* SUMS += ROWS * COLUMN, 16 bytes of each. */
static __device__ __forceinline__ void matrix_add(uint32_t (&sums)[4], const uint2 &rows,
                                                  uint32_t column) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    matrix_quarter(sums[0], sums[1], rows.x, column);
    matrix_quarter(sums[2], sums[3], rows.y, column);
#else
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(rows.x), "r"(rows.y), "r"(column));
#endif
}

/* The same with 32 bytes, in two pieces of 16. */
static __device__ __forceinline__ void matrix_add(uint32_t (&sums)[4], const uint2 &rows,
                                                  const uint2 &more, uint32_t column,
                                                  uint32_t more_column) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    matrix_add(sums, rows, column);
    matrix_add(sums, more, more_column);
#else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(rows.x), "r"(rows.y), "r"(more.x), "r"(more.y), "r"(column), "r"(more_column));
#endif
}

#endif

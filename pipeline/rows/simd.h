// SPDX-License-Identifier: Apache-2.0
/* simd.h - the vector instructions that row kernels may use: the CPU's, up to a limit.
 *
 * Used by:  the kernels of pipeline/rows/ and pipeline/ops/, once a row; tests and benchmarks set
 *           the limit.
 * Threads:  reading: any; simd_limit: while no kernel runs.
 */
#ifndef BURIN_SIMD_H
#define BURIN_SIMD_H

#include <stdbool.h>

#ifdef __x86_64__
#define AVX2        __attribute__((target("avx2")))
#define AVX512_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))
#define AVX512_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#endif

/* SIMD_NONE: plain C, which defines every kernel's result. */
enum simd { SIMD_NONE, SIMD_AVX2, SIMD_BEST };

/* For tests and benchmarks: sets the highest level to use from now on. */
void simd_limit(enum simd most);

/* Whether code beyond plain C may be used. */
bool simd_allowed(void);

bool simd_has_avx2(void);
bool simd_has_vbmi(void); /* AVX-512 with byte permutations */
bool simd_has_vnni(void); /* AVX-512 with sums of products of bytes, and products of 64 bits */

#endif

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rows/simd.h"

static enum simd limit = SIMD_BEST;

void simd_limit(enum simd most) {
    limit = most;
}

bool simd_allowed(void) {
    return limit > SIMD_NONE;
}

#ifdef __x86_64__
bool simd_has_avx2(void) {
    return limit > SIMD_NONE && __builtin_cpu_supports("avx2");
}

bool simd_has_vbmi(void) {
    return limit > SIMD_AVX2 && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bw");
}

bool simd_has_vnni(void) {
    return limit > SIMD_AVX2 && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
}
#else
bool simd_has_avx2(void) {
    return false;
}

bool simd_has_vbmi(void) {
    return false;
}

bool simd_has_vnni(void) {
    return false;
}
#endif

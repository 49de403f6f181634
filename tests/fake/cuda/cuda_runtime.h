// SPDX-License-Identifier: Apache-2.0
/* cuda_runtime.h - as much of CUDA C++ as lets a C++ compiler for CPUs make the kernels of P2P and
 * N2P operators, whose threads share nothing: a loop over blocks and threads launches them.
 *
 * Used by:  tests/cuda/skeletons/kernel_fused.c, in place of the header of the CUDA toolkit.
 */
#ifndef BURIN_FAKE_CUDA_RUNTIME_H
#define BURIN_FAKE_CUDA_RUNTIME_H

#include <cstddef>
#include <cstdint>

#define __device__
#define __global__
#define __shared__
#define __grid_constant__
#define __forceinline__  inline __attribute__((always_inline))
#define __noinline__     __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __builtin_assume(condition)

struct fake_index {
    unsigned x, y, z;
};
static struct fake_index blockIdx, threadIdx, gridDim;

struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return { x, y, z, w };
}

static inline int min(int a, int b) {
    return a < b ? a : b;
}
static inline unsigned min(unsigned a, unsigned b) {
    return a < b ? a : b;
}
static inline int max(int a, int b) {
    return a > b ? a : b;
}
static inline unsigned max(unsigned a, unsigned b) {
    return a > b ? a : b;
}

template <class T> static inline T __ldg(const T *from) {
    return *from;
}
template <class T> static inline void __stcs(T *to, T value) {
    *to = value;
}

static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const uint64_t both = (uint64_t)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}

static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift < 32 ? shift : 32));
}

static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((uint64_t)a * b >> 32);
}

static inline void __syncwarp() {}

static inline unsigned __cvta_generic_to_shared(const void *) {
    return 0;
}

static inline void *__cvta_shared_to_generic(size_t) {
    return nullptr;
}

static inline int atomicAdd(int *sum, int value) {
    const int before = *sum;
    *sum = before + value;
    return before;
}

#endif

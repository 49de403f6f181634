// SPDX-License-Identifier: Apache-2.0
/* packed_bytes.h - sums of products of bytes that lie four in a word, as a GPU has instructions
 * for; a CPU computes the same in plain C.
 *
 * Used by:  colour.h, forward.h.
 * Limits:   the sums wrap around at 32 bits.
 *
 * Names:    `low` takes bytes 0 and 1 of BYTES, `high` takes 2 and 3; PAIR holds two weights of 16
 *           bits, the first in its lower half.
 */
#ifndef BURIN_JPEG_PACKED_BYTES_H
#define BURIN_JPEG_PACKED_BYTES_H

#include "pipeline/host_device.h"

#include <stdint.h>

#ifdef __CUDA_ARCH__
#define PACKED_UNROLL    _Pragma("unroll")
#define PACKED_NO_UNROLL _Pragma("unroll 1")
#else
#define PACKED_NO_UNROLL
#define PACKED_UNROLL
#endif

/* Two weights for packed_dot2_*: -32768..32767, or 0..65535. */
#define PACKED_PAIR(first, second) (((uint32_t)(first)&0xffffu) | (uint32_t)(second) << 16)

#ifdef __CUDA_ARCH__

/* SUM + weights below and above 0 x bytes 0..255. */
static __device__ __forceinline__ int32_t packed_dot2_low(uint32_t pair, uint32_t bytes,
                                                          int32_t sum) {
    asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
    return sum;
}

static __device__ __forceinline__ int32_t packed_dot2_high(uint32_t pair, uint32_t bytes,
                                                           int32_t sum) {
    asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
    return sum;
}

/* Weights 0..65535 x bytes 0..255. */
static __device__ __forceinline__ uint32_t packed_udot2_low(uint32_t pair, uint32_t bytes,
                                                            uint32_t sum) {
    asm("dp2a.lo.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
    return sum;
}

static __device__ __forceinline__ uint32_t packed_udot2_high(uint32_t pair, uint32_t bytes,
                                                             uint32_t sum) {
    asm("dp2a.hi.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
    return sum;
}

/* Weights below and above 0 x bytes -128..127. */
static __device__ __forceinline__ int32_t packed_sdot2_low(uint32_t pair, uint32_t bytes,
                                                           int32_t sum) {
    asm("dp2a.lo.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
    return sum;
}

static __device__ __forceinline__ int32_t packed_sdot2_high(uint32_t pair, uint32_t bytes,
                                                            int32_t sum) {
    asm("dp2a.hi.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
    return sum;
}

/* Four weights x four bytes, all of them -128..127. */
static __device__ __forceinline__ int32_t packed_sdot4(uint32_t weights, uint32_t bytes,
                                                       int32_t sum) {
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(weights), "r"(bytes));
    return sum;
}

/* MASK, with BIT where VALUE is not OTHER. */
static __device__ __forceinline__ uint32_t packed_mark(uint32_t mask, uint32_t bit, uint32_t value,
                                                       uint32_t other) {
    asm("{ .reg .pred differs; setp.ne.u32 differs, %1, %2; @differs or.b32 %0, %0, %3; }"
        : "+r"(mask)
        : "r"(value), "r"(other), "r"(bit));
    return mask;
}

/* 1 in each half that is not 0. */
static __device__ __forceinline__ uint32_t packed_nonzero2(uint32_t halves) {
    return __vminu2(halves, 0x00010001u);
}

static __device__ __forceinline__ uint32_t packed_select(uint32_t low, uint32_t high,
                                                         uint32_t which) {
    return __byte_perm(low, high, which);
}

#else

HOST_DEVICE int32_t packed_weight(uint32_t pair, int which) {
    return (int16_t)(uint16_t)(pair >> 16 * which);
}

HOST_DEVICE uint32_t packed_byte(uint32_t bytes, int which) {
    return bytes >> 8 * which & 0xff;
}

HOST_DEVICE int32_t packed_signed(uint32_t bytes, int which) {
    return (int8_t)(uint8_t)packed_byte(bytes, which);
}

HOST_DEVICE int32_t packed_dot2_low(uint32_t pair, uint32_t bytes, int32_t sum) {
    return sum + packed_weight(pair, 0) * (int32_t)packed_byte(bytes, 0) +
           packed_weight(pair, 1) * (int32_t)packed_byte(bytes, 1);
}

HOST_DEVICE int32_t packed_dot2_high(uint32_t pair, uint32_t bytes, int32_t sum) {
    return packed_dot2_low(pair, bytes >> 16, sum);
}

HOST_DEVICE uint32_t packed_udot2_low(uint32_t pair, uint32_t bytes, uint32_t sum) {
    return sum + (pair & 0xffff) * packed_byte(bytes, 0) + (pair >> 16) * packed_byte(bytes, 1);
}

HOST_DEVICE uint32_t packed_udot2_high(uint32_t pair, uint32_t bytes, uint32_t sum) {
    return packed_udot2_low(pair, bytes >> 16, sum);
}

HOST_DEVICE int32_t packed_sdot2_low(uint32_t pair, uint32_t bytes, int32_t sum) {
    return sum + packed_weight(pair, 0) * packed_signed(bytes, 0) +
           packed_weight(pair, 1) * packed_signed(bytes, 1);
}

HOST_DEVICE int32_t packed_sdot2_high(uint32_t pair, uint32_t bytes, int32_t sum) {
    return packed_sdot2_low(pair, bytes >> 16, sum);
}

HOST_DEVICE int32_t packed_sdot4(uint32_t weights, uint32_t bytes, int32_t sum) {
    for (int i = 0; i < 4; i++) sum += packed_signed(weights, i) * packed_signed(bytes, i);
    return sum;
}

HOST_DEVICE uint32_t packed_mark(uint32_t mask, uint32_t bit, uint32_t value, uint32_t other) {
    return value == other ? mask : mask | bit;
}

HOST_DEVICE uint32_t packed_nonzero2(uint32_t halves) {
    return (uint32_t)((halves & 0xffff) != 0) | (uint32_t)(halves >> 16 != 0) << 16;
}

HOST_DEVICE uint32_t packed_select(uint32_t low, uint32_t high, uint32_t which) {
    const uint64_t both = (uint64_t)high << 32 | low;
    uint32_t word = 0;
    for (int i = 0; i < 4; i++)
        word |= (uint32_t)(both >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
    return word;
}

#endif

/* packed_select(low, high, 0xdcba) above: byte 0 of the result is byte a of the eight, byte 1 is b,
 * and so on; bytes 4..7 are HIGH's. */

#endif

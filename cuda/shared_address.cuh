// SPDX-License-Identifier: Apache-2.0
/* shared_address.cuh - the 32-bit address of shared memory, for PTX and fast indexing.
 *
 * Used by:  chunk.cuh and its kernels; cuda/ops/carve/ptx.cuh.
 */
#ifndef BURIN_SHARED_ADDRESS_CUH
#define BURIN_SHARED_ADDRESS_CUH

#include <stdint.h>

static __device__ __forceinline__ uint32_t shared_address(const void *memory) {
    return (uint32_t)__cvta_generic_to_shared(memory);
}

#endif

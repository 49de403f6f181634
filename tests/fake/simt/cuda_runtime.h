// SPDX-License-Identifier: Apache-2.0
/* cuda_runtime.h - in place of CUDA's, for kernels that simt.h runs on the CPU: only what their
 * headers name.
 *
 * Used by:  tests/cuda/ops/carve_one_block.cpp.
 */
#ifndef BURIN_TESTS_SIMT_CUDA_RUNTIME_H
#define BURIN_TESTS_SIMT_CUDA_RUNTIME_H

typedef void *cudaStream_t;

#endif

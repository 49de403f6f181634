// SPDX-License-Identifier: Apache-2.0
/* host_device.h - marks a function that gcc compiles for the CPU and nvcc for both sides.
 *
 * Used by:  headers whose arithmetic both devices share.
 */
#ifndef BURIN_HOST_DEVICE_H
#define BURIN_HOST_DEVICE_H

#ifdef __CUDACC__
#define HOST_DEVICE static __host__ __device__ inline
#else
#define HOST_DEVICE static inline
#endif

#endif

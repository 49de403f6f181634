// SPDX-License-Identifier: Apache-2.0
/* parameters.cuh - the bytes of an operator's parameters, as a kernel gets them.
 *
 * Used by:  launch.cuh, and the kernels of users' operators.
 * Limits:   PARAMETER_STRUCT_BYTES_MAX of parameter_struct.h.
 */
#ifndef BURIN_SKELETON_PARAMETERS_CUH
#define BURIN_SKELETON_PARAMETERS_CUH

struct __align__(8) skeleton_parameters {
    unsigned char bytes[80];
};

#endif

// SPDX-License-Identifier: Apache-2.0
/* embedded_kernels.h - the skeletons' kernels as text, into which users' operators are put.
 *
 * The Makefile makes them from the files of the same name, with the included files in place.
 *
 * Used by:  kernel_source.c, convert_gpu.c.
 * Threads:  any; constants.
 */
#ifndef BURIN_EMBEDDED_KERNELS_H
#define BURIN_EMBEDDED_KERNELS_H

extern const char embedded_kernel_prelude[], embedded_parameters[];
extern const char embedded_convert_launch[], embedded_nvcc_steps[], embedded_ptx_negation[];
extern const char embedded_point[], embedded_pixel_kernel[], embedded_neighbourhood[],
    embedded_scalar[], embedded_vector[];

#endif

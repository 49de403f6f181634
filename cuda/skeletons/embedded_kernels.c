// SPDX-License-Identifier: Apache-2.0
#include "cuda/skeletons/embedded_kernels.h"

const char embedded_kernel_prelude[] = {
#include "embedded/cuda/skeletons/prelude.cuh.inc"
};
const char embedded_parameters[] = {
#include "embedded/cuda/skeletons/parameters.cuh.inc"
};
const char embedded_point[] = {
#include "embedded/cuda/skeletons/point.cuh.inc"
};
const char embedded_pixel_kernel[] = {
#include "embedded/cuda/skeletons/pixel.cuh.inc"
};
const char embedded_neighbourhood[] = {
#include "embedded/cuda/skeletons/neighbourhood.cuh.inc"
};
const char embedded_scalar[] = {
#include "embedded/cuda/skeletons/scalar.cuh.inc"
};
const char embedded_vector[] = {
#include "embedded/cuda/skeletons/vector.cuh.inc"
};
const char embedded_convert_launch[] = {
#include "embedded/cuda/skeletons/convert_launch.cu.in.inc"
};
const char embedded_nvcc_steps[] = {
#include "embedded/cuda/skeletons/convert_nvcc_steps.awk.in.inc"
};
const char embedded_ptx_negation[] = {
#include "embedded/cuda/skeletons/convert_ptx_negation.sed.in.inc"
};

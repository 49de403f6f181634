// SPDX-License-Identifier: Apache-2.0
/* colour_matrix.cuh - pixels through a matrix of colours: pipeline/colour_matrix.h's operators
 * on a GPU.
 *
 * Used by:  cuda/ops/{matrix,sepia,saturation,hue,tint}.cu.
 * Fails:    as batch.cuh and check.cuh say.
 * Threads:  the lane's.
 */
#ifndef BURIN_COLOUR_MATRIX_CUH
#define BURIN_COLOUR_MATRIX_CUH

#include "cuda/cuda_op.h"
#include "pipeline/colour_matrix.h"

/* Queues one launch for all CALLS. KEEPS_GRAY: gray images are copied; else they become colours.
 * NAME is the operator's, for the timing report. */
enum status colour_matrix_run(const struct cuda_context *context, const struct op_call *calls,
                              int count, const struct colour_matrix &matrix, bool keeps_gray,
                              const char *name);

#endif

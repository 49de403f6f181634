// SPDX-License-Identifier: Apache-2.0
/* The GPU shrinks the picture; the host makes the text, as on the CPU. */
#include "cuda/ops/placeholder.cuh"

extern "C" const struct cuda_op cuda_op_blurhash = { placeholder_batch_scratch,
                                                     placeholder_batch_run };

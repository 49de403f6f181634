#include <cuda_runtime.h>
#include "cuda/cuda_op.h"
extern "C" void cuda_record_kernel(const struct cuda_context*, const char*) {}

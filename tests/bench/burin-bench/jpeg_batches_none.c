// SPDX-License-Identifier: Apache-2.0
/* Stands for jpeg_batches.cu and nvjpeg_batches.cu where there is no nvcc: nothing is measured. */
#include "tests/bench/burin-bench/jpeg_batches.h"
#include "tests/bench/burin-bench/nvjpeg_batches.h"

#include <stddef.h>

enum status jpeg_batches_measure(const struct jpeg_batches *batches,
                                 struct jpeg_batches_times *times, struct failure *failure) {
    (void)batches, (void)times;
    return fail(failure, STATUS_DEVICE, "this program was built without CUDA");
}

const char *nvjpeg_backend(void) {
    return NULL;
}

enum status nvjpeg_batches_measure(const struct jpeg_batches *batches,
                                   struct jpeg_batches_times *times, struct failure *failure) {
    return jpeg_batches_measure(batches, times, failure);
}

// SPDX-License-Identifier: Apache-2.0
/* nvjpeg_batches.h - the same work done by NVIDIA's nvJPEG, where its library is on the machine.
 *
 * Its hardware decoders where the GPU has them. Files lie in pinned host memory, as its batched
 * decoder wants them; what it encodes stays in the GPU's memory until its lengths are read.
 *
 * Used by:  jpeg.c, for rows beside ours; nothing else in the program opens nvJPEG.
 * Owns:     the library, as long as the process.
 * Fails:    a status and its sentence. Its samples are not libjpeg's: a result that differs from
 *           the CPU codec's by more than NVJPEG_DIFFERENCE_MAX a sample is a failure, and below
 *           that the difference is reported.
 * Threads:  one at a time.
 */
#ifndef BURIN_NVJPEG_BATCHES_H
#define BURIN_NVJPEG_BATCHES_H

#include "tests/bench/burin-bench/jpeg_batches.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NVJPEG_DIFFERENCE_MAX = 12 };

/* "nvJPEG, hardware" or "nvJPEG, kernels"; NULL: there is no library, or no GPU that it takes. */
const char *nvjpeg_backend(void);

/* One stream. STATUS_BAD_PARAM for gray pictures that are to be encoded. */
enum status nvjpeg_batches_measure(const struct jpeg_batches *batches,
                                   struct jpeg_batches_times *times, struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
/* jpeg_work.h - decoding, encoding, or both with an operator between, of one picture on one core.
 *
 * Used by:  jpeg_subjects.c, to make what is expected; jpeg_cores.c, to time it.
 * Owns:     the caller all memory.
 * Fails:    a status and its sentence.
 * Threads:  any.
 */
#ifndef BURIN_JPEG_WORK_H
#define BURIN_JPEG_WORK_H

#include "tests/bench/burin-bench/jpeg_batches.h"

/* INTO has the shape that the file's header states. */
enum status jpeg_work_decode(const struct jpeg_bytes *file, const struct image *into,
                             struct failure *failure);

/* FILE's length is its room in bytes before the call, and its length after. */
enum status jpeg_work_encode(const struct image *pixels, unsigned quality, struct jpeg_bytes *file,
                             struct failure *failure);

enum status jpeg_work_operate(const struct op *op, const struct params *params,
                              const struct image *in, const struct image *out,
                              struct failure *failure);

#endif

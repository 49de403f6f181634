// SPDX-License-Identifier: Apache-2.0
/* jpeg_decode.h - decodes a batch of baseline JPEGs of any sizes and kinds on a GPU, in a constant
 * number of launches, with the samples of the CPU codec.
 *
 * The caller reads each header (jpeg_baseline_read_header), makes a picture of it
 * (jpeg_picture_init), brings the file's bytes to where the device reads them, and tells the
 * picture: `scan` as the device addresses it, `into` in device memory.
 *
 * Used by:  lane_codec.cu, tests/cuda/codecs/jpeg_decode.cu, tests/bench/kernels/jpeg_decode.cu.
 * Owns:     nothing: arenas and facts are the caller's until the stream has passed.
 * Fails:    as check.cuh says. A picture's flaws are in its facts: where `flags` is not 0, its
 *           pixels mean nothing and the CPU codec must decode it.
 * Threads:  one a stream; nothing is waited for.
 * Limits:   JPEG_DECODE_MAX pictures. Up to 8 bytes in front of a scan and behind it are read, to
 *           whole words.
 */
#ifndef BURIN_JPEG_DECODE_H
#define BURIN_JPEG_DECODE_H

#include "cuda/cuda_op.h"
#include "pipeline/codecs/jpeg/picture.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { JPEG_DECODE_MAX = 4096 };

struct jpeg_decode_batch {
    struct jpeg_picture *pictures; /* pinned memory; placed in the arena by jpeg_decode_queue */
    int count;
    uint32_t *units;          /* pinned memory, jpeg_decode_units() of them */
    struct jpeg_facts *facts; /* pinned memory, COUNT of them: the verdicts */
    uint8_t *arena;           /* device memory, jpeg_decode_bytes() */
    /* Each 0: chosen by the batch. How subsequences find where they start: 9, by a walk, a thread
     * decoding RUN of them, 1, 2, 4, 8; or 7, 8, from all phases, with 2^short_log2 bits each,
     * after LEAD others, and ROUNDS of continuing. One thread of SPREAD, 1, 2, 4, 8, writes. */
    uint32_t run, short_log2, lead, rounds, spread;
    uint32_t join_threads; /* of a picture, 256 or 1024 */
    cudaEvent_t *events;   /* NULL, or JPEG_DECODE_STAGES + 1: recorded between the stages */
};

enum { JPEG_DECODE_STAGES = 8 };
extern const char *const jpeg_decode_stages[JPEG_DECODE_STAGES];

/* Of PICTURES, initialised. */
size_t jpeg_decode_units(int count);
size_t jpeg_decode_bytes(const struct jpeg_picture *pictures, int count);

/* Queues the whole of it. */
enum status jpeg_decode_queue(const struct cuda_context *context, struct jpeg_decode_batch *batch,
                              struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
/* jpeg_decode.h - decodes a batch of baseline JPEGs of any sizes and kinds on a GPU, in a constant
 * number of launches, with the samples of the CPU codec.
 *
 * The caller reads each header (jpeg_baseline_read_header), makes a picture of it
 * (jpeg_picture_init), brings the file's bytes to where the device reads them, and sets the
 * picture's `scan`, an address of the device, and `into`, in device memory.
 *
 * Used by:  lane_codec.cu, tests/cuda/codecs/jpeg_decode.cu, tests/bench/kernels/jpeg_decode.cu.
 * Owns:     nothing: arenas and facts are the caller's, who keeps them until the stream has passed.
 * Fails:    as check.cuh says. A picture's flaws are in its facts: where `flags` is not 0, its
 *           pixels mean nothing and the CPU codec must decode it.
 * Threads:  one a stream; no call waits for the GPU.
 * Limits:   JPEG_DECODE_MAX pictures. Reads of whole words touch up to 8 bytes before a scan and
 *           after it.
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
    struct jpeg_picture *pictures; /* pinned memory; jpeg_decode_queue places them in the arena */
    int count;
    uint32_t *units;          /* pinned memory, jpeg_decode_units() elements */
    struct jpeg_facts *facts; /* pinned memory, COUNT verdicts */
    uint8_t *arena;           /* device memory, jpeg_decode_bytes() */
    /* Each 0: the batch decides. How subsequences find their start: by a walk (log2 of the bits 9),
     * in which a thread decodes a run of RUN, 1, 2, 4 or 8; or from all phases (7 or 8), with
     * 2^short_log2 bits each, after LEAD others, and ROUNDS of continuing. Of SPREAD threads, 1, 2,
     * 4 or 8, one writes. */
    uint32_t run, short_log2, lead, rounds, spread;
    uint32_t join_threads; /* of a picture, 256 or 1024 */
    cudaEvent_t *events;   /* NULL, or JPEG_DECODE_STAGES + 1: recorded between the stages */
};

enum { JPEG_DECODE_STAGES = 8 };
extern const char *const jpeg_decode_stages[JPEG_DECODE_STAGES];

/* Elements of `units` for COUNT pictures; bytes of `arena` for PICTURES, which are initialised. */
size_t jpeg_decode_units(int count);
size_t jpeg_decode_bytes(const struct jpeg_picture *pictures, int count);

/* Queues all kernels and transfers of the batch. */
enum status jpeg_decode_queue(const struct cuda_context *context, struct jpeg_decode_batch *batch,
                              struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif

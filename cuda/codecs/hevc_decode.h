// SPDX-License-Identifier: Apache-2.0
/* hevc_decode.h - a HEIC by the GPU's video engines and one kernel, with the CPU's bytes.
 *
 * Used by:  lane_codec.cu.
 * Owns:     nothing.
 * Fails:    as check.cuh says; STATUS_CANCELLED or STATUS_DEADLINE, while it waits for the engines
 *           or between rounds of tiles. `refused`: an engine does not take the picture, or finds it
 *           damaged; its pixels mean nothing, and the CPU's codec must decode it.
 * Threads:  one a stream. hevc_decode waits for the engines, and for what the stream had before.
 * Limits:   as heic/still.h says.
 */
#ifndef BURIN_HEVC_DECODE_H
#define BURIN_HEVC_DECODE_H

#include "cuda/cuda_op.h"
#include "pipeline/codecs/heic/still.h"
#include "pipeline/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of WORK; 0: there is no engine. */
size_t hevc_decode_bytes(const struct heic_still *still);

/* Sets `refused` and `queue_ms` of DECODING. Its kernel is only queued. */
enum status hevc_decode(const struct cuda_context *context, struct lane_decoding *decoding,
                        uint8_t *work, struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif

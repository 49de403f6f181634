// SPDX-License-Identifier: Apache-2.0
/* lane_codec.cuh - a lane's codec: JPEG and HEIC files from host memory to pixels on the device,
 * and pixels back to JPEG.
 *
 * Used by:  device_cuda.cu, as `codec` of device.h.
 * Owns:     pinned memory for descriptions and verdicts, and the encoder's tables.
 * Fails:    as device.h and check.cuh say.
 * Threads:  the lane's.
 * Limits:   CUDA_BATCH_MAX files each way; of profile, EXIF and XMP together LANE_CODEC_CARRIED_MAX
 *           bytes for each.
 */
#ifndef BURIN_LANE_CODEC_CUH
#define BURIN_LANE_CODEC_CUH

#include "cuda/codecs/hevc_decode.h"
#include "cuda/codecs/jpeg_decode.h"
#include "cuda/codecs/jpeg_encode.h"
#include "cuda/cuda_op.h"
#include "pipeline/device.h"

enum { LANE_CODEC_CARRIED_MAX = 16 << 10 };

struct lane_codec {
    struct jpeg_encoder *encoder;
    uint8_t *pinned;
    size_t pinned_bytes;
    struct jpeg_picture *pictures; /* the parts of `pinned`, all on the host */
    uint32_t *units;
    struct jpeg_facts *facts;
    uint8_t *encode_pinned;
    size_t encode_pinned_bytes;
    /* the batch under way */
    struct lane_decoding *decodings;
    struct lane_encoding *encodings;
    int decoding_count, encoding_count;
    struct jpeg_encode_batch encode_batch;
    struct jpeg_encode_image images[CUDA_BATCH_MAX];
    uint32_t written_rooms[CUDA_BATCH_MAX]; /* bytes that a kernel may have written in place */
};

enum status lane_codec_init(struct lane_codec *codec, struct failure *failure);
void lane_codec_release(struct lane_codec *codec); /* may be zeroed, or half made */

/* Forgets the last batch; none of its results may be read any more. */
void lane_codec_clear(struct lane_codec *codec);
/* Writes zeros to the host's memory, and restores the encoder's tables, in the stream's order. */
enum status lane_codec_empty(struct lane_codec *codec, cudaStream_t stream,
                             struct failure *failure);

/* The functions of struct device_codec; WORK is the lane's, WORK_BYTES long. */
size_t lane_codec_decode_bytes(const struct jpeg_baseline *jpeg);
size_t lane_codec_encode_bytes(const struct lane_encoding *encoding);
enum status lane_codec_decode(struct lane_codec *codec, const struct cuda_context *context,
                              uint8_t *work, size_t work_bytes, struct lane_decoding *decodings,
                              int count, struct failure *failure);
enum status lane_codec_encode(struct lane_codec *codec, const struct cuda_context *context,
                              uint8_t *work, size_t work_bytes, struct lane_encoding *encodings,
                              int count, struct failure *failure);

/* Called once the stream has passed the batch's end: reads the verdicts, and copies the files that
 * are not in place yet, which takes COPY_MS. */
enum status lane_codec_finish(struct lane_codec *codec, cudaStream_t stream, double *copy_ms,
                              struct failure *failure);

#endif

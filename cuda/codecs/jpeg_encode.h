// SPDX-License-Identifier: Apache-2.0
/* jpeg_encode.h - images in device memory to JPEG files in device memory, with the bytes that the
 * CPU codec writes, a batch of any sizes and samplings at a time.
 *
 * Used by:  lane_codec.cu, tests.
 * Owns:     an encoder owns its tables, on the device and on the host; the caller owns all else and
 *           keeps what a batch points to until its stream has passed the batch's end.
 * Fails:    a batch that cannot be queued: with a status. An image whose file does not fit: with a
 *           verdict in its result, valid when the stream has passed the batch's end.
 * Threads:  one stream for an encoder, because its counters are there.
 * Limits:   JPEG_ENCODE_IMAGES_MAX images, 8 bits, 1 or 3 channels, sides of 65500; 4 GiB of files.
 */
#ifndef BURIN_JPEG_ENCODE_H
#define BURIN_JPEG_ENCODE_H

#include "pipeline/carried.h"
#include "pipeline/image.h"
#include "pipeline/status.h"

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { JPEG_ENCODE_IMAGES_MAX = 1024, JPEG_ENCODE_ALIGN = 256 };

enum jpeg_encode_verdict {
    JPEG_ENCODE_WRITTEN,
    JPEG_ENCODE_TOO_LARGE, /* for its `room`, or for the rest of `out` */
    JPEG_ENCODE_NO_SCRATCH /* no room for the strings of bits; alone in a batch the image may fit */
};

struct jpeg_encode_image {
    struct image image;     /* pixels on the device */
    unsigned quality;       /* 1..100 */
    struct carried carried; /* copied by jpeg_encode_launch */
    size_t room;            /* bytes that its file may take */
};

struct jpeg_encode_result {
    uint32_t offset;  /* in `out`, a multiple of 16 */
    uint32_t bytes;   /* 0 unless the file was written */
    uint32_t verdict; /* enum jpeg_encode_verdict */
    uint32_t needed;  /* size of the file; 0 where that is not known */
};

/* Memory that the caller of a batch provides. */
struct jpeg_encode_needs {
    size_t pinned_bytes;
    size_t fixed_bytes;      /* of scratch, without the strings of bits */
    size_t string_bytes_max; /* of scratch for the strings; with this many none is refused */
};

struct jpeg_encode_batch {
    const struct jpeg_encode_image *images;
    int count;
    void *scratch; /* device, aligned to JPEG_ENCODE_ALIGN */
    size_t scratch_bytes;
    void *pinned; /* host memory that the device may read and write, with the same alignment */
    size_t pinned_bytes;
    uint8_t *out; /* device, aligned to 16 */
    size_t out_bytes;
    cudaStream_t stream;
};

struct jpeg_encoder;

enum status jpeg_encoder_create(struct jpeg_encoder **encoder, struct failure *failure);
void jpeg_encoder_destroy(struct jpeg_encoder *encoder); /* may be NULL */

/* Writes the device's tables again, in the stream's order: a user's kernel can write anywhere. */
enum status jpeg_encoder_restore(struct jpeg_encoder *encoder, cudaStream_t stream,
                                 struct failure *failure);

/* Whether a batch may hold the image. */
bool jpeg_encode_takes(const struct image *image);

struct jpeg_encode_needs jpeg_encode_needs(const struct jpeg_encode_image *images, int count);

/* Queues three kernels, before them a copy where there are many images. Does not wait. */
enum status jpeg_encode_launch(struct jpeg_encoder *encoder, const struct jpeg_encode_batch *batch,
                               struct failure *failure);

/* One for each image, in the batch's pinned memory; valid once the stream has passed the batch. */
const struct jpeg_encode_result *jpeg_encode_results(const struct jpeg_encode_batch *batch);
/* The same on the device, for kernels that follow in the batch's stream. */
const struct jpeg_encode_result *jpeg_encode_device_results(const struct jpeg_encode_batch *batch);

#ifdef __cplusplus
}
#endif
#endif

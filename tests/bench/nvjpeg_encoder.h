// SPDX-License-Identifier: Apache-2.0
/* nvjpeg_encoder.h - RGB images of device memory to JPEG, quality 85, 4:2:0, standard Huffman
 * tables, by nvJPEG: one image a call, for it knows no batch, so calls on several streams.
 *
 * Owns:   an encoder its handle, parameters and lanes; images and bytes are the caller's.
 */
#ifndef BURIN_NVJPEG_ENCODER_H
#define BURIN_NVJPEG_ENCODER_H

#include "tests/bench/nvjpeg_api.h"

enum { LANES_MAX = 16, ENCODE_QUALITY = 85 };

struct encoder {
    void *handle, *params;
    void *stream[LANES_MAX], *state[LANES_MAX];
};

/* Bytes of host memory with a JPEG in them; length 0: none yet. */
struct jpeg {
    uint8_t *bytes;
    size_t capacity, length;
};

static void encoder_open(struct gpu *gpu, struct encoder *encoder) {
    must_nvjpeg(gpu->create(0, NULL, NULL, FLAGS_NONE, &encoder->handle), "nvjpegCreateEx");
    for (int i = 0; i < LANES_MAX; i++) {
        must(gpu, gpu->stream_create(&encoder->stream[i], STREAM_NON_BLOCKING), "cuStreamCreate");
        must_nvjpeg(gpu->encoder_create(encoder->handle, &encoder->state[i], encoder->stream[i]),
                    "nvjpegEncoderStateCreate");
    }
    must_nvjpeg(gpu->params_create(encoder->handle, &encoder->params, gpu->stream),
                "nvjpegEncoderParamsCreate");
    must_nvjpeg(gpu->params_quality(encoder->params, ENCODE_QUALITY, gpu->stream),
                "nvjpegEncoderParamsSetQuality");
    must_nvjpeg(gpu->params_chroma(encoder->params, CHROMA_420, gpu->stream),
                "nvjpegEncoderParamsSetSamplingFactors");
    gpu_wait(gpu);
}

static void encoder_close(struct gpu *gpu, struct encoder *encoder) {
    must_nvjpeg(gpu->params_destroy(encoder->params), "nvjpegEncoderParamsDestroy");
    for (int i = 0; i < LANES_MAX; i++) {
        must_nvjpeg(gpu->encoder_destroy(encoder->state[i]), "nvjpegEncoderStateDestroy");
        must(gpu, gpu->stream_destroy(encoder->stream[i]), "cuStreamDestroy");
    }
    must_nvjpeg(gpu->destroy(encoder->handle), "nvjpegDestroy");
}

static void encode_start(struct gpu *gpu, struct encoder *encoder, int lane,
                         const struct image *image) {
    const struct nvjpeg_image from = { { image->pixels }, { image->stride } };
    must_nvjpeg(gpu->encode(encoder->handle, encoder->state[lane], encoder->params, &from,
                            INPUT_RGBI, (int)image->width, (int)image->height,
                            encoder->stream[lane]),
                "nvjpegEncodeImage");
}

/* Its length is known first, when the stream has come so far; then the bytes are fetched. */
static void encode_end(struct gpu *gpu, struct encoder *encoder, int lane, struct jpeg *to) {
    void *stream = encoder->stream[lane];
    must_nvjpeg(gpu->encode_take(encoder->handle, encoder->state[lane], NULL, &to->length, stream),
                "nvjpegEncodeRetrieveBitstream");
    must(gpu, gpu->stream_wait(stream), "cuStreamSynchronize");
    if (to->length > to->capacity) must_nvjpeg(5, "a JPEG larger than any may be");
    must_nvjpeg(
        gpu->encode_take(encoder->handle, encoder->state[lane], to->bytes, &to->length, stream),
        "nvjpegEncodeRetrieveBitstream");
    must(gpu, gpu->stream_wait(stream), "cuStreamSynchronize");
}

/* COUNT images, LANES of them on their way at a time; JPEGS[lane] holds its last one then. */
static void encode_batch(struct gpu *gpu, struct encoder *encoder, const struct image *images,
                         int count, int lanes, struct jpeg *jpegs) {
    for (int first = 0; first < count; first += lanes) {
        const int some = count - first < lanes ? count - first : lanes;
        for (int i = 0; i < some; i++) encode_start(gpu, encoder, i, &images[first + i]);
        for (int i = 0; i < some; i++) encode_end(gpu, encoder, i, &jpegs[i]);
    }
}

#endif

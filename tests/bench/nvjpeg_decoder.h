// SPDX-License-Identifier: Apache-2.0
/* nvjpeg_decoder.h - photos into images in device memory by one call of nvJPEG, and back to the
 * host to be looked at.
 *
 * Owns:   a target its device memory, a decoder its handle and state; what fetch returns is the
 *         caller's to free.
 * Invariant: each plane is given as Burin lays out an image, rows padded, and a guard follows it;
 *         padding and guard hold CANARY until somebody writes outside the image.
 */
#ifndef BURIN_NVJPEG_DECODER_H
#define BURIN_NVJPEG_DECODER_H

#include "tests/bench/nvjpeg_api.h"
#include "tests/bench/nvjpeg_cores.h"
#include "tests/bench/nvjpeg_photo.h"

enum { BATCH_MAX = 64, CANARY = 0xa5, GUARD_ROWS = 16 /* an MCU at most */ };

/* One image in device memory, or its planes. */
struct target {
    struct image image[PLANES];
    int count;
};

/* A backend with or without interpolation; its state is ready for `batch` images to `output`. */
struct decoder {
    int backend, flags, batch, output;
    void *handle, *state;
    double left_mib; /* of device memory, before it was opened */
};

static size_t guard_bytes(const struct image *image) {
    return image->stride * GUARD_ROWS;
}

static uint64_t address(const struct image *image) {
    return (uint64_t)(uintptr_t)image->pixels;
}

static void target_take(struct gpu *gpu, struct target *target, const struct image *shapes,
                        int count) {
    target->count = count;
    for (int i = 0; i < count; i++) {
        struct image *image = &target->image[i];
        uint64_t at;
        *image = image_shape(shapes[i].width, shapes[i].height, shapes[i].channels, 8);
        image->stride += IMAGE_ROW_ALIGN; /* some padding always, to see it untouched */
        const size_t length = image_bytes(image) + guard_bytes(image);
        must(gpu, gpu->memory_take(&at, length), "cuMemAlloc");
        image->pixels = (uint8_t *)(uintptr_t)at;
        must(gpu, gpu->memory_set(at, CANARY, length, gpu->stream), "cuMemsetD8Async");
    }
    gpu_wait(gpu);
}

static void target_free(struct gpu *gpu, struct target *target) {
    for (int i = 0; i < target->count; i++)
        must(gpu, gpu->memory_free(address(&target->image[i])), "cuMemFree");
}

/* A copy on the host, padding and guard included; free() its pixels. */
static struct image fetch(struct gpu *gpu, const struct image *image) {
    struct image host = *image;
    const size_t length = image_bytes(image) + guard_bytes(image);
    host.pixels = take(length);
    must(gpu, gpu->download(host.pixels, address(image), length, gpu->stream), "cuMemcpyDtoH");
    gpu_wait(gpu);
    return host;
}

static uint64_t touched(const struct image *host) {
    uint64_t count = 0;
    for (uint32_t y = 0; y < host->height; y++)
        for (size_t x = image_row_bytes(host); x < host->stride; x++)
            count += image_row(host, y)[x] != CANARY;
    for (size_t i = 0; i < guard_bytes(host); i++)
        count += host->pixels[image_bytes(host) + i] != CANARY;
    return count;
}

static double device_left_mib(struct gpu *gpu) {
    size_t left, total;
    must(gpu, gpu->memory_info(&left, &total), "cuMemGetInfo");
    return (double)left / (1 << 20);
}

/* nvJPEG's status where it does not offer the backend; then there is nothing to close. */
static int decoder_open(struct gpu *gpu, struct decoder *decoder) {
    decoder->left_mib = device_left_mib(gpu);
    int status =
        gpu->create(decoder->backend, NULL, NULL, (unsigned)decoder->flags, &decoder->handle);
    if (status) return status;
    status = gpu->state_create(decoder->handle, &decoder->state);
    if (status) must_nvjpeg(gpu->destroy(decoder->handle), "nvjpegDestroy");
    return status;
}

static void decoder_close(struct gpu *gpu, struct decoder *decoder) {
    must_nvjpeg(gpu->state_destroy(decoder->state), "nvjpegJpegStateDestroy");
    must_nvjpeg(gpu->destroy(decoder->handle), "nvjpegDestroy");
}

static int decoder_ready(struct gpu *gpu, struct decoder *decoder, int batch, int output) {
    if (decoder->batch == batch && decoder->output == output) return 0;
    decoder->batch = batch, decoder->output = output;
    return gpu->batch_init(decoder->handle, decoder->state, batch, core_count(), output);
}

/* One call for COUNT photos; nothing is waited for. A call that fails spoils the state. */
static int decode_batch(struct gpu *gpu, struct decoder *decoder, const struct photo *const *photos,
                        const struct target *targets, int count, int output) {
    const unsigned char *data[BATCH_MAX];
    size_t lengths[BATCH_MAX];
    struct nvjpeg_image into[BATCH_MAX] = { 0 };
    for (int i = 0; i < count; i++) {
        data[i] = photos[i]->bytes, lengths[i] = photos[i]->length;
        for (int c = 0; c < targets[i].count; c++) {
            into[i].channel[c] = targets[i].image[c].pixels;
            into[i].pitch[c] = targets[i].image[c].stride;
        }
    }
    int status = decoder_ready(gpu, decoder, count, output);
    if (!status)
        status =
            gpu->batch_decode(decoder->handle, decoder->state, data, lengths, into, gpu->stream);
    if (status) decoder->batch = 0;
    return status;
}

#endif

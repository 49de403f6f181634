// SPDX-License-Identifier: Apache-2.0
/* HOW. The planes of a batch lie one after the other in the caller's memory, each large enough for
 * whole blocks of its JPEG. nvJPEG fills them on the lane's stream, the kernel of jpeg_samples.cuh
 * reads them there. */
#include "cuda/jpeg_lane.h"

#include "cuda/jpeg_samples.cuh"
#include "cuda/nvjpeg.h"
#include "pipeline/codec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MCU = 16 /* pixels at most, each way */, ROW_ALIGN = 64 };

struct jpeg_library {
    struct nvjpeg nvjpeg;
    pthread_mutex_t making; /* states are made and destroyed one after the other */
};

struct jpeg_lane {
    struct jpeg_library *library;
    cudaStream_t stream;
    void *state;
    int ready_count, ready_output; /* the batches it is ready for; 0: none */
};

/* ---- planes */

struct layout {
    size_t luma_stride, chroma_stride;
    size_t luma_bytes, chroma_bytes; /* of a plane; gray has no chroma */
};

static size_t whole(size_t length, size_t unit) {
    return (length + unit - 1) / unit * unit;
}

static struct layout layout_of(const struct device_jpeg *jpeg) {
    const size_t width = whole(jpeg->width, MCU), height = whole(jpeg->height, MCU);
    struct layout layout = {};
    layout.luma_stride = whole(width, ROW_ALIGN);
    layout.luma_bytes = layout.luma_stride * height;
    if (jpeg->into.channels == 1) return layout;
    layout.chroma_stride = whole(width / jpeg->across, ROW_ALIGN);
    layout.chroma_bytes = layout.chroma_stride * height / jpeg->down;
    return layout;
}

static size_t layout_bytes(const struct layout &layout) {
    return layout.luma_bytes + 2 * layout.chroma_bytes;
}

size_t jpeg_lane_work(const struct device_jpeg *jpegs, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += layout_bytes(layout_of(&jpegs[i]));
    return bytes;
}

/* ---- a batch, as nvJPEG and as the kernel see it */

struct request {
    const unsigned char *files[CUDA_BATCH_MAX];
    size_t lengths[CUDA_BATCH_MAX];
    struct nvjpeg_image planes[CUDA_BATCH_MAX];
    struct jpeg_batch batch;
};

static bool fits(const struct device_jpeg *jpeg, unsigned channels) {
    const bool gray = jpeg->into.channels == 1;
    const bool halved = jpeg->across == 2 && (jpeg->down == 1 || jpeg->down == 2) && !gray;
    const bool turned = jpeg->orientation >= 5;
    return jpeg->into.channels == channels && jpeg->into.depth == 8 &&
           ((jpeg->across == 1 && jpeg->down == 1) || halved) && jpeg->orientation >= 1 &&
           jpeg->orientation <= 8 && jpeg->into.width == (turned ? jpeg->height : jpeg->width) &&
           jpeg->into.height == (turned ? jpeg->width : jpeg->height);
}

static struct nvjpeg_image planes_at(uint8_t *planes, const struct layout &layout) {
    struct nvjpeg_image image = {};
    image.channel[0] = planes;
    image.pitch[0] = layout.luma_stride;
    if (!layout.chroma_bytes) return image;
    image.channel[1] = planes + layout.luma_bytes;
    image.channel[2] = image.channel[1] + layout.chroma_bytes;
    image.pitch[1] = image.pitch[2] = layout.chroma_stride;
    return image;
}

static struct jpeg_picture picture_of(const struct device_jpeg *jpeg,
                                      const struct nvjpeg_image &planes) {
    struct jpeg_picture picture = {};
    for (int i = 0; i < JPEG_PLANES; i++) picture.planes.samples[i] = planes.channel[i];
    picture.planes.width = jpeg->width;
    picture.planes.height = jpeg->height;
    picture.planes.luma_stride = (uint32_t)planes.pitch[0];
    picture.planes.chroma_stride = (uint32_t)planes.pitch[1];
    picture.planes.across = jpeg->across;
    picture.planes.down = jpeg->down;
    picture.out = jpeg->into.pixels;
    picture.out_stride = jpeg->into.stride;
    picture.width = jpeg->into.width;
    picture.height = jpeg->into.height;
    picture.row_tiles = (picture.width + JPEG_TILE - 1) / JPEG_TILE;
    picture.orientation = jpeg->orientation;
    picture.channels = jpeg->into.channels;
    picture.words = ((uintptr_t)picture.out | picture.out_stride) % sizeof(uint32_t) == 0;
    return picture;
}

/* false: this batch is none for a lane. */
static bool request_make(struct request *request, const struct device_jpeg *jpegs, int count,
                         uint8_t *planes) {
    uint64_t tiles = 0;
    if (count < 1 || count > CUDA_BATCH_MAX) return false;
    for (int i = 0; i < count; i++) {
        if (!fits(&jpegs[i], jpegs[0].into.channels)) return false;
        const struct layout layout = layout_of(&jpegs[i]);
        struct jpeg_picture *picture = &request->batch.pictures[i];
        request->files[i] = jpegs[i].bytes;
        request->lengths[i] = jpegs[i].length;
        request->planes[i] = planes_at(planes, layout);
        *picture = picture_of(&jpegs[i], request->planes[i]);
        picture->first = (uint32_t)tiles;
        tiles += (uint64_t)picture->row_tiles * ((picture->height + JPEG_TILE - 1) / JPEG_TILE);
        planes += layout_bytes(layout);
    }
    request->batch.count = count;
    request->batch.tiles = (uint32_t)tiles;
    return tiles <= INT32_MAX; /* blocks of a launch */
}

/* ---- decoding */

/* nvJPEG writes as many rows as it reads in a header, so both must read the same. */
static bool agrees(const struct nvjpeg *nvjpeg, const struct device_jpeg *jpeg) {
    int components = 0, sampling = 0, widths[4] = {}, heights[4] = {};
    if (nvjpeg->image_info(nvjpeg->handle, jpeg->bytes, jpeg->length, &components, &sampling,
                           widths, heights))
        return false;
    if (components != jpeg->into.channels || widths[0] != (int)jpeg->width ||
        heights[0] != (int)jpeg->height)
        return false;
    for (int c = 1; c < components; c++)
        if (widths[c] != (int)whole(jpeg->width, jpeg->across) / jpeg->across ||
            heights[c] != (int)whole(jpeg->height, jpeg->down) / jpeg->down)
            return false;
    return true;
}

/* A call that failed leaves the state unready. */
static bool decode_planes(struct jpeg_lane *lane, struct request *request, int output) {
    const struct nvjpeg *nvjpeg = &lane->library->nvjpeg;
    const int count = request->batch.count;
    if (lane->ready_count != count || lane->ready_output != output) {
        lane->ready_count = 0;
        if (nvjpeg->batch_init(nvjpeg->handle, lane->state, count, 1, output)) return false;
        lane->ready_count = count;
        lane->ready_output = output;
    }
    if (nvjpeg->batch_decode(nvjpeg->handle, lane->state, request->files, request->lengths,
                             request->planes, lane->stream) == 0)
        return true;
    lane->ready_count = 0;
    return false;
}

bool jpeg_lane_decode(struct jpeg_lane *lane, const struct device_jpeg *jpegs, int count,
                      uint8_t *planes) {
    struct request request;
    if (!request_make(&request, jpegs, count, planes)) return false;
    for (int i = 0; i < count; i++)
        if (!agrees(&lane->library->nvjpeg, &jpegs[i])) return false;
    const int output = jpegs[0].into.channels == 1 ? NVJPEG_LUMA : NVJPEG_PLANES;
    if (!decode_planes(lane, &request, output)) return false;
    jpeg_pixels<<<request.batch.tiles, JPEG_THREADS, 0, lane->stream>>>(request.batch);
    return cudaGetLastError() == cudaSuccess;
}

/* ---- the proof: a JPEG of noise, as many times as a batch holds */

enum { PROOF_WIDTH = 333, PROOF_HEIGHT = 221, PROOF_COPIES = CUDA_BATCH_MAX };

struct proof {
    struct image picture; /* noise, then what the codec makes of its JPEG */
    struct image found;   /* what the lane makes of it */
    uint8_t *file, *device;
    size_t length, file_max;
};

static bool proof_take(struct proof *proof, unsigned channels) {
    proof->picture = image_shape(PROOF_WIDTH, PROOF_HEIGHT, channels, 8);
    proof->found = proof->picture;
    proof->file_max = codec_encode_bound(&proof->picture, NULL, FORMAT_JPEG);
    proof->picture.pixels = (uint8_t *)malloc(image_bytes(&proof->picture));
    proof->found.pixels = (uint8_t *)malloc(image_bytes(&proof->found));
    proof->file = (uint8_t *)malloc(proof->file_max);
    return proof->picture.pixels && proof->found.pixels && proof->file;
}

static void proof_release(struct proof *proof) {
    free(proof->picture.pixels);
    free(proof->found.pixels);
    free(proof->file);
    cudaFree(proof->device);
}

/* Noise of growing strength from left to right: smooth blocks and clamped samples, both. */
static void fill_noise(const struct image *image) {
    uint32_t state = 1;
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t *row = image_row(image, y);
        for (uint32_t i = 0; i < image_row_bytes(image); i++) {
            state = state * 1664525u + 1013904223u;
            const uint32_t strength = 256 * i / (uint32_t)image_row_bytes(image);
            row[i] = (uint8_t)(128 + ((int)(state >> 24) - 128) * (int)strength / 256);
        }
    }
}

static bool proof_encode(struct proof *proof, int quality, struct probe *probe) {
    struct encode_options options = encode_options_default;
    uint32_t notes = 0;
    options.quality = quality;
    fill_noise(&proof->picture);
    return !codec_encode(&proof->picture, NULL, &options, NULL, proof->file, proof->file_max,
                         &proof->length, &notes, NULL) &&
           !probe_image(proof->file, proof->length, &codec_limits_default.probe, probe, NULL) &&
           !codec_decode(proof->file, proof->length, probe, &codec_limits_default, NULL,
                         &proof->picture, NULL, &notes, NULL);
}

/* Decoded PROOF_COPIES times at once, and the last one fetched. */
static bool proof_decode(struct proof *proof, const struct probe *probe, struct jpeg_lane *lane) {
    struct device_jpeg jpegs[PROOF_COPIES];
    const size_t bytes = image_bytes(&proof->found);
    if (!device_jpeg_of(proof->file, proof->length, probe, &codec_limits_default, &jpegs[0]))
        return false;
    jpegs[0].into = proof->found;
    for (int i = 1; i < PROOF_COPIES; i++) jpegs[i] = jpegs[0];
    const size_t work = whole(jpeg_lane_work(jpegs, PROOF_COPIES), 256);
    if (cudaMalloc((void **)&proof->device, work + PROOF_COPIES * bytes)) return false;
    for (int i = 0; i < PROOF_COPIES; i++)
        jpegs[i].into.pixels = proof->device + work + (size_t)i * bytes;
    return jpeg_lane_decode(lane, jpegs, PROOF_COPIES, proof->device) &&
           !cudaMemcpyAsync(proof->found.pixels, jpegs[PROOF_COPIES - 1].into.pixels, bytes,
                            cudaMemcpyDeviceToHost, lane->stream) &&
           !cudaStreamSynchronize(lane->stream);
}

/* The codec writes 4:4:4 from quality 95 on, 4:2:0 below. */
static bool proven(struct jpeg_lane *lane, unsigned channels, int quality) {
    struct proof proof = {};
    struct probe probe;
    const bool equal = proof_take(&proof, channels) && proof_encode(&proof, quality, &probe) &&
                       proof_decode(&proof, &probe, lane) &&
                       image_digest(&proof.found) == image_digest(&proof.picture);
    proof_release(&proof);
    cudaGetLastError();
    return equal;
}

/* ---- open and close */

struct jpeg_library *jpeg_library_open(void) {
    struct jpeg_library *library = (struct jpeg_library *)calloc(1, sizeof *library);
    if (!library) return NULL;
    if (!nvjpeg_open(&library->nvjpeg, NULL)) {
        free(library);
        return NULL;
    }
    pthread_mutex_init(&library->making, NULL);
    return library;
}

void jpeg_library_close(struct jpeg_library *library) {
    if (!library) return;
    nvjpeg_close(&library->nvjpeg);
    pthread_mutex_destroy(&library->making);
    free(library);
}

static bool make_state(struct jpeg_lane *lane) {
    const struct nvjpeg *nvjpeg = &lane->library->nvjpeg;
    pthread_mutex_lock(&lane->library->making);
    const int status = nvjpeg->state_create(nvjpeg->handle, &lane->state);
    pthread_mutex_unlock(&lane->library->making);
    if (status) lane->state = NULL;
    return status == 0;
}

struct jpeg_lane *jpeg_lane_open(struct jpeg_library *library, cudaStream_t stream) {
    struct jpeg_lane *lane = (struct jpeg_lane *)calloc(1, sizeof *lane);
    if (!lane) return NULL;
    lane->library = library;
    lane->stream = stream;
    if (make_state(lane) && proven(lane, 1, 85) && proven(lane, 3, 85) && proven(lane, 3, 98))
        return lane;
    jpeg_lane_close(lane);
    return NULL;
}

void jpeg_lane_close(struct jpeg_lane *lane) {
    if (!lane) return;
    pthread_mutex_lock(&lane->library->making);
    if (lane->state) lane->library->nvjpeg.state_destroy(lane->state);
    pthread_mutex_unlock(&lane->library->making);
    free(lane);
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. Decoding is one call for a batch. Encoding is one call for a picture: several
 * encoders, each with a stream, take turns, and an encoder's file is fetched, into the GPU's
 * memory, before it begins the next. The library waits within some of its calls, so that trains of
 * batches are timed by the clock, from the first call until all streams are done. Pixels take turns
 * over more bytes than a cache holds. */
#include "tests/bench/burin-bench/nvjpeg_batches.h"

#include "pipeline/codec.h"
#include "pipeline/timing.h"
#include "tests/bench/burin-bench/jpeg_operator.cuh"
#include "tests/bench/burin-bench/nvjpeg_library.cuh"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

const char *nvjpeg_backend(void) {
    const struct nvjpeg *api = nvjpeg_library();
    if (!api) return NULL;
    return api->backend == NVJPEG_HARDWARE ? "nvJPEG, hardware" : "nvJPEG, kernels";
}

/* ---- a batch with its memory */

enum { SUBJECTS_MAX = 64, ENCODERS = 8, IMAGES_MAX = 4096, TRAIN_MAX = 8 };
static const size_t ROTATED_BYTES = 400 << 20;
static const double TRAIN_US = 20000;

struct encoder {
    cudaStream_t stream;
    struct nvjpeg_encoder *state;
    struct nvjpeg_settings *settings;
    uint8_t *out;
    size_t length;
    int picture; /* whose file has not been fetched; -1: none */
};

struct bench {
    const struct nvjpeg *api;
    const struct jpeg_batches *of;
    struct cuda_context context;
    struct nvjpeg_handle *decoder, *coder;
    struct nvjpeg_state *state;
    struct encoder encoders[ENCODERS];
    cudaEvent_t decoded;
    uint8_t *files, *pixels, *worked, *op_scratch; /* files are pinned */
    size_t stride, op_scratch_bytes, room;
    int slots, next;                           /* pictures that take turns, and the next one */
    const unsigned char *places[SUBJECTS_MAX]; /* of the files */
    const unsigned char *data[JPEG_BATCH_MAX];
    size_t lengths[JPEG_BATCH_MAX];
    struct nvjpeg_image images[JPEG_BATCH_MAX];
};

static enum status refuse(struct failure *failure, const char *what, int code) {
    return fail(failure, STATUS_INTERNAL, "nvJPEG does not %s: error %d of its own", what, code);
}

#define NVJPEG_TRY(what, call)                                                                     \
    do {                                                                                           \
        const int code_ = (call);                                                                  \
        if (code_) return refuse(failure, what, code_);                                            \
    } while (0)

static bool decodes(const struct bench *bench) {
    return bench->of->work != JPEG_WORK_ENCODE;
}

static bool encodes(const struct bench *bench) {
    return bench->of->work != JPEG_WORK_DECODE;
}

static const struct jpeg_subject *subject_of(const struct bench *bench, int i) {
    return &bench->of->subjects[i % bench->of->subject_count];
}

static enum status open_decoder(struct bench *bench, struct failure *failure) {
    const struct jpeg_batches *of = bench->of;
    const bool gray = of->subjects[0].pixels.channels == 1;
    size_t bytes = 0;
    for (int s = 0; s < of->subject_count; s++) bytes += of->subjects[s].file.length;
    CUDA_TRY(failure, cudaMallocHost((void **)&bench->files, bytes));
    uint8_t *at = bench->files;
    for (int s = 0; s < of->subject_count; s++) {
        const struct jpeg_bytes *file = &of->subjects[s].file;
        memcpy(at, file->data, file->length);
        bench->places[s] = at;
        at += file->length;
    }
    NVJPEG_TRY("open its decoder",
               bench->api->create(bench->api->backend, NULL, NULL, 0, &bench->decoder));
    NVJPEG_TRY("make a decoder", bench->api->state_create(bench->decoder, &bench->state));
    NVJPEG_TRY("take such a batch",
               bench->api->batch_begin(bench->decoder, bench->state, of->batch, 1,
                                       gray ? NVJPEG_OUTPUT_Y : NVJPEG_OUTPUT_RGBI));
    return STATUS_OK;
}

static enum status open_encoder(struct bench *bench, struct encoder *encoder,
                                struct failure *failure) {
    encoder->picture = -1;
    CUDA_TRY(failure, cudaStreamCreateWithFlags(&encoder->stream, cudaStreamNonBlocking));
    CUDA_TRY(failure, cudaMalloc((void **)&encoder->out, bench->room));
    NVJPEG_TRY("make an encoder",
               bench->api->encoder_create(bench->coder, &encoder->state, encoder->stream));
    NVJPEG_TRY("make settings",
               bench->api->settings_create(bench->coder, &encoder->settings, encoder->stream));
    NVJPEG_TRY(
        "take the quality",
        bench->api->set_quality(encoder->settings, (int)bench->of->quality, encoder->stream));
    NVJPEG_TRY("take the sampling",
               bench->api->set_sampling(encoder->settings,
                                        bench->of->quality < 95 ? NVJPEG_420 : NVJPEG_444,
                                        encoder->stream));
    return STATUS_OK;
}

static enum status bring_pixels(struct bench *bench, struct failure *failure) {
    for (int i = 0; i < bench->slots; i++) {
        const struct image *pixels = &subject_of(bench, i)->pixels;
        CUDA_TRY(failure, cudaMemcpy(bench->pixels + i * bench->stride, pixels->pixels,
                                     image_bytes(pixels), cudaMemcpyHostToDevice));
    }
    return STATUS_OK;
}

static enum status open_bench(struct bench *bench, struct failure *failure) {
    const struct jpeg_batches *of = bench->of;
    const struct image *shape = &of->subjects[0].pixels;
    const size_t zeroed = CUDA_ZEROED_WORDS * sizeof(uint32_t);
    enum status status = STATUS_OK;
    CUDA_TRY(failure, cudaSetDevice(of->device));
    CUDA_TRY(failure, cudaEventCreateWithFlags(&bench->decoded, cudaEventDisableTiming));
    CUDA_TRY(failure, cudaStreamCreateWithFlags(&bench->context.stream, cudaStreamNonBlocking));
    bench->context = jpeg_operator_context(of->device, bench->context.stream);
    bench->stride = (image_bytes(shape) + 255) / 256 * 256;
    bench->room = 2 * image_bytes(shape) + 65536;
    /* Whole batches, and whole turns of the subjects. */
    const size_t turns = ROTATED_BYTES / (bench->stride * of->batch) + 1;
    bench->slots = (int)std::min<size_t>(turns, IMAGES_MAX / of->batch) * of->batch;
    CUDA_TRY(failure, cudaMalloc((void **)&bench->pixels, bench->stride * bench->slots));
    if (of->work == JPEG_WORK_BOTH) {
        bench->op_scratch_bytes = jpeg_operator_scratch(&bench->context, of);
        CUDA_TRY(failure, cudaMalloc((void **)&bench->worked, bench->stride * of->batch));
        CUDA_TRY(failure, cudaMalloc((void **)&bench->op_scratch, bench->op_scratch_bytes + 1));
        CUDA_TRY(failure, cudaMalloc((void **)&bench->context.zeroed, zeroed));
        CUDA_TRY(failure, cudaMemset(bench->context.zeroed, 0, zeroed));
    }
    if (decodes(bench)) status = open_decoder(bench, failure);
    if (!status && encodes(bench)) {
        NVJPEG_TRY("open its encoder",
                   bench->api->create(NVJPEG_DEFAULT, NULL, NULL, 0, &bench->coder));
        for (int e = 0; !status && e < ENCODERS; e++)
            status = open_encoder(bench, &bench->encoders[e], failure);
    }
    return status ? status : bring_pixels(bench, failure);
}

static void close_bench(struct bench *bench) {
    cudaDeviceSynchronize();
    for (struct encoder *encoder = bench->encoders; encoder < bench->encoders + ENCODERS;
         encoder++) {
        if (encoder->settings) bench->api->settings_destroy(encoder->settings);
        if (encoder->state) bench->api->encoder_destroy(encoder->state);
        if (encoder->stream) cudaStreamDestroy(encoder->stream);
        cudaFree(encoder->out);
    }
    if (bench->state) bench->api->state_destroy(bench->state);
    if (bench->decoder) bench->api->destroy(bench->decoder);
    if (bench->coder) bench->api->destroy(bench->coder);
    cudaFreeHost(bench->files);
    cudaFree(bench->pixels);
    cudaFree(bench->worked);
    cudaFree(bench->op_scratch);
    cudaFree(bench->context.zeroed);
    if (bench->decoded) cudaEventDestroy(bench->decoded);
    if (bench->context.stream) cudaStreamDestroy(bench->context.stream);
    cudaGetLastError();
    free(bench);
}

/* ---- the work */

static struct nvjpeg_image image_at(const struct bench *bench, uint8_t *pixels) {
    struct nvjpeg_image image = {};
    image.channel[0] = pixels;
    image.pitch[0] = bench->of->subjects[0].pixels.stride;
    return image;
}

static enum status fetch(struct bench *bench, struct encoder *encoder, struct failure *failure) {
    if (encoder->picture < 0) return STATUS_OK;
    encoder->length = bench->room;
    encoder->picture = -1;
    NVJPEG_TRY("get its file", bench->api->fetch(bench->coder, encoder->state, encoder->out,
                                                 &encoder->length, encoder->stream));
    return STATUS_OK;
}

static enum status encode(struct bench *bench, uint8_t *pixels, struct failure *failure) {
    const struct image *shape = &bench->of->subjects[0].pixels;
    CUDA_TRY(failure, cudaEventRecord(bench->decoded, bench->context.stream));
    for (int i = 0; i < bench->of->batch; i++) {
        struct encoder *encoder = &bench->encoders[i % ENCODERS];
        const enum status status = fetch(bench, encoder, failure);
        if (status) return status;
        if (i < ENCODERS)
            CUDA_TRY(failure, cudaStreamWaitEvent(encoder->stream, bench->decoded, 0));
        const struct nvjpeg_image image = image_at(bench, pixels + i * bench->stride);
        NVJPEG_TRY("encode", bench->api->encode(bench->coder, encoder->state, encoder->settings,
                                                &image, NVJPEG_INPUT_RGBI, (int)shape->width,
                                                (int)shape->height, encoder->stream));
        encoder->picture = i;
    }
    for (int e = 0; e < ENCODERS; e++) {
        const enum status status = fetch(bench, &bench->encoders[e], failure);
        if (status) return status;
    }
    return STATUS_OK;
}

static enum status run(struct bench *bench, struct failure *failure) {
    const int first = bench->next;
    uint8_t *pixels = bench->pixels + first * bench->stride;
    enum status status = STATUS_OK;
    bench->next = (first + bench->of->batch) % bench->slots;
    for (int i = 0; decodes(bench) && i < bench->of->batch; i++) {
        bench->data[i] = bench->places[(first + i) % bench->of->subject_count];
        bench->lengths[i] = subject_of(bench, first + i)->file.length;
        bench->images[i] = image_at(bench, pixels + i * bench->stride);
    }
    if (decodes(bench))
        NVJPEG_TRY("decode",
                   bench->api->decode(bench->decoder, bench->state, bench->data, bench->lengths,
                                      bench->images, bench->context.stream));
    if (bench->worked) {
        status = jpeg_operator_run(&bench->context, bench->of, pixels, bench->worked, bench->stride,
                                   bench->op_scratch, bench->op_scratch_bytes, failure);
        pixels = bench->worked;
    }
    return !status && encodes(bench) ? encode(bench, pixels, failure) : status;
}

static enum status wait_for_all(struct failure *failure) {
    CUDA_TRY(failure, cudaDeviceSynchronize());
    return STATUS_OK;
}

/* ---- right? */

static double difference(const struct image *a, const struct image *b) {
    uint64_t sum = 0;
    for (uint32_t y = 0; y < a->height; y++)
        for (size_t x = 0; x < image_row_bytes(a); x++)
            sum += (uint64_t)abs(image_row(a, y)[x] - image_row(b, y)[x]);
    return (double)sum / ((double)image_row_bytes(a) * a->height);
}

/* Into PIXELS, of the subjects' shape. */
static enum status decode_file(const uint8_t *bytes, size_t length, const struct image *pixels,
                               struct failure *failure) {
    struct probe probe;
    struct metadata metadata = {};
    uint32_t notes = 0;
    enum status status = probe_image(bytes, length, &codec_limits_default.probe, &probe, failure);
    if (!status && !image_same_shape(&probe.shape, pixels))
        status = fail(failure, STATUS_INTERNAL, "nvJPEG encoded a picture of another shape");
    if (!status)
        status = codec_decode(bytes, length, &probe, &codec_limits_default, NULL, pixels, &metadata,
                              &notes, failure);
    metadata_release(&metadata);
    return status;
}

/* Fetches the batch's picture NUMBER into FOUND, and the right one into EXPECTED. */
static enum status bring_results(struct bench *bench, int number, int slot, struct image *found,
                                 struct image *expected, struct failure *failure) {
    const struct jpeg_subject *subject = subject_of(bench, number);
    if (!encodes(bench)) {
        memcpy(expected->pixels, subject->pixels.pixels, image_bytes(expected));
        CUDA_TRY(failure, cudaMemcpy(found->pixels, bench->pixels + slot * bench->stride,
                                     image_bytes(found), cudaMemcpyDeviceToHost));
        return STATUS_OK;
    }
    const struct encoder *encoder = &bench->encoders[number % ENCODERS];
    const struct jpeg_bytes *result = jpeg_work_result(bench->of->work, subject);
    uint8_t *file = (uint8_t *)malloc(encoder->length);
    if (!file) return fail(failure, STATUS_NO_MEMORY, "no memory to check results");
    const cudaError_t error =
        cudaMemcpy(file, encoder->out, encoder->length, cudaMemcpyDeviceToHost);
    enum status status = error == cudaSuccess
                             ? decode_file(file, encoder->length, found, failure)
                             : fail(failure, STATUS_DEVICE, "a file cannot be read from the GPU");
    free(file);
    return status ? status : decode_file(result->data, result->length, expected, failure);
}

/* The last pictures of a batch: an encoder has the last file that it wrote. Encoded pixels are
 * those of the slot, decoded files those of the place in the batch. */
static enum status check(struct bench *bench, double *worst, struct failure *failure) {
    const int count = bench->of->batch, first = bench->next;
    struct image found = bench->of->subjects[0].pixels, expected = found;
    found.pixels = (uint8_t *)calloc(1, image_bytes(&found));
    expected.pixels = (uint8_t *)calloc(1, image_bytes(&expected));
    enum status status = found.pixels && expected.pixels
                             ? run(bench, failure)
                             : fail(failure, STATUS_NO_MEMORY, "no memory to check results");
    if (!status) status = wait_for_all(failure);
    for (int i = std::max(0, count - (int)ENCODERS); !status && i < count; i++) {
        status = bring_results(bench, i, first + i, &found, &expected, failure);
        if (!status) *worst = std::max(*worst, difference(&found, &expected));
    }
    if (!status && *worst > NVJPEG_DIFFERENCE_MAX)
        status = fail(failure, STATUS_INTERNAL,
                      "a result of nvJPEG differs by %.1f a sample from the CPU codec's", *worst);
    free(found.pixels);
    free(expected.pixels);
    return status;
}

/* ---- times */

static enum status time_train(struct bench *bench, int train, double *us, struct failure *failure) {
    const int64_t start = clock_ns();
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < train; i++) status = run(bench, failure);
    if (!status) status = wait_for_all(failure);
    *us = (double)(clock_ns() - start) / 1e3;
    return status;
}

static enum status time_trains(struct bench *bench, int train, double *us,
                               struct failure *failure) {
    static double all[JPEG_ROUNDS_MAX];
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < bench->of->rounds; i++)
        status = time_train(bench, train, &all[i], failure);
    std::sort(all, all + bench->of->rounds);
    *us = all[bench->of->rounds / 2] / train;
    return status;
}

static enum status measure(struct bench *bench, struct jpeg_batches_times *times,
                           struct failure *failure) {
    double first = 0;
    enum status status = open_bench(bench, failure);
    if (!status) status = check(bench, &times->difference, failure);
    if (!status) status = time_train(bench, 1, &first, failure);
    const int train = std::clamp((int)(TRAIN_US / (first + 1)), 1, (int)TRAIN_MAX);
    if (!status) status = time_trains(bench, train, &times->batch_us, failure);
    if (!status && bench->of->batch == 1) status = time_trains(bench, 1, &times->alone_us, failure);
    return status;
}

enum status nvjpeg_batches_measure(const struct jpeg_batches *batches,
                                   struct jpeg_batches_times *times, struct failure *failure) {
    *times = {};
    if (!nvjpeg_backend()) return fail(failure, STATUS_BAD_PARAM, "there is no libnvjpeg here");
    if (batches->batch > JPEG_BATCH_MAX || batches->rounds > JPEG_ROUNDS_MAX ||
        batches->subject_count > SUBJECTS_MAX)
        return fail(failure, STATUS_BAD_PARAM, "more pictures or rounds than there may be");
    if (batches->work != JPEG_WORK_DECODE && batches->subjects[0].pixels.channels == 1)
        return fail(failure, STATUS_BAD_PARAM, "gray pictures are not encoded by nvJPEG here");
    struct bench *bench = (struct bench *)calloc(1, sizeof *bench);
    if (!bench) return fail(failure, STATUS_NO_MEMORY, "no memory for the benchmark");
    bench->api = nvjpeg_library();
    bench->of = batches;
    for (int s = 0; s < batches->subject_count; s++)
        times->file_bytes +=
            (double)(batches->work == JPEG_WORK_ENCODE ? batches->subjects[s].encoded.length
                                                       : batches->subjects[s].file.length) /
            batches->subject_count;
    const enum status status = measure(bench, times, failure);
    close_bench(bench);
    return status;
}

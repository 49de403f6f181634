// SPDX-License-Identifier: Apache-2.0
/* nvjpeg_api.h - NVIDIA's JPEG codec and the CUDA driver, opened at run time: neither's header nor
 * any toolkit is needed to build what uses them, and it starts where both are missing.
 *
 * Method: prototypes and values as NVIDIA's documentation of nvJPEG and of the driver API states
 *         them. Every enumeration is an int, every handle a void *, a device address 64 bits.
 * Owns:   struct gpu holds both libraries, the first GPU's primary context (nvJPEG works in it), a
 *         stream and two events; gpu_close gives them back. One thread.
 */
#ifndef BURIN_NVJPEG_API_H
#define BURIN_NVJPEG_API_H

#include "pipeline/status.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 default, 1 hybrid, 2 GPU hybrid; further ones want more. */
enum { BACKEND_HARDWARE = 3, BACKEND_COUNT };
enum { FLAGS_NONE = 0, FLAGS_INTERPOLATION = 32 };
enum { OUTPUT_YUV = 1, OUTPUT_Y = 2, OUTPUT_RGBI = 5, INPUT_RGBI = 5, CHROMA_420 = 2 };
enum { STREAM_NON_BLOCKING = 1, EVENT_DEFAULT = 0, PROPERTY_COUNT = 3 };

/* Device addresses of up to four planes, and the bytes from row to row of each. */
struct nvjpeg_image {
    unsigned char *channel[4];
    size_t pitch[4];
};

#define CUDA_CALLS(X)                                                                              \
    X(init, cuInit, (unsigned flags))                                                              \
    X(error_text, cuGetErrorString, (int error, const char **text))                                \
    X(device_get, cuDeviceGet, (int *device, int index))                                           \
    X(device_name, cuDeviceGetName, (char *name, int length, int device))                          \
    X(context_retain, cuDevicePrimaryCtxRetain, (void **context, int device))                      \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (int device))                                 \
    X(context_set, cuCtxSetCurrent, (void *context))                                               \
    X(memory_info, cuMemGetInfo_v2, (size_t * left, size_t * total))                               \
    X(memory_take, cuMemAlloc_v2, (uint64_t * address, size_t length))                             \
    X(memory_free, cuMemFree_v2, (uint64_t address))                                               \
    X(memory_set, cuMemsetD8Async, (uint64_t address, unsigned char to, size_t length, void *on))  \
    X(upload, cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t length, void *on))      \
    X(download, cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t length, void *on))          \
    X(stream_create, cuStreamCreate, (void **stream, unsigned flags))                              \
    X(stream_wait, cuStreamSynchronize, (void *stream))                                            \
    X(stream_destroy, cuStreamDestroy_v2, (void *stream))                                          \
    X(event_create, cuEventCreate, (void **event, unsigned flags))                                 \
    X(event_record, cuEventRecord, (void *event, void *stream))                                    \
    X(event_ms, cuEventElapsedTime, (float *ms, void *start, void *end))                           \
    X(event_destroy, cuEventDestroy_v2, (void *event))

#define NVJPEG_CALLS(X)                                                                            \
    X(property, nvjpegGetProperty, (int which, int *value))                                        \
    X(create, nvjpegCreateEx,                                                                      \
      (int backend, void *device_allocator, void *pinned_allocator, unsigned flags,                \
       void **handle))                                                                             \
    X(destroy, nvjpegDestroy, (void *handle))                                                      \
    X(state_create, nvjpegJpegStateCreate, (void *handle, void **state))                           \
    X(state_destroy, nvjpegJpegStateDestroy, (void *state))                                        \
    X(batch_init, nvjpegDecodeBatchedInitialize,                                                   \
      (void *handle, void *state, int batch, int cpu_threads, int output))                         \
    X(batch_decode, nvjpegDecodeBatched,                                                           \
      (void *handle, void *state, const unsigned char *const *data, const size_t *lengths,         \
       struct nvjpeg_image *into, void *stream))                                                   \
    X(encoder_create, nvjpegEncoderStateCreate, (void *handle, void **encoder, void *stream))      \
    X(encoder_destroy, nvjpegEncoderStateDestroy, (void *encoder))                                 \
    X(params_create, nvjpegEncoderParamsCreate, (void *handle, void **params, void *stream))       \
    X(params_destroy, nvjpegEncoderParamsDestroy, (void *params))                                  \
    X(params_quality, nvjpegEncoderParamsSetQuality, (void *params, int quality, void *stream))    \
    X(params_chroma, nvjpegEncoderParamsSetSamplingFactors,                                        \
      (void *params, int chroma, void *stream))                                                    \
    X(encode, nvjpegEncodeImage,                                                                   \
      (void *handle, void *encoder, void *params, const struct nvjpeg_image *from, int input,      \
       int width, int height, void *stream))                                                       \
    X(encode_take, nvjpegEncodeRetrieveBitstream,                                                  \
      (void *handle, void *encoder, unsigned char *data, size_t *length, void *stream))

#define DECLARE(field, symbol, arguments) int(*field) arguments;
#define FIND(field, symbol, arguments)    { #symbol, offsetof(struct gpu, field) },

struct gpu {
    CUDA_CALLS(DECLARE)
    NVJPEG_CALLS(DECLARE)
    void *cuda_library, *nvjpeg_library;
    int device, version[PROPERTY_COUNT]; /* the version of nvJPEG: major, minor, patch */
    char name[96];
    void *stream, *events[2];
};

struct symbol {
    const char *name;
    size_t at; /* in struct gpu */
};

static const struct symbol cuda_symbols[] = { CUDA_CALLS(FIND){ NULL, 0 } };
static const struct symbol nvjpeg_symbols[] = { NVJPEG_CALLS(FIND){ NULL, 0 } };

/* Ends the program for a call that nothing is left to do without. */
static void must(struct gpu *gpu, int error, const char *what) {
    const char *text = NULL;
    if (!error) return;
    if (gpu->error_text(error, &text) || !text) text = "an error without a name";
    fprintf(stderr, "nvjpeg: %s: %s (%d)\n", what, text, error);
    exit(1);
}

static const char *nvjpeg_status_text(int status) {
    static const char *const texts[] = {
        "success",        "not initialized", "invalid parameter", "bad JPEG",
        "not supported",  "no memory",       "execution failed",  "wrong architecture",
        "internal error", "not implemented", "incomplete JPEG",
    };
    const bool known = status >= 0 && status < (int)(sizeof texts / sizeof *texts);
    return known ? texts[status] : "an unknown status";
}

static void must_nvjpeg(int status, const char *what) {
    if (!status) return;
    fprintf(stderr, "nvjpeg: %s: %s (%d)\n", what, nvjpeg_status_text(status), status);
    exit(1);
}

static enum status find_symbols(struct gpu *gpu, void *library, const struct symbol *symbols,
                                struct failure *failure) {
    for (; symbols->name; symbols++) {
        void *found = dlsym(library, symbols->name);
        if (!found)
            return fail(failure, STATUS_DEVICE, "the library has no %s; install a newer one",
                        symbols->name);
        memcpy((char *)gpu + symbols->at, &found, sizeof found);
    }
    return STATUS_OK;
}

/* PATH, or where it is NULL the newest that the loader or the toolkit's own folder has. */
static void *open_nvjpeg(const char *path) {
    static const char *const names[] = {
        "libnvjpeg.so.13",
        "libnvjpeg.so.12",
        "libnvjpeg.so",
        "/usr/local/cuda/lib64/libnvjpeg.so.13",
        "/usr/local/cuda/lib64/libnvjpeg.so.12",
    };
    if (path) return dlopen(path, RTLD_NOW);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW);
        if (library) return library;
    }
    return NULL;
}

static enum status open_device(struct gpu *gpu, struct failure *failure) {
    void *context;
    const int error = gpu->init(0);
    const char *text = NULL;
    if (error && gpu->error_text(error, &text)) text = NULL;
    if (error)
        return fail(failure, STATUS_DEVICE, "no GPU is ready: cuInit says %s (%d)",
                    text ? text : "an error without a name", error);
    if (gpu->device_get(&gpu->device, 0))
        return fail(failure, STATUS_DEVICE, "the CUDA driver finds no GPU");
    must(gpu, gpu->device_name(gpu->name, sizeof gpu->name, gpu->device), "cuDeviceGetName");
    must(gpu, gpu->context_retain(&context, gpu->device), "cuDevicePrimaryCtxRetain");
    must(gpu, gpu->context_set(context), "cuCtxSetCurrent");
    must(gpu, gpu->stream_create(&gpu->stream, STREAM_NON_BLOCKING), "cuStreamCreate");
    for (int i = 0; i < 2; i++)
        must(gpu, gpu->event_create(&gpu->events[i], EVENT_DEFAULT), "cuEventCreate");
    for (int i = 0; i < PROPERTY_COUNT; i++)
        must_nvjpeg(gpu->property(i, &gpu->version[i]), "nvjpegGetProperty");
    return STATUS_OK;
}

/* STATUS_DEVICE with the sentence where there is no driver, no nvJPEG or no GPU. What was opened
 * until then ends with the program. */
static enum status gpu_open(struct gpu *gpu, const char *nvjpeg_path, struct failure *failure) {
    gpu->cuda_library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!gpu->cuda_library)
        return fail(failure, STATUS_DEVICE, "there is no CUDA driver here (libcuda.so.1)");
    gpu->nvjpeg_library = open_nvjpeg(nvjpeg_path);
    if (!gpu->nvjpeg_library && nvjpeg_path)
        return fail(failure, STATUS_DEVICE, "nvJPEG does not open: %.200s", dlerror());
    if (!gpu->nvjpeg_library)
        return fail(failure, STATUS_DEVICE,
                    "there is no nvJPEG here (libnvjpeg.so.13 or .12); name its file by --library");
    enum status status = find_symbols(gpu, gpu->cuda_library, cuda_symbols, failure);
    if (!status) status = find_symbols(gpu, gpu->nvjpeg_library, nvjpeg_symbols, failure);
    return status ? status : open_device(gpu, failure);
}

static void gpu_close(struct gpu *gpu) {
    for (int i = 0; i < 2; i++) must(gpu, gpu->event_destroy(gpu->events[i]), "cuEventDestroy");
    must(gpu, gpu->stream_destroy(gpu->stream), "cuStreamDestroy");
    must(gpu, gpu->context_release(gpu->device), "cuDevicePrimaryCtxRelease");
    dlclose(gpu->nvjpeg_library);
    dlclose(gpu->cuda_library);
}

static void gpu_wait(struct gpu *gpu) {
    must(gpu, gpu->stream_wait(gpu->stream), "cuStreamSynchronize");
}

#endif

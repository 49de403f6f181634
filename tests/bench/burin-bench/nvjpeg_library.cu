// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/nvjpeg_library.cuh"

#include "pipeline/shared_library.h"

static bool find_functions(struct nvjpeg *api) {
    static const char *const names[] = { "libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so.11",
                                         "libnvjpeg.so" };
    const struct shared_symbol symbols[] = {
        { "nvjpegCreateEx", &api->create },
        { "nvjpegDestroy", &api->destroy },
        { "nvjpegJpegStateCreate", &api->state_create },
        { "nvjpegJpegStateDestroy", &api->state_destroy },
        { "nvjpegDecodeBatchedInitialize", &api->batch_begin },
        { "nvjpegDecodeBatched", &api->decode },
        { "nvjpegEncoderStateCreate", &api->encoder_create },
        { "nvjpegEncoderStateDestroy", &api->encoder_destroy },
        { "nvjpegEncoderParamsCreate", &api->settings_create },
        { "nvjpegEncoderParamsDestroy", &api->settings_destroy },
        { "nvjpegEncoderParamsSetQuality", &api->set_quality },
        { "nvjpegEncoderParamsSetSamplingFactors", &api->set_sampling },
        { "nvjpegEncodeImage", &api->encode },
        { "nvjpegEncodeRetrieveBitstreamDevice", &api->fetch },
    };
    api->library = shared_library_open(names, sizeof names / sizeof *names);
    return api->library &&
           shared_library_find(api->library, symbols, sizeof symbols / sizeof *symbols);
}

static bool has_backend(const struct nvjpeg *api, enum nvjpeg_backend backend) {
    struct nvjpeg_handle *handle = NULL;
    const bool good = api->create(backend, NULL, NULL, 0, &handle) == 0;
    if (good) api->destroy(handle);
    return good;
}

static bool open_library(struct nvjpeg *api) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || !count || !find_functions(api)) return false;
    api->backend = has_backend(api, NVJPEG_HARDWARE) ? NVJPEG_HARDWARE : NVJPEG_GPU_HYBRID;
    return has_backend(api, api->backend);
}

const struct nvjpeg *nvjpeg_library(void) {
    static struct nvjpeg api;
    static bool tried, good;
    if (!tried) good = open_library(&api);
    tried = true;
    cudaGetLastError();
    return good ? &api : NULL;
}

// SPDX-License-Identifier: Apache-2.0
/* nvjpeg_library.cuh - the part of nvJPEG that is used, as its library has it: types and functions
 * declared here, since its header is on few machines. Every function returns 0 if it worked.
 *
 * Used by:  nvjpeg_batches.cu.
 * Owns:     the library, as long as the process.
 * Threads:  nvjpeg_library() by one at a time.
 * Source:   docs.nvidia.com/cuda/nvjpeg.
 */
#ifndef BURIN_NVJPEG_LIBRARY_CUH
#define BURIN_NVJPEG_LIBRARY_CUH

#include <cuda_runtime.h>
#include <stddef.h>

enum nvjpeg_backend { NVJPEG_DEFAULT = 0, NVJPEG_GPU_HYBRID = 2, NVJPEG_HARDWARE = 3 };
enum { NVJPEG_OUTPUT_Y = 2, NVJPEG_OUTPUT_RGBI = 5, NVJPEG_INPUT_RGBI = 5 };
enum { NVJPEG_444 = 0, NVJPEG_420 = 2, NVJPEG_PLANES = 4 };

struct nvjpeg_handle;
struct nvjpeg_state;
struct nvjpeg_encoder;
struct nvjpeg_settings;

struct nvjpeg_image {
    unsigned char *channel[NVJPEG_PLANES];
    size_t pitch[NVJPEG_PLANES];
};

struct nvjpeg {
    void *library;
    enum nvjpeg_backend backend; /* of decoding */
    int (*create)(int backend, void *device, void *pinned, unsigned flags,
                  struct nvjpeg_handle **handle);
    int (*destroy)(struct nvjpeg_handle *handle);
    int (*state_create)(struct nvjpeg_handle *handle, struct nvjpeg_state **state);
    int (*state_destroy)(struct nvjpeg_state *state);
    int (*batch_begin)(struct nvjpeg_handle *handle, struct nvjpeg_state *state, int count,
                       int threads, int format);
    int (*decode)(struct nvjpeg_handle *handle, struct nvjpeg_state *state,
                  const unsigned char *const *data, const size_t *lengths,
                  struct nvjpeg_image *images, cudaStream_t stream);
    int (*encoder_create)(struct nvjpeg_handle *handle, struct nvjpeg_encoder **encoder,
                          cudaStream_t stream);
    int (*encoder_destroy)(struct nvjpeg_encoder *encoder);
    int (*settings_create)(struct nvjpeg_handle *handle, struct nvjpeg_settings **settings,
                           cudaStream_t stream);
    int (*settings_destroy)(struct nvjpeg_settings *settings);
    int (*set_quality)(struct nvjpeg_settings *settings, int quality, cudaStream_t stream);
    int (*set_sampling)(struct nvjpeg_settings *settings, int sampling, cudaStream_t stream);
    int (*encode)(struct nvjpeg_handle *handle, struct nvjpeg_encoder *encoder,
                  struct nvjpeg_settings *settings, const struct nvjpeg_image *image, int format,
                  int width, int height, cudaStream_t stream);
    int (*fetch)(struct nvjpeg_handle *handle, struct nvjpeg_encoder *encoder, unsigned char *data,
                 size_t *length, cudaStream_t stream);
};

/* Opened at the first call; NULL: it is not on this machine, or there is no GPU that it takes. */
const struct nvjpeg *nvjpeg_library(void);

#endif

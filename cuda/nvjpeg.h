// SPDX-License-Identifier: Apache-2.0
/* nvjpeg.h - the part of NVIDIA's JPEG library that is used, opened at run time: neither its header
 * nor any toolkit is needed to build, and the program starts where it is missing.
 *
 * Shape:   prototypes and values as NVIDIA's documentation of nvJPEG states them, versions 12 and
 *          13. Every enumeration is an int, every handle a void *; calls return 0 if they worked.
 * Owns:    struct nvjpeg the library and one handle, of the CUDA device that was current.
 * Threads: a handle may be used by several at once; a state is one thread's. Handles made by
 *          several threads at once were seen to crash: make them one after the other.
 */
#ifndef BURIN_NVJPEG_H
#define BURIN_NVJPEG_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one decoding puts out, for all images of a batch. */
enum { NVJPEG_PLANES = 1 /* Y, Cb, Cr as they are stored */, NVJPEG_LUMA = 2 };

struct CUstream_st; /* a cudaStream_t points to it */

/* Device addresses of up to four planes, and the bytes from row to row of each. */
struct nvjpeg_image {
    unsigned char *channel[4];
    size_t pitch[4];
};

struct nvjpeg {
    void *library, *handle;
    int (*create)(int backend, void *device_allocator, void *pinned_allocator, unsigned flags,
                  void **handle);
    int (*destroy)(void *handle);
    int (*state_create)(void *handle, void **state);
    int (*state_destroy)(void *state);
    /* What a file's header tells: sides of up to 4 planes. */
    int (*image_info)(void *handle, const unsigned char *file, size_t length, int *components,
                      int *sampling, int *widths, int *heights);
    /* Readies the state for batches of so many files; of the hardware's 4 us. */
    int (*batch_init)(void *handle, void *state, int count, int cpu_threads, int output);
    int (*batch_decode)(void *handle, void *state, const unsigned char *const *files,
                        const size_t *lengths, struct nvjpeg_image *into,
                        struct CUstream_st *stream);
};

/* PATH: the library's file, or NULL for where the loader and the toolkit have it. false: there is
 * none, it lacks a call, or this GPU has no JPEG decoder in hardware; nothing is left open. */
bool nvjpeg_open(struct nvjpeg *nvjpeg, const char *path);
void nvjpeg_close(struct nvjpeg *nvjpeg);

#ifdef __cplusplus
}
#endif
#endif

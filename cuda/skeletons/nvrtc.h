// SPDX-License-Identifier: Apache-2.0
/* nvrtc.h - compiles CUDA source to PTX at run time, with NVIDIA's libnvrtc where it is installed.
 *
 * Used by:  kernel_compiler.c, kernel_library.c, tests/bench/burin-bench/skeletons.c.
 * Owns:     the caller frees code and log.
 * Fails:    nvrtc_compile returns false, with the reason in the log.
 * Threads:  any.
 * Limits:   a source includes <stdint.h> and <cuda_runtime.h>, which are built in, and no file.
 * Source:   NVRTC 13, the CUDA runtime compilation library: its documentation.
 */
#ifndef BURIN_NVRTC_H
#define BURIN_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL where the library is installed; else a sentence that says what to install. */
const char *nvrtc_missing(void);

/* Options for every kernel, beside its architecture, ended by NULL. */
extern const char *const nvrtc_options[];

/* 1000 * major + 10 * minor; 0 where the library is missing. */
int nvrtc_version(void);

struct nvrtc_code {
    char *ptx; /* NULL after a failure */
    char *log; /* the compiler's messages; NULL: none */
};

/* CAPABILITY: 90 for 9.0. NAME: the source's name in messages. */
bool nvrtc_compile(const char *source, const char *name, int capability, struct nvrtc_code *code);

/* PTX with each 32-bit negation replaced, as in nvrtc_compile; the caller frees the text. NULL
 * without memory. */
char *ptx_negation_hide(const char *ptx);

void nvrtc_release(struct nvrtc_code *code);

#ifdef __cplusplus
}
#endif
#endif

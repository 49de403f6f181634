// SPDX-License-Identifier: Apache-2.0
/* Counters that never sum to the number of pixels: the kernel gives up and the launch fails with a
 * sentence; the GPU does not hang. In processes of their own, since a trap spoils the context.
 * covers: cuda/spin_limit.cuh cuda/ops/histeq/counters8.cuh
 */
#define SPIN_LIMIT (1u << 16)

#include "cuda/ops/histeq/equalize8.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_GPU = 77, LIMIT_S = 20, WIDTH = 256, HEIGHT = 64 };

typedef layout8<1, HISTEQ_VALUE> gray;

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));                        \
            return 2;                                                                              \
        }                                                                                          \
    } while (0)

/* One block on an image of which MISSING pixels more are awaited than there are. */
static int equalize(uint32_t missing, struct failure *failure) {
    struct op_call call = {};
    struct batch_of<1> batch;
    const struct histeq_rule rule = { 256, HISTEQ_MINMAX };
    uint32_t *words;
    const size_t bytes = (size_t)WIDTH * HEIGHT;
    call.in = call.out = { NULL, WIDTH, WIDTH, HEIGHT, 1, 8 };
    TRY(cudaMalloc((void **)&call.in.pixels, bytes));
    TRY(cudaMalloc((void **)&call.out.pixels, bytes));
    TRY(cudaMalloc((void **)&words, CUDA_ZEROED_WORDS * sizeof *words));
    TRY(cudaMemset(call.in.pixels, 9, bytes));
    TRY(cudaMemset(words, 0, CUDA_ZEROED_WORDS * sizeof *words));
    if (batch_init(&batch, &call, 1, gray::PIXELS)) return 2;
    batch_divide(&batch, THREADS, 1);
    batch.images[0].pixels += missing;
    equalize_kernel<1, HISTEQ_VALUE, 1>
        <<<1, THREADS, gray::SHARED_BYTES>>>(rule, words + SECTOR_WORDS, words, batch);
    TRY(cudaGetLastError());
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) cuda_fail(failure, error, "synchronize", __FILE__, __LINE__);
    return 0;
}

/* 0 where it ends as it should. A hang ends with the alarm. */
static int run_case(uint32_t missing) {
    struct failure failure = {};
    int gpus = 0;
    alarm(LIMIT_S);
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return NO_GPU;
    if (equalize(missing, &failure)) return 2;
    printf("%u pixels missing: %s\n", missing, failure.status ? failure.message : "no failure");
    fflush(stdout);
    if (!missing) return failure.status != STATUS_OK;
    return failure.status != STATUS_DEVICE || !strstr(failure.message, "waited too long");
}

int main() {
    int bad = 0;
    for (uint32_t missing = 0; missing < 2; missing++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) _exit(run_case(missing));
        if (child < 0 || waitpid(child, &status, 0) != child) return 1;
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GPU) {
            puts("no GPU here: nothing to wait for");
            return NO_GPU;
        }
        const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!good) puts(WIFSIGNALED(status) ? "hung" : "wrong");
        bad |= !good;
    }
    return bad;
}

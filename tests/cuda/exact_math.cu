// SPDX-License-Identifier: Apache-2.0
/* The GPU gives the same bits as the CPU for every function of exact_math.h.
 *
 * How it works. nvcc compiles the header for both; each thread computes one result of the fixed set
 * of tests/pipeline/skeletons/exact_math_set.h, and the CPU compares. Then each function's time.
 * covers: pipeline/skeletons/exact_math.h
 */
#include <cuda_runtime.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

extern "C" {
#include <cmocka.h>
}

#include "tests/pipeline/skeletons/exact_math_set.h"

enum { COUNT = 1 << 20, THREADS = 256 };

static __global__ void results(int function, unsigned long long *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = exact_set_result(function, i);
}

static float milliseconds(int function, unsigned long long *out) {
    cudaEvent_t start, end;
    float time = 0;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    results<<<COUNT / THREADS, THREADS>>>(function, out);
    cudaEventRecord(start);
    results<<<COUNT / THREADS, THREADS>>>(function, out);
    cudaEventRecord(end);
    assert_int_equal(cudaEventSynchronize(end), cudaSuccess);
    cudaEventElapsedTime(&time, start, end);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return time;
}

static void test_same_bits_as_the_cpu(void **state) {
    (void)state;
    unsigned long long *out;
    unsigned long long *got = (unsigned long long *)malloc(COUNT * sizeof *got);
    assert_non_null(got);
    assert_int_equal(cudaMalloc((void **)&out, COUNT * sizeof *out), cudaSuccess);
    for (int function = 0; function < EXACT_SET_FUNCTIONS; function++) {
        const float time = milliseconds(function, out);
        assert_int_equal(cudaMemcpy(got, out, COUNT * sizeof *got, cudaMemcpyDeviceToHost),
                         cudaSuccess);
        printf("function %d: %.2f ns a result\n", function, (double)time * 1e6 / COUNT);
        for (unsigned i = 0; i < COUNT; i++)
            if (got[i] != exact_set_result(function, i))
                fail_msg("function %d, result %u: %016llx on the GPU, %016llx on the CPU", function,
                         i, got[i], exact_set_result(function, i));
    }
    cudaFree(out);
    free(got);
}

int main(void) {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        puts("no GPU here: nothing to test");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_bits_as_the_cpu) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

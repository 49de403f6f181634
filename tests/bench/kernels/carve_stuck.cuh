// SPDX-License-Identifier: Apache-2.0
/* carve_stuck.cuh - the place of a wait that never ended. Included before any kernel of carving:
 * the place is reported through pinned memory, since the launch fails. */
#ifndef BURIN_CARVE_STUCK_CUH
#define BURIN_CARVE_STUCK_CUH

#include <cstdint>

static __device__ volatile uint32_t *stuck_report;
#define SPIN_LIMIT (1u << 22)
#define SPIN_STUCK(where)                                                                          \
    do {                                                                                           \
        if (stuck_report[0] == 0)                                                                  \
            stuck_report[1] = blockIdx.x, stuck_report[2] = threadIdx.x, stuck_report[0] = where;  \
        __threadfence_system();                                                                    \
        __trap();                                                                                  \
    } while (0)

#include "tests/bench/kernels/measure.cuh"

#include <cstdio>
#include <cstring>

static volatile uint32_t *stuck_words;

static void tell_stuck(void) {
    if (stuck_words && stuck_words[0])
        fprintf(stderr, "stuck in wait %u, block %u, thread %u\n", stuck_words[0], stuck_words[1],
                stuck_words[2]);
}

/* Before the first launch. */
static void listen_for_stuck(void) {
    uint32_t *words;
    on_failure = tell_stuck;
    TRY(cudaHostAlloc((void **)&words, 64, cudaHostAllocMapped));
    memset(words, 0, 64);
    stuck_words = words;
    TRY(cudaMemcpyToSymbol(stuck_report, &words, sizeof words));
}

#endif

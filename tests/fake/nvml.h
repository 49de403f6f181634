// SPDX-License-Identifier: Apache-2.0
/* nvml.h - the answers that a test sets for the NVML of tests/fake/nvml.c; a test finds it there as
 * `fake`.
 *
 * Used by:  tests/server/worker/gpu_sampler.c.
 * Threads:  written before, and read after, the thread that calls the library.
 */
#ifndef BURIN_FAKE_NVML_H
#define BURIN_FAKE_NVML_H

struct fake {
    const char *bus; /* of its only GPU */
    unsigned int utilization_percent;
    unsigned long long memory_used, memory_total, energy_mj;
    int init, utilization, memory, energy; /* what the calls return: 0, or an error */
    int inits, shutdowns;                  /* calls so far */
};

#endif

// SPDX-License-Identifier: Apache-2.0
/* A library that answers as NVML does, for one GPU of the test's making. */
#include "tests/fake/nvml.h"

#include <stddef.h>
#include <string.h>

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6 };

struct fake fake;

static char gpu; /* its address is the handle */

int nvmlInit_v2(void) {
    fake.inits += fake.init == 0;
    return fake.init;
}

int nvmlShutdown(void) {
    fake.shutdowns++;
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    if (!fake.bus || strcmp(bus, fake.bus) != 0) return NOT_FOUND;
    *device = &gpu;
    return 0;
}

int nvmlDeviceGetUtilizationRates(const void *device, unsigned int rates[2]) {
    rates[0] = fake.utilization_percent;
    rates[1] = 77; /* of the memory's bandwidth: nobody asks for it */
    return device == &gpu ? fake.utilization : NOT_SUPPORTED;
}

int nvmlDeviceGetMemoryInfo(const void *device, unsigned long long memory[3]) {
    memory[0] = fake.memory_total;
    memory[1] = fake.memory_total - fake.memory_used;
    memory[2] = fake.memory_used;
    return device == &gpu ? fake.memory : NOT_SUPPORTED;
}

int nvmlDeviceGetTotalEnergyConsumption(const void *device, unsigned long long *millijoules) {
    *millijoules = fake.energy_mj;
    return device == &gpu ? fake.energy : NOT_SUPPORTED;
}

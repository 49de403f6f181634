// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_info.cuh"

#include "cuda/check.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUDA reads the variable when it makes a context. By default a device's streams share 8 queues,
 * and a stream that waits for an event blocks all of its queue; lanes have two streams each. */
static void widen_queues(void) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

int cuda_device_count(void) {
    int gpus = 0;
    widen_queues();
    if (cudaGetDeviceCount(&gpus) == cudaSuccess) return gpus;
    cudaGetLastError(); /* no driver, or no GPU that the driver may use */
    return 0;
}

int cuda_device_attribute(int index, enum cudaDeviceAttr which) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, index) != cudaSuccess) cudaGetLastError();
    return value;
}

/* Reads the first line of a file of sysfs, without its end; "" where there is none. */
static void read_line(const char *path, char *line, size_t size) {
    line[0] = 0;
    FILE *file = fopen(path, "r");
    if (!file) return;
    if (!fgets(line, (int)size, file)) line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    fclose(file);
}

static void describe_pcie(int index, struct device_info *info) {
    static const double per_lane[] = { 2.5, 5, 8, 16, 32, 64 };
    char *const bus = info->bus, path[96], speed[32], width[16];
    if (cudaDeviceGetPCIBusId(bus, sizeof info->bus, index) != cudaSuccess) cudaGetLastError();
    for (char *c = bus; *c; c++) *c = *c >= 'A' && *c <= 'F' ? *c - 'A' + 'a' : *c;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/max_link_speed", bus);
    read_line(path, speed, sizeof speed);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/max_link_width", bus);
    read_line(path, width, sizeof width);
    int generation = 0;
    for (int g = 0; g < 6; g++)
        if (atof(speed) == per_lane[g]) generation = g + 1;
    if (generation && atoi(width) > 0)
        snprintf(info->pcie, sizeof info->pcie, "%s, Gen%d x%d", bus, generation, atoi(width));
    else
        snprintf(info->pcie, sizeof info->pcie, "%s", bus);
}

enum status cuda_device_describe(int index, struct device_info *info, struct failure *failure) {
    int driver = 0, runtime = 0;
    size_t free_bytes = 0, total_bytes = 0;
    cudaDeviceProp properties;
    memset(info, 0, sizeof *info);
    CUDA_TRY(failure, cudaGetDeviceProperties(&properties, index));
    CUDA_TRY(failure, cudaDriverGetVersion(&driver));
    CUDA_TRY(failure, cudaRuntimeGetVersion(&runtime));
    CUDA_TRY(failure, cudaSetDevice(index));
    CUDA_TRY(failure, cudaMemGetInfo(&free_bytes, &total_bytes));
    snprintf(info->name, sizeof info->name, "%.95s", properties.name);
    snprintf(info->capability, sizeof info->capability, "%d.%d", properties.major,
             properties.minor);
    snprintf(info->driver, sizeof info->driver, "CUDA %d.%d driver, %d.%d runtime", driver / 1000,
             driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    describe_pcie(index, info);
    info->multiprocessors = properties.multiProcessorCount;
    info->memory_bytes = (double)total_bytes;
    info->memory_free_bytes = (double)free_bytes;
    info->l2_bytes = properties.l2CacheSize;
    info->clock_mhz = cuda_device_attribute(index, cudaDevAttrClockRate) / 1e3;
    info->memory_clock_mhz = cuda_device_attribute(index, cudaDevAttrMemoryClockRate) / 1e3;
    info->ecc = properties.ECCEnabled;
    info->clusters = properties.major >= 9;
    return STATUS_OK;
}

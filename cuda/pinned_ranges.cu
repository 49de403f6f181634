// SPDX-License-Identifier: Apache-2.0
/* How it works. An array sorted by address, searched by halves: a daemon has some hundred slots. */
#include "cuda/pinned_ranges.cuh"

#include "cuda/check.cuh"

#include <cstdlib>
#include <cstring>

struct range {
    uint8_t *bytes, *on_device;
    size_t length;
};

static struct range *ranges;
static int range_count, range_room;

/* The first range that ends after BYTES. */
static int find_range(const uint8_t *bytes) {
    int low = 0, high = range_count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (ranges[middle].bytes + ranges[middle].length <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(void) {
    if (range_count < range_room) return true;
    const int room = range_room ? 2 * range_room : 64;
    struct range *larger = (struct range *)realloc(ranges, room * sizeof *ranges);
    if (!larger) return false;
    ranges = larger;
    range_room = room;
    return true;
}

static enum status register_range(int index, struct range *range, struct failure *failure) {
    CUDA_TRY(failure, cudaSetDevice(index));
    CUDA_TRY(failure, cudaHostRegister(range->bytes, range->length,
                                       cudaHostRegisterPortable | cudaHostRegisterMapped));
    const cudaError_t error = cudaHostGetDevicePointer((void **)&range->on_device, range->bytes, 0);
    if (error != cudaSuccess) cudaHostUnregister(range->bytes);
    CUDA_TRY(failure, error);
    return STATUS_OK;
}

enum status pinned_ranges_add(int index, uint8_t *bytes, size_t length, struct failure *failure) {
    struct range range = { bytes, NULL, length };
    if (!make_room()) return fail(failure, STATUS_NO_MEMORY, "no memory for a list of ranges");
    const enum status status = register_range(index, &range, failure);
    if (status) return status;
    const int place = find_range(bytes);
    memmove(ranges + place + 1, ranges + place, (range_count - place) * sizeof *ranges);
    ranges[place] = range;
    range_count++;
    return STATUS_OK;
}

void pinned_ranges_remove(int index, uint8_t *bytes) {
    const int place = find_range(bytes);
    if (place == range_count || ranges[place].bytes != bytes) return;
    cudaSetDevice(index);
    cudaHostUnregister(bytes);
    cudaGetLastError();
    range_count--;
    memmove(ranges + place, ranges + place + 1, (range_count - place) * sizeof *ranges);
}

uint8_t *pinned_ranges_find(const uint8_t *bytes, size_t length, size_t *within) {
    const int place = find_range(bytes);
    *within = length;
    if (place == range_count) return NULL;
    const struct range *range = &ranges[place];
    const bool inside = range->bytes <= bytes;
    const size_t left =
        inside ? (size_t)(range->bytes + range->length - bytes) : (size_t)(range->bytes - bytes);
    if (left < length) *within = left;
    return inside ? range->on_device + (bytes - range->bytes) : NULL;
}

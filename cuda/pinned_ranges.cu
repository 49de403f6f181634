// SPDX-License-Identifier: Apache-2.0
/* How it works. An array sorted by address, searched by halves, under a lock: a daemon has some
 * hundred slots of one to three ranges each. */
#include "cuda/pinned_ranges.cuh"

#include "cuda/check.cuh"

#include <cstdlib>
#include <cstring>
#include <pthread.h>

struct range {
    uint8_t *bytes, *on_device;
    size_t length;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* guards all below */
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
    const enum status status = register_range(index, &range, failure);
    if (status) return status;
    pthread_rwlock_wrlock(&lock);
    const bool room = make_room();
    if (room) {
        const int place = find_range(bytes);
        memmove(ranges + place + 1, ranges + place, (range_count - place) * sizeof *ranges);
        ranges[place] = range;
        range_count++;
    }
    pthread_rwlock_unlock(&lock);
    if (room) return STATUS_OK;
    cudaHostUnregister(bytes);
    return fail(failure, STATUS_NO_MEMORY, "no memory for a list of ranges");
}

/* Unregistering waits for the device's kernels, and is done without the lock. */
void pinned_ranges_remove(int index, uint8_t *bytes, size_t length) {
    for (bool found = true; found;) {
        pthread_rwlock_wrlock(&lock);
        const int place = find_range(bytes);
        uint8_t *begin = place < range_count ? ranges[place].bytes : NULL;
        found = begin && begin < bytes + length;
        if (found) {
            range_count--;
            memmove(ranges + place, ranges + place + 1, (range_count - place) * sizeof *ranges);
        }
        pthread_rwlock_unlock(&lock);
        if (!found) continue;
        cudaSetDevice(index);
        cudaHostUnregister(begin);
        cudaGetLastError();
    }
}

uint8_t *pinned_ranges_find(const uint8_t *bytes, size_t length, size_t *within) {
    uint8_t *on_device = NULL;
    *within = 0;
    pthread_rwlock_rdlock(&lock);
    for (int i = find_range(bytes); i < range_count && *within < length; i++) {
        const struct range *range = &ranges[i];
        const uint8_t *next = bytes + *within;
        if (range->bytes > next) break;
        uint8_t *there = range->on_device + (next - range->bytes);
        if (!on_device) on_device = there;
        if (there != on_device + *within) break; /* adjacent on the host alone */
        *within += (size_t)(range->bytes + range->length - next);
    }
    pthread_rwlock_unlock(&lock);
    if (*within > length) *within = length;
    return on_device;
}

size_t pinned_ranges_piece(const uint8_t *bytes, size_t length) {
    size_t piece = length;
    pthread_rwlock_rdlock(&lock);
    const int place = find_range(bytes);
    if (place < range_count) {
        const struct range *range = &ranges[place];
        const uint8_t *border = range->bytes <= bytes ? range->bytes + range->length : range->bytes;
        if ((size_t)(border - bytes) < piece) piece = (size_t)(border - bytes);
    }
    pthread_rwlock_unlock(&lock);
    return piece;
}

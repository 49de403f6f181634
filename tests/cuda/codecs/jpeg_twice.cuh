// SPDX-License-Identifier: Apache-2.0
/* jpeg_twice.cuh - batches of JPEGs decoded twice, by the GPU or by its twin on the CPU, and judged
 * beside the CPU codec. What differs is kept as a file in $OUT, or here.
 *
 * Used by:  jpeg_copies.cu.
 * Owns:     a lane its memory, until the process ends; a batch its files until release().
 * Fails:    a CUDA error ends the process.
 * Threads:  a lane and a batch are one thread's; counters are everybody's.
 */
#ifndef BURIN_TESTS_JPEG_TWICE_CUH
#define BURIN_TESTS_JPEG_TWICE_CUH

#include "cuda/codecs/jpeg_decode.h"

#include <atomic>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
#include "tests/pipeline/codecs/jpeg/cases.h"
#include "tests/twins/jpeg_parallel.h"
}

enum { BATCH = 256, WHOLE_PIXELS = 32000000, GUARD = 0xa5 };

static bool by_twin; /* set before the first lane is opened */
static std::atomic<long> flagged, taken;
static std::atomic<bool> failed;

#define TRY(call) check(call, #call)
static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    _exit(1);
}

/* ---- a batch */

struct item {
    struct jpeg_file file;
    std::string name;
    struct probe probe;
    struct jpeg_baseline header;
    size_t place; /* of its pixels */
    bool taken;
};

typedef std::vector<struct item> items;

/* Memory that grows. */
struct memory {
    uint8_t *bytes;
    size_t room;
};

static uint8_t *fit(struct memory &memory, size_t bytes, bool pinned) {
    if (bytes <= memory.room) return memory.bytes;
    TRY(pinned ? cudaFreeHost(memory.bytes) : cudaFree(memory.bytes));
    memory.room = bytes + bytes / 2;
    TRY(pinned ? cudaMallocHost((void **)&memory.bytes, memory.room)
               : cudaMalloc((void **)&memory.bytes, memory.room));
    return memory.bytes;
}

struct lane {
    struct cuda_context context;
    struct jpeg_decode_batch batch;
    struct memory files, pixels, arena, staging;
    std::vector<uint8_t> found[2];
    uint32_t flags[2][BATCH];
    uint32_t round;
};

static void open_lane(struct lane &lane) {
    if (by_twin) return;
    TRY(cudaStreamCreateWithFlags(&lane.context.stream, cudaStreamNonBlocking));
    TRY(cudaDeviceGetAttribute(&lane.context.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaMallocHost((void **)&lane.batch.pictures, BATCH * sizeof(struct jpeg_picture)));
    TRY(cudaMallocHost((void **)&lane.batch.units, jpeg_decode_units(BATCH) * 4));
    TRY(cudaMallocHost((void **)&lane.batch.facts, BATCH * sizeof(struct jpeg_facts)));
}

static size_t place_pixels(items &batch) {
    size_t bytes = 0;
    for (struct item &item : batch) {
        item.place = bytes;
        bytes += (image_bytes(&item.probe.shape) + 255) / 256 * 256;
    }
    return bytes;
}

static void decode_by_twin(struct lane &lane, items &batch, int run) {
    static const struct jpeg_division divisions[] = { { 128, 8, 16, 64 },
                                                      { 128, 1, 16, 64 },
                                                      { 16, 4, 32, 64 } };
    for (size_t i = 0; i < batch.size(); i++) {
        struct jpeg_picture picture;
        jpeg_picture_init(&picture, &batch[i].header);
        const size_t bytes = jpeg_picture_bytes(&picture);
        uint8_t *arena = (uint8_t *)aligned_alloc(JPEG_ARENA_ALIGN, bytes);
        memset(arena, run ? 0 : GUARD, bytes);
        jpeg_picture_place(&picture, arena);
        picture.into = batch[i].probe.shape;
        picture.into.pixels = lane.found[run].data() + batch[i].place;
        lane.flags[run][i] = jpeg_parallel_decode(&picture, &divisions[lane.round % 3]);
        free(arena);
    }
}

static void upload(struct lane &lane, items &batch, size_t pixel_bytes) {
    size_t bytes = 256;
    for (const struct item &item : batch) bytes += item.file.length + 32;
    uint8_t *staging = fit(lane.staging, bytes, true), *files = fit(lane.files, bytes, false);
    uint8_t *pixels = fit(lane.pixels, pixel_bytes, false);
    size_t at = 64;
    lane.batch.count = (int)batch.size();
    for (size_t i = 0; i < batch.size(); i++) {
        struct jpeg_picture &picture = lane.batch.pictures[i];
        jpeg_picture_init(&picture, &batch[i].header);
        memcpy(staging + at, batch[i].file.data, batch[i].file.length);
        picture.scan = files + at + (batch[i].header.scan - batch[i].file.data);
        picture.into = batch[i].probe.shape;
        picture.into.pixels = pixels + batch[i].place;
        at += batch[i].file.length + 16 + i % 16;
    }
    TRY(cudaMemcpyAsync(files, staging, bytes, cudaMemcpyHostToDevice, lane.context.stream));
    const size_t arena = jpeg_decode_bytes(lane.batch.pictures, lane.batch.count);
    lane.batch.arena = fit(lane.arena, arena, false);
}

/* Every other batch's second run is divided otherwise. */
static void decode_by_gpu(struct lane &lane, items &batch, int run) {
    struct failure failure = {};
    const size_t arena = jpeg_decode_bytes(lane.batch.pictures, lane.batch.count);
    lane.batch.run = 1u << (lane.round / 2 + (lane.round & 1 ? run : 0)) % 4;
    TRY(cudaMemsetAsync(lane.arena.bytes, run ? 0 : GUARD, arena, lane.context.stream));
    TRY(cudaMemsetAsync(lane.pixels.bytes, run ? 0 : GUARD, lane.found[run].size(),
                        lane.context.stream));
    if (jpeg_decode_queue(&lane.context, &lane.batch, &failure) != STATUS_OK) {
        fprintf(stderr, "%s\n", failure.message);
        _exit(1);
    }
    TRY(cudaMemcpyAsync(lane.found[run].data(), lane.pixels.bytes, lane.found[run].size(),
                        cudaMemcpyDeviceToHost, lane.context.stream));
    TRY(cudaStreamSynchronize(lane.context.stream));
    for (size_t i = 0; i < batch.size(); i++) lane.flags[run][i] = lane.batch.facts[i].flags;
}

/* ---- what came out */

static void keep(const struct item &item, const char *what) {
    static std::mutex mutex;
    static int kept;
    const std::lock_guard<std::mutex> lock(mutex);
    const char *folder = getenv("OUT");
    const std::string path =
        std::string(folder ? folder : ".") + "/differs-" + std::to_string(kept++) + ".jpg";
    FILE *file = kept < 20 ? fopen(path.c_str(), "wb") : NULL;
    printf("%s: %s%s%s\n", item.name.c_str(), what, file ? ", kept as " : "",
           file ? path.c_str() : "");
    if (file) {
        fwrite(item.file.data, 1, item.file.length, file);
        fclose(file);
    }
    failed = true;
}

static struct image found_image(struct lane &lane, const struct item &item, int run) {
    struct image image = item.probe.shape;
    image.pixels = lane.found[run].data() + item.place;
    return image;
}

/* The CPU's samples and notes; no pixels where it refuses. */
static struct image cpu_image(const struct item &item, uint32_t *notes) {
    struct image image = item.probe.shape;
    struct metadata metadata = {};
    struct failure failure;
    image.pixels = (uint8_t *)calloc(1, image_bytes(&image));
    if (codec_decode(item.file.data, item.file.length, &item.probe, &codec_limits_default, NULL,
                     &image, &metadata, notes, &failure) != STATUS_OK) {
        free(image.pixels);
        image.pixels = NULL;
    }
    metadata_release(&metadata);
    return image;
}

static void judge(struct lane &lane, struct item &item, size_t i) {
    const struct image one = found_image(lane, item, 0), two = found_image(lane, item, 1);
    const uint32_t first = lane.flags[0][i], second = lane.flags[1][i];
    uint32_t notes = 0;
    item.taken = !first;
    flagged += first != 0;
    taken += first == 0;
    /* How many repairs a scan needs depends on how it was divided, and more than enough is none. */
    if (((first ^ second) & ~(uint32_t)JPEG_FLAG_REPAIRS) && !(first && second)) {
        printf("flags %x and %x\n", first, second);
        return keep(item, "taken by one run, flagged by the other");
    }
    if (first || second) return;
    if (!same_rows(&one, &two)) return keep(item, "two runs have other samples");
    struct image expected = cpu_image(item, &notes);
    if (!expected.pixels)
        keep(item, "the CPU refuses what the GPU took");
    else if (!same_rows(&one, &expected))
        keep(item, "other samples than the CPU's");
    else if ((notes & ~(uint32_t)NOTE_PROFILE_DROPPED) != item.header.notes)
        keep(item, "the CPU has other notes on what the GPU took");
    free(expected.pixels);
}

static void decode(struct lane &lane, items &batch) {
    if (batch.empty()) return;
    const size_t bytes = place_pixels(batch);
    if (!by_twin) upload(lane, batch, bytes);
    for (int run = 0; run < 2; run++) {
        lane.found[run].resize(bytes);
        by_twin ? decode_by_twin(lane, batch, run) : decode_by_gpu(lane, batch, run);
    }
    for (size_t i = 0; i < batch.size(); i++) judge(lane, batch[i], i);
    lane.round++;
}

static void release(items &batch) {
    for (struct item &item : batch) free(item.file.data);
    batch.clear();
}

/* false: the header alone sends it to the CPU. */
static bool add(items &batch, struct jpeg_file file, const std::string &name) {
    struct item item = { file, name, {}, {}, 0, false };
    struct failure failure;
    struct jpeg_picture picture;
    if (probe_image(file.data, file.length, &codec_limits_default.probe, &item.probe, &failure) ||
        !jpeg_baseline_read_header(file.data, file.length, &item.probe, &codec_limits_default,
                                   &item.header) ||
        !jpeg_picture_init(&picture, &item.header) ||
        image_pixels(&item.probe.shape) > WHOLE_PIXELS) {
        free(file.data);
        return false;
    }
    batch.push_back(item);
    return true;
}

#endif

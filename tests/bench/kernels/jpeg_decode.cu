// SPDX-License-Identifier: Apache-2.0
/* How it works. Decodes photographs in batches, from files in device memory to RGB in device
 * memory, through cuda/codecs/jpeg_decode.cu as it is shipped. PHOTOS names a folder of JPEGs; each
 * size found there, 1920x1080 and 320x240 first of all, is measured on its own, its files by turns.
 * Before a time is printed every picture of the batch is compared with the CPU codec's.
 *
 * Columns, 0 being what the decoder chooses by itself: how subsequences find where they start
 * (`short`: 9, by a walk, else of 2^7 or 2^8 bits, from all phases, after `lead` others, and
 * `rounds` of continuing); subsequences that a thread walks (`run`); threads of which one writes a
 * subsequence (`spread`); threads that join a picture (`join`); subsequences that were decoded
 * again to join them, in the whole batch (`again`); microseconds by events for a batch, its
 * descriptors' copies included, for a picture, pictures a second; `alone`: from the call until the
 * host knows the verdicts; then the stages: of short subsequences `walk` is their decoding from all
 * phases. The last lines keep three streams busy. Medians of 41.
 *
 * Ten photographs of 228 KB at 1080p and 13 KB at 320x240 took, on an H200, 307 us alone (walk 189,
 * write 57, join 18), 415 in 8 (join 29), 1,998 in 128 (64,000 a second, 74,000 with three streams:
 * walk 422, join 80, write 426, inverse 475, pixels 421); one of 320x240 235 (walk 142, write 49),
 * 1,024 of them 1,554 (1,188,000 with three streams).
 * Predicted since, by count of symbol steps: one 1080p 150 us (all phases 65, join 16, write 20),
 * one of 320x240 120 (55, 8, 18), 32 of them 270; 8 of 1080p 390 by a walk, as short ones of 8, 2
 * and 4 rounds 370; 128: join 35, walk and write 5 in 100 less without branches: 1,910 us. */
#include "cuda/codecs/jpeg_decode.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <map>
#include <string>
#include <vector>

#include "pipeline/codec.h"

enum { REPEATS = 41, STREAMS = 3, STREAM_BATCHES = 24 };

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define TRY(call) check(call, #call)

/* ---- photographs */

struct photograph {
    std::vector<uint8_t> bytes;
    struct probe probe;
    struct jpeg_baseline header;
    std::vector<uint8_t> expected; /* rows as the probe's shape has them */
};

typedef std::vector<photograph> album;

static std::vector<uint8_t> read_file(const std::string &path) {
    std::vector<uint8_t> bytes;
    FILE *file = fopen(path.c_str(), "rb");
    if (!file) return bytes;
    fseek(file, 0, SEEK_END);
    bytes.resize((size_t)ftell(file));
    rewind(file);
    if (fread(bytes.data(), 1, bytes.size(), file) != bytes.size()) bytes.clear();
    fclose(file);
    return bytes;
}

static bool read_photograph(const std::string &path, struct photograph &photo) {
    struct failure failure;
    struct metadata metadata = {};
    uint32_t notes = 0;
    photo.bytes = read_file(path);
    if (probe_image(photo.bytes.data(), photo.bytes.size(), &codec_limits_default.probe,
                    &photo.probe, &failure) != STATUS_OK ||
        photo.probe.format != FORMAT_JPEG)
        return false;
    struct image image = photo.probe.shape;
    photo.expected.resize(image_bytes(&image));
    image.pixels = photo.expected.data();
    const enum status status =
        codec_decode(photo.bytes.data(), photo.bytes.size(), &photo.probe, &codec_limits_default,
                     NULL, &image, &metadata, &notes, &failure);
    metadata_release(&metadata);
    return status == STATUS_OK;
}

/* By size, the folder's baseline JPEGs. */
static std::map<std::pair<uint32_t, uint32_t>, album> read_albums(const char *folder) {
    std::map<std::pair<uint32_t, uint32_t>, album> albums;
    std::vector<std::string> names;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (strstr(entry->d_name, ".jp"))
            names.push_back(std::string(folder) + "/" + entry->d_name);
    if (directory) closedir(directory);
    std::sort(names.begin(), names.end());
    for (const std::string &name : names) {
        struct photograph photo;
        struct jpeg_picture picture;
        if (!read_photograph(name, photo)) continue;
        album &same = albums[{ photo.probe.width, photo.probe.height }];
        same.push_back(photo);
        struct photograph &kept = same.back(); /* its bytes lie elsewhere now */
        if (!jpeg_baseline_read_header(kept.bytes.data(), kept.bytes.size(), &kept.probe,
                                       &codec_limits_default, &kept.header) ||
            !jpeg_picture_init(&picture, &kept.header))
            same.pop_back();
    }
    for (auto &[size, photos] : albums)
        for (struct photograph &photo : photos) /* once none is moved any more */
            jpeg_baseline_read_header(photo.bytes.data(), photo.bytes.size(), &photo.probe,
                                      &codec_limits_default, &photo.header);
    return albums;
}

/* ---- a batch with its memory */

struct lane {
    struct cuda_context context;
    struct jpeg_decode_batch batch;
    uint8_t *files, *pixels;
    size_t picture_bytes, file_bytes;
};

static void open_lane(struct lane &lane, const album &photos, int count) {
    const struct image shape = photos[0].probe.shape;
    std::vector<size_t> places;
    size_t files = 256;
    memset(&lane, 0, sizeof lane);
    TRY(cudaStreamCreateWithFlags(&lane.context.stream, cudaStreamNonBlocking));
    TRY(cudaDeviceGetAttribute(&lane.context.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    for (const struct photograph &photo : photos) files += photo.bytes.size() + 256;
    TRY(cudaMalloc((void **)&lane.files, files * ((count - 1) / photos.size() + 1)));
    lane.picture_bytes = (image_bytes(&shape) + 255) / 256 * 256;
    TRY(cudaMalloc((void **)&lane.pixels, lane.picture_bytes * count));
    TRY(cudaMallocHost((void **)&lane.batch.pictures, count * sizeof(struct jpeg_picture)));
    TRY(cudaMallocHost((void **)&lane.batch.units, jpeg_decode_units(count) * 4));
    TRY(cudaMallocHost((void **)&lane.batch.facts, count * sizeof(struct jpeg_facts)));
    lane.batch.count = count;
    uint8_t *at = lane.files + 256;
    for (int i = 0; i < count; i++) {
        const struct photograph &photo = photos[i % photos.size()];
        struct jpeg_picture &picture = lane.batch.pictures[i];
        jpeg_picture_init(&picture, &photo.header);
        TRY(cudaMemcpy(at, photo.bytes.data(), photo.bytes.size(), cudaMemcpyHostToDevice));
        picture.scan = at + (photo.header.scan - photo.bytes.data());
        picture.into = photo.probe.shape;
        picture.into.pixels = lane.pixels + i * lane.picture_bytes;
        at += (photo.bytes.size() + 31) / 16 * 16;
        lane.file_bytes += photo.bytes.size();
    }
    TRY(cudaMalloc((void **)&lane.batch.arena, jpeg_decode_bytes(lane.batch.pictures, count)));
}

static void close_lane(struct lane &lane) {
    TRY(cudaStreamDestroy(lane.context.stream));
    TRY(cudaFree(lane.files));
    TRY(cudaFree(lane.pixels));
    TRY(cudaFree(lane.batch.arena));
    TRY(cudaFreeHost(lane.batch.pictures));
    TRY(cudaFreeHost(lane.batch.units));
    TRY(cudaFreeHost(lane.batch.facts));
}

static void queue(struct lane &lane) {
    struct failure failure = {};
    if (jpeg_decode_queue(&lane.context, &lane.batch, &failure) == STATUS_OK) return;
    fprintf(stderr, "%s\n", failure.message);
    exit(1);
}

/* Every picture; ends the program where one is not the CPU's. */
static void verify(struct lane &lane, const album &photos) {
    std::vector<uint8_t> out(lane.picture_bytes);
    TRY(cudaMemset(lane.pixels, 0, lane.picture_bytes * lane.batch.count));
    queue(lane);
    TRY(cudaStreamSynchronize(lane.context.stream));
    for (int i = 0; i < lane.batch.count; i++) {
        const struct photograph &photo = photos[i % photos.size()];
        struct image image = photo.probe.shape, expected = image;
        image.pixels = out.data();
        expected.pixels = (uint8_t *)photo.expected.data();
        TRY(cudaMemcpy(out.data(), lane.pixels + i * lane.picture_bytes, image_bytes(&image),
                       cudaMemcpyDeviceToHost));
        const uint32_t flags = lane.batch.facts[i].flags;
        for (uint32_t y = 0; !flags && y < image.height; y++)
            if (memcmp(image_row(&image, y), image_row(&expected, y), image_row_bytes(&image))) {
                fprintf(stderr, "picture %d of %d differs in row %u\n", i, lane.batch.count, y);
                exit(1);
            }
        if (flags) printf("picture %d has flags %x\n", i, flags);
    }
}

/* ---- times */

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/* The work of a thread: 0 is the decoder's choice. */
struct shape {
    uint32_t short_log2, lead, rounds, run, spread, join;
};

static void set_shape(struct lane &lane, const struct shape &shape) {
    lane.batch.short_log2 = shape.short_log2;
    lane.batch.lead = shape.lead;
    lane.batch.rounds = shape.rounds;
    lane.batch.run = shape.run;
    lane.batch.spread = shape.spread;
    lane.batch.join_threads = shape.join;
}

static void measure(struct lane &lane, const struct shape &shape) {
    cudaEvent_t events[JPEG_DECODE_STAGES + 3];
    std::vector<double> whole, alone, stages[JPEG_DECODE_STAGES];
    for (cudaEvent_t &event : events) TRY(cudaEventCreate(&event));
    set_shape(lane, shape);
    for (int i = -3; i < REPEATS; i++) {
        float ms;
        const auto start = std::chrono::steady_clock::now();
        queue(lane);
        TRY(cudaStreamSynchronize(lane.context.stream));
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - start;
        TRY(cudaEventRecord(events[0], lane.context.stream));
        queue(lane);
        TRY(cudaEventRecord(events[1], lane.context.stream));
        lane.batch.events = events + 2;
        queue(lane);
        lane.batch.events = NULL;
        TRY(cudaStreamSynchronize(lane.context.stream));
        if (i < 0) continue;
        alone.push_back(took.count());
        TRY(cudaEventElapsedTime(&ms, events[0], events[1]));
        whole.push_back(1e3 * ms);
        for (int k = 0; k < JPEG_DECODE_STAGES; k++) {
            TRY(cudaEventElapsedTime(&ms, events[2 + k], events[3 + k]));
            stages[k].push_back(1e3 * ms);
        }
    }
    for (cudaEvent_t &event : events) TRY(cudaEventDestroy(event));
    const double us = median(whole);
    uint32_t again = 0;
    for (int i = 0; i < lane.batch.count; i++) again += lane.batch.facts[i].repairs;
    printf("%6d %5u %5u %6u %5u %6u %5u %6u %9.1f %8.2f %10.0f %8.1f ", lane.batch.count,
           shape.short_log2, shape.lead, shape.rounds, shape.run, shape.spread, shape.join, again,
           us, us / lane.batch.count, 1e6 * lane.batch.count / us, median(alone));
    for (const std::vector<double> &stage : stages) printf(" %7.1f", median(stage));
    printf("\n");
}

static void measure_streams(const album &photos, int count) {
    struct lane lanes[STREAMS];
    std::vector<double> rates;
    for (struct lane &lane : lanes) open_lane(lane, photos, count);
    for (int i = -1; i < 5; i++) {
        const auto start = std::chrono::steady_clock::now();
        for (int k = 0; k < STREAM_BATCHES; k++) queue(lanes[k % STREAMS]);
        for (struct lane &lane : lanes) TRY(cudaStreamSynchronize(lane.context.stream));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (i >= 0) rates.push_back(STREAM_BATCHES * count / took.count());
    }
    printf("%6d  three streams: %.0f a second\n", count, median(rates));
    for (struct lane &lane : lanes) close_lane(lane);
}

/* One thing changed at a time. */
static const struct shape shapes[] = {
    { 0, 0, 0, 0, 0, 0 }, { 9, 0, 0, 0, 0, 0 }, { 7, 0, 0, 0, 0, 0 },   { 8, 0, 0, 0, 0, 0 },
    { 7, 1, 0, 0, 0, 0 }, { 7, 2, 0, 0, 0, 0 }, { 7, 4, 0, 0, 0, 0 },   { 7, 6, 0, 0, 0, 0 },
    { 7, 0, 2, 0, 0, 0 }, { 7, 0, 4, 0, 0, 0 }, { 7, 0, 6, 0, 0, 0 },   { 7, 0, 12, 0, 0, 0 },
    { 8, 1, 3, 0, 0, 0 }, { 8, 1, 5, 0, 0, 0 }, { 8, 2, 2, 0, 0, 0 },   { 8, 2, 4, 0, 0, 0 },
    { 9, 0, 0, 1, 0, 0 }, { 9, 0, 0, 2, 0, 0 }, { 9, 0, 0, 4, 0, 0 },   { 9, 0, 0, 8, 0, 0 },
    { 0, 0, 0, 0, 1, 0 }, { 0, 0, 0, 0, 2, 0 }, { 0, 0, 0, 0, 4, 0 },   { 0, 0, 0, 0, 8, 0 },
    { 9, 0, 0, 0, 4, 0 }, { 9, 0, 0, 0, 8, 0 }, { 0, 0, 0, 0, 0, 256 }, { 0, 0, 0, 0, 0, 1024 },
};

static void measure_album(const album &photos, const std::vector<int> &counts) {
    printf("%6s %5s %5s %6s %5s %6s %5s %6s %9s %8s %10s %8s ", "batch", "short", "lead", "rounds",
           "run", "spread", "join", "again", "us", "us/image", "images/s", "alone");
    for (const char *stage : jpeg_decode_stages) printf(" %7s", stage);
    printf("\n");
    for (int count : counts) {
        struct lane lane;
        open_lane(lane, photos, count);
        for (const struct shape &shape : shapes) {
            set_shape(lane, shape);
            verify(lane, photos);
            measure(lane, shape);
        }
        close_lane(lane);
    }
    for (int count : counts)
        if (count > 1) measure_streams(photos, count);
}

int main(void) {
    const char *folder = getenv("PHOTOS");
    const auto albums = read_albums(folder ? folder : "build/photos");
    for (const auto &[size, photos] : albums) {
        size_t bytes = 0;
        if (photos.empty()) continue;
        for (const struct photograph &photo : photos) bytes += photo.bytes.size();
        printf("\n%ux%u, %zu photographs, %zu KB on average\n", size.first, size.second,
               photos.size(), bytes / photos.size() / 1000);
        const bool small = (uint64_t)size.first * size.second < 400000;
        measure_album(photos, small ? std::vector<int>{ 1, 32, 256, 1024 }
                                    : std::vector<int>{ 1, 8, 32, 128 });
    }
    if (!albums.empty()) return 0;
    fprintf(stderr, "no JPEGs in %s: set PHOTOS\n", folder ? folder : "build/photos");
    return 1;
}

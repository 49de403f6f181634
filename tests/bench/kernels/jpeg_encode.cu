// SPDX-License-Identifier: Apache-2.0
/* How it works. The encoder of cuda/codecs/jpeg_encode.cu by size, sampling, quality and batch, RGB
 * in device memory to files in device memory. Every picture of a kind is compared with the CPU
 * codec's file before a time is printed. Inputs rotate over 400 MB, so that pixels come from
 * memory, not from a cache. Times are medians over events, microseconds an image, batches in a
 * train on one stream; `alone` is one batch from its launch to the end of the wait, by the clock.
 * `tile` and `place` are the same without the kernels behind it. Each batch is measured with the
 * tile kernel unrolled and rolled: ROLLED_TILES_MAX should be the most tiles with which the second
 * is quicker, alone and in a train.
 * Pictures are those of the folder $PHOTOS, cut to size after a whole number of halvings, or waves,
 * edges and noise of about the same length as JPEGs.
 *
 * Predicted before the first run, on an H200, 1080p 4:2:0 quality 85, pictures of 295 KB: in
 * batches of 128 6.4 us an image (tile 5.8 of it), of 32 7.0, of 8 9.0; one 23 in a train and 26
 * alone; 320x240 in batches of 1024 0.33, of 256 0.40, of 32 1.0. A prototype of the same method
 * reached 6.39, 7.02, 8.94, 22.6; 0.33, 0.40, 0.96. Goals: 7.1 at 1080p (140,000/s), 25 alone, 0.40
 * at 320x240.
 */
#include "cuda/codecs/jpeg_encode.cu"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <dirent.h>

extern "C" {
#include "pipeline/codec.h"
#include "pipeline/probe.h"
#include "tests/noise.h"
}

enum { ROUNDS = 21, CONTENTS = 12 };
static const size_t ROTATED_BYTES = 400 << 20;

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define TRY(call) check(call, #call)

static void demand(bool good, const char *what) {
    if (good) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* ---- pictures */

typedef std::vector<uint8_t> bytes;

struct photo {
    uint32_t width, height;
    bytes rgb;
};

static bytes read_file(const std::string &path) {
    bytes data;
    FILE *file = fopen(path.c_str(), "rb");
    if (!file) return data;
    uint8_t piece[65536];
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;)
        data.insert(data.end(), piece, piece + n);
    fclose(file);
    return data;
}

/* Decodes a file of 8 bits and three channels; others are left out. */
static bool decode_photo(const bytes &file, struct photo &photo) {
    struct probe probe;
    struct failure failure = {};
    uint32_t notes = 0;
    if (probe_image(file.data(), file.size(), &codec_limits_default.probe, &probe, &failure))
        return false;
    struct image image = probe.shape;
    if (image.channels != 3 || image.depth != 8) return false;
    photo.width = image.width;
    photo.height = image.height;
    photo.rgb.resize(image_bytes(&image));
    image.pixels = photo.rgb.data();
    return codec_decode(file.data(), file.size(), &probe, &codec_limits_default, NULL, &image, NULL,
                        &notes, &failure) == STATUS_OK &&
           image.stride == 3 * (size_t)image.width;
}

static std::vector<struct photo> read_photos(void) {
    std::vector<struct photo> photos;
    std::vector<std::string> names;
    const char *folder = getenv("PHOTOS");
    DIR *directory = folder ? opendir(folder) : NULL;
    if (!directory) return photos;
    while (const struct dirent *entry = readdir(directory)) names.push_back(entry->d_name);
    closedir(directory);
    std::sort(names.begin(), names.end());
    for (const std::string &name : names) {
        struct photo photo;
        if (photos.size() < CONTENTS && decode_photo(read_file(folder + ("/" + name)), photo))
            photos.push_back(photo);
    }
    return photos;
}

/* Means of FACTOR x FACTOR pixels from the photo's middle; a photo that is too small is
 * mirrored. */
static bytes cut(const struct photo &photo, uint32_t width, uint32_t height) {
    uint32_t factor = 1;
    while (photo.width >= 2 * factor * width && photo.height >= 2 * factor * height) factor *= 2;
    const uint32_t columns = photo.width / factor, rows = photo.height / factor;
    const uint32_t left = columns > width ? (columns - width) / 2 : 0;
    const uint32_t top = rows > height ? (rows - height) / 2 : 0;
    bytes rgb((size_t)width * height * 3);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < 3; c++) {
                uint32_t column = (left + x) % (2 * columns), row = (top + y) % (2 * rows), sum = 0;
                if (column >= columns) column = 2 * columns - 1 - column;
                if (row >= rows) row = 2 * rows - 1 - row;
                for (uint32_t i = 0; i < factor * factor; i++)
                    sum += photo.rgb[((size_t)(row * factor + i / factor) * photo.width +
                                      column * factor + i % factor) *
                                         3 +
                                     c];
                rgb[((size_t)y * width + x) * 3 + c] = (uint8_t)(sum / (factor * factor));
            }
    return rgb;
}

/* Waves of several lengths, discs with sharp edges, and in places noise. */
static bytes make(uint32_t width, uint32_t height, uint32_t seed) {
    bytes rgb((size_t)width * height * 3);
    uint32_t state = seed + 1;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const double u = x + 31.0 * seed, v = y + 17.0 * seed;
            const double wave = 50 * sin(u / 97) * cos(v / 61) + 20 * sin((u + 2 * v) / 13);
            const bool disc =
                ((x / 90 + y / 70 + seed) % 3) && hypot(fmod(u, 90) - 45, fmod(v, 70) - 35) < 28;
            const int rough = (x / 64 + y / 64 + seed) % 2 ? 22 : 5;
            const int noise = (int)(noise_next(&state) >> 24) * rough / 128 - rough;
            for (int c = 0; c < 3; c++) {
                const int value =
                    (int)(110 + wave * (1 - 0.2 * c) + (disc ? 40 - 25 * c : 0)) + noise;
                rgb[((size_t)y * width + x) * 3 + c] = (uint8_t)std::min(255, std::max(0, value));
            }
        }
    return rgb;
}

static bytes noise_of(uint32_t width, uint32_t height, uint32_t seed) {
    bytes rgb((size_t)width * height * 3);
    for (uint8_t &byte : rgb) byte = (uint8_t)(noise_next(&seed) >> 24);
    return rgb;
}

/* ---- what is measured */

struct kind {
    const char *name;
    uint32_t width, height;
    unsigned channels;
    unsigned quality;
    bool noise;
    std::vector<int> batches;
};

/* Batches that take turns; each has pictures and pinned memory of its own. */
struct scene {
    struct jpeg_encoder *encoder;
    cudaStream_t stream;
    std::vector<bytes> contents;
    std::vector<struct jpeg_encode_image> images;
    std::vector<struct jpeg_encode_batch> turns;
    uint8_t *pixels;
    double mean_bytes;
};

static struct image host_image(const struct kind &kind, const bytes &content) {
    struct image image = image_shape(kind.width, kind.height, kind.channels, 8);
    image.stride = image_row_bytes(&image); /* contents have no gaps */
    image.pixels = (uint8_t *)content.data();
    return image;
}

static bytes content_of(const struct kind &kind, const std::vector<struct photo> &photos,
                        uint32_t i) {
    bytes rgb = kind.noise       ? noise_of(kind.width, kind.height, i)
                : photos.empty() ? make(kind.width, kind.height, i)
                                 : cut(photos[i % photos.size()], kind.width, kind.height);
    if (kind.channels == 3) return rgb;
    bytes gray(rgb.size() / 3);
    for (size_t p = 0; p < gray.size(); p++) gray[p] = rgb[3 * p + 1];
    return gray;
}

static void make_turns(struct scene &scene, int batch) {
    const size_t each = scene.contents[0].size(), room = 3 * each + 4096;
    const size_t turns = std::max<size_t>(1, scene.images.size() / batch);
    const struct jpeg_encode_needs needs = jpeg_encode_needs(scene.images.data(), batch);
    struct jpeg_encode_batch turn = {};
    turn.count = batch;
    turn.pinned_bytes = needs.pinned_bytes;
    turn.scratch_bytes = needs.fixed_bytes + room * batch;
    turn.out_bytes = std::min<size_t>(room * batch, UINT32_MAX);
    turn.stream = scene.stream;
    TRY(cudaMalloc(&turn.scratch, turn.scratch_bytes));
    TRY(cudaMalloc((void **)&turn.out, turn.out_bytes));
    for (size_t t = 0; t < turns; t++) {
        TRY(cudaMallocHost(&turn.pinned, turn.pinned_bytes));
        turn.images = scene.images.data() + t * batch;
        scene.turns.push_back(turn);
    }
}

static void free_turns(struct scene &scene) {
    TRY(cudaFree(scene.turns[0].scratch));
    TRY(cudaFree(scene.turns[0].out));
    for (struct jpeg_encode_batch &turn : scene.turns) TRY(cudaFreeHost(turn.pinned));
    scene.turns.clear();
}

static void make_images(struct scene &scene, const struct kind &kind) {
    const size_t each = scene.contents[0].size(), stride = (each + 255) / 256 * 256;
    const int most = *std::max_element(kind.batches.begin(), kind.batches.end());
    const size_t count = std::max<size_t>(most, ROTATED_BYTES / stride + 1);
    TRY(cudaMalloc((void **)&scene.pixels, stride * count));
    for (size_t i = 0; i < count; i++) {
        struct jpeg_encode_image image = {};
        image.image = host_image(kind, scene.contents[i % CONTENTS]);
        TRY(cudaMemcpy(scene.pixels + i * stride, image.image.pixels, each,
                       cudaMemcpyHostToDevice));
        image.image.pixels = scene.pixels + i * stride;
        image.quality = kind.quality;
        image.room = SIZE_MAX;
        scene.images.push_back(image);
    }
}

static void launch_turn(struct scene &scene, size_t number) {
    struct failure failure = {};
    const struct jpeg_encode_batch &turn = scene.turns[number % scene.turns.size()];
    demand(jpeg_encode_launch(scene.encoder, &turn, &failure) == STATUS_OK, failure.message);
}

/* ---- right? */

static void compare(struct scene &scene, const struct kind &kind) {
    const struct jpeg_encode_batch &turn = scene.turns[0];
    std::vector<bytes> wanted;
    launch_turn(scene, 0);
    TRY(cudaStreamSynchronize(scene.stream));
    const struct jpeg_encode_result *results = jpeg_encode_results(&turn);
    double sum = 0;
    for (int i = 0; i < turn.count; i++) {
        demand(results[i].verdict == JPEG_ENCODE_WRITTEN, "a picture was refused");
        sum += results[i].bytes;
        bytes found(results[i].bytes);
        TRY(cudaMemcpy(found.data(), turn.out + results[i].offset, found.size(),
                       cudaMemcpyDeviceToHost));
        if (i < CONTENTS) {
            struct encode_options options = encode_options_default;
            struct failure failure = {};
            uint32_t notes = 0;
            size_t length = 0;
            const struct image image = host_image(kind, scene.contents[i]);
            bytes file(codec_encode_bound(&image, NULL, FORMAT_JPEG));
            options.quality = (int)kind.quality;
            demand(codec_encode(&image, NULL, &options, NULL, file.data(), file.size(), &length,
                                &notes, &failure) == STATUS_OK,
                   failure.message);
            file.resize(length);
            wanted.push_back(file);
        }
        demand(found == wanted[i % CONTENTS], "a file is not the CPU codec's");
    }
    scene.mean_bytes = sum / turn.count;
}

/* ---- times */

/* Keeps the stream busy while the host queues what is to be measured. */
static __global__ void hold_stream(long long cycles) {
    const long long until = clock64() + cycles;
    while (clock64() < until) {
    }
}

/* The median time of WORK(number), in microseconds each. */
template <class Work> static double median_us(cudaStream_t stream, int train, const Work &work) {
    cudaEvent_t events[ROUNDS + 1];
    std::vector<double> us;
    size_t number = 0;
    for (cudaEvent_t &event : events) TRY(cudaEventCreate(&event));
    for (int i = 0; i < 4; i++) work(number++);
    hold_stream<<<1, 1, 0, stream>>>(4000000);
    TRY(cudaEventRecord(events[0], stream));
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < train; k++) work(number++);
        TRY(cudaEventRecord(events[i + 1], stream));
    }
    TRY(cudaStreamSynchronize(stream));
    for (int i = 0; i < ROUNDS; i++) {
        float ms;
        TRY(cudaEventElapsedTime(&ms, events[i], events[i + 1]));
        us.push_back(1e3 * ms / train);
    }
    for (cudaEvent_t &event : events) TRY(cudaEventDestroy(event));
    std::sort(us.begin(), us.end());
    return us[ROUNDS / 2];
}

static double alone_us(struct scene &scene) {
    std::vector<double> us;
    for (int i = 0; i < 51; i++) {
        const auto start = std::chrono::steady_clock::now();
        launch_turn(scene, i);
        TRY(cudaStreamSynchronize(scene.stream));
        us.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                .count());
    }
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
}

/* The first KERNELS of the three. Without the second nobody sets the counter back. */
static double stage_us(struct scene &scene, int train, int kernels) {
    std::vector<struct batch> batches;
    for (const struct jpeg_encode_batch &turn : scene.turns) {
        const struct totals totals = totals_of(turn.images, turn.count);
        struct host_part part;
        batches.push_back(make_batch(scene.encoder, &turn, totals, part));
        if (turn.count > FEW)
            TRY(cudaMemcpy((void *)batches.back().many, part.sources, part.many_bytes,
                           cudaMemcpyHostToDevice));
    }
    /* All turns share their scratch, so all kernels see the last turn's many sources. */
    return median_us(scene.stream, train, [&](size_t number) {
        const struct batch &batch = batches[number % batches.size()];
        const struct launch_shape place = { batch.count, PLACE_THREADS, 0,
                                            scene.encoder->overlaps };
        TRY(launch_tiles(batch, scene.stream));
        if (kernels > 1)
            TRY(launch(place_kernel, place, scene.stream, batch));
        else
            TRY(cudaMemsetAsync(&batch.tables->places_taken, 0, 4, scene.stream));
    });
}

static void measure_kernels(struct scene &scene, const struct kind &kind, int batch, bool rolled) {
    const int train = batch < 32 ? 24 : 4;
    rolled_tiles_max = rolled ? UINT32_MAX : 0;
    compare(scene, kind);
    const double all = median_us(scene.stream, train, [&](size_t n) { launch_turn(scene, n); });
    const double alone = alone_us(scene);
    const double tile = stage_us(scene, train, 1), place = stage_us(scene, train, 2);
    printf("%-28s %5d %-8s %8.1f KB %9.2f us/image %10.0f/s   alone %8.1f us   tile %7.2f  +place "
           "%7.2f\n",
           kind.name, batch, rolled ? "rolled" : "unrolled", scene.mean_bytes / 1e3, all / batch,
           1e6 * batch / all, alone, tile / batch, place / batch);
    fflush(stdout);
}

static void measure(struct scene &scene, const struct kind &kind, int batch) {
    make_turns(scene, batch);
    for (bool rolled : { false, true }) measure_kernels(scene, kind, batch, rolled);
    free_turns(scene);
}

static void measure_kind(const struct kind &kind, const std::vector<struct photo> &photos) {
    struct scene scene = {};
    struct failure failure = {};
    TRY(cudaStreamCreateWithFlags(&scene.stream, cudaStreamNonBlocking));
    demand(jpeg_encoder_create(&scene.encoder, &failure) == STATUS_OK, failure.message);
    for (uint32_t i = 0; i < CONTENTS; i++) scene.contents.push_back(content_of(kind, photos, i));
    make_images(scene, kind);
    for (int batch : kind.batches) measure(scene, kind, batch);
    TRY(cudaFree(scene.pixels));
    jpeg_encoder_destroy(scene.encoder);
    TRY(cudaStreamDestroy(scene.stream));
}

int main(void) {
    const std::vector<struct photo> photos = read_photos();
    const struct kind kinds[] = {
        { "1920x1080 4:2:0 q85", 1920, 1080, 3, 85, false, { 1, 8, 32, 128 } },
        { "320x240 4:2:0 q85", 320, 240, 3, 85, false, { 1, 32, 256, 1024 } },
        { "1920x1080 4:4:4 q95", 1920, 1080, 3, 95, false, { 32 } },
        { "1920x1080 gray q85", 1920, 1080, 1, 85, false, { 32 } },
        { "1919x1079 4:2:0 q85", 1919, 1079, 3, 85, false, { 32 } },
        { "1920x1080 4:2:0 q85 noise", 1920, 1080, 3, 85, true, { 32 } },
    };
    printf("pictures: %zu photographs of $PHOTOS%s\n", photos.size(),
           photos.empty() ? ", made ones instead" : "");
    for (const struct kind &kind : kinds) measure_kind(kind, photos);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* A HEIC by the code for GPUs, run on the CPU, against the CPU's codec, sample for sample. The
 * video engine is played by libde265, whose planes are laid out as an engine's: with other samples
 * around them, and noise in the bits below those of a sample.
 * covers: cuda/codecs/hevc_decode/canvas.cuh cuda/codecs/hevc_decode/pixels.cuh
 * covers: pipeline/codecs/heic/still.c pipeline/codecs/heic/header.c */
#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

enum cudaError_t { cudaSuccess, cudaErrorUnknown };
enum cudaMemcpyKind { cudaMemcpyDeviceToDevice };
typedef int *cudaEvent_t; /* counts how often the event is recorded */
struct dim {
    unsigned x, y;
};
static dim blockIdx, threadIdx;

static cudaError_t cudaMemcpy2DAsync(void *to, size_t stride, const void *from, size_t pitch,
                                     size_t width, size_t height, cudaMemcpyKind, cudaStream_t) {
    for (size_t y = 0; y < height; y++)
        memcpy((uint8_t *)to + y * stride, (const uint8_t *)from + y * pitch, width);
    return cudaSuccess;
}

static cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}

static cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    ++*event;
    return cudaSuccess;
}

static cudaError_t cudaGetDevice(int *index) {
    *index = 0;
    return cudaSuccess;
}

#include <csetjmp>
#include <cstdarg>

extern "C" {
#include "pipeline/codecs/heic/header.h"
#include "pipeline/codecs/heic/library.h"
#include "pipeline/codecs/heic/tile.h"
#include "tests/noise.h"

#include <cmocka.h>
}

#include "cuda/codecs/hevc_decode/pixels.cuh"

typedef std::vector<uint8_t> bytes;

static bytes read_file(const std::string &path) {
    bytes data(1 << 16);
    FILE *in = fopen(path.c_str(), "rb");
    assert_non_null(in);
    data.resize(fread(data.data(), 1, data.size(), in));
    fclose(in);
    return data;
}

/* ---- the engine */

static const heic_still *decoded;
static int layer; /* that is decoded next */

static void put_plane(bytes &frame, size_t at, size_t pitch, unsigned bits, const uint8_t *from,
                      size_t stride, uint32_t width, uint32_t height, size_t step) {
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint8_t *to = &frame[at + y * pitch + x * step * (bits > 8 ? 2 : 1)];
            const uint8_t *row = from + y * stride;
            if (bits > 8)
                *(uint16_t *)to = (uint16_t)(((const uint16_t *)row)[x] << (16 - bits) |
                                             (*(uint16_t *)to & ((1 << (16 - bits)) - 1)));
            else
                *to = row[x];
        }
}

static bool play(const video_picture &picture, const isobmff_tile &tile, uint32_t number,
                 const video_taker *taker) {
    const hevc_parameters &p = *picture.parameters;
    const isobmff_tiling &tiling = decoded->header.tiling[layer];
    hevc_configuration configuration;
    hevc_picture planes;
    assert_null(
        heic_configuration_read(decoded->bytes, &tile.configuration, &tiling, &configuration));
    assert_true(picture.slice.bytes > decoded->bytes + tile.coded.at &&
                picture.slice.bytes + picture.slice.length <=
                    decoded->bytes + tile.coded.at + tile.coded.length);
    assert_int_equal(hevc_picture_decode(&planes, &configuration, decoded->bytes + tile.coded.at,
                                         tile.coded.length, false, NULL),
                     STATUS_OK);
    assert_null(planes.damage);
    const size_t sample = p.bits > 8 ? 2 : 1, pitch = p.width * sample + 64;
    bytes frame(pitch * p.height * 3 / 2);
    uint32_t noise = number + 1;
    for (uint8_t &byte : frame) byte = (uint8_t)noise_next(&noise);
    const size_t chroma = pitch * p.height;
    put_plane(frame, p.top * pitch + p.left * sample, pitch, p.bits, planes.planes[0],
              planes.strides[0], tiling.width, tiling.height, 1);
    for (int c = 0; c < 2; c++)
        put_plane(frame, chroma + p.top / 2 * pitch + (p.left + c) * sample, pitch, p.bits,
                  planes.planes[1 + c], planes.strides[1 + c], tiling.width / 2, tiling.height / 2,
                  2);
    const uint64_t at = (uint64_t)(uintptr_t)frame.data();
    const video_frame given = { at, at + chroma, pitch };
    hevc_picture_release(&planes);
    return taker->take(taker->context, number, &given);
}

bool video_engine_decode(int gpu, const video_picture *pictures, uint32_t count,
                         const video_taker *taker) {
    isobmff_tiling tiling;
    std::vector<isobmff_tile> tiles(ISOBMFF_ITEMS_MAX);
    assert_int_equal(gpu, 0);
    assert_null(isobmff_tiles(decoded->bytes, decoded->length, &decoded->header.picture, layer,
                              &tiling, tiles.data()));
    assert_int_equal(count, tiling.columns * tiling.rows);
    usleep(1000); /* as if others had the engine */
    taker->begin(taker->context);
    for (uint32_t i = 0; i < count; i++) assert_true(play(pictures[i], tiles[i], i, taker));
    layer++;
    return taker->wait(taker->context);
}

/* ---- the GPU */

static void run_kernel(const heic_still &still, const canvas &canvas, const image &into) {
    const pixels pixels = pixels_of(&still, &canvas, &into);
    const unsigned across = (into.width + PIXELS_SIDE - 1) / PIXELS_SIDE;
    const unsigned down = (into.height + PIXELS_SIDE - 1) / PIXELS_SIDE;
    for (unsigned i = 0; i < across * down * PIXELS_SIDE * PIXELS_SIDE; i++) {
        const unsigned thread = i % (PIXELS_SIDE * PIXELS_SIDE);
        const unsigned block = i / (PIXELS_SIDE * PIXELS_SIDE);
        threadIdx = { thread % PIXELS_SIDE, thread / PIXELS_SIDE };
        blockIdx = { block % across, block / across };
        if (canvas.bits > 8)
            canvas.alpha ? pixels_kernel<true, true>(pixels) : pixels_kernel<true, false>(pixels);
        else
            canvas.alpha ? pixels_kernel<false, true>(pixels) : pixels_kernel<false, false>(pixels);
    }
}

static void decode(const heic_still &still, const image &into) {
    size_t size;
    place_canvas(&still, NULL, &size);
    bytes work(size + 64, 0x5a);
    const canvas canvas = place_canvas(&still, work.data(), &size);
    ycbcr tables;
    assert_true(make_tables(&still, &canvas, &tables));
    memcpy(canvas.tables, tables.tables, canvas_table_bytes(canvas.bits));
    ycbcr_release(&tables);
    decoded = &still;
    layer = 0;
    int recorded = 0;
    engine_wait wait = { NULL, false, 0, { &recorded, NULL } };
    for (int i = 0; i < 1 + still.header.picture.alpha; i++) {
        bool whole = false;
        assert_int_equal(decode_tiles(NULL, &still, i, &canvas, &wait, &whole), cudaSuccess);
        assert_true(whole);
    }
    assert_int_equal(recorded, 1);
    assert_true(wait.ms >= 1);
    run_kernel(still, canvas, into);
    for (size_t i = size; i < work.size(); i++) assert_int_equal(work[i], 0x5a);
}

/* ---- tests */

static void compare(const std::string &name) {
    const bytes file = read_file(name);
    failure failure = {};
    probe probe;
    heic_still still;
    metadata cpu_metadata = {}, gpu_metadata = {};
    uint32_t cpu_notes = 0, gpu_notes = 0;
    assert_int_equal(
        probe_image(file.data(), file.size(), &codec_limits_default.probe, &probe, &failure),
        STATUS_OK);
    if (!heic_still_read(file.data(), file.size(), &probe, &codec_limits_default, &still))
        fail_msg("%s is not taken", name.c_str());
    image by_cpu = probe.shape;
    by_cpu.stride += 64 - by_cpu.stride % 32;
    image by_gpu = by_cpu;
    bytes cpu(image_bytes(&by_cpu), 0x11), gpu(image_bytes(&by_cpu), 0x11);
    by_cpu.pixels = cpu.data();
    by_gpu.pixels = gpu.data();
    assert_int_equal(codec_decode(file.data(), file.size(), &probe, &codec_limits_default, NULL,
                                  &by_cpu, &cpu_metadata, &cpu_notes, &failure),
                     STATUS_OK);
    decode(still, by_gpu);
    if (cpu != gpu) fail_msg("%s differs", name.c_str());
    assert_int_equal(codec_read_metadata(file.data(), file.size(), &probe, &codec_limits_default,
                                         &gpu_metadata, &gpu_notes, &failure),
                     STATUS_OK);
    assert_int_equal(cpu_notes, gpu_notes | still.notes);
    assert_int_equal(cpu_metadata.profile_length, gpu_metadata.profile_length);
    if (cpu_metadata.profile_length)
        assert_memory_equal(cpu_metadata.profile, gpu_metadata.profile,
                            cpu_metadata.profile_length);
    metadata_release(&cpu_metadata);
    metadata_release(&gpu_metadata);
}

static void test_each_file(void **) {
    const std::string folder = "tests/fuzz/corpus/heic_still/";
    if (heic_reading_missing()) skip();
    DIR *files = opendir(folder.c_str());
    int count = 0;
    assert_non_null(files);
    while (const dirent *entry = readdir(files))
        if (entry->d_name[0] != '.') compare(folder + entry->d_name), count++;
    closedir(files);
    assert_true(count > 20);
}

/* Pictures of the CPU's codec alone: other chroma, small tiles, several slices, broken ones. */
static void test_others(void **) {
    const std::string folder = "tests/fuzz/corpus/heic/";
    static const char *const names[] = { "alpha_icc",           "gray_cut",
                                         "grid_turned_cropped", "one",
                                         "one_slice_of_two",    "ten_bits_422",
                                         "twelve_bits_444",     "two_slices" };
    for (const char *name : names) {
        const bytes file = read_file(folder + name + ".heic");
        failure failure = {};
        probe probe;
        heic_still still;
        if (!probe_image(file.data(), file.size(), &codec_limits_default.probe, &probe, &failure))
            assert_false(
                heic_still_read(file.data(), file.size(), &probe, &codec_limits_default, &still));
    }
}

/* A picture that takes too much memory on the CPU is refused for a GPU too. */
static void test_memory(void **) {
    const bytes file = read_file("tests/fuzz/corpus/heic_still/grid.heic");
    codec_limits limits = codec_limits_default;
    probe probe;
    heic_still still;
    assert_int_equal(probe_image(file.data(), file.size(), &limits.probe, &probe, NULL), STATUS_OK);
    assert_true(heic_still_read(file.data(), file.size(), &probe, &limits, &still));
    limits.memory_max = heic_header_memory(&still.header) - 1;
    assert_false(heic_still_read(file.data(), file.size(), &probe, &limits, &still));
    limits.memory_max++;
    probe.width++;
    assert_false(heic_still_read(file.data(), file.size(), &probe, &limits, &still));
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

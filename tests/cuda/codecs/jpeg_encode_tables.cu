// SPDX-License-Identifier: Apache-2.0
/* After a launch that is refused in the middle of a batch, and after a user's kernel that writes
 * over the encoder's tables and counters, the next files equal the CPU codec's. So do the files of
 * both tile kernels, with unrolled loops and without, for batches of every size.
 *
 * How it works. The encoder is compiled into this test, with a launch that the test can refuse.
 * covers: cuda/codecs/jpeg_encode.cu
 */
#include <cuda_runtime.h>

static int launches_left = -1; /* until one is refused; below 0: none is */

template <class... Arguments> static cudaError_t launch_or_refuse(const Arguments &...arguments) {
    if (launches_left-- == 0) return cudaErrorLaunchOutOfResources;
    return cudaLaunchKernelEx(arguments...);
}
#define cudaLaunchKernelEx launch_or_refuse
#include "cuda/codecs/jpeg_encode.cu"

#include <setjmp.h>
#include <stdarg.h>
#include <vector>

extern "C" {
#include "pipeline/codec.h"
#include "tests/noise.h"

#include <cmocka.h>
}

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

enum { PICTURES = 24, QUALITY = 85 };

struct scene {
    struct jpeg_encoder *encoder;
    struct jpeg_encode_batch batch;
    struct image host[PICTURES];
    struct jpeg_encode_image images[PICTURES];
    std::vector<uint8_t> files[PICTURES]; /* the CPU codec's */
};

static void write_file(struct scene &scene, int i) {
    struct encode_options options = encode_options_default;
    struct failure failure = {};
    size_t length = 0;
    uint32_t notes = 0;
    options.quality = (int)scene.images[i].quality;
    scene.files[i].resize(codec_encode_bound(&scene.host[i], NULL, FORMAT_JPEG));
    assert_int_equal(codec_encode(&scene.host[i], NULL, &options, NULL, scene.files[i].data(),
                                  scene.files[i].size(), &length, &notes, &failure),
                     STATUS_OK);
    scene.files[i].resize(length);
}

/* Slopes, and noise where I is odd; gray, 4:2:0 and 4:4:4, the first ones of quality 1 and 100. */
static void make_picture(struct scene &scene, int i) {
    struct image &image = scene.host[i];
    uint32_t state = (uint32_t)i + 1;
    image = image_shape(60 + 37 * (uint32_t)i, 90 + 11 * (uint32_t)i, i % 3 ? 3 : 1, 8);
    image.stride = image_row_bytes(&image) + (size_t)(i % 4);
    image.pixels = (uint8_t *)malloc(image.stride * image.height);
    for (size_t b = 0; b < image.stride * image.height; b++)
        image.pixels[b] = (uint8_t)(b / 7 + (i % 2 ? noise_next(&state) >> 24 : 0));
    scene.images[i].image = image;
    scene.images[i].quality = i == 1 ? 1 : i == 2 ? 100 : i % 5 == 4 ? 97 : QUALITY;
    scene.images[i].room = SIZE_MAX;
    /* Words are read whole. */
    TRY(cudaMalloc((void **)&scene.images[i].image.pixels, image.stride * image.height + 3));
    TRY(cudaMemcpy(scene.images[i].image.pixels, image.pixels, image.stride * image.height,
                   cudaMemcpyHostToDevice));
    write_file(scene, i);
}

/* Strings have just the room that one batch needs, so that counts left behind are felt. */
static void open_scene(struct scene &scene) {
    struct failure failure = {};
    struct jpeg_encode_batch &batch = scene.batch;
    assert_int_equal(jpeg_encoder_create(&scene.encoder, &failure), STATUS_OK);
    for (int i = 0; i < PICTURES; i++) make_picture(scene, i);
    const struct jpeg_encode_needs needs = jpeg_encode_needs(scene.images, PICTURES);
    batch = {};
    batch.images = scene.images;
    batch.count = PICTURES;
    batch.pinned_bytes = needs.pinned_bytes;
    for (const std::vector<uint8_t> &file : scene.files) batch.out_bytes += file.size() + 16;
    batch.scratch_bytes = needs.fixed_bytes + batch.out_bytes +
                          totals_of(scene.images, PICTURES).tiles * JPEG_PLACE_BYTES;
    TRY(cudaStreamCreate(&batch.stream));
    TRY(cudaMallocHost(&batch.pinned, batch.pinned_bytes));
    TRY(cudaMalloc(&batch.scratch, batch.scratch_bytes));
    TRY(cudaMalloc((void **)&batch.out, batch.out_bytes));
}

static void close_scene(struct scene &scene) {
    for (int i = 0; i < PICTURES; i++) {
        TRY(cudaFree(scene.images[i].image.pixels));
        free(scene.host[i].pixels);
    }
    TRY(cudaFreeHost(scene.batch.pinned));
    TRY(cudaFree(scene.batch.scratch));
    TRY(cudaFree(scene.batch.out));
    TRY(cudaStreamDestroy(scene.batch.stream));
    jpeg_encoder_destroy(scene.encoder);
}

/* The first COUNT pictures. */
static void check_files(struct scene &scene, int count) {
    struct failure failure = {};
    scene.batch.count = count;
    TRY(cudaMemset(scene.batch.out, 0xa5, scene.batch.out_bytes));
    assert_int_equal(jpeg_encode_launch(scene.encoder, &scene.batch, &failure), STATUS_OK);
    TRY(cudaStreamSynchronize(scene.batch.stream));
    const struct jpeg_encode_result *results = jpeg_encode_results(&scene.batch);
    for (int i = 0; i < count; i++) {
        assert_int_equal(results[i].verdict, JPEG_ENCODE_WRITTEN);
        assert_int_equal(results[i].bytes, scene.files[i].size());
        std::vector<uint8_t> file(results[i].bytes);
        TRY(cudaMemcpy(file.data(), scene.batch.out + results[i].offset, file.size(),
                       cudaMemcpyDeviceToHost));
        assert_memory_equal(file.data(), scene.files[i].data(), file.size());
    }
}

/* ---- tests */

/* Refuses the first, the second and the third of the three kernels in turn, four times. */
static void test_refused_launches(void **state) {
    (void)state;
    struct scene scene = {};
    open_scene(scene);
    for (int refused = 0; refused < 12; refused++) {
        struct failure failure = {};
        scene.batch.count = PICTURES;
        launches_left = refused % 3;
        assert_int_equal(jpeg_encode_launch(scene.encoder, &scene.batch, &failure),
                         STATUS_INTERNAL);
        launches_left = -1;
        if (refused % 2) check_files(scene, PICTURES);
    }
    check_files(scene, PICTURES);
    close_scene(scene);
}

static void test_overwritten_tables(void **state) {
    (void)state;
    static const int bytes[] = { 0x00, 0x55, 0xff };
    struct scene scene = {};
    struct failure failure = {};
    open_scene(scene);
    for (int byte : bytes) {
        TRY(cudaMemsetAsync(scene.encoder->tables, byte, sizeof *scene.encoder->tables,
                            scene.batch.stream));
        assert_int_equal(jpeg_encoder_restore(scene.encoder, scene.batch.stream, &failure),
                         STATUS_OK);
        check_files(scene, PICTURES);
    }
    close_scene(scene);
}

static void test_both_kinds_of_tiles(void **state) {
    (void)state;
    struct scene scene = {};
    open_scene(scene);
    const uint32_t usual = rolled_tiles_max;
    for (uint32_t most : { 0u, UINT32_MAX, usual })
        for (int count : { 1, 3, 16, 17, (int)PICTURES }) {
            rolled_tiles_max = most;
            check_files(scene, count);
        }
    rolled_tiles_max = usual;
    close_scene(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_launches),
        cmocka_unit_test(test_overwritten_tables),
        cmocka_unit_test(test_both_kinds_of_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

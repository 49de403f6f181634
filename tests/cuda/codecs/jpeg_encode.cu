// SPDX-License-Identifier: Apache-2.0
/* JPEGs that the GPU encodes, beside those of the CPU codec, byte for byte: every size from 1 x 1
 * to 70 x 70 with every sampling and five qualities, in batches that mix all of them; larger ones;
 * rooms that are too small, of which none is written past.
 *
 * How it works. A batch is encoded twice, the second time over 0xa5, and both results are compared.
 * covers: cuda/codecs/jpeg_encode.cu
 */
#include "cuda/codecs/jpeg_encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <vector>

extern "C" {
#include "pipeline/codec.h"
#include "tests/noise.h"

#include <cmocka.h>
}

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

enum { GUARD = 0xa5, GUARD_BYTES = 64, QUALITIES = 5, KINDS = 8, SIDES = 70 };

/* From one side to the next; 1: the full cross, and pictures of megapixels. */
static uint32_t side_step = 1;

static const int qualities[QUALITIES] = { 1, 50, 85, 95, 100 };

/* ---- pictures */

struct picture {
    struct image host, device;
    int quality;
    const uint8_t *profile, *exif; /* half of EXIF's bytes are XMP too */
    size_t profile_length, exif_length;
    size_t room; /* 0: as much as it may need */
};

static uint8_t sample_of(int kind, uint32_t x, uint32_t y, uint32_t noise) {
    switch (kind) {
    case 0: return (uint8_t)noise;
    case 1: return noise & 0x80 ? 255 : 0;
    case 2: return 200;
    case 3: return (uint8_t)(3 * x + 2 * y);
    case 4: return (uint8_t)(128 + (x * 3 + y * 2) % 97 + noise % 8);
    case 5: return y % 16 < 9 && x % 7 < 5 && (noise & 96) ? 20 : 255; /* as text */
    case 6: return x / 3 % 2 ? 230 : 30;
    default: return 255;
    }
}

/* MORE bytes between rows. */
static struct picture make_picture(uint32_t width, uint32_t height, unsigned channels, int kind,
                                   size_t more, int quality) {
    struct picture picture = {};
    struct image &image = picture.host;
    uint32_t state = width * 977 + height;
    image = image_shape(width, height, channels, 8);
    image.stride = image_row_bytes(&image) + more;
    image.pixels = (uint8_t *)malloc(image.stride * height);
    memset(image.pixels, GUARD, image.stride * height);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width * channels; x++)
            image_row(&image, y)[x] =
                sample_of(kind, x / channels + 5 * (x % channels), y, noise_next(&state) >> 16);
    picture.quality = quality;
    return picture;
}

/* All in one allocation, each at a multiple of 8 bytes, of 256 or of 1, in turn. */
static uint8_t *upload(std::vector<struct picture> &pictures) {
    size_t bytes = 0;
    uint8_t *memory;
    for (size_t i = 0; i < pictures.size(); i++) {
        const size_t align = i % 3 == 0 ? 256 : i % 3 == 1 ? 8 : 1;
        bytes = (bytes + align - 1) / align * align;
        pictures[i].device = pictures[i].host;
        pictures[i].device.pixels = (uint8_t *)bytes;
        bytes += pictures[i].host.stride * pictures[i].host.height + 16;
    }
    TRY(cudaMalloc((void **)&memory, bytes));
    for (struct picture &picture : pictures) {
        picture.device.pixels = memory + (size_t)picture.device.pixels;
        TRY(cudaMemcpy(picture.device.pixels, picture.host.pixels,
                       picture.host.stride * picture.host.height, cudaMemcpyHostToDevice));
    }
    return memory;
}

/* ---- the codec's files */

static std::vector<uint8_t> codec_file(const struct picture &picture) {
    struct encode_options options = encode_options_default;
    struct metadata metadata = {};
    struct failure failure = {};
    size_t length = 0;
    uint32_t notes = 0;
    metadata.profile = (uint8_t *)picture.profile;
    metadata.profile_length = picture.profile_length;
    metadata.texts.exif[METADATA_KEEP] = metadata.texts.xmp = (uint8_t *)picture.exif;
    metadata.texts.exif_length[METADATA_KEEP] = picture.exif_length;
    metadata.texts.xmp_length = picture.exif_length / 2;
    options.metadata = METADATA_KEEP;
    options.quality = picture.quality;
    std::vector<uint8_t> file(codec_encode_bound(&picture.host, &metadata, options.format));
    assert_int_equal(codec_encode(&picture.host, &metadata, &options, NULL, file.data(),
                                  file.size(), &length, &notes, &failure),
                     STATUS_OK);
    file.resize(length);
    return file;
}

/* ---- the GPU's */

struct bench {
    struct jpeg_encoder *encoder;
    cudaStream_t stream;
};

struct answer {
    std::vector<struct jpeg_encode_result> results;
    std::vector<uint8_t> out; /* with GUARD_BYTES behind */
};

/* The memory that a batch may use; 0: enough. */
struct limits {
    size_t out_bytes, string_bytes;
};

static struct bench *new_bench(void) {
    struct bench *bench = new struct bench();
    struct failure failure = {};
    TRY(cudaStreamCreate(&bench->stream));
    assert_int_equal(jpeg_encoder_create(&bench->encoder, &failure), STATUS_OK);
    return bench;
}

static void free_bench(struct bench *bench) {
    jpeg_encoder_destroy(bench->encoder);
    TRY(cudaStreamDestroy(bench->stream));
    delete bench;
}

static std::vector<struct jpeg_encode_image>
images_of(const std::vector<struct picture> &pictures) {
    std::vector<struct jpeg_encode_image> images;
    for (const struct picture &picture : pictures) {
        struct jpeg_encode_image image = {};
        assert_true(jpeg_encode_takes(&picture.device));
        image.image = picture.device;
        image.quality = (unsigned)picture.quality;
        image.carried.profile = picture.profile;
        image.carried.profile_length = picture.profile_length;
        image.carried.exif = picture.exif;
        image.carried.exif_length = picture.exif_length;
        image.carried.xmp = picture.exif;
        image.carried.xmp_length = picture.exif_length / 2;
        image.room = picture.room ? picture.room : SIZE_MAX;
        images.push_back(image);
    }
    return images;
}

static struct answer run(struct bench *bench, const std::vector<struct picture> &pictures,
                         const struct limits &limits, uint8_t paint) {
    const std::vector<struct jpeg_encode_image> images = images_of(pictures);
    const int count = (int)images.size();
    const struct jpeg_encode_needs needs = jpeg_encode_needs(images.data(), count);
    struct jpeg_encode_batch batch = {};
    struct failure failure = {};
    struct answer answer;
    size_t out_bytes = limits.out_bytes;
    for (int i = 0; i < count && !limits.out_bytes; i++)
        out_bytes += codec_encode_bound(&pictures[i].host, NULL, FORMAT_JPEG) + 16 +
                     2 * carried_bytes(&images[i].carried);
    batch.images = images.data();
    batch.count = count;
    batch.pinned_bytes = needs.pinned_bytes;
    batch.scratch_bytes =
        needs.fixed_bytes + (limits.string_bytes ? limits.string_bytes : needs.string_bytes_max);
    batch.out_bytes = out_bytes;
    batch.stream = bench->stream;
    TRY(cudaMallocHost(&batch.pinned, batch.pinned_bytes));
    TRY(cudaMalloc(&batch.scratch, batch.scratch_bytes));
    TRY(cudaMalloc((void **)&batch.out, out_bytes + GUARD_BYTES));
    TRY(cudaMemset(batch.scratch, paint, batch.scratch_bytes));
    TRY(cudaMemset(batch.out, GUARD, out_bytes + GUARD_BYTES));
    assert_int_equal(jpeg_encode_launch(bench->encoder, &batch, &failure), STATUS_OK);
    TRY(cudaStreamSynchronize(bench->stream));
    answer.results.assign(jpeg_encode_results(&batch), jpeg_encode_results(&batch) + count);
    answer.out.resize(out_bytes + GUARD_BYTES);
    TRY(cudaMemcpy(answer.out.data(), batch.out, answer.out.size(), cudaMemcpyDeviceToHost));
    TRY(cudaFreeHost(batch.pinned));
    TRY(cudaFree(batch.scratch));
    TRY(cudaFree(batch.out));
    return answer;
}

/* ---- comparisons */

static void check_file(const struct picture &picture, const struct answer &answer, size_t i) {
    const struct jpeg_encode_result &result = answer.results[i];
    const std::vector<uint8_t> wanted = codec_file(picture);
    const bool fits = !picture.room || wanted.size() <= picture.room;
    assert_int_equal(result.verdict, fits ? JPEG_ENCODE_WRITTEN : JPEG_ENCODE_TOO_LARGE);
    assert_int_equal(result.needed, wanted.size());
    assert_int_equal(result.bytes, fits ? wanted.size() : 0);
    if (!fits || memcmp(answer.out.data() + result.offset, wanted.data(), wanted.size()) == 0)
        return;
    size_t at = 0;
    while (answer.out[result.offset + at] == wanted[at]) at++;
    fail_msg("image %zu, %u x %u, %u channels, quality %d: byte %zu of %zu is %02x, not %02x", i,
             picture.host.width, picture.host.height, picture.host.channels, picture.quality, at,
             wanted.size(), answer.out[result.offset + at], wanted[at]);
}

/* Nothing is written but the files: not between them, not behind them. */
static void check_rest(const struct answer &answer) {
    size_t end = 0;
    for (const struct jpeg_encode_result &result : answer.results) {
        if (result.verdict != JPEG_ENCODE_WRITTEN) continue;
        for (; end < result.offset; end++) assert_int_equal(answer.out[end], GUARD);
        end = (size_t)result.offset + result.bytes;
    }
    for (; end < answer.out.size(); end++) assert_int_equal(answer.out[end], GUARD);
}

static void free_pictures(std::vector<struct picture> &pictures) {
    for (struct picture &picture : pictures) free(picture.host.pixels);
    pictures.clear();
}

static void check_batch(struct bench *bench, std::vector<struct picture> &pictures) {
    const struct limits limits = {};
    uint8_t *memory = upload(pictures);
    const struct answer first = run(bench, pictures, limits, 0);
    const struct answer second = run(bench, pictures, limits, 0xff);
    for (size_t i = 0; i < pictures.size(); i++) check_file(pictures[i], first, i);
    check_rest(first);
    assert_memory_equal(first.results.data(), second.results.data(),
                        first.results.size() * sizeof first.results[0]);
    assert_memory_equal(first.out.data(), second.out.data(), first.out.size());
    TRY(cudaFree(memory));
    free_pictures(pictures);
}

/* ---- tests */

/* Batches of every number of images: the last one has what is left. */
static void test_every_small_size(void **state) {
    (void)state;
    struct bench *bench = new_bench();
    std::vector<struct picture> pictures;
    unsigned round = 0;
    size_t most = 1;
    for (uint32_t height = 1; height <= SIDES; height += side_step)
        for (uint32_t width = 1; width <= SIDES; width += side_step)
            for (unsigned which = 0; which < 2 * QUALITIES; which++, round++) {
                pictures.push_back(make_picture(width, height, which % 2 ? 3 : 1,
                                                (int)(round / 3 % KINDS), round % 5,
                                                qualities[which / 2]));
                if (pictures.size() < most) continue;
                check_batch(bench, pictures);
                most = most * 7 / 4 + 1;
                if (most > JPEG_ENCODE_IMAGES_MAX) most = JPEG_ENCODE_IMAGES_MAX;
            }
    if (!pictures.empty()) check_batch(bench, pictures);
    free_bench(bench);
}

static void test_larger_sizes(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 513 },     { 513, 1 },     { 4097, 3 },
                                         { 3, 4097 },    { 641, 479 },   { 528, 33 },
                                         { 1919, 1079 }, { 1920, 1080 }, { 6000, 4000 } };
    struct bench *bench = new_bench();
    std::vector<struct picture> pictures;
    for (const uint32_t *size : sizes) {
        if (side_step > 1 && size[0] * size[1] > 400000) continue;
        for (int kind = 0; kind < KINDS; kind++)
            for (unsigned channels = 1; channels <= 3; channels += 2)
                pictures.push_back(make_picture(size[0], size[1], channels, kind, kind * 4,
                                                qualities[(kind + channels) % QUALITIES]));
        check_batch(bench, pictures);
    }
    free_bench(bench);
}

static void test_profiles(void **state) {
    (void)state;
    static uint8_t profile[200000];
    static const size_t lengths[] = { 128, 3144, 65519, 65520, sizeof profile };
    struct bench *bench = new_bench();
    std::vector<struct picture> pictures;
    uint32_t noise = 9;
    for (uint8_t &byte : profile) byte = (uint8_t)(noise_next(&noise) >> 24);
    memcpy(profile + 16, "RGB ", 4);
    for (size_t length : lengths) {
        pictures.push_back(make_picture(33, 17, 3, 4, 0, 85));
        pictures.back().profile = profile;
        pictures.back().profile_length = length;
        pictures.push_back(make_picture(40, 9, 3, 4, 0, 85));
        pictures.back().exif = profile;
        pictures.back().exif_length = std::min(length, (size_t)METADATA_MAX);
    }
    check_batch(bench, pictures);
    free_bench(bench);
}

/* One byte more or less, of every other image of a batch: the others are as they were. */
static void test_rooms_that_are_too_small(void **state) {
    (void)state;
    struct bench *bench = new_bench();
    std::vector<struct picture> pictures;
    for (uint32_t i = 0; i < 60; i++) {
        pictures.push_back(make_picture(20 + 7 * i, 90 - i, i % 4 ? 3 : 1, (int)(i % KINDS), i % 3,
                                        qualities[i % QUALITIES]));
        const size_t bytes = codec_file(pictures.back()).size();
        const size_t rooms[] = { 0, bytes, bytes - 1, 1 };
        pictures.back().room = rooms[i % 4];
    }
    check_batch(bench, pictures);
    free_bench(bench);
}

/* Memory grows from too little to enough: files reported as written are right, others leave no
 * trace. */
static void test_memory_that_is_too_small(void **state) {
    (void)state;
    struct bench *bench = new_bench();
    std::vector<struct picture> pictures;
    unsigned refused = 0, written = 0;
    for (uint32_t i = 0; i < 24; i++)
        pictures.push_back(make_picture(64, 40 + i, 3, (int)(i % 2 * 4), 0, 85));
    uint8_t *memory = upload(pictures);
    for (size_t room = 64; room < 300000; room = room * 3 / 2)
        for (int which = 0; which < 2; which++) {
            const struct limits limits = { which ? 0 : room, which ? room : 0 };
            const struct answer answer = run(bench, pictures, limits, GUARD);
            for (size_t i = 0; i < pictures.size(); i++) {
                const uint32_t verdict = answer.results[i].verdict;
                if (verdict == JPEG_ENCODE_WRITTEN) check_file(pictures[i], answer, i), written++;
                refused += verdict == (which ? JPEG_ENCODE_NO_SCRATCH : JPEG_ENCODE_TOO_LARGE);
            }
            check_rest(answer);
        }
    assert_true(written > 50);
    assert_true(refused > 50);
    check_batch(bench, pictures); /* and all is well again; it uploads them once more */
    TRY(cudaFree(memory));
    free_bench(bench);
}

/* `small`: for tools that are a hundred times slower. */
int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "small") == 0) side_step = 11;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_size),
        cmocka_unit_test(test_larger_sizes),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_rooms_that_are_too_small),
        cmocka_unit_test(test_memory_that_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

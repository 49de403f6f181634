// SPDX-License-Identifier: Apache-2.0
/* The GPU's own JPEG decoder beside the CPU's codec: every byte of every file that it accepts, and
 * nothing written beside the pixels. What it refuses is told, and must leave results untouched. */
#include "cuda/jpeg_lane.h"

#include "cuda/nvjpeg.h"
#include "pipeline/timing.h"
#include "tests/cuda/jpeg_files.h"

#include <pthread.h>

/* Of the CUDA runtime, whose header gcc is not shown. */
extern int cudaSetDevice(int device);
extern int cudaMalloc(void **memory, size_t bytes);
extern int cudaFree(void *memory);
extern int cudaMemset(void *memory, int value, size_t bytes);
extern int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
extern int cudaStreamCreateWithFlags(struct CUstream_st **stream, unsigned flags);
extern int cudaStreamSynchronize(struct CUstream_st *stream);
extern int cudaStreamDestroy(struct CUstream_st *stream);
extern int cudaDeviceSynchronize(void);
enum { TO_HOST = 2, NON_BLOCKING = 1 };

enum { BATCH_MAX = 64, GUARD = 4096, ALIGN = 256, PATTERN = 0xa5, LANES = 4, ROUNDS = 20 };

static struct jpeg_library *library;
static struct jpeg_lane *lane;
static struct CUstream_st *stream;

/* ---- one batch in memory of its own: guard, planes, then guard and image by turns, and guard */

struct place {
    uint8_t *device, *host; /* the same bytes */
    size_t bytes, planes, images[BATCH_MAX];
    size_t planes_end;
};

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Rows with some padding always; every third image at odd addresses. */
static void place_lay_out(struct place *place, struct device_jpeg *jpegs, int count) {
    place->planes = GUARD;
    place->planes_end = place->planes + jpeg_lane_work(jpegs, count);
    place->bytes = aligned(place->planes_end);
    for (int i = 0; i < count; i++) {
        jpegs[i].into.stride += i % 3 == 2 ? 5 : 16;
        place->images[i] = place->bytes + GUARD + (i % 3 == 2);
        place->bytes = aligned(place->images[i] + image_bytes(&jpegs[i].into));
    }
    place->bytes += GUARD;
}

static bool place_take(struct place *place, struct device_jpeg *jpegs, int count) {
    void *memory = NULL;
    place_lay_out(place, jpegs, count);
    if (cudaMalloc(&memory, place->bytes) || cudaMemset(memory, PATTERN, place->bytes) ||
        cudaDeviceSynchronize())
        return false;
    place->device = memory;
    place->host = malloc(place->bytes);
    for (int i = 0; i < count; i++) jpegs[i].into.pixels = place->device + place->images[i];
    return place->host != NULL;
}

static void place_free(struct place *place) {
    cudaFree(place->device);
    free(place->host);
}

/* Threads other than cmocka's call these: they tell and return. */
static bool is_pattern(const struct place *place, size_t from, size_t to, const char *where) {
    size_t i = from;
    while (i < to && place->host[i] == PATTERN) i++;
    if (i < to) print_error("%s: byte %zu of %zu was written\n", where, i - from, to - from);
    return i == to;
}

static bool row_right(const struct place *place, size_t at, const struct sample *sample, uint32_t y,
                      const char *name) {
    const uint8_t *wanted = image_row(&sample->wanted, y), *found = place->host + at;
    const size_t length = image_row_bytes(&sample->wanted);
    size_t x = 0;
    while (x < length && found[x] == wanted[x]) x++;
    if (x < length)
        print_error("%s: sample %zu of row %u is %u, not %u\n", name, x, y, found[x], wanted[x]);
    return x == length;
}

static bool pixels_right(const struct place *place, int index, const struct sample *sample,
                         const struct image *into, bool written) {
    char name[128];
    name_sample(sample, name);
    for (uint32_t y = 0; y < into->height; y++) {
        const size_t at = place->images[index] + y * into->stride;
        const size_t used = written ? image_row_bytes(into) : 0;
        if (written && !row_right(place, at, sample, y, name)) return false;
        if (!is_pattern(place, at + used, at + into->stride, name)) return false;
    }
    return true;
}

/* CONTENT: whether pixels are looked at. */
static bool place_right(const struct place *place, const struct sample *const *samples,
                        const struct device_jpeg *jpegs, int count, bool written, bool content) {
    size_t end = place->planes_end;
    bool right = is_pattern(place, 0, place->planes, "before the planes");
    for (int i = 0; i < count; i++) {
        right &= is_pattern(place, end, place->images[i], "before an image");
        right &= !content || pixels_right(place, i, samples[i], &jpegs[i].into, written);
        end = place->images[i] + image_bytes(&jpegs[i].into);
    }
    return right && is_pattern(place, end, place->bytes, "behind the last image");
}

enum outcome { REFUSED, RIGHT, WRONG };

/* SOUND: the files are, so that the pixels must be the codec's. */
static enum outcome decode_on(struct jpeg_lane *on, struct CUstream_st *its_stream,
                              const struct sample *const *samples, int count, bool sound) {
    struct device_jpeg jpegs[BATCH_MAX];
    struct place place;
    for (int i = 0; i < count; i++) jpegs[i] = samples[i]->jpeg;
    if (!place_take(&place, jpegs, count)) return WRONG;
    const bool accepted = jpeg_lane_decode(on, jpegs, count, place.device + place.planes);
    const bool right = cudaStreamSynchronize(its_stream) == 0 &&
                       cudaMemcpy(place.host, place.device, place.bytes, TO_HOST) == 0 &&
                       place_right(&place, samples, jpegs, count, accepted, sound || !accepted);
    place_free(&place);
    return !right ? WRONG : accepted ? RIGHT : REFUSED;
}

static enum outcome decode(const struct sample *const *samples, int count) {
    return decode_on(lane, stream, samples, count, true);
}

/* ---- one at a time */

static int outcomes[WRONG + 1];

static void try_recipe(const struct recipe *recipe) {
    struct sample sample = make(recipe);
    const struct sample *one = &sample;
    char name[128];
    name_sample(&sample, name);
    const enum outcome outcome = decode(&one, 1);
    if (outcome == REFUSED) print_message("refused: %s\n", name);
    outcomes[outcome]++;
    sample_free(&sample);
    assert_int_not_equal(outcome, WRONG);
}

static void test_common_kinds_are_taken(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        struct sample sample =
            make(&(struct recipe){ .kind = &kinds[k], .width = 640, .height = 480, .quality = 85 });
        const struct sample *one = &sample;
        assert_int_equal(decode(&one, 1), RIGHT);
        sample_free(&sample);
    }
}

static void test_kinds_sizes_qualities(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = {
        { 1, 1 },   { 1, 7 },   { 7, 1 },     { 2, 2 },     { 3, 5 },     { 4, 9 },
        { 8, 8 },   { 15, 15 }, { 16, 16 },   { 17, 31 },   { 33, 64 },   { 64, 33 },
        { 65, 63 }, { 5, 400 }, { 127, 129 }, { 640, 480 }, { 641, 479 }, { 1920, 1080 },
    };
    static const int qualities[] = { 30, 85, 98 };
    memset(outcomes, 0, sizeof outcomes);
    for (int k = 0; k < KINDS; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int q = 0; q < 3; q++)
                for (int how = 0; how < 3; how++)
                    try_recipe(&(struct recipe){ .kind = &kinds[k],
                                                 .width = sizes[s][0],
                                                 .height = sizes[s][1],
                                                 .quality = qualities[q],
                                                 .restart = how == 1 ? 3 : 0,
                                                 .optimized = how == 2,
                                                 .noise = q == 1 });
    print_message("%d equal, %d refused\n", outcomes[RIGHT], outcomes[REFUSED]);
    assert_true(outcomes[RIGHT] > 0);
}

static void test_orientations(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 64, 48 }, { 131, 67 }, { 67, 131 }, { 640, 481 } };
    memset(outcomes, 0, sizeof outcomes);
    for (int k = 0; k < KINDS; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (uint8_t orientation = 1; orientation <= 8; orientation++)
                try_recipe(&(struct recipe){ .kind = &kinds[k],
                                             .width = sizes[s][0],
                                             .height = sizes[s][1],
                                             .quality = 90,
                                             .noise = true,
                                             .orientation = orientation });
    assert_true(outcomes[RIGHT] > 0);
}

static void test_large(void **state) {
    (void)state;
    memset(outcomes, 0, sizeof outcomes);
    try_recipe(&(struct recipe){
        .kind = &kinds[HALVED], .width = 5001, .height = 3333, .quality = 85, .noise = true });
    try_recipe(&(struct recipe){
        .kind = &kinds[HALVED], .width = 16384, .height = 40, .quality = 85, .orientation = 6 });
    try_recipe(
        &(struct recipe){ .kind = &kinds[GRAY], .width = 40, .height = 20000, .quality = 85 });
    assert_true(outcomes[RIGHT] > 0);
}

/* ---- batches */

static void test_batches(void **state) {
    (void)state;
    static const int counts[] = { 33, 1, 64, 2, 2, 33 };
    struct sample samples[2][BATCH_MAX];
    const struct sample *batch[BATCH_MAX];
    for (int colour = 0; colour < 2; colour++)
        for (int i = 0; i < BATCH_MAX; i++) samples[colour][i] = make_mixed(i, colour);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int colour = 0; colour < 2; colour++) { /* by turns, so that the output changes */
            for (int i = 0; i < counts[c]; i++)
                batch[i] = &samples[colour][(i + (int)c * 11) % BATCH_MAX];
            assert_int_equal(decode(batch, counts[c]), RIGHT);
        }
    }
    for (int colour = 0; colour < 2; colour++)
        for (int i = 0; i < BATCH_MAX; i++) sample_free(&samples[colour][i]);
}

/* ---- refusals and damage */

static void test_refusals_leave_all_as_it_was(void **state) {
    (void)state;
    struct sample good = make_mixed(3, true), gray = make_mixed(3, false);
    struct sample odd[] = {
        make(&(struct recipe){ .kind = &kinds[HALVED],
                               .width = 99,
                               .height = 77,
                               .quality = 85,
                               .progressive = true }),
        make_mixed(7, true),
        make_mixed(8, true),
        make_mixed(9, true),
    };
    odd[1].jpeg.length = 100;    /* cut off in its header */
    odd[2].jpeg.down = 3;        /* no such kind */
    odd[3].jpeg.into.width += 1; /* no such shape */
    const struct sample *mixed[] = { &good, &gray }, *alone[] = { &good };
    assert_int_equal(decode(mixed, 2), REFUSED);
    assert_false(jpeg_lane_decode(lane, &good.jpeg, 0, NULL));
    assert_false(jpeg_lane_decode(lane, &good.jpeg, BATCH_MAX + 1, NULL));
    for (int i = 0; i < 4; i++) {
        const struct sample *both[] = { &good, &odd[i] };
        assert_int_equal(decode(both, 2), REFUSED);
        assert_int_equal(decode(alone, 1), RIGHT);
        sample_free(&odd[i]);
    }
    sample_free(&good);
    sample_free(&gray);
}

/* Bytes of the scan changed or cut out: the decoder may make anything of it, within the image. */
static void test_damage_stays_inside(void **state) {
    (void)state;
    struct sample good = make_mixed(5, true);
    const struct sample *alone[] = { &good };
    uint32_t random = 7;
    int taken = 0;
    for (int round = 0; round < 200; round++) {
        struct sample bad = make_mixed(round % BATCH_MAX, true);
        const struct sample *both[] = { &bad, &good };
        damage(&bad, round, &random);
        const enum outcome outcome = decode_on(lane, stream, both, 2, false);
        sample_free(&bad);
        assert_int_not_equal(outcome, WRONG);
        taken += outcome == RIGHT;
        assert_int_equal(decode(alone, 1), RIGHT);
    }
    print_message("%d of 200 damaged files were taken\n", taken);
    sample_free(&good);
}

/* ---- lanes of one library at the same time */

struct worker {
    pthread_t thread;
    struct jpeg_lane *lane;
    struct CUstream_st *stream;
    struct sample samples[8];
};

static void *work(void *argument) {
    struct worker *worker = argument;
    const struct sample *batch[8];
    cudaSetDevice(0);
    worker->lane = jpeg_lane_open(library, worker->stream);
    if (!worker->lane) return worker;
    for (int round = 0; round < ROUNDS; round++) {
        const int count = 1 + round % 8;
        for (int i = 0; i < count; i++) batch[i] = &worker->samples[(i + round) % 8];
        if (decode_on(worker->lane, worker->stream, batch, count, true) != RIGHT) return worker;
    }
    return NULL;
}

static void test_lanes_side_by_side(void **state) {
    (void)state;
    static struct worker workers[LANES];
    for (int i = 0; i < LANES; i++) {
        for (int s = 0; s < 8; s++) workers[i].samples[s] = make_mixed(i * 8 + s, i & 1);
        assert_int_equal(cudaStreamCreateWithFlags(&workers[i].stream, NON_BLOCKING), 0);
    }
    for (int i = 0; i < LANES; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < LANES; i++) {
        void *trouble;
        pthread_join(workers[i].thread, &trouble);
        assert_null(trouble);
        jpeg_lane_close(workers[i].lane);
        assert_int_equal(cudaStreamDestroy(workers[i].stream), 0);
        for (int s = 0; s < 8; s++) sample_free(&workers[i].samples[s]);
    }
}

/* ---- the library */

static void test_library_that_is_not_there(void **state) {
    (void)state;
    struct nvjpeg nvjpeg;
    assert_false(nvjpeg_open(&nvjpeg, "/nowhere/libnvjpeg.so"));
    assert_false(nvjpeg_open(&nvjpeg, "libm.so.6"));
    assert_null(nvjpeg.handle);
    jpeg_library_close(NULL);
    jpeg_lane_close(NULL);
}

static void test_rate(void **state) {
    (void)state;
    enum { COUNT = 32, TIMES = 9 };
    struct sample sample = make(
        &(struct recipe){ .kind = &kinds[HALVED], .width = 1920, .height = 1080, .quality = 85 });
    struct device_jpeg jpegs[COUNT];
    struct place place;
    double best = 1e9;
    for (int i = 0; i < COUNT; i++) jpegs[i] = sample.jpeg;
    assert_true(place_take(&place, jpegs, COUNT));
    for (int i = 0; i < TIMES; i++) {
        const int64_t start = clock_ns();
        assert_true(jpeg_lane_decode(lane, jpegs, COUNT, place.device + place.planes));
        const double queued = ns_to_ms(clock_ns() - start);
        assert_int_equal(cudaStreamSynchronize(stream), 0);
        const double took = ns_to_ms(clock_ns() - start);
        if (took < best)
            print_message("1080p x %d: %.3f ms to queue, %.3f ms in all\n", COUNT, queued, took);
        best = took < best ? took : best;
    }
    place_free(&place);
    sample_free(&sample);
}

/* Which of nvJPEG's calls refuses even a plain file; where none does, samples are others. */
static void tell_trouble(void) {
    enum { SIZE = 64, PLANE = SIZE * SIZE };
    struct nvjpeg nvjpeg;
    void *state = NULL, *memory = NULL;
    if (!nvjpeg_open(&nvjpeg, NULL) || cudaMalloc(&memory, 3 * PLANE)) return;
    unsigned char *planes = memory;
    printf("state %d\n", nvjpeg.state_create(nvjpeg.handle, &state));
    for (int output = NVJPEG_PLANES; output <= NVJPEG_LUMA; output++) {
        const struct kind *kind = &kinds[output == NVJPEG_LUMA ? GRAY : HALVED];
        struct sample sample =
            make(&(struct recipe){ .kind = kind, .width = SIZE, .height = SIZE, .quality = 85 });
        const unsigned char *files[] = { sample.file.data };
        struct nvjpeg_image into = { .channel = { planes, planes + PLANE, planes + 2 * PLANE },
                                     .pitch = { SIZE, SIZE, SIZE } };
        const int init = nvjpeg.batch_init(nvjpeg.handle, state, 1, 1, output);
        const int decoded =
            nvjpeg.batch_decode(nvjpeg.handle, state, files, &sample.file.length, &into, stream);
        printf("%s: init %d, decode %d, wait %d\n", kind->name, init, decoded,
               cudaStreamSynchronize(stream));
        sample_free(&sample);
    }
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to test");
        return 77;
    }
    if (cudaSetDevice(0) || cudaStreamCreateWithFlags(&stream, NON_BLOCKING)) return 1;
    library = jpeg_library_open();
    if (!library) {
        puts("no nvJPEG here, or no decoder in the GPU's hardware");
        return 77;
    }
    const int64_t start = clock_ns();
    lane = jpeg_lane_open(library, stream);
    printf("a lane opens in %.1f ms\n", ns_to_ms(clock_ns() - start));
    if (!lane) {
        tell_trouble();
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_common_kinds_are_taken),
        cmocka_unit_test(test_kinds_sizes_qualities),
        cmocka_unit_test(test_orientations),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_refusals_leave_all_as_it_was),
        cmocka_unit_test(test_damage_stays_inside),
        cmocka_unit_test(test_lanes_side_by_side),
        cmocka_unit_test(test_library_that_is_not_there),
        cmocka_unit_test(test_rate),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    jpeg_lane_close(lane);
    jpeg_library_close(library);
    cudaStreamDestroy(stream);
    return failed;
}

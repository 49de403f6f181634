// SPDX-License-Identifier: Apache-2.0
/* JPEGs that the GPU decodes, beside the CPU codec: every size from 1 x 1 to 70 x 70 with every
 * sampling and five qualities, all kinds of drawings and tables, restarts, orientations, larger
 * pictures, in batches that mix all of them; and damaged copies, of which none may come out
 * unflagged with other samples than the CPU codec's.
 *
 * How it works. Files are laid one behind the other in device memory at odd places, decoded over
 * 0xa5 with 1 to 8 subsequences a thread by turns, and compared row by row; bytes between rows must
 * be as they were. The argument `small` makes it short, for compute-sanitizer; DAMAGED=1000000 in
 * the environment makes it long.
 * covers: cuda/codecs/jpeg_decode.cu
 */
#include "cuda/codecs/jpeg_decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

extern "C" {
#include "tests/pipeline/codecs/jpeg/cases.h"
#include "tests/twins/jpeg_parallel.h"

#include <cmocka.h>
}

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

enum { GUARD = 0xa5, BATCH = 256 };

static struct cuda_context context;
static const int samplings[][3] = { { 1, 1, 1 }, { 3, 1, 1 }, { 3, 2, 1 }, { 3, 2, 2 } };
static const uint32_t ways[] = { 0, 7, 8, 9, 7 }; /* bits of subsequences; 9: by a walk */
static uint32_t batches, flagged, taken;
static bool small;

static unsigned damaged_copies(void) {
    const char *text = getenv("DAMAGED");
    return text ? (unsigned)atol(text) : small ? 600 : 50000;
}

/* ---- a batch */

struct item {
    struct jpeg_file file;
    struct probe probe;
    struct jpeg_case made; /* width 0: none */
    bool sound;            /* must be taken */
};

static std::vector<struct item> items;
static std::vector<struct jpeg_baseline> headers;

static void add_file(struct jpeg_file file, const struct jpeg_case &made, bool sound) {
    struct item item = { file, {}, made, sound };
    struct failure failure;
    struct jpeg_baseline header;
    struct jpeg_picture picture;
    if (probe_image(file.data, file.length, &codec_limits_default.probe, &item.probe, &failure) ||
        !jpeg_baseline_read_header(file.data, file.length, &item.probe, &codec_limits_default,
                                   &header) ||
        !jpeg_picture_init(&picture, &header)) {
        assert_false(sound);
        free(file.data);
        return;
    }
    items.push_back(item);
    headers.push_back(header);
}

static size_t align(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* The memory of one batch, allocated for it alone. */
static struct memory {
    struct jpeg_decode_batch batch;
    uint8_t *files, *pixels;
    std::vector<uint8_t> out;
    std::vector<size_t> places;
} memory;

static void lay_out(struct memory &memory) {
    const int count = (int)items.size();
    size_t files = 256, pixels = 0;
    TRY(cudaMallocHost((void **)&memory.batch.pictures, count * sizeof(struct jpeg_picture)));
    TRY(cudaMallocHost((void **)&memory.batch.units, jpeg_decode_units(count) * 4));
    TRY(cudaMallocHost((void **)&memory.batch.facts, count * sizeof(struct jpeg_facts)));
    memory.batch.count = count;
    for (int i = 0; i < count; i++) {
        struct image &into = memory.batch.pictures[i].into;
        assert_true(jpeg_picture_init(&memory.batch.pictures[i], &headers[i]));
        into = items[i].probe.shape;
        into.stride += i % 5 == 0 ? 48 : i % 5 == 1 ? 5 : 0;
        memory.places.push_back(pixels);
        pixels += align(image_bytes(&into));
        files += items[i].file.length + 16 + i % 16;
    }
    TRY(cudaMalloc((void **)&memory.files, files + 256));
    TRY(cudaMemset(memory.files, 0xff, files + 256)); /* words are read whole: see initcheck */
    TRY(cudaMalloc((void **)&memory.pixels, pixels));
    TRY(cudaMemset(memory.pixels, GUARD, pixels));
    memory.out.resize(pixels);
}

static void upload(struct memory &memory) {
    size_t at = 256;
    for (int i = 0; i < memory.batch.count; i++) {
        struct jpeg_picture &picture = memory.batch.pictures[i];
        const struct jpeg_file &file = items[i].file;
        TRY(cudaMemcpy(memory.files + at, file.data, file.length, cudaMemcpyHostToDevice));
        picture.scan = memory.files + at + (headers[i].scan - file.data);
        picture.into.pixels = memory.pixels + memory.places[i];
        at += file.length + 16 + i % 16;
    }
    const size_t bytes = jpeg_decode_bytes(memory.batch.pictures, memory.batch.count);
    TRY(cudaMalloc((void **)&memory.batch.arena, bytes));
    TRY(cudaMemset(memory.batch.arena, GUARD, bytes));
}

static void release(struct memory &memory) {
    TRY(cudaFreeHost(memory.batch.pictures));
    TRY(cudaFreeHost(memory.batch.units));
    TRY(cudaFreeHost(memory.batch.facts));
    TRY(cudaFree(memory.batch.arena));
    TRY(cudaFree(memory.files));
    TRY(cudaFree(memory.pixels));
    memory = {};
    for (struct item &item : items) free(item.file.data);
    items.clear();
    headers.clear();
}

/* After each test: one that fails leaves its batch, which is not the next one's. */
static int leave_nothing(void **state) {
    (void)state;
    release(memory);
    return 0;
}

/* ---- what came out */

static void check_gaps(const struct image &image) {
    for (uint32_t y = 0; y < image.height; y++)
        for (size_t i = image_row_bytes(&image); i < image.stride; i++)
            assert_int_equal(image_row(&image, y)[i], GUARD);
}

static void fail_case(const struct memory &memory, int i, const char *what, uint32_t flags) {
    const struct jpeg_case &made = items[i].made;
    const struct jpeg_facts &facts = memory.batch.facts[i];
    fail_msg("%ux%u of %d, %dx%d, quality %d, drawing %d, tables %d, DRI %u, orientation %u, seed "
             "%u, steps %d; picture %d, run %u, hard %u, %u repairs: %s %x",
             made.width, made.height, made.channels, made.h, made.v, made.quality, made.drawing,
             made.tables, made.interval, made.orientation, made.seed, made.steps_255, i,
             memory.batch.run, facts.hard, facts.repairs, what, flags);
}

static void check_item(struct memory &memory, int i) {
    const struct item &item = items[i];
    const uint32_t flags = memory.batch.facts[i].flags;
    struct image image = memory.batch.pictures[i].into;
    image.pixels = memory.out.data() + memory.places[i];
    check_gaps(image);
    flagged += flags != 0;
    taken += flags == 0;
    if (flags && item.sound) fail_case(memory, i, "flags", flags);
    if (flags) return;
    uint32_t notes;
    struct image expected = expected_image(&item.file, &item.probe, &notes);
    if (!expected.pixels) fail_case(memory, i, "the CPU refuses it", 0);
    if (!same_rows(&image, &expected)) fail_case(memory, i, "other samples", 0);
    if (notes != headers[i].notes) fail_case(memory, i, "other notes", notes);
    free(expected.pixels);
}

static void decode(void) {
    struct failure failure = {};
    if (items.empty()) return;
    lay_out(memory);
    upload(memory);
    memory.batch.run = 1u << batches % 4;
    memory.batch.short_log2 = ways[batches % 5];
    memory.batch.lead = batches % 3;
    memory.batch.rounds = batches % 7;
    memory.batch.spread = 1u << batches / 4 % 4;
    memory.batch.join_threads = batches % 2 ? 256 : 1024;
    batches++;
    if (jpeg_decode_queue(&context, &memory.batch, &failure) != STATUS_OK)
        fail_msg("%s", failure.message);
    TRY(cudaStreamSynchronize(context.stream));
    TRY(cudaMemcpy(memory.out.data(), memory.pixels, memory.out.size(), cudaMemcpyDeviceToHost));
    for (int i = 0; i < memory.batch.count; i++) check_item(memory, i);
    release(memory);
}

static void add_case(const struct jpeg_case *made, bool sound) {
    add_file(make_case(made), *made, sound);
    if (items.size() == BATCH) decode();
}

static struct jpeg_case a_case(unsigned sampling) {
    struct jpeg_case made = {};
    made.width = 93;
    made.height = 71;
    made.channels = samplings[sampling][0];
    made.h = samplings[sampling][1];
    made.v = samplings[sampling][2];
    return made;
}

/* ---- tests */

static void sizes_and_qualities(void **state) {
    (void)state;
    static const int qualities[] = { 1, 50, 85, 95, 100 };
    const unsigned step = small ? 331 : 1;
    for (unsigned i = 0; i < 70 * 70 * 20; i += step) {
        struct jpeg_case made = a_case(i % 4);
        made.quality = qualities[i / 4 % 5];
        made.width = 1 + i / 20 % 70;
        made.height = 1 + i / 20 / 70;
        made.drawing = i / 20 % 3 ? DRAW_NOISE : DRAW_WAVES;
        add_case(&made, true);
    }
    decode();
}

static void drawings_and_tables(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4 * DRAWINGS * TABLE_KINDS; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.tables = (enum jpeg_tables)(i / 4 / DRAWINGS);
        made.drawing =
            made.tables == TABLES_ONE ? DRAW_MIDDLE : (enum jpeg_drawing)(i / 4 % DRAWINGS);
        made.quality = made.drawing % 2 ? 90 : 75;
        made.steps_255 = i % 7 == 0;
        add_case(&made, true);
    }
    decode();
}

static void restarts_and_orientations(void **state) {
    (void)state;
    static const unsigned intervals[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 5000, 65535 };
    for (unsigned i = 0; i < 4 * 8 * 12; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.drawing = (enum jpeg_drawing)(i % DRAWINGS);
        made.interval = intervals[i / 32];
        made.orientation = 1 + i / 4 % 8;
        add_case(&made, true);
    }
    decode();
}

static void larger_pictures(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1920, 1080 }, { 1919, 1079 }, { 3000, 17 },
                                         { 5, 2500 },    { 320, 240 },   { 6000, 4000 } };
    for (unsigned i = 0; i < 4 * DRAWINGS * 6; i += small ? 13 : 1) {
        struct jpeg_case made = a_case(i % 4);
        made.drawing = (enum jpeg_drawing)(i / 4 % DRAWINGS);
        made.width = sizes[i / 4 / DRAWINGS][0];
        made.height = sizes[i / 4 / DRAWINGS][1];
        made.quality = 85;
        made.orientation = i % 11 == 0 ? 6 : 0;
        add_case(&made, made.drawing != DRAW_BINARY);
        if (items.size() == 12) decode();
    }
    decode();
}

static void damage(void **state) {
    (void)state;
    const unsigned copies = damaged_copies();
    flagged = taken = 0;
    for (unsigned i = 0; i < copies;) {
        struct jpeg_case made = a_case(i % 4);
        made.seed = i;
        made.drawing = (enum jpeg_drawing)(i / 4 % DRAWINGS);
        made.interval = i % 3 ? i % 7 : 0;
        made.tables = i % 5 ? TABLES_STANDARD : TABLES_OPTIMIZED;
        if (i % 31 == 0) made.width = 640;
        struct jpeg_file file = make_case(&made);
        for (unsigned k = 0; k < 61; k++, i++) {
            add_file(damaged_copy(&file, i), made, false);
            if (items.size() == BATCH) decode();
        }
        free(file.data);
    }
    decode();
    printf("%u damaged copies were flagged, %u taken\n", flagged, taken);
    assert_true(flagged > copies / 4 && taken > copies / 50);
}

static void blocks_at_the_bound(void **state) {
    (void)state;
    flagged = taken = 0;
    for (unsigned i = 0; i < (small ? 500u : 20000u); i++) {
        struct jpeg_case made = a_case(0);
        made.seed = i;
        add_file(make_bound_case(i), made, false);
        if (items.size() == BATCH) decode();
    }
    decode();
    assert_true(flagged > 20 && taken > 20);
}

int main(int arguments, char **argument) {
    int count = 0;
    small = arguments > 1 && strcmp(argument[1], "small") == 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    if (cudaStreamCreate(&context.stream) != cudaSuccess ||
        cudaDeviceGetAttribute(&context.multiprocessors, cudaDevAttrMultiProcessorCount, 0) !=
            cudaSuccess)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(drawings_and_tables, leave_nothing),
        cmocka_unit_test_teardown(restarts_and_orientations, leave_nothing),
        cmocka_unit_test_teardown(larger_pictures, leave_nothing),
        cmocka_unit_test_teardown(damage, leave_nothing),
        cmocka_unit_test_teardown(blocks_at_the_bound, leave_nothing),
        cmocka_unit_test_teardown(sizes_and_qualities, leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

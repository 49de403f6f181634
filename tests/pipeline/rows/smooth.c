// SPDX-License-Identifier: Apache-2.0
/* Every way of smoothing two rows against sums in 64 bits, at every reach, down a ring that goes
 * round, with samples that make sums as large and as small as they get. */
#include "pipeline/rows/smooth.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CHUNKS = 3, RESULTS = 12, SAMPLES = CHUNKS * SMOOTH_CHUNK };
enum content { NOISE, WHITE, BLACK, ENDS, CONTENTS };

/* A strip of CHUNKS chunks: as many rows as RESULTS windows need, and what is made of them. */
struct scene {
    struct smooth_taps taps;
    struct smooth_sizes sizes;
    uint32_t rows;
    uint8_t *lines, *work, *ring, *out[2];
    uint16_t wanted[RESULTS][SAMPLES]; /* of what is compared */
};

static uint8_t *memory(size_t bytes) {
    uint8_t *made = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(made);
    memset(made, 0xa5, (bytes + 127) / 64 * 64);
    return made;
}

static uint8_t *line_of(const struct scene *scene, uint32_t row) {
    return scene->lines + row * scene->sizes.line;
}

static void draw(const struct scene *scene, enum content content) {
    const unsigned depth = scene->taps.gaussian.depth;
    const size_t samples =
        CHUNKS * SMOOTH_CHUNK + 2 * scene->taps.gaussian.reach * scene->taps.channels;
    uint32_t state = depth;
    for (uint32_t row = 0; row < scene->rows; row++)
        for (size_t i = 0; i < samples; i++) {
            const uint32_t noise = noise_next(&state) >> (32 - depth);
            const uint32_t white = (1u << depth) - 1;
            sample_put(line_of(scene, row), i, depth,
                       content == NOISE                 ? noise
                       : content == WHITE               ? white
                       : content == BLACK || noise & 4u ? 0
                                                        : white);
        }
}

static uint64_t expected(const struct scene *scene, uint32_t row, size_t sample) {
    const struct gaussian *gaussian = &scene->taps.gaussian;
    const int reach = (int)gaussian->reach;
    uint64_t sum = 0;
    for (int y = -reach; y <= reach; y++) {
        uint64_t across = 0;
        for (int x = -reach; x <= reach; x++)
            across +=
                (uint64_t)gaussian->weight[abs(x)] *
                sample_get(line_of(scene, row + (uint32_t)(y + reach)),
                           sample + (size_t)(x + reach) * scene->taps.channels, gaussian->depth);
        sum += gaussian->weight[abs(y)] * across;
    }
    return (sum + (UINT64_C(1) << (2 * gaussian->depth - 1))) >> (2 * gaussian->depth);
}

/* A few samples of each row: the slow way has the window's square of products. */
static size_t step_of(const struct scene *scene) {
    const uint32_t reach = scene->taps.gaussian.reach;
    return reach > 20 ? 31 : reach > 4 ? 5 : 1;
}

static void expect(struct scene *scene) {
    const size_t step = step_of(scene);
    for (uint32_t row = 0; row + 2 * scene->taps.gaussian.reach < scene->rows; row++)
        for (size_t i = row % step; i < SAMPLES; i += step)
            scene->wanted[row][i] = (uint16_t)expected(scene, row, i);
}

static void compare(const struct scene *scene, uint32_t row, const uint8_t *out) {
    const size_t step = step_of(scene);
    for (size_t i = row % step; i < SAMPLES; i += step)
        if (sample_get(out, i, scene->taps.gaussian.depth) != scene->wanted[row][i])
            fail_msg("%u bit, %u channels, reach %u: sample %zu of row %u is %u, should be %u",
                     scene->taps.gaussian.depth, scene->taps.channels, scene->taps.gaussian.reach,
                     i, row, sample_get(out, i, scene->taps.gaussian.depth), scene->wanted[row][i]);
}

static void run(const struct scene *scene) {
    for (uint32_t pair = 0; 2 * pair + 1 < scene->rows; pair++) {
        const uint8_t *const lines[2] = { line_of(scene, 2 * pair), line_of(scene, 2 * pair + 1) };
        const uint32_t reach = scene->taps.gaussian.reach;
        smooth_across(&scene->taps, lines, scene->work, CHUNKS, scene->ring,
                      pair % scene->sizes.slots);
        if (pair < reach) continue;
        smooth_down(&scene->taps, scene->ring, (pair - reach) % scene->sizes.slots, CHUNKS,
                    scene->out);
        for (uint32_t row = 0; row < 2; row++)
            compare(scene, 2 * (pair - reach) + row, scene->out[row]);
    }
}

static void check(long sigma, unsigned depth, uint32_t channels, enum content content) {
    struct gaussian gaussian;
    static struct scene scene;
    gaussian_make(&gaussian, sigma, depth);
    smooth_taps_make(&scene.taps, &gaussian, channels);
    scene.sizes = smooth_sizes_of(&scene.taps, CHUNKS);
    scene.rows = 2 * gaussian.reach + (gaussian.reach > 20 ? 4 : RESULTS);
    scene.lines = memory(scene.rows * scene.sizes.line);
    scene.work = memory(scene.sizes.work);
    scene.ring = memory(scene.sizes.ring);
    for (int row = 0; row < 2; row++) scene.out[row] = memory(scene.sizes.row);
    draw(&scene, content);
    expect(&scene);
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit(most);
        memset(scene.ring, 0xa5, scene.sizes.ring);
        run(&scene);
    }
    for (int row = 0; row < 2; row++) {
        assert_int_equal(scene.out[row][scene.sizes.row], 0xa5);
        free(scene.out[row]);
    }
    free(scene.lines), free(scene.work), free(scene.ring);
}

/* Sigmas near 0.8 are where the centre of 16 bit fits into 15 bits and does not. */
static const long sigmas[] = { 300,  500,  780,  790,  797,  800,  810,   1000,  1500, 2000,
                               2500, 3000, 4100, 5000, 7300, 9000, 17000, 40000, 64000 };

static void every_way(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof sigmas / sizeof *sigmas; s++)
        for (unsigned depth = 8; depth <= 16; depth += 8)
            for (uint32_t channels = 1; channels <= 4; channels++)
                for (int content = 0; content < CONTENTS; content++)
                    if (sigmas[s] < 9000 || channels == 1 + s % 4)
                        check(sigmas[s], depth, channels, (enum content)content);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

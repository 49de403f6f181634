// SPDX-License-Identifier: Apache-2.0
/* Halves swept and closed up by tiles, in many orders, against whole rows one after the other; then
 * carving by several threads against carving by one.
 * covers: pipeline/ops/carve/tiles.c pipeline/ops/carve/seam_search.c pipeline/ops/carve/team.c
 */
#include "pipeline/ops/carve/tiles.h"

#include "pipeline/ops/carve/definition.h"
#include "pipeline/plan.h"
#include "pipeline/pool.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ALIGN = 64, TILES_ALL = HALVES * TILES_MOST };

/* ---- tiles of one map */

static void make_map(struct energy_map *map, struct arena *arena, uint32_t width, uint32_t height) {
    energy_map_lay(map, arena, width, height, false);
    energy_map_lay_energy(map, arena, height);
}

/* Noise of 8 bits, or of 3 levels: many ties. Marks here and there. */
static void fill_map(struct energy_map *map, uint32_t levels) {
    uint32_t noise = 5;
    for (uint32_t y = 0; y < map->height; y++) {
        for (uint32_t x = 0; x < map->width; x++) {
            noise_next(&noise);
            energy_map_luma(map, y)[x] = (uint8_t)(noise >> 20 & 255 % levels);
            if (map->energy) energy_map_energy(map, y)[x] = (uint16_t)(noise >> 30 << 14);
        }
        energy_map_pad_left(energy_map_luma(map, y));
        energy_map_pad_right(energy_map_luma(map, y), map->width);
    }
    for (uint32_t y = 0; map->energy && y < map->height; y++)
        energy_map_update(map, y, 0, map->width);
}

static void pass_rows(const struct energy_map *map, int half, const void **last) {
    uint8_t *const *costs = map->costs[half];
    const uint32_t rows = energy_map_half_rows(map, half);
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t y = energy_map_half_row(map, half, i);
        const uint16_t *energies = energy_map_energy_row(map, y, half);
        if (i == 0)
            dp_first_row(map->bits, energies, costs[0], map->width);
        else
            dp_next_row(map->bits, costs[(i - 1) % 2], energies, costs[i % 2],
                        map->parents + y * map->words, map->width);
    }
    *last = costs[(rows - 1) % 2];
}

/* Any tile that can go on is as good as another. */
static void pass_tiles_at_random(struct energy_map *map, uint32_t *noise) {
    const int count = tiles_begin(map);
    int left = HALVES * count, idle = 0;
    assert_true(count > 1 && count <= TILES_MOST);
    while (left > 0) {
        bool done = false;
        noise_next(noise);
        const int tile = (int)(*noise >> 16) % (HALVES * count);
        idle = tiles_step(map, tile / count, tile % count, count, &done) ? 0 : idle + 1;
        left -= done;
        if (idle > 100000) fail_msg("no tile can go on");
    }
    for (int tile = 0; tile < HALVES * count; tile++) {
        bool done = false;
        assert_false(tiles_step(map, tile / count, tile % count, count, &done));
    }
    tiles_end(map);
}

/* Bits behind the last column are anything. */
static bool same_parents(const struct energy_map *map, const uint64_t *a, const uint64_t *b) {
    for (uint32_t y = 0; y < map->height; y++)
        for (uint32_t x = 0; x < map->width; x++)
            if (y != 0 && y != map->height - 1 &&
                dp_step(a + y * map->words, x) != dp_step(b + y * map->words, x))
                return false;
    return true;
}

static void check_map(uint32_t width, uint32_t height, uint32_t cut, int kind, bool masked,
                      enum cost_bits bits) {
    struct energy_map map = { .energy_kind = kind, .masked = masked };
    struct arena counted = { NULL, 0 };
    make_map(&map, &counted, width, height);
    uint8_t *memory = aligned_alloc(ALIGN, (counted.used + ALIGN) / ALIGN * ALIGN);
    memset(memory, 0xa5, counted.used);
    make_map(&map, &(struct arena){ memory, 0 }, width, height);
    energy_map_begin(&map, width - cut, height);
    map.bits = bits;
    fill_map(&map, bits == COST_32 ? 3 : 255);
    const size_t parents = map.words * height * sizeof *map.parents;
    const size_t row = (size_t)(width - cut) * cost_bytes(bits);
    uint64_t *expected = malloc(parents);
    uint8_t *costs[HALVES];
    uint32_t noise = width + height;
    for (int half = 0; half < HALVES; half++) {
        const void *last;
        pass_rows(&map, half, &last);
        costs[half] = malloc(row);
        memcpy(costs[half], last, row);
    }
    memcpy(expected, map.parents, parents);
    for (int run = 0; run < 5; run++) {
        memset(map.parents, 0xa5, parents);
        pass_tiles_at_random(&map, &noise);
        for (int half = 0; half < HALVES; half++)
            if (memcmp(map.last[half], costs[half], row) != 0)
                fail_msg("%ux%u - %u, kind %d: costs of half %d", width, height, cut, kind, half);
        if (!same_parents(&map, map.parents, expected))
            fail_msg("%ux%u - %u, kind %d: parents", width, height, cut, kind);
    }
    free(costs[UPPER]);
    free(costs[LOWER]);
    free(expected);
    free(memory);
}

static void test_tiles(void **state) {
    (void)state;
    static const uint32_t sizes[][3] = { { 512, 128, 0 },  { 513, 129, 0 },   { 640, 131, 100 },
                                         { 900, 160, 3 },  { 1025, 191, 1 },  { 1056, 193, 32 },
                                         { 2081, 128, 0 }, { 1500, 257, 900 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t *size = sizes[i];
        check_map(size[0], size[1], size[2], CARVE_GRADIENT, false, COST_16);
        check_map(size[0], size[1], size[2], CARVE_GRADIENT, false, COST_32);
        check_map(size[0], size[1], size[2], CARVE_SOBEL5, false, COST_32);
        check_map(size[0], size[1], size[2], CARVE_SOBEL3, true, COST_64);
    }
}

static void test_small_maps_have_none(void **state) {
    (void)state;
    struct arena counted = { NULL, 0 };
    struct energy_map map = { .energy_kind = CARVE_GRADIENT };
    energy_map_lay(&map, &counted, TILED_WIDTH - 1, 300, false);
    assert_null(map.tiles);
    assert_int_equal(tiles_begin(&map), 0);
    const size_t before = counted.used;
    tiles_lay(&map, &counted, 3000, TILED_HEIGHT - 1);
    assert_int_equal(counted.used, before);
}

/* ---- closing up */

/* A seam at random: along the left border, along the right one, or anywhere. */
static void draw_seam(const struct energy_map *map, uint32_t *noise) {
    uint32_t x = (*noise >> 8) % 3 == 0 ? 0 : (*noise >> 8) % 3 == 1 ? map->width : *noise >> 12;
    for (uint32_t y = 0; y < map->height; y++) {
        noise_next(noise);
        x = x % (map->width + 1) + (*noise >> 28 & 1);
        if (x > 0 && (*noise >> 29 & 1)) x--;
        map->seam[y] = (uint16_t)(x > map->width ? map->width : x);
    }
}

static void close_row(uint8_t *luma, uint32_t x, uint32_t width) {
    memmove(luma + x, luma + x + 1, width - x + ENERGY_MARGIN);
    if (x == 0) energy_map_pad_left(luma);
    if (x == width) energy_map_pad_right(luma, width);
}

static void close_at_random(const struct energy_map *map, int parity, uint32_t *noise) {
    const int count = tiles_begin(map), all = HALVES * count;
    noise_next(noise);
    for (int i = 0, tile = (int)(*noise >> 16) % all; i < all; i++, tile = (tile + 1) % all)
        tiles_close(map, tile / count, tile % count, count, parity);
}

/* From 8 tiles of 192 columns, of which the last has one, to 8 of 128. */
static void test_closing(void **state) {
    (void)state;
    struct energy_map map = { .energy_kind = CARVE_GRADIENT };
    struct arena counted = { NULL, 0 };
    const uint32_t height = 131, width = 1346;
    uint16_t seam[131];
    uint32_t noise = 9, bordered = 0, closed = 0;
    int parity = 0;
    make_map(&map, &counted, width, height);
    uint8_t *memory = aligned_alloc(ALIGN, (counted.used + ALIGN) / ALIGN * ALIGN);
    make_map(&map, &(struct arena){ memory, 0 }, width, height);
    if (map.energy) skip(); /* without AVX2 all maps store energies */
    energy_map_begin(&map, width, height);
    map.seam = seam;
    fill_map(&map, 255);
    uint8_t *expected = malloc(map.stride * height);
    memcpy(expected, map.luma - ENERGY_MARGIN, map.stride * height);
    while (map.width > 1000) {
        map.width--;
        draw_seam(&map, &noise);
        for (uint32_t y = 0; y < height; y++)
            close_row(expected + y * map.stride + ENERGY_MARGIN, seam[y], map.width);
        if (bordered == tiles_columns(&map)) {
            close_at_random(&map, parity, &noise);
            parity = !parity;
            closed++;
        } else {
            for (uint32_t y = 0; y < height; y++)
                close_row(energy_map_luma(&map, y), seam[y], map.width);
            const int count = tiles_begin(&map);
            for (int i = 0; i < HALVES * count; i++) tiles_save(&map, i / count, i % count, parity);
            bordered = tiles_columns(&map);
        }
        for (uint32_t y = 0; y < height; y++)
            if (memcmp(energy_map_luma(&map, y) - ENERGY_MARGIN, expected + y * map.stride,
                       map.width + 2 * ENERGY_MARGIN) != 0)
                fail_msg("row %u of %u columns differs", y, map.width);
    }
    assert_true(closed > 300);
    free(expected);
    free(memory);
}

/* ---- threads */

static uint64_t carve(const char *text, const struct image *in, const struct image *aux,
                      struct pool *pool) {
    struct plan plan;
    struct failure failure = { 0 };
    struct image shapes[PLAN_STEPS_MAX + 1];
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, in, UINT64_C(1) << 30, shapes, &failure), STATUS_OK);
    struct op_call call = { .op = plan.steps[0].op,
                            .params = &plan.steps[0].params,
                            .in = *in,
                            .out = shapes[1],
                            .pool = pool,
                            .failure = &failure };
    for (int i = 0; aux && i < 2; i++) call.aux[i] = aux[i];
    call.out.pixels = malloc(image_bytes(&call.out));
    call.scratch = aligned_alloc(ALIGN, (call.op->scratch(&call) + ALIGN) / ALIGN * ALIGN);
    if (call.op->run(&call)) fail_msg("%s: %s", text, failure.message);
    const uint64_t digest = image_digest(&call.out);
    free(call.scratch);
    free(call.out.pixels);
    return digest;
}

static struct image make_image(uint32_t width, uint32_t height, unsigned channels, uint32_t seed) {
    struct image image = image_shape(width, height, channels, 8);
    image.pixels = malloc(image_bytes(&image));
    for (size_t i = 0; i < image_bytes(&image); i++) {
        noise_next(&seed);
        image.pixels[i] = (uint8_t)(seed >> 24);
    }
    return image;
}

/* 16 threads, of which any number may be there in time. */
static void test_threads(void **state) {
    (void)state;
    static const char *const plans[] = { "carve:dx=-20",      "carve:dy=-9",
                                         "carve:dx=-8,dy=-7", "carve:dx=-9,energy=sobel3",
                                         "carve:dx=40",       "carve:dx=-6,dy=-5,energy=sobel5" };
    struct image in = make_image(701, 533, 3, 3);
    struct image aux[2] = { make_image(701, 533, 1, 4), make_image(701, 533, 1, 5) };
    for (size_t i = 0; i < image_bytes(&aux[0]); i++)
        aux[0].pixels[i] &= (uint8_t)(i % 701 < 200 ? 255 : 127), aux[1].pixels[i] &= 127;
    for (uint32_t y = 100; y < 400; y++) memset(aux[1].pixels + y * 701 + 333, 200, 12);
    struct pool *pool = pool_create(16);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        for (int masked = 0; masked < 2; masked++) {
            const uint64_t expected = carve(plans[i], &in, masked ? aux : NULL, NULL);
            for (int run = 0; run < 3; run++)
                if (carve(plans[i], &in, masked ? aux : NULL, pool) != expected)
                    fail_msg("%s, masks %d: threads find other seams", plans[i], masked);
        }
    free(in.pixels);
    in = make_image(1345, 160, 1, 7); /* tiles become narrower, and fewer */
    const uint64_t expected = carve("carve:dx=-340", &in, NULL, NULL);
    if (carve("carve:dx=-340", &in, NULL, pool) != expected) fail_msg("threads find other seams");
    pool_destroy(pool);
    free(in.pixels);
    free(aux[0].pixels);
    free(aux[1].pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tiles),
                                        cmocka_unit_test(test_small_maps_have_none),
                                        cmocka_unit_test(test_closing),
                                        cmocka_unit_test(test_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

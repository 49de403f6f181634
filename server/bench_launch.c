// SPDX-License-Identifier: Apache-2.0
/* burin bench launch: work 2's tables 3 to 6 - the time of colour equalization over grid x block -
 * on the GPUs that are here. */
#include "server/bench.h"

#include "cuda/launch_shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRIDS = 5, BLOCKS = 6, WIDTH = 1920, HEIGHT = 1080 };
static const int grids[GRIDS] = { 1, 4, 16, 64, 256 };
static const int blocks[BLOCKS] = { 1, 4, 16, 64, 256, 1024 };

/* The picture and, by the reference, its right answer. */
static enum status prepare(struct image *picture, struct image *expected, struct lane **lane,
                           struct failure *failure) {
    struct plan plan;
    struct run_item item = { .in = image_shape(WIDTH, HEIGHT, 3, 8) };
    const struct lane_options options = { .staging_bytes = 1 << 20 };
    enum status status = plan_parse(&plan, "histeq", failure);
    if (!status) status = device_cpu.open(0, &options, lane, failure);
    if (!status) status = run_reserve(*lane, &plan, &item, 1, WIDTH * HEIGHT, failure);
    if (status) return status;
    bench_noise(&item.in, NULL);
    *picture = item.in;
    *expected = item.out;
    return run_batch(*lane, &plan, &item, 1, failure);
}

static void print_table(const char *name, const struct launch_shape *shapes) {
    printf(
        "%s, colour equalization of a 1920x1080 picture, ms by threads a block (down) and blocks "
        "(across)\n%8s",
        name, "");
    for (int g = 0; g < GRIDS; g++) printf(" %9d", grids[g]);
    for (int b = 0; b < BLOCKS; b++) {
        printf("\n%8d", blocks[b]);
        for (int g = 0; g < GRIDS; g++) printf(" %9.3f", shapes[b * GRIDS + g].ms);
    }
    printf("\n\n");
}

static json_t *table_json(const char *name, const struct launch_shape *shapes) {
    json_t *rows = json_array();
    for (int i = 0; i < GRIDS * BLOCKS; i++)
        json_array_append_new(rows, json_pack("{s:i, s:i, s:f}", "blocks", shapes[i].blocks,
                                              "threads", shapes[i].threads, "ms", shapes[i].ms));
    return json_pack("{s:s, s:o}", "device", name, "shapes", rows);
}

static enum status measure(int device, const struct image *picture, const struct image *expected,
                           const struct bench_options *options, json_t *tables,
                           struct failure *failure) {
    struct launch_shape shapes[GRIDS * BLOCKS];
    struct device_info facts;
    for (int i = 0; i < GRIDS * BLOCKS; i++)
        shapes[i] = (struct launch_shape){ grids[i % GRIDS], blocks[i / GRIDS], 0 };
    enum status status = device_cuda.describe(device, &facts, failure);
    if (!status)
        status = launch_shapes_measure(device, picture, expected, shapes, GRIDS * BLOCKS, failure);
    if (status) return status;
    if (!options->json) print_table(facts.name, shapes);
    json_array_append_new(tables, table_json(facts.name, shapes));
    return STATUS_OK;
}

int bench_launch(int argc, char **argv) {
    struct bench_options options;
    struct failure failure = { 0 };
    struct image picture, expected;
    struct lane *lane = NULL;
    if (!bench_options(&options, argc, argv) || !bench_takes_no_words(&options)) return 2;
    const int count = device_cuda.count();
    if (!count) {
        fprintf(stderr, "burin bench launch: needs a GPU, and there is none here\n");
        return 1;
    }
    enum status status = prepare(&picture, &expected, &lane, &failure);
    json_t *tables = json_array();
    for (int i = 0; !status && i < count; i++)
        status = measure(i, &picture, &expected, &options, tables, &failure);
    if (lane) device_cpu.close(lane);
    if (status) fprintf(stderr, "burin bench launch: %s\n", failure.message);
    json_t *result = json_pack("{s:s, s:o, s:o}", "bench", "launch", "machine", bench_machine(),
                               "tables", tables);
    if (options.json) json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    json_decref(result);
    return status ? 1 : 0;
}

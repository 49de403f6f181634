// SPDX-License-Identifier: Apache-2.0
/* launch_shapes - the time of colour equalization over blocks a grid x threads a block, on every
 * GPU, as tables 3 to 6 of a project report of 2023 have it. */
#include "tests/bench/launch_shapes.h"

#include "pipeline/run.h"
#include "tests/bench/burin-bench/picture.h"
#include "tests/bench/burin-bench/report.h"

#include <stdio.h>
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
    picture_noise(&item.in, NULL);
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
                           bool json, json_t *tables, struct failure *failure) {
    struct launch_shape shapes[GRIDS * BLOCKS];
    struct device_info facts;
    for (int i = 0; i < GRIDS * BLOCKS; i++)
        shapes[i] = (struct launch_shape){ grids[i % GRIDS], blocks[i / GRIDS], 0 };
    enum status status = device_cuda.describe(device, &facts, failure);
    if (!status)
        status = launch_shapes_measure(device, picture, expected, shapes, GRIDS * BLOCKS, failure);
    if (status) return status;
    if (!json) print_table(facts.name, shapes);
    json_array_append_new(tables, table_json(facts.name, shapes));
    return STATUS_OK;
}

/* On every GPU; the exit code. */
static int run(bool json) {
    struct failure failure = { 0 };
    struct image picture, expected;
    struct lane *lane = NULL;
    enum status status = prepare(&picture, &expected, &lane, &failure);
    json_t *tables = json_array();
    for (int i = 0; !status && i < device_cuda.count(); i++)
        status = measure(i, &picture, &expected, json, tables, &failure);
    if (lane) device_cpu.close(lane);
    if (status) fprintf(stderr, "launch_shapes: %s\n", failure.message);
    json_t *result = json_pack("{s:s, s:o, s:o}", "bench", "launch", "machine", report_machine(),
                               "tables", tables);
    if (json) json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    json_decref(result);
    return status ? 1 : 0;
}

static int usage(FILE *out, int code) {
    fputs("usage: launch_shapes [--json]\n\n"
          "Histogram equalization of a 1920x1080 RGB picture by three plain kernels, for 1 to 256\n"
          "blocks of 1 to 1024 threads, on every GPU. Milliseconds in the GPU's memory, launches\n"
          "included, median of 3 runs, the first counted. Each result is compared with the CPU's\n"
          "before a time is printed. Exit code 77 without a GPU.\n\n"
          "  --json  print JSON and no table\n",
          out);
    return code;
}

int main(int argc, char **argv) {
    const bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
    if (argc > 1 && !json) return usage(stderr, 2);
    if (device_cuda.count() == 0) {
        puts("launch_shapes: no GPU here");
        return 77;
    }
    return run(json);
}

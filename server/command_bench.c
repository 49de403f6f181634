// SPDX-License-Identifier: Apache-2.0
/* burin bench: measures what this machine can do. */
#include "server/bench.h"
#include "server/command.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} benches[] = {
    { "histeq", "histogram equalization by size: steps, copies, CPU against each GPU",
      bench_histeq },
    { "edge", "Sobel edges by size: plain C, the operator, GPU plain, shared memory and shipped",
      bench_edge },
    { "launch", "histeq's kernels over a grid of launch shapes, 1..256 blocks by 1..1024 threads",
      bench_launch },
    { "energy", "carving's three energies by size, with and without shared memory on the GPU",
      bench_energy },
    { "carve", "seam carving: share of each step, CPU against each GPU by size and seams",
      bench_carve },
};

static int usage(FILE *out, int code) {
    fputs(
        "usage: burin bench NAME [--json] [--device all|cpu|cuda:N] [--pixels-max N] [--repeats N] "
        "[FILE | SERIES]...\n\n"
        "Medians of 15 runs. histeq: on made noise, or on the files given; carve: all series, or\n"
        "those named of width, height, square, seams, screen.\n\n",
        out);
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        fprintf(out, "  %-8s %s\n", benches[i].name, benches[i].summary);
    return code;
}

int command_bench(int argc, char **argv) {
    if (argc < 2) return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return usage(stdout, 0);
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        if (strcmp(argv[1], benches[i].name) != 0) continue;
        if (argc > 2 && strcmp(argv[2], "--help") == 0) return usage(stdout, 0);
        return benches[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "burin bench: there is no bench \"%s\"\n", argv[1]);
    return usage(stderr, 2);
}

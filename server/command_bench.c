// SPDX-License-Identifier: Apache-2.0
/* burin bench: measures what this machine can do. */
#include "pipeline/registry.h"
#include "server/bench/bench.h"
#include "server/command.h"

#include <stdio.h>
#include <string.h>

/* NEEDS: the operator that it measures, which a program may be built without; NULL: it can do
 * without any. NOTES: what is not as the general lines of the help have it. */
struct bench {
    const char *name, *summary, *notes, *needs;
    int (*run)(int argc, char **argv);
};

static const struct bench benches[] = {
    { "histeq", "histogram equalization by size: steps, copies, CPU against each GPU",
      "on made noise, or on the FILEs given", "histeq", bench_histeq },
    { "edge", "Sobel edges by size: plain C, the operator, GPU plain, shared memory and shipped",
      "plain C: 3 runs, the first counted; GPU plain and shared memory: at most 100", "edge",
      bench_edge },
    { "launch", "histeq's kernels over a grid of launch shapes, 1..256 blocks by 1..1024 threads",
      "3 runs, the first counted", "histeq", bench_launch },
    { "energy", "carving's three energies by size, with and without shared memory on the GPU",
      "plain C: 3 runs, or one where that takes a second; the GPU's two kernels: at most 64", NULL,
      bench_energy },
    { "carve", "seam carving: share of each step, CPU against each GPU by size and seams",
      "at most 5 runs; every SERIES, or those named of width, height, square, seams, screen",
      "carve", bench_carve },
};
enum { BENCH_COUNT = sizeof benches / sizeof *benches };

static bool is_built_in(const struct bench *bench) {
    return !bench->needs || registry_find(bench->needs);
}

static int usage(FILE *out, int code) {
    fputs(
        "usage: burin bench NAME [--json] [--device all|cpu|cuda:N] [--pixels-max N] [--repeats N] "
        "[FILE | SERIES]...\n\n"
        "Times are medians of 15 runs (--repeats), after 0.1 s of them not counted;\n"
        "exceptions are told below.\n\n",
        out);
    for (const struct bench *bench = benches; bench < benches + BENCH_COUNT; bench++)
        if (is_built_in(bench))
            fprintf(out, "  %-8s %s\n  %-8s   %s\n", bench->name, bench->summary, "", bench->notes);
    return code;
}

static const struct bench *find(const char *name) {
    for (const struct bench *bench = benches; bench < benches + BENCH_COUNT; bench++)
        if (strcmp(name, bench->name) == 0) return bench;
    return NULL;
}

int command_bench(int argc, char **argv) {
    if (argc < 2) return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return usage(stdout, 0);
    const struct bench *bench = find(argv[1]);
    if (!bench) {
        fprintf(stderr, "burin bench: there is no bench \"%s\"\n", argv[1]);
        return usage(stderr, 2);
    }
    if (!is_built_in(bench)) {
        fprintf(stderr, "burin bench %s: this program was built without %s\n", bench->name,
                bench->needs);
        return 2;
    }
    if (argc > 2 && strcmp(argv[2], "--help") == 0) return usage(stdout, 0);
    return bench->run(argc - 1, argv + 1);
}

// SPDX-License-Identifier: Apache-2.0
/* burin-bench, which `burin bench` starts: how fast the operators are on this machine. */
#include "server/process/process.h"
#include "tests/bench/burin-bench/bench.h"

#include <stdio.h>
#include <string.h>

/* BENCH is NULL where the program was built without the operator. */
static const struct entry {
    const char *name;
    const struct bench *bench;
} entries[] = {
    { "histeq", &bench_histeq },       { "edge", &bench_edge }, { "carve", &bench_carve },
    { "skeletons", &bench_skeletons }, { "jpeg", &bench_jpeg },
};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

static int usage(FILE *out, int code) {
    fputs("usage: burin bench NAME [OPTION]... [FILE | SERIES]...\n\n"
          "Times of an operator on the CPU with one core, with all cores, and on every GPU.\n"
          "compute: milliseconds with the picture in the device's memory; upload, download: the\n"
          "copies from and to pinned memory; total: all three. Medians of 15 runs (--repeats),\n"
          "after 0.1 s of runs that are not counted. Every result is checked before its time is\n"
          "printed: the GPU's against the CPU's; without a GPU, against straightforward C.\n\n",
          out);
    for (const struct entry *entry = entries; entry < entries + ENTRY_COUNT; entry++)
        if (entry->bench)
            fprintf(out, "  %-9s %s\n%s", entry->name, entry->bench->summary, entry->bench->notes);
    fputs("\noptions:\n" BENCH_OPTIONS_HELP, out);
    return code;
}

static const struct entry *find(const char *name) {
    for (const struct entry *entry = entries; entry < entries + ENTRY_COUNT; entry++)
        if (strcmp(name, entry->name) == 0) return entry;
    return NULL;
}

int main(int argc, char **argv) {
    struct failure failure = { 0 };
    if (!process_set_stacks(&failure)) {
        fprintf(stderr, "burin bench: %s\n", failure.message);
        return 1;
    }
    if (argc < 2) return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return usage(stdout, 0);
    const struct entry *entry = find(argv[1]);
    if (!entry) {
        fprintf(stderr, "burin bench: there is no benchmark \"%s\"\n", argv[1]);
        return usage(stderr, 2);
    }
    if (!entry->bench) {
        fprintf(stderr, "burin bench %s: this program was built without %s\n", entry->name,
                entry->name);
        return 2;
    }
    if (argc > 2 && strcmp(argv[2], "--help") == 0) return usage(stdout, 0);
    return bench_run(entry->bench, argc - 1, argv + 1);
}

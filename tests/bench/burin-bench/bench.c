// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/bench.h"

#include <stdio.h>

static bool takes_no_words(const struct bench_options *options) {
    if (options->word_count == 0) return true;
    fprintf(stderr, "%s: this benchmark takes no files, and \"%s\" is not an option\n",
            options->program, options->words[0]);
    return false;
}

int bench_run(const struct bench *bench, int argc, char **argv) {
    struct bench_options options = { .program = bench->program ? bench->program : "burin bench",
                                     .own = bench->options };
    struct lanes lanes;
    struct report report;
    if (!bench_options_parse(&options, argc, argv)) return 2;
    if (!(bench->words ? bench->words : takes_no_words)(&options)) return 2;
    if (bench->prepare && !bench->prepare(&options)) return 1;
    if (!lanes_open(&lanes, options.program, options.device)) return 2;
    if (lanes.count == 0) return 1;
    report_begin(&report, options.json);
    bool complete = bench->measure(&options, &lanes, &report);
    if (lanes.failed) complete = false;
    lanes_close(&lanes);
    report_end(&report, bench->name);
    return complete ? 0 : 1;
}

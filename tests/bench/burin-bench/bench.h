// SPDX-License-Identifier: Apache-2.0
/* bench.h - one benchmark: its help, its measuring, its run from options to exit code.
 *
 * Used by:  main.c; the programs of tests/bench that measure as `burin bench` does.
 * Owns:     nothing after bench_run has returned.
 * Fails:    bench_run prints a sentence on standard error; exit codes are those of command.h.
 * Threads:  one; a lane of several cores has threads of its own.
 */
#ifndef BURIN_BENCH_H
#define BURIN_BENCH_H

#include "tests/bench/burin-bench/lanes.h"
#include "tests/bench/burin-bench/options.h"
#include "tests/bench/burin-bench/report.h"

struct bench {
    const char *program; /* begins every message; NULL: "burin bench" */
    const char *name;    /* of the operator or subject; "bench" in the JSON */
    const char *summary; /* one line of help */
    const char *notes;   /* lines of help, each indented by 12 spaces and ended by \n */
    const struct bench_option *options; /* its own; NULL: none; NOTES explain them */

    /* Are the words that are not options understood? Prints a sentence if not. NULL: none may be
     * given. */
    bool (*words)(const struct bench_options *options);

    /* Makes what measuring needs and what must be there before the process has threads. Prints a
     * sentence where it fails. NULL: nothing is needed. */
    bool (*prepare)(const struct bench_options *options);

    /* Measures, and passes each row to REPORT. False: a row is missing, because it could not be
     * measured or because the result was wrong; a sentence on standard error has said why. */
    bool (*measure)(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report);
};

/* ARGV[0] is not looked at. Returns the exit code: 0; 1 where a row is missing, a device could
 * not be opened or nothing could be prepared; 2 where the call is not understood. */
int bench_run(const struct bench *bench, int argc, char **argv);

/* One for each operator that has a benchmark. Weak: NULL where the program is built without that
 * operator (OPS_SKIP). */
extern const struct bench bench_histeq __attribute__((weak));
extern const struct bench bench_edge __attribute__((weak));
extern const struct bench bench_carve __attribute__((weak));

extern const struct bench bench_skeletons; /* of what users write */
extern const struct bench bench_jpeg;      /* of the codec on both sides */

#endif

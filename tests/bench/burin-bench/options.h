// SPDX-License-Identifier: Apache-2.0
/* options.h - the options that all benchmarks share, and those that one has for itself.
 *
 * Used by:  bench.c, which parses them; each benchmark reads them.
 * Owns:     nothing: strings are those of argv.
 * Fails:    bench_options_parse prints a sentence and returns false.
 */
#ifndef BURIN_BENCH_OPTIONS_H
#define BURIN_BENCH_OPTIONS_H

#include <stdbool.h>

enum { BENCH_REPEATS = 15 };

/* Listed in every --help. */
#define BENCH_OPTIONS_HELP                                                                         \
    "  --json          print JSON and no table\n"                                                  \
    "  --device WHICH  all (default), cpu, cuda or cuda:N\n"                                       \
    "  --pixels-max N  leave out pictures of more than N pixels; 0 (default): none\n"              \
    "  --repeats N     take the median of N runs, 1 to 1000 (default 15)\n"

/* One that a single benchmark has; it keeps the value itself. */
struct bench_option {
    const char *name;               /* "--size"; NULL ends a list */
    const char *range;              /* for messages; NULL: a switch, which has no value */
    bool (*set)(const char *value); /* false: not in the range; a switch is given NULL */
};

struct bench_options {
    const char *program;            /* set by the caller; begins every message */
    const struct bench_option *own; /* set by the caller; NULL: none */
    bool json;
    const char *device; /* "all", or as device_choose reads it */
    long pixels_max;    /* 0: no bound */
    int repeats;
    int word_count; /* words that are not options: files, or names of series */
    char **words;
};

/* ARGV from its second word on. Words that are not options are moved to the front of it. */
bool bench_options_parse(struct bench_options *options, int argc, char **argv);

/* Is a picture of WIDTH x HEIGHT left out? */
bool bench_options_skip(const struct bench_options *options, unsigned width, unsigned height);

#endif

// SPDX-License-Identifier: Apache-2.0
/* bench.h - what the subcommands of `burin bench` share: lanes to measure on, pictures, medians,
 * tables.
 *
 * Times are medians of BENCH_REPEATS runs after a tenth of a second of runs, or one, that are not
 * counted; of fewer where one takes long (`burin bench --help` tells which); never on zeros.
 */
#ifndef BURIN_BENCH_H
#define BURIN_BENCH_H

#include "pipeline/run.h"

#include <jansson.h>
#include <stdbool.h>

enum { BENCH_REPEATS = 15, BENCH_LANES_MAX = 18, BENCH_SPANS_MAX = 8 };

struct bench_options {
    bool json;
    const char *device; /* "all", or as device_choose reads it */
    long pixels_max;    /* sizes over it are left out; 0: none */
    int repeats;
    int file_count;
    char **files;
};

/* Takes the options that all share out of the arguments; false, and a message, where something is
 * not understood. */
bool bench_options(struct bench_options *options, int argc, char **argv);

/* No files or series were given; else a message, and false. */
bool bench_takes_no_words(const struct bench_options *options);

struct bench_lane {
    char name[64]; /* "cpu, 1 core", "cuda:0" */
    bool gpu;
    struct lane *lane;
    struct pool *pool;
};

/* CPU with one core, with all, and every GPU: as options->device says. Returns how many, or -1
 * where there is no such device. WHOLE: none failed to open. */
int bench_open(const struct bench_options *options, struct bench_lane lanes[BENCH_LANES_MAX],
               bool *whole);
void bench_close(struct bench_lane *lanes, int count);

/* Median milliseconds of one picture's way. */
struct bench_times {
    double upload, compute, download;
    int span_count;
    struct span spans[BENCH_SPANS_MAX]; /* kernels of the first operator */
};

/* Runs PLAN on a picture of SHAPE drawn by DRAW. */
enum status bench_measure(struct lane *lane, const struct plan *plan, struct image shape,
                          void (*draw)(const struct image *image, const void *context),
                          const void *context, int repeats, struct bench_times *times,
                          struct failure *failure);

/* STATUS_OK where LANE's last run put out EXPECTED; where that has no pixels nothing is asked. */
enum status bench_check(const struct bench_lane *lane, const struct image *expected,
                        struct failure *failure);

/* Are the CPU, which is then the first, and a GPU among LANES? They are held against each other
 * then, else against straightforward C. */
bool bench_has_both(const struct bench_lane *lanes, int count);

/* The middle one; VALUES are put in order for it. */
double bench_median(double *values, int count);

/* Noise in every sample; rows are drawn from SEED. */
void bench_noise(const struct image *image, const void *context);

/* "2026-11-21", host's CPU and GPUs: so that a table says where it was made. */
json_t *bench_machine(void);
void bench_print_machine(void);

/* Are the words that are no options such as a subcommand takes? Else a message. */
typedef bool (*bench_words)(const struct bench_options *options);

/* What a subcommand measures: rows go to ROWS and, unless options->json, to standard output as a
 * table. False: a row or a time is missing, for it could not be had or the result was wrong; a
 * message has told which. */
typedef bool (*bench_rows)(const struct bench_options *options, struct bench_lane *lanes, int count,
                           json_t *rows);

/* A whole subcommand: options, lanes, the machine's line, what MEASURE tells, the JSON. Returns the
 * exit code. */
int bench_command(const char *name, bench_words words, bench_rows measure, int argc, char **argv);

/* Subcommands. Weak: NULL where the program is built without the operator. */
__attribute__((weak)) int bench_histeq(int argc, char **argv);
__attribute__((weak)) int bench_edge(int argc, char **argv);
__attribute__((weak)) int bench_carve(int argc, char **argv);
int bench_launch(int argc, char **argv);
int bench_energy(int argc, char **argv);

#endif

// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/options.h"

#include "pipeline/param.h"

#include <stdio.h>
#include <string.h>

static bool set_device(struct bench_options *options, const char *value) {
    options->device = value; /* lanes_open judges it */
    return true;
}

static bool set_pixels_max(struct bench_options *options, const char *value) {
    return param_integer(value, &options->pixels_max) && options->pixels_max >= 0;
}

static bool set_repeats(struct bench_options *options, const char *value) {
    long number = 0;
    const bool good = param_integer(value, &number) && number >= 1 && number <= 1000;
    options->repeats = (int)number;
    return good;
}

static const struct option {
    const char *name, *range;
    bool (*set)(struct bench_options *options, const char *value);
} table[] = {
    { "--device", "all, cpu, cuda or cuda:N", set_device },
    { "--pixels-max", "a number of pixels, or 0 for every size", set_pixels_max },
    { "--repeats", "1..1000", set_repeats },
};

static bool refuse(const struct bench_options *options, const char *name, const char *range,
                   const char *value) {
    if (value)
        fprintf(stderr, "%s: %s must be %s, not \"%s\"\n", options->program, name, range, value);
    else
        fprintf(stderr, "%s: %s needs a value: %s\n", options->program, name, range);
    return false;
}

static const struct bench_option *find_own(const struct bench_options *options, const char *name) {
    for (const struct bench_option *one = options->own; one && one->name; one++)
        if (strcmp(name, one->name) == 0) return one;
    return NULL;
}

static bool is_switch(const struct bench_options *options, const char *name) {
    const struct bench_option *one = find_own(options, name);
    return one && !one->range;
}

/* VALUE may be NULL. */
static bool set_option(struct bench_options *options, const char *name, const char *value) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(name, table[i].name) != 0) continue;
        if (value && table[i].set(options, value)) return true;
        return refuse(options, name, table[i].range, value);
    }
    const struct bench_option *one = find_own(options, name);
    if (one) return (value && one->set(value)) || refuse(options, name, one->range, value);
    fprintf(stderr, "%s: there is no option \"%s\"; see %s --help\n", options->program, name,
            options->program);
    return false;
}

bool bench_options_parse(struct bench_options *options, int argc, char **argv) {
    *options = (struct bench_options){
        .program = options->program,
        .own = options->own,
        .device = "all",
        .repeats = BENCH_REPEATS,
        .words = argv + 1,
    };
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            options->words[options->word_count++] = argv[i];
        } else if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else if (is_switch(options, argv[i])) {
            find_own(options, argv[i])->set(NULL);
        } else {
            if (!set_option(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) return false;
            i++;
        }
    }
    return true;
}

bool bench_options_skip(const struct bench_options *options, unsigned width, unsigned height) {
    return options->pixels_max && (long)width * (long)height > options->pixels_max;
}

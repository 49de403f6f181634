// SPDX-License-Identifier: Apache-2.0
/* How it works. A table has the name of each setting, the values that it may have, and a function
 * that reads one of these from text; behind the table are the rules between settings. */
#include "pipeline/encode_options.h"

#include "pipeline/param.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { COLORS_MAX = 256 };

const struct encode_options encode_options_default = {
    .format = FORMAT_JPEG,
    .quality = 85,
    .compression = 1,
    .effort = 4,
    .background = { 255, 255, 255, 255 },
};

/* ---- reading one */

static bool read_number(const char *value, long min, long max, long *number) {
    return param_integer(value, number) && *number >= min && *number <= max;
}

static bool read_small(const char *value, long min, long max, int *field) {
    long number = 0;
    const bool good = read_number(value, min, max, &number);
    if (good) *field = (int)number;
    return good;
}

static bool read_flag(const char *value, bool *field) {
    const bool on = strcmp(value, "true") == 0, good = on || strcmp(value, "false") == 0;
    if (good) *field = on;
    return good;
}

static bool set_type(struct encode_options *options, const char *value) {
    options->format = format_from_name(value);
    return options->format || strcmp(value, "auto") == 0;
}

static bool set_quality(struct encode_options *options, const char *value) {
    options->loss_chosen = true;
    return read_small(value, 1, 100, &options->quality);
}

static bool set_compression(struct encode_options *options, const char *value) {
    return read_small(value, 0, 3, &options->compression);
}

static bool set_progressive(struct encode_options *options, const char *value) {
    return read_flag(value, &options->progressive);
}

static bool set_lossless(struct encode_options *options, const char *value) {
    options->loss_chosen = true;
    return read_flag(value, &options->lossless);
}

static bool set_palette(struct encode_options *options, const char *value) {
    const bool good = read_flag(value, &options->palette);
    options->no_palette = good && !options->palette;
    return good;
}

static bool set_colors(struct encode_options *options, const char *value) {
    return read_small(value, 2, COLORS_MAX, &options->colors);
}

static bool set_dither(struct encode_options *options, const char *value) {
    return read_flag(value, &options->dither);
}

int encode_colors(const struct encode_options *options) {
    return options->palette && !options->colors ? COLORS_MAX : options->colors;
}

static bool set_effort(struct encode_options *options, const char *value) {
    return read_small(value, 0, 6, &options->effort);
}

static bool set_background(struct encode_options *options, const char *value) {
    uint32_t rgba;
    if (!param_colour(value, &rgba)) return false;
    for (int i = 0; i < 4; i++) options->background[i] = (uint8_t)(rgba >> (24 - 8 * i));
    options->has_background = true;
    return true;
}

uint32_t encode_background(const struct encode_options *options) {
    uint32_t rgba = 0;
    for (int i = 0; i < 4; i++) rgba = rgba << 8 | options->background[i];
    return rgba;
}

static bool set_max_bytes(struct encode_options *options, const char *value) {
    long number = 0;
    const bool good = read_number(value, 1, INT64_MAX, &number);
    options->loss_chosen = true;
    if (good) options->max_bytes = number;
    return good;
}

static bool set_min_quality(struct encode_options *options, const char *value) {
    return read_small(value, 1, 100, &options->min_quality);
}

static bool set_animation(struct encode_options *options, const char *value) {
    options->animated = strcmp(value, "keep") == 0;
    return options->animated || strcmp(value, "first") == 0;
}

/* CHOICES: the values, ended by NULL; the field becomes the index of one. */
static bool read_choice(const char *value, const char *const *choices, uint8_t *field) {
    for (int i = 0; choices[i]; i++)
        if (strcmp(value, choices[i]) == 0) {
            *field = (uint8_t)i;
            return true;
        }
    return false;
}

static bool set_metadata(struct encode_options *options, const char *value) {
    static const char *const choices[] = { "none", "copyright", "keep", NULL };
    return read_choice(value, choices, &options->metadata);
}

static bool set_profile(struct encode_options *options, const char *value) {
    static const char *const choices[] = { "keep", "srgb", "none", NULL };
    return read_choice(value, choices, &options->profile);
}

/* ---- all of them */

static const struct setting {
    const char *name, *range; /* NULL: a format's name */
    bool (*set)(struct encode_options *options, const char *value);
} settings[] = {
    { "type", NULL, set_type },
    { "quality", "a whole number 1..100", set_quality },
    { "compression", "a whole number 0..3", set_compression },
    { "progressive", "true or false", set_progressive },
    { "lossless", "true or false", set_lossless },
    { "palette", "true or false", set_palette },
    { "colors", "a whole number 2..256", set_colors },
    { "dither", "true or false", set_dither },
    { "effort", "a whole number 0..6", set_effort },
    { "background", "RRGGBB or RRGGBBAA in hexadecimal, or a CSS colour name, such as white",
      set_background },
    { "max_bytes", "a whole number of bytes from 1", set_max_bytes },
    { "min_quality", "a whole number 1..100", set_min_quality },
    { "animation", "first or keep", set_animation },
    { "profile", "keep, srgb or none", set_profile },
    { "metadata", "none, copyright or keep", set_metadata },
};
enum { SETTINGS = sizeof settings / sizeof *settings };

const char *encode_option_name(int index) {
    return index >= 0 && index < SETTINGS ? settings[index].name : NULL;
}

const char *encode_option_range(int index, char text[FORMAT_LIST_MAX]) {
    if (settings[index].range) return settings[index].range;
    format_list(FORMAT_NAMES, FORMAT_WRITTEN, ", ", ", ", text);
    const size_t length = strlen(text);
    snprintf(text + length, FORMAT_LIST_MAX - length, " or auto");
    return text;
}

bool encode_option_set(struct encode_options *options, int index, const char *value) {
    return settings[index].set(options, value);
}

void encode_options_as_input(struct encode_options *options, const struct probe *probe,
                             enum format format) {
    options->format = format;
    options->lossless |= probe->lossless && format == probe->format && !options->loss_chosen;
}

enum status encode_options_check(const struct encode_options *options, struct failure *failure) {
    if (options->no_palette && (options->colors || options->dither))
        return fail(failure, STATUS_BAD_PARAM,
                    "palette=false leaves nothing for %s, which belongs to a palette; leave one of "
                    "the two out",
                    options->colors ? "colors" : "dither");
    if (options->min_quality <= options->quality) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM, "min_quality must be 1..%d: no more than quality is",
                options->quality);
}

int encode_min_quality(const struct encode_options *options) {
    const int least = options->min_quality ? options->min_quality : MIN_QUALITY_DEFAULT;
    return least < options->quality ? least : options->quality;
}

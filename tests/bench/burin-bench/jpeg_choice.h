// SPDX-License-Identifier: Apache-2.0
/* jpeg_choice.h - which rows `burin bench jpeg` measures: its own options.
 *
 * Used by:  jpeg.c.
 * Owns:     the choice, one for the process; strings are those of argv.
 * Fails:    options.c reports a refused option.
 * Limits:   JPEG_CHOICES_MAX of each.
 */
#ifndef BURIN_JPEG_CHOICE_H
#define BURIN_JPEG_CHOICE_H

#include "tests/bench/burin-bench/jpeg_subjects.h"
#include "tests/bench/burin-bench/options.h"

enum { JPEG_CHOICES_MAX = 8 };

struct jpeg_size {
    uint32_t width, height;
};

struct jpeg_list {
    int count; /* 0: not given */
    int all[JPEG_CHOICES_MAX];
};

extern struct jpeg_choice {
    const char *photos; /* a folder; NULL: scenes are drawn */
    bool quick;
    int size_count; /* 0: not given */
    struct jpeg_size sizes[JPEG_CHOICES_MAX];
    struct jpeg_list kinds, qualities, batches, works;
} jpeg_choice;

extern const struct bench_option jpeg_choice_options[];

/* Lines of help, as bench.h has them. */
#define JPEG_CHOICE_HELP                                                                           \
    "            --size LIST      of 320x240, 1080p, 4K, or any WIDTHxHEIGHT\n"                    \
    "            --sampling LIST  of gray, 420, 422, 444\n"                                        \
    "            --quality LIST   1 to 100\n"                                                      \
    "            --batch LIST     pictures that go to a GPU at once, 1 to 1024\n"                  \
    "            --work LIST      of decode, encode, both\n"                                       \
    "            --photos FOLDER  cuts photographs to size; without it scenes are drawn\n"         \
    "            --quick          320x240 and 1080p, 4:2:0, quality 85, two batches, 5 rounds\n"

/* The sizes that are measured after defaults are applied. */
int jpeg_choice_sizes(struct jpeg_size sizes[JPEG_CHOICES_MAX]);
bool jpeg_choice_pair(enum jpeg_kind kind, int quality);
/* The batches of pictures of that size, sampling and quality, the smallest first. */
int jpeg_choice_batches(const struct jpeg_size *size, enum jpeg_kind kind, int quality,
                        int batches[JPEG_CHOICES_MAX]);
bool jpeg_choice_work(enum jpeg_work work);
/* Those that any pair may have. */
int jpeg_choice_qualities(int qualities[JPEG_CHOICES_MAX]);

#endif

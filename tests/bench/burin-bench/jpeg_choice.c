// SPDX-License-Identifier: Apache-2.0
/* How it works. A list that is given is taken as it is, and with it every pair. Without one, all
 * qualities are measured of 4:2:0, the other samplings with the quality that they are used with,
 * and batches of every size of 4:2:0 of quality 85 alone: else it would be a thousand rows, and
 * large pictures of all kinds in large batches take minutes to be brought and checked. */
#include "tests/bench/burin-bench/jpeg_choice.h"

#include "pipeline/param.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_PIXELS = 400000, MAIN_QUALITY = 85, OTHERS_BATCH = 32, WORD_MAX = 32 };

struct jpeg_choice jpeg_choice;

static const struct {
    const char *name;
    struct jpeg_size size;
} named_sizes[] = { { "1080p", { 1920, 1080 } },
                    { "4K", { 3840, 2160 } },
                    { "4k", { 3840, 2160 } } };

/* ---- lists */

/* Each word between commas, to ADD. */
static bool read_list(const char *text, bool (*add)(const char *word)) {
    char word[WORD_MAX];
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof word) return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (!add(word)) return false;
        if (!text[length]) return true;
        text += length + 1;
    }
}

static bool append(struct jpeg_list *list, int value) {
    if (list->count == JPEG_CHOICES_MAX) return false;
    list->all[list->count++] = value;
    return true;
}

static bool append_number(struct jpeg_list *list, const char *word, long max) {
    long number;
    return param_integer(word, &number) && number >= 1 && number <= max &&
           append(list, (int)number);
}

static bool has(const struct jpeg_list *list, int value) {
    for (int i = 0; i < list->count; i++)
        if (list->all[i] == value) return true;
    return false;
}

static bool add_size(const char *word) {
    struct jpeg_size size = { 0, 0 };
    char rest;
    for (size_t i = 0; i < sizeof named_sizes / sizeof *named_sizes; i++)
        if (strcmp(word, named_sizes[i].name) == 0) size = named_sizes[i].size;
    if (!size.width && (sscanf(word, "%5ux%5u%c", &size.width, &size.height, &rest) != 2 ||
                        !size.width || !size.height || size.width > 65500 || size.height > 65500))
        return false;
    if (jpeg_choice.size_count == JPEG_CHOICES_MAX) return false;
    jpeg_choice.sizes[jpeg_choice.size_count++] = size;
    return true;
}

static bool add_kind(const char *word) {
    static const char *const names[JPEG_KINDS] = { "gray", "420", "422", "444" };
    for (int kind = 0; kind < JPEG_KINDS; kind++)
        if (strcmp(word, names[kind]) == 0 || strcmp(word, jpeg_kind_names[kind]) == 0)
            return append(&jpeg_choice.kinds, kind);
    return false;
}

static bool add_quality(const char *word) {
    return append_number(&jpeg_choice.qualities, word, 100);
}

static bool add_batch(const char *word) {
    return append_number(&jpeg_choice.batches, word, JPEG_BATCH_MAX);
}

static bool add_work(const char *word) {
    static const char *const names[] = { "decode", "encode", "both" };
    for (int work = 0; work <= JPEG_WORK_BOTH; work++)
        if (strcmp(word, names[work]) == 0) return append(&jpeg_choice.works, work);
    return false;
}

/* ---- options */

static bool set_sizes(const char *value) {
    jpeg_choice.size_count = 0;
    return read_list(value, add_size);
}

static bool set_kinds(const char *value) {
    jpeg_choice.kinds.count = 0;
    return read_list(value, add_kind);
}

static bool set_qualities(const char *value) {
    jpeg_choice.qualities.count = 0;
    return read_list(value, add_quality);
}

static bool set_batches(const char *value) {
    jpeg_choice.batches.count = 0;
    return read_list(value, add_batch);
}

static bool set_works(const char *value) {
    jpeg_choice.works.count = 0;
    return read_list(value, add_work);
}

static bool set_photos(const char *value) {
    jpeg_choice.photos = value;
    return *value;
}

static bool set_quick(const char *value) {
    (void)value;
    jpeg_choice.quick = true;
    return true;
}

const struct bench_option jpeg_choice_options[] = {
    { "--size", "320x240, 1080p, 4K or WIDTHxHEIGHT, up to 8 with commas between", set_sizes },
    { "--sampling", "gray, 420, 422 or 444, with commas between", set_kinds },
    { "--quality", "1..100, up to 8 with commas between", set_qualities },
    { "--batch", "1..1024, up to 8 with commas between", set_batches },
    { "--work", "decode, encode or both, with commas between", set_works },
    { "--photos", "a folder", set_photos },
    { "--quick", NULL, set_quick },
    { NULL, NULL, NULL },
};

/* ---- what they come to */

int jpeg_choice_sizes(struct jpeg_size sizes[JPEG_CHOICES_MAX]) {
    static const struct jpeg_size usual[] = { { 320, 240 }, { 1920, 1080 }, { 3840, 2160 } };
    const int count = jpeg_choice.size_count ? jpeg_choice.size_count : jpeg_choice.quick ? 2 : 3;
    memcpy(sizes, jpeg_choice.size_count ? jpeg_choice.sizes : usual,
           (size_t)count * sizeof *sizes);
    return count;
}

static int ascending(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

int jpeg_choice_qualities(int qualities[JPEG_CHOICES_MAX]) {
    static const struct jpeg_list usual = { 3, { 50, MAIN_QUALITY, 95 } };
    const struct jpeg_list *list = jpeg_choice.qualities.count ? &jpeg_choice.qualities : &usual;
    memcpy(qualities, list->all, (size_t)list->count * sizeof *qualities);
    return list->count;
}

static bool is_main(enum jpeg_kind kind, int quality) {
    return kind == JPEG_KIND_420 && quality == MAIN_QUALITY;
}

bool jpeg_choice_pair(enum jpeg_kind kind, int quality) {
    const bool kinds = jpeg_choice.kinds.count, qualities = jpeg_choice.qualities.count;
    if (kinds && !has(&jpeg_choice.kinds, (int)kind)) return false;
    if (qualities && !has(&jpeg_choice.qualities, quality)) return false;
    if (kinds && qualities) return true;
    if (jpeg_choice.quick && !kinds && !qualities) return is_main(kind, quality);
    if (kinds && jpeg_choice.quick) return quality == MAIN_QUALITY;
    if (kinds) return true;
    return kind == JPEG_KIND_420 || quality == MAIN_QUALITY ||
           (kind == JPEG_KIND_444 && quality == 95);
}

int jpeg_choice_batches(const struct jpeg_size *size, enum jpeg_kind kind, int quality,
                        int batches[JPEG_CHOICES_MAX]) {
    static const struct jpeg_list usual = { 5, { 1, 8, 32, 128, 1024 } };
    const struct jpeg_list *list = jpeg_choice.batches.count ? &jpeg_choice.batches : &usual;
    const bool small = (uint64_t)size->width * size->height < SMALL_PIXELS;
    int count = list->count;
    memcpy(batches, list->all, (size_t)count * sizeof *batches);
    if (jpeg_choice.batches.count) {
        qsort(batches, (size_t)count, sizeof *batches, ascending);
        return count;
    }
    if (!small) count--;
    if (!is_main(kind, quality)) {
        batches[0] = small ? batches[count - 1] : OTHERS_BATCH;
        return 1;
    }
    if (jpeg_choice.quick) batches[1] = batches[count - 1]; /* behind batches of 1 */
    return jpeg_choice.quick ? 2 : count;
}

bool jpeg_choice_work(enum jpeg_work work) {
    return !jpeg_choice.works.count || has(&jpeg_choice.works, (int)work);
}

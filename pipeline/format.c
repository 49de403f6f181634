// SPDX-License-Identifier: Apache-2.0
#include "pipeline/format.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FORMAT(name, NAME) extern const struct format_record format_##name;
#include "formats.inc"
#undef FORMAT

static const struct format_record format_none = { .name = "none",
                                                  .media_types = { "application/octet-stream" } };

const struct format_record *const format_records[FORMAT_COUNT] = {
    &format_none,
#define FORMAT(name, NAME) &format_##name,
#include "formats.inc"
#undef FORMAT
};

const char *format_name(enum format format) {
    return format_record(format)->name;
}

const char *format_media_type(enum format format) {
    return format_record(format)->media_types[0];
}

bool format_can(enum format format, unsigned abilities) {
    const struct format_record *record = format_record(format);
    const unsigned has = record->abilities | (record->decode ? FORMAT_READ : 0u) |
                         (record->encode ? FORMAT_WRITTEN : 0u);
    return (has & abilities) == abilities;
}

static bool is_called(const struct format_record *record, const char *name) {
    bool called = strcasecmp(name, record->name) == 0;
    for (int i = 0; record->endings[i] && !called; i++)
        called = strcasecmp(name, record->endings[i]) == 0;
    return called;
}

enum format format_from_name(const char *name) {
    for (int f = FORMAT_NONE + 1; f < FORMAT_COUNT; f++)
        if (format_records[f]->encode && is_called(format_records[f], name)) return (enum format)f;
    return FORMAT_NONE;
}

bool format_before(enum format_order order, enum format a, enum format b) {
    /* 0 wraps to the end. */
    const uint8_t place_a = (uint8_t)(format_record(a)->places[order] - 1);
    const uint8_t place_b = (uint8_t)(format_record(b)->places[order] - 1);
    return place_a != place_b ? place_a < place_b : a < b;
}

enum format format_at(enum format_order order, int index) {
    for (int f = FORMAT_NONE + 1; f < FORMAT_COUNT; f++) {
        int before = 0;
        for (int other = FORMAT_NONE + 1; other < FORMAT_COUNT; other++)
            before += format_before(order, (enum format)other, (enum format)f);
        if (before == index) return (enum format)f;
    }
    return FORMAT_NONE;
}

/* The INDEX-th word for RECORD; NULL behind the last. */
static const char *word_of(const struct format_record *record, enum format_words words, int index) {
    if (words == FORMAT_ENDINGS) return record->endings[index];
    if (index) return NULL;
    if (words == FORMAT_NAMES) return record->name;
    return words == FORMAT_INPUTS && record->input_title ? record->input_title : record->title;
}

const char *format_list(enum format_words words, unsigned abilities, const char *between,
                        const char *last, char text[FORMAT_LIST_MAX]) {
    const char *const dot = words == FORMAT_ENDINGS ? "." : "";
    const enum format_order order =
        words == FORMAT_NAMES || words == FORMAT_ENDINGS ? FORMATS_OFFERED : FORMATS_DESCRIBED;
    const char *word, *held = NULL; /* one word behind, to know which is the last */
    size_t length = 0;
    enum format format;
    text[0] = '\0';
    for (int f = 0; (format = format_at(order, f)); f++)
        for (int w = 0;
             format_can(format, abilities) && (word = word_of(format_record(format), words, w));
             w++) {
            if (held && length < FORMAT_LIST_MAX)
                length += (size_t)snprintf(text + length, FORMAT_LIST_MAX - length, "%s%s%s",
                                           length ? between : "", dot, held);
            held = word;
        }
    if (held && length < FORMAT_LIST_MAX)
        snprintf(text + length, FORMAT_LIST_MAX - length, "%s%s%s", length ? last : "", dot, held);
    return text;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. Every range of every line is matched with every kind of answer; each kind keeps the
 * weight of the most specific range so far. The choice depends only on these weights. */
#include "server/request/negotiation.h"

#include "pipeline/codec.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The possible answers: an image of each format, under the format's own number, and other kinds. */
enum kind {
    KIND_FIRST_IMAGE = FORMAT_NONE + 1,
    KIND_IMAGES_END = FORMAT_COUNT,
    KIND_MULTIPART = KIND_IMAGES_END,
    KIND_JSON,
    KIND_ZIP,
    KINDS
};
static_assert((int)KINDS == NEGOTIATION_KINDS, "a preference each");

static const char *const other_media_types[][FORMAT_NAMES_MAX] = { { "multipart/mixed" },
                                                                   { "application/json" },
                                                                   { "application/zip" } };

enum depth { DEPTH_NONE, DEPTH_ANYTHING, DEPTH_TYPE, DEPTH_WHOLE }; /* how specific a range is */
enum { WEIGHT_FULL = 1000 };

/* Slices of the header. */
struct range {
    const char *type, *subtype;
    size_t type_length, subtype_length;
    int weight; /* thousandths */
};

/* ---- one range: type/subtype, then parameters, up to a comma */

static const char *skip_blanks(const char *p) {
    return p + strspn(p, " \t");
}

/* The end of the value at P: a semicolon or comma outside quotes. */
static const char *value_end(const char *p) {
    for (bool quoted = false; *p && (quoted || (*p != ';' && *p != ',')); p++) {
        if (*p == '"') quoted = !quoted;
        if (quoted && *p == '\\' && p[1]) p++;
    }
    return p;
}

/* "0.8" in thousandths; further digits are skipped. */
static int read_weight(const char *p) {
    int weight = 0;
    if (*p != '0') return WEIGHT_FULL;
    if (*++p == '.')
        for (int unit = 100; *++p >= '0' && *p <= '9'; unit /= 10) weight += unit * (*p - '0');
    return *p && !strchr(" \t;,", *p) ? WEIGHT_FULL : weight;
}

/* Reads the range at *AT and moves on behind its comma; false at the end of the header. */
static bool next_range(const char **at, struct range *out) {
    const char *p = *at + strspn(*at, " \t,");
    if (!*p) return false;
    out->type = p;
    out->type_length = strcspn(p, "/ \t;,");
    p += out->type_length;
    p += *p == '/';
    out->subtype = p;
    out->subtype_length = strcspn(p, " \t;,");
    out->weight = WEIGHT_FULL;
    for (p = value_end(p); *p == ';'; p = value_end(p)) {
        p = skip_blanks(p + 1);
        if (strncasecmp(p, "q=", 2) == 0) out->weight = read_weight(p + 2);
    }
    *at = p;
    return true;
}

/* ---- what a line prefers */

static bool is(const char *text, size_t length, const char *name) {
    return length == strlen(name) && strncasecmp(text, name, length) == 0;
}

static enum depth match(const struct range *range, enum kind kind) {
    const bool any = is(range->subtype, range->subtype_length, "*");
    if (is(range->type, range->type_length, "*")) return any ? DEPTH_ANYTHING : DEPTH_NONE;
    const char *const *media_types = (int)kind < KIND_IMAGES_END
                                         ? format_records[kind]->media_types
                                         : other_media_types[kind - KIND_IMAGES_END];
    const size_t type_length = strcspn(media_types[0], "/");
    if (range->type_length != type_length ||
        strncasecmp(range->type, media_types[0], type_length) != 0)
        return DEPTH_NONE;
    if (any) return DEPTH_TYPE;
    for (int i = 0; media_types[i]; i++)
        if (is(range->subtype, range->subtype_length, media_types[i] + type_length + 1))
            return DEPTH_WHOLE;
    return DEPTH_NONE;
}

void negotiation_add(struct negotiation *negotiation, const char *line) {
    struct range range;
    while (next_range(&line, &range)) {
        negotiation->page |= is(range.type, range.type_length, "text") &&
                             is(range.subtype, range.subtype_length, "html");
        for (int k = KIND_FIRST_IMAGE; k < KINDS; k++) {
            const int depth = match(&range, (enum kind)k);
            struct preference *preference = &negotiation->preferences[k];
            if (depth == DEPTH_NONE || depth < preference->depth) continue;
            if (depth == preference->depth && range.weight <= preference->weight) continue;
            *preference = (struct preference){ depth, range.weight };
        }
    }
}

int negotiation_weight(const char *line, const char *media_type) {
    const size_t type_length = strcspn(media_type, "/");
    struct range range;
    int most = 0;
    while (next_range(&line, &range))
        if (range.type_length == type_length &&
            strncasecmp(range.type, media_type, type_length) == 0 && range.weight > most &&
            is(range.subtype, range.subtype_length, media_type + type_length + 1))
            most = range.weight;
    return most;
}

/* Whether the client's preference for KIND is real and this build can write it. */
static bool is_wish(const struct negotiation *negotiation, int kind) {
    const struct format_record *format = format_records[kind];
    return format->encode && (!format->slow || !negotiation->page) &&
           !codec_missing((enum format)kind);
}

static int best_image(const struct negotiation *negotiation) {
    int best = 0;
    for (int k = KIND_FIRST_IMAGE; k < KIND_IMAGES_END; k++)
        if (is_wish(negotiation, k) && negotiation->preferences[k].weight > best)
            best = negotiation->preferences[k].weight;
    return best;
}

/* ---- the choice */

/* "image/png" or "image", any kind, but not just anything. */
static bool names_image(const struct negotiation *negotiation) {
    for (int k = KIND_FIRST_IMAGE; k < KIND_IMAGES_END; k++) {
        const struct preference *preference = &negotiation->preferences[k];
        if (is_wish(negotiation, k) && preference->depth > DEPTH_ANYTHING && preference->weight > 0)
            return true;
    }
    return false;
}

/* Accepts JSON, or does not mention it. */
static bool takes_json(const struct negotiation *negotiation) {
    const struct preference *json = &negotiation->preferences[KIND_JSON];
    return json->depth == DEPTH_NONE || json->weight > 0;
}

enum answer negotiation_answer(const struct negotiation *negotiation, bool values_suffice) {
    const struct preference *parts = &negotiation->preferences[KIND_MULTIPART];
    const int image = best_image(negotiation), json = negotiation->preferences[KIND_JSON].weight;
    const bool named = parts->depth > DEPTH_ANYTHING && parts->weight > 0;
    if (named && parts->weight >= (image ? image : json)) return ANSWER_MULTIPART;
    if (values_suffice && !names_image(negotiation) && takes_json(negotiation)) return ANSWER_JSON;
    return image || !json ? ANSWER_IMAGE : ANSWER_JSON;
}

/* 0: KIND is not named in full. */
static int named_weight(const struct negotiation *negotiation, enum kind kind) {
    const struct preference *preference = &negotiation->preferences[kind];
    return preference->depth > DEPTH_TYPE ? preference->weight : 0;
}

enum answer negotiation_answer_several(const struct negotiation *negotiation) {
    const int zip = named_weight(negotiation, KIND_ZIP);
    const int json = named_weight(negotiation, KIND_JSON);
    const struct preference *parts = &negotiation->preferences[KIND_MULTIPART];
    const int image = best_image(negotiation);
    if (zip && zip >= parts->weight && zip >= image) return ANSWER_ZIP;
    return json && !parts->weight && !image ? ANSWER_JSON : ANSWER_MULTIPART;
}

/* The first of PREFER's types that is named in full with at least the weight BEST. FORMAT_NONE:
 * none. Types that a page's browser names count here. */
static enum format preferred(const struct negotiation *negotiation, const struct types *prefer,
                             int best) {
    for (int i = 0; i < prefer->count; i++) {
        const enum format format = prefer->types[i];
        const struct preference *preference = &negotiation->preferences[format];
        if (preference->depth == DEPTH_WHOLE && preference->weight && preference->weight >= best &&
            !codec_missing(format))
            return format;
    }
    return FORMAT_NONE;
}

enum format negotiation_type(const struct negotiation *negotiation, enum format input,
                             const struct types *prefer) {
    const int best = best_image(negotiation);
    enum format choice = preferred(negotiation, prefer, best);
    if (choice) return choice == input ? FORMAT_NONE : choice;
    for (int k = KIND_FIRST_IMAGE; best && k < KIND_IMAGES_END; k++) {
        const enum format format = (enum format)k;
        if (negotiation->preferences[k].weight < best || !is_wish(negotiation, k)) continue;
        if (format == input) return FORMAT_NONE;
        if (!choice || format_before(FORMATS_PREFERRED, format, choice)) choice = format;
    }
    return choice;
}

// SPDX-License-Identifier: Apache-2.0
#include "server/account.h"

#include "pipeline/codec.h"
#include "server/text.h"

struct account_image account_image_of(const struct image *shape, enum format format,
                                      uint64_t bytes) {
    return (struct account_image){ .type = format_name(format),
                                   .width = shape->width,
                                   .height = shape->height,
                                   .channels = shape->channels,
                                   .depth = shape->depth,
                                   .bytes = bytes };
}

static void write_image(struct text *text, const char *name, const struct account_image *image) {
    text_key(text, name);
    text_add(text, "{");
    text_key_json(text, "type", image->type ? image->type : "");
    text_key_number(text, "width", image->width);
    text_key_number(text, "height", image->height);
    text_key_number(text, "channels", image->channels);
    text_key_number(text, "depth", image->depth);
    text_key_number(text, "bytes", (int64_t)image->bytes);
    text_add(text, "}");
}

static void write_notes(struct text *text, uint32_t notes, const char *warning) {
    text_key(text, "notes");
    text_add(text, "[");
    for (int i = 0; i < NOTE_COUNT; i++) {
        if (!(notes >> i & 1)) continue;
        if (notes & ((1u << i) - 1)) text_add(text, ",");
        text_json(text, note_text(i));
    }
    if (notes & NOTE_DAMAGED) {
        text_add(text, ",");
        text_json(text, warning);
    }
    text_add(text, "]");
}

/* Kernels follow their operator in the account; here they lie within it. */
static void write_operators(struct text *text, const struct timing *timing) {
    text_key(text, "operators");
    text_add(text, "[");
    int before = -1; /* level of the span before */
    for (int i = 0; i < timing->span_count; i++) {
        const struct span *span = &timing->spans[i];
        const int level = span->level && before >= 0;
        if (before >= 0 && !level) text_add(text, "]},");
        if (before > 0 && level) text_add(text, ",");
        text_add(text, "{");
        text_key_json(text, "name", span->name);
        text_key_ms(text, "ms", span->ms);
        if (level) {
            text_add(text, "}");
        } else {
            text_key(text, "kernels");
            text_add(text, "[");
        }
        before = level;
    }
    text_add(text, before >= 0 ? "]}]" : "]");
}

static void write_stages(struct text *text, const struct timing *timing) {
    text_key(text, "ms");
    text_add(text, "{");
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        text_key_ms(text, stage_name((enum stage)stage), timing->stage_ms[stage]);
        if (stage == STAGE_COMPUTE) write_operators(text, timing);
    }
    text_key_ms(text, "total", timing->total_ms);
    text_add(text, "}");
}

size_t account_write(const struct account *account, char memory[ACCOUNT_MAX]) {
    struct text text = text_in(memory, ACCOUNT_MAX);
    text_add(&text, "{");
    if (account->request_id) text_key_json(&text, "request_id", account->request_id);
    text_key_json(&text, "device", account->device ? account->device : "");
    write_image(&text, "input", &account->input);
    write_image(&text, "output", &account->output);
    write_notes(&text, account->notes, account->warning);
    write_stages(&text, account->timing);
    text_add(&text, "}");
    return text.length;
}

// SPDX-License-Identifier: Apache-2.0
#include "server/timing_json.h"

#include "pipeline/codec.h"

#include <math.h>

static json_t *ms_json(double ms) {
    return json_real(round(ms * 1000) / 1000);
}

static json_t *image_json(const struct timing_image *image) {
    return json_pack("{s:s?, s:I, s:I, s:i, s:i, s:I}", "type", image->type, "width",
                     (json_int_t)image->width, "height", (json_int_t)image->height, "channels",
                     image->channels, "depth", image->depth, "bytes", (json_int_t)image->bytes);
}

static json_t *notes_json(uint32_t notes) {
    json_t *list = json_array();
    for (int i = 0; i < NOTE_COUNT; i++)
        if (notes >> i & 1) json_array_append_new(list, json_string(note_text(i)));
    return list;
}

/* Kernels follow their operator in the account; here they lie within it. */
static json_t *operators_json(const struct timing *timing) {
    json_t *operators = json_array(), *kernels = NULL;
    for (int i = 0; i < timing->span_count; i++) {
        const struct span *span = &timing->spans[i];
        json_t *item = json_pack("{s:s, s:o}", "name", span->name, "ms", ms_json(span->ms));
        if (span->level > 0 && kernels) {
            json_array_append_new(kernels, item);
            continue;
        }
        kernels = json_array();
        json_object_set_new(item, "kernels", kernels);
        json_array_append_new(operators, item);
    }
    return operators;
}

static json_t *stages_json(const struct timing *timing) {
    json_t *stages = json_object();
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        json_object_set_new(stages, stage_name((enum stage)stage),
                            ms_json(timing->stage_ms[stage]));
        if (stage == STAGE_COMPUTE)
            json_object_set_new(stages, "operators", operators_json(timing));
    }
    json_object_set_new(stages, "total", ms_json(timing->total_ms));
    return stages;
}

json_t *timing_json(const struct timing_report *report) {
    return json_pack("{s:s*, s:s?, s:o, s:o, s:o, s:o}", "request_id", report->request_id, "device",
                     report->device, "input", image_json(&report->input), "output",
                     image_json(&report->output), "notes", notes_json(report->notes), "ms",
                     stages_json(report->timing));
}

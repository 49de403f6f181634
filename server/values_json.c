// SPDX-License-Identifier: Apache-2.0
#include "server/values_json.h"

size_t values_json_bound(uint64_t count) {
    return (size_t)count * VALUES_NUMBER_MAX + PLAN_STEPS_MAX * VALUES_STEP_MAX + PLAN_TEXT_MAX;
}

void values_json_number(struct json_writer *json, const struct values *values, size_t index) {
    switch (values->shape.type) {
    case VALUE_INT32: json_writer_number(json, ((const int32_t *)values->numbers)[index]); break;
    case VALUE_UINT32: json_writer_number(json, ((const uint32_t *)values->numbers)[index]); break;
    case VALUE_INT64: json_writer_number(json, ((const int64_t *)values->numbers)[index]); break;
    case VALUE_UINT64:
        json_writer_unsigned(json, ((const uint64_t *)values->numbers)[index]);
        break;
    case VALUE_DOUBLE: json_writer_double(json, ((const double *)values->numbers)[index]); break;
    case VALUE_NONE: break;
    }
}

static void write_channel(struct json_writer *json, const struct values *values, uint32_t c) {
    const struct values_shape *shape = &values->shape;
    if (shape->is_list) json_writer_add(json, "[");
    for (uint32_t i = 0; i < shape->length; i++) {
        if (i) json_writer_add(json, ",");
        values_json_number(json, values, (size_t)c * shape->length + i);
    }
    if (shape->is_list) json_writer_add(json, "]");
}

static void write_step(struct json_writer *json, const char *operation, int step,
                       const struct values *values) {
    json_writer_add(json, "{");
    json_writer_key_string(json, "operation", operation);
    json_writer_key_number(json, "step", step);
    json_writer_key(json, "value");
    json_writer_add(json, "[");
    for (uint32_t c = 0; c < values->shape.channels; c++) {
        if (c) json_writer_add(json, ",");
        write_channel(json, values, c);
    }
    json_writer_add(json, "]}");
}

size_t values_json_write(const struct plan *plan, const struct values *values, char *text,
                         size_t size) {
    struct json_writer json = json_writer_in(text, size);
    json_writer_add(&json, "[");
    for (int s = 0; s < plan->count; s++) {
        if (values[s].shape.type == VALUE_NONE) continue;
        if (json.length > 1) json_writer_add(&json, ",");
        write_step(&json, plan->steps[s].op->name, s, &values[s]);
    }
    json_writer_add(&json, "]");
    return json.full ? 0 : json.length;
}

// SPDX-License-Identifier: Apache-2.0
#include "config/devices.h"

#include "pipeline/param.h"

#include <stdio.h>
#include <string.h>

/* Accepts only digits, without leading zeros, so that each GPU has one name. */
static bool read_number(const char *text, long *number) {
    const size_t digits = strspn(text, "0123456789");
    return digits > 0 && !text[digits] && (*text != '0' || digits == 1) &&
           param_integer(text, number);
}

static bool read_name(const char *name, struct devices *out) {
    long number;
    if (strcmp(name, "cpu") == 0) {
        if (out->cpu) return false;
        return out->cpu = true;
    }
    if (strncmp(name, "cuda:", 5) != 0 || !read_number(name + 5, &number)) return false;
    for (int i = 0; i < out->count; i++)
        if (out->gpus[i] == number) return false;
    out->gpus[out->count++] = number;
    return true;
}

bool devices_read(const char *text, struct devices *out) {
    char list[CONFIG_TEXT_MAX];
    *out = (struct devices){ .all = strcmp(text, "all") == 0 };
    if (out->all) return true;
    if (snprintf(list, sizeof list, "%s", text) >= (int)sizeof list) return false;
    char *rest = list;
    for (char *name; (name = strsep(&rest, ","));)
        if (!read_name(name, out)) return false;
    return true;
}

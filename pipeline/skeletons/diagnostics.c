// SPDX-License-Identifier: Apache-2.0
#include "pipeline/skeletons/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void diagnostics_add(struct diagnostics *diagnostics, int line, const char *directive,
                     const char *format, ...) {
    struct diagnostic fresh = { .line = line, .directive = directive };
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fresh.text, sizeof fresh.text, format, arguments);
    va_end(arguments);
    for (int i = 0; i < diagnostics->count && i < DIAGNOSTICS_MAX; i++)
        if (diagnostics->list[i].line == line && strcmp(diagnostics->list[i].text, fresh.text) == 0)
            return;
    if (diagnostics->count++ >= DIAGNOSTICS_MAX) return;
    int place = diagnostics->count - 1;
    for (; place && diagnostics->list[place - 1].line > line; place--)
        diagnostics->list[place] = diagnostics->list[place - 1];
    diagnostics->list[place] = fresh;
}

void diagnostics_print(const struct diagnostics *diagnostics, int index, char *text, size_t size) {
    const struct diagnostic *one = &diagnostics->list[index];
    snprintf(text, size, "%s:%d: %s%s%s", diagnostics->path, one->line,
             one->directive ? one->directive : "", one->directive ? ": " : "", one->text);
}

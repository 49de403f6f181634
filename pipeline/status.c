// SPDX-License-Identifier: Apache-2.0
#include "pipeline/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const names[STATUS_COUNT] = {
    [STATUS_OK] = "ok",
    [STATUS_BAD_PARAM] = "bad_param",
    [STATUS_BAD_REQUEST] = "bad_request",
    [STATUS_NO_KEY] = "no_key",
    [STATUS_FORBIDDEN] = "forbidden",
    [STATUS_EXPIRED] = "expired",
    [STATUS_BODY_TOO_LARGE] = "body_too_large",
    [STATUS_NOT_AN_IMAGE] = "not_an_image",
    [STATUS_CORRUPT] = "corrupt",
    [STATUS_TOO_LARGE] = "too_large",
    [STATUS_MISMATCH] = "mismatch",
    [STATUS_BUSY] = "busy",
    [STATUS_DEADLINE] = "deadline",
    [STATUS_CANCELLED] = "cancelled",
    [STATUS_NO_MEMORY] = "no_memory",
    [STATUS_DEVICE] = "device",
    [STATUS_INTERNAL] = "internal",
};

/* Cuts a full MESSAGE behind its last whole word, if that word is no longer than a name. */
static void cut_at_word(char *message, size_t length) {
    size_t end = length - 3;
    for (size_t back = 0; back < 48 && message[end - 1] != ' '; back++) end--;
    if (message[end - 1] != ' ') end = length - 3;
    memcpy(message + end, "...", sizeof "...");
}

enum status fail(struct failure *failure, enum status status, const char *format, ...) {
    if (!failure) return status;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof failure->message)
        cut_at_word(failure->message, sizeof failure->message - 1);
    failure->status = status;
    return status;
}

enum status fail_named(const char *what, enum status status, struct failure *failure) {
    char said[sizeof failure->message];
    const bool blamed =
        status == STATUS_NOT_AN_IMAGE || status == STATUS_CORRUPT || status == STATUS_TOO_LARGE;
    if (!blamed || !failure) return status;
    memcpy(said, failure->message, sizeof said);
    return fail(failure, status, "%s: %s", what, said);
}

const char *status_name(enum status status) {
    return (unsigned)status < STATUS_COUNT ? names[status] : "unknown";
}

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/jpeg/guard.h"

#include <string.h>

#include <jerror.h>

void jpeg_leave(struct jpeg_guard *guard, enum status status) {
    guard->status = status;
    longjmp(guard->out, 1);
}

void jpeg_leave_broken(struct jpeg_guard *guard, const char *text) {
    jpeg_leave(guard, fail(guard->failure, STATUS_CORRUPT,
                           "the JPEG is broken or cut off (%s); send an intact file", text));
}

static __attribute__((noreturn)) void leave_by_message(j_common_ptr common) {
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    jpeg_leave_broken(common->client_data, text);
}

static void on_error(j_common_ptr common) {
    struct jpeg_guard *guard = common->client_data;
    switch (common->err->msg_code) {
    case JERR_OUT_OF_MEMORY:
        jpeg_leave(guard, fail(guard->failure, STATUS_NO_MEMORY, "no memory for the JPEG codec"));
    case JERR_NO_BACKING_STORE: /* over max_memory_to_use */
        jpeg_leave(guard, fail(guard->failure, STATUS_TOO_LARGE,
                               "this JPEG takes more memory to decode than is allowed "
                               "(codec_memory_bytes); send a baseline or smaller one"));
    default: leave_by_message(common);
    }
}

/* Level -1 is a warning, 0 and more are traces. Most warnings mean wrong bytes, for which libjpeg
 * would paint gray. */
static void on_message(j_common_ptr common, int level) {
    struct jpeg_guard *guard = common->client_data;
    if (level < 0 && !(guard->tolerates && guard->tolerates(guard))) leave_by_message(common);
}

static void on_output(j_common_ptr common) {
    (void)common; /* never to stderr */
}

void jpeg_guard_init(struct jpeg_guard *guard, struct failure *failure) {
    memset(guard, 0, sizeof *guard);
    jpeg_std_error(&guard->errors);
    guard->errors.error_exit = on_error;
    guard->errors.emit_message = on_message;
    guard->errors.output_message = on_output;
    guard->failure = failure;
}

enum status jpeg_guarded(struct jpeg_guard *guard, void (*step)(void *), void *argument) {
    if (setjmp(guard->out)) return guard->status;
    step(argument);
    return STATUS_OK;
}

// SPDX-License-Identifier: Apache-2.0
/* guard.h - libjpeg's errors as statuses.
 *
 * libjpeg expects its error callback never to return, so the guard jumps out of it. setjmp stands
 * alone in jpeg_guarded(), which changes no local variable: all state is in structs.
 *
 * Used by:  jpeg/decoder.c, jpeg/encoder.c.
 * Owns:     nothing.
 * Fails:    STATUS_CORRUPT for errors and for warnings that are not tolerated, STATUS_NO_MEMORY,
 *           STATUS_TOO_LARGE where libjpeg wants more memory than it may have.
 * Threads:  a guard belongs to one call.
 */
#ifndef BURIN_JPEG_GUARD_H
#define BURIN_JPEG_GUARD_H

#include "pipeline/status.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

/* The caller points the cinfo's client_data to the guard and its err to `errors`. */
struct jpeg_guard {
    struct jpeg_error_mgr errors;
    jmp_buf out;
    enum status status; /* what jpeg_guarded() returns after a jump */
    struct failure *failure;
    /* The warning in `errors` may pass. NULL: none may. */
    bool (*tolerates)(struct jpeg_guard *guard);
};

void jpeg_guard_init(struct jpeg_guard *guard, struct failure *failure);

/* Runs STEP(ARGUMENT). Returns STATUS_OK, or the status given to jpeg_leave. */
enum status jpeg_guarded(struct jpeg_guard *guard, void (*step)(void *), void *argument);

/* Leaves the step with STATUS; the failure has its sentence already. */
void jpeg_leave(struct jpeg_guard *guard, enum status status) __attribute__((noreturn));

/* Leaves the step with STATUS_CORRUPT. TEXT: a few words on the flaw. */
void jpeg_leave_broken(struct jpeg_guard *guard, const char *text) __attribute__((noreturn));

#endif

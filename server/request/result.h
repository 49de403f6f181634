// SPDX-License-Identifier: Apache-2.0
/* result.h - the sink of a request: its finished job as a body in pieces, ready to be sent.
 *
 * The pieces are texts of the result's own, and images and values where the worker left them in the
 * slot: they are not copied.
 *
 * Used by:  http/reply_job.c, which sends it.
 * Owns:     its texts and its share of answer_bytes; and the slot, once the caller has set the
 *           request's slot to -1.
 * Fails:    STATUS_BUSY if finished answers hold answer_bytes already, STATUS_TOO_LARGE for a ZIP
 *           archive that would need ZIP64, STATUS_NO_MEMORY.
 * Threads:  one at a time.
 */
#ifndef BURIN_RESULT_H
#define BURIN_RESULT_H

#include "server/request/request.h"

#include <sys/uio.h>

enum { RESULT_PIECES_MAX = 2 * OUTPUTS_MAX + 8 };

struct result {
    struct service *service;
    int slot;     /* -1: no piece lies in a slot */
    int64_t held; /* its share of service.answer_bytes_held */
    char *text;   /* heap: all texts, one behind the other */
    size_t text_used, text_room;
    size_t text_cut; /* the text up to here belongs to pieces */
    uint64_t length; /* bytes of all pieces */
    int count;
    struct iovec pieces[RESULT_PIECES_MAX];
    char media_type[64];
};

/* What REQUEST's client gets of its job: an image, the report, or several of them in parts or in a
 * ZIP archive, as `answer` says. REPORT becomes the timing report, whose clock stops here; the rest
 * is the socket's time. */
enum status result_make(struct request *request, char report[TIMING_REPORT_MAX],
                        struct result **result, struct failure *failure);

/* Frees it and gives its slot back. */
void result_release(struct result *result);

#endif

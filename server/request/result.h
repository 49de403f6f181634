// SPDX-License-Identifier: Apache-2.0
/* result.h - the sink of a request: makes a finished job a body in pieces, ready to be sent.
 *
 * The pieces are texts of the result's own, and images and values in the slot, which are not
 * copied.
 *
 * Used by:  http/reply.c, which sends it.
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
    char *text;   /* heap: all texts, one after the other */
    size_t text_used, text_room;
    size_t text_cut; /* the text before this offset belongs to pieces */
    uint64_t length; /* bytes of all pieces */
    int count;
    struct iovec pieces[RESULT_PIECES_MAX];
    char media_type[64];
};

/* Depending on REQUEST's `answer`, *RESULT is an image, the report, or all images and the report as
 * parts or a ZIP archive. REPORT becomes the timing report; its clock stops here. */
enum status result_make(struct request *request, char report[TIMING_REPORT_MAX],
                        struct result **result, struct failure *failure);

/* Frees it and gives its slot back. */
void result_release(struct result *result);

#endif

// SPDX-License-Identifier: Apache-2.0
/* answer.h - what a worker wrote of a job, as far as it can be an answer.
 *
 * Decoders run in workers, and a worker that was taken over may write anything into any slot, at
 * any time. So an answer is copied once, every field of the copy is checked against what was asked,
 * and the copy alone is used. Numbers have their range, places lie in the slot behind the upload,
 * texts end and have only characters that may stand in a header or a line of the log. The bytes of
 * a result are the client's, whatever they are.
 *
 * Used by:  dispatcher.c for every worker; sandbox_answer.c for users' operators; worker_handle.c
 *           and operators_worker.c for texts.
 * Owns:     nothing; jobs and slots are the caller's.
 * Fails:    returns false where it cannot be an answer; the job is as it was then.
 * Threads:  one at a time for a job; what was written may change meanwhile.
 */
#ifndef BURIN_ANSWER_H
#define BURIN_ANSWER_H

#include "server/jobs/slot.h"

/* A copy of what WRITTEN says, checked against ASKED. SPAN: bytes of the slot. Of what is no
 * failure the fields are right, of a failure the sentence; times and texts are put in order, for
 * nobody asked for these in particular. */
bool answer_copy(struct job *answer, const struct job *written, const struct job *asked,
                 size_t span);

/* ANSWER, which answer_copy has checked, becomes JOB's: all but who did the work, and when. */
void answer_apply(struct job *job, const struct job *answer);

/* The answer in the shared memory of SLOT becomes that of the front's own job. Short values are
 * copied and checked too, for these go into a header. NOW: a time of clock_ns, when it came. */
bool answer_take(const struct slots *slots, int slot, int64_t now);

/* A text of SIZE bytes. */
void answer_clean_text(char *text, size_t size);

#endif

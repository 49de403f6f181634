// SPDX-License-Identifier: Apache-2.0
/* answer.h - what a worker wrote of a job, as far as it can be an answer.
 *
 * Decoders run in workers, and a worker that was taken over may write anything into any slot, at
 * any time. So an answer is copied once, every field of the copy is checked against what was asked,
 * and the copy alone is used. Numbers have their range, places lie in the slot behind the upload,
 * texts end and have only characters that may stand in a header or a line of the log. The bytes of
 * a result are the client's, whatever they are.
 *
 * Used by:  dispatcher.c for every worker; operators_worker.c for its sandbox; worker_handle.c for
 *           texts.
 * Owns:     nothing; jobs and slots are the caller's.
 * Fails:    returns false where it cannot be an answer; the job is as it was then.
 * Threads:  one at a time for a job; what was written may change meanwhile.
 */
#ifndef BURIN_ANSWER_H
#define BURIN_ANSWER_H

#include "server/jobs/slot.h"

/* The answer in the shared memory of SLOT becomes that of the front's own job. Short values are
 * copied and checked too, for these go into a header. NOW: a time of clock_ns, when it came. */
bool answer_take(const struct slots *slots, int slot, int64_t now);

/* FRONT's slot TO has the job as it was asked; a sandbox's answer is in OWN's slot FROM, with bytes
 * and values that are copied. What cannot be an answer becomes one of STATUS_INTERNAL. */
bool answer_take_from_sandbox(const struct slots *front, int to, const struct slots *own, int from);

/* A text of SIZE bytes. */
void answer_clean_text(char *text, size_t size);

#endif

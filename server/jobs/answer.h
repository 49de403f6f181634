// SPDX-License-Identifier: Apache-2.0
/* answer.h - takes a worker's answer to a job over, if it is valid.
 *
 * Decoders run in workers, and an attacker who controls a worker may write anything into any slot,
 * at any time. So an answer is copied once, every field of the copy is checked against the request,
 * and the copy alone is used. Numbers are in range, offsets lie in the slot behind the upload,
 * texts end and have only characters that a header or a log line may have. The bytes of a result go
 * to the client unchecked.
 *
 * Used by:  dispatcher.c for every worker; operators_worker.c for its sandbox; worker_handle.c for
 *           texts.
 * Owns:     nothing; jobs and slots stay the caller's.
 * Fails:    answer_take returns false for an invalid answer and leaves the job unchanged.
 * Threads:  one at a time for a job; the worker may change the shared memory meanwhile.
 */
#ifndef BURIN_ANSWER_H
#define BURIN_ANSWER_H

#include "server/jobs/slot.h"

/* Takes the answer in SLOT's shared memory into the front's private job. Short values are copied
 * and checked too, since they go into a header. NOW: the answer's arrival, a time of clock_ns. */
bool answer_take(const struct slots *slots, int slot, int64_t now);

/* Takes the answer of a sandbox, in OWN's slot FROM, into the job of FRONT's slot TO, and copies
 * its bytes and values. An invalid answer becomes STATUS_INTERNAL. */
bool answer_take_from_sandbox(const struct slots *front, int to, const struct slots *own, int from);

/* Ends a text of SIZE bytes and replaces what is not printable ASCII. */
void answer_clean_text(char *text, size_t size);

#endif

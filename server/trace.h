// SPDX-License-Identifier: Apache-2.0
/* trace.h - a request's place in a distributed trace: the headers traceparent and tracestate.
 *
 * A trace is the work of many services for one cause, and a span the part of one of them. A caller
 * sends the ids of the trace and of its span; the answer has the trace's and ours.
 *
 * Used by:  http/exchange.c and http/overload.c; request/request.h has one for each request.
 * Owns:     nothing; trace_random keeps random bytes for each thread.
 * Fails:    never: headers that are malformed count as if they had not been sent.
 * Threads:  any.
 * Limits:   TRACE_STATE_MAX; a longer tracestate is dropped.
 * Source:   W3C Trace Context, level 1.
 */
#ifndef BURIN_TRACE_H
#define BURIN_TRACE_H

#include <stdbool.h>
#include <stddef.h>

/* Sizes of texts with their NUL. */
enum { TRACE_ID_MAX = 33, SPAN_ID_MAX = 17, TRACE_PARENT_MAX = 56, TRACE_STATE_MAX = 513 };

struct trace {
    char id[TRACE_ID_MAX]; /* hex */
    char span[SPAN_ID_MAX];
    bool sampled;   /* the caller records the trace */
    bool continued; /* the caller began it */
};

/* Continues the trace that the COUNT values of traceparent name. Without exactly one that is valid
 * a new trace begins, which is not sampled. */
void trace_begin(struct trace *trace, const char *const *parents, int count);

/* Prints the traceparent of the answer. */
void trace_print_parent(const struct trace *trace, char text[TRACE_PARENT_MAX]);

/* Joins the COUNT values of tracestate, which belong to the caller's trace; "" if there are none,
 * or if they are dropped as a whole. */
void trace_join_state(const struct trace *trace, const char *const *values, int count,
                      char text[TRACE_STATE_MAX]);

/* Fills BYTES with at most 256 random bytes that nobody can guess, without a system call each time.
 */
void trace_random(void *bytes, size_t length);

#endif

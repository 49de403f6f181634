// SPDX-License-Identifier: Apache-2.0
/* pressure.h - what clients are refused for want of, and how much must become free for them.
 *
 * A refusal is a demand: it lasts until there is room for what was refused, or for twice
 * patience_ms. Meanwhile clients that hold what is short are let go, those that stand still first.
 * Where that does not suffice, the rate that is asked of the others doubles from look
 * to look, and falls back by half every half second once nobody is refused.
 *
 * Used by:  deadline_thread.c: I/O threads report refusals, the deadlines' thread looks.
 * Owns:     nothing.
 * Threads:  any may report; all else is the looking thread's.
 * Limits:   everybody has patience_ms from the start of a body or an answer, whatever its rate; a
 *           slower client that still has some of it left is waited for before a faster one goes.
 *           Without memory for the list of clients only those that stand still are let go. Answers
 *           on unix sockets are left alone: nobody knows what was received there.
 *           Room is made for the largest refusal since the last look, and for a sixteenth of the
 *           whole: a few at a time, so that no more clients lose their work than others need.
 */
#ifndef BURIN_PRESSURE_H
#define BURIN_PRESSURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What requests hold: the slots, by number; the bytes of uploads, and of answers until they are
 * sent. */
enum resource { RESOURCE_SLOTS, RESOURCE_BODIES, RESOURCE_ANSWERS, RESOURCES };

struct pressure_options {
    /* How much of it is free at this moment; zero or less: nothing. NULL: always enough. */
    int64_t (*room)(const void *context, enum resource resource);
    const void *context;
    int64_t total[RESOURCES];
    long patience_ms;      /* clients may stand still for so long */
    long rate_max_bytes;   /* no more is ever asked, in bytes a second */
    long idle_patience_ms; /* a connection without a request, where others wait for one */
};

struct demand {
    int64_t wanted;   /* -1: nothing; 0: none is left, though nobody was refused yet */
    int64_t until_ns; /* then it is over */
    int64_t missing;  /* must become free; 0: it is not short */
    int steps;        /* by which the rate has risen */
    int64_t step_ns;  /* when it last rose or fell */
};

struct pressure {
    struct pressure_options options;
    _Atomic int64_t reported[RESOURCES]; /* the most since the last look, as `wanted` */
    struct demand demands[RESOURCES];
};

void pressure_init(struct pressure *pressure, const struct pressure_options *options);

/* Somebody was refused WANTED of it; 0: the last of it was taken. True: nothing was reported since
 * the last look, so the thread must be woken. */
bool pressure_report(struct pressure *pressure, enum resource resource, int64_t wanted);

/* Takes the reports. False: nothing is short nor was so lately, and no further look is needed until
 * a report. */
bool pressure_look(struct pressure *pressure, int64_t now_ns);

static inline int64_t pressure_missing(const struct pressure *pressure, enum resource resource) {
    return pressure->demands[resource].missing;
}

/* Those that can be let go at the present rate do not suffice, and HELD of it is theirs who send or
 * receive: the rate rises where somebody was refused, unless most is held by work. */
void pressure_raise(struct pressure *pressure, enum resource resource, int64_t held,
                    int64_t now_ns);

/* Bytes a second: BASE, or what it has become. */
int64_t pressure_rate(const struct pressure *pressure, enum resource resource, int64_t base);

#endif

// SPDX-License-Identifier: Apache-2.0
/* slot_pressure.h - whether uploads occupy every slot, so that slow ones must be cut off sooner.
 *
 * Used by:  deadline_thread.c: an I/O thread reports that it begins, the deadlines' thread asks
 *           until it is over.
 * Threads:  any may report; one asks.
 */
#ifndef BURIN_SLOT_PRESSURE_H
#define BURIN_SLOT_PRESSURE_H

#include <stdatomic.h>
#include <stdbool.h>

struct slot_pressure {
    bool (*lasts)(const void *context); /* NULL: it never begins */
    const void *context;
    atomic_bool reported;
};

/* true: the thread that asks does not know yet, and must be woken. */
static inline bool slot_pressure_report(struct slot_pressure *pressure) {
    return !atomic_exchange(&pressure->reported, true);
}

/* The report is cleared before the question: one that is made meanwhile counts again. */
static inline bool slot_pressure_lasts(struct slot_pressure *pressure) {
    if (!pressure->lasts || !atomic_exchange(&pressure->reported, false)) return false;
    if (!pressure->lasts(pressure->context)) return false;
    atomic_store(&pressure->reported, true);
    return true;
}

#endif

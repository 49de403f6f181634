// SPDX-License-Identifier: Apache-2.0
/* press.h - whether bodies that come keep others out: told by whoever sees it begin, and asked
 * again by the watcher's thread until it is over.
 *
 * Threads:  any may tell; one asks.
 */
#ifndef BURIN_SLOT_PRESSURE_H
#define BURIN_SLOT_PRESSURE_H

#include <stdatomic.h>
#include <stdbool.h>

struct slot_pressure {
    bool (*lasts)(const void *context); /* NULL: it never begins */
    const void *context;
    atomic_bool told;
};

/* true: the one who asks does not know yet. */
static inline bool slot_pressure_report(struct slot_pressure *press) {
    return !atomic_exchange(&press->told, true);
}

/* Forgotten before it is asked: so whoever tells it meanwhile is heard again. */
static inline bool slot_pressure_lasts(struct slot_pressure *press) {
    if (!press->lasts || !atomic_exchange(&press->told, false)) return false;
    if (!press->lasts(press->context)) return false;
    atomic_store(&press->told, true);
    return true;
}

#endif

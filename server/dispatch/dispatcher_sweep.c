// SPDX-License-Identifier: Apache-2.0
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/dispatcher_state.h"

static const int64_t ms_ns = 1000000;

static int count_slots(const struct dispatcher *dispatcher) {
    return slots_count(dispatcher->options.slots);
}

/* How far each worker has read. */
static void note_received(struct dispatcher *dispatcher) {
    for (int slot = 0; slot < count_slots(dispatcher); slot++) {
        const struct place *place = &dispatcher->places[slot];
        if (place->at >= 0 && sweep_is_received(shared_job_of(dispatcher, slot)))
            sweep_note_received(&dispatcher->channels[place->at], &place->sent);
    }
}

void dispatcher_sweep(struct dispatcher *dispatcher, int64_t now) {
    if (now - dispatcher->sweep_ns < SWEEP_MS * ms_ns) return;
    dispatcher->sweep_ns = now;
    note_received(dispatcher);
    for (int slot = 0; slot < count_slots(dispatcher); slot++) {
        struct place *place = &dispatcher->places[slot];
        if (place->at < 0) continue;
        struct sweep_channel *channel = &dispatcher->channels[place->at];
        const struct sweep_job what = { slot,
                                        job_of(dispatcher, slot),
                                        shared_job_of(dispatcher, slot),
                                        &dispatcher->options.workers->all[place->at],
                                        channel,
                                        &place->sent };
        if (sweep_send_again(&what, now)) sweep_note_sent(channel, &place->sent, now);
    }
}

static bool is_overdue(const struct dispatcher *dispatcher, int slot, int64_t now) {
    const struct place *place = &dispatcher->places[slot];
    if (place->at == COMING_BACK) return now - place->sent.ns >= SWEEP_OLD_MS * ms_ns;
    return place->at >= 0 &&
           sweep_look(shared_job_of(dispatcher, slot), place->sent.ns, now) == SWEEP_NOT_TOLD;
}

int dispatcher_overdue(const struct dispatcher *dispatcher, int io_thread, int64_t now,
                       struct completion *completions, int count) {
    int found = 0;
    for (int slot = 0; slot < count_slots(dispatcher) && found < count; slot++) {
        const struct job *job = job_of(dispatcher, slot);
        if (dispatcher->places[slot].io_thread != io_thread || !is_overdue(dispatcher, slot, now))
            continue;
        sweep_tell(job, now);
        completions[found++] = (struct completion){ slot, job->run_number };
    }
    return found;
}

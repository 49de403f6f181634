// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/pulse.h"

#include "server/jobs/channel.h"

static void *pulse_main(void *argument) {
    const struct pulse *pulse = argument;
    const struct message beat = { .kind = CHANNEL_PULSE };
    while (channel_send(pulse->channel, &beat) && channel_rest(pulse->channel, pulse->every_ms))
        continue;
    return NULL;
}

bool pulse_start(struct pulse *pulse) {
    pulse->started = pthread_create(&pulse->thread, NULL, pulse_main, pulse) == 0;
    return pulse->started;
}

void pulse_join(struct pulse *pulse) {
    if (pulse->started) pthread_join(pulse->thread, NULL);
    pulse->started = false;
}

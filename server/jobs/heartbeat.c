// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/heartbeat.h"

#include "server/jobs/channel.h"

static void *heartbeat_main(void *argument) {
    const struct heartbeat *heartbeat = argument;
    const struct message beat = { .kind = CHANNEL_HEARTBEAT };
    while (channel_send(heartbeat->channel, &beat) &&
           channel_sleep(heartbeat->channel, heartbeat->every_ms))
        continue;
    return NULL;
}

bool heartbeat_start(struct heartbeat *heartbeat) {
    heartbeat->started = pthread_create(&heartbeat->thread, NULL, heartbeat_main, heartbeat) == 0;
    return heartbeat->started;
}

void heartbeat_join(struct heartbeat *heartbeat) {
    if (heartbeat->started) pthread_join(heartbeat->thread, NULL);
    heartbeat->started = false;
}

// SPDX-License-Identifier: Apache-2.0
#include "server/jobs/heartbeat.h"

#include "server/jobs/channel.h"

#include <unistd.h>

static void *heartbeat_main(void *argument) {
    struct heartbeat *heartbeat = argument;
    const struct message beat = { .kind = CHANNEL_HEARTBEAT, .thread = gettid() };
    heartbeat->number = beat.thread;
    sem_post(&heartbeat->begun);
    while (channel_send(heartbeat->channel, &beat) &&
           channel_sleep(heartbeat->channel, HEARTBEAT_MS))
        continue;
    return NULL;
}

bool heartbeat_start(struct heartbeat *heartbeat) {
    sem_init(&heartbeat->begun, 0, 0);
    heartbeat->started = pthread_create(&heartbeat->thread, NULL, heartbeat_main, heartbeat) == 0;
    while (heartbeat->started && sem_wait(&heartbeat->begun) != 0) continue;
    if (heartbeat->started) pthread_setname_np(heartbeat->thread, "heartbeat");
    return heartbeat->started;
}

void heartbeat_join(struct heartbeat *heartbeat) {
    if (heartbeat->started) pthread_join(heartbeat->thread, NULL);
    heartbeat->started = false;
}

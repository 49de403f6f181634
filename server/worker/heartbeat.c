// SPDX-License-Identifier: Apache-2.0
#include "server/worker/heartbeat.h"

#include <unistd.h>

static void *heartbeat_main(void *argument) {
    struct heartbeat *heartbeat = argument;
    struct message beat = { .thread = gettid() };
    heartbeat->number = beat.thread;
    sem_post(&heartbeat->begun);
    do {
        if (__atomic_load_n(&heartbeat->is_ready, __ATOMIC_ACQUIRE)) beat = heartbeat->ready;
        beat.kind = CHANNEL_HEARTBEAT;
        channel_send(heartbeat->channel, &beat);
    } while (channel_sleep(heartbeat->channel, HEARTBEAT_MS));
    return NULL;
}

bool heartbeat_start(struct heartbeat *heartbeat) {
    sem_init(&heartbeat->begun, 0, 0);
    heartbeat->started = pthread_create(&heartbeat->thread, NULL, heartbeat_main, heartbeat) == 0;
    while (heartbeat->started && sem_wait(&heartbeat->begun) != 0) continue;
    if (heartbeat->started) pthread_setname_np(heartbeat->thread, "heartbeat");
    return heartbeat->started;
}

void heartbeat_set_ready(struct heartbeat *heartbeat, const struct message *message) {
    heartbeat->ready = *message;
    __atomic_store_n(&heartbeat->is_ready, 1, __ATOMIC_RELEASE);
}

void heartbeat_join(struct heartbeat *heartbeat) {
    if (heartbeat->started) pthread_join(heartbeat->thread, NULL);
    heartbeat->started = false;
}

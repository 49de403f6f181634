// SPDX-License-Identifier: Apache-2.0
/* HOW. The library is told of new bytes once, edge triggered, and forgets that there are more when
 * it gets fewer than it has room for: so fewer are given only when the kernel had no more either.
 */
#include "server/http/sluice.h"

#include "pipeline/timing.h"
#include "server/http/framing.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { DESCRIPTORS = 1 << 20, DROP_MAX = 1 << 20, SUBSTITUTE_MAX = 64 };

struct sluice {
    int fd;
    struct watched *watched;
    struct framing framing;
    struct failure failure; /* why it is refused, once it is */
    char *held;             /* heap; NULL where nothing is held */
    size_t held_length;
    size_t ready; /* bytes of held that may pass; the rest is part of a line or head */
    int64_t begun_ns, begun_number; /* of the head that was held last */
    size_t dropped;                 /* bytes, since it is refused */
    bool broken;                    /* memory was missing: the connection can only be closed */
};

/* By descriptor. Pages that are not used cost nothing. */
static _Atomic(struct sluice *) sluices[DESCRIPTORS];

/* ---- what is held */

/* For what is read: twice what framing may leave, so that there is room for more behind it. */
static size_t room_of(const struct sluice *sluice) {
    const size_t head = sluice->framing.head_max;
    return 2 * (head > FRAMING_LINES_MAX ? head : FRAMING_LINES_MAX);
}

static bool have_room(struct sluice *sluice) {
    if (!sluice->held) sluice->held = malloc(room_of(sluice) + SUBSTITUTE_MAX);
    return sluice->held != NULL;
}

static void let_go(struct sluice *sluice) {
    free(sluice->held);
    sluice->held = NULL;
    sluice->held_length = sluice->ready = 0;
}

/* false: no memory. */
static bool hold(struct sluice *sluice, const char *bytes, size_t length) {
    if (length == 0) return true;
    if (!have_room(sluice)) return false;
    memcpy(sluice->held, bytes, length);
    sluice->held_length = length;
    return true;
}

/* Passes on what is ready, up to ROOM bytes. */
static size_t give(struct sluice *sluice, char *buffer, size_t room) {
    const size_t given = sluice->ready < room ? sluice->ready : room;
    if (given == 0) return 0;
    memcpy(buffer, sluice->held, given);
    sluice->ready -= given;
    sluice->held_length -= given;
    if (sluice->held_length == 0)
        let_go(sluice);
    else
        memmove(sluice->held, sluice->held + given, sluice->held_length);
    return given;
}

/* In the place of what is refused. */
static bool substitute(struct sluice *sluice) {
    const char *text = framing_substitute(&sluice->framing);
    const size_t length = strlen(text);
    if (!have_room(sluice)) return false;
    memcpy(sluice->held + sluice->ready, text, length);
    sluice->ready += length;
    sluice->held_length = sluice->ready;
    return true;
}

/* ---- reading */

/* More of what is held: the bytes read, and *FULL if there may be more of them. */
static ssize_t read_held(struct sluice *sluice, int flags, bool *full) {
    const size_t room = room_of(sluice) - sluice->held_length;
    const ssize_t got =
        recvfrom(sluice->fd, sluice->held + sluice->held_length, room, flags, NULL, NULL);
    if (got <= 0) return got;
    *full = (size_t)got == room;
    sluice->held_length += (size_t)got;
    sluice->ready =
        framing_pass(&sluice->framing, sluice->held, sluice->held_length, &sluice->failure);
    return got;
}

/* Straight into the library's BUFFER; what cannot pass yet is held. *PASSED bytes can. */
static ssize_t read_through(struct sluice *sluice, char *buffer, size_t room, int flags, bool *full,
                            size_t *passed) {
    const ssize_t got = recvfrom(sluice->fd, buffer, room, flags, NULL, NULL);
    if (got <= 0) return got;
    *full = (size_t)got == room;
    *passed = framing_pass(&sluice->framing, buffer, (size_t)got, &sluice->failure);
    if (sluice->framing.refused) return got;
    if (!hold(sluice, buffer + *passed, (size_t)got - *passed)) sluice->broken = true;
    return got;
}

/* Nothing more passes. */
static ssize_t drop(struct sluice *sluice, char *buffer, size_t room, int flags) {
    ssize_t got = 1;
    while (got > 0 && sluice->dropped < DROP_MAX) {
        got = recvfrom(sluice->fd, buffer, room, flags, NULL, NULL);
        if (got > 0) sluice->dropped += (size_t)got;
    }
    if (got > 0) errno = EAGAIN;
    return got > 0 ? -1 : got;
}

static void note_beginning(struct sluice *sluice) {
    if (!sluice_holds(sluice)) return;
    if (sluice->begun_number != sluice->framing.heads + 1) {
        sluice->begun_number = sluice->framing.heads + 1;
        sluice->begun_ns = clock_ns();
    }
    watch_phase_begun(sluice->watched);
}

/* The library hears of it at its next look, if it does not look at what is returned here. */
static ssize_t reset(const struct sluice *sluice) {
    shutdown(sluice->fd, SHUT_RDWR);
    errno = ECONNRESET;
    return -1;
}

/* As recv(2): bytes for the library, 0 at the end of the connection, -1 and errno. */
static ssize_t take(struct sluice *sluice, char *buffer, size_t room, int flags) {
    if (sluice->broken) return reset(sluice);
    size_t done = give(sluice, buffer, room);
    ssize_t got = 1;
    for (bool full = true; full && done < room;) {
        size_t passed = 0;
        full = false;
        if (sluice->framing.refused)
            got = drop(sluice, buffer + done, room - done, flags);
        else if (sluice->held)
            got = read_held(sluice, flags, &full);
        else
            got = read_through(sluice, buffer + done, room - done, flags, &full, &passed);
        if (got <= 0) break;
        if (sluice->framing.refused) {
            full = true; /* to the dropping */
            if (!substitute(sluice)) sluice->broken = true;
        }
        if (sluice->broken) return reset(sluice);
        done += passed;
        done += give(sluice, buffer + done, room - done);
    }
    note_beginning(sluice);
    if (done > 0) return (ssize_t)done;
    if (got > 0) errno = EAGAIN;
    return got > 0 ? -1 : got;
}

/* Named so that the header's own recv, which hardened builds define inline, is left alone. */
ssize_t sluice_recv(int fd, void *buffer, size_t room, int flags) __asm__("recv");

ssize_t sluice_recv(int fd, void *buffer, size_t room, int flags) {
    struct sluice *sluice = fd >= 0 && fd < DESCRIPTORS
                                ? atomic_load_explicit(&sluices[fd], memory_order_acquire)
                                : NULL;
    if (sluice && !(flags & MSG_PEEK)) return take(sluice, buffer, room, flags);
    return recvfrom(fd, buffer, room, flags, NULL, NULL);
}

/* ---- for the front */

struct sluice *sluice_open(int fd, size_t head_max, struct watched *watched) {
    struct sluice *sluice = fd >= 0 && fd < DESCRIPTORS ? calloc(1, sizeof *sluice) : NULL;
    if (!sluice) return NULL;
    sluice->fd = fd;
    sluice->watched = watched;
    sluice->framing.head_max = head_max;
    atomic_store_explicit(&sluices[fd], sluice, memory_order_release);
    return sluice;
}

void sluice_close(struct sluice *sluice) {
    if (!sluice) return;
    atomic_store_explicit(&sluices[sluice->fd], NULL, memory_order_release);
    free(sluice->held);
    free(sluice);
}

int64_t sluice_begun_ns(const struct sluice *sluice, int64_t number) {
    return number == sluice->begun_number ? sluice->begun_ns : 0;
}

bool sluice_holds(const struct sluice *sluice) {
    return sluice->held_length > sluice->ready && sluice->framing.state == FRAMING_HEAD;
}

bool sluice_shut(const struct sluice *sluice) {
    return sluice->framing.refused;
}

bool sluice_refused(const struct sluice *sluice, int64_t number, struct failure *failure,
                    bool *too_long) {
    const struct framing *framing = &sluice->framing;
    *too_long = framing->too_long;
    if (number > framing->heads) {
        fail(failure, STATUS_INTERNAL, "a request came past the gate");
        return true;
    }
    if (!framing->refused || number < framing->heads) return false;
    *failure = sluice->failure;
    return true;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. The library reads its sockets by recv(2), and it is this file's function of that
 * name that it finds: the program comes before libc where a shared library's names are looked up.
 * It finds the filter by the descriptor; a descriptor without one passes through untouched.
 *
 * The library learns of new bytes once, edge triggered, and forgets that there are more when it
 * gets fewer than it has room for: so it gets fewer only when the kernel had no more either. Bytes
 * are read straight into its buffer, and only a part of a head or line is held back in ours.
 *
 * A large body would cost a turn of the library and a copy for every 16 KiB. So its head is changed
 * on the way: the library expects what came with the head and one byte more. When it asks for that,
 * the rest goes from the kernel to the sink's place, and the last byte passes. One call reads one
 * piece: a fast sender would else keep the thread from its other clients for as long as it sends.
 * If there may be more, the call ends with EINTR, after which the library comes again in its next
 * turn, unasked. */
#include "server/http/engine/recv_filter.h"

#include "pipeline/timing.h"
#include "server/http/engine/reset_on_close.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { DESCRIPTORS = 1 << 20, DROP_MAX = 1 << 20, SUBSTITUTE_MAX = 64 };

struct recv_filter {
    int fd;
    struct deadline *deadline;
    struct admission_entry *entry; /* NULL: all is let in */
    struct recv_sink sink;
    struct framing framing;
    struct failure failure; /* why it is refused, once it is */
    char *held;             /* heap; NULL where nothing is held */
    size_t held_length;
    size_t passing; /* bytes of held that may pass; the rest is part of a line or head */
    int64_t start_ns, start_number; /* of the head that was held last */
    size_t dropped;                 /* bytes, since it is refused */
    bool broken;                    /* memory was missing: the connection can only be closed */
};

/* By descriptor. Pages that are not used cost nothing. */
static _Atomic(struct recv_filter *) filters[DESCRIPTORS];

/* ---- what is held */

/* For what is read: twice what framing may leave, so that there is room for more behind it. */
static size_t room_of(const struct recv_filter *filter) {
    const size_t head = filter->framing.head_max;
    return 2 * (head > FRAMING_LINES_MAX ? head : FRAMING_LINES_MAX);
}

static bool reserve(struct recv_filter *filter) {
    if (!filter->held) filter->held = malloc(room_of(filter) + SUBSTITUTE_MAX);
    return filter->held != NULL;
}

static void release_held(struct recv_filter *filter) {
    free(filter->held);
    filter->held = NULL;
    filter->held_length = filter->passing = 0;
}

/* false: no memory. */
static bool hold(struct recv_filter *filter, const char *bytes, size_t length) {
    if (length == 0) return true;
    if (!reserve(filter)) return false;
    memcpy(filter->held, bytes, length);
    filter->held_length = length;
    return true;
}

/* Hands on what may pass, up to ROOM bytes. */
static size_t hand_on(struct recv_filter *filter, char *buffer, size_t room) {
    const size_t count = filter->passing < room ? filter->passing : room;
    if (count == 0) return 0;
    memcpy(buffer, filter->held, count);
    filter->passing -= count;
    filter->held_length -= count;
    if (filter->held_length == 0)
        release_held(filter);
    else
        memmove(filter->held, filter->held + count, filter->held_length);
    return count;
}

/* In place of what is refused. */
static bool substitute(struct recv_filter *filter) {
    const char *text = framing_substitute(&filter->framing);
    const size_t length = strlen(text);
    if (!reserve(filter)) return false;
    memcpy(filter->held + filter->passing, text, length);
    filter->passing += length;
    filter->held_length = filter->passing;
    return true;
}

/* ---- reading */

/* A body may begin to go its own way only where all that passes before it fits into the library's
 * buffer in this call: what is still held would come to it later than what follows. */
static void allow_apart(struct recv_filter *filter, bool allowed) {
    filter->framing.apart_min = allowed && filter->sink.place ? APART_MIN : 0;
}

/* Behind what is held: the bytes read, and *FULL if there may be more of them. ROOM: the library's.
 * No more is read than fits there, where that is something. */
static ssize_t read_behind_held(struct recv_filter *filter, size_t room, int flags, bool *full) {
    const size_t ours = room_of(filter) - filter->held_length;
    const size_t fits = room > filter->held_length ? room - filter->held_length : 0;
    const size_t most = fits && fits < ours ? fits : ours;
    const ssize_t got =
        recvfrom(filter->fd, filter->held + filter->held_length, most, flags, NULL, NULL);
    if (got <= 0) return got;
    *full = (size_t)got == most;
    filter->held_length += (size_t)got;
    allow_apart(filter, most == fits);
    filter->passing =
        framing_pass(&filter->framing, filter->held, filter->held_length, &filter->failure);
    return got;
}

/* What of LENGTH bytes in the library's BUFFER cannot pass yet is held; *PASSED bytes may. */
static void pass(struct recv_filter *filter, char *buffer, size_t length, size_t *passed) {
    allow_apart(filter, true);
    *passed = framing_pass(&filter->framing, buffer, length, &filter->failure);
    if (filter->framing.refused) return;
    if (!hold(filter, buffer + *passed, length - *passed)) filter->broken = true;
}

/* Straight into the library's BUFFER. */
static ssize_t read_direct(struct recv_filter *filter, char *buffer, size_t room, int flags,
                           bool *full, size_t *passed) {
    const ssize_t got = recvfrom(filter->fd, buffer, room, flags, NULL, NULL);
    if (got <= 0) return got;
    *full = (size_t)got == room;
    pass(filter, buffer, (size_t)got, passed);
    return got;
}

/* The bytes of a body up to its last but one to their place, and in the same call what comes behind
 * them to the library's BUFFER: *PASSED bytes of that may pass. */
static ssize_t read_apart(struct recv_filter *filter, char *buffer, size_t room, int flags,
                          bool *full, size_t *passed) {
    const uint64_t left = framing_apart(&filter->framing);
    size_t wanted = left < APART_READ_MAX ? (size_t)left : APART_READ_MAX;
    void *place = filter->sink.place(filter->sink.context, filter->framing.heads, &wanted);
    if (!place && wanted > room) wanted = room;
    const bool behind = place && wanted == left;
    struct iovec pieces[2] = { { place ? place : buffer, wanted }, { buffer, room } };
    struct msghdr message = { .msg_iov = pieces, .msg_iovlen = behind ? 2 : 1 };
    const ssize_t got = recvmsg(filter->fd, &message, flags);
    if (got <= 0) return got;
    *full = (size_t)got == wanted + (behind ? room : 0);
    const size_t taken = (size_t)got < wanted ? (size_t)got : wanted;
    framing_take(&filter->framing, taken);
    if (!filter->sink.take(filter->sink.context, filter->framing.heads, pieces[0].iov_base, taken))
        filter->broken = true;
    else
        pass(filter, buffer, (size_t)got - taken, passed);
    return got;
}

/* Nothing more passes. */
static ssize_t drop(struct recv_filter *filter, char *buffer, size_t room, int flags) {
    ssize_t got = 1;
    while (got > 0 && filter->dropped < DROP_MAX) {
        got = recvfrom(filter->fd, buffer, room, flags, NULL, NULL);
        if (got > 0) filter->dropped += (size_t)got;
    }
    if (got > 0) errno = EAGAIN;
    return got > 0 ? -1 : got;
}

static void note_partial_head(struct recv_filter *filter) {
    if (!recv_filter_has_partial_head(filter)) return;
    if (filter->start_number != filter->framing.heads + 1) {
        filter->start_number = filter->framing.heads + 1;
        filter->start_ns = clock_ns();
    }
    deadline_request_started(filter->deadline);
}

/* The library notices it at its next look, even if it ignores what is returned here. */
static ssize_t reset(const struct recv_filter *filter) {
    reset_on_close(filter->fd);
    shutdown(filter->fd, SHUT_RDWR);
    errno = ECONNRESET;
    return -1;
}

/* As recv(2): bytes for the library, 0 at the end of the connection, -1 and errno. */
static ssize_t read_filtered(struct recv_filter *filter, char *buffer, size_t room, int flags) {
    if (filter->broken) return reset(filter);
    size_t done = hand_on(filter, buffer, room);
    ssize_t got = 1;
    bool apart = false;
    for (bool full = true; full && done < room;) {
        size_t passed = 0;
        full = false;
        if (apart && done == 0) {
            errno = EINTR;
            return -1;
        }
        if (filter->framing.refused) {
            got = drop(filter, buffer + done, room - done, flags);
        } else if (filter->held) {
            got = read_behind_held(filter, room - done, flags, &full);
        } else if (framing_apart(&filter->framing)) {
            assert(done == 0); /* allow_apart */
            apart = true;
            got = read_apart(filter, buffer, room, flags, &full, &passed);
        } else {
            got = read_direct(filter, buffer + done, room - done, flags, &full, &passed);
        }
        if (got <= 0) break;
        if (filter->framing.refused) {
            full = true; /* to the dropping */
            if (!substitute(filter)) filter->broken = true;
        }
        if (filter->broken) return reset(filter);
        done += passed;
        done += hand_on(filter, buffer + done, room - done);
    }
    note_partial_head(filter);
    if (done > 0) return (ssize_t)done;
    if (got > 0) errno = EAGAIN;
    return got > 0 ? -1 : got;
}

/* Only between two requests: what has begun to come is read on. */
static bool is_between(const struct recv_filter *filter) {
    const struct framing *framing = &filter->framing;
    return filter->entry && !filter->held && !framing->refused && framing->state == FRAMING_HEAD;
}

static ssize_t read_if_let_in(struct recv_filter *filter, char *buffer, size_t room, int flags) {
    int64_t since_ns = 0;
    if (admission_keeps_out(filter->entry, &since_ns)) {
        errno = EAGAIN;
        return -1;
    }
    if (since_ns) {
        filter->start_number = filter->framing.heads + 1;
        filter->start_ns = since_ns;
    }
    const ssize_t got = read_filtered(filter, buffer, room, flags);
    if (got > 0) admission_begun(filter->entry);
    return got;
}

/* Named so that the header's own recv, which hardened builds define inline, is left alone. */
ssize_t recv_filter_recv(int fd, void *buffer, size_t room, int flags) __asm__("recv");

ssize_t recv_filter_recv(int fd, void *buffer, size_t room, int flags) {
    struct recv_filter *filter = fd >= 0 && fd < DESCRIPTORS
                                     ? atomic_load_explicit(&filters[fd], memory_order_acquire)
                                     : NULL;
    if (filter && !(flags & MSG_PEEK))
        return is_between(filter) ? read_if_let_in(filter, buffer, room, flags)
                                  : read_filtered(filter, buffer, room, flags);
    return recvfrom(fd, buffer, room, flags, NULL, NULL);
}

/* ---- for the connection */

struct recv_filter *recv_filter_open(int fd, size_t head_max, struct deadline *deadline,
                                     const struct recv_sink *sink) {
    struct recv_filter *filter = fd >= 0 && fd < DESCRIPTORS ? calloc(1, sizeof *filter) : NULL;
    if (!filter) return NULL;
    filter->fd = fd;
    filter->deadline = deadline;
    filter->framing.head_max = head_max;
    if (sink) filter->sink = *sink;
    atomic_store_explicit(&filters[fd], filter, memory_order_release);
    return filter;
}

void recv_filter_set_entry(struct recv_filter *filter, struct admission_entry *entry) {
    filter->entry = entry;
}

void recv_filter_close(struct recv_filter *filter) {
    if (!filter) return;
    atomic_store_explicit(&filters[filter->fd], NULL, memory_order_release);
    free(filter->held);
    free(filter);
}

int64_t recv_filter_request_start_ns(const struct recv_filter *filter, int64_t number) {
    return number == filter->start_number ? filter->start_ns : 0;
}

bool recv_filter_passed_by(const struct recv_filter *filter, int64_t number, int64_t *length) {
    if (number != filter->framing.apart_head) return false;
    *length = (int64_t)filter->framing.apart_length;
    return true;
}

bool recv_filter_has_partial_head(const struct recv_filter *filter) {
    return filter->held_length > filter->passing && filter->framing.state == FRAMING_HEAD;
}

bool recv_filter_has_refused(const struct recv_filter *filter) {
    return filter->framing.refused;
}

bool recv_filter_refusal(const struct recv_filter *filter, int64_t number, struct failure *failure,
                         enum head_excess *excess) {
    const struct framing *framing = &filter->framing;
    *excess = framing->excess;
    if (number > framing->heads) {
        fail(failure, STATUS_INTERNAL, "a request reached the library past the recv filter");
        return true;
    }
    if (!framing->refused || number < framing->heads) return false;
    *failure = filter->failure;
    return true;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. The library reads its sockets by recv(2), and the dynamic linker resolves that name
 * to this file's function: the program precedes libc in the lookup. The descriptor leads to its
 * filter; a descriptor without a filter is read as usual.
 *
 * epoll, edge triggered, reports new bytes once, and the library forgets that there are more when
 * it gets fewer than it asked for: so it gets fewer only if the kernel had no more. Bytes are read
 * straight into its buffer; only part of a head or line is held back in ours.
 *
 * A large body would cost a turn of the library and a copy for every 16 KiB. So its head is changed
 * on the way: the library expects the bytes that came with the head and one more. When it asks for
 * that one, the rest goes from the kernel to the sink's buffer, and the last byte passes. One call
 * reads one piece, since a fast sender would otherwise keep the thread from its other clients for
 * as long as it sends. If there may be more, the call ends with EINTR, and the library calls again
 * in its next turn. */
#include "server/http/engine/recv_filter.h"

#include "pipeline/timing.h"
#include "server/http/engine/lingering_close.h"

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
    struct admission_entry *entry; /* NULL: every request is let in */
    struct recv_sink sink;
    struct framing framing;
    struct failure failure; /* why it is refused, once it is */
    char *held;             /* heap; NULL: nothing is held */
    size_t held_length;
    size_t passing; /* bytes of held that may pass; the rest is an incomplete line or head */
    int64_t start_ns, start_number; /* of the head that was held last */
    size_t dropped;                 /* bytes since the refusal */
    bool broken;                    /* memory was missing: the connection can only be closed */
};

/* By descriptor. Unused pages cost nothing. */
static _Atomic(struct recv_filter *) filters[DESCRIPTORS];

/* ---- what is held */

/* Twice the longest incomplete rest, so that more can be read after it. */
static size_t held_size(const struct recv_filter *filter) {
    const size_t head = filter->framing.head_max;
    return 2 * (head > FRAMING_LINES_MAX ? head : FRAMING_LINES_MAX);
}

static bool reserve(struct recv_filter *filter) {
    if (!filter->held) filter->held = malloc(held_size(filter) + SUBSTITUTE_MAX);
    return filter->held != NULL;
}

static void release_held(struct recv_filter *filter) {
    free(filter->held);
    filter->held = NULL;
    filter->held_length = filter->passing = 0;
}

/* False: no memory. */
static bool hold(struct recv_filter *filter, const char *bytes, size_t length) {
    if (length == 0) return true;
    if (!reserve(filter)) return false;
    memcpy(filter->held, bytes, length);
    filter->held_length = length;
    return true;
}

/* Moves held bytes that may pass, at most SIZE, to BUFFER. */
static size_t hand_on(struct recv_filter *filter, char *buffer, size_t size) {
    const size_t count = filter->passing < size ? filter->passing : size;
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

/* Holds the text that replaces refused bytes. False: no memory. */
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

/* A body may bypass the library only if everything before it fits into the library's buffer in this
 * call: held bytes would otherwise reach the library after those that follow them. */
static void allow_apart(struct recv_filter *filter, bool allowed) {
    filter->framing.apart_min = allowed && filter->sink.buffer ? APART_MIN : 0;
}

/* Appends to the held bytes. *FULL: there may be more. SIZE: of the library's buffer; if it has
 * space left after the held bytes, no more is read than fits. */
static ssize_t read_after_held(struct recv_filter *filter, size_t size, int flags, bool *full) {
    const size_t ours = held_size(filter) - filter->held_length;
    const size_t fits = size > filter->held_length ? size - filter->held_length : 0;
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

/* *PASSED of the LENGTH bytes in the library's BUFFER may pass; the rest is held. */
static void pass(struct recv_filter *filter, char *buffer, size_t length, size_t *passed) {
    allow_apart(filter, true);
    *passed = framing_pass(&filter->framing, buffer, length, &filter->failure);
    if (filter->framing.refused) return;
    if (!hold(filter, buffer + *passed, length - *passed)) filter->broken = true;
}

/* Reads straight into the library's BUFFER. */
static ssize_t read_direct(struct recv_filter *filter, char *buffer, size_t size, int flags,
                           bool *full, size_t *passed) {
    const ssize_t got = recvfrom(filter->fd, buffer, size, flags, NULL, NULL);
    if (got <= 0) return got;
    *full = (size_t)got == size;
    pass(filter, buffer, (size_t)got, passed);
    return got;
}

/* Reads a body up to its last byte but one into the sink's buffer and, in the same call, what
 * follows it into the library's BUFFER: *PASSED bytes of that may pass. */
static ssize_t read_apart(struct recv_filter *filter, char *buffer, size_t size, int flags,
                          bool *full, size_t *passed) {
    const struct recv_sink *sink = &filter->sink;
    const uint64_t left = framing_apart(&filter->framing);
    size_t wanted = left < APART_READ_MAX ? (size_t)left : APART_READ_MAX;
    void *body = sink->buffer(sink->context, &wanted);
    if (!body && wanted > size) wanted = size;
    const bool both = body && wanted == left;
    struct iovec pieces[2] = { { body ? body : buffer, wanted }, { buffer, size } };
    struct msghdr message = { .msg_iov = pieces, .msg_iovlen = both ? 2 : 1 };
    const ssize_t got = recvmsg(filter->fd, &message, flags);
    if (got <= 0) return got;
    *full = (size_t)got == wanted + (both ? size : 0);
    const size_t taken = (size_t)got < wanted ? (size_t)got : wanted;
    framing_take(&filter->framing, taken);
    if (!sink->received(sink->context, pieces[0].iov_base, taken))
        filter->broken = true;
    else
        pass(filter, buffer, (size_t)got - taken, passed);
    return got;
}

/* After a refusal: reads and drops, up to DROP_MAX in all. */
static ssize_t drop(struct recv_filter *filter, char *buffer, size_t size, int flags) {
    ssize_t got = 1;
    while (got > 0 && filter->dropped < DROP_MAX) {
        got = recvfrom(filter->fd, buffer, size, flags, NULL, NULL);
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

/* The library sees the shutdown at its next look, even if it ignores the error returned here. */
static ssize_t reset(const struct recv_filter *filter) {
    reset_on_close(filter->fd);
    shutdown(filter->fd, SHUT_RDWR);
    errno = ECONNRESET;
    return -1;
}

/* Returns what recv(2) returns: bytes for the library, 0 at the end of the connection, -1 and
 * errno. */
static ssize_t read_filtered(struct recv_filter *filter, char *buffer, size_t size, int flags) {
    if (filter->broken) return reset(filter);
    size_t done = hand_on(filter, buffer, size);
    ssize_t got = 1;
    bool apart = false;
    for (bool full = true; full && done < size;) {
        size_t passed = 0;
        full = false;
        if (apart && done == 0) {
            errno = EINTR;
            return -1;
        }
        if (filter->framing.refused) {
            got = drop(filter, buffer + done, size - done, flags);
        } else if (filter->held) {
            got = read_after_held(filter, size - done, flags, &full);
        } else if (framing_apart(&filter->framing)) {
            assert(done == 0); /* allow_apart */
            if (!filter->sink.begun(filter->sink.context, filter->framing.heads)) {
                errno = EINTR; /* the head is in the library's buffer, which it parses next */
                return -1;
            }
            apart = true;
            got = read_apart(filter, buffer, size, flags, &full, &passed);
        } else {
            got = read_direct(filter, buffer + done, size - done, flags, &full, &passed);
        }
        if (got <= 0) break;
        if (filter->framing.refused) {
            full = true; /* go on and drop */
            if (!substitute(filter)) filter->broken = true;
        }
        if (filter->broken) return reset(filter);
        done += passed;
        done += hand_on(filter, buffer + done, size - done);
    }
    note_partial_head(filter);
    if (done > 0) return (ssize_t)done;
    if (got > 0) errno = EAGAIN;
    return got > 0 ? -1 : got;
}

/* Only then may a request be kept out: one that has begun to come is read on. */
static bool is_between_requests(const struct recv_filter *filter) {
    const struct framing *framing = &filter->framing;
    return filter->entry && !filter->held && !framing->refused && framing->state == FRAMING_HEAD;
}

static ssize_t read_if_let_in(struct recv_filter *filter, char *buffer, size_t size, int flags) {
    int64_t since_ns = 0;
    if (admission_keeps_out(filter->entry, &since_ns)) {
        errno = EAGAIN;
        return -1;
    }
    if (since_ns) {
        filter->start_number = filter->framing.heads + 1;
        filter->start_ns = since_ns;
    }
    const ssize_t got = read_filtered(filter, buffer, size, flags);
    if (got > 0) admission_begun(filter->entry);
    return got;
}

/* The assembler's name is recv. In C it needs another: hardened builds define recv inline. */
ssize_t recv_filter_recv(int fd, void *buffer, size_t size, int flags) __asm__("recv");

ssize_t recv_filter_recv(int fd, void *buffer, size_t size, int flags) {
    struct recv_filter *filter = fd >= 0 && fd < DESCRIPTORS
                                     ? atomic_load_explicit(&filters[fd], memory_order_acquire)
                                     : NULL;
    if (filter && !(flags & MSG_PEEK))
        return is_between_requests(filter) ? read_if_let_in(filter, buffer, size, flags)
                                           : read_filtered(filter, buffer, size, flags);
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}

/* ---- the connection's calls */

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

bool recv_filter_bypassed(const struct recv_filter *filter, int64_t number, int64_t *length) {
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

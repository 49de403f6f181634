// SPDX-License-Identifier: Apache-2.0
/* How it works. The library's epoll, edge triggered, reports bytes; the library then calls recv(2),
 * which is recv_filter.c's and asks here. A request is kept out by pretending that there are no
 * bytes. It is let in later by making the epoll report them once more: EPOLL_CTL_MOD with the very
 * event that the library added. To know that event, this file's function replaces the library's
 * epoll_ctl(2): the program precedes libc in the dynamic linker's lookup.
 *
 * A request that is let in becomes a job some turns later. Until then it counts here, so that no
 * more are let in than there is room for. When in doubt a request waits a turn and is not refused.
 * Heads are read with MSG_PEEK, and only while there is no room. */
#include "server/http/engine/admission.h"

#include "pipeline/timing.h"
#include "server/http/engine/lingering_close.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    DESCRIPTORS = 1 << 20,
    HEAD_MAX = 4096,
    SCRATCH = 64 << 10,
    POLL_MS = 2,
    TURNS = 4,
    ROWS = 64
};
/* SAMPLE_NS: the most that one refusal counts, since the thread may lose its core in the middle.
 * AROUND_NS: its further cost: the thread is woken, and calls the library and its epoll. SHORT_NS,
 * LONG_NS: from then on a request has waited more than a few turns, and for long. */
enum { SAMPLE_NS = 50000, AROUND_NS = 25000, SHORT_NS = 10000000, LONG_NS = 50000000 };
static const int64_t second_ns = 1000000000;

/* A queue of waiting requests, the oldest first. */
struct row {
    struct admission_entry *first, *last;
};

struct admission {
    struct admission_options options;
    struct row rows[ROWS];
    int waiting;                  /* in all rows */
    unsigned next_row;            /* the row that is next */
    uint64_t seed[2];             /* secret: no client can choose an address for a certain row */
    bool crowded;                 /* some have waited for long */
    int let_in;                   /* and not read yet */
    int begun[TURNS];             /* read for the first time in this turn, in the one before... */
    int64_t spare_ns, counted_ns; /* time left for refusals, as of counted_ns */
    int epoll;                    /* the library's */
};

/* By descriptor: the event that the library watches a connection for; the owner of an epoll. Unused
 * pages cost nothing. */
static struct epoll_event watched[DESCRIPTORS];
static _Atomic(struct admission *) by_epoll[DESCRIPTORS];

int admission_epoll_ctl(int epoll, int what, int fd,
                        struct epoll_event *event) __asm__("epoll_ctl");

int admission_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event) {
    const bool known = epoll >= 0 && epoll < DESCRIPTORS &&
                       atomic_load_explicit(&by_epoll[epoll], memory_order_relaxed);
    if (known && what == EPOLL_CTL_ADD && fd >= 0 && fd < DESCRIPTORS) watched[fd] = *event;
    return (int)syscall(SYS_epoll_ctl, epoll, what, fd, event);
}

/* ---- life */

struct admission *admission_create(const struct admission_options *options) {
    struct admission *admission = calloc(1, sizeof *admission);
    if (!admission) return NULL;
    admission->options = *options;
    admission->spare_ns = options->refusing_ns;
    admission->counted_ns = clock_ns();
    admission->seed[0] = (uint64_t)admission->counted_ns * UINT64_C(0x9e3779b97f4a7c15);
    admission->epoll = -1;
    return admission;
}

void admission_watch(struct admission *admission, int epoll) {
    if (epoll < 0 || epoll >= DESCRIPTORS) return;
    admission->epoll = epoll;
    atomic_store(&by_epoll[epoll], admission);
}

void admission_destroy(struct admission *admission) {
    if (!admission) return;
    if (admission->epoll >= 0) atomic_store(&by_epoll[admission->epoll], NULL);
    free(admission);
}

void admission_join(struct admission *admission, struct admission_entry *entry, int fd,
                    const struct sockaddr *peer, struct deadline *deadline) {
    if (!admission || fd >= DESCRIPTORS) return;
    entry->admission = admission;
    entry->client = admission->options.client(admission->options.context, peer);
    /* A row for each hash: stochastic fairness queueing. */
    entry->row = (int)(client_hash(&entry->client, admission->seed) % ROWS);
    entry->fd = fd;
    entry->deadline = deadline;
}

/* ---- waiting requests */

static void append(struct admission *admission, struct admission_entry *entry) {
    struct row *row = &admission->rows[entry->row];
    entry->previous = row->last;
    entry->next = NULL;
    *(row->last ? &row->last->next : &row->first) = entry;
    row->last = entry;
    admission->waiting++;
}

static void take_out(struct admission *admission, struct admission_entry *entry) {
    struct row *row = &admission->rows[entry->row];
    *(entry->previous ? &entry->previous->next : &row->first) = entry->next;
    *(entry->next ? &entry->next->previous : &row->last) = entry->previous;
    admission->waiting--;
}

static void set_outside(struct admission_entry *entry) {
    struct admission *admission = entry->admission;
    if (entry->state == ADMISSION_WAITING) take_out(admission, entry);
    if (entry->state == ADMISSION_LET_IN) admission->let_in--;
    entry->state = ADMISSION_OUTSIDE;
}

void admission_leave(struct admission_entry *entry) {
    if (entry->admission) set_outside(entry);
}

static void note_hung_up(void *entry) {
    atomic_store(&((struct admission_entry *)entry)->hung_up, true);
}

static void start_waiting(struct admission_entry *entry) {
    entry->state = ADMISSION_WAITING;
    entry->since_ns = clock_ns();
    atomic_store(&entry->hung_up, false);
    append(entry->admission, entry);
    deadline_enter_waiting(entry->deadline, note_hung_up, entry);
}

/* The library gets an event for its bytes in its next turn. */
static void let_in(struct admission_entry *entry) {
    struct admission *admission = entry->admission;
    take_out(admission, entry);
    entry->state = ADMISSION_LET_IN;
    admission->let_in++;
    deadline_enter_headers(entry->deadline);
    if (atomic_load(&entry->hung_up) ||
        syscall(SYS_epoll_ctl, admission->epoll, EPOLL_CTL_MOD, entry->fd, &watched[entry->fd]) < 0)
        shutdown(entry->fd, SHUT_RDWR);
}

/* ---- refusals */

/* True: all of the refused request has come. Calls recvfrom(2), since recv(2) is
 * recv_filter.c's. */
static bool drop_unwanted(struct admission_entry *entry) {
    static _Thread_local char scratch[SCRATCH]; /* never read; TCP does not even copy to it */
    while (entry->unwanted > 0) {
        const size_t most = entry->unwanted < SCRATCH ? (size_t)entry->unwanted : SCRATCH;
        const ssize_t got =
            recvfrom(entry->fd, scratch, most, MSG_TRUNC | MSG_DONTWAIT, NULL, NULL);
        if (got <= 0) return got == 0 || (errno != EAGAIN && errno != EINTR);
        entry->unwanted -= (uint64_t)got;
    }
    if (entry->last) shutdown(entry->fd, SHUT_RDWR); /* nothing is unread: no reset */
    return true;
}

/* The length of the request, if BYTES hold its whole head and it asks for work with a body that may
 * be dropped; else 0. Only POST and PUT need room; and a refusal of HEAD would have no body. */
static uint64_t read_head(const char *bytes, size_t length, struct request_head *request,
                          struct request_facts *facts) {
    const char *end = memmem(bytes, length, "\r\n\r\n", 4);
    struct failure failure;
    if (!end || request_check_parse(bytes, (size_t)(end + 4 - bytes), request, &failure) ||
        request_check_head(request, facts, &failure))
        return 0;
    if (facts->chunked || facts->expects_continue || facts->length > UNWANTED_MAX) return 0;
    if (facts->length == 0 ||
        (!request_check_is_method(request, "POST") && !request_check_is_method(request, "PUT")))
        return 0;
    return (uint64_t)(end + 4 - bytes) + (uint64_t)facts->length;
}

enum verdict { LETS_IN, KEEPS_OUT, LOOKS_AGAIN, FINDS_NOTHING };

/* Sends TEXT, of LENGTH bytes. A client that does not even take it is cut off and left to the
 * library. */
static enum verdict refuse(struct admission_entry *entry, const char *text, size_t length,
                           uint64_t request_bytes) {
    if (send(entry->fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length) {
        reset_on_close(entry->fd);
        shutdown(entry->fd, SHUT_RDWR);
        return LETS_IN;
    }
    entry->unwanted = request_bytes;
    deadline_enter_idle(entry->deadline);
    return drop_unwanted(entry) ? LOOKS_AGAIN : KEEPS_OUT;
}

/* Whether there is time for a refusal. */
static bool can_spend(struct admission *admission, int64_t now) {
    const int64_t most = admission->options.refusing_ns;
    const int64_t passed = now - admission->counted_ns;
    admission->spare_ns += passed < second_ns ? passed * most / second_ns : most;
    if (admission->spare_ns > most) admission->spare_ns = most;
    admission->counted_ns = now;
    return admission->spare_ns > 0;
}

static void spend(struct admission *admission, int64_t start) {
    const int64_t taken = clock_ns() - start;
    admission->spare_ns -= AROUND_NS + (taken < SAMPLE_NS ? taken : SAMPLE_NS);
}

/* The requests ahead of it have waited for more than a turn or two. */
static bool waits_for_long(const struct admission_entry *entry) {
    const struct admission_entry *first = entry->admission->rows[entry->row].first;
    return first && clock_ns() - first->since_ns > SHORT_NS;
}

/* There may be no room for the request in the entry's socket. */
static enum verdict judge(struct admission_entry *entry, enum room room) {
    const struct admission_options *options = &entry->admission->options;
    char bytes[HEAD_MAX], text[REFUSAL_MAX];
    struct request_head request;
    struct request_facts facts;
    const ssize_t got =
        recvfrom(entry->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT, NULL, NULL);
    const uint64_t length = got > 0 ? read_head(bytes, (size_t)got, &request, &facts) : 0;
    const int64_t now = clock_ns();
    if (got < 0 && errno == EAGAIN) return FINDS_NOTHING;
    if (length == 0) return LETS_IN;
    entry->in_doubt = room == ROOM_UNSURE && !waits_for_long(entry);
    options->wanted(options->context);
    if (room == ROOM_UNSURE || !can_spend(entry->admission, now)) return KEEPS_OUT;
    const size_t refusal = options->refusal(options->context, &entry->client, &request, &facts,
                                            text, sizeof text, &entry->last);
    if (refusal == 0) return LETS_IN;
    const enum verdict verdict = refuse(entry, text, refusal, length);
    spend(entry->admission, now);
    return verdict;
}

/* ---- letting in */

static int count_of(const struct admission *admission) {
    int count = admission->let_in;
    for (int i = 0; i < TURNS; i++) count += admission->begun[i];
    return count;
}

static enum room ask(const struct admission *admission, const struct client *client) {
    return admission->options.room(admission->options.context, client, count_of(admission));
}

/* A request waits behind others of its row; while there may be room none is refused. */
static enum room room_for(const struct admission_entry *entry) {
    const enum room room = ask(entry->admission, &entry->client);
    return room == ROOM_FREE && entry->admission->rows[entry->row].first ? ROOM_UNSURE : room;
}

bool admission_keeps_out(struct admission_entry *entry, int64_t *since_ns) {
    struct admission *admission = entry->admission;
    if (!admission || (entry->unwanted && !drop_unwanted(entry))) return admission != NULL;
    if (entry->state == ADMISSION_WAITING) return true;
    enum verdict verdict = LETS_IN;
    if (entry->state == ADMISSION_LET_IN) {
        *since_ns = entry->since_ns;
        set_outside(entry);
    } else {
        for (enum room room; (room = room_for(entry)) != ROOM_FREE;)
            if ((verdict = judge(entry, room)) != LOOKS_AGAIN) break;
    }
    if (verdict == KEEPS_OUT && !entry->unwanted) start_waiting(entry);
    return verdict != LETS_IN;
}

void admission_begun(struct admission_entry *entry) {
    if (entry->admission) entry->admission->begun[0]++;
}

/* True: the row's oldest request was let in. */
static bool try_row(struct admission *admission, const struct row *row, int64_t now) {
    struct admission_entry *first = row->first;
    if (!first) return false;
    const int64_t waited_ns = now - first->since_ns;
    const bool long_enough =
        atomic_load(&first->hung_up) || waited_ns > admission->options.waiting_ns;
    const enum room room = ask(admission, &first->client);
    const bool to_be_refused = room == ROOM_NONE && first->in_doubt; /* by request_flow.c */
    if (room != ROOM_FREE) admission->options.wanted(admission->options.context);
    if (!long_enough && room != ROOM_FREE && !to_be_refused) {
        admission->crowded |= waited_ns > LONG_NS;
        return false;
    }
    let_in(first);
    return true;
}

/* One of each row in turn, as long as there is room for any. */
static void let_all_in(struct admission *admission) {
    const int64_t now = clock_ns();
    admission->crowded = false;
    for (int without = 0; admission->waiting && without < ROWS; without++) {
        const struct row *row = &admission->rows[admission->next_row++ % ROWS];
        if (try_row(admission, row, now)) without = -1;
    }
}

int admission_turn(struct admission *admission) {
    let_all_in(admission);
    memmove(admission->begun + 1, admission->begun, sizeof admission->begun - sizeof(int));
    admission->begun[0] = 0;
    return admission->waiting ? POLL_MS : -1;
}

bool admission_is_crowded(const struct admission *admission) {
    return admission->crowded;
}

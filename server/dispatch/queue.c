// SPDX-License-Identifier: Apache-2.0
/* How it works. A flow is the jobs of one client. Virtual time is the start tag of the job that was
 * served last. A flow's start tag is where its last job ended, or the virtual time if that is
 * later: a client that was away saves nothing up. Serving a job moves its flow's tag on by the
 * job's length. Flows have tags, jobs have none, so a flow's jobs may change their order. A flow
 * whose job finds no worker with room while others are served falls behind, and keeps CREDIT_MS of
 * that.
 *
 * Each flow lists its jobs by the time at which they are due: arrival plus cost, of which AGE_MS at
 * most count. A walk merges the lists by a heap of the flows, in which a flow moves back by the
 * length of each job passed. Building the heap takes some nanoseconds a client, each step a few
 * tens. Jobs that a worker lost are in a list of their own, which comes first; their clients have
 * been charged already. */
#include "server/dispatch/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { NONE = -1, ABSENT = -2, AGE_MS = 1000, CREDIT_MS = 1000 };

struct entry {
    int next, previous;        /* in its list; next is ABSENT if the slot is not queued */
    int flow;                  /* NONE: in the list of jobs that a worker lost */
    double cost_ms, length_ms; /* length: the cost, divided by the client's share */
    int64_t since_ns, due_ns;
};

/* A flow with queued jobs is busy. An idle one is kept as long as there is room, for its client may
 * return; the one idle for longest is forgotten first. */
struct flow {
    double start_ms; /* the start tag of its next job, in virtual time */
    int first, last; /* slots of its queued jobs */
    int waiting;     /* number of its queued jobs */
    int busy_index;  /* in queue.busy */
    struct client client;
    int next;         /* flow in the same bucket */
    int bucket;       /* NONE: never used by a client */
    int older, newer; /* neighbours among the idle flows */
};

/* A flow in a walk: its next job, and that job's start tag. */
struct stop {
    double start_ms;
    int slot;
};

struct queue {
    struct queue_options options;
    int length;
    double cost_ms;
    struct entry *entries; /* by slot */
    int flow_count;        /* and buckets: two a slot, of which half may be busy */
    struct flow *flows;
    int *buckets;              /* flows by a hash of their client */
    uint64_t seed[2];          /* of the hash: clients cannot choose addresses of one bucket */
    int oldest, newest;        /* idle flows */
    int *busy, busy_count;     /* flows with queued jobs */
    int first_back, last_back; /* jobs that a worker lost */
    double now_ms;             /* virtual time */
    double last_ms;            /* the greatest start tag of all flows */
    struct stop *heap;         /* of the walk */
    int heap_count, next_back;
};

/* ---- idle flows, longest idle first */

static void join_idle(struct queue *queue, int number) {
    struct flow *flow = &queue->flows[number];
    flow->older = queue->newest;
    flow->newer = NONE;
    *(queue->newest == NONE ? &queue->oldest : &queue->flows[queue->newest].newer) = number;
    queue->newest = number;
}

static void leave_idle(struct queue *queue, int number) {
    const struct flow *flow = &queue->flows[number];
    *(flow->older == NONE ? &queue->oldest : &queue->flows[flow->older].newer) = flow->newer;
    *(flow->newer == NONE ? &queue->newest : &queue->flows[flow->newer].older) = flow->older;
}

/* ---- life */

struct queue *queue_create(const struct queue_options *options) {
    struct queue *queue = calloc(1, sizeof *queue);
    const size_t slots = (size_t)options->slots;
    if (!queue) return NULL;
    queue->options = *options;
    queue->flow_count = 2 * options->slots;
    queue->entries = calloc(slots, sizeof *queue->entries);
    queue->flows = calloc(2 * slots, sizeof *queue->flows);
    queue->buckets = malloc(2 * slots * sizeof *queue->buckets);
    queue->busy = calloc(slots, sizeof *queue->busy);
    queue->heap = calloc(slots, sizeof *queue->heap);
    if (!queue->entries || !queue->flows || !queue->buckets || !queue->busy || !queue->heap)
        return queue_destroy(queue), NULL;
    if (getrandom(queue->seed, sizeof queue->seed, 0) < 0) queue->seed[0] = (uintptr_t)queue;
    for (size_t i = 0; i < slots; i++) queue->entries[i].next = ABSENT;
    queue->oldest = queue->newest = NONE;
    queue->first_back = queue->last_back = queue->next_back = NONE;
    for (int i = 0; i < queue->flow_count; i++) {
        queue->buckets[i] = queue->flows[i].bucket = NONE;
        join_idle(queue, i);
    }
    return queue;
}

void queue_destroy(struct queue *queue) {
    if (!queue) return;
    free(queue->entries);
    free(queue->flows);
    free(queue->buckets);
    free(queue->busy);
    free(queue->heap);
    free(queue);
}

/* ---- flows by client */

static int bucket_of(const struct queue *queue, const struct client *client) {
    return (int)(client_hash(client, queue->seed) % (uint64_t)queue->flow_count);
}

static int find_flow(const struct queue *queue, const struct client *client) {
    int number = queue->buckets[bucket_of(queue, client)];
    while (number != NONE && !client_is_same(&queue->flows[number].client, client))
        number = queue->flows[number].next;
    return number;
}

/* Reuses the flow that has been idle for longest. */
static int add_flow(struct queue *queue, const struct client *client) {
    const int number = queue->oldest, bucket = bucket_of(queue, client);
    struct flow *flow = &queue->flows[number];
    leave_idle(queue, number);
    if (flow->bucket != NONE) {
        int *link = &queue->buckets[flow->bucket];
        while (*link != number) link = &queue->flows[*link].next;
        *link = flow->next;
    }
    *flow = (struct flow){ .first = NONE,
                           .last = NONE,
                           .client = *client,
                           .bucket = bucket,
                           .next = queue->buckets[bucket] };
    queue->buckets[bucket] = number;
    return number;
}

/* Returns the number of CLIENT's flow, which is not reused before join_idle. */
static int take_flow(struct queue *queue, const struct client *client) {
    const int number = find_flow(queue, client);
    if (number == NONE) return add_flow(queue, client);
    if (!queue->flows[number].waiting) leave_idle(queue, number);
    return number;
}

/* ---- lists */

/* FIRST, LAST: the ends of the list, updated. */
static void link_between(struct queue *queue, int slot, int previous, int next, int *first,
                         int *last) {
    queue->entries[slot].previous = previous;
    queue->entries[slot].next = next;
    *(previous == NONE ? first : &queue->entries[previous].next) = slot;
    *(next == NONE ? last : &queue->entries[next].previous) = slot;
    queue->length++;
    queue->cost_ms += queue->entries[slot].cost_ms;
}

static void unlink_from(struct queue *queue, int slot, int *first, int *last) {
    const int previous = queue->entries[slot].previous, next = queue->entries[slot].next;
    *(previous == NONE ? first : &queue->entries[previous].next) = next;
    *(next == NONE ? last : &queue->entries[next].previous) = previous;
    queue->entries[slot].next = ABSENT;
    queue->length--;
    queue->cost_ms = queue->length ? queue->cost_ms - queue->entries[slot].cost_ms : 0;
}

/* ---- busy flows */

static void set_start(struct queue *queue, struct flow *flow, double start_ms) {
    flow->start_ms = start_ms;
    if (start_ms > queue->last_ms) queue->last_ms = start_ms;
}

/* The flow with the most queued jobs; NULL: none is queued. */
static const struct flow *longest_flow(const struct queue *queue) {
    const struct flow *longest = NULL;
    for (int i = 0; i < queue->busy_count; i++) {
        const struct flow *flow = &queue->flows[queue->busy[i]];
        if (!longest || flow->waiting > longest->waiting) longest = flow;
    }
    return longest;
}

/* A job is displaced only from a client with more jobs than the newcomer's client would have: else
 * the two would displace each other in turn. */
bool queue_has_room(const struct queue *queue, const struct client *client, int more) {
    if (queue->length + more < queue->options.capacity) return true;
    const struct flow *longest = client ? longest_flow(queue) : NULL;
    if (!longest) return false;
    const int number = find_flow(queue, client);
    const int waiting = number == NONE ? 0 : queue->flows[number].waiting;
    return longest->waiting > waiting + more + 1;
}

static void push(struct queue *queue, int slot, const struct queue_job *job) {
    const int number = take_flow(queue, &job->client);
    struct flow *flow = &queue->flows[number];
    if (!flow->waiting) {
        flow->busy_index = queue->busy_count;
        queue->busy[queue->busy_count++] = number;
        set_start(queue, flow, flow->start_ms > queue->now_ms ? flow->start_ms : queue->now_ms);
    }
    const double wait_ms = job->cost_ms < AGE_MS ? job->cost_ms : AGE_MS;
    queue->entries[slot] =
        (struct entry){ .flow = number,
                        .cost_ms = job->cost_ms,
                        .length_ms = job->cost_ms / (job->share ? job->share : 1),
                        .since_ns = job->since_ns,
                        .due_ns = job->since_ns + (int64_t)(wait_ms * 1e6) };
    /* Behind all jobs that are due no later: usually at the end. */
    int previous = flow->last;
    while (previous != NONE && queue->entries[previous].due_ns > queue->entries[slot].due_ns)
        previous = queue->entries[previous].previous;
    const int next = previous == NONE ? flow->first : queue->entries[previous].next;
    link_between(queue, slot, previous, next, &flow->first, &flow->last);
    flow->waiting++;
}

bool queue_push(struct queue *queue, int slot, const struct queue_job *job) {
    if (!queue_has_room(queue, &job->client, 0)) return false;
    push(queue, slot, job);
    return true;
}

void queue_push_again(struct queue *queue, int slot, const struct queue_job *job) {
    push(queue, slot, job);
}

/* A job is due no earlier than it came: the search ends at jobs due before the newest one came. */
int queue_displace(struct queue *queue) {
    const struct flow *longest = longest_flow(queue);
    if (queue->length <= queue->options.capacity || !longest) return NONE;
    int newest = longest->last;
    for (int slot = newest; slot != NONE; slot = queue->entries[slot].previous) {
        if (queue->entries[slot].due_ns < queue->entries[newest].since_ns) break;
        if (queue->entries[slot].since_ns > queue->entries[newest].since_ns) newest = slot;
    }
    queue_remove(queue, newest);
    return newest;
}

void queue_push_front(struct queue *queue, int slot) {
    queue->entries[slot] = (struct entry){ .flow = NONE, .next = ABSENT };
    link_between(queue, slot, NONE, queue->first_back, &queue->first_back, &queue->last_back);
}

bool queue_remove(struct queue *queue, int slot) {
    const int number = queue->entries[slot].flow;
    if (!queue_has(queue, slot)) return false;
    if (number == NONE) {
        unlink_from(queue, slot, &queue->first_back, &queue->last_back);
        return true;
    }
    struct flow *flow = &queue->flows[number];
    unlink_from(queue, slot, &flow->first, &flow->last);
    if (--flow->waiting == 0) {
        const int last = queue->busy[--queue->busy_count];
        queue->busy[flow->busy_index] = last;
        queue->flows[last].busy_index = flow->busy_index;
        join_idle(queue, number);
    }
    return true;
}

void queue_serve(struct queue *queue, int slot) {
    const struct entry entry = queue->entries[slot];
    if (!queue_remove(queue, slot) || entry.flow == NONE) return;
    struct flow *flow = &queue->flows[entry.flow];
    const double least = queue->now_ms - CREDIT_MS;
    if (flow->start_ms > queue->now_ms) queue->now_ms = flow->start_ms;
    set_start(queue, flow, (flow->start_ms > least ? flow->start_ms : least) + entry.length_ms);
}

/* Virtual time passes all start tags, so these count for nothing. */
void queue_forget_usage(struct queue *queue) {
    queue->now_ms = queue->last_ms;
}

/* ---- a walk */

/* Orders by start tag, then by due time. */
static bool is_before(const struct queue *queue, const struct stop *a, const struct stop *b) {
    if (a->start_ms < b->start_ms || a->start_ms > b->start_ms) return a->start_ms < b->start_ms;
    return queue->entries[a->slot].due_ns < queue->entries[b->slot].due_ns;
}

static void sift_down(struct queue *queue, int at) {
    const struct stop stop = queue->heap[at];
    for (int child; (child = 2 * at + 1) < queue->heap_count; at = child) {
        const struct stop *heap = queue->heap;
        if (child + 1 < queue->heap_count && is_before(queue, &heap[child + 1], &heap[child]))
            child++;
        if (!is_before(queue, &heap[child], &stop)) break;
        queue->heap[at] = heap[child];
    }
    queue->heap[at] = stop;
}

int queue_first(struct queue *queue) {
    queue->next_back = queue->first_back;
    queue->heap_count = queue->busy_count;
    for (int i = 0; i < queue->busy_count; i++) {
        const struct flow *flow = &queue->flows[queue->busy[i]];
        queue->heap[i] = (struct stop){ flow->start_ms, flow->first };
    }
    for (int i = queue->heap_count / 2 - 1; i >= 0; i--) sift_down(queue, i);
    return queue_next(queue);
}

/* The job may be removed before the next call, so its successor is looked up now. */
int queue_next(struct queue *queue) {
    int slot = queue->next_back;
    if (slot != NONE) {
        queue->next_back = queue->entries[slot].next;
        return slot;
    }
    if (!queue->heap_count) return NONE;
    struct stop *top = &queue->heap[0];
    slot = top->slot;
    const int next = queue->entries[slot].next;
    if (next == NONE)
        *top = queue->heap[--queue->heap_count];
    else
        *top = (struct stop){ top->start_ms + queue->entries[slot].length_ms, next };
    if (queue->heap_count) sift_down(queue, 0);
    return slot;
}

/* ---- questions */

bool queue_has(const struct queue *queue, int slot) {
    return queue->entries[slot].next != ABSENT;
}

int queue_length(const struct queue *queue) {
    return queue->length;
}

double queue_cost_ms(const struct queue *queue) {
    return queue->cost_ms;
}

int queue_clients(const struct queue *queue) {
    return queue->busy_count;
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. A ledger has one time for each limit: the end of what was charged so far, if the
 * charges are laid one after the other, each as long as the limit takes for its amount, and none
 * before it came. While that time lies further ahead than the tolerance, requests are refused:
 * after `burst` requests, or when a second's worth of anything else is used up. A charge that is
 * changed moves the time by the difference. The monotonic clock alone counts. */
#include "server/access/quota.h"

#include "server/api/json_writer.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const int64_t second_ns = 1000000000, most_ns = INT64_C(1000000000000000000);

struct quota {
    char group[KEY_ID_MAX];
    uint64_t number; /* no other ledger has it */
    double divisor;
    int holders; /* atomic */
    pthread_mutex_t lock;
    int in_progress;
    int64_t times[QUOTA_RATES];
};

/* UNIT: of the draft; "pixels" and "device-ms" are ours. */
static const struct {
    const char *name, *unit;
    size_t offset;
} limits[QUOTA_LIMITS] = {
    [QUOTA_REQUESTS] = { "requests_per_s", "requests",
                         offsetof(struct key_limits, requests_per_s) },
    [QUOTA_BYTES] = { "bytes_per_s", "content-bytes", offsetof(struct key_limits, bytes_per_s) },
    [QUOTA_PIXELS] = { "pixels_per_s", "pixels", offsetof(struct key_limits, pixels_per_s) },
    [QUOTA_DEVICE_MS] = { "device_ms_per_s", "device-ms",
                          offsetof(struct key_limits, device_ms_per_s) },
    [QUOTA_IN_PROGRESS] = { "in_progress", "concurrent-requests",
                            offsetof(struct key_limits, in_progress) },
};

const char *quota_limit_name(enum quota_limit limit) {
    return limits[limit].name;
}

/* ---- ledgers */

static struct quota *create(const char *group, long divisor) {
    static uint64_t last;
    struct quota *quota = calloc(1, sizeof *quota);
    if (!quota) return NULL;
    strcpy(quota->group, group);
    quota->number = ++last;
    quota->divisor = (double)divisor;
    pthread_mutex_init(&quota->lock, NULL);
    return quota;
}

void quota_hold(struct quota *quota) {
    if (quota) __atomic_add_fetch(&quota->holders, 1, __ATOMIC_RELAXED);
}

void quota_release(struct quota *quota) {
    if (!quota || __atomic_sub_fetch(&quota->holders, 1, __ATOMIC_ACQ_REL)) return;
    pthread_mutex_destroy(&quota->lock);
    free(quota);
}

/* Keys of one group together; first those that have its ledger. */
static int by_group(const void *a, const void *b) {
    const struct access_key *one = *(struct access_key *const *)a,
                            *other = *(struct access_key *const *)b;
    const int order = strcmp(one->group, other->group);
    return order ? order : !one->quota - !other->quota;
}

bool quota_link(struct key_table *next, const struct key_table *before, long divisor) {
    const int known = before && before != next ? before->key_count : 0,
              count = known + next->key_count;
    struct access_key **keys = malloc((size_t)(count + 1) * sizeof(struct access_key *));
    struct quota *quota = NULL;
    if (!keys) return false;
    for (int i = 0; i < count; i++) keys[i] = i < known ? &before->keys[i] : &next->keys[i - known];
    qsort(keys, (size_t)count, sizeof *keys, by_group);
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        if (!quota || strcmp(quota->group, keys[i]->group) != 0) quota = keys[i]->quota;
        if (keys[i]->quota) continue;
        if (!quota) quota = create(keys[i]->group, divisor);
        quota_hold(quota);
        keys[i]->quota = quota;
        good = quota;
    }
    free(keys);
    return good;
}

const char *quota_group(const struct quota *quota) {
    return quota->group;
}

/* A multicast address sends nothing, and an IPv6 client has no second half (client_unit). */
struct client quota_client(const struct quota *quota) {
    struct client client = { { .s6_addr = { 0xff } } };
    memcpy(client.address.s6_addr + 8, &quota->number, sizeof quota->number);
    return client;
}

/* ---- amounts and times */

/* 0: there is no such limit. */
static double limit_of(const struct quota_use *use, enum quota_limit limit) {
    long number;
    memcpy(&number, (const char *)&use->limits + limits[limit].offset, sizeof number);
    return (double)number;
}

/* How many may be asked for at once. */
static double most_of(const struct quota_use *use, enum quota_limit limit) {
    const double most = limit_of(use, limit);
    if (limit == QUOTA_IN_PROGRESS || most <= 0) return most;
    if (limit != QUOTA_REQUESTS) return most / use->quota->divisor;
    return use->limits.burst ? (double)use->limits.burst : fmax(most / use->quota->divisor, 1);
}

static int64_t time_of(const struct quota_use *use, enum quota_limit limit, double amount) {
    const double ns = amount * 1e9 * use->quota->divisor / limit_of(use, limit);
    return ns < (double)most_ns ? (int64_t)ns : most_ns;
}

/* How far ahead the ledger's time may lie before a request. */
static int64_t tolerance_of(const struct quota_use *use, enum quota_limit limit) {
    return limit == QUOTA_REQUESTS ? time_of(use, limit, most_of(use, limit) - 1) : second_ns;
}

/* The lock is held. */
static void charge(struct quota_use *use, enum quota_limit limit, double amount, int64_t now) {
    if (limit_of(use, limit) <= 0) return;
    const int64_t ns = time_of(use, limit, amount), more = ns - use->charged_ns[limit];
    int64_t *time = &use->quota->times[limit];
    if (more > 0 && *time < now) *time = now;
    *time += more;
    if (*time > now + most_ns) *time = now + most_ns;
    use->charged_ns[limit] = ns;
}

/* Sets `over` to the limit for which the request waits longest. Returns for how long; 0: not at
 * all. When a request in progress ends is not known. The lock is held. */
static int64_t wait_ns(struct quota_use *use, int64_t now) {
    int64_t longest = 0;
    for (enum quota_limit limit = 0; limit < QUOTA_RATES; limit++) {
        if (limit_of(use, limit) <= 0) continue;
        const int64_t wait = use->quota->times[limit] - now - tolerance_of(use, limit);
        if (wait > longest) use->over = limit;
        if (wait > longest) longest = wait;
    }
    if (longest || !use->limits.in_progress || use->quota->in_progress < use->limits.in_progress)
        return longest;
    use->over = QUOTA_IN_PROGRESS;
    return second_ns;
}

bool quota_enter(struct quota_use *use, int64_t bytes, int64_t now) {
    if (!use->quota) return true;
    pthread_mutex_lock(&use->quota->lock);
    const int64_t wait = wait_ns(use, now);
    use->retry_s = (int)((wait + second_ns - 1) / second_ns);
    use->entered = !wait;
    if (use->entered) {
        use->quota->in_progress++;
        charge(use, QUOTA_REQUESTS, 1, now);
        charge(use, QUOTA_BYTES, (double)bytes, now);
    }
    pthread_mutex_unlock(&use->quota->lock);
    return use->entered;
}

void quota_charge(struct quota_use *use, enum quota_limit limit, double amount, int64_t now) {
    if (!use->entered) return;
    pthread_mutex_lock(&use->quota->lock);
    charge(use, limit, amount, now);
    pthread_mutex_unlock(&use->quota->lock);
}

void quota_leave(struct quota_use *use) {
    if (!use->entered) return;
    pthread_mutex_lock(&use->quota->lock);
    use->quota->in_progress--;
    pthread_mutex_unlock(&use->quota->lock);
    use->entered = false;
}

/* ---- for clients to see */

int quota_look(const struct quota_use *use, int64_t now,
               struct quota_balance balances[QUOTA_LIMITS]) {
    int64_t times[QUOTA_RATES];
    pthread_mutex_lock(&use->quota->lock);
    const int count = use->quota->in_progress;
    memcpy(times, use->quota->times, sizeof times);
    pthread_mutex_unlock(&use->quota->lock);
    for (enum quota_limit limit = 0; limit < QUOTA_LIMITS; limit++) {
        struct quota_balance *balance = &balances[limit];
        *balance = (struct quota_balance){ .most = most_of(use, limit) };
        balance->left = balance->most - count;
        if (limit == QUOTA_IN_PROGRESS || balance->most <= 0) continue;
        const double per_s = limit_of(use, limit) / use->quota->divisor;
        balance->full_ns = times[limit] > now ? times[limit] - now : 0;
        balance->left = balance->most - (double)balance->full_ns * per_s / 1e9;
        balance->window_s = (long)ceil(balance->most / per_s);
    }
    return count;
}

static void add_number(struct json_writer *text, const char *name, double number) {
    json_writer_add(text, name);
    json_writer_number(text, number > 0 ? (int64_t)number : 0);
}

/* Two lists of structured fields (RFC 9651). */
bool quota_print(const struct quota_use *use, int64_t now, char policy[QUOTA_FIELD_MAX],
                 char state[QUOTA_FIELD_MAX]) {
    struct quota_balance balances[QUOTA_LIMITS];
    struct json_writer to[2] = { json_writer_in(policy, QUOTA_FIELD_MAX),
                                 json_writer_in(state, QUOTA_FIELD_MAX) };
    if (!use->quota) return false;
    quota_look(use, now, balances);
    for (int limit = 0; limit < QUOTA_LIMITS; limit++) {
        const struct quota_balance *balance = &balances[limit];
        if (balance->most <= 0) continue;
        for (int i = 0; i < 2; i++) {
            if (to[i].length) json_writer_add(&to[i], ", ");
            json_writer_string(&to[i], limits[limit].name);
        }
        add_number(&to[0], ";q=", balance->most);
        json_writer_add(&to[0], ";qu=");
        json_writer_string(&to[0], limits[limit].unit);
        add_number(&to[1], ";r=", balance->left);
        if (!balance->window_s) continue;
        add_number(&to[0], ";w=", (double)balance->window_s);
        add_number(&to[1], ";t=", ceil((double)balance->full_ns / 1e9));
    }
    return to[0].length;
}

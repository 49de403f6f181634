// SPDX-License-Identifier: Apache-2.0
/* metrics.h - counters of the service, printed in Prometheus' text form or as OpenMetrics.
 *
 * Names are burin_*, in base units (seconds, bytes); stages are those of Server-Timing.
 *
 * Used by:  http/ (requests and refusals), http/handle_status.c (GET /metrics).
 * Owns:     its counters.
 * Fails:    metrics_create returns NULL without memory.
 * Threads:  any; counters are atomic and never wait for each other. metrics_add_operators,
 *           metrics_add_key: the main thread.
 * Limits:   OP_SET_ADDED_MAX names of users' operators, from start to end; further ones are counted
 *           as "other".
 */
#ifndef BURIN_METRICS_H
#define BURIN_METRICS_H

#include "pipeline/op_set.h"
#include "pipeline/timing.h"
#include "server/access/quota.h"
#include "server/dispatch/supervisor.h"
#include "server/http/engine/deadline.h"
#include "server/trace.h"

#include <stdint.h>
#include <stdio.h>

struct metrics;

struct metrics *metrics_create(void);
void metrics_destroy(struct metrics *metrics);

/* Counts requests for OPS by their names from now on. */
void metrics_add_operators(struct metrics *metrics, const struct op_set *ops);

/* Counts an answered request. TRACE: NULL if the log has no line of it. LABEL: an operator's name,
 * "pipeline", "info"; others count as "other". TIMING may be NULL; PIXELS is 0 if no image was
 * processed. */
void metrics_request(struct metrics *metrics, const struct trace *trace, const char *label,
                     int http_status, double total_ms, const struct timing *timing,
                     uint64_t pixels);

/* Counts requests with the key ID from now on, for METRICS_KEYS_MAX keys; others count together. */
enum { METRICS_KEYS_MAX = 256 };
void metrics_add_key(struct metrics *metrics, const char *id);

/* Counts a request, which metrics_request counts too, for the key ID that it had. DEVICE_MS: that
 * its job took. */
void metrics_request_of_key(struct metrics *metrics, const char *id, int http_status,
                            double device_ms, uint64_t pixels);

/* Counts a request that was refused since its key is over LIMIT. */
void metrics_quota_refused(struct metrics *metrics, const char *id, enum quota_limit limit);

/* Counts an image of a worker whose device has a codec, by what decoded or encoded it, an enum
 * codec_place. Other numbers and CODEC_NOBODY are not counted. */
void metrics_decoded(struct metrics *metrics, unsigned by);
void metrics_encoded(struct metrics *metrics, unsigned by);

/* Reasons for which a request is refused before its work begins; only REJECTED_ANSWERS may also
 * follow the work, if the answer finds no room. */
enum rejection {
    REJECTED_QUEUE,
    REJECTED_SLOTS,
    REJECTED_BYTES,
    REJECTED_ANSWERS,
    REJECTED_DRAINING,
    REJECTED_MALFORMED,
    REJECTED_TIME, /* predicted to be late */
    REJECTIONS
};
void metrics_reject(struct metrics *metrics, enum rejection reason);

/* Gauges, which the caller reads from their owners. */
struct metrics_now {
    const struct worker_facts *workers;
    int worker_count, queued, clients, slots_in_use, slots, exchanges;
    int64_t slots_grown, body_bytes_held, answer_bytes_held;
    struct deadline_counts connections;
    uint64_t log_lines_dropped; /* of the front and its workers */
    const char *version;
    bool open_metrics; /* the form of OpenMetrics, with an exemplar in each bucket that has one */
};
void metrics_print(struct metrics *metrics, const struct metrics_now *now, FILE *out);

#endif

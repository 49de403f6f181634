// SPDX-License-Identifier: Apache-2.0
/* How it works. Counters are in one block, a series for each operator and a few other labels, and
 * grow by relaxed atomics; a reader may see a request half counted. A series stays when its
 * operator is removed, and is used again for a new operator of that name. Gauges are read from
 * their owners when the text is printed, and never stored. */
#include "server/api/metrics.h"

#include "pipeline/builtin_ops.h"
#include "pipeline/registry.h"
#include "server/api/metrics_sheet.h"
#include "server/http/imaginary.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double bounds_s[] = { 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032,  0.064, 0.128,
                                   0.256,  0.512, 1.024, 2.048, 4.096, 8.192, 16.384, 32.768 };
enum { BUCKETS = sizeof bounds_s / sizeof *bounds_s, CODES = 20, EXTRA_LABELS = 3 };
enum { OTHER = 2 /* in extra_labels */, LABEL_MAX = 48 };
static const int codes[CODES] = { 200, 400, 401, 403, 404, 405, 406, 408, 410, 413,
                                  414, 415, 422, 429, 431, 499, 500, 503, 504, 0 /* any other */ };
static const char *const extra_labels[EXTRA_LABELS] = { "pipeline", "info", "other" };
static const char *const reasons[REJECTIONS] = { "queue",    "slots",     "bytes", "answers",
                                                 "draining", "malformed", "time" };

/* Why cores coded an image instead of the GPU's codec. */
static const char *const codec_reasons[CODEC_PLACES] = {
    [CODEC_DEVICE] = "",         [CODEC_FORMAT] = "format", [CODEC_KIND] = "kind",
    [CODEC_PROFILE] = "profile", [CODEC_ROOM] = "room",     [CODEC_REFUSED] = "refused",
    [CODEC_FAILED] = "failed",
};

/* A request that is in a bucket. TAKEN, atomic: one thread has it; others do without. */
struct exemplar {
    bool taken;
    char trace_id[TRACE_ID_MAX];
    double seconds;
    int64_t at_ms;      /* since 1970; 0: there is none */
    int64_t next_ms[2]; /* when a request may replace it, by trace.sampled; atomic */
};

struct histogram {
    uint64_t buckets[BUCKETS + 1], nanoseconds;
    struct exemplar exemplars[BUCKETS + 1];
};

/* Counters of one label. */
struct series {
    char label[LABEL_MAX];
    uint64_t codes[CODES];
    uint64_t stage_ns[STAGE_COUNT], stage_count;
    struct histogram durations;
};

/* Counters of one key. */
struct key_series {
    char id[LABEL_MAX];
    uint64_t codes[CODES], pixels, nanoseconds, refused[QUOTA_LIMITS];
};

struct metrics {
    int keys; /* but for the last of key_series, other keys'; atomic as `labels` is */
    struct key_series key_series[METRICS_KEYS_MAX + 1];
    int labels; /* extra_labels, then operators; atomic: published after the label is written */
    int labels_max;
    uint64_t pixels, rejected[REJECTIONS];
    uint64_t codec[2][CODEC_PLACES];      /* images decoded, encoded */
    struct histogram stages[STAGE_COUNT]; /* of all jobs that ran */
    struct series series[];
};

static void add(uint64_t *counter, uint64_t amount) {
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static int label_count(const struct metrics *metrics) {
    return __atomic_load_n(&metrics->labels, __ATOMIC_ACQUIRE);
}

/* NULL: there is none. */
static struct series *find_series(struct metrics *metrics, const char *label) {
    for (int i = 0; i < label_count(metrics); i++)
        if (strcmp(label, metrics->series[i].label) == 0) return &metrics->series[i];
    return NULL;
}

static struct series *series_of(struct metrics *metrics, const char *label) {
    struct series *series = find_series(metrics, label);
    return series ? series : &metrics->series[OTHER];
}

static void add_label(struct metrics *metrics, const char *name) {
    if (metrics->labels == metrics->labels_max || find_series(metrics, name)) return;
    snprintf(metrics->series[metrics->labels].label, LABEL_MAX, "%s", name);
    __atomic_add_fetch(&metrics->labels, 1, __ATOMIC_RELEASE);
}

void metrics_add_operators(struct metrics *metrics, const struct op_set *ops) {
    for (int i = 0; i < op_set_count(ops); i++) add_label(metrics, op_set_at(ops, i)->name);
}

static struct key_series *find_key(struct metrics *metrics, const char *id) {
    const int count = __atomic_load_n(&metrics->keys, __ATOMIC_ACQUIRE);
    for (int i = 0; i < count; i++)
        if (strcmp(id, metrics->key_series[i].id) == 0) return &metrics->key_series[i];
    return &metrics->key_series[METRICS_KEYS_MAX];
}

void metrics_add_key(struct metrics *metrics, const char *id) {
    const struct key_series *others = &metrics->key_series[METRICS_KEYS_MAX];
    if (metrics->keys == METRICS_KEYS_MAX || find_key(metrics, id) != others) return;
    snprintf(metrics->key_series[metrics->keys].id, LABEL_MAX, "%s", id);
    __atomic_add_fetch(&metrics->keys, 1, __ATOMIC_RELEASE);
}

struct metrics *metrics_create(void) {
    const int most = EXTRA_LABELS + builtin_op_count() + IMAGINARY_NAMES_MAX + OP_SET_ADDED_MAX;
    struct metrics *metrics = calloc(1, sizeof *metrics + (size_t)most * sizeof(struct series));
    if (!metrics) return NULL;
    metrics->labels_max = most;
    strcpy(metrics->key_series[METRICS_KEYS_MAX].id, "(other)"); /* no id has brackets */
    for (int i = 0; i < EXTRA_LABELS; i++)
        strcpy(metrics->series[metrics->labels++].label, extra_labels[i]);
    metrics_add_operators(metrics, &(struct op_set){ .added_count = 0 });
    const char *name, *op;
    for (int i = 0; (name = imaginary_name(i, &op)); i++) add_label(metrics, name);
    return metrics;
}

void metrics_destroy(struct metrics *metrics) {
    free(metrics);
}

/* ---- counting */

enum { EXEMPLAR_MS = 1000, RECORDED_MS = 60000 };

/* Makes the request in TRACE the bucket's exemplar: at most one a second, so that threads seldom
 * write the same memory; one that its caller records stays for a minute before others. */
static void note(struct exemplar *exemplar, const struct trace *trace, double ms, int64_t now_ms) {
    const int64_t wait_ms =
        __atomic_load_n(&exemplar->next_ms[trace->sampled], __ATOMIC_RELAXED) - now_ms;
    if (wait_ms > 0 && wait_ms <= RECORDED_MS) return; /* more: the clock was set back */
    if (__atomic_exchange_n(&exemplar->taken, true, __ATOMIC_ACQUIRE)) return;
    memcpy(exemplar->trace_id, trace->id, sizeof exemplar->trace_id);
    exemplar->seconds = ms / 1000;
    exemplar->at_ms = now_ms;
    for (int sampled = 0; sampled < 2; sampled++)
        __atomic_store_n(&exemplar->next_ms[sampled],
                         now_ms + (trace->sampled && !sampled ? RECORDED_MS : EXEMPLAR_MS),
                         __ATOMIC_RELAXED);
    __atomic_store_n(&exemplar->taken, false, __ATOMIC_RELEASE);
}

static void observe(struct histogram *histogram, double ms, const struct trace *trace,
                    int64_t now_ms) {
    int bucket = 0;
    while (bucket < BUCKETS && ms > bounds_s[bucket] * 1000) bucket++;
    add(&histogram->buckets[bucket], 1);
    add(&histogram->nanoseconds, (uint64_t)(ms * 1e6));
    if (trace) note(&histogram->exemplars[bucket], trace, ms, now_ms);
}

static int code_index(int http_status) {
    int code = 0;
    while (code < CODES - 1 && codes[code] != http_status) code++;
    return code;
}

void metrics_request(struct metrics *metrics, const struct trace *trace, const char *label,
                     int http_status, double total_ms, const struct timing *timing,
                     uint64_t pixels) {
    struct series *series = series_of(metrics, label);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    const int64_t now_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
    add(&series->codes[code_index(http_status)], 1);
    observe(&series->durations, total_ms, trace, now_ms);
    add(&metrics->pixels, pixels);
    if (!timing) return;
    add(&series->stage_count, 1);
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        add(&series->stage_ns[stage], (uint64_t)(timing->stage_ms[stage] * 1e6));
        observe(&metrics->stages[stage], timing->stage_ms[stage], trace, now_ms);
    }
}

void metrics_request_of_key(struct metrics *metrics, const char *id, int http_status,
                            double device_ms, uint64_t pixels) {
    struct key_series *key = find_key(metrics, id);
    add(&key->codes[code_index(http_status)], 1);
    add(&key->pixels, pixels);
    add(&key->nanoseconds, (uint64_t)(device_ms * 1e6));
}

void metrics_quota_refused(struct metrics *metrics, const char *id, enum quota_limit limit) {
    add(&find_key(metrics, id)->refused[limit], 1);
}

void metrics_reject(struct metrics *metrics, enum rejection reason) {
    add(&metrics->rejected[reason], 1);
}

void metrics_decoded(struct metrics *metrics, unsigned by) {
    if (by < CODEC_PLACES) add(&metrics->codec[0][by], 1);
}

void metrics_encoded(struct metrics *metrics, unsigned by) {
    if (by < CODEC_PLACES) add(&metrics->codec[1][by], 1);
}

/* ---- text */

void sheet_head(const struct sheet *sheet, const char *name, const char *type, const char *help) {
    const bool cut = sheet->open && strcmp(type, "counter") == 0;
    const int length = (int)(strlen(name) - (cut ? strlen("_total") : 0));
    fprintf(sheet->out, "# HELP burin_%.*s %s\n# TYPE burin_%.*s %s\n", length, name, help, length,
            name, type);
}

/* NAME: of the counter, with its first LABEL. */
static void print_codes(const struct sheet *sheet, const char *name, const char *label,
                        const uint64_t counts[CODES]) {
    for (int c = 0; c < CODES; c++) {
        const uint64_t count = get(&counts[c]);
        if (!count) continue;
        fprintf(sheet->out, "burin_%s=\"%s\",code=\"", name, label);
        if (codes[c])
            fprintf(sheet->out, "%d\"} %lu\n", codes[c], count);
        else
            fprintf(sheet->out, "other\"} %lu\n", count);
    }
}

static void print_requests(const struct metrics *metrics, const struct sheet *sheet) {
    sheet_head(sheet, "requests_total", "counter",
               "Requests answered, by operator and HTTP status");
    for (int i = 0; i < label_count(metrics); i++)
        print_codes(sheet, "requests_total{op", metrics->series[i].label, metrics->series[i].codes);
}

static void print_of_key(const struct sheet *sheet, const char *name, const char *help,
                         const struct metrics *metrics, size_t offset, double per_unit) {
    sheet_head(sheet, name, "counter", help);
    for (int i = 0; i <= METRICS_KEYS_MAX; i++) {
        const char *key = (const char *)&metrics->key_series[i];
        const uint64_t count = get((const uint64_t *)(const void *)(key + offset));
        if (count)
            fprintf(sheet->out, "burin_%s{key=\"%s\"} %.15g\n", name, metrics->key_series[i].id,
                    (double)count / per_unit);
    }
}

/* Prints nothing if there are no keys. */
static void print_keys(const struct metrics *metrics, const struct sheet *sheet) {
    if (!__atomic_load_n(&metrics->keys, __ATOMIC_ACQUIRE)) return;
    sheet_head(sheet, "key_requests_total", "counter", "Requests answered, by key and HTTP status");
    for (int i = 0; i <= METRICS_KEYS_MAX; i++)
        print_codes(sheet, "key_requests_total{key", metrics->key_series[i].id,
                    metrics->key_series[i].codes);
    print_of_key(sheet, "key_input_pixels_total", "Pixels of the images processed, by key", metrics,
                 offsetof(struct key_series, pixels), 1);
    print_of_key(sheet, "key_job_seconds_total", "Time of a GPU or a core that jobs took, by key",
                 metrics, offsetof(struct key_series, nanoseconds), 1e9);
    sheet_head(sheet, "quota_refused_total", "counter",
               "Requests refused since their key was over a limit, by key and limit");
    for (int i = 0; i <= METRICS_KEYS_MAX; i++)
        for (int limit = 0; limit < QUOTA_LIMITS; limit++) {
            const uint64_t count = get(&metrics->key_series[i].refused[limit]);
            if (count)
                fprintf(sheet->out, "burin_quota_refused_total{key=\"%s\",limit=\"%s\"} %lu\n",
                        metrics->key_series[i].id, quota_limit_name((enum quota_limit)limit),
                        count);
        }
}

/* Prints nothing while a request writes it. */
static void print_exemplar(const struct sheet *sheet, struct exemplar *exemplar) {
    if (!sheet->open || __atomic_exchange_n(&exemplar->taken, true, __ATOMIC_ACQUIRE)) return;
    const int64_t ms = exemplar->at_ms;
    if (ms)
        fprintf(sheet->out, " # {trace_id=\"%s\"} %.9f %ld.%03ld", exemplar->trace_id,
                exemplar->seconds, ms / 1000, ms % 1000);
    __atomic_store_n(&exemplar->taken, false, __ATOMIC_RELEASE);
}

/* LABEL, VALUE: NULL for a histogram of all requests together. */
static void print_histogram(const struct sheet *sheet, const char *name, const char *label,
                            const char *value, struct histogram *histogram) {
    char first[LABEL_MAX + 16] = "", alone[LABEL_MAX + 16] = "", bound[16]; /* the label */
    if (label) snprintf(first, sizeof first, "%s=\"%s\",", label, value);
    if (label) snprintf(alone, sizeof alone, "{%s=\"%s\"}", label, value);
    uint64_t sum = 0;
    for (int b = 0; b <= BUCKETS; b++) {
        snprintf(bound, sizeof bound, b < BUCKETS ? "%g" : "+Inf", b < BUCKETS ? bounds_s[b] : 0);
        fprintf(sheet->out, "burin_%s_bucket{%sle=\"%s\"} %lu", name, first, bound,
                sum += get(&histogram->buckets[b]));
        print_exemplar(sheet, &histogram->exemplars[b]);
        fputc('\n', sheet->out);
    }
    fprintf(sheet->out, "burin_%s_sum%s %.9f\n", name, alone,
            (double)get(&histogram->nanoseconds) / 1e9);
    fprintf(sheet->out, "burin_%s_count%s %lu\n", name, alone, sum);
}

static bool series_is_used(const struct series *series) {
    uint64_t count = 0;
    for (int c = 0; c < CODES; c++) count += get(&series->codes[c]);
    return count;
}

static void print_durations(struct metrics *metrics, const struct sheet *sheet) {
    sheet_head(sheet, "request_duration_seconds", "histogram",
               "From a request's first line to its answer being ready");
    for (int i = 0; i < label_count(metrics); i++) {
        struct series *series = &metrics->series[i];
        if (series_is_used(series))
            print_histogram(sheet, "request_duration_seconds", "op", series->label,
                            &series->durations);
    }
    sheet_head(sheet, "queue_wait_seconds", "histogram", "How long jobs waited for a worker");
    print_histogram(sheet, "queue_wait_seconds", NULL, NULL, &metrics->stages[STAGE_QUEUE]);
    sheet_head(sheet, "stage_seconds", "histogram",
               "Time in each stage of the jobs of all operators");
    for (int s = 0; s < STAGE_COUNT; s++)
        print_histogram(sheet, "stage_seconds", "stage", stage_name((enum stage)s),
                        &metrics->stages[s]);
}

static void print_stages(const struct metrics *metrics, const struct sheet *sheet) {
    sheet_head(sheet, "stage_duration_seconds", "summary",
               "Time in each stage of the requests that were processed");
    for (int i = 0; i < label_count(metrics); i++)
        for (int s = 0; get(&metrics->series[i].stage_count) && s < STAGE_COUNT; s++) {
            fprintf(sheet->out, "burin_stage_duration_seconds_sum{op=\"%s\",stage=\"%s\"} %.9f\n",
                    metrics->series[i].label, stage_name((enum stage)s),
                    (double)get(&metrics->series[i].stage_ns[s]) / 1e9);
            fprintf(sheet->out, "burin_stage_duration_seconds_count{op=\"%s\",stage=\"%s\"} %lu\n",
                    metrics->series[i].label, stage_name((enum stage)s),
                    get(&metrics->series[i].stage_count));
        }
}

static void print_connections(const struct deadline_counts *connections,
                              const struct sheet *sheet) {
    sheet_head(sheet, "connections", "gauge", "Connections at present");
    fprintf(sheet->out, "burin_connections %d\n", connections->connections);
    sheet_head(sheet, "connections_ended_total", "counter",
               "Connections ended by a deadline, or whose client disconnected before its answer");
    for (int r = 0; r < END_REASONS; r++)
        fprintf(sheet->out, "burin_connections_ended_total{reason=\"%s\"} %lu\n",
                deadline_thread_reason_name((enum end_reason)r), connections->by_reason[r]);
}

/* Prints nothing if no device has a codec. */
static void print_codec(const struct metrics *metrics, const struct sheet *sheet) {
    static const char *const stages[2] = { "decode", "encode" };
    bool headed = false;
    for (int i = 0; i < 2 * CODEC_PLACES; i++) {
        const int stage = i / CODEC_PLACES, place = i % CODEC_PLACES;
        const uint64_t count = get(&metrics->codec[stage][place]);
        if (place == CODEC_NOBODY || !count) continue;
        if (!headed)
            sheet_head(
                sheet, "codec_images_total", "counter",
                "Images of a GPU's jobs, by who decoded and encoded them, and why the cores did");
        headed = true;
        fprintf(sheet->out, "burin_codec_images_total{stage=\"%s\",by=\"%s\",reason=\"%s\"} %lu\n",
                stages[stage], place == CODEC_DEVICE ? "gpu" : "cores", codec_reasons[place],
                count);
    }
}

static void print_gauge(const struct sheet *sheet, const char *name, const char *help,
                        int64_t value) {
    sheet_head(sheet, name, "gauge", help);
    fprintf(sheet->out, "burin_%s %ld\n", name, value);
}

void metrics_print(struct metrics *metrics, const struct metrics_now *now, FILE *out) {
    const struct sheet text = { out, now->open_metrics }, *sheet = &text;
    print_requests(metrics, sheet);
    print_keys(metrics, sheet);
    print_durations(metrics, sheet);
    print_stages(metrics, sheet);
    sheet_head(
        sheet, "rejected_total", "counter",
        "Requests refused: no room for them or their answers, a stopping daemon, malformed HTTP, "
        "more time than is allowed");
    for (int r = 0; r < REJECTIONS; r++)
        fprintf(sheet->out, "burin_rejected_total{reason=\"%s\"} %lu\n", reasons[r],
                get(&metrics->rejected[r]));
    sheet_head(sheet, "input_pixels_total", "counter", "Pixels of the images that were processed");
    fprintf(sheet->out, "burin_input_pixels_total %lu\n", get(&metrics->pixels));
    print_codec(metrics, sheet);
    metrics_print_workers(now, sheet);
    print_gauge(sheet, "queue_depth", "Jobs that wait for a worker", now->queued);
    print_gauge(sheet, "queue_clients", "Clients whose jobs wait for a worker", now->clients);
    print_gauge(sheet, "requests_in_progress", "Requests in progress", now->exchanges);
    print_gauge(sheet, "slots_in_use", "Slots of shared memory that are in use", now->slots_in_use);
    print_gauge(sheet, "slots", "Slots of shared memory", now->slots);
    print_gauge(sheet, "slots_grown_bytes",
                "Bytes that slots keep beyond their first 128 KiB, for large uploads",
                now->slots_grown);
    print_gauge(sheet, "body_bytes_held",
                "Bytes of uploads that are being received, queued or processed",
                now->body_bytes_held);
    print_gauge(sheet, "answer_bytes_held",
                "Bytes of slots with a finished answer, its upload included, until it is sent",
                now->answer_bytes_held);
    print_connections(&now->connections, sheet);
    sheet_head(sheet, "log_lines_dropped_total", "counter",
               "Lines of the log that were lost because stderr was not read in time");
    fprintf(sheet->out, "burin_log_lines_dropped_total %lu\n", now->log_lines_dropped);
    sheet_head(sheet, "build_info", "gauge", "The running version");
    fprintf(sheet->out, "burin_build_info{version=\"%s\"} 1\n", now->version);
    if (sheet->open) fputs("# EOF\n", out);
}

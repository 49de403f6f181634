// SPDX-License-Identifier: Apache-2.0
/* How it works. Counters are in one block, a series for each operator and a few other labels, and
 * grow by relaxed atomics; a reader may see a request half counted. A series stays when its
 * operator is removed, and is used again for a new operator of that name. Gauges are read from
 * their owners when the text is printed, and never stored. */
#include "server/api/metrics.h"

#include "pipeline/builtin_ops.h"
#include "pipeline/registry.h"
#include "server/http/imaginary.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const double bounds_s[] = { 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                   0.25,   0.5,   1,      2.5,   5,    10,    30 };
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

/* Counters of one label. */
struct series {
    char label[LABEL_MAX];
    uint64_t codes[CODES];
    uint64_t buckets[BUCKETS + 1], count, nanoseconds;
    uint64_t stage_ns[STAGE_COUNT], stage_count;
};

/* How long all jobs that ran had waited for a worker. */
struct waits {
    uint64_t buckets[BUCKETS + 1], nanoseconds;
};

struct metrics {
    int labels; /* extra_labels, then operators; atomic: published after the label is written */
    int labels_max;
    uint64_t pixels, rejected[REJECTIONS];
    uint64_t codec[2][CODEC_PLACES]; /* images decoded, encoded */
    struct waits waits;
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

struct metrics *metrics_create(void) {
    const int most = EXTRA_LABELS + builtin_op_count() + IMAGINARY_NAMES_MAX + OP_SET_ADDED_MAX;
    struct metrics *metrics = calloc(1, sizeof *metrics + (size_t)most * sizeof(struct series));
    if (!metrics) return NULL;
    metrics->labels_max = most;
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

static int bucket_of(double ms) {
    int bucket = 0;
    while (bucket < BUCKETS && ms > bounds_s[bucket] * 1000) bucket++;
    return bucket;
}

void metrics_request(struct metrics *metrics, const char *label, int http_status, double total_ms,
                     const struct timing *timing, uint64_t pixels) {
    struct series *series = series_of(metrics, label);
    int code = 0;
    while (code < CODES - 1 && codes[code] != http_status) code++;
    add(&series->codes[code], 1);
    add(&series->buckets[bucket_of(total_ms)], 1);
    add(&series->count, 1);
    add(&series->nanoseconds, (uint64_t)(total_ms * 1e6));
    add(&metrics->pixels, pixels);
    if (!timing) return;
    add(&metrics->waits.buckets[bucket_of(timing->stage_ms[STAGE_QUEUE])], 1);
    add(&metrics->waits.nanoseconds, (uint64_t)(timing->stage_ms[STAGE_QUEUE] * 1e6));
    add(&series->stage_count, 1);
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        add(&series->stage_ns[stage], (uint64_t)(timing->stage_ms[stage] * 1e6));
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

static void head(FILE *out, const char *name, const char *type, const char *help) {
    fprintf(out, "# HELP burin_%s %s\n# TYPE burin_%s %s\n", name, help, name, type);
}

static void print_requests(const struct metrics *metrics, FILE *out) {
    head(out, "requests_total", "counter", "Requests answered, by operator and HTTP status");
    for (int i = 0; i < label_count(metrics); i++)
        for (int c = 0; c < CODES; c++) {
            const uint64_t count = get(&metrics->series[i].codes[c]);
            if (!count) continue;
            fprintf(out, "burin_requests_total{op=\"%s\",code=\"", metrics->series[i].label);
            if (codes[c])
                fprintf(out, "%d\"} %lu\n", codes[c], count);
            else
                fprintf(out, "other\"} %lu\n", count);
        }
}

/* OP: NULL for a histogram of all operators together. */
static void print_histogram(FILE *out, const char *name, const char *op, const uint64_t *buckets,
                            uint64_t nanoseconds) {
    char first[48] = "", alone[48] = ""; /* the label before `le`, and alone */
    if (op) snprintf(first, sizeof first, "op=\"%s\",", op);
    if (op) snprintf(alone, sizeof alone, "{op=\"%s\"}", op);
    uint64_t sum = 0;
    for (int b = 0; b < BUCKETS; b++)
        fprintf(out, "burin_%s_bucket{%sle=\"%g\"} %lu\n", name, first, bounds_s[b],
                sum += get(&buckets[b]));
    sum += get(&buckets[BUCKETS]);
    fprintf(out, "burin_%s_bucket{%sle=\"+Inf\"} %lu\n", name, first, sum);
    fprintf(out, "burin_%s_sum%s %.9f\n", name, alone, (double)nanoseconds / 1e9);
    fprintf(out, "burin_%s_count%s %lu\n", name, alone, sum);
}

static void print_durations(const struct metrics *metrics, FILE *out) {
    head(out, "request_duration_seconds", "histogram",
         "From a request's first line to its answer being ready");
    for (int i = 0; i < label_count(metrics); i++) {
        const struct series *series = &metrics->series[i];
        if (!get(&series->count)) continue;
        print_histogram(out, "request_duration_seconds", metrics->series[i].label, series->buckets,
                        get(&series->nanoseconds));
    }
    head(out, "queue_wait_seconds", "histogram", "How long jobs waited for a worker");
    print_histogram(out, "queue_wait_seconds", NULL, metrics->waits.buckets,
                    get(&metrics->waits.nanoseconds));
}

static void print_stages(const struct metrics *metrics, FILE *out) {
    head(out, "stage_duration_seconds", "summary",
         "Time in each stage of the requests that were processed");
    for (int i = 0; i < label_count(metrics); i++)
        for (int s = 0; get(&metrics->series[i].stage_count) && s < STAGE_COUNT; s++) {
            fprintf(out, "burin_stage_duration_seconds_sum{op=\"%s\",stage=\"%s\"} %.9f\n",
                    metrics->series[i].label, stage_name((enum stage)s),
                    (double)get(&metrics->series[i].stage_ns[s]) / 1e9);
            fprintf(out, "burin_stage_duration_seconds_count{op=\"%s\",stage=\"%s\"} %lu\n",
                    metrics->series[i].label, stage_name((enum stage)s),
                    get(&metrics->series[i].stage_count));
        }
}

/* Distinguishes a device's two workers. */
static const char *role_label(const struct worker_facts *worker) {
    return worker->operators ? ",role=\"operators\"" : "";
}

static void print_workers(const struct metrics_now *now, FILE *out) {
    head(out, "worker_up", "gauge", "1 if the worker is alive and its last self-test was right");
    for (int i = 0; i < now->worker_count; i++)
        fprintf(out, "burin_worker_up{device=\"%s\"%s} %d\n", now->workers[i].device,
                role_label(&now->workers[i]), now->workers[i].healthy);
    head(out, "jobs_in_progress", "gauge", "Jobs that a worker is executing");
    for (int i = 0; i < now->worker_count; i++) {
        const struct worker_facts *worker = &now->workers[i];
        fprintf(out, "burin_jobs_in_progress{device=\"%s\"%s", worker->device, role_label(worker));
        if (!worker->cpu) fprintf(out, ",gpu=\"%s\"", worker->device); /* to join with gpu_* */
        fprintf(out, "} %d\n", worker->running);
    }
    head(out, "worker_restarts_total", "counter", "Workers that died and were started again");
    for (int i = 0; i < now->worker_count; i++)
        fprintf(out, "burin_worker_restarts_total{device=\"%s\"%s} %d\n", now->workers[i].device,
                role_label(&now->workers[i]), now->workers[i].restarts);
}

/* Seconds of each worker, from fields of struct worker_statistics in ms. */
static const struct time_row {
    const char *name, *type, *help;
    size_t offset;
} time_rows[] = {
    { "job_seconds_total", "counter", "Time in the worker of the jobs that it answered",
      offsetof(struct worker_statistics, actual_ms) },
    { "job_predicted_seconds_total", "counter", "Predicted time of those jobs",
      offsetof(struct worker_statistics, predicted_ms) },
    { "job_prediction_error_seconds_total", "counter",
      "Errors of those predictions, too long or too short",
      offsetof(struct worker_statistics, error_ms) },
    { "worker_wait_seconds", "gauge", "Predicted time until the worker would begin one more job",
      offsetof(struct worker_statistics, wait_ms) },
};
enum { TIME_ROWS = sizeof time_rows / sizeof *time_rows };

static void print_time_row(const struct time_row *row, const struct metrics_now *now, FILE *out) {
    head(out, row->name, row->type, row->help);
    for (int i = 0; i < now->worker_count; i++) {
        const struct worker_facts *worker = &now->workers[i];
        const char *times = (const char *)&worker->statistics;
        fprintf(out, "burin_%s{device=\"%s\"%s} %.9g\n", row->name, worker->device,
                role_label(worker), *(const double *)(times + row->offset) / 1000);
    }
}

/* Gauges under the names that GPU dashboards expect; none without a GPU. */
static void print_gpus(const struct metrics_now *now, FILE *out) {
    bool any = false;
    for (int i = 0; i < now->worker_count; i++) any |= !now->workers[i].cpu;
    if (!any) return;
    head(out, "gpu_up", "gauge", "1 if the GPU's worker_up is 1");
    for (int i = 0; i < now->worker_count; i++)
        if (!now->workers[i].cpu && !now->workers[i].operators)
            fprintf(out, "burin_gpu_up{gpu=\"%s\"} %d\n", now->workers[i].device,
                    now->workers[i].healthy);
    head(out, "workers", "gauge", "Worker processes of the GPU, healthy or not");
    for (int i = 0; i < now->worker_count; i++)
        if (!now->workers[i].cpu)
            fprintf(out, "burin_workers{gpu=\"%s\"%s} %d\n", now->workers[i].device,
                    role_label(&now->workers[i]), now->workers[i].alive);
}

/* Readings that workers take of their GPUs. A row without a type continues the name before it. */
#define AS_READ "; read every self_test_ms, left out where it is not known or three times as old"
static const struct gauge_row {
    const char *name, *type, *help;
    enum gauge gauge;
    double per_unit; /* divides the gauge into the printed unit */
    const char *label;
} gauge_rows[] = {
    { "gpu_utilization_ratio", "gauge",
      "Part of the driver's last sample period, 1/6 to 1 s, in which a kernel ran" AS_READ,
      GAUGE_UTILIZATION, 100, "" },
    { "gpu_memory_used_bytes", "gauge", "Memory of the GPU in use, by all processes" AS_READ,
      GAUGE_MEMORY_USED, 1, "" },
    { "gpu_memory_total_bytes", "gauge", "Memory of the GPU" AS_READ, GAUGE_MEMORY_TOTAL, 1, "" },
    { "gpu_energy_joules_total", "counter",
      "Energy taken by the GPU since its driver was loaded" AS_READ, GAUGE_ENERGY, 1000, "" },
    { "pinned_pool_bytes", "gauge",
      "Page-locked memory: used by lanes that execute a batch, free in lanes that wait" AS_READ,
      GAUGE_PINNED_USED, 1, ",state=\"used\"" },
    { "pinned_pool_bytes", NULL, NULL, GAUGE_PINNED_FREE, 1, ",state=\"free\"" },
};
enum { GAUGE_ROWS = sizeof gauge_rows / sizeof *gauge_rows };

static void print_gauge_row(const struct gauge_row *row, const struct metrics_now *now, FILE *out) {
    bool headed = !row->type;
    for (int i = 0; i < now->worker_count; i++) {
        const struct worker_facts *worker = &now->workers[i];
        if (!gauges_has(&worker->gauges, row->gauge)) continue;
        if (!headed) head(out, row->name, row->type, row->help);
        headed = true;
        fprintf(out, "burin_%s{gpu=\"%s\"%s} %.15g\n", row->name, worker->device, row->label,
                (double)worker->gauges.values[row->gauge] / row->per_unit);
    }
}

static void print_connections(const struct deadline_counts *connections, FILE *out) {
    head(out, "connections", "gauge", "Connections at present");
    fprintf(out, "burin_connections %d\n", connections->connections);
    head(out, "connections_ended_total", "counter",
         "Connections ended by a deadline, or whose client disconnected before its answer");
    for (int r = 0; r < END_REASONS; r++)
        fprintf(out, "burin_connections_ended_total{reason=\"%s\"} %lu\n",
                deadline_thread_reason_name((enum end_reason)r), connections->by_reason[r]);
}

/* Prints nothing if no device has a codec. */
static void print_codec(const struct metrics *metrics, FILE *out) {
    static const char *const stages[2] = { "decode", "encode" };
    bool headed = false;
    for (int i = 0; i < 2 * CODEC_PLACES; i++) {
        const int stage = i / CODEC_PLACES, place = i % CODEC_PLACES;
        const uint64_t count = get(&metrics->codec[stage][place]);
        if (place == CODEC_NOBODY || !count) continue;
        if (!headed)
            head(out, "codec_images_total", "counter",
                 "Images of a GPU's jobs, by who decoded and encoded them, and why the cores did");
        headed = true;
        fprintf(out, "burin_codec_images_total{stage=\"%s\",by=\"%s\",reason=\"%s\"} %lu\n",
                stages[stage], place == CODEC_DEVICE ? "gpu" : "cores", codec_reasons[place],
                count);
    }
}

static void print_gauge(FILE *out, const char *name, const char *help, int64_t value) {
    head(out, name, "gauge", help);
    fprintf(out, "burin_%s %ld\n", name, value);
}

void metrics_print(struct metrics *metrics, const struct metrics_now *now, FILE *out) {
    print_requests(metrics, out);
    print_durations(metrics, out);
    print_stages(metrics, out);
    head(out, "rejected_total", "counter",
         "Requests refused: no room for them or their answers, a stopping daemon, malformed HTTP, "
         "more time than is allowed");
    for (int r = 0; r < REJECTIONS; r++)
        fprintf(out, "burin_rejected_total{reason=\"%s\"} %lu\n", reasons[r],
                get(&metrics->rejected[r]));
    head(out, "input_pixels_total", "counter", "Pixels of the images that were processed");
    fprintf(out, "burin_input_pixels_total %lu\n", get(&metrics->pixels));
    print_codec(metrics, out);
    print_workers(now, out);
    for (int r = 0; r < TIME_ROWS; r++) print_time_row(&time_rows[r], now, out);
    print_gpus(now, out);
    for (int r = 0; r < GAUGE_ROWS; r++) print_gauge_row(&gauge_rows[r], now, out);
    print_gauge(out, "queue_depth", "Jobs that wait for a worker", now->queued);
    print_gauge(out, "queue_clients", "Clients whose jobs wait for a worker", now->clients);
    print_gauge(out, "requests_in_progress", "Requests in progress", now->exchanges);
    print_gauge(out, "slots_in_use", "Slots of shared memory that are in use", now->slots_in_use);
    print_gauge(out, "slots", "Slots of shared memory", now->slots);
    print_gauge(out, "slots_grown_bytes",
                "Bytes that slots keep beyond their first 128 KiB, for large uploads",
                now->slots_grown);
    print_gauge(out, "body_bytes_held",
                "Bytes of uploads that are being received, queued or processed",
                now->body_bytes_held);
    print_gauge(out, "answer_bytes_held",
                "Bytes of slots with a finished answer, its upload included, until it is sent",
                now->answer_bytes_held);
    print_connections(&now->connections, out);
    head(out, "log_lines_dropped_total", "counter",
         "Lines of the log that were lost because stderr was not read in time");
    fprintf(out, "burin_log_lines_dropped_total %lu\n", now->log_lines_dropped);
    head(out, "build_info", "gauge", "The running version");
    fprintf(out, "burin_build_info{version=\"%s\"} 1\n", now->version);
}

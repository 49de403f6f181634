// SPDX-License-Identifier: Apache-2.0
/* /metrics reports GPUs, jobs, operators, codecs and keys from facts made up here.
 *
 * covers: server/api/metrics_workers.c */
#include "server/api/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const struct trace trace = { .id = "0af7651916cd43dd8448eb211c80319c" };

static int64_t ahead_s; /* of the system's clock */

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    const int failed = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += ahead_s;
    return failed;
}

/* The caller frees the text. */
static char *print(const struct worker_facts *workers, int count) {
    const struct metrics_now now = { .workers = workers, .worker_count = count, .version = "1" };
    struct metrics *metrics = metrics_create();
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(metrics);
    assert_non_null(out);
    metrics_request(metrics, &trace, "histeq", 200, 3, NULL, 0);
    metrics_print(metrics, &now, out);
    fclose(out);
    metrics_destroy(metrics);
    return text;
}

/* How many times TEXT has LINE, or with HEAD set a line that begins so. */
static int lines(const char *text, const char *line, bool head) {
    int found = 0;
    const size_t length = strlen(line);
    while (*text) {
        const size_t end = strcspn(text, "\n");
        found += strncmp(text, line, length) == 0 && (head || end == length);
        text += end + (text[end] == '\n');
    }
    return found;
}

static const struct worker_facts cpu = {
    .device = "cpu",
    .cpu = true,
    .alive = true,
    .running = 5,
    .statistics = { .predicted_ms = 1500, .actual_ms = 1250, .error_ms = 750, .wait_ms = 0.5 },
};

static struct worker_facts gpu(const char *device) {
    struct worker_facts worker = { .alive = true, .healthy = true, .running = 7 };
    strcpy(worker.device, device);
    return worker;
}

static void every_gauge_has_its_line(void **state) {
    (void)state;
    struct worker_facts workers[] = { gpu("cuda:0"), cpu };
    const int64_t values[GAUGES] = { 57, 3000000000, 150754820096, 123456789012, 7, 11 };
    for (int g = 0; g < GAUGES; g++) gauges_set(&workers[0].gauges, (enum gauge)g, values[g]);
    char *text = print(workers, 2);
    static const char *const wanted[] = {
        "burin_gpu_up{gpu=\"cuda:0\"} 1",
        "burin_workers{gpu=\"cuda:0\"} 1",
        "burin_jobs_in_progress{device=\"cuda:0\",gpu=\"cuda:0\"} 7",
        "burin_jobs_in_progress{device=\"cpu\"} 5",
        "burin_gpu_utilization_ratio{gpu=\"cuda:0\"} 0.57",
        "burin_gpu_memory_used_bytes{gpu=\"cuda:0\"} 3000000000",
        "burin_gpu_memory_total_bytes{gpu=\"cuda:0\"} 150754820096",
        "burin_gpu_energy_joules_total{gpu=\"cuda:0\"} 123456789.012",
        "burin_pinned_pool_bytes{gpu=\"cuda:0\",state=\"used\"} 7",
        "burin_pinned_pool_bytes{gpu=\"cuda:0\",state=\"free\"} 11",
        "# TYPE burin_gpu_energy_joules_total counter",
        "# TYPE burin_pinned_pool_bytes gauge",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (lines(text, wanted[i], false) != 1) fail_msg("no \"%s\" in\n%s", wanted[i], text);
    free(text);
}

/* One of two GPUs knows its energy, neither its load: /metrics prints a value of 0, leaves an
 * unknown one out, and explains a name once and only if the name has a value. */
static void unknown_gauges_are_left_out(void **state) {
    (void)state;
    struct worker_facts workers[] = { gpu("cuda:0"), gpu("cuda:1"), cpu };
    workers[0].healthy = false;
    gauges_set(&workers[0].gauges, GAUGE_MEMORY_USED, 0);
    gauges_set(&workers[1].gauges, GAUGE_MEMORY_USED, 1);
    gauges_set(&workers[1].gauges, GAUGE_ENERGY, 0);
    char *text = print(workers, 3);
    assert_int_equal(lines(text, "burin_gpu_memory_used_bytes{gpu=\"cuda:0\"} 0", false), 1);
    assert_int_equal(lines(text, "burin_gpu_memory_used_bytes{gpu=\"cuda:1\"} 1", false), 1);
    assert_int_equal(lines(text, "# TYPE burin_gpu_memory_used_bytes", true), 1);
    assert_int_equal(lines(text, "burin_gpu_energy_joules_total", true), 1);
    assert_int_equal(lines(text, "burin_gpu_energy_joules_total{gpu=\"cuda:1\"} 0", false), 1);
    assert_null(strstr(text, "gpu_utilization_ratio"));
    assert_null(strstr(text, "gpu_memory_total_bytes"));
    assert_null(strstr(text, "pinned_pool_bytes"));
    assert_int_equal(lines(text, "burin_gpu_up{gpu=\"cuda:0\"} 0", false), 1);
    assert_int_equal(lines(text, "burin_workers{gpu=\"cuda:0\"} 1", false), 1);
    free(text);
}

static void predictions_stand_beside_what_jobs_took(void **state) {
    (void)state;
    struct worker_facts workers[] = { cpu, cpu };
    workers[1].operators = true;
    workers[1].statistics.wait_ms = 3000;
    char *text = print(workers, 2);
    static const char *const wanted[] = {
        "burin_job_seconds_total{device=\"cpu\"} 1.25",
        "burin_job_predicted_seconds_total{device=\"cpu\"} 1.5",
        "burin_job_prediction_error_seconds_total{device=\"cpu\"} 0.75",
        "burin_worker_wait_seconds{device=\"cpu\"} 0.0005",
        "burin_worker_wait_seconds{device=\"cpu\",role=\"operators\"} 3",
        "# TYPE burin_job_seconds_total counter",
        "# TYPE burin_worker_wait_seconds gauge",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (lines(text, wanted[i], false) != 1) fail_msg("no \"%s\" in\n%s", wanted[i], text);
    free(text);
}

static void without_a_gpu_there_is_no_series_of_one(void **state) {
    (void)state;
    char *text = print(&cpu, 1);
    assert_null(strstr(text, "gpu"));
    assert_null(strstr(text, "pinned"));
    assert_null(strstr(text, "burin_workers"));
    assert_int_equal(lines(text, "burin_worker_up{device=\"cpu\"} 0", false), 1);
    free(text);
}

/* With a label of its own and without one. */
static void histograms_are_in_form(void **state) {
    (void)state;
    char *text = print(&cpu, 1);
    static const char *const wanted[] = {
        "burin_request_duration_seconds_bucket{op=\"histeq\",le=\"0.002\"} 0",
        "burin_request_duration_seconds_bucket{op=\"histeq\",le=\"0.004\"} 1",
        "burin_request_duration_seconds_bucket{op=\"histeq\",le=\"+Inf\"} 1",
        "burin_request_duration_seconds_sum{op=\"histeq\"} 0.003000000",
        "burin_request_duration_seconds_count{op=\"histeq\"} 1",
        "burin_queue_wait_seconds_bucket{le=\"32.768\"} 0",
        "burin_queue_wait_seconds_bucket{le=\"+Inf\"} 0",
        "burin_queue_wait_seconds_sum 0.000000000",
        "burin_queue_wait_seconds_count 0",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (lines(text, wanted[i], false) != 1) fail_msg("no \"%s\" in\n%s", wanted[i], text);
    free(text);
}

/* Stages of requests, with exemplars in OpenMetrics alone: a trace that its caller records stays,
 * and one that nobody records does not replace it. */
static void exemplars_name_traces(void **state) {
    (void)state;
    static const struct trace recorded = { .id = "4bf92f3577b34da6a3ce929d0e0e4736",
                                           .sampled = true };
    const struct timing quick = { .stage_ms = { [STAGE_DECODE] = 5 } };
    const struct timing slow = { .stage_ms = { [STAGE_DECODE] = 50000, [STAGE_QUEUE] = 0.5 } };
    struct metrics *metrics = metrics_create();
    metrics_request(metrics, &recorded, "histeq", 200, 50, &quick, 0);
    metrics_request(metrics, &trace, "histeq", 200, 50, &quick, 0);
    metrics_request(metrics, &trace, "histeq", 200, 50001, &slow, 0);
    for (int open = 0; open < 2; open++) {
        const struct metrics_now now = { .version = "1", .open_metrics = open };
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        metrics_print(metrics, &now, out);
        fclose(out);
        static const char *const wanted[] = {
            "burin_stage_seconds_bucket{stage=\"decode\",le=\"0.004\"} 0",
            "burin_stage_seconds_bucket{stage=\"decode\",le=\"0.008\"} 2"
            " # {trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"} 0.005000000 ",
            "burin_stage_seconds_bucket{stage=\"decode\",le=\"32.768\"} 2",
            "burin_stage_seconds_bucket{stage=\"decode\",le=\"+Inf\"} 3"
            " # {trace_id=\"0af7651916cd43dd8448eb211c80319c\"} 50.000000000 ",
            "burin_stage_seconds_sum{stage=\"decode\"} 50.010000000",
            "burin_stage_seconds_count{stage=\"decode\"} 3",
            "burin_queue_wait_seconds_bucket{le=\"0.0005\"} 3",
            "burin_request_duration_seconds_bucket{op=\"histeq\",le=\"0.064\"} 2"
            " # {trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"} 0.050000000 ",
        };
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            char line[160];
            snprintf(line, sizeof line, "%.*s",
                     (int)(open ? strlen(wanted[i]) : strcspn(wanted[i], "#")), wanted[i]);
            if (!open && line[strlen(line) - 1] == ' ') line[strlen(line) - 1] = '\0';
            if (lines(text, line, open) != 1) fail_msg("no \"%s\" in\n%s", line, text);
        }
        assert_int_equal(lines(text, "# TYPE burin_requests counter", false), open);
        assert_int_equal(lines(text, "# TYPE burin_requests_total counter", false), !open);
        assert_int_equal(lines(text, "# EOF", false), open);
        assert_true(open == (strstr(text, "trace_id") != NULL));
        free(text);
    }
    metrics_destroy(metrics);
}

/* The id of the exemplar after a request in each trace at its time; "": none. */
static void one_exemplar(void **state) {
    (void)state;
    enum { NOBODY, A, B, R, S };
    static const struct trace traces[] = {
        [A] = { .id = "0000000000000000000000000000000a" },
        [B] = { .id = "0000000000000000000000000000000b" },
        [R] = { .id = "000000000000000000000000000000c1", .sampled = true },
        [S] = { .id = "000000000000000000000000000000c2", .sampled = true },
    };
    static const struct {
        int64_t at_s;
        int trace, shown;
    } rows[] = {
        { 0, NOBODY, NOBODY },
        { 0, A, A },
        { 0, B, A },
        { 5, B, B },
        { 10, R, R },
        { 15, A, R },
        { 60, A, R },
        { 60, S, S },
        { 115, A, S },
        { 125, A, A },
        { 126, NOBODY, A },
        { 130, R, R },
        { 20, B, B } /* the clock was set back */,
    };
    struct metrics *metrics = metrics_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct metrics_now now = { .version = "1", .open_metrics = true };
        char *text = NULL;
        size_t length = 0;
        ahead_s = rows[i].at_s;
        metrics_request(metrics, rows[i].trace ? &traces[rows[i].trace] : NULL, "histeq", 503, 3,
                        NULL, 0);
        FILE *out = open_memstream(&text, &length);
        metrics_print(metrics, &now, out);
        fclose(out);
        for (int t = A; t <= S; t++)
            if ((strstr(text, traces[t].id) != NULL) != (t == rows[i].shown))
                fail_msg("row %zu, trace %d", i, t);
        free(text);
    }
    ahead_s = 0;
    metrics_destroy(metrics);
}

/* Counted by operator name, however often it is added; a removed operator keeps its line. */
static void operators_of_users_come_and_go(void **state) {
    (void)state;
    static const struct op mine = { .name = "aaa_mine" }, yours = { .name = "aaa_yours" };
    static const struct op other = { .name = "other" };
    struct op_set first = { { &mine, &other }, 2 }, second = { { &yours }, 1 };
    const struct metrics_now now = { .version = "1" };
    struct metrics *metrics = metrics_create();
    char *text = NULL;
    size_t length = 0;
    metrics_request(metrics, &trace, "aaa_mine", 200, 3, NULL, 0); /* not added yet */
    for (int i = 0; i < 3; i++) {
        metrics_add_operators(metrics, &first);
        metrics_request(metrics, &trace, "aaa_mine", 200, 3, NULL, 0);
        metrics_add_operators(metrics, &second);
        metrics_request(metrics, &trace, "aaa_yours", 200, 3, NULL, 0);
    }
    FILE *out = open_memstream(&text, &length);
    metrics_print(metrics, &now, out);
    fclose(out);
    assert_int_equal(lines(text, "burin_requests_total{op=\"aaa_mine\",code=\"200\"} 3", false), 1);
    assert_int_equal(lines(text, "burin_requests_total{op=\"aaa_yours\",code=\"200\"} 3", false),
                     1);
    assert_int_equal(lines(text, "burin_requests_total{op=\"other\",code=\"200\"} 1", false), 1);
    free(text);
    metrics_destroy(metrics);
}

/* Counted by GPU or cores and by reason; no line while no GPU codec could have been used. */
static void codecs_are_counted(void **state) {
    (void)state;
    const struct metrics_now now = { .version = "1" };
    struct metrics *metrics = metrics_create();
    char *text = NULL;
    size_t length = 0;
    metrics_decoded(metrics, CODEC_NOBODY);
    metrics_encoded(metrics, CODEC_NOBODY);
    for (int turn = 0; turn < 2; turn++) {
        FILE *out = open_memstream(&text, &length);
        metrics_print(metrics, &now, out);
        fclose(out);
        if (turn == 0) assert_null(strstr(text, "codec_images"));
        if (turn == 0) free(text);
        metrics_decoded(metrics, CODEC_DEVICE);
        metrics_encoded(metrics, CODEC_FORMAT);
        metrics_decoded(metrics, CODEC_REFUSED);
        metrics_encoded(metrics, 200);
    }
    assert_int_equal(
        lines(text, "burin_codec_images_total{stage=\"decode\",by=\"gpu\",reason=\"\"} 1", false),
        1);
    assert_int_equal(lines(text,
                           "burin_codec_images_total{stage=\"decode\",by=\"cores\",reason=\""
                           "refused\"} 1",
                           false),
                     1);
    assert_int_equal(lines(text,
                           "burin_codec_images_total{stage=\"encode\",by=\"cores\",reason=\""
                           "format\"} 1",
                           false),
                     1);
    assert_int_equal(lines(text, "burin_codec_images_total{", true), 3);
    free(text);
    metrics_destroy(metrics);
}

/* The first METRICS_KEYS_MAX keys have counters of their own, also after others came; the rest
 * count together. */
static void keys_are_counted(void **state) {
    (void)state;
    const struct metrics_now now = { .version = "1" };
    struct metrics *metrics = metrics_create();
    char *text = NULL, id[16];
    size_t length = 0;
    for (int i = 0; i < METRICS_KEYS_MAX + 2; i++)
        for (int again = 0; again < 2; again++) {
            snprintf(id, sizeof id, "key-%d", i);
            metrics_add_key(metrics, id);
        }
    metrics_request_of_key(metrics, "key-0", 200, 120.5, 70);
    metrics_request_of_key(metrics, "key-0", 200, 3.5, 5);
    metrics_request_of_key(metrics, "key-255", 403, 0, 0);
    metrics_request_of_key(metrics, "key-256", 418, 0, 0);
    metrics_request_of_key(metrics, "key-257", 418, 0, 0);
    metrics_quota_refused(metrics, "key-0", QUOTA_PIXELS);
    for (int i = 250; i < METRICS_KEYS_MAX + 2; i++) {
        snprintf(id, sizeof id, "key-%d", i);
        metrics_quota_refused(metrics, id, QUOTA_IN_PROGRESS);
    }
    FILE *out = open_memstream(&text, &length);
    metrics_print(metrics, &now, out);
    fclose(out);
    static const char *const wanted[] = {
        "burin_key_requests_total{key=\"key-0\",code=\"200\"} 2",
        "burin_key_requests_total{key=\"key-255\",code=\"403\"} 1",
        "burin_key_requests_total{key=\"(other)\",code=\"other\"} 2",
        "burin_key_input_pixels_total{key=\"key-0\"} 75",
        "burin_quota_refused_total{key=\"key-0\",limit=\"pixels_per_s\"} 1",
        "burin_quota_refused_total{key=\"key-255\",limit=\"in_progress\"} 1",
        "burin_quota_refused_total{key=\"(other)\",limit=\"in_progress\"} 2",
        "burin_key_job_seconds_total{key=\"key-0\"} 0.124",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (lines(text, wanted[i], false) != 1) fail_msg("no \"%s\" in\n%s", wanted[i], text);
    assert_int_equal(lines(text, "burin_key_", true), 5);
    assert_int_equal(lines(text, "burin_quota_refused_total{", true), 8);
    free(text);
    metrics_destroy(metrics);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codecs_are_counted),
        cmocka_unit_test(every_gauge_has_its_line),
        cmocka_unit_test(unknown_gauges_are_left_out),
        cmocka_unit_test(predictions_stand_beside_what_jobs_took),
        cmocka_unit_test(without_a_gpu_there_is_no_series_of_one),
        cmocka_unit_test(histograms_are_in_form),
        cmocka_unit_test(exemplars_name_traces),
        cmocka_unit_test(one_exemplar),
        cmocka_unit_test(operators_of_users_come_and_go),
        cmocka_unit_test(keys_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

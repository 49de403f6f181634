// SPDX-License-Identifier: Apache-2.0
#include "server/api/metrics_sheet.h"

#include <stddef.h>

/* Distinguishes a device's workers. */
static const char *role_label(const struct worker_facts *worker) {
    return worker->operators ? ",role=\"operators\"" : worker->decodes ? ",role=\"decoding\"" : "";
}

static void print_workers(const struct metrics_now *now, const struct sheet *sheet) {
    sheet_head(sheet, "worker_up", "gauge",
               "1 if the worker is alive and its last self-test was right");
    for (int i = 0; i < now->worker_count; i++)
        fprintf(sheet->out, "burin_worker_up{device=\"%s\"%s} %d\n", now->workers[i].device,
                role_label(&now->workers[i]), now->workers[i].healthy);
    sheet_head(sheet, "jobs_in_progress", "gauge", "Jobs that a worker is executing");
    for (int i = 0; i < now->worker_count; i++) {
        const struct worker_facts *worker = &now->workers[i];
        fprintf(sheet->out, "burin_jobs_in_progress{device=\"%s\"%s", worker->device,
                role_label(worker));
        if (!worker->cpu)
            fprintf(sheet->out, ",gpu=\"%s\"", worker->device); /* to join with gpu_* */
        fprintf(sheet->out, "} %d\n", worker->running);
    }
    sheet_head(sheet, "worker_restarts_total", "counter",
               "Workers that died and were started again");
    for (int i = 0; i < now->worker_count; i++)
        fprintf(sheet->out, "burin_worker_restarts_total{device=\"%s\"%s} %d\n",
                now->workers[i].device, role_label(&now->workers[i]), now->workers[i].restarts);
    sheet_head(sheet, "worker_cancelled_total", "counter",
               "Decoding cells that were killed with a job whose client had gone");
    for (int i = 0; i < now->worker_count; i++)
        if (now->workers[i].decodes)
            fprintf(sheet->out, "burin_worker_cancelled_total{device=\"%s\"%s} %d\n",
                    now->workers[i].device, role_label(&now->workers[i]),
                    now->workers[i].cancelled);
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

static void print_time_row(const struct time_row *row, const struct metrics_now *now,
                           const struct sheet *sheet) {
    sheet_head(sheet, row->name, row->type, row->help);
    for (int i = 0; i < now->worker_count; i++) {
        const struct worker_facts *worker = &now->workers[i];
        const char *times = (const char *)&worker->statistics;
        fprintf(sheet->out, "burin_%s{device=\"%s\"%s} %.9g\n", row->name, worker->device,
                role_label(worker), *(const double *)(times + row->offset) / 1000);
    }
}

/* Gauges under the names that GPU dashboards expect; none without a GPU. */
static void print_gpus(const struct metrics_now *now, const struct sheet *sheet) {
    bool any = false;
    for (int i = 0; i < now->worker_count; i++) any |= !now->workers[i].cpu;
    if (!any) return;
    sheet_head(sheet, "gpu_up", "gauge", "1 if the GPU's worker_up is 1");
    for (int i = 0; i < now->worker_count; i++)
        if (!now->workers[i].cpu && !now->workers[i].operators)
            fprintf(sheet->out, "burin_gpu_up{gpu=\"%s\"} %d\n", now->workers[i].device,
                    now->workers[i].healthy);
    sheet_head(sheet, "workers", "gauge", "Worker processes of the GPU, healthy or not");
    for (int i = 0; i < now->worker_count; i++)
        if (!now->workers[i].cpu)
            fprintf(sheet->out, "burin_workers{gpu=\"%s\"%s} %d\n", now->workers[i].device,
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

static void print_gauge_row(const struct gauge_row *row, const struct metrics_now *now,
                            const struct sheet *sheet) {
    bool headed = !row->type;
    for (int i = 0; i < now->worker_count; i++) {
        const struct worker_facts *worker = &now->workers[i];
        if (!gauges_has(&worker->gauges, row->gauge)) continue;
        if (!headed) sheet_head(sheet, row->name, row->type, row->help);
        headed = true;
        fprintf(sheet->out, "burin_%s{gpu=\"%s\"%s} %.15g\n", row->name, worker->device, row->label,
                (double)worker->gauges.values[row->gauge] / row->per_unit);
    }
}

void metrics_print_workers(const struct metrics_now *now, const struct sheet *sheet) {
    print_workers(now, sheet);
    for (int r = 0; r < TIME_ROWS; r++) print_time_row(&time_rows[r], now, sheet);
    print_gpus(now, sheet);
    for (int r = 0; r < GAUGE_ROWS; r++) print_gauge_row(&gauge_rows[r], now, sheet);
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. A stage's prediction is the sum of its terms, coefficient times amount. The ratio
 * of the measured time to that changes each term by its share: a small file corrects the cost of a
 * file, a large one that of a megabyte, and neither spoils the other's coefficient. Each step goes
 * part of the way (a half at first, an eighth once eight were seen), and a ratio counts as 4 at
 * most and a quarter at least, so an outlier changes little. In a batch, one job's time is only
 * known to lie between the whole time and that divided by the number of jobs: a prediction in
 * between is left as it is. Work of cores beside a batch is measured for each job. */
#include "server/dispatch/cost.h"

#include "pipeline/builtin_ops.h"

#include <math.h>
#include <string.h>

enum { RATIO_MAX = 4, SEEN_MAX = 6, SMOOTHING = 16 };
static const double total_max_ms = 3600e3, predicted_min_ms = 1e-3;

/* ---- defaults, from tests/bench/results: cores of a Xeon at 2.1 GHz and an H200, in ms. Those of
 * decoders and encoders are in the formats' records. */

static const float rest[2][2] = { { 0.05f, 0.01f }, { 0.03f, 0.005f } };

/* ms a pass, and a megabyte of it: operators that are not listed, users' operators, listed ones. */
static const float any_op[2][2] = { { 0.02f, 0.004f }, { 0.01f, 0.2f } };
static const float user_op[2][2] = { { 0.05f, 0.01f }, { 0.05f, 1 } };
static const struct op_default {
    const char *name;
    float gpu[2], cpu[2];
} op_defaults[] = {
    { "blur", { 0.03f, 0.002f }, { 0.01f, 0.3f } },
    { "carve", { 0.02f, 0.001f }, { 0.005f, 0.08f } },
    { "clahe", { 0.02f, 0.006f }, { 0.02f, 1 } },
    { "convolve", { 0.02f, 0.01f }, { 0.01f, 1 } },
    { "edge", { 0.02f, 0.004f }, { 0.01f, 0.5f } },
    { "histeq", { 0.02f, 0.004f }, { 0.01f, 0.45f } },
    { "histogram", { 0.02f, 0.004f }, { 0.01f, 0.4f } },
    { "resize", { 0.003f, 0.0002f }, { 0.005f, 0.08f } },
    { "sharpen", { 0.03f, 0.002f }, { 0.01f, 0.35f } },
    { "srgb", { 0.02f, 0.01f }, { 2, 7 } },
};

static const float *defaults_of_op(const char *name, bool cpu) {
    for (size_t i = 0; i < sizeof op_defaults / sizeof *op_defaults; i++)
        if (strcmp(op_defaults[i].name, name) == 0)
            return cpu ? op_defaults[i].cpu : op_defaults[i].gpu;
    return any_op[cpu];
}

/* A device has no codec for the kind: cores do the work beside a GPU, too. */
static bool is_cores(const float *gpu) {
    return !*gpu;
}

static void init_format(struct cost *cost, bool cpu, int format) {
    const struct format_record *record = format_records[format];
    for (int kind = 0; kind < FORMAT_DECODE_KINDS; kind++) {
        const struct decode_cost *ms = &record->decode_costs[kind];
        memcpy(cost->rows + COST_DECODE_ROW(format, kind),
               cpu || is_cores(ms->gpu) ? ms->cpu : ms->gpu, sizeof ms->cpu);
    }
    for (int kind = 0; kind < FORMAT_ENCODE_KINDS; kind++) {
        const struct encode_cost *ms = &record->encode_costs[kind];
        memcpy(cost->rows + COST_ENCODE_ROW(format, kind),
               cpu || is_cores(ms->gpu) ? ms->cpu : ms->gpu, sizeof ms->cpu);
    }
}

void cost_init(struct cost *cost, bool cpu) {
    *cost = (struct cost){ .mean_ms = 0 };
    for (int format = FORMAT_NONE + 1; format < FORMAT_COUNT; format++)
        init_format(cost, cpu, format);
    memcpy(cost->rows + COST_REST_ROWS, rest[cpu], sizeof rest[cpu]);
    for (int i = 0; i < COST_BUILTIN_OPS + COST_USER_OPS; i++) {
        const float *of = i >= COST_BUILTIN_OPS    ? user_op[cpu]
                          : i < builtin_op_count() ? defaults_of_op(builtin_op_at(i)->name, cpu)
                                                   : any_op[cpu];
        memcpy(cost->rows + COST_OP_ROWS + 2 * i, of, 2 * sizeof *of);
    }
    memcpy(cost->defaults, cost->rows, sizeof cost->rows);
}

/* ---- the work */

static double megabytes(const struct image *image) {
    return (double)image_pixels(image) * (double)image_pixel_bytes(image) / 1e6;
}

static void add(struct cost_work *work, int row, enum cost_stage stage, double amount) {
    for (uint32_t i = 0; i < work->count; i++)
        if (work->terms[i].row == row) {
            work->terms[i].amount += (float)amount;
            return;
        }
    if (work->count < COST_TERMS_MAX && amount > 0)
        work->terms[work->count++] =
            (struct cost_term){ (uint16_t)row, (uint16_t)stage, (float)amount };
}

void cost_work_add_file(struct cost_work *work, const struct probe *probe, uint64_t file_bytes) {
    const struct format_record *record = format_record(probe->format);
    if (!record->decode) return;
    const int row =
        COST_DECODE_ROW((int)probe->format, record->decode_kind ? record->decode_kind(probe) : 0);
    add(work, row, COST_DECODE, 1);
    add(work, row + 1, COST_DECODE, (double)file_bytes / 1e6);
    add(work, row + 2, COST_DECODE, megabytes(&probe->shape));
}

/* ROW is a decoder's or an encoder's that no device has. */
static bool is_cores_row(int row) {
    if (row >= COST_REST_ROWS) return false;
    const bool decodes = row < COST_ENCODE_ROWS;
    const int kind =
        decodes ? row / COST_DECODE_WIDTH : (row - COST_ENCODE_ROWS) / COST_ENCODE_WIDTH;
    const int kinds = decodes ? FORMAT_DECODE_KINDS : FORMAT_ENCODE_KINDS;
    const struct format_record *record = format_records[1 + kind / kinds];
    return is_cores(decodes ? record->decode_costs[kind % kinds].gpu
                            : record->encode_costs[kind % kinds].gpu);
}

static int row_of_op(const struct op *op) {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < builtin_op_count() && i < COST_BUILTIN_OPS; i++)
        if (builtin_op_at(i) == op) return COST_OP_ROWS + 2 * i;
    for (const char *c = op->name; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return COST_OP_ROWS + 2 * (COST_BUILTIN_OPS + (int)(hash % COST_USER_OPS));
}

static void add_passes(struct cost_work *work, const struct op *op, double passes,
                       const struct image *in, const struct image *out) {
    const int row = row_of_op(op);
    add(work, row, COST_COMPUTE, passes);
    add(work, row + 1, COST_COMPUTE, passes * (megabytes(in) + megabytes(out)) / 2);
}

static double passes_of(const struct op *op, const struct params *params, const struct image *in) {
    return op->passes ? op->passes(params, in) : 1;
}

void cost_work_add_steps(struct cost_work *work, const struct plan *plan,
                         const struct image *shapes, bool served) {
    for (int s = 0; s < plan->count; s++) {
        const struct step *step = &plan->steps[s];
        const double passes = s || !served ? passes_of(step->op, &step->params, &shapes[s]) : 1;
        add_passes(work, step->op, passes, &shapes[s], &shapes[s + 1]);
    }
}

void cost_work_add_aux(struct cost_work *work, const struct plan *plan, const struct image *shapes,
                       int place) {
    const int s = plan_aux_step(plan);
    const struct op *op = s < 0 ? NULL : plan->steps[s].op;
    if (op && op->aux_passes)
        add_passes(work, op, op->aux_passes(&plan->steps[s].params, &shapes[s], place), &shapes[s],
                   &shapes[s + 1]);
}

void cost_work_add_common(struct cost_work *work, const struct plan_common *common,
                          const struct image *in) {
    if (common->branches)
        add_passes(work, common->op, passes_of(common->op, &common->params, in), in,
                   &common->image);
}

void cost_work_add_plan(struct cost_work *work, const struct plan *plan,
                        const struct image *shapes) {
    cost_work_add_steps(work, plan, shapes, false);
    add(work, COST_REST_ROWS, COST_REST, 1);
    add(work, COST_REST_ROWS + 1, COST_REST, megabytes(&shapes[0]));
}

void cost_work_add_result(struct cost_work *work, const struct image *result,
                          const struct encode_options *options) {
    const struct format_record *record = format_record(options->format);
    if (!record->encode) return;
    const int row = COST_ENCODE_ROW((int)options->format,
                                    record->encode_kind ? record->encode_kind(options) : 0);
    add(work, row, COST_ENCODE, 1);
    add(work, row + 1, COST_ENCODE,
        record->encode_megabytes ? record->encode_megabytes(result, options) : megabytes(result));
}

/* ---- prediction */

static double term_ms(const struct cost *cost, const struct cost_term *term) {
    return term->row < COST_ROWS ? (double)cost->rows[term->row] * (double)term->amount : 0;
}

double cost_predict(const struct cost *cost, const struct cost_work *work) {
    double ms = 0;
    for (uint32_t i = 0; i < work->count && i < COST_TERMS_MAX; i++)
        ms += term_ms(cost, &work->terms[i]);
    return ms > predicted_min_ms ? ms : predicted_min_ms;
}

double cost_predict_cores(const struct cost *cost, const struct cost_work *work) {
    double ms = 0;
    for (uint32_t i = 0; i < work->count && i < COST_TERMS_MAX; i++)
        if (is_cores_row(work->terms[i].row)) ms += term_ms(cost, &work->terms[i]);
    return ms;
}

double cost_predict_stage(const struct cost *cost, const struct cost_work *work,
                          enum cost_stage stage) {
    double ms = 0;
    for (uint32_t i = 0; i < work->count && i < COST_TERMS_MAX; i++)
        if (work->terms[i].stage == stage) ms += term_ms(cost, &work->terms[i]);
    return ms;
}

/* ---- learning */

static double clamp(double value, double least, double most) {
    return value < least ? least : value > most ? most : value;
}

static void learn_row(struct cost *cost, int row, double share, double ratio) {
    const double step = 1.0 / (2 + cost->seen[row]);
    const double least = (double)cost->defaults[row] / COST_RANGE;
    const double most = (double)cost->defaults[row] * COST_RANGE;
    if (cost->seen[row] < SEEN_MAX && share > 0.25) cost->seen[row]++;
    cost->rows[row] =
        (float)clamp((double)cost->rows[row] * (1 + step * share * (ratio - 1)), least, most);
}

static void learn_stage(struct cost *cost, const struct cost_work *work, unsigned stage,
                        double took_ms, uint32_t batch) {
    const double predicted = cost_predict_stage(cost, work, stage);
    if (predicted <= 0 || took_ms < 0) return;
    const double observed = clamp(predicted, took_ms / batch, took_ms);
    const double ratio = clamp(observed / predicted, 1.0 / RATIO_MAX, RATIO_MAX);
    float shares[COST_TERMS_MAX] = { 0 }; /* before any of the rows changes */
    for (uint32_t i = 0; i < work->count; i++)
        shares[i] = (float)(term_ms(cost, &work->terms[i]) / predicted);
    for (uint32_t i = 0; i < work->count; i++)
        if (work->terms[i].stage == stage)
            learn_row(cost, work->terms[i].row, (double)shares[i], ratio);
}

/* A worker may have written any values. */
static bool makes_sense(const struct cost_work *work, const double took_ms[COST_STAGES],
                        double total_ms, uint32_t batch) {
    bool sense = batch > 0 && work->count <= COST_TERMS_MAX && isfinite(total_ms) &&
                 total_ms >= 0 && total_ms < total_max_ms;
    for (int s = 0; s < COST_STAGES; s++)
        sense = sense && isfinite(took_ms[s]) && took_ms[s] <= total_ms;
    for (uint32_t i = 0; sense && i < work->count; i++) sense = work->terms[i].row < COST_ROWS;
    return sense;
}

void cost_fade(struct cost *cost) {
    for (int row = 0; row < COST_ROWS; row++)
        cost->rows[row] = (cost->rows[row] + cost->defaults[row]) / 2;
}

void cost_learn(struct cost *cost, const struct cost_work *work, const struct timing *timing,
                double total_ms, double predicted_ms, uint32_t batch, unsigned own_stages) {
    double took_ms[COST_STAGES] = { [COST_DECODE] = timing->stage_ms[STAGE_DECODE],
                                    [COST_COMPUTE] = timing->stage_ms[STAGE_COMPUTE],
                                    [COST_ENCODE] = timing->stage_ms[STAGE_ENCODE] };
    took_ms[COST_REST] = total_ms - took_ms[0] - took_ms[1] - took_ms[2];
    if (!makes_sense(work, took_ms, total_ms, batch)) return;
    for (unsigned s = 0; s < COST_STAGES; s++)
        learn_stage(cost, work, s, took_ms[s], own_stages >> s & 1 ? 1 : batch);
    cost->mean_ms += (total_ms - cost->mean_ms) / (cost->mean_ms > 0 ? SMOOTHING : 1);
    cost->predicted_ms += predicted_ms;
    cost->actual_ms += total_ms;
    cost->error_ms += fabs(total_ms - predicted_ms);
}

void cost_learn_least(struct cost *cost, const struct cost_work *work, enum cost_stage stage,
                      double least_ms) {
    const double stages[COST_STAGES] = { 0 };
    if (!makes_sense(work, stages, least_ms, 1)) return;
    const double stage_ms = cost_predict_stage(cost, work, stage);
    const double rest_ms = cost_predict(cost, work) - stage_ms;
    if (least_ms > rest_ms + stage_ms) learn_stage(cost, work, stage, least_ms - rest_ms, 1);
}

// SPDX-License-Identifier: Apache-2.0
/* How it works. A worker's answer to a job is predicted as the wait for a lane (backlog.h), which
 * counts the jobs that it has and those ahead in the queue that should go there, and the job's own
 * time (cost.h). All devices give the same bytes, so nothing but time decides. A round copies the
 * backlogs, since jobs that wait are added to the copies alone. What a job takes on each worker is
 * predicted once, when it comes. */
#include "server/dispatch/forecast.h"

enum { NOWHERE = -1, FULL_FOR_ALL = (1 << JOB_DURATIONS) - 1 };

/* Cores also receive requests and feed GPUs. Where a GPU would take work off the cores, the CPU
 * gets a job only if it is predicted to answer as many times sooner as the GPU would spare them
 * work, and at the most so many times: on 16 cores beside an H200, at 128 connections, a CPU that
 * took what it would answer just a little sooner made 24,900 JPEGs of 320x240 a second of 106,000;
 * and 4,400 PNGs of 320x180 of JPEGs of 1080p, where 7,200 were made while nobody waited. */
enum { CORES_SHARE = 8 };

static const int64_t fade_ns = 1000000000;

void forecast_init(struct forecast *forecast, const struct worker_list *workers) {
    forecast->workers = workers;
    for (int i = 0; i < workers->count; i++) {
        cost_init(&forecast->costs[i], workers->all[i].cpu);
        forecast->backlogs[i] = (struct backlog){ .lanes = 0 };
        forecast->taught_ns[i] = 0;
    }
}

/* How many times sooner than a GPU a CPU of that COST, where the job takes OWN_MS, must answer. */
static double handicap(const struct cost *cost, const struct cost_work *work, double own_ms) {
    const double left_ms = cost_predict_cores(cost, work);
    return own_ms < CORES_SHARE * left_ms ? own_ms / left_ms : CORES_SHARE;
}

void forecast_predict(const struct forecast *forecast, const struct job *job,
                      struct forecast_job *predicted) {
    predicted->work = job->work;
    predicted->handicap = 1;
    for (int i = 0; i < forecast->workers->count; i++) {
        const struct worker_handle *worker = &forecast->workers->all[i];
        const bool serves = worker_handle_serves(worker, job);
        const double ms = serves ? cost_predict(&forecast->costs[i], &predicted->work) : -1;
        predicted->own_ms[i] = (float)ms;
        if (serves && worker->cpu)
            predicted->handicap = (float)handicap(&forecast->costs[i], &predicted->work, ms);
    }
}

double forecast_least_ms(const struct forecast *forecast, const struct forecast_job *predicted) {
    float least = -1;
    for (int i = 0; i < forecast->workers->count; i++) {
        const float ms = predicted->own_ms[i];
        if (ms >= 0 && (least < 0 || ms < least)) least = ms;
    }
    return least > 0 ? (double)least : 0;
}

void forecast_begin(struct forecast *forecast, struct forecast_round *round) {
    round->now = clock_ns();
    round->open = 0;
    for (int i = 0; i < forecast->workers->count; i++) {
        const struct worker_handle *worker = &forecast->workers->all[i];
        if (round->now - forecast->taught_ns[i] > fade_ns) {
            cost_fade(&forecast->costs[i]);
            forecast->taught_ns[i] = round->now;
        }
        round->healthy[i] = worker_handle_healthy(worker);
        round->full[i] = round->healthy[i] ? 0 : FULL_FOR_ALL;
        round->open += round->healthy[i];
        if (!round->healthy[i]) continue;
        backlog_set_lanes(&forecast->backlogs[i], worker->lanes, worker->capacity, worker->cpu);
        if (worker_handle_is_apart(worker)) backlog_set_apart(&forecast->backlogs[i]);
        round->backlogs[i] = forecast->backlogs[i];
    }
}

/* What a worker is to a job that looks for one; the first that differs decides. */
struct offer {
    bool again;       /* it died with this job before */
    bool alone;       /* it runs a job with which another died, nobody knows for how long */
    int ahead;        /* jobs that a suspect must wait for */
    double answer_ms; /* until it would have answered, times its handicap */
    int running;
};

static bool better(const struct offer *a, const struct offer *b) {
    if (a->again != b->again) return b->again;
    if (a->alone != b->alone) return b->alone;
    if (a->ahead != b->ahead) return a->ahead < b->ahead;
    if (a->answer_ms < b->answer_ms || a->answer_ms > b->answer_ms)
        return a->answer_ms < b->answer_ms;
    return a->running < b->running;
}

static struct backlog_job job_at(const struct forecast_round *round, const struct forecast_job *job,
                                 int worker) {
    return backlog_job(&round->backlogs[worker], (double)job->own_ms[worker], round->now);
}

static bool has_gpu(const struct forecast *forecast, const struct forecast_round *round,
                    const struct forecast_job *job) {
    bool any = false;
    for (int i = 0; i < forecast->workers->count; i++)
        any |= !forecast->workers->all[i].cpu && round->healthy[i] && job->own_ms[i] >= 0;
    return any;
}

int forecast_choose(const struct forecast *forecast, const struct forecast_round *round,
                    const struct forecast_job *job, int died_at, bool suspect) {
    const bool gpu = has_gpu(forecast, round, job);
    struct offer best = { .again = false };
    int chosen = NOWHERE;
    for (int i = 0; i < forecast->workers->count; i++) {
        if (!round->healthy[i] || job->own_ms[i] < 0) continue;
        const int running = forecast->workers->all[i].running;
        const bool cores = forecast->workers->all[i].cpu;
        const double times = gpu && cores ? (double)job->handicap : 1;
        const struct backlog_job there = job_at(round, job, i);
        const struct offer offer = {
            .again = died_at == i,
            .alone = forecast->workers->all[i].alone,
            .ahead = suspect ? running : 0,
            .answer_ms =
                times * (there.ms + backlog_wait_ms(&round->backlogs[i], &there, round->now)),
            .running = running,
        };
        if (chosen != NOWHERE && !better(&offer, &best)) continue;
        best = offer;
        chosen = i;
    }
    return chosen;
}

double forecast_wait_ms(const struct forecast *forecast, const struct forecast_round *round,
                        const struct forecast_job *job, double *own_ms) {
    const int worker = forecast_choose(forecast, round, job, NOWHERE, false);
    *own_ms = 0;
    if (worker == NOWHERE) return 0;
    const struct backlog_job there = job_at(round, job, worker);
    *own_ms = there.ms;
    return backlog_wait_ms(&round->backlogs[worker], &there, round->now);
}

struct backlog_job forecast_count(struct forecast_round *round, const struct forecast_job *job,
                                  int worker) {
    const struct backlog_job there = job_at(round, job, worker);
    backlog_add(&round->backlogs[worker], &there);
    return there;
}

void forecast_is_full(struct forecast_round *round, int worker, enum job_duration duration) {
    const bool was_open = round->full[worker] != FULL_FOR_ALL;
    round->full[worker] |= (uint8_t)(duration == JOB_DURATIONS ? FULL_FOR_ALL : 1 << (int)duration);
    if (was_open && round->full[worker] == FULL_FOR_ALL) round->open--;
}

bool forecast_is_unbatched(const struct forecast *forecast, const struct forecast_job *job,
                           int worker) {
    return cost_predict_compute(&forecast->costs[worker], &job->work) >=
           forecast->backlogs[worker].long_from_ms;
}

/* Whether a GPU's cores did what its codec was predicted to do: that says nothing of the codec. */
static bool is_exceptional(const struct job *job) {
    return job->decoded_by > CODEC_FORMAT || job_encoders(job) >> (CODEC_FORMAT + 1);
}

/* A core decodes or encodes one image at a time. */
static unsigned own_stages(const struct job *job) {
    return (job->decoded_by == CODEC_FORMAT ? 1U << COST_DECODE : 0) |
           (job_encoders(job) == 1U << CODEC_FORMAT ? 1U << COST_ENCODE : 0);
}

/* Of the TOTAL_MS that the job took, the part in which it had a core: how long it waited for one
 * tells of others, and not what it costs. */
static double own_part(const struct job *job, double total_ms) {
    return job->cpu_ms > 0 && job->cpu_ms < total_ms ? job->cpu_ms / total_ms : 1;
}

/* What a job that was not done within MS takes at least: what is done tells how much is left. */
static double least_ms(const struct job *job, double ms) {
    const uint32_t done = job->progress.done, total = job->progress.total;
    return done > 0 && done < total ? ms * total / done : ms;
}

/* Which stage of a job that was not done within MS had most of it. Codecs tell how long they took
 * even then, operators do not. */
static enum cost_stage longest_stage(const struct job *job, double ms) {
    if (job->timing.stage_ms[STAGE_DECODE] > ms / 2) return COST_DECODE;
    if (job->timing.stage_ms[STAGE_ENCODE] > ms / 2) return COST_ENCODE;
    return COST_COMPUTE;
}

void forecast_learn(struct forecast *forecast, int worker, const struct forecast_job *predicted,
                    const struct job *job) {
    const double ms =
        ns_to_ms(job->finished_ns - job->submitted_ns) - job->timing.stage_ms[STAGE_QUEUE];
    const bool done = !job->failure.status;
    backlog_complete(&forecast->backlogs[worker], &predicted->backlog, done, clock_ns());
    if (job->failure.status == STATUS_DEADLINE)
        cost_learn_least(&forecast->costs[worker], &predicted->work, longest_stage(job, ms),
                         least_ms(job, ms * own_part(job, ms)));
    if (!done || is_exceptional(job)) return;
    forecast->taught_ns[worker] = clock_ns();
    struct timing timing; /* its spans, some KB, are not looked at */
    const double own = own_part(job, ms);
    for (int s = 0; s < STAGE_COUNT; s++) timing.stage_ms[s] = job->timing.stage_ms[s] * own;
    cost_learn(&forecast->costs[worker], &predicted->work, &timing, ms * own, predicted->backlog.ms,
               job->batch, own_stages(job));
}

void forecast_account(const struct forecast *forecast, int worker, struct worker_account *account) {
    const struct cost *cost = &forecast->costs[worker];
    const struct backlog *backlog = &forecast->backlogs[worker];
    const struct backlog_job next = { .ms = 0 };
    *account = (struct worker_account){ .predicted_ms = cost->predicted_ms,
                                        .actual_ms = cost->actual_ms,
                                        .error_ms = cost->error_ms,
                                        .wait_ms = backlog_wait_ms(backlog, &next, clock_ns()) };
}

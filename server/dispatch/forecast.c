// SPDX-License-Identifier: Apache-2.0
/* How it works. A worker's answer to a job is predicted as the wait for a lane, behind the jobs
 * that the worker has and those ahead in the queue that should go there, and the job's own time
 * (cost.h). All devices give the same bytes, so nothing but time decides. A round copies the
 * backlogs, since jobs that wait are added to the copies alone. What a job takes on each worker is
 * predicted once, when it comes.
 *
 * In a backlog the work of short jobs is summed up, of medium and long ones the times at which they
 * should end. A wait is that work over the lanes and their speed, as if jobs were spread evenly.
 * How much faster than lone jobs a GPU is, is learned in windows in which it has all that it can
 * do. */
#include "server/dispatch/forecast.h"

#include "pipeline/timing.h"

/* ---- the backlog of one worker */

/* The work of lone jobs that a GPU does at once, in batches and lanes: a 1080p JPEG takes 0.3 ms
 * alone and 0.05 of many. A core does one. */
enum { GPU_SPEED = 6 };

/* LATE_MS: no lane ends a short job for so long only if something is wrong with one. */
enum { GPU_LONG_MS = 10, CPU_LONG_MS = 500, LATE_MS = 1000 };

/* A job waits for a lane of short jobs for so long at most. */
enum { CPU_MEDIUM_MS = 10 };

/* The thread that hands out rests for 2 ms where requests wait (io_thread.c), and then waits for a
 * core for up to a tick of the scheduler, 4 ms: for so long a lane should find short jobs. */
enum { AHEAD_MS = 6, AHEAD_MAX = 12 };
enum { WINDOW_JOBS = 16, WINDOW_MS = 50, CHANGE_MAX = 4, SMOOTHING = 4, SPEED_MAX = 4096 };

/* A worker has so many lanes, and room for CAPACITY jobs: known once it is ready. What was learned
 * of its speed stays while the number of lanes does. */
static void backlog_set_lanes(struct backlog *backlog, int lanes, int capacity, bool cpu) {
    const int half = capacity / 4; /* of the batches that all lanes hold: it is two for each */
    if (lanes < 1) lanes = 1;
    if (backlog->lanes == lanes) return;
    backlog->lanes = lanes;
    backlog->busy_from = half > lanes ? half : lanes;
    backlog->speed = cpu ? lanes : GPU_SPEED;
    backlog->long_from_ms = cpu ? CPU_LONG_MS : GPU_LONG_MS;
    backlog->window_ns = 0;
}

static struct backlog_job backlog_job(const struct backlog *backlog, double ms, int64_t now) {
    const bool is_long = ms >= backlog->long_from_ms;
    const bool is_medium = backlog->apart && ms >= CPU_MEDIUM_MS;
    return (struct backlog_job){ .ms = ms,
                                 .duration = is_long     ? JOB_LONG
                                             : is_medium ? JOB_MEDIUM
                                                         : JOB_SHORT,
                                 .end_ms = ns_to_ms(now) + ms };
}

bool backlog_has_room(const struct backlog *backlog, enum job_duration duration, bool measured) {
    const int lanes = backlog->lanes > 1 ? backlog->lanes : 1;
    if (duration == JOB_MEDIUM) return backlog->mediums < lanes;
    if (duration == JOB_LONG) return backlog->longs < lanes;
    if (!measured) return backlog->shorts < 2 * lanes;
    const bool soon_idle = backlog->short_ms < lanes * AHEAD_MS;
    return backlog->shorts < lanes || (soon_idle && backlog->shorts < AHEAD_MAX * lanes);
}

void backlog_add(struct backlog *backlog, const struct backlog_job *job) {
    if (job->duration == JOB_LONG) {
        backlog->longs++;
        backlog->long_end_ms += job->end_ms;
    } else if (job->duration == JOB_MEDIUM) {
        backlog->mediums++;
        backlog->medium_end_ms += job->end_ms;
    } else {
        if (!backlog->shorts) backlog->moved_ms = job->end_ms - job->ms;
        backlog->shorts++;
        backlog->short_ms += job->ms;
    }
}

void backlog_remove(struct backlog *backlog, const struct backlog_job *job) {
    if (job->duration == JOB_LONG) {
        backlog->longs--;
        backlog->long_end_ms = backlog->longs ? backlog->long_end_ms - job->end_ms : 0;
    } else if (job->duration == JOB_MEDIUM) {
        backlog->mediums--;
        backlog->medium_end_ms = backlog->mediums ? backlog->medium_end_ms - job->end_ms : 0;
    } else {
        backlog->shorts--;
        backlog->short_ms = backlog->shorts ? backlog->short_ms - job->ms : 0;
    }
}

static void learn_speed(struct backlog *backlog, int64_t now) {
    const double elapsed = ns_to_ms(now - backlog->window_ns), speed = backlog->speed;
    if (backlog->window_jobs < WINDOW_JOBS || elapsed < WINDOW_MS) return;
    double seen = backlog->window_ms / elapsed;
    if (seen > speed * CHANGE_MAX) seen = speed * CHANGE_MAX;
    backlog->speed += (seen - speed) / SMOOTHING;
    if (backlog->speed < 1) backlog->speed = 1;
    if (backlog->speed > SPEED_MAX) backlog->speed = SPEED_MAX;
    backlog->window_ns = now;
    backlog->window_ms = backlog->window_jobs = 0;
}

void backlog_end_window(struct backlog *backlog) {
    backlog->window_ns = 0;
}

/* DONE: to its end. A job that was cancelled or failed says nothing of the speed. */
static void backlog_complete(struct backlog *backlog, const struct backlog_job *job, bool done,
                             int64_t now) {
    backlog_remove(backlog, job);
    backlog->moved_ms = ns_to_ms(now);
    if (backlog->longs || backlog->mediums || backlog->shorts < backlog->busy_from) {
        backlog_end_window(backlog);
        return;
    }
    if (!done) return;
    if (!backlog->window_ns) {
        backlog->window_ns = now;
        backlog->window_ms = backlog->window_jobs = 0;
        return;
    }
    backlog->window_ms += job->ms;
    backlog->window_jobs++;
    learn_speed(backlog, now);
}

/* COUNT jobs of TOTAL_MS that LANES work on, SPEED times as fast as one: when one more begins. They
 * are taken to be spread evenly, so that lanes become free one after the other. */
static double wait_for(int count, double total_ms, int lanes, double speed) {
    return count < lanes ? 0 : total_ms * (count - lanes + 1) / count / speed;
}

/* For a lane out of LANES, those that long jobs leave. */
static double wait_for_shorts(const struct backlog *backlog, int lanes, double speed, int64_t now) {
    const double wait = wait_for(backlog->shorts, backlog->short_ms, lanes, speed);
    const double still = ns_to_ms(now) - backlog->moved_ms;
    const bool held_up =
        backlog->lanes <= 1 && !backlog->apart && backlog->longs; /* a long one is at work */
    const bool late = !held_up && backlog->shorts >= lanes && still > LATE_MS;
    return late && still > wait ? still : wait;
}

/* COUNT jobs that end at END_MS, summed up, MOST of them side by side. */
static double wait_for_ends(int count, double end_ms, int most, int64_t now) {
    const double left = end_ms - count * ns_to_ms(now);
    return wait_for(count, left > 0 ? left : -left, most, most);
}

/* Each for those of its own duration: the system lets shorter ones go first meanwhile. */
static double wait_apart(const struct backlog *backlog, const struct backlog_job *job, int lanes,
                         double speed, int64_t now) {
    switch (job->duration) {
    case JOB_MEDIUM: return wait_for_ends(backlog->mediums, backlog->medium_end_ms, lanes, now);
    case JOB_LONG: return wait_for_ends(backlog->longs, backlog->long_end_ms, lanes, now);
    default: return wait_for_shorts(backlog, lanes, speed, now);
    }
}

/* Milliseconds until a lane would begin JOB. */
static double backlog_wait_ms(const struct backlog *backlog, const struct backlog_job *job,
                              int64_t now) {
    const int lanes = backlog->lanes > 1 ? backlog->lanes : 1;
    const int most = lanes > 1 ? lanes - 1 : 1; /* long ones at once */
    const int held = lanes == 1 ? 0 : backlog->longs < most ? backlog->longs : most;
    const double speed = backlog->speed > 0 ? backlog->speed : 1;
    if (backlog->apart) return wait_apart(backlog, job, lanes, speed, now);
    const double shorts =
        wait_for_shorts(backlog, lanes - held, speed * (lanes - held) / lanes, now);
    if (job->duration != JOB_LONG && lanes > 1) return shorts;
    return shorts + wait_for_ends(backlog->longs, backlog->long_end_ms, most, now);
}

/* ---- all workers */

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
        if (worker_handle_is_apart(worker)) forecast->backlogs[i].apart = true;
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

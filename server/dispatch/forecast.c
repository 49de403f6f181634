// SPDX-License-Identifier: Apache-2.0
/* How it works. A worker's answer is predicted as the wait for a lane, behind the jobs that the
 * worker has and the queued jobs ahead that should go there, plus the job's own time (cost.h). All
 * devices return the same bytes, so time alone decides. A round copies the backlogs, since queued
 * jobs count in the copies alone. A job's own time on each worker is predicted once, when the job
 * comes.
 *
 * A backlog sums up the own times of short jobs, and of medium and long jobs the times at which
 * they should end. The wait is that work divided by lanes and speed, as if jobs were spread evenly.
 * How much faster a busy GPU is than its jobs one by one is measured in windows in which it always
 * has enough work. */
#include "server/dispatch/forecast.h"

#include "pipeline/timing.h"

/* ---- the backlog of one worker */

/* Work per time of a GPU with batches on all lanes, against jobs one by one: a 1080p JPEG takes 0.3
 * ms alone and 0.05 ms among many. */
enum { GPU_SPEED = 6 };

/* LATE_MS: short jobs wait, and none has ended for so long: something is wrong with a lane. */
enum {
    GPU_LONG_MS = 10,
    MANY_LONG_MS = 500,
    CPU_MEDIUM_MS = 10,
    CPU_LONG_MS = 500,
    LATE_MS = 1000
};

/* One picture has a GPU's video engines at a time. As many jobs as this keep them busy, while lanes
 * before and behind the engines work on others; further ones wait in the fair queue. */
enum { ENGINE_JOBS_MAX = 16 };

/* The thread that sends jobs sleeps for 2 ms while requests wait (listener.c), and then waits for
 * a core for up to a tick of the scheduler, 4 ms: a lane needs AHEAD_MS of short jobs meanwhile. */
enum { AHEAD_MS = 6, AHEAD_MAX = 12 };
enum { WINDOW_JOBS = 16, WINDOW_MS = 50, CHANGE_MAX = 4, SMOOTHING = 4, SPEED_MAX = 4096 };

/* LANES and CAPACITY, in jobs, are known once a worker is ready. The speed that was learned stays
 * as long as the number of lanes does. */
static void backlog_set_lanes(struct backlog *backlog, int lanes, int capacity, bool cpu) {
    const int half = capacity / 4; /* of the batches under way: capacity is two for each lane */
    if (lanes < 1) lanes = 1;
    if (backlog->lanes == lanes) return;
    backlog->lanes = lanes;
    backlog->busy_from = half > lanes ? half : lanes;
    backlog->speed = cpu ? lanes : GPU_SPEED;
    backlog->long_from_ms = cpu ? CPU_LONG_MS : GPU_LONG_MS;
    backlog->window_ns = 0;
}

static struct backlog_job backlog_job(const struct backlog *backlog, double ms, bool abreast,
                                      int64_t now) {
    const bool many = abreast && backlog->many && ms < MANY_LONG_MS;
    const bool is_long = !many && ms >= backlog->long_from_ms;
    const bool is_medium = many || (backlog->apart && ms >= CPU_MEDIUM_MS);
    return (struct backlog_job){ .ms = ms,
                                 .duration = is_long     ? JOB_LONG
                                             : is_medium ? JOB_MEDIUM
                                                         : JOB_SHORT,
                                 .end_ms = ns_to_ms(now) + ms };
}

bool backlog_has_room(const struct backlog *backlog, enum job_duration duration, bool measured) {
    const int lanes = backlog->lanes > 1 ? backlog->lanes : 1, room = backlog->room;
    if (duration == JOB_ENGINE) return backlog->engines < ENGINE_JOBS_MAX;
    if (!backlog->apart) {
        if (duration == JOB_MEDIUM) return backlog->mediums < backlog->many;
        /* A GPU's worker batches long jobs too, but they get less than half of its room. */
        const int longs_max = room / 2 > 2 ? room / 2 - 1 : 1;
        return backlog->shorts + backlog->longs < room &&
               (duration != JOB_LONG || backlog->longs < longs_max);
    }
    if (duration == JOB_MEDIUM) return backlog->mediums < lanes;
    if (duration == JOB_LONG) return backlog->longs < lanes;
    if (!measured) return backlog->shorts < 2 * lanes;
    const bool soon_idle = backlog->short_ms < lanes * AHEAD_MS;
    return backlog->shorts < lanes || (soon_idle && backlog->shorts < AHEAD_MAX * lanes);
}

void backlog_add(struct backlog *backlog, const struct backlog_job *job) {
    if (job->duration == JOB_ENGINE) {
        backlog->engines++;
        backlog->engine_ms += job->engine_ms;
    } else if (job->duration == JOB_LONG) {
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
    if (job->duration == JOB_ENGINE) {
        backlog->engines--;
        backlog->engine_ms = backlog->engines ? backlog->engine_ms - job->engine_ms : 0;
    } else if (job->duration == JOB_LONG) {
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

static void learn_speed(struct backlog *backlog, bool busy, int64_t now) {
    const double elapsed = ns_to_ms(now - backlog->window_ns), speed = backlog->speed;
    if (backlog->window_jobs < WINDOW_JOBS || elapsed < WINDOW_MS) return;
    double seen = backlog->window_ms / elapsed;
    if (seen > speed * CHANGE_MAX) seen = speed * CHANGE_MAX;
    /* Cores do no more at once than there are lanes: what they seem to is a wrong prediction. */
    const bool more = seen > speed && !backlog->apart;
    if (backlog->window_busy || more) backlog->speed += (seen - speed) / SMOOTHING;
    if (backlog->speed < 1) backlog->speed = 1;
    if (backlog->speed > SPEED_MAX) backlog->speed = SPEED_MAX;
    backlog->window_ns = now;
    backlog->window_ms = backlog->window_jobs = 0;
    backlog->window_busy = busy;
}

void backlog_end_window(struct backlog *backlog) {
    backlog->window_ns = 0;
}

/* DONE: the job succeeded; a cancelled or failed job says nothing of the speed. */
static void backlog_complete(struct backlog *backlog, const struct backlog_job *job, bool done,
                             int64_t now) {
    backlog_remove(backlog, job);
    backlog->moved_ms = ns_to_ms(now);
    /* Beside carves a GPU is slower than it is else. */
    const bool busy = !backlog->longs && !backlog->mediums && !backlog->engines &&
                      backlog->shorts >= backlog->busy_from;
    backlog->window_busy = busy && (backlog->window_busy || !backlog->window_ns);
    if (!done || job->duration != JOB_SHORT) return;
    if (!backlog->window_ns) {
        backlog->window_ns = now;
        backlog->window_ms = backlog->window_jobs = 0;
        return;
    }
    backlog->window_ms += job->ms;
    backlog->window_jobs++;
    learn_speed(backlog, busy, now);
}

/* Wait of one more job behind COUNT jobs of TOTAL_MS on LANES that do SPEED ms of work per ms. The
 * jobs count as evenly spread: lanes become free one after the other. */
static double wait_for(int count, double total_ms, int lanes, double speed) {
    return count < lanes ? 0 : total_ms * (count - lanes + 1) / count / speed;
}

/* Wait of a short job. LANES: those that long jobs leave. */
static double wait_for_shorts(const struct backlog *backlog, int lanes, double speed, int64_t now) {
    const double wait = wait_for(backlog->shorts, backlog->short_ms, lanes, speed);
    const double still = ns_to_ms(now) - backlog->moved_ms;
    const bool held_up = backlog->lanes <= 1 && !backlog->apart && backlog->longs;
    const bool late = !held_up && backlog->shorts >= lanes && still > LATE_MS;
    return late && still > wait ? still : wait;
}

/* Wait behind COUNT jobs, MOST of them side by side. END_MS: the sum of the times of clock_ns, in
 * ms, at which these end. */
static double wait_for_ends(int count, double end_ms, int most, int64_t now) {
    const double left = end_ms - count * ns_to_ms(now);
    return wait_for(count, left > 0 ? left : -left, most, most);
}

/* Milliseconds until a lane would begin JOB. */
static double backlog_wait_ms(const struct backlog *backlog, const struct backlog_job *job,
                              int64_t now) {
    const int lanes = backlog->lanes > 1 ? backlog->lanes : 1;
    const int most = lanes > 1 ? lanes - 1 : 1; /* long ones at once */
    const int held = lanes == 1 ? 0 : backlog->longs < most ? backlog->longs : most;
    const double speed = backlog->speed > 0 ? backlog->speed : 1;
    if (job->duration == JOB_ENGINE) return backlog->engine_ms;
    if (backlog->apart && job->duration == JOB_MEDIUM)
        return wait_for_ends(backlog->mediums, backlog->medium_end_ms, lanes, now);
    if (backlog->apart && job->duration == JOB_LONG)
        return wait_for_ends(backlog->longs, backlog->long_end_ms, lanes, now);
    if (backlog->apart) return wait_for_shorts(backlog, lanes, speed, now);
    if (job->duration == JOB_MEDIUM) /* half of its places are of batches that wait */
        return wait_for_ends(backlog->mediums, backlog->medium_end_ms, (backlog->many + 1) / 2,
                             now);
    const double shorts =
        wait_for_shorts(backlog, lanes - held, speed * (lanes - held) / lanes, now);
    if (job->duration != JOB_LONG && lanes > 1) return shorts;
    return shorts + wait_for_ends(backlog->longs, backlog->long_end_ms, most, now);
}

/* ---- all workers */

enum { NO_WORKER = -1, FULL_FOR_ALL = (2 << JOB_ENGINE) - 1 };

/* Cores also receive requests and feed GPUs. So a CPU may take a job from a GPU only if the answer
 * is predicted to come N times sooner: N is the job's core time on the CPU over the core time that
 * remains with the GPU, CORES_SHARE at most. Without this, 16 cores beside an H200 at 128
 * connections made 24,900 JPEGs of 320x240 a second instead of 106,000, and 4,400 PNGs of 320x180
 * from JPEGs of 1080p instead of 7,200. */
enum { CORES_SHARE = 8 };

static const int64_t fade_ns = 1000000000;

static bool is_cell(const struct forecast *forecast, int worker) {
    return forecast->workers->all[worker].decodes;
}

void forecast_init(struct forecast *forecast, const struct worker_list *workers) {
    forecast->workers = workers;
    for (int i = 0; i < workers->count; i++) {
        cost_init(&forecast->costs[i], workers->all[i].cpu);
        forecast->backlogs[i] = (struct backlog){ .lanes = 0 };
        forecast->learned_ns[i] = 0;
        forecast->kin[i] = i && is_cell(forecast, i - 1) ? forecast->kin[i - 1] : i;
    }
}

/* Describes the work of JOB's run in a cell. */
static void add_cell_work(struct cost_work *work, const struct job *job) {
    work->count = 0;
    if (job->run == RUN_DECODE && job->decodes_apart)
        cost_work_add_file(work, &job->probe, job->image_length);
    for (int p = 0; p < OP_AUX_MAX && job->run == RUN_DECODE; p++)
        if (job->aux[p].apart) cost_work_add_file(work, &job->aux[p].probe, job->aux[p].length);
    for (int o = 0; o < job_output_count(job) && job->run == RUN_ENCODE; o++) {
        const struct encode_options options = job_encode_options(job, &job->outputs[o]);
        if (job->outputs[o].apart) cost_work_add_result(work, &job->outputs[o].image, &options);
    }
}

void forecast_predict(const struct forecast *forecast, const struct job *job,
                      struct forecast_job *predicted) {
    const bool cell = job_is_in_cell(job);
    predicted->work = job->work;
    if (cell) add_cell_work(&predicted->work, job);
    if (job->run == RUN_ENGINE)
        cost_work_add_file(&predicted->work, &job->probe, job->image_length);
    predicted->abreast = job->abreast && !cell;
    predicted->engine = job->run == RUN_ENGINE;
    predicted->engine_ms = 0;
    predicted->handicap = 1;
    for (int i = 0; i < forecast->workers->count; i++) {
        const struct worker_handle *worker = &forecast->workers->all[i];
        if (forecast->kin[i] != i) {
            predicted->own_ms[i] = predicted->own_ms[i - 1];
            continue;
        }
        const bool serves = worker_handle_serves(worker, job);
        const double ms = serves ? cost_predict(&forecast->costs[i], &predicted->work) : -1;
        predicted->own_ms[i] = (float)ms;
        if (serves && predicted->engine)
            predicted->engine_ms =
                (float)cost_predict_stage(&forecast->costs[i], &predicted->work, COST_DECODE);
        if (!serves || !worker->cpu) continue;
        /* Core time of the job if a GPU runs it: codecs that the GPU does not have. */
        const double cores_ms = cost_predict_cores(&forecast->costs[i], &predicted->work);
        predicted->handicap = (float)(ms < CORES_SHARE * cores_ms ? ms / cores_ms : CORES_SHARE);
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

enum status forecast_check_length(const struct config *config, double least_ms,
                                  struct failure *failure) {
    const double allowed_ms = (double)config->processing_ms;
    const long times = config_now(&config->refuse_times);
    if (!times || least_ms <= (double)times * allowed_ms) return STATUS_OK;
    return fail(
        failure, STATUS_TOO_LARGE,
        "this is predicted to take %.0f s, and only %.3g s are allowed (processing_ms); send "
        "a smaller image, or ask for less",
        least_ms / 1000, allowed_ms / 1000);
}

enum status forecast_check_time(const struct config *config, double wait_ms, double own_ms,
                                double left_ms, struct failure *failure) {
    const long times = config_now(&config->refuse_times);
    if (!times || wait_ms + own_ms / (double)times <= left_ms) return STATUS_OK;
    return fail(
        failure, STATUS_BUSY,
        "this is predicted to be done in %.3g s, after %.3g s in the queue, and only %.3g s "
        "are left for it; try again later",
        (wait_ms + own_ms) / 1000, wait_ms / 1000, left_ms > 0 ? left_ms / 1000 : 0);
}

void forecast_begin(struct forecast *forecast, struct forecast_round *round) {
    round->now = clock_ns();
    round->open = 0;
    for (int i = 0; i < forecast->workers->count; i++) {
        const struct worker_handle *worker = &forecast->workers->all[i];
        if (round->now - forecast->learned_ns[i] > fade_ns) {
            cost_fade(&forecast->costs[i]);
            forecast->learned_ns[i] = round->now;
        }
        round->healthy[i] = worker_handle_healthy(worker);
        round->full[i] = round->healthy[i] ? 0 : FULL_FOR_ALL;
        round->open += round->healthy[i];
        if (!round->healthy[i]) continue;
        struct backlog *const backlog = &forecast->backlogs[i];
        backlog->many = worker->many;
        backlog->room = worker->capacity - worker->many;
        backlog_set_lanes(backlog, worker->lanes, backlog->room, worker->cpu);
        if (worker_handle_is_apart(worker)) forecast->backlogs[i].apart = true;
        round->backlogs[i] = forecast->backlogs[i];
    }
}

bool forecast_has_room(const struct forecast *forecast, int worker, enum job_duration duration) {
    const bool measured = forecast->costs[forecast->kin[worker]].mean_ms > 0;
    return backlog_has_room(&forecast->backlogs[worker], duration, measured);
}

/* A worker's offer to a job; the first member that differs decides. */
struct offer {
    bool again;       /* the worker died with this job before */
    bool alone;       /* the worker runs a suspect, for an unknown time */
    int ahead;        /* jobs that a suspect must wait for */
    double answer_ms; /* predicted time until the answer, times the handicap */
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

static struct backlog_job job_on(const struct forecast_round *round, const struct forecast_job *job,
                                 int worker) {
    const double ms = (double)job->own_ms[worker];
    if (job->engine) return (struct backlog_job){ ms, JOB_ENGINE, 0, (double)job->engine_ms };
    return backlog_job(&round->backlogs[worker], ms, job->abreast, round->now);
}

int forecast_choose(const struct forecast *forecast, const struct forecast_round *round,
                    const struct forecast_job *job, int died_on, bool suspect) {
    struct offer best = { .again = false };
    int chosen = NO_WORKER;
    bool gpu = false;
    for (int i = 0; i < forecast->workers->count; i++)
        gpu |= !forecast->workers->all[i].cpu && round->healthy[i] && job->own_ms[i] >= 0;
    for (int i = 0; i < forecast->workers->count; i++) {
        if (!round->healthy[i] || job->own_ms[i] < 0) continue;
        const int running = forecast->workers->all[i].running;
        const bool cores = forecast->workers->all[i].cpu;
        const double times = gpu && cores ? (double)job->handicap : 1;
        const struct backlog_job there = job_on(round, job, i);
        const struct offer offer = {
            .again = died_on == i,
            .alone = forecast->workers->all[i].alone,
            .ahead = suspect ? running : 0,
            .answer_ms =
                times * (there.ms + backlog_wait_ms(&round->backlogs[i], &there, round->now)),
            .running = running,
        };
        if (chosen != NO_WORKER && !better(&offer, &best)) continue;
        best = offer;
        chosen = i;
    }
    return chosen;
}

double forecast_wait_ms(const struct forecast *forecast, const struct forecast_round *round,
                        const struct forecast_job *job, double *own_ms) {
    const int worker = forecast_choose(forecast, round, job, NO_WORKER, false);
    *own_ms = 0;
    if (worker == NO_WORKER) return 0;
    const struct backlog_job there = job_on(round, job, worker);
    *own_ms = there.ms;
    return backlog_wait_ms(&round->backlogs[worker], &there, round->now);
}

struct backlog_job forecast_reserve(struct forecast_round *round, const struct forecast_job *job,
                                    int worker) {
    const struct backlog_job there = job_on(round, job, worker);
    backlog_add(&round->backlogs[worker], &there);
    return there;
}

void forecast_mark_full(struct forecast_round *round, int worker, enum job_duration duration,
                        bool all) {
    const bool was_open = round->full[worker] != FULL_FOR_ALL;
    round->full[worker] |= (uint8_t)(all ? FULL_FOR_ALL : 1 << (int)duration);
    if (was_open && round->full[worker] == FULL_FOR_ALL) round->open--;
}

bool forecast_needs_own_batch(const struct forecast *forecast, const struct forecast_job *job,
                              int worker) {
    if (job->abreast && job->own_ms[worker] < MANY_LONG_MS) return false;
    return cost_predict_stage(&forecast->costs[forecast->kin[worker]], &job->work, COST_COMPUTE) >=
           forecast->backlogs[worker].long_from_ms;
}

/* The part of TOTAL_MS in which the job had a core: waiting for one is no cost of the job. */
static double own_part(const struct job *job, double total_ms) {
    return job->cpu_ms > 0 && job->cpu_ms < total_ms ? job->cpu_ms / total_ms : 1;
}

/* Learns from a job that was not done within MS. Its progress says how much is left. Codecs report
 * their times even then, operators do not. */
static void learn_least(struct cost *cost, const struct cost_work *work, const struct job *job,
                        double ms) {
    const uint32_t done = job->progress.done, total = job->progress.total;
    const double own_ms = ms * own_part(job, ms);
    const enum cost_stage longest = job->timing.stage_ms[STAGE_DECODE] > ms / 2   ? COST_DECODE
                                    : job->timing.stage_ms[STAGE_ENCODE] > ms / 2 ? COST_ENCODE
                                                                                  : COST_COMPUTE;
    cost_learn_least(cost, work, longest,
                     done > 0 && done < total ? own_ms * total / done : own_ms);
}

void forecast_learn(struct forecast *forecast, int worker, const struct forecast_job *predicted,
                    const struct job *job) {
    const int kin = forecast->kin[worker];
    struct cost *cost = &forecast->costs[kin];
    const bool cell = is_cell(forecast, worker);
    const double ms =
        ns_to_ms(job->finished_ns - job->submitted_ns) - job->timing.stage_ms[STAGE_QUEUE];
    const bool done = !job->failure.status;
    backlog_complete(&forecast->backlogs[worker], &predicted->backlog, done, clock_ns());
    if (job->failure.status == STATUS_DEADLINE) learn_least(cost, &predicted->work, job, ms);
    /* Cores that stepped in for a GPU's codec say nothing of the time that codec takes. They always
     * do for a profile that is found while decoding, and the other stages are as usual. */
    const unsigned encoders = job_encoders(job), profile = encoders >> CODEC_PROFILE & 1;
    const bool stepped_in =
        job->decoded_by > CODEC_FORMAT || (encoders & ~(1U << CODEC_PROFILE)) >> (CODEC_FORMAT + 1);
    if (!done || (stepped_in && !cell)) return;
    struct cost_work work = predicted->work;
    for (uint32_t t = 0; t < work.count && profile && !cell; t++)
        if (work.terms[t].stage == COST_ENCODE) work.terms[t].amount = 0;
    forecast->learned_ns[kin] = clock_ns();
    /* A core decodes or encodes one image at a time, not the whole batch. */
    const unsigned own_stages = (job->decoded_by == CODEC_FORMAT ? 1U << COST_DECODE : 0) |
                                (encoders == 1U << CODEC_FORMAT ? 1U << COST_ENCODE : 0);
    struct timing timing;                            /* its spans, some KB, are not read */
    const double own = cell ? 1 : own_part(job, ms); /* of the plan's run */
    for (int s = 0; s < STAGE_COUNT; s++) timing.stage_ms[s] = job->timing.stage_ms[s] * own;
    cost_learn(cost, &work, &timing, ms * own, predicted->backlog.ms, cell ? 1 : job->batch,
               own_stages);
}

void forecast_statistics(const struct forecast *forecast, int worker,
                         struct worker_statistics *statistics) {
    const struct cost *cost = &forecast->costs[forecast->kin[worker]];
    const struct backlog *backlog = &forecast->backlogs[worker];
    const struct backlog_job next = { .ms = 0 };
    *statistics =
        (struct worker_statistics){ .predicted_ms = cost->predicted_ms,
                                    .actual_ms = cost->actual_ms,
                                    .error_ms = cost->error_ms,
                                    .wait_ms = backlog_wait_ms(backlog, &next, clock_ns()) };
}

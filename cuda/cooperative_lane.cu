// SPDX-License-Identifier: Apache-2.0
/* How it works. All open lanes are in one list, under one lock that is held from the beginning of a
 * turn to its end. So turns have an order: each stream waits only for earlier ones, and waits never
 * form a circle. Each device remembers the lane of its last long kernel, whose event shows whether
 * that kernel is done. For short kernels a flag is enough, that there was one on the lane's stream:
 * the next long one records an event there and waits for it. So a short launch costs a lock and,
 * only while long kernels or many searches are under way, queries of their events. */
#include "cuda/cooperative_lane.cuh"

#include "cuda/check.cuh"

#include <pthread.h>

enum { DEVICES_MAX = 64 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct cooperative_lane *lanes, *last_long[DEVICES_MAX];
static bool crowded[DEVICES_MAX]; /* its last searches were launched as many at once */

/* ---- lanes */

static cudaError_t make_events(struct cooperative_lane *lane) {
    cudaEvent_t *const events[] = { &lane->before, &lane->drained, &lane->done, &lane->many,
                                    &lane->left };
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 5 && error == cudaSuccess; i++)
        error = cudaEventCreateWithFlags(events[i], cudaEventDisableTiming);
    return error;
}

enum status cooperative_lane_open(struct cooperative_lane *lane, int device, cudaStream_t stream,
                                  cudaStream_t low_stream, struct failure *failure) {
    if (device >= DEVICES_MAX)
        return fail(failure, STATUS_NO_MEMORY, "more than %d GPUs", DEVICES_MAX);
    *lane = {};
    lane->device = device;
    lane->stream = stream;
    lane->low_stream = low_stream;
    CUDA_TRY(failure, make_events(lane));
    pthread_mutex_lock(&turn);
    lane->next = lanes;
    lanes = lane;
    pthread_mutex_unlock(&turn);
    return STATUS_OK;
}

void cooperative_lane_close(struct cooperative_lane *lane) {
    pthread_mutex_lock(&turn);
    for (struct cooperative_lane **place = &lanes; *place; place = &(*place)->next)
        if (*place == lane) {
            *place = lane->next;
            break;
        }
    if (last_long[lane->device] == lane) last_long[lane->device] = NULL;
    pthread_mutex_unlock(&turn);
    if (lane->before) cudaEventDestroy(lane->before);
    if (lane->drained) cudaEventDestroy(lane->drained);
    if (lane->done) cudaEventDestroy(lane->done);
    if (lane->many) cudaEventDestroy(lane->many);
    if (lane->left) cudaEventDestroy(lane->left);
}

/* ---- turns */

/* Whether a long kernel is queued or runs. An error of its stream is reported by its own lane. */
static bool is_long_under_way(int device) {
    struct cooperative_lane *const last = last_long[device];
    if (!last) return false;
    const bool runs = cudaEventQuery(last->done) == cudaErrorNotReady;
    if (runs)
        cudaGetLastError(); /* so that the next check does not see it */
    else
        last_long[device] = NULL;
    return runs;
}

/* The searches of a lane's last launch of many; 0 once it has ended. */
static int searches_of(struct cooperative_lane *lane) {
    if (!lane->searches) return 0;
    if (cudaEventQuery(lane->many) != cudaErrorNotReady)
        lane->searches = 0;
    else
        cudaGetLastError(); /* so that the next check does not see it */
    return lane->searches;
}

static int searches_under_way(int device) {
    int searches = 0;
    for (struct cooperative_lane *lane = lanes; lane; lane = lane->next)
        if (lane->device == device) searches += searches_of(lane);
    return searches;
}

/* Makes STREAM wait for what is now queued on OTHER. */
static cudaError_t wait_for_stream(cudaStream_t stream, cudaStream_t other, cudaEvent_t event) {
    if (stream == other) return cudaSuccess;
    const cudaError_t error = cudaEventRecord(event, other);
    return error == cudaSuccess ? cudaStreamWaitEvent(stream, event, 0) : error;
}

cudaStream_t cooperative_lane_begin_short(struct cooperative_lane *lane, cudaStream_t stream,
                                          cudaError_t *error) {
    *error = cudaSuccess;
    if (!lane) return stream;
    pthread_mutex_lock(&turn);
    *error = is_long_under_way(lane->device) || searches_under_way(lane->device)
                 ? cudaErrorCooperativeLaunchTooLarge
                 : wait_for_stream(lane->stream, stream, lane->before);
    if (*error)
        pthread_mutex_unlock(&turn);
    else
        lane->has_short = true, lane->is_recorded = false;
    return lane->stream;
}

cudaError_t cooperative_lane_end_short(struct cooperative_lane *lane, cudaStream_t stream) {
    if (!lane) return cudaSuccess;
    const cudaError_t error = wait_for_stream(stream, lane->stream, lane->before);
    pthread_mutex_unlock(&turn);
    return error;
}

/* Records `drained` behind the lane's last short kernel, or what has been queued since. */
static cudaError_t record_short(struct cooperative_lane *lane) {
    if (!lane->has_short || lane->is_recorded) return cudaSuccess;
    const cudaError_t error = cudaEventRecord(lane->drained, lane->stream);
    lane->is_recorded = !error;
    return error;
}

/* Makes STREAM wait for the other lanes' short kernels. */
static cudaError_t wait_for_shorts(const struct cooperative_lane *lane, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    for (struct cooperative_lane *other = lanes; other && !error; other = other->next) {
        if (other == lane || other->device != lane->device || !other->has_short) continue;
        error = record_short(other);
        if (error) continue;
        other->has_short = cudaEventQuery(other->drained) == cudaErrorNotReady;
        cudaGetLastError(); /* so that the next check does not see it */
        if (other->has_short) error = cudaStreamWaitEvent(stream, other->drained, 0);
    }
    return error;
}

static cudaError_t wait_for_others(struct cooperative_lane *lane) {
    struct cooperative_lane *const last = last_long[lane->device];
    cudaError_t error = cudaSuccess;
    if (last && last != lane) error = cudaStreamWaitEvent(lane->stream, last->done, 0);
    if (!error) error = wait_for_shorts(lane, lane->stream);
    for (struct cooperative_lane *other = lanes; other && !error; other = other->next)
        if (other->device == lane->device && searches_of(other))
            error = cudaStreamWaitEvent(lane->stream, other->many, 0);
    return error;
}

/* A kernel's first launch may load it, and CUDA may then wait until the GPU is idle: this must not
 * happen under the lock. */
static cudaError_t load_kernel(const void *kernel) {
    struct cudaFuncAttributes ignored;
    return cudaFuncGetAttributes(&ignored, kernel);
}

cudaStream_t cooperative_lane_begin_long(struct cooperative_lane *lane, cudaStream_t stream,
                                         const void *kernel, cudaError_t *error) {
    *error = cudaSuccess;
    if (!lane) return stream;
    *error = load_kernel(kernel);
    if (*error) return stream;
    pthread_mutex_lock(&turn);
    *error = wait_for_stream(lane->stream, stream, lane->before);
    if (!*error) *error = wait_for_others(lane);
    if (*error) pthread_mutex_unlock(&turn);
    return lane->stream;
}

/* Also called where the launch was refused: later turns then skip what this turn waits for. */
cudaError_t cooperative_lane_end_long(struct cooperative_lane *lane, cudaStream_t stream) {
    if (!lane) return cudaSuccess;
    cudaError_t error = cudaEventRecord(lane->done, lane->stream);
    if (!error && stream != lane->stream) error = cudaStreamWaitEvent(stream, lane->done, 0);
    if (!error) last_long[lane->device] = lane;
    pthread_mutex_unlock(&turn);
    return error;
}

cudaStream_t cooperative_lane_begin_many(struct cooperative_lane *lane, cudaStream_t stream,
                                         cudaError_t *error) {
    *error = cudaSuccess;
    if (!lane) return stream;
    pthread_mutex_lock(&turn);
    *error = record_short(lane); /* before the stream waits for what this turn launches */
    if (!*error) *error = wait_for_stream(lane->low_stream, stream, lane->before);
    if (!*error && is_long_under_way(lane->device))
        *error = cudaStreamWaitEvent(lane->low_stream, last_long[lane->device]->done, 0);
    if (!*error) *error = wait_for_shorts(lane, lane->low_stream);
    if (*error) pthread_mutex_unlock(&turn);
    return lane->low_stream;
}

cudaError_t cooperative_lane_end_many(struct cooperative_lane *lane, cudaStream_t stream,
                                      int searches) {
    if (!lane) return cudaSuccess;
    cudaError_t error = cudaEventRecord(lane->many, lane->low_stream);
    if (!error && stream != lane->low_stream) error = cudaStreamWaitEvent(stream, lane->many, 0);
    if (!error) lane->searches = searches;
    pthread_mutex_unlock(&turn);
    return error;
}

/* ---- the crowd */

/* The searches of a lane's last batch; 0 once it has ended. */
static int crowd_of(struct cooperative_lane *lane) {
    if (!lane->crowd || lane->gathers) return lane->crowd;
    if (cudaEventQuery(lane->left) != cudaErrorNotReady)
        lane->crowd = 0;
    else
        cudaGetLastError(); /* so that the next check does not see it */
    return lane->crowd;
}

/* Loads are parts of LEAST. ROUNDING: of the parts of all lanes. */
enum { WHOLE = 1 << 20, ROUNDING = 64 };

/* Long kernels and many searches wait for each other. So a number of searches near LEAST, which
 * rises and falls, must not change from one to the other and back: a device stays with many until
 * they are a third fewer. */
bool cooperative_lane_enter(struct cooperative_lane *lane, int count, int least, int *all) {
    const int own = (int)((int64_t)WHOLE * count / least);
    int64_t load = own;
    *all = count;
    if (!lane) return count >= least;
    pthread_mutex_lock(&turn);
    for (struct cooperative_lane *other = lanes; other; other = other->next) {
        if (other == lane || other->device != lane->device || !crowd_of(other)) continue;
        *all += other->crowd;
        load += other->load;
    }
    bool *const many = &crowded[lane->device];
    *many = load + ROUNDING >= (*many ? WHOLE / 3 * 2 : WHOLE);
    lane->crowd = count;
    lane->load = own;
    lane->gathers = true;
    const bool result = *many;
    pthread_mutex_unlock(&turn);
    return result;
}

cudaError_t cooperative_lane_leave(struct cooperative_lane *lane, cudaStream_t stream) {
    if (!lane || !lane->gathers) return cudaSuccess;
    pthread_mutex_lock(&turn);
    const cudaError_t error = cudaEventRecord(lane->left, stream);
    lane->gathers = false;
    pthread_mutex_unlock(&turn);
    return error;
}

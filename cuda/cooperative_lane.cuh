// SPDX-License-Identifier: Apache-2.0
/* cooperative_lane.cuh - turns of kernels whose blocks must all run at once, among the lanes of a
 * process.
 *
 * Used by:  device_cuda.cu opens one for each lane; cooperative.cuh and carving take turns.
 * Owns:     its events, until cooperative_lane_close().
 * Fails:    as check.cuh says. A turn whose beginning failed must not be ended.
 * Threads:  a turn belongs to the lane's thread. It holds the process's lock, so only a launch
 *           belongs between its beginning and its end.
 * Limits:   the lanes of one process. Processes that share a GPU take turns with the whole of it,
 *           or have parts of their own (MIG, MPS with percentages).
 *
 * How it works. There are two kinds of kernels whose blocks wait for one another. A long one
 * (carving) runs for milliseconds to minutes on a fixed set of multiprocessors; a short one
 * (histeq, clahe) runs on all, and reads a picture twice. The rules:
 *   1 One long kernel runs at a time: the next one waits in its stream for its end. Two whose
 *     blocks are half resident would wait for each other for ever. And a kernel that waits on the
 *     GPU itself for room blocks all others of its priority, in any stream.
 *   2 A long kernel leaves multiprocessors free (cooperative_share()).
 *   3 While a long kernel is queued or runs, short ones are refused with
 *     cudaErrorCooperativeLaunchTooLarge; their operator launches blocks that do not wait instead.
 *   4 A long kernel begins when the short ones queued before it are done.
 *   5 A long kernel is queued on its lane's stream for short work, even from a batch on the other
 *     stream: it must get its place within microseconds, or others' blocks take the multiprocessors
 *     that its first blocks wait for. Priorities preempt no running block.
 *   6 So is a short one: among kernels of one priority, one gets all its places before the next. An
 *     H200 does the same with two priorities, but no document promises it, and if each kernel got a
 *     part of the places, both would wait for ever.
 *   7 A launch of many searches (carve/one_block) has blocks that wait for no other, but fills the
 *     GPU for milliseconds. So it has low priority: its blocks come after those of all kernels that
 *     wait for room, such as codecs'. It begins when the long kernel and the short ones queued
 *     before it are done, and a long one when it is done; short ones are refused meanwhile. Any
 *     number of such launches run beside one another.
 * All waiting is by events, on the GPU: no lane's thread waits for another's to begin a turn.
 */
#ifndef BURIN_COOPERATIVE_LANE_CUH
#define BURIN_COOPERATIVE_LANE_CUH

#include "pipeline/status.h"

#include <cuda_runtime.h>
#include <stdbool.h>

struct cooperative_lane {
    struct cooperative_lane *next; /* in the list of the process's lanes */
    int device;
    cudaStream_t stream, low_stream;   /* of high and of low priority */
    bool has_short;                    /* its last short kernel may still run */
    bool is_recorded;                  /* `drained` is behind that kernel */
    int searches;                      /* of its last launch of many */
    int crowd, load;                   /* searches of its last batch of these; see enter */
    bool gathers;                      /* that batch is being queued */
    cudaEvent_t before, drained, done; /* `done`: of the lane's last long kernel */
    cudaEvent_t many, left;            /* ends: of its last launch of many; of that batch */
};

enum status cooperative_lane_open(struct cooperative_lane *lane, int device, cudaStream_t stream,
                                  cudaStream_t low_stream, struct failure *failure);

/* Requires that its streams are idle. LANE may be zeroed. */
void cooperative_lane_close(struct cooperative_lane *lane);

/* Begins a turn after all that is queued on STREAM. Returns the stream to launch on. An *ERROR
 * means that no turn began: cudaErrorCooperativeLaunchTooLarge while a long kernel or a launch of
 * many searches has the GPU.
 * LANE: NULL where there are no other lanes. */
cudaStream_t cooperative_lane_begin_short(struct cooperative_lane *lane, cudaStream_t stream,
                                          cudaError_t *error);

/* Makes what is queued on STREAM from now on wait for the kernel, if one was launched. */
cudaError_t cooperative_lane_end_short(struct cooperative_lane *lane, cudaStream_t stream);

/* The same for the long kernel KERNEL. */
cudaStream_t cooperative_lane_begin_long(struct cooperative_lane *lane, cudaStream_t stream,
                                         const void *kernel, cudaError_t *error);

cudaError_t cooperative_lane_end_long(struct cooperative_lane *lane, cudaStream_t stream);

/* Begins a turn for a launch of many searches after all that is queued on STREAM. Returns the
 * stream to launch on; an *ERROR means that no turn began. */
cudaStream_t cooperative_lane_begin_many(struct cooperative_lane *lane, cudaStream_t stream,
                                         cudaError_t *error);
/* Ends it, also where the launch was refused, and makes STREAM wait for it. */
cudaError_t cooperative_lane_end_many(struct cooperative_lane *lane, cudaStream_t stream,
                                      int searches);

/* Counts COUNT searches in, which the lane queues by long kernels or as many at once. Returns true
 * if the latter is quicker, which it is from LEAST on: with those of other lanes, of either kind,
 * they are as many; or nearly, and the device's last ones were launched so. *ALL: with those of
 * other lanes. */
bool cooperative_lane_enter(struct cooperative_lane *lane, int count, int least, int *all);
/* They are all queued on STREAM. */
cudaError_t cooperative_lane_leave(struct cooperative_lane *lane, cudaStream_t stream);

#endif

// SPDX-License-Identifier: Apache-2.0
/* cooperative_lane.cuh - turns of kernels of which all blocks must run at once, among the lanes of
 * a process.
 *
 * Used by:  device_cuda.cu opens one for each lane; cooperative.cuh and carving take turns.
 * Owns:     its events.
 * Fails:    as check.cuh says. A turn that was not begun is not ended.
 * Threads:  a turn belongs to the lane's thread; it holds the process's lock, so only a launch
 *           belongs between its beginning and its end.
 * Limits:   the lanes of one process. Processes that share a GPU take turns of the whole of it, or
 *           have parts of their own (MIG, MPS with percentages).
 *
 * How it works. There are two kinds. A long one (carving) runs for milliseconds to minutes on a
 * fixed set of multiprocessors; a short one (histeq, clahe) on all that are there, and reads a
 * picture twice. The rules:
 *   1 One long kernel at a time: the next one waits in its stream for the end of the one before.
 *     Two whose blocks are half resident would wait for each other for ever. And a kernel that
 *     waits on the GPU itself for room stands before all others of its priority, of any stream.
 *   2 A long kernel leaves multiprocessors free (cooperative_share()).
 *   3 While a long one is queued or runs, short ones are not launched: their operator does the same
 *     in launches without waiting blocks (cudaErrorCooperativeLaunchTooLarge tells it so).
 *   4 A long kernel begins when the short ones queued before it are done.
 *   5 A long kernel is queued on its lane's stream for short work, also from a batch that has the
 *     other stream: it must get its place within microseconds, or others' blocks take the
 *     multiprocessors that its first blocks wait for. Priorities preempt no block that runs.
 *   6 A short one likewise: of kernels of one priority one gets all its places before the next. Of
 *     two priorities an H200 does so too, but nothing written says that each cannot get a part of
 *     them, and then both would wait for ever.
 * All waiting is by events, on the GPU: no lane's thread waits for another.
 */
#ifndef BURIN_COOPERATIVE_LANE_CUH
#define BURIN_COOPERATIVE_LANE_CUH

#include "pipeline/status.h"

#include <cuda_runtime.h>
#include <stdbool.h>

struct cooperative_lane {
    struct cooperative_lane *next; /* the process's */
    int device;
    cudaStream_t stream;               /* of high priority */
    bool has_short;                    /* there may be one that long ones have not waited for */
    cudaEvent_t before, drained, done; /* DONE: the lane's last long kernel */
};

enum status cooperative_lane_open(struct cooperative_lane *lane, int device, cudaStream_t stream,
                                  struct failure *failure);

/* Its streams are idle. A zeroed one may be closed too. */
void cooperative_lane_close(struct cooperative_lane *lane);

/* Behind all that is queued on STREAM. Returns where to launch it; *ERROR: nothing was begun, as
 * cudaErrorCooperativeLaunchTooLarge while a long kernel has the GPU. LANE: NULL where it is alone.
 */
cudaStream_t cooperative_lane_begin_short(struct cooperative_lane *lane, cudaStream_t stream,
                                          cudaError_t *error);

/* What is queued on STREAM from now on comes behind the kernel, if one was launched. */
cudaError_t cooperative_lane_end_short(struct cooperative_lane *lane, cudaStream_t stream);

/* For KERNEL; else as for a short one. */
cudaStream_t cooperative_lane_begin_long(struct cooperative_lane *lane, cudaStream_t stream,
                                         const void *kernel, cudaError_t *error);

/* What is queued on STREAM from now on comes behind the kernel, if one was launched. */
cudaError_t cooperative_lane_end_long(struct cooperative_lane *lane, cudaStream_t stream);

#endif

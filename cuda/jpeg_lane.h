// SPDX-License-Identifier: Apache-2.0
/* jpeg_lane.h - JPEGs that the GPU's own decoder takes, straight into a lane's inputs, with the
 * samples that libjpeg-turbo gives.
 *
 * Method:  nvJPEG's hardware back end gives Y, Cb and Cr before upsampling, which were found equal
 *          to libjpeg's (accurate integer inverse transform) in every sample; its own upsampling
 *          and conversion are not. Those are done here as libjpeg-turbo does them: "fancy"
 *          triangle filter, then the integer YCbCr conversion of jdcolor.c's tables.
 * Owns:    a jpeg_library one handle for the process; a jpeg_lane its decoder state.
 * Fails:   quietly: where nvJPEG, its hardware decoder or a file is refused, the caller uses the
 *          cores.
 * Threads: jpeg_library_open once, before lanes; a jpeg_lane belongs to its lane's thread.
 */
#ifndef BURIN_JPEG_LANE_H
#define BURIN_JPEG_LANE_H

#include "pipeline/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct jpeg_library; /* nvJPEG, opened at run time */
struct jpeg_lane;
struct CUstream_st; /* a cudaStream_t points to it: tests that gcc compiles see no CUDA header */

/* For the thread's current CUDA device. NULL: no nvJPEG, or this GPU has no decoder in hardware. */
struct jpeg_library *jpeg_library_open(void);
void jpeg_library_close(struct jpeg_library *library); /* may be NULL */

/* Warms the decoder with batches of small JPEGs of its own, so that nothing is set up on the way of
 * a request, and compares what comes of them with the CPU's codec. NULL: it failed, or this GPU
 * gives other samples. */
struct jpeg_lane *jpeg_lane_open(struct jpeg_library *library, struct CUstream_st *stream);
/* The stream has been waited for. */
void jpeg_lane_close(struct jpeg_lane *lane); /* may be NULL */

/* Bytes for the planes of COUNT JPEGs at once. */
size_t jpeg_lane_work(const struct device_jpeg *jpegs, int count);

/* Queues it all on the stream: one call of nvJPEG for the batch, one kernel for upsampling,
 * conversion and orientation into jpegs[i].into (device memory). COUNT is 1..CUDA_BATCH_MAX, and
 * all are gray or all in colour. PLANES: jpeg_lane_work bytes of device memory, 256-byte aligned;
 * they and the files stay as they are until the stream is done. The stream is idle: nvJPEG writes
 * the planes when it is called, in no order with what the stream holds. false: nothing was queued
 * that writes into `into`; once the stream is idle the lane is as before, for other JPEGs.
 * A file that is damaged within its scan is not refused: what comes of it is undefined, but lies
 * within `into`. So give it only what device_jpeg_of takes. */
bool jpeg_lane_decode(struct jpeg_lane *lane, const struct device_jpeg *jpegs, int count,
                      uint8_t *planes);

#ifdef __cplusplus
}
#endif
#endif

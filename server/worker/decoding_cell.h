// SPDX-License-Identifier: Apache-2.0
/* decoding_cell.h - a process that decodes images by libraries with a bad record, and does nothing
 * else.
 *
 * It maps one slot, in memory of its own, and shares nothing else with anybody. A job's image is
 * decoded from there to there: rows without padding at `pixels_offset`, the profile behind them.
 * The image has the shape that the front has read in the header; a file that turns out to be
 * otherwise is broken. Neither plan nor result exist here.
 *
 * Used by:  command_worker.c; operators_worker.h has its other end.
 * Owns:     nothing: SLOTS and the channel are the caller's.
 * Fails:    decoding_cell_run returns 0 when the channel is closed, WORKER_FAILED if the process
 *           cannot be confined.
 * Threads:  one that decodes, and the heartbeat's. The libraries start none.
 * Limits:   one job at a time. Memory: what the header promises by the format's record, or
 *           codec_memory_bytes if that is less; a decoder that takes more fails or ends the
 *           process. Time: the other end kills the process.
 */
#ifndef BURIN_DECODING_CELL_H
#define BURIN_DECODING_CELL_H

#include "server/jobs/slot.h"

int decoding_cell_run(struct slots *slots, int channel);

#endif

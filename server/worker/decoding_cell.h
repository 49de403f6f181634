// SPDX-License-Identifier: Apache-2.0
/* decoding_cell.h - a process that reads and writes images by libraries with a bad record, and does
 * nothing else.
 *
 * It maps one slot, in memory of its own, and shares nothing else with anybody. A job's image is
 * decoded from there to there: rows without padding at `pixels_offset`, the profile behind them.
 * The image has the shape that the front has read in the header; a file that turns out to be
 * otherwise is broken. Results that are `apart` are encoded in the same way, from rows that the
 * plan's run has left. Plans are run elsewhere.
 *
 * Used by:  command_worker.c; operators_worker.h has its other end.
 * Owns:     nothing: SLOTS and the channel are the caller's.
 * Fails:    decoding_cell_run returns 0 when the channel is closed, WORKER_FAILED if the process
 *           cannot be confined.
 * Threads:  one that does jobs, and the heartbeat's. The libraries start none.
 * Limits:   one job at a time. Memory: of a decoder what the header promises by the format's
 *           record, or codec_memory_bytes if that is less, of an encoder cpu_memory_bytes; a codec
 *           that takes more fails or ends the process. Time: the other end kills the process.
 */
#ifndef BURIN_DECODING_CELL_H
#define BURIN_DECODING_CELL_H

#include "server/jobs/slot.h"

int decoding_cell_run(struct slots *slots, int channel);

#endif

// SPDX-License-Identifier: Apache-2.0
/* run_fit.h - files that a device's codec made and that are larger than asked are made again there,
 * at lower qualities: the pixels are on the device still.
 *
 * Used by:  run.c, behind a batch.
 * Owns:     nothing.
 * Fails:    a file that does not fit at the lowest quality is its item's failure alone.
 * Threads:  the lane's.
 * Limits:   SEARCH_TRIES_MAX rounds more; each makes every file that is still searched for once.
 */
#ifndef BURIN_RUN_FIT_H
#define BURIN_RUN_FIT_H

#include "pipeline/run.h"

/* The parts of TREE have run, those items of which a file is wanted have one or are refused. TIMES
 * are added to. */
enum status run_fit(struct lane *lane, const struct run_tree *tree, struct lane_times *times,
                    struct failure *failure);

#endif

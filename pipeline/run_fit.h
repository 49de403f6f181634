// SPDX-License-Identifier: Apache-2.0
/* run_fit.h - files that are larger than their max_bytes are encoded again, at lower qualities.
 *
 * Used by:  run.c, when a batch's files are there.
 * Owns:     nothing.
 * Fails:    an item whose file fits at no quality fails alone.
 * Threads:  the lane's.
 * Limits:   SEARCH_TRIES_MAX rounds.
 */
#ifndef BURIN_RUN_FIT_H
#define BURIN_RUN_FIT_H

#include "pipeline/run.h"

/* Adds to TIMES. */
enum status run_fit(struct lane *lane, const struct run_tree *tree, struct lane_times *times,
                    struct failure *failure);

#endif

// SPDX-License-Identifier: Apache-2.0
/* self_test.h - a job with a known answer, which shows that a worker's device still computes.
 *
 * A small made picture is equalized on the lane; the digest of the result is compared with one that
 * was computed apart from this program.
 *
 * Used by:  worker.c, when a lane is opened and whenever the front asks.
 * Fails:    STATUS_DEVICE when the answer is wrong or the device failed; then the process should
 *           end.
 * Threads:  the lane's own.
 */
#ifndef BURIN_SELF_TEST_H
#define BURIN_SELF_TEST_H

#include "pipeline/device.h"

enum status self_test_run(struct lane *lane, struct failure *failure);

#endif

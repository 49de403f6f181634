// SPDX-License-Identifier: Apache-2.0
/* self_test.h - a job with a known answer, which shows that a worker's device still computes.
 *
 * It equalizes a small generated picture, and compares the result's digest with one that a
 * different program computed. A device that encodes JPEG must also produce the CPU's bytes.
 *
 * Used by:  worker.c, when a lane is opened and whenever the front asks.
 * Fails:    STATUS_DEVICE when the answer is wrong or the device failed; the process should end.
 * Threads:  the lane's own.
 */
#ifndef BURIN_SELF_TEST_H
#define BURIN_SELF_TEST_H

#include "pipeline/device.h"

enum status self_test_run(struct lane *lane, struct failure *failure);

#endif

// SPDX-License-Identifier: Apache-2.0
/* canary.h - the known-answer job by which a worker proves that its device still computes.
 *
 * A small made picture is equalized on the lane; the digest of the result is compared with one that
 * was computed apart from this program.
 */
#ifndef BURIN_CANARY_H
#define BURIN_CANARY_H

#include "pipeline/device.h"

/* STATUS_OK; STATUS_DEVICE when the answer is wrong or the device failed. */
enum status canary_run(struct lane *lane, struct failure *failure);

#endif

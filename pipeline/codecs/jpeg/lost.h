// SPDX-License-Identifier: Apache-2.0
/* lost.h - a segment of a JPEG whose marker has lost its 0xff: all readers pass over that segment,
 * and the picture may be another without it.
 *
 * Used by:  decoder.c, baseline.c, for files with bytes between segments.
 * Threads:  any.
 * Limits:   only a segment that reaches up to the next one is known. A frame, or a table that a
 *           scan needs, is not looked for: without those libjpeg refuses the file.
 */
#ifndef BURIN_JPEG_LOST_H
#define BURIN_JPEG_LOST_H

#include "pipeline/probe.h"

/* Whether the bytes before the first scan have a lost segment on which pixels depend. */
bool jpeg_lost_matters(const uint8_t *bytes, size_t length, const struct probe *probe);

#endif

// SPDX-License-Identifier: Apache-2.0
/* codec.h - the half of the AVIF codec that reads.
 *
 * Used by:  avif.c, whose record has it.
 * Fails:    as format.h says.
 * Threads:  any.
 */
#ifndef BURIN_AVIF_CODEC_H
#define BURIN_AVIF_CODEC_H

#include "pipeline/codecs/codecs.h"

bool is_avif(const uint8_t *bytes, size_t length);
enum status avif_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                       struct failure *failure);
enum status avif_decode(const struct decoding *decoding);
uint64_t avif_decode_memory(const struct probe *probe);

#endif

// SPDX-License-Identifier: Apache-2.0
/* codec.h - the HEIC codec, which only reads.
 *
 * Used by:  heic.c, whose record has it.
 * Fails:    as format.h says.
 * Threads:  any.
 */
#ifndef BURIN_HEIC_CODEC_H
#define BURIN_HEIC_CODEC_H

#include "pipeline/codecs/codecs.h"

bool is_heic(const uint8_t *bytes, size_t length);
enum status heic_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                       struct failure *failure);
enum status heic_decode(const struct decoding *decoding);
uint64_t heic_decode_memory(const struct probe *probe);

#endif

// SPDX-License-Identifier: Apache-2.0
/* still.h - a HEIC that a GPU's video engine can decode, as its tiles are put to the engine.
 *
 * Used by:  server/jobs/codec_choice.c, by the format's record, in the front too;
 *           cuda/codecs/hevc_decode.cu.
 * Owns:     nothing; all points into the file's bytes.
 * Fails:    returns false: what is broken, or unusual (parameters.h), is libde265's.
 * Threads:  any.
 * Limits:   tiles of 144 to 8192 pixels a side, which all engines take, with the same hvcC.
 */
#ifndef BURIN_HEIC_STILL_H
#define BURIN_HEIC_STILL_H

#include "pipeline/codec.h"
#include "pipeline/codecs/heic/header.h"
#include "pipeline/codecs/heic/parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heic_still {
    const uint8_t *bytes; /* the file */
    size_t length;
    struct heic_header header; /* `nclx`: the file's, else that of the first tile's SPS */
    uint32_t notes;            /* without those of the profile */
};

struct heic_still_tile {
    struct hevc_parameters parameters;
    struct hevc_unit slice; /* the only one */
};

/* PROBE is of the file, within LIMITS. */
bool heic_still_read(const uint8_t *bytes, size_t length, const struct probe *probe,
                     const struct codec_limits *limits, struct heic_still *still);

static inline uint32_t heic_still_count(const struct heic_still *still, bool alpha) {
    return still->header.tiling[alpha].columns * still->header.tiling[alpha].rows;
}

/* TILES: room for heic_still_count() tiles of the colours, or of ALPHA. */
bool heic_still_tiles(const struct heic_still *still, bool alpha, struct heic_still_tile *tiles);

/* The function of format.h: keeps the profile. */
enum status heic_read_metadata(const struct decoding *decoding);

#ifdef __cplusplus
}
#endif
#endif

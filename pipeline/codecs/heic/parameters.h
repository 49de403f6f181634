// SPDX-License-Identifier: Apache-2.0
/* parameters.h - all that a video engine must know of a still HEVC picture before its bits.
 *
 * Input is hostile: each number is held within the standard's bounds. A picture that is refused
 * here may still be sound, and is the software decoder's.
 *
 * Used by:  heic/still.c; cuda/video_engine.c.
 * Owns:     nothing.
 * Fails:    returns false; also for what no camera writes: scaling lists, extensions, several
 *           parameter sets of a kind or of other layers, sets of references that are inferred,
 *           pictures that are not shown, several slices (libde265 1.0.11 filters chroma at their
 *           edges in another way than the standard and the engine do), other chroma than 4:2:0,
 *           more than 10 bits; and for what libde265 refuses.
 * Threads:  any.
 * Source:   ITU-T H.265, 7.3.2.1 (VPS), 7.3.2.2 (SPS), 7.3.2.3 (PPS), 7.3.6.1 (slices) and E.2.1
 *           (VUI); libde265's sources.
 */
#ifndef BURIN_HEVC_PARAMETERS_H
#define BURIN_HEVC_PARAMETERS_H

#include "pipeline/codecs/heic/configuration.h"

enum { HEVC_TILES_MAX = 10 /* columns, or rows, as libde265 takes them */ };

/* The standard's syntax elements, with what it subtracts added again: log2_min_block is
 * log2_min_luma_coding_block_size_minus3 + 3. */
struct hevc_parameters {
    /* sequence */
    uint32_t width, height; /* as coded */
    uint32_t left, top;     /* samples of luma before the part that is shown */
    uint8_t bits;           /* a sample */
    uint8_t log2_poc_lsb;
    uint8_t log2_min_block, log2_diff_block;         /* coding blocks of luma */
    uint8_t log2_min_transform, log2_diff_transform; /* transform blocks */
    uint8_t depth_inter, depth_intra;                /* of the hierarchy of transforms */
    bool amp, sao, temporal_mvp, strong_intra_smoothing;
    bool pcm, pcm_filter_off;
    uint8_t pcm_bits_luma, pcm_bits_chroma, log2_min_pcm, log2_diff_pcm;
    uint8_t short_term_sets, long_term_pictures;
    bool long_term;
    bool full_range;           /* of the VUI; false without */
    uint8_t primaries, matrix; /* of H.273, of the VUI; 2, unspecified, without */

    /* picture */
    uint8_t sequence_id, picture_id;
    bool dependent_slices, output_flag, sign_hiding, cabac_init;
    uint8_t extra_slice_bits, references[2];
    int8_t init_qp; /* 26 and more */
    bool constrained_intra, transform_skip, qp_delta, slice_chroma_offsets;
    uint8_t qp_delta_depth;
    int8_t cb_offset, cr_offset;
    bool weighted, weighted_bi, bypass, entropy_sync;
    bool tiles, uniform, filter_across_tiles, filter_across_slices;
    uint8_t columns, rows;
    uint16_t widths[HEVC_TILES_MAX], heights[HEVC_TILES_MAX]; /* of tiles, in coding tree blocks */
    bool deblocking_override, deblocking_off;
    int8_t half_beta_offset, half_tc_offset;
    bool lists_modification, slice_extension;
    uint8_t log2_parallel_merge;
};

bool hevc_parameters_read(const struct hevc_configuration *configuration,
                          struct hevc_parameters *parameters);

/* The only slice of an item, which is an intra slice of an IDR picture. */
bool hevc_slice_find(const struct hevc_configuration *configuration,
                     const struct hevc_parameters *parameters, const uint8_t *bytes, size_t length,
                     struct hevc_unit *slice);

#endif

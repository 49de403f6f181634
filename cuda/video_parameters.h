// SPDX-License-Identifier: Apache-2.0
/* video_parameters.h - the parameters of a still HEVC picture in the members that a video engine
 * reads.
 *
 * Used by:  video_engine.c.
 * Owns:     nothing.
 * Fails:    never.
 * Threads:  any.
 * Source:   NVIDIA's Video Codec SDK, by the headers of ffnvcodec (MIT).
 */
#ifndef BURIN_VIDEO_PARAMETERS_H
#define BURIN_VIDEO_PARAMETERS_H

#include "pipeline/codecs/heic/parameters.h"

#include <ffnvcodec/dynlink_cuda.h>

#include <ffnvcodec/dynlink_cuviddec.h>

_Static_assert(sizeof((CUVIDHEVCPICPARAMS *)0)->column_width_minus1 >=
                       HEVC_TILES_MAX * sizeof(uint16_t) &&
                   sizeof((CUVIDHEVCPICPARAMS *)0)->row_height_minus1 >=
                       HEVC_TILES_MAX * sizeof(uint16_t),
               "the engine must have room for all tiles");

static inline void describe_sequence(const struct hevc_parameters *p, CUVIDHEVCPICPARAMS *to) {
    to->pic_width_in_luma_samples = (int)p->width;
    to->pic_height_in_luma_samples = (int)p->height;
    to->log2_min_luma_coding_block_size_minus3 = p->log2_min_block - 3;
    to->log2_diff_max_min_luma_coding_block_size = p->log2_diff_block;
    to->log2_min_transform_block_size_minus2 = p->log2_min_transform - 2;
    to->log2_diff_max_min_transform_block_size = p->log2_diff_transform;
    to->max_transform_hierarchy_depth_inter = p->depth_inter;
    to->max_transform_hierarchy_depth_intra = p->depth_intra;
    to->pcm_enabled_flag = p->pcm;
    if (p->pcm) {
        to->log2_min_pcm_luma_coding_block_size_minus3 = p->log2_min_pcm - 3;
        to->log2_diff_max_min_pcm_luma_coding_block_size = p->log2_diff_pcm;
        to->pcm_sample_bit_depth_luma_minus1 = p->pcm_bits_luma - 1;
        to->pcm_sample_bit_depth_chroma_minus1 = p->pcm_bits_chroma - 1;
    }
    to->pcm_loop_filter_disabled_flag = p->pcm_filter_off;
    to->strong_intra_smoothing_enabled_flag = p->strong_intra_smoothing;
    to->amp_enabled_flag = p->amp;
    to->log2_max_pic_order_cnt_lsb_minus4 = p->log2_poc_lsb - 4;
    to->num_short_term_ref_pic_sets = p->short_term_sets;
    to->long_term_ref_pics_present_flag = p->long_term;
    to->num_long_term_ref_pics_sps = p->long_term_pictures;
    to->sps_temporal_mvp_enabled_flag = p->temporal_mvp;
    to->sample_adaptive_offset_enabled_flag = p->sao;
    to->bit_depth_luma_minus8 = to->bit_depth_chroma_minus8 = p->bits - 8;
}

static inline void describe_parts(const struct hevc_parameters *p, CUVIDHEVCPICPARAMS *to) {
    to->tiles_enabled_flag = p->tiles;
    to->uniform_spacing_flag = p->uniform;
    to->num_tile_columns_minus1 = p->columns - 1;
    to->num_tile_rows_minus1 = p->rows - 1;
    for (int i = 0; i < p->columns && p->tiles; i++) to->column_width_minus1[i] = p->widths[i] - 1;
    for (int i = 0; i < p->rows && p->tiles; i++) to->row_height_minus1[i] = p->heights[i] - 1;
    to->loop_filter_across_tiles_enabled_flag = p->filter_across_tiles;
    to->loop_filter_across_slices_enabled_flag = p->filter_across_slices;
}

static inline void describe_picture(const struct hevc_parameters *p, CUVIDHEVCPICPARAMS *to) {
    to->IrapPicFlag = to->IdrPicFlag = 1;
    to->dependent_slice_segments_enabled_flag = p->dependent_slices;
    to->slice_segment_header_extension_present_flag = p->slice_extension;
    to->sign_data_hiding_enabled_flag = p->sign_hiding;
    to->cu_qp_delta_enabled_flag = p->qp_delta;
    to->diff_cu_qp_delta_depth = p->qp_delta_depth;
    to->init_qp_minus26 = p->init_qp - 26;
    to->pps_cb_qp_offset = p->cb_offset;
    to->pps_cr_qp_offset = p->cr_offset;
    to->constrained_intra_pred_flag = p->constrained_intra;
    to->weighted_pred_flag = p->weighted;
    to->weighted_bipred_flag = p->weighted_bi;
    to->transform_skip_enabled_flag = p->transform_skip;
    to->transquant_bypass_enabled_flag = p->bypass;
    to->entropy_coding_sync_enabled_flag = p->entropy_sync;
    to->log2_parallel_merge_level_minus2 = p->log2_parallel_merge - 2;
    to->num_extra_slice_header_bits = p->extra_slice_bits;
    to->output_flag_present_flag = p->output_flag;
    to->num_ref_idx_l0_default_active_minus1 = p->references[0] - 1;
    to->num_ref_idx_l1_default_active_minus1 = p->references[1] - 1;
    to->lists_modification_present_flag = p->lists_modification;
    to->cabac_init_present_flag = p->cabac_init;
    to->pps_slice_chroma_qp_offsets_present_flag = p->slice_chroma_offsets;
    to->deblocking_filter_override_enabled_flag = p->deblocking_override;
    to->pps_deblocking_filter_disabled_flag = p->deblocking_off;
    to->pps_beta_offset_div2 = p->half_beta_offset;
    to->pps_tc_offset_div2 = p->half_tc_offset;
    for (size_t i = 0; i < sizeof to->RefPicIdx / sizeof *to->RefPicIdx; i++) to->RefPicIdx[i] = -1;
}

/* TO is cleared before. */
static inline void video_parameters(const struct hevc_parameters *p, CUVIDHEVCPICPARAMS *to) {
    describe_sequence(p, to);
    describe_parts(p, to);
    describe_picture(p, to);
}

#endif

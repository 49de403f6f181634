// SPDX-License-Identifier: Apache-2.0
/* parameter_sets.h - parameter sets with every element at random, written as H.265 orders them. */
#ifndef BURIN_TESTS_PARAMETER_SETS_H
#define BURIN_TESTS_PARAMETER_SETS_H

#include "pipeline/codecs/heic/parameters.h"

#include "tests/noise.h"

#include <stdlib.h>
#include <string.h>

/* ---- a writer */

struct writer {
    uint8_t raw[4096], bytes[8192];
    size_t bits, length;
};

static inline void put(struct writer *w, unsigned count, uint32_t value) {
    for (unsigned i = count; i-- > 0; w->bits++)
        if (value >> i & 1) w->raw[w->bits / 8] |= (uint8_t)(0x80 >> w->bits % 8);
}

static inline void put_ue(struct writer *w, uint32_t value) {
    unsigned zeros = 0;
    while ((value + 1) >> (zeros + 1)) zeros++;
    put(w, zeros, 0);
    put(w, zeros + 1, value + 1);
}

static inline void put_se(struct writer *w, int value) {
    put_ue(w, value > 0 ? 2 * (uint32_t)value - 1 : 2 * (uint32_t)-value);
}

static inline void begin(struct writer *w, unsigned type) {
    memset(w, 0, sizeof *w);
    put(w, 16, type << 9 | 1);
}

/* The stop bit, then 03 behind each two zeros that a byte up to 3 would follow. */
static inline struct hevc_unit end(struct writer *w) {
    unsigned zeros = 0;
    put(w, 1, 1);
    for (size_t i = 0; i < (w->bits + 7) / 8; i++) {
        if (zeros >= 2 && w->raw[i] <= 3) {
            w->bytes[w->length++] = 3;
            zeros = 0;
        }
        w->bytes[w->length++] = w->raw[i];
        zeros = w->raw[i] ? 0 : zeros + 1;
    }
    return (struct hevc_unit){ w->bytes, w->length };
}

/* ---- sets */

/* Written beside the parameters: choices of syntax that leave no trace in them. */
struct beside {
    unsigned sub_layers, chroma, chroma_bits, scaling, extension, picture_scaling,
        picture_extension, sequence_of_picture, hrd, buffering, restrictions[5];
    bool window, usability, predicted_sets;
    struct { /* the VPS */
        bool there;
        unsigned layers, sub_layers, layer_sets, hrds;
    } video;
};

static inline unsigned below(uint32_t *state, unsigned most) {
    return (noise_next(state) >> 8) % most;
}

static inline bool coin(uint32_t *state) {
    return below(state, 2);
}

static inline void put_usability(struct writer *w, const struct hevc_parameters *p, uint32_t *state,
                                 const struct beside *beside) {
    const bool own = coin(state);
    put(w, 1, 1);
    put(w, 8, own ? 255 : 1);
    if (own) put(w, 32, 0x00100009);
    put(w, 2, 3);
    put(w, 1, 1);
    put(w, 3, 5);
    put(w, 1, p->full_range);
    put(w, 1, p->primaries != 2 || p->matrix != 2);
    if (p->primaries != 2 || p->matrix != 2) {
        put(w, 8, p->primaries);
        put(w, 8, 13);
        put(w, 8, p->matrix);
    }
    put(w, 1, 1);
    put_ue(w, 2);
    put_ue(w, 3);
    put(w, 3, 0);
    put(w, 1, 1);
    for (unsigned i = 0; i < 4; i++) put_ue(w, i);
    put(w, 1, 1);
    put(w, 32, 1001);
    put(w, 32, 30000);
    put(w, 1, 1);
    put_ue(w, 65535);
    put(w, 1, beside->hrd);
    put(w, 1, 1);
    put(w, 3, 2);
    for (unsigned i = 0; i < 5; i++) put_ue(w, beside->restrictions[i]);
}

/* Sets of references: number i has i % 4 pictures before and i % 3 behind. PREDICTED: some
 * are said to be inferred, and yet written so. */
static inline void put_references(struct writer *w, const struct hevc_parameters *p,
                                  bool predicted) {
    put_ue(w, p->short_term_sets);
    for (unsigned i = 0; i < p->short_term_sets; i++) {
        if (i) put(w, 1, predicted && i % 2);
        put_ue(w, i % 4);
        put_ue(w, i % 3);
        for (unsigned j = 0; j < i % 4 + i % 3; j++) {
            put_ue(w, j);
            put(w, 1, 1);
        }
    }
    put(w, 1, p->long_term);
    if (!p->long_term) return;
    put_ue(w, p->long_term_pictures);
    for (unsigned i = 0; i < p->long_term_pictures; i++) put(w, p->log2_poc_lsb + 1u, i);
}

/* profile_tier_level of SUB_LAYERS below the whole. */
static inline void put_profile(struct writer *w, unsigned sub_layers) {
    for (int i = 0; i < 12; i++) put(w, 8, i < 6 ? 0x60 : 0);
    for (unsigned i = 0; i < sub_layers; i++) put(w, 2, i % 4);
    if (sub_layers) put(w, 2 * (8 - sub_layers), 0);
    for (unsigned i = 0; i < sub_layers; i++) {
        for (int j = 0; j < (i % 4 & 2 ? 11 : 0); j++) put(w, 8, 0);
        if (i % 4 & 1) put(w, 8, 93);
    }
}

/* BUFFERING: of the last layer. */
static inline void put_buffering(struct writer *w, unsigned sub_layers, unsigned buffering,
                                 uint32_t *state) {
    const bool all = coin(state);
    put(w, 1, all);
    for (unsigned i = all ? 0 : sub_layers; i <= sub_layers; i++) {
        put_ue(w, i < sub_layers ? i : buffering);
        put_ue(w, i);
        put_ue(w, 1000 * i);
    }
}

static inline struct hevc_unit put_video(struct writer *w, const struct beside *beside,
                                         uint32_t *state) {
    const bool timing = coin(state) || beside->video.hrds;
    begin(w, HEVC_VPS);
    put(w, 6, 3);
    put(w, 6, beside->video.layers);
    put(w, 3, beside->video.sub_layers);
    put(w, 1, 1);
    put(w, 16, 0xffff);
    put_profile(w, beside->video.sub_layers);
    put_buffering(w, beside->video.sub_layers, 5, state);
    put(w, 6, 0);
    put_ue(w, beside->video.layer_sets);
    put(w, 1, timing);
    if (timing) {
        put(w, 32, 1001);
        put(w, 32, 30000);
        put(w, 1, 1);
        put_ue(w, 4);
        put_ue(w, beside->video.hrds);
    }
    put(w, 1, 0);
    return end(w);
}

static inline struct hevc_unit put_sequence(struct writer *w, const struct hevc_parameters *p,
                                            const struct beside *beside, uint32_t *state) {
    begin(w, HEVC_SPS);
    put(w, 4, 0);
    put(w, 3, beside->sub_layers);
    put(w, 1, 1);
    put_profile(w, beside->sub_layers);
    put_ue(w, p->sequence_id);
    put_ue(w, beside->chroma);
    put_ue(w, p->width);
    put_ue(w, p->height);
    put(w, 1, beside->window);
    if (beside->window) {
        put_ue(w, p->left / 2);
        put_ue(w, 1);
        put_ue(w, p->top / 2);
        put_ue(w, 2);
    }
    put_ue(w, p->bits - 8u);
    put_ue(w, beside->chroma_bits - 8);
    put_ue(w, p->log2_poc_lsb - 4u);
    put_buffering(w, beside->sub_layers, beside->buffering, state);
    put_ue(w, p->log2_min_block - 3u);
    put_ue(w, p->log2_diff_block);
    put_ue(w, p->log2_min_transform - 2u);
    put_ue(w, p->log2_diff_transform);
    put_ue(w, p->depth_inter);
    put_ue(w, p->depth_intra);
    put(w, 1, beside->scaling);
    put(w, 1, p->amp);
    put(w, 1, p->sao);
    put(w, 1, p->pcm);
    if (p->pcm) {
        put(w, 4, p->pcm_bits_luma - 1u);
        put(w, 4, p->pcm_bits_chroma - 1u);
        put_ue(w, p->log2_min_pcm - 3u);
        put_ue(w, p->log2_diff_pcm);
        put(w, 1, p->pcm_filter_off);
    }
    put_references(w, p, beside->predicted_sets);
    put(w, 1, p->temporal_mvp);
    put(w, 1, p->strong_intra_smoothing);
    put(w, 1, beside->usability);
    if (beside->usability) put_usability(w, p, state, beside);
    put(w, 1, beside->extension);
    if (beside->extension) put(w, 8, 0x80);
    return end(w);
}

static inline struct hevc_unit put_picture(struct writer *w, const struct hevc_parameters *p,
                                           const struct beside *beside) {
    begin(w, HEVC_PPS);
    put_ue(w, p->picture_id);
    put_ue(w, beside->sequence_of_picture);
    put(w, 1, p->dependent_slices);
    put(w, 1, p->output_flag);
    put(w, 3, p->extra_slice_bits);
    put(w, 1, p->sign_hiding);
    put(w, 1, p->cabac_init);
    put_ue(w, p->references[0] - 1u);
    put_ue(w, p->references[1] - 1u);
    put_se(w, p->init_qp - 26);
    put(w, 1, p->constrained_intra);
    put(w, 1, p->transform_skip);
    put(w, 1, p->qp_delta);
    if (p->qp_delta) put_ue(w, p->qp_delta_depth);
    put_se(w, p->cb_offset);
    put_se(w, p->cr_offset);
    put(w, 1, p->slice_chroma_offsets);
    put(w, 1, p->weighted);
    put(w, 1, p->weighted_bi);
    put(w, 1, p->bypass);
    put(w, 1, p->tiles);
    put(w, 1, p->entropy_sync);
    if (p->tiles) {
        put_ue(w, p->columns - 1u);
        put_ue(w, p->rows - 1u);
        put(w, 1, p->uniform);
        for (int i = 0; !p->uniform && i + 1 < p->columns; i++) put_ue(w, p->widths[i] - 1u);
        for (int i = 0; !p->uniform && i + 1 < p->rows; i++) put_ue(w, p->heights[i] - 1u);
        put(w, 1, p->filter_across_tiles);
    }
    put(w, 1, p->filter_across_slices);
    const bool deblocking =
        p->deblocking_override || p->deblocking_off || p->half_beta_offset || p->half_tc_offset;
    put(w, 1, deblocking);
    if (deblocking) {
        put(w, 1, p->deblocking_override);
        put(w, 1, p->deblocking_off);
        if (!p->deblocking_off) put_se(w, p->half_beta_offset);
        if (!p->deblocking_off) put_se(w, p->half_tc_offset);
    }
    put(w, 1, beside->picture_scaling);
    put(w, 1, p->lists_modification);
    put_ue(w, p->log2_parallel_merge - 2u);
    put(w, 1, p->slice_extension);
    put(w, 1, beside->picture_extension);
    if (beside->picture_extension) put(w, 8, 0x80);
    return end(w);
}

/* ---- values */

/* Tiles of a picture of ACROSS x DOWN blocks, by the standard's formula or at random. */
static inline void choose_tiles(struct hevc_parameters *p, uint32_t across, uint32_t down,
                                uint32_t *state) {
    p->columns = (uint8_t)(1 + below(state, across < 10 ? across : 10));
    p->rows = (uint8_t)(1 + below(state, down < 10 ? down : 10));
    p->uniform = coin(state);
    p->filter_across_tiles = coin(state);
    for (int i = 0; i < p->columns; i++)
        p->widths[i] = (uint16_t)((i + 1) * across / p->columns - i * across / p->columns);
    for (int i = 0; i < p->rows; i++)
        p->heights[i] = (uint16_t)((i + 1) * down / p->rows - i * down / p->rows);
    if (!p->uniform && p->columns > 1 && p->widths[0] > 1) { /* another one of the same sum */
        p->widths[0]--;
        p->widths[p->columns - 1]++;
    }
}

static inline struct hevc_parameters choose(uint32_t *state, struct beside *beside) {
    struct hevc_parameters p = { .bits = (uint8_t)(8 + below(state, 3)) };
    p.log2_min_block = (uint8_t)(3 + below(state, 2));
    const unsigned block = 4 + below(state, 3);
    p.log2_diff_block = (uint8_t)(block > p.log2_min_block ? block - p.log2_min_block : 1);
    const unsigned tree = p.log2_min_block + p.log2_diff_block;
    p.log2_min_transform = (uint8_t)(2 + below(state, p.log2_min_block - 2u));
    const unsigned largest = tree < 5 ? tree : 5;
    p.log2_diff_transform = (uint8_t)below(state, largest - p.log2_min_transform + 1);
    p.width = (1 + below(state, 300)) << p.log2_min_block;
    p.height = (1 + below(state, 300)) << p.log2_min_block;
    p.depth_inter = (uint8_t)below(state, tree - p.log2_min_transform + 1);
    p.depth_intra = (uint8_t)below(state, tree - p.log2_min_transform + 1);
    *beside = (struct beside){ .sub_layers = below(state, 7), .chroma = 1, .chroma_bits = p.bits };
    beside->window = coin(state);
    beside->usability = coin(state);
    beside->buffering = 5 + below(state, 11);
    for (int i = 0; i < 5; i++) beside->restrictions[i] = below(state, i ? i < 3 ? 17 : 16 : 4096);
    beside->video.there = coin(state);
    beside->video.sub_layers = below(state, 7);
    beside->video.hrds = coin(state) ? below(state, 1024) : 0;
    p.primaries = p.matrix = 2;
    if (beside->usability) {
        p.full_range = coin(state);
        p.primaries = (uint8_t)below(state, 23);
        p.matrix = (uint8_t)below(state, 15);
    }
    if (beside->window) p.left = 2 * below(state, 100);
    if (beside->window) p.top = 2 * below(state, 100);
    p.log2_poc_lsb = (uint8_t)(4 + below(state, 13));
    p.amp = coin(state);
    p.sao = coin(state);
    p.temporal_mvp = coin(state);
    p.strong_intra_smoothing = coin(state);
    p.pcm = coin(state) && p.log2_min_block <= 5;
    if (p.pcm) {
        const unsigned most = tree < 5 ? tree : 5;
        p.pcm_bits_luma = (uint8_t)(1 + below(state, p.bits));
        p.pcm_bits_chroma = (uint8_t)(1 + below(state, p.bits));
        p.log2_min_pcm = p.log2_min_block;
        p.log2_diff_pcm =
            (uint8_t)below(state, (most - p.log2_min_pcm > 2 ? 2 : most - p.log2_min_pcm) + 1);
        p.pcm_filter_off = coin(state);
    }
    p.short_term_sets = (uint8_t)below(state, 65);
    p.long_term = coin(state);
    if (p.long_term) p.long_term_pictures = (uint8_t)below(state, 33);
    p.sequence_id = (uint8_t)below(state, 16);
    beside->sequence_of_picture = p.sequence_id;
    p.picture_id = (uint8_t)below(state, 64);
    p.dependent_slices = coin(state);
    p.output_flag = coin(state);
    p.sign_hiding = coin(state);
    p.cabac_init = coin(state);
    p.extra_slice_bits = (uint8_t)below(state, 8);
    for (int i = 0; i < 2; i++) p.references[i] = (uint8_t)(1 + below(state, 15));
    p.init_qp = (int8_t)((int)below(state, 52 + 6 * (p.bits - 8u)) - 6 * (p.bits - 8));
    p.constrained_intra = coin(state);
    p.transform_skip = coin(state);
    p.qp_delta = coin(state);
    if (p.qp_delta) p.qp_delta_depth = (uint8_t)below(state, p.log2_diff_block + 1u);
    p.cb_offset = (int8_t)((int)below(state, 25) - 12);
    p.cr_offset = (int8_t)((int)below(state, 25) - 12);
    p.slice_chroma_offsets = coin(state);
    p.weighted = coin(state);
    p.weighted_bi = coin(state);
    p.bypass = coin(state);
    p.entropy_sync = coin(state);
    p.tiles = coin(state);
    p.columns = p.rows = 1;
    p.uniform = p.filter_across_tiles = true;
    if (p.tiles)
        choose_tiles(&p, (p.width + (1u << tree) - 1) >> tree,
                     (p.height + (1u << tree) - 1) >> tree, state);
    p.filter_across_slices = coin(state);
    p.deblocking_override = coin(state);
    p.deblocking_off = coin(state);
    if (!p.deblocking_off) p.half_beta_offset = (int8_t)((int)below(state, 13) - 6);
    if (!p.deblocking_off) p.half_tc_offset = (int8_t)((int)below(state, 13) - 6);
    p.lists_modification = coin(state);
    p.slice_extension = coin(state);
    p.log2_parallel_merge = (uint8_t)(2 + below(state, tree - 1));
    return p;
}

static struct writer sequence, picture, video;

static inline struct hevc_configuration write_sets(const struct hevc_parameters *p,
                                                   const struct beside *beside, uint32_t *state) {
    struct hevc_configuration configuration = { .count = 2, .length_bytes = 4 };
    configuration.sets[0] = put_sequence(&sequence, p, beside, state);
    configuration.sets[1] = put_picture(&picture, p, beside);
    if (beside->video.there)
        configuration.sets[configuration.count++] = put_video(&video, beside, state);
    return configuration;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* How it works. Each set is read from its first bit to its last element; a reader that has run out
 * of bits, or an element beyond its bounds, makes the whole set fail at the end. */
#include "pipeline/codecs/heic/parameters.h"
#include "pipeline/codecs/heic/bits.h"

#include <string.h>

enum {
    HEAD_BITS = 16,
    IDR_W_RADL = 19,
    IDR_N_LP = 20,
    SLICES = 32, /* types below are slices */
    SLICE_INTRA = 2,
    UNITS_MAX = 16 /* of an item: the front, which has other clients, looks at all */
};

/* Bounds of the standard; of sides: of video engines. */
enum { SIDE_MAX = 8192, SHORT_TERM_SETS_MAX = 64, LONG_TERM_MAX = 32, PICTURES_MAX = 16 };
enum { SEGMENT_MAX = 4095, DENOMINATOR_MAX = 16, VECTOR_MAX = 15 };

/* Bounds of libde265: of numbers that are skipped, and of the VPS. */
enum { SKIPPED_MAX = (1 << 21) - 2, HRDS_MAX = 1023 };

enum { UNSPECIFIED = 2 }; /* primaries and matrix of H.273 */

/* ue(v) of at most MOST. */
static uint32_t take_up_to(struct bits *bits, uint32_t most) {
    const uint32_t value = take_golomb(bits);
    if (value > most) bits->failed = true;
    return bits->failed ? 0 : value;
}

static int8_t take_within(struct bits *bits, int least, int most) {
    const int32_t value = take_signed_golomb(bits);
    if (value < least || value > most) bits->failed = true;
    return bits->failed ? 0 : (int8_t)value;
}

static void skip_golombs(struct bits *bits, unsigned count) {
    for (unsigned i = 0; i < count; i++) take_up_to(bits, SKIPPED_MAX);
}

/* sps_max_dec_pic_buffering_minus1 and so on. Returns the first number of the last layer. */
static uint32_t skip_buffering(struct bits *bits, unsigned sub_layers) {
    uint32_t pictures = 0;
    for (unsigned left = take_bit(bits) ? sub_layers + 1 : 1; left; left--) {
        pictures = take_up_to(bits, PICTURES_MAX - 1);
        skip_golombs(bits, 2);
    }
    return pictures;
}

/* ---- the video parameter set */

/* Nothing of the set matters here, but libde265 reads it, and may refuse it. */
static bool check_video(const struct hevc_unit *unit) {
    struct bits bits = { .bytes = unit->bytes, .length = unit->length };
    skip_bits(&bits, HEAD_BITS + 4 + 2);
    const unsigned further_layers = take_bits(&bits, 6);
    const unsigned sub_layers = take_bits(&bits, 3);
    if (further_layers || sub_layers >= SUB_LAYERS_MAX) return false;
    skip_bits(&bits, 1 + 16);
    skip_profile(&bits, sub_layers);
    skip_buffering(&bits, sub_layers);
    skip_bits(&bits, 6);
    if (take_golomb(&bits)) return false; /* sets of layers */
    if (take_bit(&bits)) {                /* timing */
        skip_bits(&bits, 64);
        if (take_bit(&bits)) {
            skip_golombs(&bits, 1);
            take_up_to(&bits, HRDS_MAX);
        }
    }
    return !bits.failed;
}

/* ---- the sequence parameter set */

static void read_window(struct bits *bits, struct hevc_parameters *p) {
    if (!take_bit(bits)) return;
    p->left = 2 * take_up_to(bits, SIDE_MAX);
    skip_golombs(bits, 1);
    p->top = 2 * take_up_to(bits, SIDE_MAX);
    skip_golombs(bits, 1);
}

static void read_blocks(struct bits *bits, struct hevc_parameters *p) {
    p->log2_min_block = (uint8_t)(3 + take_up_to(bits, 3));
    p->log2_diff_block = (uint8_t)take_up_to(bits, 3);
    p->log2_min_transform = (uint8_t)(2 + take_up_to(bits, 3));
    p->log2_diff_transform = (uint8_t)take_up_to(bits, 3);
    const unsigned block = p->log2_min_block + p->log2_diff_block;
    const unsigned transform = p->log2_min_transform + p->log2_diff_transform;
    if (block < 4 || block > 6 || p->log2_min_transform >= p->log2_min_block || transform > 5 ||
        transform > block || (p->width | p->height) & ((1u << p->log2_min_block) - 1))
        bits->failed = true;
    const uint32_t deepest = bits->failed ? 0 : block - p->log2_min_transform;
    p->depth_inter = (uint8_t)take_up_to(bits, deepest);
    p->depth_intra = (uint8_t)take_up_to(bits, deepest);
}

static void read_pcm(struct bits *bits, struct hevc_parameters *p) {
    const unsigned block = p->log2_min_block + p->log2_diff_block;
    p->pcm = take_bit(bits);
    if (!p->pcm) return;
    p->pcm_bits_luma = (uint8_t)(1 + take_bits(bits, 4));
    p->pcm_bits_chroma = (uint8_t)(1 + take_bits(bits, 4));
    p->log2_min_pcm = (uint8_t)(3 + take_up_to(bits, 2));
    p->log2_diff_pcm = (uint8_t)take_up_to(bits, 2);
    p->pcm_filter_off = take_bit(bits);
    if (p->pcm_bits_luma > p->bits || p->pcm_bits_chroma > p->bits ||
        p->log2_min_pcm < p->log2_min_block ||
        p->log2_min_pcm + p->log2_diff_pcm > (block < 5 ? block : 5))
        bits->failed = true;
}

/* st_ref_pic_set of at most MOST pictures. One that is inferred from the set before it is refused:
 * its pictures are counted in another way. */
static void skip_reference_set(struct bits *bits, bool inferrable, uint32_t most) {
    if (inferrable && take_bit(bits)) bits->failed = true;
    uint32_t pictures = take_up_to(bits, most);
    pictures += take_up_to(bits, most - pictures);
    for (uint32_t i = 0; i < pictures; i++) {
        skip_golombs(bits, 1);
        skip_bits(bits, 1);
    }
}

/* MOST: pictures of a set. */
static void read_references(struct bits *bits, struct hevc_parameters *p, uint32_t most) {
    p->short_term_sets = (uint8_t)take_up_to(bits, SHORT_TERM_SETS_MAX);
    for (unsigned i = 0; i < p->short_term_sets && !bits->failed; i++)
        skip_reference_set(bits, i > 0, most);
    p->long_term = take_bit(bits);
    if (!p->long_term) return;
    p->long_term_pictures = (uint8_t)take_up_to(bits, LONG_TERM_MAX);
    for (unsigned i = 0; i < p->long_term_pictures; i++) skip_bits(bits, p->log2_poc_lsb + 1u);
}

/* vui_parameters; those of a hypothetical reference decoder are refused. */
static void read_usability(struct bits *bits, struct hevc_parameters *p) {
    enum { OWN_ASPECT = 255 };
    if (take_bit(bits) && take_bits(bits, 8) == OWN_ASPECT) skip_bits(bits, 32);
    if (take_bit(bits)) skip_bits(bits, 1); /* overscan */
    if (take_bit(bits)) {                   /* video signal */
        skip_bits(bits, 3);
        p->full_range = take_bit(bits);
        if (take_bit(bits)) {
            p->primaries = (uint8_t)take_bits(bits, 8);
            skip_bits(bits, 8);
            p->matrix = (uint8_t)take_bits(bits, 8);
        }
    }
    if (take_bit(bits)) skip_golombs(bits, 2); /* where chroma lies */
    skip_bits(bits, 3);
    if (take_bit(bits)) skip_golombs(bits, 4); /* default window */
    if (take_bit(bits)) {                      /* timing */
        skip_bits(bits, 64);
        if (take_bit(bits)) skip_golombs(bits, 1);
        if (take_bit(bits)) bits->failed = true;
    }
    if (take_bit(bits)) { /* restrictions */
        skip_bits(bits, 3);
        take_up_to(bits, SEGMENT_MAX);
        for (int i = 0; i < 4; i++) take_up_to(bits, i < 2 ? DENOMINATOR_MAX : VECTOR_MAX);
    }
}

static bool read_sequence(const struct hevc_unit *unit, struct hevc_parameters *p) {
    struct bits bits = { .bytes = unit->bytes, .length = unit->length };
    skip_bits(&bits, HEAD_BITS + 4);
    const unsigned sub_layers = take_bits(&bits, 3);
    if (sub_layers >= SUB_LAYERS_MAX) return false;
    skip_bits(&bits, 1);
    skip_profile(&bits, sub_layers);
    p->sequence_id = (uint8_t)take_up_to(&bits, 15);
    if (take_golomb(&bits) != HEVC_420) return false;
    p->width = take_up_to(&bits, SIDE_MAX);
    p->height = take_up_to(&bits, SIDE_MAX);
    read_window(&bits, p);
    p->bits = (uint8_t)(8 + take_up_to(&bits, 2));
    if (8 + take_golomb(&bits) != p->bits) return false;
    p->log2_poc_lsb = (uint8_t)(4 + take_up_to(&bits, 12));
    const uint32_t pictures = skip_buffering(&bits, sub_layers);
    read_blocks(&bits, p);
    if (take_bit(&bits)) return false; /* scaling lists */
    p->amp = take_bit(&bits);
    p->sao = take_bit(&bits);
    read_pcm(&bits, p);
    read_references(&bits, p, pictures);
    p->temporal_mvp = take_bit(&bits);
    p->strong_intra_smoothing = take_bit(&bits);
    p->primaries = p->matrix = UNSPECIFIED;
    if (take_bit(&bits)) read_usability(&bits, p);
    const bool extended = take_bit(&bits);
    return !bits.failed && !extended;
}

/* ---- the picture parameter set */

/* The sizes of COUNT columns or rows of tiles, which have BLOCKS together. */
static void read_sizes(struct bits *bits, bool uniform, uint32_t count, uint32_t blocks,
                       uint16_t *sizes) {
    uint32_t left = blocks;
    for (uint32_t i = 0; i + 1 < count && !bits->failed; i++) {
        const uint32_t size =
            uniform ? (i + 1) * blocks / count - i * blocks / count : 1 + take_up_to(bits, blocks);
        if (size >= left) bits->failed = true;
        sizes[i] = (uint16_t)size;
        left -= size;
    }
    sizes[count - 1] = (uint16_t)left;
}

static uint32_t blocks_of(const struct hevc_parameters *p, uint32_t side) {
    const unsigned log2 = p->log2_min_block + p->log2_diff_block;
    return (side + (1u << log2) - 1) >> log2;
}

static void read_tiles(struct bits *bits, struct hevc_parameters *p) {
    const uint32_t across = blocks_of(p, p->width), down = blocks_of(p, p->height);
    const uint32_t most = HEVC_TILES_MAX - 1;
    p->columns = (uint8_t)(1 + take_up_to(bits, across - 1 < most ? across - 1 : most));
    p->rows = (uint8_t)(1 + take_up_to(bits, down - 1 < most ? down - 1 : most));
    p->uniform = take_bit(bits);
    if (bits->failed) return;
    read_sizes(bits, p->uniform, p->columns, across, p->widths);
    read_sizes(bits, p->uniform, p->rows, down, p->heights);
    p->filter_across_tiles = take_bit(bits);
}

static void read_deblocking(struct bits *bits, struct hevc_parameters *p) {
    p->deblocking_override = take_bit(bits);
    p->deblocking_off = take_bit(bits);
    if (p->deblocking_off) return;
    p->half_beta_offset = take_within(bits, -6, 6);
    p->half_tc_offset = take_within(bits, -6, 6);
}

static bool read_picture(const struct hevc_unit *unit, struct hevc_parameters *p) {
    struct bits bits = { .bytes = unit->bytes, .length = unit->length };
    skip_bits(&bits, HEAD_BITS);
    p->picture_id = (uint8_t)take_up_to(&bits, 63);
    if (take_golomb(&bits) != p->sequence_id) return false;
    p->dependent_slices = take_bit(&bits);
    p->output_flag = take_bit(&bits);
    p->extra_slice_bits = (uint8_t)take_bits(&bits, 3);
    p->sign_hiding = take_bit(&bits);
    p->cabac_init = take_bit(&bits);
    for (int i = 0; i < 2; i++) p->references[i] = (uint8_t)(1 + take_up_to(&bits, 14));
    p->init_qp = (int8_t)(26 + take_within(&bits, -26 - 6 * (p->bits - 8), 25));
    p->constrained_intra = take_bit(&bits);
    p->transform_skip = take_bit(&bits);
    p->qp_delta = take_bit(&bits);
    if (p->qp_delta) p->qp_delta_depth = (uint8_t)take_up_to(&bits, p->log2_diff_block);
    p->cb_offset = take_within(&bits, -12, 12);
    p->cr_offset = take_within(&bits, -12, 12);
    p->slice_chroma_offsets = take_bit(&bits);
    p->weighted = take_bit(&bits);
    p->weighted_bi = take_bit(&bits);
    p->bypass = take_bit(&bits);
    p->tiles = take_bit(&bits);
    p->entropy_sync = take_bit(&bits);
    p->columns = p->rows = 1;
    p->uniform = p->filter_across_tiles = true;
    if (p->tiles) read_tiles(&bits, p);
    p->filter_across_slices = take_bit(&bits);
    if (take_bit(&bits)) read_deblocking(&bits, p);
    if (take_bit(&bits)) return false; /* scaling lists */
    p->lists_modification = take_bit(&bits);
    p->log2_parallel_merge =
        (uint8_t)(2 + take_up_to(&bits, p->log2_min_block + p->log2_diff_block - 2u));
    p->slice_extension = take_bit(&bits);
    const bool extended = take_bit(&bits);
    return !bits.failed && !extended;
}

/* ---- all sets */

bool hevc_parameters_read(const struct hevc_configuration *configuration,
                          struct hevc_parameters *parameters) {
    const struct hevc_unit *sets[3] = { NULL, NULL, NULL }; /* VPS, SPS, PPS: one of a kind */
    memset(parameters, 0, sizeof *parameters);
    for (unsigned i = 0; i < configuration->count; i++) {
        const struct hevc_unit *set = &configuration->sets[i];
        const unsigned kind = hevc_unit_type(set->bytes) - HEVC_VPS;
        if (sets[kind] || hevc_unit_is_of_other_layer(set->bytes)) return false;
        sets[kind] = set;
    }
    return sets[1] && sets[2] && (!sets[0] || check_video(sets[0])) &&
           read_sequence(sets[1], parameters) && read_picture(sets[2], parameters);
}

/* ---- the slice */

/* An intra picture that is shown. */
static bool is_intra(const struct hevc_parameters *parameters, const struct hevc_unit *slice) {
    struct bits bits = { .bytes = slice->bytes, .length = slice->length };
    skip_bits(&bits, HEAD_BITS);
    const bool first = take_bit(&bits);
    skip_bits(&bits, 1);
    const uint32_t picture_id = take_golomb(&bits);
    skip_bits(&bits, parameters->extra_slice_bits);
    const uint32_t kind = take_golomb(&bits);
    const bool hidden = parameters->output_flag && !take_bit(&bits);
    return !bits.failed && first && picture_id == parameters->picture_id && kind == SLICE_INTRA &&
           !hidden;
}

bool hevc_slice_find(const struct hevc_configuration *configuration,
                     const struct hevc_parameters *parameters, const uint8_t *bytes, size_t length,
                     struct hevc_unit *slice) {
    const unsigned head = configuration->length_bytes;
    *slice = (struct hevc_unit){ NULL, 0 };
    unsigned units = 0;
    for (size_t at = 0, size = 0; at < length; at += size) {
        if (++units > UNITS_MAX || length - at < head) return false;
        for (unsigned i = size = 0; i < head; i++) size = size << 8 | bytes[at++];
        if (size < 3 || size > length - at) return false;
        const unsigned type = hevc_unit_type(bytes + at);
        if (type >= SLICES || hevc_unit_is_of_other_layer(bytes + at)) continue;
        if (slice->bytes || (type != IDR_W_RADL && type != IDR_N_LP)) return false;
        *slice = (struct hevc_unit){ bytes + at, size };
    }
    return slice->bytes && is_intra(parameters, slice);
}

// SPDX-License-Identifier: Apache-2.0
/* Parameter sets with every element at random are read as they were meant; each bound is refused
 * when it is crossed, and so is each set that is cut off. */
#include "tests/pipeline/codecs/heic/parameter_sets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct writer slice;

/* ---- tests */

static void test_all_elements(void **state) {
    (void)state;
    uint32_t random = 1;
    for (int i = 0; i < 3000; i++) {
        struct beside beside;
        struct hevc_parameters read;
        const struct hevc_parameters p = choose(&random, &beside);
        struct hevc_configuration configuration = write_sets(&p, &beside, &random);
        assert_true(hevc_parameters_read(&configuration, &read));
        assert_memory_equal(&read, &p, sizeof p);
        /* Cut off, to an empty unit. The last byte may hold the stop bit alone. */
        for (int set = 0; set < (int)configuration.count; set++) {
            const size_t whole = configuration.sets[set].length;
            for (size_t length = 2; length + 1 < whole; length += 1 + length / 8) {
                configuration.sets[set].length = length;
                assert_false(hevc_parameters_read(&configuration, &read));
            }
            configuration.sets[set].length = whole;
        }
    }
}

static bool is_read(const struct hevc_parameters *p, const struct beside *beside) {
    uint32_t random = 2;
    struct hevc_parameters read;
    const struct hevc_configuration configuration = write_sets(p, beside, &random);
    return hevc_parameters_read(&configuration, &read);
}

static void test_bounds(void **state) {
    (void)state;
    uint32_t random = 7;
    struct beside sound;
    struct hevc_parameters p = choose(&random, &sound);
    p.bits = 8;
    p.width = p.height = 512;
    p.log2_min_block = 3;
    p.log2_diff_block = 3;
    p.log2_min_transform = 2;
    p.log2_diff_transform = 3;
    p.depth_inter = p.depth_intra = p.qp_delta_depth = 0;
    p.tiles = p.pcm = false;
    p.init_qp = 26;
    sound.chroma_bits = 8;
    sound.buffering = 5;
    sound.video.there = true;
    sound.video.sub_layers = 6;
    p.log2_parallel_merge = 6;
    p.short_term_sets = 12;
    if (!sound.usability) p.primaries = 1;
    sound.usability = true;
    assert_true(is_read(&p, &sound));
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        const struct hevc_parameters kept = p;                                                     \
        struct beside beside = sound;                                                              \
        change;                                                                                    \
        assert_false(is_read(&p, &beside));                                                        \
        p = kept;                                                                                  \
        (void)beside;                                                                              \
    } while (0)
    REFUSED(beside.chroma = 0);
    REFUSED(beside.chroma = 2);
    REFUSED(beside.chroma = 3);
    REFUSED(beside.chroma_bits = 9);
    REFUSED(p.bits = 11; beside.chroma_bits = 11);
    REFUSED(beside.scaling = 1);
    REFUSED(beside.extension = 1);
    REFUSED(beside.hrd = 1);
    REFUSED(beside.picture_scaling = 1);
    REFUSED(beside.picture_extension = 1);
    REFUSED(beside.sequence_of_picture ^= 1);
    REFUSED(beside.sub_layers = 7);
    REFUSED(beside.predicted_sets = true);
    REFUSED(beside.buffering = 16);
    REFUSED(beside.buffering = 4); /* a set has 5 pictures */
    REFUSED(beside.video.layers = 1);
    REFUSED(beside.video.sub_layers = 7);
    REFUSED(beside.video.layer_sets = 1);
    REFUSED(beside.video.hrds = 1024);
    REFUSED(beside.restrictions[0] = 4096);
    REFUSED(beside.restrictions[1] = 17);
    REFUSED(beside.restrictions[2] = 17);
    REFUSED(beside.restrictions[3] = 16);
    REFUSED(beside.restrictions[4] = 16);
    REFUSED(p.width = 8200);
    REFUSED(p.height = 508);
    REFUSED(p.log2_diff_block = 0);     /* trees of 8 x 8 */
    REFUSED(p.log2_diff_transform = 4); /* transforms of 64 x 64 */
    REFUSED(p.log2_min_transform = 3);  /* as large as the least block */
    REFUSED(p.depth_intra = 5);
    REFUSED(p.init_qp = 52);
    REFUSED(p.init_qp = -1);
    REFUSED(p.cb_offset = 13);
    REFUSED(p.cr_offset = -13);
    REFUSED(p.log2_parallel_merge = 7);
    REFUSED(p.log2_diff_block = 2; p.log2_diff_transform = 1); /* merged beyond blocks of 32 */
    REFUSED(p.qp_delta = true; p.qp_delta_depth = 4);
    REFUSED(p.deblocking_off = false; p.half_beta_offset = 7);
    REFUSED(p.deblocking_off = false; p.half_tc_offset = -7);
    REFUSED(p.short_term_sets = 65);
    REFUSED(p.long_term = true; p.long_term_pictures = 33);
    REFUSED(p.references[0] = 16);
    REFUSED(p.pcm = true; p.pcm_bits_luma = 9; p.pcm_bits_chroma = 8; p.log2_min_pcm = 3);
    REFUSED(p.pcm = true; p.pcm_bits_luma = p.pcm_bits_chroma = 8; p.log2_min_pcm = 5;
            p.log2_diff_pcm = 1);
    REFUSED(p.tiles = true; p.columns = 9; p.rows = 1; p.uniform = true); /* of 8 blocks */
    REFUSED(p.tiles = true; p.width = p.height = 4096; p.columns = 11; p.rows = 1;
            p.uniform = true);
    REFUSED(p.tiles = true; p.width = p.height = 4096; p.columns = 1; p.rows = 11;
            p.uniform = true);
    REFUSED(p.tiles = true; p.columns = 2; p.rows = 1; p.uniform = false; p.widths[0] = 8);
}

static void test_one_set_of_a_kind(void **state) {
    (void)state;
    uint32_t random = 3;
    struct beside beside;
    struct hevc_parameters read;
    const struct hevc_parameters p = choose(&random, &beside);
    struct hevc_configuration configuration = write_sets(&p, &beside, &random);
    configuration.count = 1;
    assert_false(hevc_parameters_read(&configuration, &read));
    configuration.sets[2] = put_video(&video, &beside, &random);
    configuration.count = 3;
    assert_true(hevc_parameters_read(&configuration, &read));
    configuration.count = 4;
    for (int set = 0; set < 3; set++) {
        configuration.sets[3] = configuration.sets[set];
        assert_false(hevc_parameters_read(&configuration, &read));
    }
    configuration.count = 3;
    struct writer *const writers[] = { &sequence, &picture, &video };
    for (int set = 0; set < 3; set++)
        for (int byte = 0; byte < 2; byte++) { /* of another layer */
            writers[set]->bytes[byte] ^= byte ? 8 : 1;
            assert_false(hevc_parameters_read(&configuration, &read));
            writers[set]->bytes[byte] ^= byte ? 8 : 1;
        }
    assert_true(hevc_parameters_read(&configuration, &read));
}

/* An item of one slice; returns its bytes. */
static size_t make_item(uint8_t *item, const struct hevc_parameters *p, unsigned type, bool first,
                        unsigned picture_id, unsigned kind, bool shown) {
    begin(&slice, type);
    put(&slice, 1, first);
    put(&slice, 1, 0);
    put_ue(&slice, picture_id);
    put(&slice, p->extra_slice_bits, 0x7f);
    put_ue(&slice, kind);
    if (p->output_flag) put(&slice, 1, shown);
    put(&slice, 32, 0xabcdef12);
    const struct hevc_unit unit = end(&slice);
    item[0] = item[1] = item[2] = 0;
    item[3] = (uint8_t)unit.length;
    memcpy(item + 4, unit.bytes, unit.length);
    return 4 + unit.length;
}

static void test_slices(void **state) {
    (void)state;
    const struct hevc_configuration configuration = { .length_bytes = 4 };
    const struct hevc_parameters p = { .picture_id = 5, .extra_slice_bits = 3 };
    struct hevc_unit found;
    uint8_t item[256];
    static const uint8_t message[] = { 0, 0, 0, 4, 39 << 1, 1, 5, 0x80 };
    size_t length = make_item(item, &p, 19, true, 5, 2, true);
    assert_true(hevc_slice_find(&configuration, &p, item, length, &found));
    assert_ptr_equal(found.bytes, item + 4);
    assert_int_equal(found.length, length - 4);
    for (size_t cut = 0; cut < length; cut++)
        assert_false(hevc_slice_find(&configuration, &p, item, cut, &found));
    memcpy(item + length, message, sizeof message); /* other units do not count */
    assert_true(hevc_slice_find(&configuration, &p, item, length + sizeof message, &found));
    assert_int_equal(found.length, length - 4);
    uint8_t many[512];
    for (size_t units = 0; units < 17; units++) { /* 16 in all */
        size_t at = make_item(many, &p, 19, true, 5, 2, true);
        for (size_t i = 0; i < units; i++, at += sizeof message)
            memcpy(many + at, message, sizeof message);
        assert_int_equal(hevc_slice_find(&configuration, &p, many, at, &found), units < 16);
    }
    make_item(item + length, &p, 20, false, 5, 2, true);
    assert_false(hevc_slice_find(&configuration, &p, item, 2 * length, &found));
    static const struct {
        unsigned type;
        bool first;
        unsigned picture_id, kind;
        bool found;
    } cases[] = { { 20, true, 5, 2, true },  { 21, true, 5, 2, false },  { 18, true, 5, 2, false },
                  { 1, true, 5, 2, false },  { 19, false, 5, 2, false }, { 19, true, 4, 2, false },
                  { 19, true, 5, 1, false }, { 19, true, 5, 0, false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        length = make_item(item, &p, cases[i].type, cases[i].first, cases[i].picture_id,
                           cases[i].kind, true);
        assert_int_equal(hevc_slice_find(&configuration, &p, item, length, &found), cases[i].found);
    }
    const struct hevc_parameters flagged = { .picture_id = 5, .output_flag = true };
    for (int shown = 0; shown < 2; shown++) {
        length = make_item(item, &flagged, 19, true, 5, 2, shown);
        assert_int_equal(hevc_slice_find(&configuration, &flagged, item, length, &found), shown);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_elements),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_one_set_of_a_kind),
        cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* The GPU's way to decode a JPEG, one thread after the other: the samples of the CPU codec for
 * every sound file, and for a damaged one either a flag or, again, the CPU codec's samples.
 * covers: pipeline/codecs/jpeg/picture.c tests/twins/jpeg_parallel_short.c
 */
#include "pipeline/codecs/jpeg/zigzag.h"
#include "tests/twins/jpeg_parallel.h"

#include "tests/pipeline/codecs/jpeg/bits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Blocks of few threads, so that small pictures have many of them. Their lead is what a thread of
 * codes of 16 bits needs to come into step. */
static const struct jpeg_division small_blocks = { 16, 4, 32, 64, 0, 0, 0 };
static const struct jpeg_division single_runs = { 128, 1, 16, 64, 0, 0, 0 };
static const struct jpeg_division short_subs = { 128, 1, 16, 64, 7, 2, 8 };
static const struct jpeg_division least_lead = { 128, 2, 16, 64, 8, 1, 2 };
static const struct jpeg_division *const divisions[] = { &jpeg_division_default, &small_blocks,
                                                         &single_runs, &short_subs, &least_lead };

static const int samplings[][3] = { { 1, 1, 1 }, { 3, 1, 1 }, { 3, 2, 1 }, { 3, 2, 2 } };

/* Its arena is of exactly the bytes that it asks for. */
static bool lay_out(struct jpeg_picture *picture, const struct jpeg_file *bytes,
                    struct probe *probe) {
    struct failure failure;
    struct jpeg_baseline jpeg;
    if (probe_image(bytes->data, bytes->length, &codec_limits_default.probe, probe, &failure) ||
        !jpeg_baseline_read_header(bytes->data, bytes->length, probe, &codec_limits_default,
                                   &jpeg) ||
        !jpeg_picture_init(picture, &jpeg))
        return false;
    uint8_t *arena = aligned_alloc(JPEG_ARENA_ALIGN, jpeg_picture_bytes(picture));
    assert_non_null(arena);
    memset(arena, 0xa5, jpeg_picture_bytes(picture)); /* of a picture before */
    jpeg_picture_place(picture, arena);
    picture->into = image_shape(probe->shape.width, probe->shape.height, probe->shape.channels, 8);
    picture->into.pixels = calloc(1, image_bytes(&picture->into));
    return true;
}

static void release(struct jpeg_picture *picture) {
    free(picture->into.pixels);
    free(picture->facts); /* the arena's start */
}

static uint32_t decode(const struct jpeg_file *bytes, const struct jpeg_division *division,
                       struct image *image, struct probe *probe) {
    struct jpeg_picture picture;
    if (!lay_out(&picture, bytes, probe)) return UINT32_MAX;
    const uint32_t flags = jpeg_parallel_decode(&picture, division);
    *image = picture.into;
    picture.into.pixels = NULL;
    release(&picture);
    return flags;
}

static void check_case(const struct jpeg_case *made, const struct jpeg_division *division) {
    const struct jpeg_file bytes = make_case(made);
    struct probe probe;
    struct image image;
    const uint32_t flags = decode(&bytes, division, &image, &probe);
    if (flags)
        fail_msg("%ux%u of %d, %dx%d, quality %d, drawing %d, tables %d, DRI %u: flags %x",
                 made->width, made->height, made->channels, made->h, made->v, made->quality,
                 made->drawing, made->tables, made->interval, flags);
    uint32_t notes;
    struct image expected = expected_image(&bytes, &probe, &notes);
    if (notes || !same_rows(&image, &expected))
        fail_msg("%ux%u of %d, %dx%d, quality %d, drawing %d, tables %d, DRI %u differs",
                 made->width, made->height, made->channels, made->h, made->v, made->quality,
                 made->drawing, made->tables, made->interval);
    free(expected.pixels);
    free(image.pixels);
    free(bytes.data);
}

static struct jpeg_case a_case(size_t sampling) {
    return (struct jpeg_case){ .width = 93,
                               .height = 71,
                               .channels = samplings[sampling][0],
                               .h = samplings[sampling][1],
                               .v = samplings[sampling][2] };
}

/* ---- tests */

static void sizes_and_qualities(void **state) {
    (void)state;
    static const int qualities[] = { 1, 50, 85, 95, 100 };
    /* 29: each sampling meets odd and even sides, and each quality every width. */
    for (unsigned s = 0; s < 4; s++)
        for (unsigned i = 3 * s, round = s; i < 70 * 70; i += 29, round++) {
            struct jpeg_case made = a_case(s);
            made.width = 1 + i % 70;
            made.height = 1 + i / 70;
            made.quality = qualities[(round + round / 5) % 5];
            made.drawing = round % 3 ? DRAW_NOISE : DRAW_WAVES;
            check_case(&made, divisions[round / 3 % 5]);
        }
}

static void drawings_and_tables(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4 * DRAWINGS * TABLE_KINDS; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.drawing = i / 4 % DRAWINGS;
        made.tables = i / 4 / DRAWINGS;
        made.quality = made.drawing % 2 ? 90 : 75;
        if (made.tables == TABLES_ONE) made.drawing = DRAW_MIDDLE;
        check_case(&made, divisions[i % 5]);
    }
}

static void larger_pictures(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4 * DRAWINGS; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.drawing = i / 4;
        made.width = 257;
        made.height = 131;
        made.quality = i % 3 ? 85 : 98;
        check_case(&made, divisions[i % 5]);
    }
}

static void restarts(void **state) {
    (void)state;
    static const unsigned intervals[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 5000, 65535 };
    for (unsigned i = 0; i < 4 * 3 * 12; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.drawing = i / 4 % 3 == 0 ? DRAW_NOISE : i / 4 % 3 == 1 ? DRAW_WHITE : DRAW_TEXT;
        made.interval = intervals[i / 12];
        check_case(&made, divisions[i % 5]);
    }
}

static void steps_of_255(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4 * DRAWINGS; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.drawing = i / 4;
        made.steps_255 = true;
        check_case(&made, divisions[i % 5]);
    }
}

static void orientations(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4 * 8; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.orientation = 1 + i / 4;
        check_case(&made, divisions[i % 5]);
    }
}

/* Every coefficient as libjpeg reads it, every sample of a plane as it transforms it. */
static void coefficients_and_planes(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        static const uint8_t natural[64] = JPEG_ZIGZAG;
        struct jpeg_case made = a_case(i);
        made.drawing = DRAW_NOISE;
        const struct jpeg_file bytes = make_case(&made);
        struct jpeg_decompress_struct cinfo;
        struct jpeg_error_mgr errors;
        struct jpeg_picture picture;
        struct probe probe;
        assert_true(lay_out(&picture, &bytes, &probe));
        assert_int_equal(jpeg_parallel_decode(&picture, &small_blocks), 0);
        cinfo.err = jpeg_std_error(&errors);
        jpeg_create_decompress(&cinfo);
        jpeg_mem_src(&cinfo, bytes.data, bytes.length);
        jpeg_read_header(&cinfo, TRUE);
        jvirt_barray_ptr *arrays = jpeg_read_coefficients(&cinfo);
        for (uint32_t b = 0; b < picture.blocks; b++) {
            const struct jpeg_block_place place = jpeg_block_place_of(&picture, b);
            const struct jpeg_head *head = &picture.heads[place.block];
            const int c = (int)place.component;
            if (place.x / 8 >= cinfo.comp_info[c].width_in_blocks ||
                place.y / 8 >= cinfo.comp_info[c].height_in_blocks)
                continue;
            const JCOEF *theirs = cinfo.mem->access_virt_barray(
                (j_common_ptr)&cinfo, arrays[c], place.y / 8, 1, FALSE)[0][place.x / 8];
            int ours[64] = { head[0].dc };
            for (uint32_t k = head[0].first; k < head[1].first; k++)
                ours[natural[picture.list[k] & 63]] = (int32_t)picture.list[k] >> 6;
            for (int k = 0; k < 64; k++) assert_int_equal(ours[k], theirs[k]);
        }
        jpeg_destroy_decompress(&cinfo);
        jpeg_create_decompress(&cinfo);
        jpeg_mem_src(&cinfo, bytes.data, bytes.length);
        jpeg_read_header(&cinfo, TRUE);
        cinfo.raw_data_out = TRUE;
        jpeg_start_decompress(&cinfo);
        static uint8_t samples[3][16][256];
        JSAMPROW rows[3][16];
        JSAMPARRAY planes[3] = { rows[0], rows[1], rows[2] };
        for (int c = 0; c < 3; c++)
            for (int y = 0; y < 16; y++) rows[c][y] = samples[c][y];
        for (uint32_t top = 0; cinfo.output_scanline < cinfo.output_height; top++) {
            jpeg_read_raw_data(&cinfo, planes, 16);
            for (int c = 0; c < cinfo.num_components; c++) {
                const jpeg_component_info *info = &cinfo.comp_info[c];
                const uint32_t high = 8u * (uint32_t)info->v_samp_factor;
                for (uint32_t y = 0; y < high && top * high + y < info->downsampled_height; y++)
                    assert_memory_equal(samples[c][y],
                                        picture.planes[c] +
                                            (size_t)(top * high + y) * picture.plane_stride[c],
                                        info->downsampled_width);
            }
        }
        jpeg_destroy_decompress(&cinfo);
        release(&picture);
        free(bytes.data);
    }
}

/* White pages never come into step by themselves: those of 4:2:0, whose MCUs fill a subsequence,
 * for the block's sake; gray ones, whose blocks of 6 bits do not, for the bit's as well. */
static void hard_pictures(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct jpeg_case made = a_case(i % 2 ? 3 : 0);
        made.width = 800;
        made.height = 500;
        made.drawing = i < 2 ? DRAW_WHITE : DRAW_MIDDLE;
        const struct jpeg_file bytes = make_case(&made);
        struct jpeg_picture picture;
        struct probe probe;
        assert_true(lay_out(&picture, &bytes, &probe));
        assert_int_equal(jpeg_parallel_decode(&picture, &single_runs), 0);
        if (i < 2) assert_int_equal(picture.facts->hard, 1);
        assert_in_range(picture.facts->repairs, 0, 1); /* the candidates fit */
        assert_int_equal(jpeg_parallel_decode(&picture, &short_subs), 0);
        assert_in_range(picture.facts->repairs, 0, 1);
        release(&picture);
        free(bytes.data);
    }
}

/* Blocks of noise are longer than a subsequence: it takes dozens to come into step. */
static void noise_of_best_quality(void **state) {
    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.width = 200;
        made.height = 120;
        made.quality = i % 3 ? 100 : 97;
        made.drawing = i / 4 % 2 ? DRAW_BINARY : DRAW_NOISE;
        check_case(&made, divisions[i % 5]);
    }
}

static unsigned check_damaged(const struct jpeg_file *bytes, const struct jpeg_division *division) {
    struct probe probe;
    struct image image = { 0 };
    const uint32_t flags = decode(bytes, division, &image, &probe);
    if (flags == 0) {
        struct jpeg_baseline header;
        uint32_t notes;
        struct image expected = expected_image(bytes, &probe, &notes);
        jpeg_baseline_read_header(bytes->data, bytes->length, &probe, &codec_limits_default,
                                  &header);
        assert_non_null(expected.pixels);
        assert_true(same_rows(&image, &expected));
        assert_int_equal(header.notes, notes);
        free(expected.pixels);
    }
    free(image.pixels);
    return flags == 0;
}

static void damage(void **state) {
    (void)state;
    unsigned taken = 0, all = 0;
    for (unsigned i = 0; i < 48; i++) {
        struct jpeg_case made = a_case(i % 4);
        made.width = 61;
        made.height = 47;
        made.drawing = i / 4 % DRAWINGS;
        made.interval = i % 3 ? i % 7 : 0;
        made.tables = i % 5 ? TABLES_STANDARD : TABLES_OPTIMIZED;
        const struct jpeg_file bytes = make_case(&made);
        for (unsigned k = 0; k < 40; k++, all++) {
            struct jpeg_file copy = damaged_copy(&bytes, i * 1000 + k);
            taken += check_damaged(&copy, divisions[k % 5]);
            free(copy.data);
        }
        free(bytes.data);
    }
    assert_in_range(taken, all / 20, all - all / 3); /* both ends are seen */
}

/* A sound file is taken unless its coefficients are beyond the bound. */
static void scans_written_by_hand(void **state) {
    (void)state;
    unsigned taken = 0;
    for (unsigned i = 0; i < 1200; i++) {
        struct jpeg_file file = make_bits_case(i);
        taken += check_damaged(&file, divisions[i % 3]);
        free(file.data);
    }
    assert_in_range(taken, 120, 600);
}

/* Coefficients above the bound come out of libjpeg's transform differently; none below it do. */
static void blocks_at_the_bound(void **state) {
    (void)state;
    unsigned taken = 0;
    for (unsigned i = 0; i < 1600; i++) {
        struct jpeg_file file = make_bound_case(i);
        taken += check_damaged(&file, divisions[0]);
        free(file.data);
    }
    assert_in_range(taken, 160, 1440);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_qualities),
        cmocka_unit_test(drawings_and_tables),
        cmocka_unit_test(larger_pictures),
        cmocka_unit_test(restarts),
        cmocka_unit_test(steps_of_255),
        cmocka_unit_test(orientations),
        cmocka_unit_test(coefficients_and_planes),
        cmocka_unit_test(hard_pictures),
        cmocka_unit_test(noise_of_best_quality),
        cmocka_unit_test(damage),
        cmocka_unit_test(scans_written_by_hand),
        cmocka_unit_test(blocks_at_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

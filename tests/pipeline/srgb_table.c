// SPDX-License-Identifier: Apache-2.0
/* Tables of profiles that lcms2 makes here: what sRGB's own leave as it is, curves by hand, and
 * profiles that are broken at every place. tests/http/test_profile.py compares colours. */
#include "pipeline/srgb_table.h"

#include "pipeline/ops/srgb.h"
#include "pipeline/thread_remains.h"
#include "tests/noise.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lcms2.h>

struct bytes {
    uint8_t *data;
    uint32_t length;
};

static struct bytes saved(cmsHPROFILE profile) {
    struct bytes bytes = { NULL, 0 };
    assert_true(cmsSaveProfileToMem(profile, NULL, &bytes.length));
    bytes.data = malloc(bytes.length);
    assert_true(cmsSaveProfileToMem(profile, bytes.data, &bytes.length));
    cmsCloseProfile(profile);
    return bytes;
}

static struct bytes gray_profile(double gamma) {
    cmsToneCurve *curve = cmsBuildGamma(NULL, gamma);
    const struct bytes bytes = saved(cmsCreateGrayProfile(cmsD50_xyY(), curve));
    cmsFreeToneCurve(curve);
    return bytes;
}

static struct image new_table(const struct image *shape) {
    struct image table = srgb_table_shape(shape);
    table.pixels = malloc(image_bytes(&table));
    return table;
}

static void srgb_stays(void **state) {
    (void)state;
    const struct image shape = image_shape(1, 1, 3, 8);
    const struct image image = new_table(&shape);
    const struct bytes profile = saved(cmsCreate_sRGBProfile());
    assert_true(srgb_table_make(profile.data, profile.length, &shape, &image));
    const struct srgb_table *table = (const void *)image.pixels;
    uint32_t noise = 3, out[3];
    assert_int_equal(table->side, 2);
    for (uint32_t v = 0; v < 256 * 40; v++) {
        const uint32_t in[3] = { v % 256, v < 256 ? v : noise_next(&noise) >> 24,
                                 v < 256 ? v : noise_next(&noise) >> 24 };
        srgb_convert(table, in, out, 8);
        assert_memory_equal(in, out, sizeof in);
    }
    free(profile.data);
    free(image.pixels);
}

/* Gamma 1: 128 is 0.50196 of light, whose sample is 188.02 in sRGB; 1 is 12.92 / 255 x 1.0008 at
 * the straight part's end, 0.00392: 1.055 x 0.00392^(1/2.4) - 0.055 = 0.04983, 12.71. */
static void gray_by_hand(void **state) {
    (void)state;
    const struct image shape = image_shape(1, 1, 2, 8);
    const struct image image = new_table(&shape);
    const struct bytes profile = gray_profile(1);
    assert_true(srgb_table_make(profile.data, profile.length, &shape, &image));
    const struct srgb_table *table = (const void *)image.pixels;
    const int32_t *curve = srgb_curves(table);
    assert_int_equal(table->side, 1);
    assert_int_equal(curve[0], 0);
    assert_int_equal(curve[1], 13);
    assert_int_equal(curve[128], 188);
    assert_int_equal(curve[255], 255);
    for (int v = 1; v < 256; v++) assert_true(curve[v] >= curve[v - 1]);
    free(profile.data);
    free(image.pixels);
}

static void check_void(const uint8_t *profile, size_t length, const struct image *shape) {
    const struct image image = new_table(shape);
    assert_false(srgb_table_make(profile, length, shape, &image));
    assert_int_equal(((const struct srgb_table *)(const void *)image.pixels)->side, 0);
    free(image.pixels);
}

static void unusable_profiles(void **state) {
    (void)state;
    const struct image gray = image_shape(1, 1, 1, 16), colour = image_shape(1, 1, 4, 8);
    struct bytes rgb = saved(cmsCreate_sRGBProfile()), one = gray_profile(2.2);
    struct bytes lab = saved(cmsCreateLab4Profile(NULL));
    check_void(NULL, 0, &colour);
    check_void((const uint8_t *)"not a profile", 13, &colour);
    check_void(rgb.data, rgb.length, &gray);
    check_void(one.data, one.length, &colour);
    check_void(lab.data, lab.length, &colour);
    assert_null(cmyk_rows_open(rgb.data, rgb.length));
    memcpy(rgb.data + 12, "link", 4);
    check_void(rgb.data, rgb.length, &colour);
    free(rgb.data);
    free(one.data);
    free(lab.data);
}

/* All numbers of a table lie where srgb.h needs them, whatever the profile. */
static void check_numbers(const struct image *image) {
    const struct srgb_table *table = (const void *)image->pixels;
    const int32_t *numbers = srgb_curves(table);
    if (!table->side) return;
    assert_true(table->side == 2 || table->side == SRGB_SIDE_MAX);
    const int cells = table->side == 2 ? 1 : table->side - 1;
    const int count = table->side == 2 ? 9 : 3 * table->side * table->side * table->side;
    for (int i = 0; i < 3 * table->levels; i++) assert_in_range(numbers[i], 0, cells * SRGB_ONE);
    numbers += 3 * table->levels;
    for (int i = 0; i < count; i++) assert_true(abs(numbers[i]) <= 8 * SRGB_ONE);
}

static void damaged_profiles(void **state) {
    (void)state;
    const struct image shape = image_shape(1, 1, 3, 8);
    const struct image image = new_table(&shape);
    const struct bytes sound = saved(cmsCreate_sRGBProfile());
    uint8_t *damaged = malloc(sound.length);
    uint32_t noise = 5;
    for (uint32_t turn = 0; turn < 4000; turn++) {
        memcpy(damaged, sound.data, sound.length);
        for (uint32_t i = 0; i <= turn % 4; i++)
            damaged[noise_next(&noise) % sound.length] = (uint8_t)(noise_next(&noise) >> 24);
        const uint32_t length = turn < sound.length ? turn : sound.length;
        srgb_table_make(damaged, turn % 2 ? length : sound.length, &shape, &image);
        check_numbers(&image);
    }
    free(damaged);
    free(sound.data);
    free(image.pixels);
}

/* ---- the last table of a thread */

static int opened; /* profiles, by lcms2 */

/* In place of lcms2's own, which does the work. */
cmsHPROFILE cmsOpenProfileFromMem(const void *bytes, cmsUInt32Number length) {
    cmsHPROFILE (*real)(const void *, cmsUInt32Number);
    *(void **)&real = dlsym(RTLD_NEXT, "cmsOpenProfileFromMem");
    __atomic_add_fetch(&opened, 1, __ATOMIC_RELAXED);
    return real(bytes, length);
}

/* Makes the table into memory that holds other bytes; returns how many profiles lcms2 opened. */
static int make_over(const struct bytes *profile, const struct image *shape,
                     const struct image *table) {
    const int before = opened;
    memset(table->pixels, 0xa5, image_bytes(table));
    srgb_table_make(profile->data, profile->length, shape, table);
    return opened - before;
}

static void *make_elsewhere(void *argument) {
    const struct image shape = image_shape(1, 1, 3, 8);
    const struct image table = new_table(&shape);
    const int made = make_over(argument, &shape, &table);
    free(table.pixels);
    return made == 1 ? argument : NULL;
}

/* Kinds are: a matrix of three depths and channels, a grid, gray, a profile that is none. The
 * first table of a profile is what the others are compared with. */
static void the_same_profile_is_read_once(void **state) {
    (void)state;
    struct bytes profiles[] = { saved(cmsCreate_sRGBProfile()), saved(cmsCreateLab4Profile(NULL)),
                                gray_profile(2.2) };
    const struct image shapes[] = { image_shape(9, 7, 3, 8), image_shape(2, 1, 4, 8),
                                    image_shape(1, 1, 3, 16), image_shape(1, 1, 1, 8) };
    for (int p = 0; p < 3; p++)
        for (int s = 0; s < 4; s++) {
            const struct image first = new_table(&shapes[s]), again = new_table(&shapes[s]);
            srgb_table_forget();
            assert_int_equal(make_over(&profiles[p], &shapes[s], &first), 1);
            assert_int_equal(make_over(&profiles[p], &shapes[s], &again), 0);
            assert_memory_equal(first.pixels, again.pixels, image_bytes(&first));
            static const int others[] = { 2, 0, 3, 0 }; /* alpha makes no difference */
            const struct image next = new_table(&shapes[others[s]]);
            assert_int_equal(make_over(&profiles[p], &shapes[others[s]], &next), s != 1);
            profiles[p].data[profiles[p].length - 1] ^= 1;
            assert_int_equal(make_over(&profiles[p], &shapes[s], &again), 1);
            profiles[p].data[profiles[p].length - 1] ^= 1;
            assert_int_equal(make_over(&profiles[p], &shapes[s], &again), 1);
            assert_memory_equal(first.pixels, again.pixels, image_bytes(&first));
            free(first.pixels);
            free(again.pixels);
            free(next.pixels);
        }
    for (int p = 0; p < 3; p++) free(profiles[p].data);
}

/* Threads share nothing, and what one kept goes with that thread, or when work is to leave nothing.
 */
static void a_thread_keeps_its_own(void **state) {
    (void)state;
    const struct image shape = image_shape(1, 1, 3, 8);
    const struct image table = new_table(&shape);
    struct bytes profile = saved(cmsCreate_sRGBProfile());
    make_over(&profile, &shape, &table);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *made = NULL;
        assert_int_equal(pthread_create(&thread, NULL, make_elsewhere, &profile), 0);
        assert_int_equal(pthread_join(thread, &made), 0);
        assert_ptr_equal(made, &profile);
    }
    assert_int_equal(make_over(&profile, &shape, &table), 0);
    thread_remains_clear();
    assert_int_equal(make_over(&profile, &shape, &table), 1);
    free(profile.data);
    free(table.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(srgb_stays),
                                        cmocka_unit_test(gray_by_hand),
                                        cmocka_unit_test(unusable_profiles),
                                        cmocka_unit_test(damaged_profiles),
                                        cmocka_unit_test(the_same_profile_is_read_once),
                                        cmocka_unit_test(a_thread_keeps_its_own) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* srgb with tables of noise, against a slow function that goes from corner to corner; without a
 * table pixels stay. tests/pipeline/srgb_table.c has tables of profiles. */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

/* An axis: the place in its cell, and its number. */
struct axis {
    int64_t fraction;
    int number;
};

static int larger_first(const void *a, const void *b) {
    const struct axis *one = a, *other = b;
    if (one->fraction != other->fraction) return one->fraction < other->fraction ? 1 : -1;
    return one->number - other->number;
}

/* From the first corner, along the axes in the order of their fractions: each adds its share of the
 * difference between two corners. */
static int64_t light_at(const struct srgb_table *table, const uint32_t in[3], unsigned c) {
    const int32_t *curves = (const int32_t *)(table + 1), *grid = curves + 3 * table->levels;
    const int64_t one = INT64_C(1) << 24;
    if (table->side == 2) {
        int64_t sum = one / 2;
        for (int a = 0; a < 3; a++)
            sum += (int64_t)grid[3 * a + (int)c] * curves[a * table->levels + (int32_t)in[a]];
        return (sum - (sum % one + one) % one) / one;
    }
    struct axis axes[3];
    size_t at[3];
    for (int a = 0; a < 3; a++) {
        const int64_t place = curves[a * table->levels + (int32_t)in[a]];
        int64_t cell = place / one;
        if (cell > table->side - 2) cell = table->side - 2;
        at[a] = (size_t)cell;
        axes[a] = (struct axis){ place - cell * one, a };
    }
    qsort(axes, 3, sizeof *axes, larger_first);
    const size_t side = (size_t)table->side;
    int64_t sum = 0;
    int64_t before = grid[3 * ((at[0] * side + at[1]) * side + at[2]) + c];
    sum = before * one;
    for (int a = 0; a < 3; a++) {
        at[axes[a].number]++;
        const int64_t corner = grid[3 * ((at[0] * side + at[1]) * side + at[2]) + c];
        sum += (corner - before) * axes[a].fraction;
        before = corner;
    }
    sum = 2 * sum + one; /* floor(sum / one + 1/2) */
    return (int64_t)(sum >= 0 ? sum / (2 * one) : -((2 * one - 1 - sum) / (2 * one)));
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const struct srgb_table *table = (const void *)against_table.pixels;
    uint32_t samples[3];
    (void)params;
    for (unsigned k = 0; k < 3; k++)
        samples[k] = k < in->channels ? (uint32_t)against_sample(in, x, y, k) : 0;
    const uint32_t own = (uint32_t)against_sample(in, x, y, c);
    if (!table->side || (image_has_alpha(in) && c == in->channels - 1u)) return own;
    if (in->channels < 3) return (uint32_t)((const int32_t *)(table + 1))[own];
    int64_t light = light_at(table, samples, c);
    if (light < 0) light = 0;
    if (light > 1 << 24) light = 1 << 24;
    const int64_t low = table->encode[light / 4096], high = table->encode[light / 4096 + 1];
    const int64_t sample = (low * 4096 + (high - low) * (light % 4096) + 2048) / 4096;
    return (uint32_t)(in->depth == 16 ? sample : (sample * 255 + 32767) / 65535);
}

static void every_shape(void **state) {
    (void)state;
    check_against("srgb", expected);
}

static void without_a_table(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 200, 255, 0, 9 };
    check_8("srgb", 2, 1, 4, in, 4, in);
    const uint16_t wide[] = { 0, 65535, 77 };
    check_16("srgb", 3, 1, 1, wide, 1, wide);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_shape),
                                        cmocka_unit_test(without_a_table) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

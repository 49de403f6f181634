// SPDX-License-Identifier: Apache-2.0
/* made_table.h - tables for steps by profile that no profile has: noise in all that a device reads.
 *
 * Used by:  tests/pipeline/ops/against.h, tests/cuda/twin_batch.h.
 */
#ifndef BURIN_TESTS_MADE_TABLE_H
#define BURIN_TESTS_MADE_TABLE_H

#include "pipeline/ops/srgb.h"
#include "pipeline/srgb_table.h"
#include "tests/noise.h"

#include <string.h>

/* Fills TABLE, of srgb_table_shape(SHAPE). NUMBER chooses the sides of the grid; of seven tables
 * one is void. */
static inline void made_table_fill(const struct image *table, const struct image *shape,
                                   unsigned number) {
    static const uint8_t sides[] = { 2, 33, 3, 0, 2, 17, 33 };
    struct srgb_table *head = (struct srgb_table *)(void *)table->pixels;
    int32_t *numbers = (int32_t *)(void *)(head + 1);
    const bool colour = image_colours(shape) == 3;
    const uint32_t most = image_max(shape);
    uint32_t noise = 17 + number;
    memset(table->pixels, 0x5a, image_bytes(table));
    head->side = sides[number % 7] && !colour ? 1 : sides[number % 7];
    head->levels = (int32_t)most + 1;
    for (int i = 0; i <= SRGB_ENCODE; i++) head->encode[i] = (uint16_t)(noise_next(&noise) >> 16);
    head->encode[SRGB_ENCODE + 1] = head->encode[SRGB_ENCODE];
    const uint32_t side = (uint32_t)head->side;
    const uint32_t cells = side == SRGB_MATRIX ? 1 : side - 1;
    const uint32_t end = colour ? cells * (uint32_t)SRGB_ONE : most;
    for (uint32_t i = 0; i < 3 * (most + 1) && side; i++) {
        /* Places at corners, beside them and at the end too. */
        const uint32_t value = noise_next(&noise);
        const uint32_t near = (value >> 4) % (cells + 2) * (uint32_t)SRGB_ONE + (value & 2) - 1;
        *numbers++ = (int32_t)(value % 5 ? value % (end + 1) : near < end ? near : end);
    }
    for (uint32_t i = 0; i < 3 * side * side * side && colour; i++)
        *numbers++ = (int32_t)(noise_next(&noise) % (4 * SRGB_ONE)) - SRGB_ONE;
}

#endif

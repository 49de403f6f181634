// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/srgb.h"
#include "pipeline/srgb_table.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Whatever the profile, a table leads to no number outside of it, and equal bytes to equal tables.
 */
static void check_table(const uint8_t *bytes, size_t length, unsigned channels, unsigned depth) {
    const struct image shape = image_shape(1, 1, channels, depth);
    struct image tables[2];
    bool usable[2];
    for (int i = 0; i < 2; i++) {
        tables[i] = srgb_table_shape(&shape);
        tables[i].pixels = malloc(image_bytes(&tables[i]));
        memset(tables[i].pixels, i ? 0x5a : 0xff, image_bytes(&tables[i]));
        usable[i] = srgb_table_make(bytes, length, &shape, &tables[i]);
    }
    const struct srgb_table *table = (const void *)tables[0].pixels;
    if (memcmp(tables[0].pixels, tables[1].pixels, image_bytes(&tables[0])) != 0) abort();
    if (usable[0] != usable[1] || usable[0] != (table->side != SRGB_VOID)) abort();
    for (uint32_t v = 0; v < (uint32_t)table->levels && usable[0]; v += depth == 8 ? 1 : 251) {
        const uint32_t in[3] = { v, (uint32_t)table->levels - 1 - v, v / 2 };
        uint32_t out[3] = { 0, 0, 0 };
        if (channels == 3)
            srgb_convert(table, in, out, depth);
        else
            out[0] = (uint32_t)srgb_curves(table)[v];
        for (int c = 0; c < 3; c++)
            if (out[c] >= (uint32_t)table->levels) abort();
    }
    for (int i = 0; i < 2; i++) free(tables[i].pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    uint8_t cmyk[4 * 64], rgb[3 * 64];
    for (size_t i = 0; i < sizeof cmyk; i++) cmyk[i] = (uint8_t)(i * 37);
    check_table(bytes, length, 1, 8);
    check_table(bytes, length, 3, 8);
    if (length % 4 == 0) check_table(bytes, length, 3, 16);
    struct cmyk_rows *rows = cmyk_rows_open(bytes, length);
    if (rows) cmyk_rows_convert(rows, cmyk, 64, rgb);
    cmyk_rows_close(rows);
    return 0;
}

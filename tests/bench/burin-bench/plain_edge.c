// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/plain.h"

#include <math.h>

static void edge_row(const uint8_t *above, const uint8_t *here, const uint8_t *below, uint8_t *out,
                     uint32_t width) {
    for (uint32_t x = 0; x < width; x++) {
        const uint32_t l = x ? x - 1 : 0, r = x + 1 < width ? x + 1 : x;
        const int gx = above[r] - above[l] + 2 * (here[r] - here[l]) + below[r] - below[l];
        const int gy = below[l] - above[l] + 2 * (below[x] - above[x]) + below[r] - above[r];
        const int root = (int)sqrtf((float)(gx * gx + gy * gy));
        out[x] = (uint8_t)(root < 255 ? root : 255);
    }
}

bool plain_edge(const struct image *in, const struct image *out) {
    for (uint32_t y = 0; y < in->height; y++)
        edge_row(image_row(in, y ? y - 1 : 0), image_row(in, y),
                 image_row(in, y + 1 < in->height ? y + 1 : y), image_row(out, y), in->width);
    return true;
}

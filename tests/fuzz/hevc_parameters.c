// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/heic/parameters.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static bool is_sum(const uint16_t *sizes, unsigned count, uint32_t blocks) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!sizes[i]) return false;
        sum += sizes[i];
    }
    return sum == blocks;
}

/* Two bytes have the length of an hvcC; behind that an item follows. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct hevc_configuration configuration;
    struct hevc_parameters p;
    struct hevc_unit slice;
    const size_t head = length < 2 ? 0 : (size_t)bytes[0] << 8 | bytes[1];
    if (length < 2 || head > length - 2 ||
        hevc_configuration_read(bytes + 2, head, &configuration) ||
        !hevc_parameters_read(&configuration, &p))
        return 0;
    const unsigned tree = p.log2_min_block + p.log2_diff_block;
    const uint32_t across = (p.width + (1u << tree) - 1) >> tree;
    const uint32_t down = (p.height + (1u << tree) - 1) >> tree;
    if (tree > 6 || p.width > 8192 || p.height > 8192 || p.bits < 8 || p.bits > 10 ||
        (p.tiles && (!is_sum(p.widths, p.columns, across) || !is_sum(p.heights, p.rows, down))))
        abort();
    const uint8_t *item = bytes + 2 + head;
    if (hevc_slice_find(&configuration, &p, item, length - 2 - head, &slice) &&
        (slice.bytes < item || slice.length > (size_t)(bytes + length - slice.bytes)))
        abort();
    return 0;
}

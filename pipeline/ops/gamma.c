// SPDX-License-Identifier: Apache-2.0
/* How it works. Each sample is looked up in a table: 256 bytes, which vectors hold, or for 16 bits
 * 128 KiB, which the threads make together first. Alpha goes through the table too and is then
 * restored. */
#include "pipeline/ops/gamma.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/alpha.h"
#include "pipeline/rows/lookup.h"
#include "pipeline/sample.h"

#include <math.h>

static const struct param params[] = {
    [GAMMA_GAMMA] = { .name = "gamma",
                      .summary = "Samples are raised to 1 / gamma, over their range",
                      .type = PARAM_DECIMAL,
                      .min = 1000,
                      .max = 3000,
                      .def = 2200 },
    { .name = NULL },
};

enum { LEVELS16 = 65536 };

/* MAX is a double and both are divisions, so results are equal wherever pow is. */
static double level(uint32_t value, double max, long gamma) {
    return floor(max * pow(value / max, 1000.0 / (double)gamma) + 0.5);
}

void gamma_table8(long gamma, uint8_t table[256]) {
    for (uint32_t v = 0; v < 256; v++) table[v] = (uint8_t)level(v, 255, gamma);
}

void gamma_table16(long gamma, uint32_t first, uint32_t end, uint16_t *table) {
    for (uint32_t v = first; v < end; v++) table[v] = (uint16_t)level(v, 65535, gamma);
}

static size_t gamma_scratch(const struct op_call *call) {
    return call->in.depth == 8 ? 256 : LEVELS16 * sizeof(uint16_t);
}

static void make_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(LEVELS16, index, pool_threads(call->pool));
    gamma_table16(call->params->number[GAMMA_GAMMA], band.first, band.end, call->scratch);
}

static inline void look_up16(const uint16_t *table, const uint8_t *in, uint8_t *out,
                             size_t samples) {
    for (size_t i = 0; i < samples; i++) sample_put(out, i, 16, table[sample_get(in, i, 16)]);
}

static void gamma_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        const uint8_t *from = image_row(in, y);
        uint8_t *to = image_row(&call->out, y);
        if (in->depth == 8)
            lookup_bytes(call->scratch, from, to, image_row_bytes(in));
        else
            look_up16(call->scratch, from, to, (size_t)in->width * in->channels);
        if (image_has_alpha(in)) alpha_keep(from, to, in->width, in->channels, in->depth);
    }
}

static enum status gamma_run(struct op_call *call) {
    if (call->in.depth == 8)
        gamma_table8(call->params->number[GAMMA_GAMMA], call->scratch);
    else
        pool_run(call->pool, make_band, call, pool_threads(call->pool));
    pool_run(call->pool, gamma_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_gamma = {
    .name = "gamma",
    .title = "Lighten shadows",
    .group = OP_TONE,
    .summary = "Brightens dark tones more than light ones, by a power; alpha is kept",
    .params = params,
    .scratch = gamma_scratch,
    .run = gamma_run,
};

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/carve/energy_view.h"

#include "pipeline/ops/carve/map_fill.h"
#include "pipeline/sample.h"

static void draw_rows(const struct carve_context *context, const struct energy_map *map,
                      uint32_t first, uint32_t end) {
    const struct image *in = &context->call->in, *out = &context->call->out;
    uint16_t energies[ENERGY_MAP_RUN + ENERGY_SLACK];
    for (uint32_t y = first; y < end; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            if (x % ENERGY_MAP_RUN == 0)
                energy_map_compute(map, y, x,
                                   in->width - x < ENERGY_MAP_RUN ? in->width - x : ENERGY_MAP_RUN,
                                   energies);
            const uint32_t energy = energies[x % ENERGY_MAP_RUN];
            const uint32_t shown = (energy < 255 ? energy : 255) * (out->depth == 16 ? 257 : 1);
            sample_put(image_row(out, y), (size_t)x * out->channels, out->depth, shown);
            if (image_has_alpha(out))
                sample_put(
                    image_row(out, y), (size_t)x * 2 + 1, out->depth,
                    sample_get(image_row(in, y), (size_t)(x + 1) * in->channels - 1, in->depth));
        }
}

size_t energy_view_bytes(struct carve_context *context) {
    context->arena.used = 0;
    context->upright = carve_context_map(context, false);
    energy_map_lay(&context->upright, &context->arena, context->now.width, context->now.height,
                   false);
    return context->arena.used;
}

enum status energy_view_draw(struct carve_context *context) {
    const int64_t start = clock_ns();
    energy_view_bytes(context);
    enum status status = carve_fill_map(context, &context->upright);
    if (!status) status = carve_rows(context, &context->upright, context->now.height, draw_rows);
    timing_span(context->call->timing, "energy", 1, ns_to_ms(clock_ns() - start));
    return status;
}

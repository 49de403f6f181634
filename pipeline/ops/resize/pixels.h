// SPDX-License-Identifier: Apache-2.0
/* pixels.h - rows of pixels on their way through resize, as definition.h has it.
 *
 * Used by:  scale.c.
 * Threads:  any.
 */
#ifndef BURIN_OPS_RESIZE_PIXELS_H
#define BURIN_OPS_RESIZE_PIXELS_H

#include "pipeline/image.h"

/* What is done to each row. */
struct pixels_rule {
    unsigned channels;     /* of the picture */
    unsigned depth;        /* of the picture and of the result */
    unsigned out_channels; /* no fewer: gray becomes colour, and what had no alpha opaque */
    bool linear;
};

/* Bits a sample in between, while pixels are weighed. */
static inline unsigned pixels_depth_between(const struct pixels_rule *rule) {
    return rule->linear ? 16 : rule->depth;
}

/* Whether rows must be changed before they are weighed, and after. */
static inline bool pixels_change(const struct pixels_rule *rule) {
    return rule->linear || rule->channels == 2 || rule->channels == 4;
}

/* RULE is a struct pixels_rule. PIXELS pixels of the picture become what is weighed, of as many
 * channels and of the depth in between, and back, of out_channels. FROM and TO are apart. */
void pixels_prepare(const void *rule, const uint8_t *from, uint8_t *to, size_t pixels);
void pixels_finish(const void *rule, const uint8_t *from, uint8_t *to, size_t pixels);

/* The row of PIXELS pixels of the picture's channels that begins ROW gets out_channels. */
void pixels_widen(const struct pixels_rule *rule, uint8_t *row, size_t pixels);

#endif

// SPDX-License-Identifier: Apache-2.0
/* further_image.h - the shapes of further images for tests that walk the operators.
 *
 * Used by:  pipeline/ops/every_op.c, pipeline/ops/hidden_colours.c, cuda/hidden_colours.c,
 *           cuda/twin_batch.h.
 */
#ifndef BURIN_TESTS_FURTHER_IMAGE_H
#define BURIN_TESTS_FURTHER_IMAGE_H

#include "pipeline/op.h"

static inline bool further_is_picture(const struct op *op) {
    return op->aux[0].name && op->aux[0].kind == AUX_PICTURE;
}

/* The shape for PLACE of an operator on IN: a mask's, or a picture's of the size and the depth that
 * NUMBER chooses. Width 0: the operator takes none there. */
static inline struct image further_shape(const struct op *op, int place, const struct image *in,
                                         unsigned number) {
    static const uint32_t sizes[][2] = { { 0, 0 },   { 1, 1 },  { 5, 300 }, { 97, 3 },
                                         { 300, 9 }, { 4, 31 }, { 64, 64 } };
    const uint32_t *size = sizes[number % 7];
    const struct op_aux *aux = &op->aux[place];
    if (!aux->name) return (struct image){ 0 };
    if (aux->kind == AUX_MASK) return image_shape(in->width, in->height, 1, 8);
    return image_shape(size[0] ? size[0] : in->width, size[1] ? size[1] : in->height, 4,
                       number % 2 ? 16 : 8);
}

#endif

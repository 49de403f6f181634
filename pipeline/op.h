// SPDX-License-Identifier: Apache-2.0
/* op.h - an operator: a record that describes itself, and the plain reference.
 *
 * One file of pipeline/ops/ defines `const struct op op_<file name>`; cuda/ops/<file name>.cu, if
 * it exists, defines its twin `const struct cuda_op cuda_op_<file name>` (cuda/cuda_op.h). The
 * Makefile finds both and generates the registry.
 *
 * An operator either makes an image of its input, or it computes values (`values` is set). In the
 * second case the input image is passed on without a copy, and the operator writes only numbers.
 *
 * Used by:  operators, registry.c, plan.c, run.c, devices.
 * Owns:     operators allocate and free nothing. run.c asks for the output's shape and the scratch
 *           bytes, and passes in both and the memory for values. Input is never written. Input and
 *           output never overlap, except that an operator with values has `out` equal to `in`,
 *           unwritten.
 * Fails:    size: STATUS_BAD_PARAM, STATUS_TOO_LARGE; run: STATUS_MISMATCH, STATUS_CANCELLED,
 *           STATUS_DEADLINE.
 * Threads:  a call belongs to one thread, which may share its work through `pool`.
 */
#ifndef BURIN_OP_H
#define BURIN_OP_H

#include "pipeline/cut.h"
#include "pipeline/image.h"
#include "pipeline/param.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"
#include "pipeline/timing.h"
#include "pipeline/values.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OP_AUX_MAX = 2 };

/* The form in which an operator gets an extra image. */
enum aux_kind {
    AUX_MASK,   /* 8-bit gray, as large as the operator's input */
    AUX_PICTURE /* RGBA of any size, with the depth of its file; must be given */
};

/* An extra image that an operator takes beside its input, such as a mask. */
struct op_aux {
    const char *name;    /* name of the form field and of the option of `burin run`; NULL: none */
    const char *summary; /* one line, no full stop */
    enum aux_kind kind;
};

/* One image that passes through one operator; in device memory where a GPU runs it. */
struct op_call {
    const struct op *op; /* the operator that is called */
    const struct params *params;
    struct image in;
    struct image out;             /* shape from op.size; every pixel must be written */
    struct image aux[OP_AUX_MAX]; /* as its enum aux_kind says; width 0: not given */
    struct image table;           /* of op.by_profile: srgb_table.h; width 0: none */
    struct cut cut;               /* of op.finder: its values for `in`; `out` is what is left */
    struct image
        common; /* result of the shared call that op.common asked for; width 0: there was none */
    void
        *values; /* values_bytes() of the shape from op.values, all to be written; 256-byte aligned,
                   not cleared; NULL: no values */
    void *scratch;             /* scratch_bytes bytes, 256-byte aligned, not cleared */
    size_t scratch_bytes;      /* size of `scratch`, which a GPU's twin checks */
    struct pool *pool;         /* threads for the reference; NULL: only the caller's */
    struct progress *progress; /* may be NULL */
    struct timing *timing;     /* receives kernels as spans of level 1; may be NULL */
    struct failure *failure;
    /* The previous steps, last first, that this call performs too; its input is that of the
     * earliest. Their op and params are set. NULL: none; always NULL for a reference. */
    const struct op_call *before;
};

/* The part of a menu that an operator belongs to. */
enum op_group { OP_UNGROUPED, OP_SIZE, OP_TONE, OP_COLOUR, OP_DETAIL, OP_VALUES, OP_GROUPS };

/* A group's heading; NULL for OP_UNGROUPED. */
static inline const char *op_group_name(enum op_group group) {
    static const char *const names[OP_GROUPS] = {
        NULL, "size and place", "light and contrast", "colour", "sharpness and edges", "values"
    };
    return names[group];
}

struct op {
    const char *name;  /* the file's name */
    const char *title; /* an everyday name; NULL: none */
    enum op_group group;
    const char *summary; /* one line for users, no full stop */
    const char *unit;    /* unit of progress ("seams"); NULL: reports none */
    unsigned depth;      /* 8 or 16: the only depth accepted; 0: both */
    const struct param *params;
    struct op_aux aux[OP_AUX_MAX];
    bool widths; /* a request may ask for several values of `width`, one result each */
    const char *not_with_widths; /* a parameter that must then keep its default; NULL: none */

    /* Sets the output's shape for IN; STATUS_BAD_PARAM or STATUS_TOO_LARGE if there is none. NULL:
     * the input's. */
    enum status (*size)(const struct params *params, const struct image *in, struct image *out,
                        struct failure *failure);

    /* Returns the shape of the values that OP, this record, computes for IN. Where set, the image
     * is passed on and `size` is NULL. */
    struct values_shape (*values)(const struct op *op, const struct params *params,
                                  const struct image *in);

    /* The names of a channel's values, which become a JSON object; NULL: they have none. */
    const char *const *value_names;

    /* The operator that finds what this one cuts off `in`, which depends on the pixels. It has the
     * same parameters, and its values are a struct cut; they are reported as those of this
     * operator. run.c runs it first, then knows the shapes of this and later steps. `size` is NULL;
     * nothing is cut off where nothing was looked for. NULL: the shape depends on `size` alone. */
    const struct op *finder;

    /* Prints the text that replaces VALUES, which are then a picture's samples: ASCII without
     * quotes, backslashes and control characters. The host makes the text on every device. Returns
     * its length. NULL: the numbers are the result. */
    size_t (*text)(const struct params *params, const struct values *values,
                   char text[VALUES_TEXT_MAX]);

    /* Whether samples are read as sRGB regardless of the image's profile. NULL: never. */
    bool (*assumes_srgb)(const struct params *params);

    /* The image's profile, as the table of each call, decides the result, which is sRGB. Only as
     * the first step. */
    bool by_profile;

    /* Returns the number of passes over the pixels, to which run time is proportional. NULL: once.
     */
    uint32_t (*passes)(const struct params *params, const struct image *in);

    /* Returns the further passes expected for the image at PLACE of `aux`. NULL: none. */
    uint32_t (*aux_passes)(const struct params *params, const struct image *in, int place);

    /* Offers one shared call before COUNT calls over one image, IN. CALLS has their params, NULL
     * for another operator's call; bit p of AUX: they get the image at place p of `aux`. If the
     * shared call's image saves work for at least two of them, fills in its PARAMS and returns a
     * bit for each call that uses the image; else 0. NULL: never.
     * Such calls may differ in params within a batch. */
    uint32_t (*common)(const struct params *const *calls, int count, const struct image *in,
                       uint32_t aux, struct params *params);

    /* Whether a GPU works on many images like IN, with the result OUT, at once, so that a large
     * batch gives more images a second, though each takes longer. AUX: bit i is set if the further
     * image at place i is given. NULL: never. */
    bool (*abreast)(const struct params *params, const struct image *in, const struct image *out,
                    uint32_t aux);

    /* Returns the scratch bytes that the reference needs for CALL, of which only params and shapes
     * are set. NULL: none. */
    size_t (*scratch)(const struct op_call *call);

    /* The reference. STATUS_CANCELLED and STATUS_DEADLINE come from progress_check. */
    enum status (*run)(struct op_call *call);
};

#ifdef __cplusplus
}
#endif
#endif

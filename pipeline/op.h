// SPDX-License-Identifier: Apache-2.0
/* op.h - what an operator is: a record that describes itself, and the plain reference.
 *
 * One file of pipeline/ops/ defines `const struct op op_<file name>`; cuda/ops/<file name>.cu, if
 * it is there, defines its twin `const struct cuda_op cuda_op_<file name>` (cuda/cuda_op.h). The
 * Makefile finds both and generates the registry.
 *
 * An operator makes an image of its input, or it tells values of it (`values` is set): then the
 * image is passed on as it is, nobody copies it, and what the operator writes are numbers.
 *
 * Used by:  operators, registry.c, plan.c, run.c, devices.
 * Owns:     operators allocate and free nothing; run.c asks for output shape and scratch bytes and
 *           hands both in, and the memory for values. Input is never written. Input and output
 *           never overlap, but where values are told: there `out` is `in`, and nobody writes it.
 * Fails:    size: STATUS_BAD_PARAM, STATUS_TOO_LARGE; run: STATUS_MISMATCH, STATUS_CANCELLED,
 *           STATUS_DEADLINE.
 * Threads:  a call belongs to one thread, which may share its work out by `pool`.
 */
#ifndef BURIN_OP_H
#define BURIN_OP_H

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

/* A further image that an operator takes beside its input, such as a mask. */
struct op_aux {
    const char *name;    /* of the form's field, and of the option of `burin run`; NULL: none */
    const char *summary; /* one line, no full stop */
};

/* One image on its way through one operator. Device memory where a GPU runs it. */
struct op_call {
    const struct op *op; /* whose call it is */
    const struct params *params;
    struct image in;
    struct image out;             /* shape as op.size said; pixels to be written whole */
    struct image aux[OP_AUX_MAX]; /* 8-bit gray, as large as `in`; width 0: not given */
    struct image common;          /* what the call that op.common asked for made of `in`, before
                                     this one that it serves; width 0: there was none */
    void *values;                 /* values_bytes() of what op.values said, to be written whole;
                                     256-byte aligned, not cleared; NULL: none are told */
    void *scratch;                /* op.scratch bytes, 256-byte aligned, not cleared */
    size_t scratch_bytes;         /* so many of them there are; a GPU's twin looks */
    struct pool *pool;            /* threads the reference may use; NULL: the caller's alone */
    struct progress *progress;    /* may be NULL */
    struct timing *timing;        /* kernels are told here with level 1; may be NULL */
    struct failure *failure;
    /* The steps before, backwards, that this call does too: it is given what the first of them was
     * given. Their op and params are set. NULL: none; a reference never gets any. */
    const struct op_call *before;
};

struct op {
    const char *name;    /* the file's name */
    const char *summary; /* one line for people, no full stop */
    const char *unit;    /* of its progress, "seams"; NULL: it tells none */
    unsigned depth;      /* 8 or 16: the only depth that it takes; 0: both */
    const struct param *params;
    struct op_aux aux[OP_AUX_MAX];
    bool widths; /* a request may ask for several values of `width` at once, a result each */
    const char *not_with_widths; /* a parameter that then stays as it is by default; NULL: none */

    /* Output shape for IN, or why not (STATUS_BAD_PARAM, STATUS_TOO_LARGE). NULL: as the input. */
    enum status (*size)(const struct params *params, const struct image *in, struct image *out,
                        struct failure *failure);

    /* What is told of IN, the image of one call; OP is the record itself. Set: the image is passed
     * on, and `size` is NULL. */
    struct values_shape (*values)(const struct op *op, const struct params *params,
                                  const struct image *in);

    /* The text that is told in place of VALUES, which are a picture's samples: in ASCII without
     * quotes, backslashes and controls. The host makes it, whatever device has told them. Returns
     * its length. NULL: numbers are told. */
    size_t (*text)(const struct params *params, const struct values *values,
                   char text[VALUES_TEXT_MAX]);

    /* Whether it takes samples for sRGB's whatever the image's profile says. NULL: never. */
    bool (*assumes_srgb)(const struct params *params);

    /* How often the pixels are gone through, which is what its time grows with. NULL: once. */
    uint32_t (*passes)(const struct params *params, const struct image *in);

    /* Several calls over one image, IN, each with its own of the COUNT params in CALLS (NULL there:
     * not this operator's): the PARAMS of one more, that is made once before them, if from its
     * image two of them or more come with less work. Which: a bit each; 0: there is no such call.
     * NULL: never. A batch of those calls shares no params. */
    uint32_t (*common)(const struct params *const *calls, int count, const struct image *in,
                       struct params *params);

    /* Scratch bytes the reference wants for CALL, whose params and shapes alone are set. NULL:
     * none. */
    size_t (*scratch)(const struct op_call *call);

    /* The reference. STATUS_CANCELLED and STATUS_DEADLINE come from progress_check. */
    enum status (*run)(struct op_call *call);
};

#ifdef __cplusplus
}
#endif
#endif

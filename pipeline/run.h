// SPDX-License-Identifier: Apache-2.0
/* run.h - walks a plan over a batch of images on a lane, without leaving the device in between.
 *
 *     run_reserve(lane, plan, items, n, ...)   lays out memory
 *     ... the caller decodes into items[i].in, where items[i].jpeg is NULL ...
 *     run_batch(lane, plan, items, n)          upload, operators, download; items[i].out or .file
 *                                              is ready, and so are items[i].values
 *
 * Where the device has a codec (device.h), an item may come as a file, and leave as one: each for
 * itself, whatever the others of the batch do.
 *
 * Several results of one image, each from what common steps make of it: run_reserve_tree and
 * run_batch_tree do the same for plans that part (struct run_tree).
 *
 * Used by:  the worker, `burin run`, benchmarks.
 * Owns:     nothing; pixels and values belong to the lane and are good until its next run_reserve
 *           or trim.
 * Fails:    STATUS_NO_MEMORY, STATUS_DEVICE for all; an item's own failure stays with it.
 * Threads:  the lane's.
 * Limits:   RUN_BATCH_MAX items, those of all parts together.
 */
#ifndef BURIN_RUN_H
#define BURIN_RUN_H

#include "pipeline/codec.h"
#include "pipeline/device.h"
#include "pipeline/plan_tree.h"

enum { RUN_BATCH_MAX = 64 };

/* What the caller wants of an item's result. */
enum run_result {
    RUN_PIXELS,  /* in host memory */
    RUN_FILE,    /* a JPEG that the device's codec takes (encode_bytes) */
    RUN_NOTHING, /* its values alone */
    RUN_BOTH     /* pixels and such a JPEG */
};

struct run_item {
    struct image in; /* shape set by the caller; pixels by run_reserve, in host memory */
    struct image aux[OP_AUX_MAX]; /* likewise, of the first step that takes any */
    /* The file of `in`, which the device's codec takes (decode_bytes): the caller decodes nothing.
     * NULL: the caller does. */
    const struct jpeg_baseline *jpeg;
    size_t decode_bytes; /* what the codec says of it */
    size_t codec_bytes;  /* heap of the CPU's codecs, for the files that the caller handles */
    enum run_result want;
    struct lane_encoding file; /* with RUN_FILE: quality, profile, bytes, capacity by the caller */
    size_t encode_bytes;       /* and what the codec says of it */
    struct encode_options encode; /* likewise: max_bytes and min_quality are kept to */
    struct fitting fitting;       /* set by run_batch: how it came to fit */
    bool refused; /* by the device's codec: neither result nor values mean anything */
    /* Set by run_reserve, filled by run_batch, in host memory: the result, which is `in` where no
     * step makes an image, and what each step tells (type VALUE_NONE: nothing). */
    struct image out;
    struct values values[PLAN_STEPS_MAX];
    struct progress *progress; /* may be NULL */
    struct timing *timing;     /* upload to download, what the device did; may be NULL */
    struct failure failure;    /* of this item alone */
    struct image shapes[PLAN_STEPS_MAX + 1]; /* plan_shapes', from `in` or the trunk's result on */
    bool shaped;               /* the caller has filled `shapes`; else run_reserve does */
    struct plan_common shared; /* likewise, of a trunk's: what serves its branches */
    struct image common;       /* likewise, of a branch's: the image of that; width 0: nothing */
    uint32_t fused; /* likewise, of the first of a part's items: bit s, step s hands its image on to
                       the next inside a kernel */
};

static inline bool run_wants_pixels(const struct run_item *item) {
    return item->want == RUN_PIXELS || item->want == RUN_BOTH;
}

static inline bool run_wants_file(const struct run_item *item) {
    return item->want == RUN_FILE || item->want == RUN_BOTH;
}

/* Steps that every item goes through. */
struct run_part {
    const struct plan *plan;
    struct run_item *items;
    double compute_ms; /* told by run_batch_tree, of all its items together; below 0: not known */
};

/* The last step that makes an image; -1: none does, and the result is the input. */
int run_last_maker(const struct plan *plan);

/* What the first part, the trunk, makes of item I is what every further one makes its own item I
 * of: `in` of these is nobody's, and so are `jpeg` and `aux`: the trunk's images beside the input
 * are theirs, unless a step of the trunk takes them. What is wanted of a part whose steps make no
 * image is wanted of the trunk instead. */
struct run_tree {
    int count; /* of the items of each part */
    int part_count;
    struct run_part parts[PLAN_PARTS_MAX];
};

/* All items have as many channels and are as deep as the first. items[i].aux: shapes of what the
 * caller has, 8-bit gray (width 0: nothing), as large as the image is there (plan_aux_step,
 * plan_shapes). One item whose shape the plan refuses gets its failure and makes the whole call
 * fail: check with plan_shapes before. STATUS_NO_MEMORY leaves the lane as it was; so do
 * STATUS_CANCELLED and STATUS_DEADLINE, where the device waited for memory and one of the items was
 * over meanwhile. */
enum status run_reserve(struct lane *lane, const struct plan *plan, struct run_item *items,
                        int count, uint64_t pixels_max, struct failure *failure);

/* On failure every item has its own status in items[i].failure. STATUS_OK where one item at least
 * came through: the others have their failure. */
enum status run_batch(struct lane *lane, const struct plan *plan, struct run_item *items, int count,
                      struct failure *failure);

/* The same for plans that part. The trunk's item has the failure and the refusal of any part's; its
 * `timing` alone is told. */
enum status run_reserve_tree(struct lane *lane, struct run_tree *tree, uint64_t pixels_max,
                             struct failure *failure);
enum status run_batch_tree(struct lane *lane, struct run_tree *tree, struct failure *failure);

#endif

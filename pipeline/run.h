// SPDX-License-Identifier: Apache-2.0
/* run.h - walks a plan over a batch of images on a lane, without leaving the device in between.
 *
 *     run_reserve(lane, plan, items, n, ...)   lays out memory
 *     ... the caller decodes into items[i].in, where !run_is_file(&items[i]) ...
 *     run_batch(lane, plan, items, n)          upload, operators, download; items[i].out or .file
 *                                              is ready, and so are items[i].values
 *
 * If the device has a codec (device.h), any item of a batch may come as a file or leave as one.
 *
 * run_reserve_tree and run_batch_tree do the same for a plan with branches (struct run_tree), which
 * makes several results of one image.
 *
 * Used by:  the worker, `burin run`, benchmarks.
 * Owns:     nothing; pixels and values belong to the lane and are valid until its next run_reserve
 *           or trim.
 * Fails:    STATUS_NO_MEMORY, STATUS_DEVICE for the batch; an item's own failure stays in the item.
 * Threads:  the lane's.
 * Limits:   RUN_BATCH_MAX items in all parts together.
 */
#ifndef BURIN_RUN_H
#define BURIN_RUN_H

#include "pipeline/codec.h"
#include "pipeline/device.h"
#include "pipeline/plan_tree.h"

enum { RUN_BATCH_MAX = 64 };

/* The form in which the caller wants an item's result. */
enum run_result {
    RUN_PIXELS,  /* in host memory */
    RUN_FILE,    /* a JPEG that the device's codec encodes (encode_bytes) */
    RUN_NOTHING, /* values only */
    RUN_BOTH     /* pixels and such a JPEG */
};

struct run_item {
    struct image in;              /* shape by the caller; pixels by run_reserve, in host memory */
    struct image aux[OP_AUX_MAX]; /* the same, for the first step that takes any */
    struct image table;           /* for steps by profile, which the caller fills; width 0: none */
    /* The file that the device decodes; both NULL: the caller decodes. A HEIC is its batch's only
     * item. */
    const struct jpeg_baseline *jpeg;
    const struct heic_still *heic;
    size_t decode_bytes; /* from the device's codec, for either */
    size_t codec_bytes;  /* heap of the CPU's codecs, for the files that the caller handles */
    enum run_result want;
    /* RUN_FILE, RUN_BOTH: set by the caller. Of `file`: quality, carried, bytes and capacity. */
    struct lane_encoding file;
    size_t encode_bytes;          /* from the device's codec */
    struct encode_options encode; /* max_bytes and min_quality */
    struct fitting fitting;       /* set by run_batch: the quality that fits max_bytes */
    bool refused;                 /* by the device's codec: result and values are invalid */
    /* Set by run_reserve, filled by run_batch, in host memory: the result, which is `in` if no step
     * makes an image, and the values that each step reports (type VALUE_NONE: none). */
    struct image out;
    struct values values[PLAN_STEPS_MAX];
    struct progress *progress; /* may be NULL */
    struct timing *timing;     /* the device's times, upload to download; may be NULL */
    struct failure failure;    /* of this item alone */
    struct image shapes[PLAN_STEPS_MAX + 1]; /* from plan_shapes: of `in` or the trunk's result */
    bool shaped; /* the caller has filled `shapes`; else run_reserve does */
    /* PLAN_STEPS_MAX of them: each step cuts that off (op.finder). NULL: run_batch finds them, and
     * changes `shapes`, `in`, `out` and `values` then. */
    const struct cut *given;
    struct cut cuts[PLAN_STEPS_MAX]; /* those, or what was found */
    uint32_t found;                  /* bit s: cuts[s] is known */
    uint64_t own_pixels_max;         /* of each image, if it is less than run_reserve's; 0: none */
    uint64_t pixels_max;             /* the less of both; set by run_reserve */
    /* Set by run_reserve: */
    struct plan_common shared; /* trunk: the call that serves branches */
    struct image common;       /* branch: the result of that call; width 0: not served */
    uint32_t fused; /* a part's first item; bit s: a kernel of a later step does step s as well */
};

/* The device decodes the file of ITEM. */
static inline bool run_is_file(const struct run_item *item) {
    return item->jpeg || item->heic;
}

static inline bool run_wants_pixels(const struct run_item *item) {
    return item->want == RUN_PIXELS || item->want == RUN_BOTH;
}

static inline bool run_wants_file(const struct run_item *item) {
    return item->want == RUN_FILE || item->want == RUN_BOTH;
}

/* A part of a tree: one plan for all of ITEMS. */
struct run_part {
    const struct plan *plan;
    struct run_item *items;
    double compute_ms; /* set by run_batch_tree, of all items together; below 0: not known */
};

/* The last step that makes an image; -1: there is none, and the result is the input. */
int run_last_maker(const struct plan *plan);

/* The first part is the trunk, the others are branches: item I of each branch begins with the
 * trunk's result of item I. The caller sets no `in`, file or `aux` in a branch's items: branches
 * get the trunk's `aux`, unless a step of the trunk takes them. A branch whose steps make no image
 * has RUN_NOTHING; the caller asks the trunk for that image. */
struct run_tree {
    int count; /* items of each part */
    int part_count;
    struct run_part parts[PLAN_PARTS_MAX];
};

/* All items have the channels and the depth of the first. items[i].aux: shapes of the caller's
 * further images (aux_image.h; width 0: none); masks are as large as the image that their step gets
 * (plan_aux_step, plan_shapes). An item whose shape the plan refuses makes the whole call fail:
 * check with plan_shapes before. STATUS_NO_MEMORY leaves the lane unchanged; so do STATUS_CANCELLED
 * and STATUS_DEADLINE, if an item is cancelled or expires while the device waits for memory. */
enum status run_reserve(struct lane *lane, const struct plan *plan, struct run_item *items,
                        int count, uint64_t pixels_max, struct failure *failure);

/* STATUS_OK if at least one item succeeded; items[i].failure has the failure of each other item. On
 * any other status all items have failed. Where a step's shape depends on the pixels (op.finder),
 * run_reserve has assumed that nothing is cut off, and more memory may be needed:
 * STATUS_NO_MEMORY. */
enum status run_batch(struct lane *lane, const struct plan *plan, struct run_item *items, int count,
                      struct failure *failure);

/* The same for plans with branches. The trunk's item gets the failure and the refusal of any part's
 * item I, and it alone gets `timing`. */
enum status run_reserve_tree(struct lane *lane, struct run_tree *tree, uint64_t pixels_max,
                             struct failure *failure);
enum status run_batch_tree(struct lane *lane, struct run_tree *tree, struct failure *failure);

#endif

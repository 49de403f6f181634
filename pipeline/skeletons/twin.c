// SPDX-License-Identifier: Apache-2.0
/* How it works. Each band of rows goes to one thread, a few rows at a time, so that a cancelled job
 * is noticed. P2P and N2P write their rows. An R2S folds into its band's numbers and an R2V counts
 * into its band's lists, in the scratch; the caller's thread then combines the bands, in order, and
 * writes the values. */
#include "pipeline/skeletons/twin.h"

#include "pipeline/band.h"
#include "pipeline/skeletons/user_text.h"

#include <string.h>

enum {
    BANDS_MAX = 64,
    CHANNELS_MAX = 3,
    BAND_SAMPLES = 1 << 15,        /* least samples of a band */
    STRETCH_SAMPLES = 1 << 16,     /* between two checks of the job's progress */
    COPIES = 4,                    /* copies of an R2V's lists */
    COPIED_BINS_MAX = 4096,        /* longer lists have one copy */
    COUNT_BYTES_MAX = 32 * 1048576 /* bytes for all bands */
};

struct work {
    const struct op_call *call;
    const struct user_op *op;
    const struct twin_loops *loops;
    struct burin_rows rows; /* common to all bands, except their outputs */
    int bands;
    _Alignas(8) unsigned char params[PARAMETER_STRUCT_BYTES_MAX];
};

static int copies_of(int bins) {
    return bins <= COPIED_BINS_MAX ? COPIES : 1;
}

/* Bytes of one band's counts. */
static size_t count_bytes(const struct user_op *op, const struct op_call *call) {
    const int bins = user_op_bins(op, call->params);
    return sizeof(int) * (size_t)bins * (size_t)copies_of(bins) * image_colours(&call->in);
}

static int bands_max(const struct user_op *op, const struct op_call *call) {
    uint64_t most = image_pixels(&call->in) * call->in.channels / BAND_SAMPLES + 1;
    if (op->skeleton == SKELETON_R2V && most > COUNT_BYTES_MAX / count_bytes(op, call))
        most = COUNT_BYTES_MAX / count_bytes(op, call);
    if (most > call->in.height) most = call->in.height;
    return most > BANDS_MAX ? BANDS_MAX : most ? (int)most : 1;
}

static size_t twin_scratch(const struct op_call *call) {
    const struct user_op *op = user_op_of(call->op);
    if (op->skeleton == SKELETON_R2S) return BANDS_MAX * CHANNELS_MAX * sizeof(struct burin_fold);
    if (op->skeleton == SKELETON_R2V) return (size_t)bands_max(op, call) * count_bytes(op, call);
    return 0;
}

/* ---- bands */

static struct burin_fold *folds_of(const struct work *work, int band) {
    return (struct burin_fold *)work->call->scratch + band * CHANNELS_MAX;
}

static int *counts_of(const struct work *work, int band) {
    return (int *)((uint8_t *)work->call->scratch +
                   (size_t)band * count_bytes(work->op, work->call));
}

static void do_band(void *argument, int index) {
    const struct work *work = argument;
    const struct image *in = &work->call->in;
    const struct band band = band_of(in->height, index, work->bands);
    const uint32_t stretch = STRETCH_SAMPLES / (in->width * in->channels) + 1;
    struct burin_rows rows = work->rows;
    if (work->op->skeleton == SKELETON_R2S) {
        rows.folds = folds_of(work, index);
        memset(rows.folds, 0, CHANNELS_MAX * sizeof *rows.folds);
    }
    if (work->op->skeleton == SKELETON_R2V) {
        rows.counts = counts_of(work, index);
        memset(rows.counts, 0, count_bytes(work->op, work->call));
    }
    for (uint32_t y = band.first; y < band.end && !progress_check(work->call->progress);
         y += stretch) {
        rows.first = (int)y;
        rows.end = (int)(band.end - y < stretch ? band.end : y + stretch);
        work->loops->rows(&rows);
    }
}

/* ---- values */

static struct values_shape twin_values(const struct op *op, const struct params *params,
                                       const struct image *in) {
    const struct user_op *user = user_op_of(op);
    const enum scalar_type type = user_text_result(user, in->depth);
    const bool is_signed = scalar_type_is_signed(type);
    const enum value_type wide = is_signed ? VALUE_INT64 : VALUE_UINT64,
                          narrow = is_signed ? VALUE_INT32 : VALUE_UINT32;
    return (struct values_shape){ .type = scalar_type_bytes(type) == 8 ? wide : narrow,
                                  .channels = image_colours(in),
                                  .length = (uint32_t)user_op_bins(user, params),
                                  .is_list = user->skeleton == SKELETON_R2V };
}

/* A value takes the low bytes of a long long. */
static void put_folds(const struct work *work) {
    const struct values_shape shape =
        twin_values(&work->op->op, work->call->params, &work->call->in);
    const size_t size = value_bytes(shape.type);
    struct burin_fold *total = folds_of(work, 0);
    for (uint32_t c = 0; c < shape.channels; c++) {
        for (int band = 1; band < work->bands; band++)
            work->loops->merge(&total[c], &folds_of(work, band)[c], work->params);
        memcpy((uint8_t *)work->call->values + c * size, &total[c].value, size);
    }
}

/* Sums wrap, as on the GPU. */
static void put_counts(const struct work *work) {
    const size_t list = (size_t)work->rows.bins * image_colours(&work->call->in);
    uint32_t *values = work->call->values;
    memset(values, 0, list * sizeof *values);
    for (int band = 0; band < work->bands; band++) {
        const int *counts = counts_of(work, band);
        for (int copy = 0; copy < work->rows.copies; copy++, counts += list)
            for (size_t i = 0; i < list; i++) values[i] += (uint32_t)counts[i];
    }
}

/* ---- one image */

static enum status twin_run(struct op_call *call) {
    const struct user_op *op = user_op_of(call->op);
    const int bins = user_op_bins(op, call->params);
    struct work work = {
        .call = call,
        .op = op,
        .loops = &op->loops[call->in.depth == 16],
        .rows = { .in = call->in.pixels,
                  .out = call->out.pixels,
                  .in_stride = call->in.stride,
                  .out_stride = call->out.stride,
                  .width = (int)call->in.width,
                  .height = (int)call->in.height,
                  .channels = call->in.channels,
                  .bins = bins,
                  .copies = copies_of(bins) },
    };
    if (!work.loops->rows)
        return fail(call->failure, STATUS_INTERNAL, "%s is not compiled for a CPU", op->op.name);
    const int threads = pool_threads(call->pool), most = bands_max(op, call);
    work.bands = threads < most ? threads : most;
    if (op->parameters) parameter_struct_fill(op->parameters, call->params, work.params);
    work.rows.params = work.params;
    pool_run(call->pool, do_band, &work, work.bands);
    const enum status status = progress_check(call->progress);
    if (status == STATUS_OK && op->skeleton == SKELETON_R2S) put_folds(&work);
    if (status == STATUS_OK && op->skeleton == SKELETON_R2V) put_counts(&work);
    return status;
}

/* Gray becomes RGB: the function may return any colour. */
static enum status pixel_size(const struct params *values, const struct image *in,
                              struct image *out, struct failure *failure) {
    (void)values, (void)failure;
    *out = image_shape(in->width, in->height, image_has_alpha(in) ? 4 : 3, in->depth);
    return STATUS_OK;
}

void twin_fill(struct user_file *file) {
    for (int i = 0; i < file->count; i++) {
        struct op *op = &file->ops[i].op;
        op->run = twin_run;
        op->scratch = twin_scratch;
        if (file->ops[i].skeleton == SKELETON_PIXEL) op->size = pixel_size;
        if (file->ops[i].skeleton == SKELETON_R2S || file->ops[i].skeleton == SKELETON_R2V)
            op->values = twin_values;
    }
}

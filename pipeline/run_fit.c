// SPDX-License-Identifier: Apache-2.0
/* How it works. The pixels of the results are still on the device. In each round the files whose
 * quality is still searched for are encoded together, and quality_search.h judges each. */
#include "pipeline/run_fit.h"

#include "pipeline/quality_search.h"

/* The files whose quality is still searched for. */
struct fit {
    struct lane *lane;
    int count;
    struct run_item *items[RUN_BATCH_MAX];
    struct image images[RUN_BATCH_MAX];
    struct quality_search searches[RUN_BATCH_MAX];
    struct lane_encoding encodings[RUN_BATCH_MAX];
};

/* Judges ITEM's latest file; true if another has to be made. */
static bool goes_on(struct run_item *item, struct quality_search *search) {
    if (item->refused) return false;
    const bool more = quality_search_next(search, item->file.length);
    item->fitting = (struct fitting){ search->quality, search->tries };
    if (!more && !search->fits) quality_search_refuse(search, FORMAT_JPEG, &item->failure);
    if (more && progress_check(item->progress))
        fail(&item->failure, progress_check(item->progress),
             "stopped while its quality was sought");
    return more && !item->failure.status;
}

/* Judges all files and keeps those that have to be made again. */
static void judge(struct fit *fit) {
    int left = 0;
    for (int i = 0; i < fit->count; i++) {
        if (!goes_on(fit->items[i], &fit->searches[i])) continue;
        fit->items[left] = fit->items[i];
        fit->images[left] = fit->images[i];
        fit->searches[left++] = fit->searches[i];
    }
    fit->count = left;
}

/* Encodes all files of FIT in one more batch on the device. */
static enum status encode_round(struct fit *fit, struct lane_times *times,
                                struct failure *failure) {
    struct lane *lane = fit->lane;
    struct lane_times round = { 0 };
    for (int i = 0; i < fit->count; i++) {
        fit->encodings[i] = fit->items[i]->file;
        fit->encodings[i].image = fit->images[i];
        fit->encodings[i].quality = fit->searches[i].quality;
        fit->encodings[i].length = 0;
    }
    enum status status = lane->driver->upload(lane, 0, failure);
    if (!status) status = lane->driver->codec->encode(lane, fit->encodings, fit->count, failure);
    if (!status) status = lane->driver->download(lane, 0, failure);
    const enum status finished = lane->driver->finish(lane, &round, NULL, failure);
    times->encode_ms += round.encode_ms + round.upload_ms + round.compute_ms;
    times->download_ms += round.download_ms;
    for (int i = 0; i < fit->count; i++) {
        fit->items[i]->file.length = fit->encodings[i].length;
        fit->items[i]->refused |= !fit->encodings[i].length;
    }
    return status ? status : finished;
}

static void begin(struct fit *fit, const struct run_part *part, int count) {
    for (int i = 0; i < count; i++) {
        struct run_item *item = &part->items[i];
        item->fitting = (struct fitting){ 0, 0 };
        if (!run_wants_file(item) || !item->encode.max_bytes || item->refused ||
            item->failure.status)
            continue;
        quality_search_begin(&fit->searches[fit->count], &item->encode);
        fit->images[fit->count] = item->shapes[part->plan->count];
        fit->items[fit->count++] = item;
    }
}

enum status run_fit(struct lane *lane, const struct run_tree *tree, struct lane_times *times,
                    struct failure *failure) {
    struct fit fit = { .lane = lane };
    for (int p = 0; p < tree->part_count; p++) begin(&fit, &tree->parts[p], tree->count);
    enum status status = STATUS_OK;
    judge(&fit);
    while (fit.count && !status) {
        status = encode_round(&fit, times, failure);
        if (!status) judge(&fit);
    }
    return status;
}

// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/common/isobmff_pixels.h"
#include "pipeline/codecs/common/oriented_rows.h"

/* Primaries by H.273. */
enum { BT709 = 1, UNSPECIFIED = 2 };

bool isobmff_loses_primaries(const struct isobmff_picture *picture) {
    const uint16_t primaries = picture->nclx.there ? picture->nclx.primaries : UNSPECIFIED;
    return !picture->profile.length && primaries != BT709 && primaries != UNSPECIFIED;
}

static enum status put_rows(const struct decoding *decoding, const struct isobmff_picture *picture,
                            const struct ycbcr *ycbcr, struct oriented_rows *rows) {
    for (uint32_t y = 0; y < picture->down; y++) {
        const enum status status = progress_check(decoding->progress);
        if (status) return codec_stopped(status, decoding->failure);
        ycbcr_row(ycbcr, picture->top + y, picture->left, picture->across,
                  oriented_rows_begin(rows, y));
        oriented_rows_end(rows, y);
    }
    return STATUS_OK;
}

enum status isobmff_pixels(const struct decoding *decoding, const struct isobmff_picture *picture,
                           const struct ycbcr_planes *planes) {
    const struct isobmff_place *profile = &picture->profile;
    struct oriented_rows rows;
    struct ycbcr ycbcr;
    oriented_rows_plan(&rows, decoding->into, picture->orientation, picture->across, picture->down);
    enum status status = ycbcr_init(&ycbcr, planes, decoding->failure);
    if (!status && !oriented_rows_init(&rows, 1))
        status = fail(decoding->failure, STATUS_NO_MEMORY, "no memory for rows of the image");
    if (!status) status = put_rows(decoding, picture, &ycbcr, &rows);
    oriented_rows_release(&rows);
    ycbcr_release(&ycbcr);
    if (status) return status;
    if (isobmff_loses_primaries(picture)) *decoding->notes |= NOTE_PRIMARIES_IGNORED;
    return codec_keep_profile(decoding, profile->at, profile->length);
}

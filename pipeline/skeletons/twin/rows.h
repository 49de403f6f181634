// SPDX-License-Identifier: Apache-2.0
/* rows.h - the arguments of a generated CPU twin's loops: some rows of one image.
 *
 * Used by:  twin.c, which calls the loops; the generated source, which begins with this text.
 * Owns:     nothing.
 * Threads:  a call belongs to one; calls of one image share only its input.
 */
#ifndef BURIN_TWIN_ROWS_H
#define BURIN_TWIN_ROWS_H

struct burin_rows {
    const unsigned char *in;             /* the image's first row */
    unsigned char *out;                  /* the output's first row; P2P and N2P */
    unsigned long in_stride, out_stride; /* bytes */
    int width, height, channels;
    int first, end;           /* the rows first..end-1 to process */
    const void *params;       /* the user's struct, with its alignment */
    struct burin_fold *folds; /* R2S: one a colour channel */
    int *counts;              /* R2V: copies x colour channels x bins */
    int bins, copies;         /* R2V; copies is a power of 2 */
};

/* R2S: the result so far, the operator's own type in the low bytes. */
struct burin_fold {
    long long value;
    int started; /* 0: `value` is not set yet */
};

#endif

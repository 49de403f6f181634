// SPDX-License-Identifier: Apache-2.0
/* rows.h - what the loops of a generated CPU twin are given: some rows of one image.
 *
 * Used by:  twin.c, which calls the loops; the generated source, of which this is the beginning.
 * Owns:     nothing.
 * Threads:  a call belongs to one; calls of one image share nothing but its input.
 */
#ifndef BURIN_TWIN_ROWS_H
#define BURIN_TWIN_ROWS_H

struct burin_rows {
    const unsigned char *in;             /* the image's first row */
    unsigned char *out;                  /* likewise; P2P and N2P */
    unsigned long in_stride, out_stride; /* bytes */
    int width, height, channels;
    int first, end;           /* the rows first..end-1 are to be done */
    const void *params;       /* the bytes of the user's struct, aligned as it is */
    struct burin_fold *folds; /* R2S: one a colour channel */
    int *counts;              /* R2V: copies x colour channels x bins */
    int bins, copies;         /* R2V; copies is a power of 2 */
};

/* R2S: what has been folded so far, the operator's own type in the low bytes. */
struct burin_fold {
    long long value;
    int started; /* 0: nothing yet, and `value` says nothing */
};

#endif

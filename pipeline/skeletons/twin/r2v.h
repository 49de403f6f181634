// SPDX-License-Identifier: Apache-2.0
/* r2v.h - the loop of an R2V operator's CPU twin: the samples of a colour channel are counted into
 * a list.
 *
 * Neighbouring pixels go to different copies of the list, so that equal ones do not wait for each
 * other's store; whoever calls adds the copies up. Pasted behind the user's source once for each
 * operator; before it stand
 *   BURIN_NAME(part)                the operator's own name of a function
 *   BURIN_SAMPLE, BURIN_PARAMS      the samples' and the parameters' type
 *   BURIN_CALL(pixel, counts, bins) the user's function
 *
 * Used by:  twin_source.c, as text.
 * Threads:  a call belongs to one.
 */

BURIN_INLINE void BURIN_NAME(row)(const BURIN_SAMPLE *in, const struct burin_rows *rows,
                                  int channels, int colours, BURIN_PARAMS burin_p) {
    const long width = rows->width, copies = rows->copies;
    const int bins = rows->bins;
    int *counts = rows->counts;
    (void)burin_p;
    for (long x = 0; x < width; x++)
        for (long c = 0; c < colours; c++) {
            int *list = counts + ((x & (copies - 1)) * colours + c) * bins;
            BURIN_CALL(in[x * channels + c], (BURIN_RESULT *)list, bins);
        }
}

BURIN_EXPORT void BURIN_NAME(rows)(const struct burin_rows *rows) {
    const BURIN_PARAMS burin_p = *(const BURIN_PARAMS *)rows->params;
    for (int y = rows->first; y < rows->end; y++) {
        const BURIN_SAMPLE *in = (const BURIN_SAMPLE *)(rows->in + y * rows->in_stride);
        switch (rows->channels) {
        case 1: BURIN_NAME(row)(in, rows, 1, 1, burin_p); break;
        case 2: BURIN_NAME(row)(in, rows, 2, 1, burin_p); break;
        case 3: BURIN_NAME(row)(in, rows, 3, 3, burin_p); break;
        default: BURIN_NAME(row)(in, rows, 4, 3, burin_p); break;
        }
    }
}

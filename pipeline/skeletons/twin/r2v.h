// SPDX-License-Identifier: Apache-2.0
/* r2v.h - the loop of an R2V operator's CPU twin: the samples of a colour channel are counted into
 * a list.
 *
 * Neighbouring pixels go to different copies of the list, so that equal ones need not wait for each
 * other's store; the caller adds the copies up. Pasted after the user's source once for each
 * operator, after these definitions:
 *   BURIN_NAME(part)           a name of this operator's own
 *   BURIN_FUNCTION, BURIN_PASS the user's function, and `, burin_p` if it takes parameters
 *   BURIN_SAMPLE, BURIN_PIXEL  a sample's type in memory, and in the function
 *   BURIN_PARAMS, BURIN_RESULT the parameters' and the counts' type
 *
 * Used by:  user_text.c, as text.
 * Threads:  a call belongs to one.
 */

/* Inside this function only our names hide the user's. */
BURIN_INLINE void BURIN_NAME(call)(BURIN_PIXEL burin_v, BURIN_RESULT *burin_list, int burin_bins,
                                   BURIN_PARAMS burin_p) {
    (void)burin_p;
    BURIN_FUNCTION(burin_v, burin_list, burin_bins BURIN_PASS);
}

BURIN_INLINE void BURIN_NAME(row)(const BURIN_SAMPLE *in, const struct burin_rows *rows,
                                  int channels, int colours, BURIN_PARAMS burin_p) {
    const long width = rows->width, copies = rows->copies;
    const int bins = rows->bins;
    int *counts = rows->counts;
    long x = 0;
    if (copies == 4) /* else the copy would be chosen for each pixel */
        for (; x + 4 <= width; x += 4)
            for (long k = 0; k < 4; k++)
                for (long c = 0; c < colours; c++) {
                    BURIN_RESULT *list = (BURIN_RESULT *)(counts + (k * colours + c) * bins);
                    BURIN_NAME(call)(in[(x + k) * channels + c], list, bins, burin_p);
                }
    for (; x < width; x++)
        for (long c = 0; c < colours; c++) {
            int *list = counts + ((x & (copies - 1)) * colours + c) * bins;
            BURIN_NAME(call)(in[x * channels + c], (BURIN_RESULT *)list, bins, burin_p);
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

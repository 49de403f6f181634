// SPDX-License-Identifier: Apache-2.0
/* n2p.h - the loop of an N2P operator's CPU twin: every colour sample from the window around it,
 * the image's border repeated outside, alpha kept.
 *
 * Rows above and below the image are the first and the last one, so the inner loop asks nothing;
 * the columns at both ends are done apart. Pasted behind the user's source once for each operator;
 * before it stand
 *   BURIN_NAME(part)           a name of this operator's own
 *   BURIN_SAMPLE, BURIN_PARAMS the samples' and the parameters' type
 *   BURIN_CALL(window, x, y)   the user's function
 *   BURIN_WINDOW               3 or 5
 *   BURIN_USES_POSITION        0: the function does not look at x and y
 *
 * Used by:  twin_source.c, as text.
 * Threads:  a call belongs to one.
 */

/* The sample at `at` of the middle row; its neighbours are `step` samples apart. */
BURIN_INLINE BURIN_SAMPLE BURIN_NAME(inside)(const BURIN_SAMPLE *const *lines, long at, int step,
                                             int x, int y, BURIN_PARAMS burin_p) {
    BURIN_PIXEL window[BURIN_WINDOW][BURIN_WINDOW];
    (void)burin_p;
    (void)x;
    (void)y;
    for (int j = 0; j < BURIN_WINDOW; j++)
        for (int i = 0; i < BURIN_WINDOW; i++)
            window[j][i] = lines[j][at + (i - BURIN_WINDOW / 2) * step];
    return BURIN_CALL(window, x, y);
}

/* The same for a column near an end: columns outside are the first or the last. */
BURIN_INLINE BURIN_SAMPLE BURIN_NAME(edge)(const BURIN_SAMPLE *const *lines, int c, int channels,
                                           int width, int x, int y, BURIN_PARAMS burin_p) {
    BURIN_PIXEL window[BURIN_WINDOW][BURIN_WINDOW];
    (void)burin_p;
    for (int j = 0; j < BURIN_WINDOW; j++)
        for (int i = 0; i < BURIN_WINDOW; i++) {
            const int column = x + i - BURIN_WINDOW / 2;
            const int there = column < 0 ? 0 : column >= width ? width - 1 : column;
            window[j][i] = lines[j][(long)there * channels + c];
        }
    return BURIN_CALL(window, x, y);
}

BURIN_INLINE void BURIN_NAME(ends)(const BURIN_SAMPLE *const *lines, BURIN_SAMPLE *out, int from,
                                   int to, int width, int y, int channels, int colours,
                                   BURIN_PARAMS burin_p) {
    for (int x = from; x < to; x++)
        for (int c = 0; c < colours; c++)
            out[(long)x * channels + c] =
                BURIN_NAME(edge)(lines, c, channels, width, x, y, burin_p);
}

/* Channels and colours are constants where this is called. */
BURIN_INLINE void BURIN_NAME(row)(const BURIN_SAMPLE *const *lines, BURIN_SAMPLE *__restrict__ out,
                                  int width, int y, int channels, int colours,
                                  BURIN_PARAMS burin_p) {
    const int reach = BURIN_WINDOW / 2;
    const int first = reach < width ? reach : width;
    const int last = width - reach > first ? width - reach : first;
    BURIN_NAME(ends)(lines, out, 0, first, width, y, channels, colours, burin_p);
    if (!BURIN_USES_POSITION && channels == colours)
        for (int i = first * channels; i < last * channels; i++)
            out[i] = BURIN_NAME(inside)(lines, i, channels, 0, 0, burin_p);
    else
        for (int x = first; x < last; x++)
            for (int c = 0; c < colours; c++)
                out[x * channels + c] =
                    BURIN_NAME(inside)(lines, x * channels + c, channels, x, y, burin_p);
    BURIN_NAME(ends)(lines, out, last, width, width, y, channels, colours, burin_p);
    if (colours < channels)
        for (int x = 0; x < width; x++)
            out[x * channels + colours] = lines[reach][x * channels + colours];
}

BURIN_EXPORT void BURIN_NAME(rows)(const struct burin_rows *rows) {
    const BURIN_PARAMS burin_p = *(const BURIN_PARAMS *)rows->params;
    const BURIN_SAMPLE *lines[BURIN_WINDOW];
    for (int y = rows->first; y < rows->end; y++) {
        BURIN_SAMPLE *out = (BURIN_SAMPLE *)(rows->out + y * rows->out_stride);
        for (int j = 0; j < BURIN_WINDOW; j++) {
            const int line = y + j - BURIN_WINDOW / 2;
            const int there = line < 0 ? 0 : line >= rows->height ? rows->height - 1 : line;
            lines[j] = (const BURIN_SAMPLE *)(rows->in + there * rows->in_stride);
        }
        switch (rows->channels) {
        case 1: BURIN_NAME(row)(lines, out, rows->width, y, 1, 1, burin_p); break;
        case 2: BURIN_NAME(row)(lines, out, rows->width, y, 2, 1, burin_p); break;
        case 3: BURIN_NAME(row)(lines, out, rows->width, y, 3, 3, burin_p); break;
        default: BURIN_NAME(row)(lines, out, rows->width, y, 4, 3, burin_p); break;
        }
    }
}

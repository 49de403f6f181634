// SPDX-License-Identifier: Apache-2.0
/* n2p.h - the loop of an N2P operator's CPU twin: every colour sample from the window around it,
 * the image's border repeated outside, alpha kept.
 *
 * The first and the last row replace those above and below the image, so the inner loop has no
 * tests; the columns at both ends are done separately. Pasted after the user's source once for each
 * operator, after these definitions:
 *   BURIN_NAME(part)           a name of this operator's own
 *   BURIN_FUNCTION             the user's function
 *   BURIN_GIVEN, BURIN_PASS    `, burin_at.x` and others, and `, burin_p` if it takes parameters
 *   BURIN_SAMPLE, BURIN_PIXEL  a sample's type in memory, and in the function
 *   BURIN_PARAMS               the parameters' type
 *   BURIN_WINDOW               its side, odd
 *   BURIN_USES_POSITION        0: the function does not look at index, x, y or channel
 *
 * Used by:  user_text.c, as text.
 * Threads:  a call belongs to one.
 */

/* Inside this function only our names hide the user's. */
BURIN_INLINE BURIN_PIXEL BURIN_NAME(call)(BURIN_PIXEL burin_w[BURIN_WINDOW][BURIN_WINDOW],
                                          struct burin_place burin_at, BURIN_PARAMS burin_p) {
    (void)burin_at;
    (void)burin_p;
    return BURIN_FUNCTION(burin_w BURIN_GIVEN BURIN_PASS);
}

/* Does SAMPLE of the middle row; its neighbours are `step` samples apart. */
BURIN_INLINE BURIN_SAMPLE BURIN_NAME(inside)(const BURIN_SAMPLE *const *lines, long sample,
                                             int step, struct burin_place at,
                                             BURIN_PARAMS burin_p) {
    BURIN_PIXEL window[BURIN_WINDOW][BURIN_WINDOW];
    for (int j = 0; j < BURIN_WINDOW; j++)
        for (int i = 0; i < BURIN_WINDOW; i++)
            window[j][i] = lines[j][sample + (i - BURIN_WINDOW / 2) * step];
    return BURIN_NAME(call)(window, at, burin_p);
}

/* Does the same for a column near an end: columns outside are the first or the last. */
BURIN_INLINE BURIN_SAMPLE BURIN_NAME(edge)(const BURIN_SAMPLE *const *lines, int channels,
                                           struct burin_place at, BURIN_PARAMS burin_p) {
    BURIN_PIXEL window[BURIN_WINDOW][BURIN_WINDOW];
    for (int j = 0; j < BURIN_WINDOW; j++)
        for (int i = 0; i < BURIN_WINDOW; i++) {
            const int column = at.x + i - BURIN_WINDOW / 2;
            const int there = column < 0 ? 0 : column >= at.width ? at.width - 1 : column;
            window[j][i] = lines[j][(long)there * channels + at.channel];
        }
    return BURIN_NAME(call)(window, at, burin_p);
}

/* Does the columns FROM..TO-1, one by one. */
static __attribute__((noinline, unused)) void BURIN_NAME(ends)(const BURIN_SAMPLE *const *lines,
                                                               BURIN_SAMPLE *out, int from, int to,
                                                               struct burin_place at, int channels,
                                                               BURIN_PARAMS burin_p) {
    const int colours = channels < 3 ? 1 : 3;
    for (at.x = from; at.x < to; at.x++)
        for (at.channel = 0; at.channel < colours; at.channel++)
            out[(long)at.x * channels + at.channel] =
                BURIN_NAME(edge)(lines, channels, at, burin_p);
}

/* Does the samples FROM..TO-1 of all channels; the next pixel's is STEP further. */
BURIN_INLINE void BURIN_NAME(samples)(const BURIN_SAMPLE *const *lines,
                                      BURIN_SAMPLE *__restrict__ out, long from, long to, int step,
                                      struct burin_place at, BURIN_PARAMS burin_p) {
    for (long i = from; i < to; i++) out[i] = BURIN_NAME(inside)(lines, i, step, at, burin_p);
}

/* Does the pixels FROM..TO-1; channels and colours are compile-time constants. */
BURIN_INLINE void BURIN_NAME(pixels)(const BURIN_SAMPLE *const *lines,
                                     BURIN_SAMPLE *__restrict__ out, int from, int to,
                                     struct burin_place at, int channels, int colours,
                                     BURIN_PARAMS burin_p) {
    for (long x = from; x < to; x++) {
        at.x = (int)x;
        for (int c = 0; c < colours; c++) {
            at.channel = c;
            out[x * channels + c] =
                BURIN_NAME(inside)(lines, x * channels + c, channels, at, burin_p);
        }
    }
}

/* Does the pixels FROM..TO-1 with alpha replaced. */
BURIN_INLINE void BURIN_NAME(keep_alpha)(const BURIN_SAMPLE *const *lines, BURIN_SAMPLE *out,
                                         int from, int to, struct burin_place at, int channels,
                                         BURIN_PARAMS burin_p) {
    enum { REACH = BURIN_WINDOW / 2 };
    const int bits = 8 * sizeof(BURIN_SAMPLE);
    BURIN_SAMPLE colour[BURIN_WINDOW][4 * (BURIN_CHUNK + 2 * REACH)];
    const BURIN_SAMPLE *covered[BURIN_WINDOW];
    for (int j = 0; j < BURIN_WINDOW; j++) covered[j] = colour[j] + REACH * channels;
    for (long x = from; x < to; x += BURIN_CHUNK) {
        const long pixels = to - x < BURIN_CHUNK ? to - x : BURIN_CHUNK;
        BURIN_SAMPLE *first = out + x * channels;
        for (int j = 0; j < BURIN_WINDOW; j++)
            burin_cover(lines[j] + (x - REACH) * channels, colour[j], pixels + 2 * REACH, channels,
                        bits);
        BURIN_NAME(samples)(covered, first, 0, pixels * channels, channels, at, burin_p);
    }
}

/* Channels and colours are compile-time constants. */
BURIN_INLINE void BURIN_NAME(row)(const BURIN_SAMPLE *const *lines, BURIN_SAMPLE *out,
                                  struct burin_place at, int channels, int colours,
                                  BURIN_PARAMS burin_p) {
    const int reach = BURIN_WINDOW / 2, width = at.width;
    const int first = reach < width ? reach : width;
    const int last = width - reach > first ? width - reach : first;
    BURIN_NAME(ends)(lines, out, 0, first, at, channels, burin_p);
    if (BURIN_USES_POSITION || BURIN_WINDOW > 7)
        BURIN_NAME(pixels)(lines, out, first, last, at, channels, colours, burin_p);
    else if (colours < channels)
        BURIN_NAME(keep_alpha)(lines, out, first, last, at, channels, burin_p);
    else
        BURIN_NAME(samples)(lines, out, first * channels, last * channels, channels, at, burin_p);
    BURIN_NAME(ends)(lines, out, last, width, at, channels, burin_p);
    if (colours < channels)
        burin_restore(lines[reach], out, width, channels, 8 * sizeof(BURIN_SAMPLE));
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
        const struct burin_place at = { 0, y, 0, rows->width, rows->height, rows->channels };
        if (BURIN_WINDOW > 7) { /* else compilers would be slow */
            BURIN_NAME(row)(lines, out, at, rows->channels, rows->channels < 3 ? 1 : 3, burin_p);
            continue;
        }
        switch (rows->channels) {
        case 1: BURIN_NAME(row)(lines, out, at, 1, 1, burin_p); break;
        case 2: BURIN_NAME(row)(lines, out, at, 2, 1, burin_p); break;
        case 3: BURIN_NAME(row)(lines, out, at, 3, 3, burin_p); break;
        default: BURIN_NAME(row)(lines, out, at, 4, 3, burin_p); break;
        }
    }
}

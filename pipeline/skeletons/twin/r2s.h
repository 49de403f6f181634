// SPDX-License-Identifier: Apache-2.0
/* r2s.h - the loop of an R2S operator's CPU twin: all samples of a colour channel become one
 * number.
 *
 * The user's function may be applied in any order. There are many partial results, one a lane, so
 * that the inner loop has no chain of dependences; a lane belongs to one channel, since the number
 * of lanes is a multiple of 3. Pasted after the user's source once for each operator and depth,
 * after these definitions:
 *   BURIN_NAME(part)   a name of this operator's own
 *   BURIN_FUNCTION     the user's function
 *   BURIN_PASS         `, burin_p` if it takes parameters
 *   BURIN_MAP          the number of the sample burin_s: the user's map, or the sample itself
 *   BURIN_SAMPLE       a sample in memory
 *   BURIN_RESULT       the result's type
 *   BURIN_PARAMS       the parameters' type
 *
 * Used by:  user_text.c, as text.
 * Threads:  a call belongs to one.
 */

/* Inside this function only our names hide the user's. */
BURIN_INLINE BURIN_RESULT BURIN_NAME(call)(BURIN_RESULT burin_a, BURIN_RESULT burin_b,
                                           BURIN_PARAMS burin_p) {
    (void)burin_p;
    return BURIN_FUNCTION(burin_a, burin_b BURIN_PASS);
}

BURIN_INLINE BURIN_RESULT BURIN_NAME(number)(BURIN_SAMPLE burin_s, BURIN_PARAMS burin_p) {
    (void)burin_p;
    return BURIN_MAP;
}

BURIN_INLINE void BURIN_NAME(fold)(struct burin_fold *fold, BURIN_RESULT value,
                                   BURIN_PARAMS burin_p) {
    if (fold->started) value = BURIN_NAME(call)((BURIN_RESULT)fold->value, value, burin_p);
    fold->value = (long long)value;
    fold->started = 1;
}

struct BURIN_NAME(lanes) {
    BURIN_RESULT lane[BURIN_LANES];
    int started;
};

/* Folds colour samples, the first of channel 0. The lanes are copied in and out, so that the
 * compiler knows that nothing else points to them. Compiled once, for any number of colours: it is
 * most of what a compiler has to do. */
static __attribute__((noinline)) void
BURIN_NAME(samples)(const BURIN_SAMPLE *in, long count, int colours,
                    struct BURIN_NAME(lanes) * lanes, struct burin_fold *folds,
                    BURIN_PARAMS burin_p) {
    struct BURIN_NAME(lanes) own = *lanes;
    long i = 0;
    if (!own.started && count >= BURIN_LANES) {
        for (; i < BURIN_LANES; i++) own.lane[i] = BURIN_NAME(number)(in[i], burin_p);
        own.started = 1;
    }
    for (; i + BURIN_LANES <= count; i += BURIN_LANES)
        for (long l = 0; l < BURIN_LANES; l++)
            own.lane[l] =
                BURIN_NAME(call)(own.lane[l], BURIN_NAME(number)(in[i + l], burin_p), burin_p);
    for (long l = 0; own.started && i < count; i++, l++) /* lanes end with a pixel */
        own.lane[l] = BURIN_NAME(call)(own.lane[l], BURIN_NAME(number)(in[i], burin_p), burin_p);
    *lanes = own;
    for (int c = 0; i < count; i++, c = c + 1 < colours ? c + 1 : 0)
        BURIN_NAME(fold)(&folds[c], BURIN_NAME(number)(in[i], burin_p), burin_p);
}

/* Gathers the colours without alpha; a chunk's colour samples fill all lanes. */
BURIN_INLINE void BURIN_NAME(leave_alpha)(const BURIN_SAMPLE *in, int width, int colours,
                                          struct BURIN_NAME(lanes) * lanes,
                                          struct burin_fold *folds, BURIN_PARAMS burin_p) {
    BURIN_SAMPLE colour[3 * BURIN_CHUNK];
    for (long x = 0; x < width; x += BURIN_CHUNK) {
        const long pixels = width - x < BURIN_CHUNK ? width - x : BURIN_CHUNK;
        const BURIN_SAMPLE *from = in + x * (colours + 1);
        for (long i = 0; i < pixels; i++)
            for (long c = 0; c < colours; c++)
                colour[i * colours + c] = from[i * (colours + 1) + c];
        BURIN_NAME(samples)(colour, pixels * colours, colours, lanes, folds, burin_p);
    }
}

BURIN_EXPORT void BURIN_NAME(rows)(const struct burin_rows *rows) {
    const BURIN_PARAMS burin_p = *(const BURIN_PARAMS *)rows->params;
    struct BURIN_NAME(lanes) lanes;
    const int colours = rows->channels < 3 ? 1 : 3;
    lanes.started = 0;
    for (int y = rows->first; y < rows->end; y++) {
        const BURIN_SAMPLE *in = (const BURIN_SAMPLE *)(rows->in + y * rows->in_stride);
        switch (rows->channels) {
        case 1: BURIN_NAME(samples)(in, rows->width, 1, &lanes, rows->folds, burin_p); break;
        case 2: BURIN_NAME(leave_alpha)(in, rows->width, 1, &lanes, rows->folds, burin_p); break;
        case 3: BURIN_NAME(samples)(in, rows->width * 3, 3, &lanes, rows->folds, burin_p); break;
        default: BURIN_NAME(leave_alpha)(in, rows->width, 3, &lanes, rows->folds, burin_p); break;
        }
    }
    for (long l = 0; lanes.started && l < BURIN_LANES; l++)
        BURIN_NAME(fold)(&rows->folds[l % colours], lanes.lane[l], burin_p);
}

/* Folds another band's result into this one's. */
BURIN_EXPORT void BURIN_NAME(merge)(struct burin_fold *into, const struct burin_fold *from,
                                    const void *params) {
    if (from->started)
        BURIN_NAME(fold)(into, (BURIN_RESULT)from->value, *(const BURIN_PARAMS *)params);
}

// SPDX-License-Identifier: Apache-2.0
/* p2p.h - the loop of a P2P operator's CPU twin: every colour sample on its own, alpha kept.
 *
 * Pasted after the user's source once for each operator, after these definitions:
 *   BURIN_NAME(part)           a name of this operator's own
 *   BURIN_FUNCTION             the user's function
 *   BURIN_GIVEN, BURIN_PASS    `, burin_at.x` and others, and `, burin_p` if it takes parameters
 *   BURIN_SAMPLE, BURIN_PIXEL  a sample's type in memory, and in the function
 *   BURIN_PARAMS               the parameters' type
 *   BURIN_USES_POSITION        0: the function does not look at index, x, y or channel
 *
 * Used by:  user_text.c, as text.
 * Threads:  a call belongs to one.
 */

/* Inside this function only our names hide the user's. */
BURIN_INLINE BURIN_PIXEL BURIN_NAME(call)(BURIN_PIXEL burin_v, struct burin_place burin_at,
                                          BURIN_PARAMS burin_p) {
    (void)burin_at;
    (void)burin_p;
    return BURIN_FUNCTION(burin_v BURIN_GIVEN BURIN_PASS);
}

/* Does contiguous samples, all of them colour. */
BURIN_INLINE void BURIN_NAME(samples)(const BURIN_SAMPLE *__restrict__ in,
                                      BURIN_SAMPLE *__restrict__ out, long count,
                                      struct burin_place at, BURIN_PARAMS burin_p) {
    for (long i = 0; i < count; i++) out[i] = BURIN_NAME(call)(in[i], at, burin_p);
}

/* Does a row's pixels; channels and colours are compile-time constants. */
BURIN_INLINE void BURIN_NAME(pixels)(const BURIN_SAMPLE *__restrict__ in,
                                     BURIN_SAMPLE *__restrict__ out, struct burin_place at,
                                     int channels, int colours, BURIN_PARAMS burin_p) {
    for (long x = 0; x < at.width; x++) {
        at.x = (int)x;
        for (int c = 0; c < colours; c++) {
            at.channel = c;
            out[x * channels + c] = BURIN_NAME(call)(in[x * channels + c], at, burin_p);
        }
        if (colours < channels) out[x * channels + colours] = in[x * channels + colours];
    }
}

/* Does the same as `samples` with alpha replaced. */
BURIN_INLINE void BURIN_NAME(keep_alpha)(const BURIN_SAMPLE *in, BURIN_SAMPLE *out,
                                         struct burin_place at, int channels,
                                         BURIN_PARAMS burin_p) {
    const int bits = 8 * sizeof(BURIN_SAMPLE);
    BURIN_SAMPLE colour[4 * BURIN_CHUNK];
    for (long x = 0; x < at.width; x += BURIN_CHUNK) {
        const long pixels = at.width - x < BURIN_CHUNK ? at.width - x : BURIN_CHUNK;
        const BURIN_SAMPLE *from = in + x * channels;
        BURIN_SAMPLE *to = out + x * channels;
        burin_cover(from, colour, pixels, channels, bits);
        BURIN_NAME(samples)(colour, to, pixels * channels, at, burin_p);
        burin_restore(from, to, pixels, channels, bits);
    }
}

BURIN_INLINE void BURIN_NAME(row)(const BURIN_SAMPLE *in, BURIN_SAMPLE *out, struct burin_place at,
                                  BURIN_PARAMS burin_p) {
    if (BURIN_USES_POSITION) {
        switch (at.channels) {
        case 1: BURIN_NAME(pixels)(in, out, at, 1, 1, burin_p); break;
        case 2: BURIN_NAME(pixels)(in, out, at, 2, 1, burin_p); break;
        case 3: BURIN_NAME(pixels)(in, out, at, 3, 3, burin_p); break;
        default: BURIN_NAME(pixels)(in, out, at, 4, 3, burin_p); break;
        }
    } else if (at.channels == 2) {
        BURIN_NAME(keep_alpha)(in, out, at, 2, burin_p);
    } else if (at.channels == 4) {
        BURIN_NAME(keep_alpha)(in, out, at, 4, burin_p);
    } else {
        BURIN_NAME(samples)(in, out, at.width * at.channels, at, burin_p);
    }
}

BURIN_EXPORT void BURIN_NAME(rows)(const struct burin_rows *rows) {
    const BURIN_PARAMS burin_p = *(const BURIN_PARAMS *)rows->params;
    for (int y = rows->first; y < rows->end; y++) {
        const BURIN_SAMPLE *in = (const BURIN_SAMPLE *)(rows->in + y * rows->in_stride);
        BURIN_SAMPLE *out = (BURIN_SAMPLE *)(rows->out + y * rows->out_stride);
        const struct burin_place at = { 0, y, 0, rows->width, rows->height, rows->channels };
        BURIN_NAME(row)(in, out, at, burin_p);
    }
}

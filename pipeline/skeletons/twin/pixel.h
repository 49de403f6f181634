// SPDX-License-Identifier: Apache-2.0
/* pixel.h - the loop of the CPU twin of a P2P operator of whole pixels: its result has three colour
 * channels, and alpha where the image has it.
 *
 * Gray comes as r = g = b; alpha that the image lacks is the largest value, and is dropped behind
 * the function. Pasted after the user's source once for each operator, after these definitions:
 *   BURIN_NAME(part)           a name of this operator's own
 *   BURIN_FUNCTION             the user's function
 *   BURIN_GIVEN, BURIN_PASS    `, burin_at.x` and others, and `, burin_p` if it takes parameters
 *   BURIN_SAMPLE, BURIN_PIXEL  a sample's type in memory; pixel or pixel16
 *   BURIN_PARAMS               the parameters' type
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

/* CHANNELS is a compile-time constant where it is 3. */
BURIN_INLINE void BURIN_NAME(row)(const BURIN_SAMPLE *__restrict__ in,
                                  BURIN_SAMPLE *__restrict__ out, struct burin_place at,
                                  int channels, BURIN_PARAMS burin_p) {
    const int colour = channels < 3 ? 0 : 1, has_alpha = channels % 2 == 0;
    for (at.x = 0; at.x < at.width; at.x++, in += channels, out += 3 + has_alpha) {
        BURIN_PIXEL v = { in[0], in[colour], in[2 * colour], 0 };
        v.a = has_alpha ? in[channels - 1] : (BURIN_SAMPLE)-1;
        v = BURIN_NAME(call)(v, at, burin_p);
        out[0] = v.r;
        out[1] = v.g;
        out[2] = v.b;
        if (has_alpha) out[3] = v.a;
    }
}

BURIN_EXPORT void BURIN_NAME(rows)(const struct burin_rows *rows) {
    const BURIN_PARAMS burin_p = *(const BURIN_PARAMS *)rows->params;
    for (int y = rows->first; y < rows->end; y++) {
        const BURIN_SAMPLE *in = (const BURIN_SAMPLE *)(rows->in + y * rows->in_stride);
        BURIN_SAMPLE *out = (BURIN_SAMPLE *)(rows->out + y * rows->out_stride);
        const struct burin_place at = { 0, y, 0, rows->width, rows->height, rows->channels };
        if (rows->channels == 3) /* else compilers would be slow */
            BURIN_NAME(row)(in, out, at, 3, burin_p);
        else
            BURIN_NAME(row)(in, out, at, rows->channels, burin_p);
    }
}

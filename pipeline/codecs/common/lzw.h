// SPDX-License-Identifier: Apache-2.0
/* lzw.h - the table of LZW as GIF and TIFF have it: codes of up to 12 bits, of which one clears the
 * table and the next ends the data. Where bits come from, and in which order, is the reader's
 * matter.
 *
 * Used by:  codecs/gif.c, gif/decoder.c, gif/encoder.c, tiff/stream.c.
 * Threads:  one at a time.
 */
#ifndef BURIN_LZW_H
#define BURIN_LZW_H

#include <stddef.h>
#include <stdint.h>

enum { LZW_BITS_MAX = 12, LZW_CODES = 1 << LZW_BITS_MAX };

struct lzw {
    unsigned literal_bits; /* 2 to 8: lower codes stand for themselves */
    int early;             /* 1: codes grow one entry before the table needs them, as in TIFF */
    unsigned bits;         /* of the next code */
    int next, before;      /* the entry to make; the code before, -1 at the start */
    uint8_t first;         /* of the last string */
    /* A code is a string: that of its prefix, and a byte behind. */
    uint16_t prefixes[LZW_CODES];
    uint8_t lasts[LZW_CODES];
    uint8_t string[LZW_CODES]; /* of one code, at its end */
};

static inline int lzw_clear_code(const struct lzw *lzw) {
    return 1 << lzw->literal_bits;
}

static inline int lzw_end_code(const struct lzw *lzw) {
    return lzw_clear_code(lzw) + 1;
}

/* Empties the table. */
static inline void lzw_clear(struct lzw *lzw) {
    lzw->bits = lzw->literal_bits + 1;
    lzw->next = lzw_end_code(lzw) + 1;
    lzw->before = -1;
}

/* The string of CODE, which neither clears nor ends, until the next call; NULL: CODE means nothing.
 * Where the table is full, codes keep their 12 bits until one clears the table. */
static inline const uint8_t *lzw_string(struct lzw *lzw, int code, size_t *length) {
    const int end = lzw_end_code(lzw);
    if (code > lzw->next || (lzw->before < 0 && code > end)) return NULL;
    uint8_t *string = lzw->string + LZW_CODES;
    int rest = code;
    if (code == lzw->next) { /* the entry that this code makes */
        *--string = lzw->first;
        rest = lzw->before;
    }
    for (; rest > end; rest = lzw->prefixes[rest]) *--string = lzw->lasts[rest];
    *--string = lzw->first = (uint8_t)rest;
    if (lzw->before >= 0 && lzw->next < LZW_CODES) {
        lzw->prefixes[lzw->next] = (uint16_t)lzw->before;
        lzw->lasts[lzw->next++] = lzw->first;
        if (lzw->next + lzw->early == 1 << lzw->bits && lzw->bits < LZW_BITS_MAX) lzw->bits++;
    }
    lzw->before = code;
    *length = (size_t)(lzw->string + LZW_CODES - string);
    return string;
}

#endif

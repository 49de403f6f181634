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

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LZW_BITS_MAX = 12, LZW_CODES = 1 << LZW_BITS_MAX, LZW_PART = 4 };

/* The bytes that a code stands for, in one word, so that a table lies in the nearest cache. They
 * come in parts of LZW_PART, and all parts but the last are the string of an earlier code: a short
 * string is written in one step, a long one in few. From the lowest bit on: 32 of the last part, 0
 * behind its end; 12 of that earlier code; 12 of the length, 0 where there is no string; 8 of the
 * first byte. */
typedef uint64_t lzw_string;
enum { LZW_BEFORE_AT = 32, LZW_LENGTH_AT = 44, LZW_FIRST_AT = 56 };

struct lzw {
    unsigned literal_bits; /* 2 to 8: lower codes stand for themselves */
    unsigned early;        /* 1: codes grow one entry before the table needs them, as in TIFF */
    unsigned bits;         /* of the next code */
    unsigned grow_at;      /* codes get a bit more when this is the entry to make */
    unsigned next;         /* the entry to make */
    unsigned before;       /* the code before */
    lzw_string last;       /* its string */
    lzw_string *table;     /* LZW_CODES, of the caller */
};

static inline unsigned lzw_length(lzw_string string) {
    return (unsigned)(string >> LZW_LENGTH_AT) & (LZW_CODES - 1);
}

static inline unsigned lzw_clear_code(const struct lzw *lzw) {
    return 1u << lzw->literal_bits;
}

static inline unsigned lzw_end_code(const struct lzw *lzw) {
    return lzw_clear_code(lzw) + 1;
}

/* Empties the table. The next code, before which there is none, makes an entry where no string can
 * be, at the code that ends. */
static inline void lzw_clear(struct lzw *lzw) {
    lzw->bits = lzw->literal_bits + 1;
    lzw->grow_at = (1u << lzw->bits) - lzw->early;
    lzw->next = lzw_end_code(lzw);
    lzw->before = 0;
    lzw->last = 0;
}

static inline void lzw_begin(struct lzw *lzw, lzw_string *table, unsigned literal_bits,
                             bool early) {
    *lzw = (struct lzw){ .literal_bits = literal_bits, .early = early, .table = table };
    for (lzw_string i = 0; i < 1u << literal_bits; i++)
        table[i] = i | UINT64_C(1) << LZW_LENGTH_AT | i << LZW_FIRST_AT;
    lzw_clear(lzw);
}

/* The string of LAST, of the code BEFORE, and one byte behind it. */
static inline lzw_string lzw_longer(lzw_string last, unsigned before, lzw_string byte) {
    const unsigned used = last >> (LZW_LENGTH_AT - 3) & 8 * (LZW_PART - 1); /* bits */
    lzw_string entry = last + (UINT64_C(1) << LZW_LENGTH_AT);
    if (!used)
        entry = entry >> LZW_LENGTH_AT << LZW_LENGTH_AT | (lzw_string)before << LZW_BEFORE_AT;
    return entry | byte << used;
}

/* Makes `last` the string of CODE, which is below `next` and neither clears nor ends, and an entry
 * of the string before and its first byte. The table has room, and codes do not grow. */
static inline void lzw_enter(struct lzw *lzw, unsigned code) {
    const lzw_string string = lzw->table[code];
    lzw->table[lzw->next++] = lzw_longer(lzw->last, lzw->before, string >> LZW_FIRST_AT);
    lzw->last = string;
    lzw->before = code;
}

/* Makes `last` the string of CODE, which neither clears nor ends. False: CODE means nothing. Makes
 * an entry of the string before and the first byte of this one; CODE may be that entry. Where the
 * table is full, codes keep their 12 bits until one clears the table. */
static inline bool lzw_take(struct lzw *lzw, unsigned code) {
    if (code > lzw->next) return false;
    const lzw_string last = lzw->last;
    if (lzw->next < LZW_CODES) {
        const lzw_string from = code == lzw->next ? last : lzw->table[code];
        lzw->table[lzw->next++] = lzw_longer(last, lzw->before, from >> LZW_FIRST_AT);
        if (lzw->next == lzw->grow_at && lzw->bits < LZW_BITS_MAX)
            lzw->grow_at = (1u << ++lzw->bits) - lzw->early;
    }
    lzw->last = lzw->table[code];
    lzw->before = code;
    return true;
}

/* Writes the last part of STRING. */
static inline void lzw_write_part(lzw_string string, uint8_t *to) {
    const uint32_t part = htole32((uint32_t)string);
    memcpy(to, &part, LZW_PART);
}

/* Writes `last`, and up to LZW_PART - 1 bytes of 0 behind it. */
static inline void lzw_write(const struct lzw *lzw, uint8_t *to) {
    lzw_string string = lzw->last;
    for (size_t at = (lzw_length(string) - 1) / LZW_PART * LZW_PART;; at -= LZW_PART) {
        lzw_write_part(string, to + at);
        if (!at) return;
        string = lzw->table[string >> LZW_BEFORE_AT & (LZW_CODES - 1)];
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* quality_search.h - which quality makes a file that is no larger than asked.
 *
 *     quality_search_begin(&search, options);
 *     do length = ...encode at search.quality...;
 *     while (quality_search_next(&search, length));
 *     if (search.fits) ...the file of search.quality was made last...
 *
 * Quality as asked, if that fits. Else the lowest: what does not fit then, never does. Else halving
 * the range between the two, which ends at a quality that fits while the next one does not. Where
 * that one was not made last it is made once more.
 *
 * Used by:  codec.c, with the codecs of the cores; run_fit.c, with a device's.
 * Owns:     nothing; a pure module.
 * Threads:  one at a time.
 * Limits:   SEARCH_TRIES_MAX tries, and one more time for the answer.
 */
#ifndef BURIN_QUALITY_SEARCH_H
#define BURIN_QUALITY_SEARCH_H

#include "pipeline/encode_options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As asked, the lowest, and 1..100 halved. */
enum { SEARCH_TRIES_MAX = 2 + 7 };

struct quality_search {
    int quality; /* to be made next; at the end that of the answer */
    int tries;   /* how many were */
    bool fits;   /* at the end; else `length` is the lowest quality's */
    uint64_t length;
    uint64_t max_bytes;
    int low, high; /* low fits, high does not; 0: not known yet */
    int least;     /* the lowest quality */
};

/* OPTIONS with max_bytes. */
void quality_search_begin(struct quality_search *search, const struct encode_options *options);

/* LENGTH of the file made at `quality`, at least max_bytes + 1 where it was given up. Whether one
 * more has to be made. */
bool quality_search_next(struct quality_search *search, uint64_t length);

/* Whether the length is to be told if the file does not fit: it may not be given up. */
bool quality_search_tells(const struct quality_search *search);

/* The refusal of what does not fit. */
enum status quality_search_refuse(const struct quality_search *search, enum format format,
                                  struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: Apache-2.0
/* quality_search.h - which quality makes a file that is no larger than asked.
 *
 *     quality_search_begin(&search, options);
 *     do length = ...encode at search.quality...;
 *     while (quality_search_next(&search, length));
 *     if (search.fits) ...the file of search.quality was made last...
 *
 * The search tries the quality as asked, then the lowest, at which a file that does not fit never
 * will. Then it bisects between the two, until one quality fits and the next does not. If the one
 * that fits was not encoded last, it is encoded again.
 *
 * Used by:  codec.c for codecs of the cores; run.c for a device's.
 * Owns:     nothing; a pure module.
 * Threads:  one at a time.
 * Limits:   SEARCH_TRIES_MAX tries, and one encoding for the answer.
 */
#ifndef BURIN_QUALITY_SEARCH_H
#define BURIN_QUALITY_SEARCH_H

#include "pipeline/encode_options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The quality as asked, the lowest, and 1..100 bisected. */
enum { SEARCH_TRIES_MAX = 2 + 7 };

struct quality_search {
    int quality; /* of the next try; at the end, of the answer */
    int tries;   /* so far */
    bool fits;   /* at the end; false: `length` is that of the lowest quality */
    uint64_t length;
    uint64_t max_bytes;
    int low, high; /* low fits, high does not; 0: not tried yet */
    int least;     /* the lowest quality */
};

/* OPTIONS have max_bytes. */
void quality_search_begin(struct quality_search *search, const struct encode_options *options);

/* LENGTH is that of the file at `quality`, or max_bytes + 1 if it was given up. true: encode at the
 * new `quality`. */
bool quality_search_next(struct quality_search *search, uint64_t length);

/* The refusal reports the length of this try, so it must not be given up. */
bool quality_search_reports(const struct quality_search *search);

/* The failure if no file fits. */
enum status quality_search_refuse(const struct quality_search *search, enum format format,
                                  struct failure *failure);

#ifdef __cplusplus
}
#endif
#endif

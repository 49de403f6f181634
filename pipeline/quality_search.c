// SPDX-License-Identifier: Apache-2.0
#include "pipeline/quality_search.h"

void quality_search_begin(struct quality_search *search, const struct encode_options *options) {
    *search = (struct quality_search){ .quality = options->quality,
                                       .max_bytes = (uint64_t)options->max_bytes,
                                       .least = encode_min_quality(options) };
}

bool quality_search_reports(const struct quality_search *search) {
    return search->quality == search->least;
}

static bool end(struct quality_search *search, bool fits) {
    search->fits = fits;
    return false;
}

bool quality_search_next(struct quality_search *search, uint64_t length) {
    const int made = search->quality;
    const bool fits = length <= search->max_bytes;
    search->length = length;
    if (made == search->low) return end(search, true); /* once more, for the answer */
    search->tries++;
    if (fits) search->low = made;
    if (!fits) search->high = made;
    if (!search->high) return end(search, true); /* as asked */
    if (!fits && made == search->least) return end(search, false);
    if (!search->low)
        search->quality = search->least;
    else if (search->high - search->low > 1)
        search->quality = (search->low + search->high) / 2;
    else if (made == search->low)
        return end(search, true);
    else
        search->quality = search->low;
    return true;
}

enum status quality_search_refuse(const struct quality_search *search, enum format format,
                                  struct failure *failure) {
    return fail(failure, STATUS_TOO_LARGE,
                "the %s takes %llu bytes at quality %d, the lowest allowed (min_quality), and "
                "max_bytes is %llu; raise max_bytes, lower min_quality or ask for a smaller image",
                format_name(format), (unsigned long long)search->length, search->quality,
                (unsigned long long)search->max_bytes);
}

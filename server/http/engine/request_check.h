// SPDX-License-Identifier: Apache-2.0
/* request_check.h - refuses a request whose head two parsers could read in two ways.
 *
 * A refused request is answered 400 and its connection closed: where its body ends is not known.
 *
 * Used by:  framing.c, on the bytes of a head as they came, before libmicrohttpd has seen any of
 *           them; the library then reads the same as we did.
 * Owns:     nothing; a request_head points into the bytes and dies with them.
 * Fails:    STATUS_BAD_REQUEST with a sentence that names the header.
 * Threads:  any; no state.
 * Limits:   HEADERS_MAX and QUERY_ARGUMENTS_MAX: the library keeps a record of each.
 * Source:   RFC 9110 and 9112, narrowed to what has one reading.
 */
#ifndef BURIN_REQUEST_CHECK_H
#define BURIN_REQUEST_CHECK_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEADERS_MAX = 100, QUERY_ARGUMENTS_MAX = 64 };

struct header_field {
    const char *name, *value; /* not necessarily terminated: the lengths count */
    size_t name_length, value_length;
};

struct text_slice {
    const char *bytes; /* not necessarily terminated: the length counts */
    size_t length;
};

struct request_head {
    struct text_slice method, target, version; /* target: as sent, not unescaped */
    struct header_field headers[HEADERS_MAX];
    int header_count;
    bool too_many; /* there were more than HEADERS_MAX */
};

/* What an accepted head says about its body. */
struct request_facts {
    bool http_1_1;
    bool has_length;
    int64_t length; /* bytes; 0 without has_length */
    bool chunked;   /* never together with has_length; neither means: no body */
    bool expects_continue;
};

/* A whole head: lines that each end in CR LF, the last one empty, no other CR or LF anywhere.
 * Blanks around a value are left out, as HTTP has it, but for one that ends the line. A line
 * without a colon, a folded one too, is refused. */
enum status request_check_parse(const char *head, size_t length, struct request_head *out,
                                struct failure *failure);

/* Methods are case-sensitive. */
bool request_check_is_method(const struct request_head *request, const char *name);

/* A pure function. FACTS is valid only with STATUS_OK. */
enum status request_check_head(const struct request_head *request, struct request_facts *facts,
                               struct failure *failure);

/* What stands before the path in a target that is a whole URL: its scheme and authority; of any
 * other 0 bytes. TARGET: an accepted head's. */
size_t request_check_url_prefix(struct text_slice target);

#endif

// SPDX-License-Identifier: Apache-2.0
/* request_check.h - parses the head of a request, and refuses one that two parsers could read
 * differently.
 *
 * A refused request is answered 400 and its connection closed: the end of its body is not known.
 *
 * Used by:  framing.c, on the raw bytes of a head before libmicrohttpd sees any of them, so that
 *           the library reads the same as we did; admission.c and http/overload.c, on a head that
 *           may be refused for lack of room; connection.c.
 * Owns:     nothing; a request_head points into the bytes and is valid as long as they are.
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
    const char *name, *value; /* not terminated: the lengths count */
    size_t name_length, value_length;
};

struct text_slice {
    const char *bytes; /* not terminated: the length counts */
    size_t length;
};

struct request_head {
    struct text_slice method, target, version; /* target: as sent, not unescaped */
    struct header_field headers[HEADERS_MAX];
    int header_count;
    bool too_many; /* there were more than HEADERS_MAX */
};

/* An accepted head's statements about its body. */
struct request_facts {
    bool http_1_1;
    bool has_length;
    int64_t length; /* bytes; 0 without has_length */
    bool chunked;   /* excludes has_length; with neither there is no body */
    bool expects_continue;
    bool expects_other; /* than a 100: the head is refused for that */
};

/* HEAD must be whole: lines that each end in CR LF, the last one empty, no other CR or LF. Blanks
 * before a value are skipped; those after it are not. A line without a colon is refused, a folded
 * one too. */
enum status request_check_parse(const char *head, size_t length, struct request_head *out,
                                struct failure *failure);

/* Methods are case-sensitive. */
bool request_check_is_method(const struct request_head *request, const char *name);

/* A pure function. FACTS is valid only with STATUS_OK, but for expects_other. */
enum status request_check_head(const struct request_head *request, struct request_facts *facts,
                               struct failure *failure);

/* The length of the scheme and authority of a target that is a whole URL; else 0. TARGET: of an
 * accepted head. */
size_t request_check_url_prefix(struct text_slice target);

#endif

// SPDX-License-Identifier: Apache-2.0
/* gate.h - refuses a request whose headers two parsers could read in two ways.
 *
 * Used by:  front.c, first call of the access handler, before anything else. A refused request is
 *           answered 400 and its connection closed: where its body ends is not known.
 * Owns:     nothing; a gate_request points into the connection and dies with the request.
 * Fails:    STATUS_BAD_REQUEST with a sentence that names the header.
 * Threads:  any; no state.
 *
 * What libmicrohttpd 0.9.75 does before, measured (tests/server/gate.c repeats it):
 *
 * - It refuses a line without a colon; a Content-Length that is no number, even for a blank
 *   behind it, or one beyond 64 bits, unless there is a Transfer-Encoding too; a request line of
 *   fewer than three words; a version other than HTTP/1.x.
 * - The head of its answer to such a Content-Length, 400 or 413, stands twice on the wire before
 *   the connection is closed: it builds the head, forgets that it did, and builds it once more. Our
 *   handler is not called in between, and its log callback is not told which connection it is.
 * - It hides bare LF line ends; a NUL, which cuts the value; a folded line, which it glues to the
 *   name above; a line without a name. gate_collect finds these by the places of the strings in the
 *   library's buffer, for this one version of the library, and sets `hidden`.
 * - Nobody sees a NUL or two blanks within the request line, a bare LF that ends the last header or
 *   the block with nothing behind it, a NUL that ends the last value, bare LF between chunks. On a
 *   hostile network a proxy in front of the daemon keeps these out.
 *
 * Everything else arrives and is judged here. MHD_OPTION_STRICT_FOR_CLIENT stays at 0: in strict
 * mode the library's own 400 comes twice.
 */
#ifndef BURIN_GATE_H
#define BURIN_GATE_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GATE_HEADERS_MAX = 100 };

struct MHD_Connection;

struct gate_header {
    const char *name, *value; /* not necessarily terminated: the lengths count */
    size_t name_length, value_length;
};

struct gate_request {
    const char *method, *target, *version; /* target: as sent, not unescaped */
    struct gate_header headers[GATE_HEADERS_MAX];
    int header_count;
    bool too_many; /* there were more than GATE_HEADERS_MAX */
    bool hidden;   /* the header block held bytes that none of the strings shows */
};

/* What the accepted headers say about the body. */
struct gate_facts {
    bool http_1_1;
    bool has_length;
    int64_t length; /* bytes; 0 without has_length */
    bool chunked;   /* never together with has_length; neither means: no body */
    bool expects_continue;
};

/* Fills OUT from a connection in its access handler. TARGET is what MHD_OPTION_URI_LOG_CALLBACK
 * was given: the url of the handler has lost its query and its escapes. VERSION must be the
 * handler's own pointer. */
void gate_collect(struct MHD_Connection *connection, const char *method, const char *target,
                  const char *version, struct gate_request *out);

/* A pure function. FACTS is valid only with STATUS_OK. */
enum status gate_check(const struct gate_request *request, struct gate_facts *facts,
                       struct failure *failure);

/* Is TEXT a token of RFC 9110: one or more letters, digits or !#$%&'*+-.^_`|~ ? */
bool gate_token(const char *text, size_t length);

#endif

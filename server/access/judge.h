// SPDX-License-Identifier: Apache-2.0
/* judge.h - whether a request may be served, by what is known at its head: the token or the signed
 * address that it has, and the key that this belongs to.
 *
 * Used by:  http/access.c.
 * Owns:     nothing.
 * Fails:    STATUS_NO_KEY: neither, or not of a key that holds; STATUS_FORBIDDEN: the signature or
 *           a limit of it does not fit, or the key may not do this; STATUS_EXPIRED: the address was
 *           valid until before now; STATUS_BAD_REQUEST: nothing that could be checked.
 *           No message says which part of a signature is wrong.
 * Threads:  any; a hasher: one at a time.
 */
#ifndef BURIN_JUDGE_H
#define BURIN_JUDGE_H

#include "server/access/grant.h"
#include "server/client.h"

/* Texts may be NULL if the request has none, or several. */
struct asking {
    const char *method, *path;   /* the path: decoded */
    const char *what;            /* for access_key_may: "resize", "preset:thumb"...; NULL: what
                                    every key may */
    const struct preset *preset; /* that the path names; NULL: none */
    struct argument *arguments;  /* of the query; they are sorted here */
    int count;
    const char *authorization; /* the header's value */
    const char *api_key;       /* a token in another place, where the path allows that */
    const char *origin;
    struct client client;
    int64_t now; /* Unix time in seconds */
};

/* Fills the zeroed GRANT, whose texts are ASKING's. */
enum status judge(const struct key_table *table, struct hasher *hasher, const struct asking *asking,
                  struct grant *grant, struct failure *failure);

#endif

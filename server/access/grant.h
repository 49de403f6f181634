// SPDX-License-Identifier: Apache-2.0
/* grant.h - what a request may do by its key and its signature. Zeroed, it may do everything.
 *
 * The holder of a signed address may send files and, as fields of the form, what the address leaves
 * free; any other field would undo what was signed.
 *
 *     free=width:16..2000,quality:40..90,type:jpeg|webp
 *
 * Used by:  judge.c fills it; request/ asks it for each part of a body; http/ for the rest.
 * Owns:     its hasher, and a hold of the ledger, until grant_release; texts belong to the
 *           request.
 * Fails:    STATUS_BAD_PARAM, naming the field; STATUS_FORBIDDEN for another file.
 * Threads:  the request's.
 */
#ifndef BURIN_GRANT_H
#define BURIN_GRANT_H

#include "server/access/quota.h"

/* An address that serves one request may expire a day from now at the latest. */
enum { ONCE_BYTES = 16, ONCE_SECONDS_MAX = 86400 };

struct grant {
    char key[KEY_ID_MAX]; /* which was proved; "": none */
    long share;           /* the key's */
    struct quota_use use; /* of the key's group */
    bool is_signed;       /* by an address */
    bool preset;          /* parameters are the preset's */
    const char *free;     /* NULL: nothing */
    const char *parts;    /* of the form that may be files; NULL: the image */
    const char *in_types; /* of each image; NULL: every type */
    const char *digest;   /* of the image, in base64url; NULL: any image */
    const char *origin;   /* the page that a signature is for, once that is right; NULL: none */
    long body_bytes_max, pixels_max; /* 0: the configuration's */
    bool is_once;                    /* the address serves one request */
    uint8_t once[ONCE_BYTES];        /* which one: a digest */
    bool once_taken;       /* this request has it, and gives it back if no work was done for it */
    int64_t expires;       /* Unix time in seconds */
    struct hasher *hasher; /* of the image, if `digest` is set and bytes have come */
};

/* Whether NAME belongs to the signature of a signed request, not to its operator. */
bool grant_owns(const struct grant *grant, const char *name);

/* Whether FREE is a list as above. */
bool grant_is_list(const char *free);

/* A field of the form. */
enum status grant_check_field(const struct grant *grant, const char *name, const char *value,
                              struct failure *failure);

/* A file of the form: "image", or a further image's name. */
enum status grant_check_part(const struct grant *grant, const char *name, struct failure *failure);

/* TYPE: "jpeg"... */
enum status grant_check_type(const struct grant *grant, const char *type, struct failure *failure);

/* Bytes of the image, in order; then all have come. */
enum status grant_hash(struct grant *grant, const void *bytes, size_t length,
                       struct failure *failure);
enum status grant_check_digest(struct grant *grant, struct failure *failure);

void grant_release(struct grant *grant); /* any number of times */

/* The smaller limit: OURS, or the grant's THEIRS unless that is 0. */
static inline long grant_limit(long ours, long theirs) {
    return theirs && theirs < ours ? theirs : ours;
}

#endif

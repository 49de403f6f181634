// SPDX-License-Identifier: Apache-2.0
/* How it works. The key is looked up first. A token's digest is compared with the one kept, a
 * signature with our own of the same text, both in constant time; for an unknown id the same is
 * done with a key that nobody has. Only then the key's expiry and rights are looked at, and the
 * limits that a signed query names. */
#include "server/access/judge.h"

#include "config/networks.h"
#include "pipeline/param.h"
#include "server/access/base64url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SIGNATURE_LENGTH = BASE64URL_LENGTH(DIGEST_BYTES) };

static const struct access_key nobody = { .id = "" };

static enum status no_key(struct failure *failure) {
    return fail(failure, STATUS_NO_KEY,
                "this needs a key: send Authorization: Bearer with its token, or use an address "
                "that is signed");
}

static enum status not_signed(struct failure *failure) {
    return fail(failure, STATUS_FORBIDDEN,
                "the address is not signed for this request: its method, path and query, its time, "
                "its client or the page that sends it");
}

static enum status out_of_memory(struct failure *failure) {
    return fail(failure, STATUS_NO_MEMORY, "there is no memory to check a key");
}

/* ---- tokens */

/* The key that TOKEN, "burin_<id>_<43 characters>", names; `nobody`: there is none. */
static const struct access_key *key_of(const struct key_table *table, const char *token) {
    static const char prefix[] = "burin_";
    const size_t length = strlen(token), around = strlen(prefix) + 1 + SIGNATURE_LENGTH;
    char id[KEY_ID_MAX];
    if (length <= around || length - around >= sizeof id ||
        token[length - SIGNATURE_LENGTH - 1] != '_')
        return &nobody;
    snprintf(id, sizeof id, "%.*s", (int)(length - around), token + strlen(prefix));
    const struct access_key *key = key_table_find(table, id);
    return key ? key : &nobody;
}

static enum status judge_token(const struct key_table *table, struct hasher *hasher,
                               const char *token, const struct access_key **found,
                               struct failure *failure) {
    const struct access_key *key = key_of(table, token);
    uint8_t digest[DIGEST_BYTES];
    if (!hasher_begin(hasher) || !hasher_add(hasher, token, strlen(token)) ||
        !hasher_end(hasher, digest))
        return out_of_memory(failure);
    const bool same = hasher_is_same(digest, key->token_digest, sizeof digest);
    if (!same || !key->has_token) return no_key(failure);
    *found = key;
    return STATUS_OK;
}

/* NULL: the header has none of ours. */
static const char *token_in(const char *authorization) {
    static const char scheme[] = "Bearer ";
    if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0) return NULL;
    const char *token = authorization + strlen(scheme);
    token += strspn(token, " ");
    return strncmp(token, "burin_", 6) == 0 ? token : NULL;
}

/* ---- signatures */

static const char *find(const struct asking *asking, const char *name) {
    return query_find(asking->arguments, asking->count, name);
}

/* Digits alone; false: NAME is missing or something else. */
static bool read_integer(const struct asking *asking, const char *name, long *number) {
    const char *text = find(asking, name);
    return text && strspn(text, "0123456789") == strlen(text) && param_integer(text, number);
}

static enum status judge_signature(const struct key_table *table, struct hasher *hasher,
                                   const struct asking *asking, const struct access_key **found,
                                   struct grant *grant, struct failure *failure) {
    const char *repeated = query_sort(asking->arguments, asking->count);
    const char *id = find(asking, "key"), *signature = find(asking, "signature");
    char message[MESSAGE_MAX], right[SIGNATURE_LENGTH + 1], shown[PARAM_SHOWN_MAX];
    uint8_t mac[DIGEST_BYTES];
    if (repeated)
        return fail(failure, STATUS_BAD_REQUEST, "the query has %s twice",
                    param_shown(repeated, shown));
    const struct access_key *key = id ? key_table_find(table, id) : NULL;
    const bool known = key && key->has_secret,
               has_time = read_integer(asking, "expires", &grant->expires);
    const size_t length =
        query_message(asking->method, asking->path, asking->arguments, asking->count, message);
    if (!length) return fail(failure, STATUS_BAD_REQUEST, "the signed query is too long");
    if (!hasher_sign(hasher, known ? key->secret : nobody.secret, message, length, mac))
        return out_of_memory(failure);
    base64url_print(mac, sizeof mac, right);
    const bool same =
        strlen(signature) == SIGNATURE_LENGTH && hasher_is_same(signature, right, SIGNATURE_LENGTH);
    if (!known) return no_key(failure);
    if (same) grant->origin = find(asking, "origin");
    if (has_time && grant->expires <= asking->now)
        return fail(failure, STATUS_EXPIRED, "the address has expired; ask for another one");
    if (!has_time || !same) return not_signed(failure);
    *found = key;
    return STATUS_OK;
}

/* ---- limits of a signature that is right */

static enum status bad_limit(const char *name, const char *what, struct failure *failure) {
    return fail(failure, STATUS_BAD_REQUEST, "the signed %s must be %s", name, what);
}

/* Sets *LIMIT to the smaller of itself and the argument NAME, if there is one. */
static bool lower(const struct asking *asking, const char *name, long *limit) {
    long number;
    if (!find(asking, name)) return true;
    if (!read_integer(asking, name, &number) || number < 1) return false;
    *limit = grant_limit(number, *limit);
    return true;
}

static enum status read_limits(const struct asking *asking, struct grant *grant,
                               struct failure *failure) {
    static const char hash[] = "sha-256:";
    uint8_t bytes[DIGEST_BYTES];
    grant->free = find(asking, "free");
    if (find(asking, "parts")) grant->parts = find(asking, "parts");
    grant->in_types = find(asking, "in_types");
    grant->digest = find(asking, "digest");
    if (!lower(asking, "body_max", &grant->body_bytes_max))
        return bad_limit("body_max", "a number of bytes", failure);
    if (!lower(asking, "pixels_max", &grant->pixels_max))
        return bad_limit("pixels_max", "a number of pixels", failure);
    if (grant->free && !grant_is_list(grant->free))
        return bad_limit("free", "a list such as width:16..2000,type:jpeg|webp", failure);
    if (!grant->digest) return STATUS_OK;
    if (strncmp(grant->digest, hash, strlen(hash)) != 0 ||
        !base64url_read(grant->digest + strlen(hash), bytes, sizeof bytes))
        return bad_limit("digest", "sha-256: and 32 bytes as 43 characters of base64url", failure);
    grant->digest += strlen(hash);
    return STATUS_OK;
}

/* The time, the page and the client that the address is for. */
static enum status check_where(const struct asking *asking, struct failure *failure) {
    const char *origin = find(asking, "origin"), *client = find(asking, "client");
    struct networks networks;
    long not_before = 0;
    if (find(asking, "not_before") && !read_integer(asking, "not_before", &not_before))
        return bad_limit("not_before", "a Unix time in seconds", failure);
    if (client && !networks_read(client, &networks))
        return bad_limit("client", "networks such as 203.0.113.0/24", failure);
    const bool unix_client = client && client_is_unknown(&asking->client);
    if (asking->now < not_before ||
        (origin && (!asking->origin || strcmp(origin, asking->origin) != 0)) ||
        (client && !(unix_client ? networks.unix_sockets
                                 : networks_have(&networks, &asking->client.address))))
        return not_signed(failure);
    return STATUS_OK;
}

/* `once` counts for its key alone. */
static enum status read_once(struct hasher *hasher, const struct asking *asking,
                             struct grant *grant, struct failure *failure) {
    const char *once = find(asking, "once");
    uint8_t digest[DIGEST_BYTES], bytes[ONCE_BYTES];
    if (!once) return STATUS_OK;
    if (!base64url_read(once, bytes, sizeof bytes))
        return bad_limit("once", "16 bytes as 22 characters of base64url", failure);
    if (grant->expires - asking->now > ONCE_SECONDS_MAX)
        return bad_limit("expires", "at most a day from now, as the address has once", failure);
    if (!hasher_begin(hasher) || !hasher_add(hasher, grant->key, sizeof grant->key) ||
        !hasher_add(hasher, bytes, sizeof bytes) || !hasher_end(hasher, digest))
        return out_of_memory(failure);
    grant->is_once = true;
    memcpy(grant->once, digest, ONCE_BYTES);
    return STATUS_OK;
}

/* ---- both */

static enum status check_key(const struct access_key *key, const struct asking *asking,
                             struct grant *grant, struct failure *failure) {
    strcpy(grant->key, key->id);
    quota_hold(key->quota);
    grant->use.quota = key->quota;
    grant->use.limits = key->limits;
    grant->share = key->share;
    grant->preset = asking->preset;
    grant->parts = asking->preset ? asking->preset->parts : NULL;
    grant->body_bytes_max = key->limits.body_bytes_max;
    grant->pixels_max = key->limits.pixels_max;
    if (asking->now >= key->not_after)
        return fail(failure, STATUS_NO_KEY, "the key %s has expired", key->id);
    if (asking->what && !access_key_may(key, asking->what))
        return fail(failure, STATUS_FORBIDDEN, "the key %s may not be used for %s", key->id,
                    asking->what);
    return STATUS_OK;
}

enum status judge(const struct key_table *table, struct hasher *hasher, const struct asking *asking,
                  struct grant *grant, struct failure *failure) {
    const struct access_key *key = NULL;
    const char *bearer = token_in(asking->authorization);
    const char *token = bearer ? bearer : asking->api_key;
    grant->is_signed = find(asking, "signature");
    if (grant->is_signed && bearer)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the request has a token and a signature; send one");
    if (!grant->is_signed && !token) return no_key(failure);
    enum status status = grant->is_signed
                             ? judge_signature(table, hasher, asking, &key, grant, failure)
                             : judge_token(table, hasher, token, &key, failure);
    if (!status) status = check_key(key, asking, grant, failure);
    if (status || !grant->is_signed) return status;
    status = read_limits(asking, grant, failure);
    if (!status) status = check_where(asking, failure);
    if (!status) status = read_once(hasher, asking, grant, failure);
    /* Else a key for presets alone could have forms change what they do. */
    const struct preset *preset = asking->preset;
    if (!status && preset && (grant->free || grant->parts != preset->parts) &&
        !access_key_may(key, preset->op))
        return fail(failure, STATUS_FORBIDDEN, "the key %s may not leave parts of a preset free",
                    key->id);
    return status;
}

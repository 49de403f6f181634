// SPDX-License-Identifier: Apache-2.0
/* key_table.h - the keys and presets that are in force at one time; a reload replaces them as a
 * whole.
 *
 * A request is judged by one table and holds it meanwhile, so a reload waits for no request.
 *
 * Used by:  key_file.c makes them; judge.c looks keys up; http/ holds the one in force and applies
 *           presets; command_keys.c, command_sign.c.
 * Owns:     its keys and presets, and the JSON that their texts lie in, until the last hold ends.
 * Threads:  one makes it; then it is read-only, and any may hold and release it.
 */
#ifndef BURIN_KEY_TABLE_H
#define BURIN_KEY_TABLE_H

#include "pipeline/status.h"
#include "server/access/hasher.h"
#include "server/access/query.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { KEY_ID_MAX = 33, PRESET_NAME_MAX = 33, KEYS_MAX = 4096, PRESETS_MAX = 1024 };

struct quota;
struct settings;

/* 0: no limit. */
struct key_limits {
    long requests_per_s, burst;
    long bytes_per_s, pixels_per_s, device_ms_per_s;
    long in_progress;
    long body_bytes_max, pixels_max; /* of one request */
};

struct access_key {
    char id[KEY_ID_MAX];
    char group[KEY_ID_MAX]; /* keys of one group share its limits; its own id: it is alone */
    bool has_secret;        /* it may have signed requests */
    bool has_token;
    bool signs; /* state "active"; else signatures are checked and no new ones are made */
    uint8_t secret[SECRET_BYTES], token_digest[DIGEST_BYTES];
    int64_t not_after; /* Unix time in seconds; INT64_MAX: it does not expire */
    long share;        /* of a busy server, beside others */
    const json_t *may; /* the names of what it may do; NULL: everything */
    struct key_limits limits;
    struct quota *quota; /* of its group, held; NULL until quota_link */
};

/* Operator and parameters under one name. */
struct preset {
    char name[PRESET_NAME_MAX];
    char *text;        /* that the rest points into */
    const char *op;    /* "pipeline", or an operator's name */
    const char *parts; /* that may be files of a form; NULL: the image */
    struct argument arguments[ARGUMENTS_MAX];
    int count;
};

struct key_table {
    int holders;             /* atomic, as in current.h */
    struct access_key *keys; /* sorted by id */
    int key_count;
    struct preset *presets;
    int preset_count;
    json_t *json;
};

/* NULL: none. */
const struct access_key *key_table_find(const struct key_table *table, const char *id);
const struct preset *key_table_preset(const struct key_table *table, const char *name);

/* Sets the preset's parameters as a request would. */
enum status preset_apply(const struct preset *preset, struct settings *settings,
                         struct failure *failure);

/* Whether KEY may do WHAT: "resize", "info", "preset:thumb"... */
bool access_key_may(const struct access_key *key, const char *what);

void key_table_release(struct key_table *table); /* accepts NULL */

#endif

// SPDX-License-Identifier: Apache-2.0
/* keys.h - the table of all settings, a row for each key; text to value and back.
 *
 * Used by:  config.c and reference.c; server/access/key_file.c and command_sign.c read sizes.
 * Owns:     nothing; the table is constant.
 * Fails:    key_set returns STATUS_BAD_PARAM with a sentence that names the allowed values.
 * Threads:  any.
 */
#ifndef BURIN_KEYS_H
#define BURIN_KEYS_H

#include "config/config.h"

#include <stddef.h>

enum key_type {
    KEY_TEXT,    /* text that `fits` */
    KEY_CHOICE,  /* text, one of `choices` */
    KEY_INTEGER, /* long */
    KEY_SIZE,    /* long, bytes; also written 64MiB, 1GB */
    KEY_BOOL,
};

enum { KEY_CHOICES_MAX = 4, KEY_VALUE_MAX = CONFIG_ORIGINS_MAX + 8, KEY_FLAG_MAX = 64 };

struct key {
    const char *name;
    enum key_type type;
    size_t offset;      /* of the field in struct config */
    size_t size;        /* of the field; text ends within it */
    const char *text;   /* the default of KEY_TEXT and KEY_CHOICE */
    const char *format; /* KEY_TEXT: the allowed values in words */
    bool (*fits)(const char *text);
    long def, min, max;
    const char *unit; /* "" for none */
    const char *choices[KEY_CHOICES_MAX];
    const char *why; /* its purpose and the reason for the default; no quotes, no full stop */
};

int keys_count(void);
const struct key *keys_at(int index);

/* -1 for an unknown name. */
int keys_find(const char *name);
/* The known name that is most like NAME; NULL: none is. */
const char *keys_nearest(const char *name);

void keys_defaults(struct config *config);

/* WHERE ("--lanes", "BURIN_LANES", a path) begins the message of a refusal. */
enum status key_set(const struct key *key, struct config *config, const char *text,
                    const char *where, struct failure *failure);

/* Reads a number of bytes, such as 64MiB or 1GB. */
bool key_read_size(const char *text, long *bytes);

/* Prints the value in a form that key_set accepts. */
void key_print(const struct key *key, const struct config *config, char text[KEY_VALUE_MAX]);

long key_number(const struct key *key, const struct config *config); /* numbers and booleans */

/* Writes the flag of the key NAME: --queue-jobs. */
void key_flag(const char *name, char *text, size_t size);

/* Writes the allowed values: "1B..4GiB bytes", "json | text", "true | false"... */
void key_range(const struct key *key, char *text, size_t size);

#endif

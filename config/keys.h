// SPDX-License-Identifier: Apache-2.0
/* keys.h - the table behind config.c: one row a key, and text to value and back.
 *
 * Used by:  config.c and reference.c.
 * Fails:    key_set returns STATUS_BAD_PARAM with a sentence that says what is allowed.
 * Threads:  any; the table is constant.
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
    const char *text;   /* the default, of text */
    const char *format; /* what the text must be, in words; KEY_TEXT */
    bool (*fits)(const char *text);
    long def, min, max;
    const char *unit; /* "" where there is none */
    const char *choices[KEY_CHOICES_MAX];
    const char *why; /* what it is for, and why this value; no quotes, no full stop */
};

int keys_count(void);
const struct key *keys_at(int index);

/* -1 for an unknown name. */
int keys_find(const char *name);
/* NULL where none is near. */
const char *keys_nearest(const char *name);

void keys_defaults(struct config *config);

/* WHERE ("--lanes", "BURIN_LANES", a path) begins the message of a refusal. */
enum status key_set(const struct key *key, struct config *config, const char *text,
                    const char *where, struct failure *failure);

/* The value as key_set reads it back. */
void key_print(const struct key *key, const struct config *config, char text[KEY_VALUE_MAX]);

long key_number(const struct key *key, const struct config *config); /* numbers and booleans */

/* The flag of the key NAME: --queue-jobs. */
void key_flag(const char *name, char *text, size_t size);

/* "1B..4GiB bytes", "json | text", "true | false"... */
void key_range(const struct key *key, char *text, size_t size);

#endif

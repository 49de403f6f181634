// SPDX-License-Identifier: Apache-2.0
/* How it works. Lists stay texts, as they were signed, and are searched for each field: a form has
 * few. The digest of an image is computed as its bytes come. */
#include "server/access/grant.h"

#include "pipeline/param.h"
#include "server/access/base64url.h"

#include <string.h>

static const char *const owned[] = { "key",      "expires", "not_before", "body_max", "pixels_max",
                                     "in_types", "free",    "parts",      "origin",   "client",
                                     "digest",   "once",    "signature" };

bool grant_owns(const struct grant *grant, const char *name) {
    for (size_t i = 0; grant->is_signed && i < sizeof owned / sizeof *owned; i++)
        if (strcmp(name, owned[i]) == 0) return true;
    return false;
}

/* Whether LIST, of items with commas between, has NAME. */
static bool has(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (;; list++) {
        const size_t item = strcspn(list, ",");
        if (item == length && memcmp(list, name, length) == 0) return true;
        list += item;
        if (!*list) return false;
    }
}

/* ---- fields */

/* "width:16..2000" or "type:jpeg|webp" */
struct entry {
    const char *name, *values;
    size_t name_length, values_length;
};

/* Reads the entry at *LIST, and moves *LIST behind it; false: it is none. */
static bool next_entry(const char **list, struct entry *entry) {
    entry->name = *list;
    entry->name_length = strcspn(*list, ":,");
    if (!entry->name_length || entry->name[entry->name_length] != ':') return false;
    entry->values = entry->name + entry->name_length + 1;
    entry->values_length = strcspn(entry->values, ",");
    *list = entry->values + entry->values_length;
    *list += **list == ',';
    return entry->values_length > 0;
}

static bool read_number(const char *text, size_t length, long *thousandths) {
    char number[DECIMAL_TEXT_MAX];
    if (length >= sizeof number) return false;
    memcpy(number, text, length);
    number[length] = '\0';
    return param_decimal(number, thousandths);
}

/* "16..2000"; false: it is no range. */
static bool read_range(const struct entry *entry, long *least, long *most) {
    const char *dots = memmem(entry->values, entry->values_length, "..", 2);
    const char *end = entry->values + entry->values_length;
    return dots && read_number(entry->values, (size_t)(dots - entry->values), least) &&
           read_number(dots + 2, (size_t)(end - dots - 2), most) && *least <= *most;
}

static bool fits(const struct entry *entry, const char *value) {
    long least, most, number;
    const char *end = entry->values + entry->values_length;
    if (read_range(entry, &least, &most))
        return read_number(value, strlen(value), &number) && number >= least && number <= most;
    for (const char *choice = entry->values; choice <= end;) {
        const size_t length = strcspn(choice, "|,");
        if (length == strlen(value) && memcmp(choice, value, length) == 0) return true;
        choice += length + 1;
    }
    return false;
}

bool grant_is_list(const char *free) {
    struct entry entry;
    long least, most;
    do {
        if (!next_entry(&free, &entry)) return false;
        if (memmem(entry.values, entry.values_length, "..", 2) &&
            !read_range(&entry, &least, &most))
            return false;
    } while (*free);
    return free[-1] != ',';
}

enum status grant_check_field(const struct grant *grant, const char *name, const char *value,
                              struct failure *failure) {
    char shown[PARAM_SHOWN_MAX];
    struct entry entry;
    if (!grant->is_signed && !grant->preset) return STATUS_OK;
    for (const char *list = grant->free; list && *list && next_entry(&list, &entry);) {
        if (strlen(name) != entry.name_length || memcmp(name, entry.name, entry.name_length) != 0)
            continue;
        if (fits(&entry, value)) return STATUS_OK;
        return fail(failure, STATUS_BAD_PARAM, "%s must be %.*s here", param_shown(name, shown),
                    (int)(entry.values_length < 100 ? entry.values_length : 100), entry.values);
    }
    return fail(failure, STATUS_BAD_PARAM,
                "%s cannot be chosen here: the address or the preset leaves it no choice",
                param_shown(name, shown));
}

/* ---- files */

enum status grant_check_part(const struct grant *grant, const char *name, struct failure *failure) {
    if ((!grant->is_signed && !grant->preset) || has(grant->parts ? grant->parts : "image", name))
        return STATUS_OK;
    return fail(failure, STATUS_FORBIDDEN, "the address or the preset allows no file named %s",
                name);
}

enum status grant_check_type(const struct grant *grant, const char *type, struct failure *failure) {
    if (!grant->in_types || has(grant->in_types, type)) return STATUS_OK;
    return fail(failure, STATUS_NOT_AN_IMAGE, "the image is a %s, and must be one of %.100s", type,
                grant->in_types);
}

static enum status no_memory(struct failure *failure) {
    return fail(failure, STATUS_NO_MEMORY, "there is no memory for the digest of the image");
}

enum status grant_hash(struct grant *grant, const void *bytes, size_t length,
                       struct failure *failure) {
    if (!grant->digest) return STATUS_OK;
    if (!grant->hasher) {
        grant->hasher = hasher_open();
        if (!grant->hasher || !hasher_begin(grant->hasher)) return no_memory(failure);
    }
    return hasher_add(grant->hasher, bytes, length) ? STATUS_OK : no_memory(failure);
}

enum status grant_check_digest(struct grant *grant, struct failure *failure) {
    uint8_t digest[DIGEST_BYTES];
    char text[BASE64URL_LENGTH(DIGEST_BYTES) + 1];
    if (!grant->digest) return STATUS_OK;
    if (!grant->hasher || !hasher_end(grant->hasher, digest)) return no_memory(failure);
    base64url_print(digest, sizeof digest, text);
    if (strcmp(text, grant->digest) == 0) return STATUS_OK;
    return fail(failure, STATUS_FORBIDDEN, "the address is signed for another image");
}

void grant_release(struct grant *grant) {
    hasher_close(grant->hasher);
    grant->hasher = NULL;
    quota_leave(&grant->use);
    quota_release(grant->use.quota);
    grant->use.quota = NULL;
}

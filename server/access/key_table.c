// SPDX-License-Identifier: Apache-2.0
#include "server/access/key_table.h"

#include "server/access/quota.h"
#include "server/request/settings.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(struct key_table, holders) == 0, "as current.h wants it");

/* Takes the same steps, without a branch, for an id that is there and for one that is not. */
const struct access_key *key_table_find(const struct key_table *table, const char *id) {
    const struct access_key *first = table->keys;
    char padded[KEY_ID_MAX] = "";
    memcpy(padded, id, strnlen(id, sizeof padded));
    for (int count = table->key_count; count > 1;) {
        const int half = count / 2;
        first += half * (memcmp(first[half].id, padded, sizeof padded) <= 0);
        count -= half;
    }
    const struct access_key *const found[] = { NULL, first };
    return found[table->key_count && hasher_is_same(first->id, padded, sizeof padded)];
}

const struct preset *key_table_preset(const struct key_table *table, const char *name) {
    for (int i = 0; i < table->preset_count; i++)
        if (strcmp(table->presets[i].name, name) == 0) return &table->presets[i];
    return NULL;
}

enum status preset_apply(const struct preset *preset, struct settings *settings,
                         struct failure *failure) {
    enum status status = STATUS_OK;
    for (int i = 0; i < preset->count && !status; i++)
        status =
            settings_set(settings, preset->arguments[i].name, preset->arguments[i].value, failure);
    return status;
}

bool access_key_may(const struct access_key *key, const char *what) {
    for (size_t i = 0; i < json_array_size(key->may); i++)
        if (strcmp(json_string_value(json_array_get(key->may, i)), what) == 0) return true;
    return !key->may;
}

void key_table_release(struct key_table *table) {
    if (!table || __atomic_sub_fetch(&table->holders, 1, __ATOMIC_ACQ_REL)) return;
    for (int i = 0; i < table->preset_count; i++) free(table->presets[i].text);
    for (int i = 0; i < table->key_count; i++) quota_release(table->keys[i].quota);
    if (table->keys) explicit_bzero(table->keys, (size_t)table->key_count * sizeof *table->keys);
    free(table->keys);
    free(table->presets);
    json_decref(table->json);
    free(table);
}

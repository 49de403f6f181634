// SPDX-License-Identifier: Apache-2.0
/* How it works. jansson checks the syntax, then each object is read member by member. The place of
 * a member that is wrong is a text, "keys[1].limits", by which json_line.h finds its line again. A
 * table is whole or not made. */
#include "server/access/key_file.h"

#include "config/keys.h"
#include "config/text_file.h"
#include "pipeline/image.h"
#include "pipeline/utf8.h"
#include "server/access/base64url.h"
#include "server/access/json_line.h"
#include "server/http/imaginary.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLACE_MAX = 64, SHARE_MAX = 1000 };

struct reading {
    const char *path, *text;
    const struct op_set *ops;
    const struct overlays *overlays; /* NULL: not known */
    struct key_table *table;
    struct failure *failure;
    char place[PLACE_MAX]; /* of the object that is read */
};

/* MEMBER: of the object that is read; NULL: the object itself. */
static bool wrong(const struct reading *reading, const char *member, const char *what) {
    char shown[PARAM_SHOWN_MAX];
    fail(reading->failure, STATUS_BAD_PARAM, "%.90s: line %d: %s%s%s %s", reading->path,
         json_line(reading->text, reading->place, member), reading->place,
         member && *reading->place ? "." : "", member ? param_shown(member, shown) : "", what);
    return false;
}

/* ---- values */

bool key_file_is_name(const char *text) {
    const size_t length = strlen(text);
    return length && length < KEY_ID_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
               length;
}

static bool read_name(const json_t *value, char name[KEY_ID_MAX]) {
    const char *text = json_string_value(value);
    if (!text || !key_file_is_name(text)) return false;
    strcpy(name, text);
    return true;
}

static bool read_hex(const char *text, uint8_t bytes[DIGEST_BYTES]) {
    if (strlen(text) != 2 * DIGEST_BYTES || strspn(text, "0123456789abcdef") != 2 * DIGEST_BYTES)
        return false;
    for (int i = 0; i < DIGEST_BYTES; i++) {
        const char pair[3] = { text[2 * i], text[2 * i + 1], '\0' };
        bytes[i] = (uint8_t)strtol(pair, NULL, 16);
    }
    return true;
}

/* "2027-03-01T00:00:00Z"; the form is the only one, and the day exists. */
static bool read_time(const char *text, int64_t *seconds) {
    static const char form[] = "%Y-%m-%dT%H:%M:%SZ";
    struct tm parts = { 0 }, again;
    char printed[32] = "";
    const char *end = strptime(text, form, &parts);
    if (!end || *end) return false;
    const time_t time = timegm(&parts);
    if (gmtime_r(&time, &again)) strftime(printed, sizeof printed, form, &again);
    *seconds = time;
    return strcmp(printed, text) == 0;
}

/* A number, or a text with a unit: "8MiB" of BYTES, else "24M". */
static bool read_amount(const json_t *value, bool bytes, long *number) {
    static const struct {
        char unit;
        long times;
    } units[] = { { 'K', 1000 }, { 'M', 1000000 }, { 'G', 1000000000 } };
    const char *text = json_string_value(value);
    if (json_is_integer(value)) return *number = (long)json_integer_value(value), true;
    if (!text || !isdigit((unsigned char)*text)) return false;
    if (bytes) return key_read_size(text, number);
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (*end == units[i].unit && !end[1])
            return !errno && !__builtin_mul_overflow(*number, units[i].times, number);
    return !errno && !*end;
}

/* ---- limits */

enum { COUNT, BYTES, PIXELS };
#define LIMIT(name) #name, offsetof(struct key_limits, name)
static const struct limit {
    const char *name;
    size_t offset;
    int kind;
    long max;
    const char *what;
} limits[] = {
    { LIMIT(requests_per_s), COUNT, 1000000, "must be an integer 1..1000000" },
    { LIMIT(burst), COUNT, 1000000, "must be an integer 1..1000000" },
    { LIMIT(bytes_per_s), BYTES, 1L << 40, "must be a size 1B..1TiB, such as \"20MiB\"" },
    { LIMIT(pixels_per_s), PIXELS, 1000000000000, "must be pixels 1..1000G, such as \"500M\"" },
    { LIMIT(device_ms_per_s), COUNT, 1000000, "must be an integer 1..1000000 ms" },
    { LIMIT(in_progress), COUNT, 16384, "must be an integer 1..16384" },
    { LIMIT(body_bytes_max), BYTES, 1L << 32, "must be a size 1B..4GiB, such as \"8MiB\"" },
    { LIMIT(pixels_max), PIXELS, (long)IMAGE_SIDE_MAX *IMAGE_SIDE_MAX,
      "must be pixels 1..4294836225, such as \"24M\"" },
};
enum { LIMIT_COUNT = sizeof limits / sizeof *limits };

/* Complains of the first member of OBJECT that NAMES lacks. */
static bool check_members(const struct reading *reading, const json_t *object,
                          const char *const *names, size_t count) {
    char what[96];
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at)) {
        const char *name = json_object_iter_key(at);
        bool known = false;
        for (size_t i = 0; i < count; i++) known |= strcmp(name, names[i]) == 0;
        if (known) continue;
        const char *near = nearest_name(name, names, count);
        snprintf(what, sizeof what, "is not known%s%s%s", near ? "; did you mean \"" : "",
                 near ? near : "", near ? "\"?" : "");
        return wrong(reading, name, what);
    }
    return true;
}

static bool read_limits(struct reading *reading, const json_t *object, struct key_limits *out) {
    const char *names[LIMIT_COUNT];
    const size_t outer = strlen(reading->place);
    for (int i = 0; i < LIMIT_COUNT; i++) names[i] = limits[i].name;
    if (!object) return true;
    if (!json_is_object(object)) return wrong(reading, "limits", "must be an object");
    strcpy(reading->place + outer, ".limits");
    if (!check_members(reading, object, names, LIMIT_COUNT)) return false;
    for (int i = 0; i < LIMIT_COUNT; i++) {
        const json_t *value = json_object_get(object, names[i]);
        long *number = (long *)(void *)((char *)out + limits[i].offset);
        if (value && (!read_amount(value, limits[i].kind == BYTES, number) || *number < 1 ||
                      *number > limits[i].max))
            return wrong(reading, names[i], limits[i].what);
    }
    if (out->burst && !out->requests_per_s)
        return wrong(reading, "burst", "needs requests_per_s beside it");
    reading->place[outer] = '\0';
    return true;
}

/* ---- a key */

static bool is_operation(const struct reading *reading, const char *name) {
    static const char preset[] = "preset:";
    if (strncmp(name, preset, strlen(preset)) == 0)
        return key_table_preset(reading->table, name + strlen(preset));
    return op_set_find(reading->ops, name) || imaginary_has(name) || strcmp(name, "info") == 0 ||
           strcmp(name, "pipeline") == 0;
}

static bool read_may(const struct reading *reading, const json_t *may, struct access_key *key) {
    char what[128], shown[PARAM_SHOWN_MAX];
    size_t i;
    json_t *item;
    if (may && !json_is_array(may)) return wrong(reading, "may", "must be a list of operations");
    json_array_foreach (may, i, item) {
        const char *name = json_string_value(item);
        if (name && is_operation(reading, name)) continue;
        snprintf(what, sizeof what,
                 "names \"%s\", which is no operator, info, pipeline or preset:NAME here",
                 param_shown(name ? name : "?", shown));
        return wrong(reading, "may", what);
    }
    key->may = may;
    return true;
}

static bool read_secrets(const struct reading *reading, const json_t *object,
                         struct access_key *key) {
    const json_t *secret = json_object_get(object, "secret");
    const json_t *token = json_object_get(object, "token_sha256");
    key->has_secret = secret;
    key->has_token = token;
    if (!secret && !token) return wrong(reading, NULL, "needs a secret, a token_sha256 or both");
    if (secret && (!json_is_string(secret) ||
                   !base64url_read(json_string_value(secret), key->secret, SECRET_BYTES)))
        return wrong(reading, "secret", "must be 32 bytes as 43 characters of base64url");
    if (token && (!json_is_string(token) || !read_hex(json_string_value(token), key->token_digest)))
        return wrong(reading, "token_sha256", "must be 64 digits, 0-9 and a-f");
    return true;
}

static bool read_state(const struct reading *reading, const json_t *object,
                       struct access_key *key) {
    const json_t *state = json_object_get(object, "state"), *note = json_object_get(object, "note");
    const json_t *not_after = json_object_get(object, "not_after");
    const json_t *share = json_object_get(object, "share");
    const char *text = state ? json_string_value(state) : "active";
    key->signs = text && strcmp(text, "active") == 0;
    if (!key->signs && (!text || strcmp(text, "verify") != 0))
        return wrong(reading, "state", "must be \"active\" or \"verify\"");
    key->not_after = INT64_MAX;
    if (not_after &&
        (!json_is_string(not_after) || !read_time(json_string_value(not_after), &key->not_after)))
        return wrong(reading, "not_after", "must be a time such as \"2027-03-01T00:00:00Z\"");
    key->share = share ? json_integer_value(share) : 1; /* 0: no integer */
    if (key->share < 1 || key->share > SHARE_MAX)
        return wrong(reading, "share", "must be an integer 1..1000");
    return !note || json_is_string(note) || wrong(reading, "note", "must be a text");
}

static bool read_key(struct reading *reading, const json_t *object, struct access_key *key) {
    static const char *const names[] = { "id",        "secret", "token_sha256", "group",  "state",
                                         "not_after", "may",    "share",        "limits", "note" };
    static const char a_name[] = "must be 1 to 32 letters, digits and - _ .";
    const json_t *id = json_object_get(object, "id"), *group = json_object_get(object, "group");
    if (!json_is_object(object)) return wrong(reading, NULL, "must be an object");
    if (!check_members(reading, object, names, sizeof names / sizeof *names)) return false;
    if (!read_name(id, key->id)) return wrong(reading, "id", a_name);
    for (const struct access_key *other = reading->table->keys; other < key; other++)
        if (strcmp(other->id, key->id) == 0)
            return wrong(reading, "id", "is that of an earlier key");
    strcpy(key->group, key->id);
    if (group && !read_name(group, key->group)) return wrong(reading, "group", a_name);
    return read_secrets(reading, object, key) && read_state(reading, object, key) &&
           read_may(reading, json_object_get(object, "may"), key) &&
           read_limits(reading, json_object_get(object, "limits"), &key->limits);
}

static int by_id(const void *a, const void *b) {
    return strcmp(((const struct access_key *)a)->id, ((const struct access_key *)b)->id);
}

static bool read_keys(struct reading *reading, const json_t *list) {
    struct key_table *table = reading->table;
    if (!json_is_array(list)) return wrong(reading, "keys", "must be a list of keys");
    if (json_array_size(list) > KEYS_MAX) return wrong(reading, "keys", "has more than 4096 keys");
    table->keys = calloc(json_array_size(list) + 1, sizeof *table->keys);
    if (!table->keys) return wrong(reading, "keys", "cannot be read: out of memory");
    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(reading->place, sizeof reading->place, "keys[%zu]", i);
        if (!read_key(reading, json_array_get(list, i), &table->keys[table->key_count++]))
            return false;
    }
    *reading->place = '\0';
    qsort(table->keys, (size_t)table->key_count, sizeof *table->keys, by_id);
    return true;
}

/* ---- presets */

/* Which parameters are left to a form is not known. */
static bool check_preset(const struct reading *reading, const struct preset *preset) {
    struct settings settings;
    struct imaginary imaginary;
    struct failure failure = { 0 };
    char what[sizeof failure.message + 16];
    if (strcmp(preset->op, "pipeline") != 0 && !op_set_find(reading->ops, preset->op) &&
        !imaginary_has(preset->op))
        return wrong(reading, preset->name, "must begin with an operator or pipeline");
    enum status status =
        imaginary_begin(&imaginary, &settings, reading->ops, preset->op, false, &failure);
    if (!status) status = preset_apply(preset, &settings, &failure);
    if (!status && *settings.overlay && reading->overlays &&
        !overlays_find(reading->overlays, settings.overlay, &failure))
        status = failure.status;
    settings_release(&settings);
    snprintf(what, sizeof what, "is wrong: %s", failure.message);
    return !status || wrong(reading, preset->name, what);
}

/* `parts` is no parameter of the operator. */
static void take_parts(struct preset *preset) {
    int kept = 0;
    for (int i = 0; i < preset->count; i++)
        if (strcmp(preset->arguments[i].name, "parts") == 0)
            preset->parts = preset->arguments[i].value;
        else
            preset->arguments[kept++] = preset->arguments[i];
    preset->count = kept;
}

/* The entry is in the table before it is right: the table frees it. */
static bool read_preset(const struct reading *reading, const char *name, const json_t *value) {
    struct preset *preset = &reading->table->presets[reading->table->preset_count];
    if (!key_file_is_name(name))
        return wrong(reading, name, "needs a name of 1 to 32 letters, digits and - _ .");
    if (!json_is_string(value))
        return wrong(reading, name, "must be a text such as \"resize?width=320\"");
    preset->text = strdup(json_string_value(value));
    if (!preset->text) return wrong(reading, name, "cannot be read: out of memory");
    reading->table->preset_count++;
    strcpy(preset->name, name);
    char *query = preset->text;
    preset->op = strsep(&query, "?");
    preset->count = query ? query_read(query, preset->arguments) : 0;
    if (preset->count < 0) return wrong(reading, name, "is no query: a % needs two digits");
    take_parts(preset);
    return check_preset(reading, preset);
}

static bool read_presets(struct reading *reading, const json_t *object) {
    struct key_table *table = reading->table;
    if (!object) return true;
    if (!json_is_object(object)) return wrong(reading, "presets", "must be an object");
    if (json_object_size(object) > PRESETS_MAX)
        return wrong(reading, "presets", "has more than 1024 presets");
    table->presets = calloc(json_object_size(object) + 1, sizeof *table->presets);
    if (!table->presets) return wrong(reading, "presets", "cannot be read: out of memory");
    strcpy(reading->place, "presets");
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at))
        if (!read_preset(reading, json_object_iter_key(at), json_object_iter_value(at)))
            return false;
    *reading->place = '\0';
    return true;
}

/* ---- the file */

static bool read_root(struct reading *reading) {
    static const char *const names[] = { "keys", "presets" };
    const json_t *root = reading->table->json;
    if (!json_is_object(root)) return wrong(reading, NULL, "the file must hold one object");
    return check_members(reading, root, names, 2) &&
           read_presets(reading, json_object_get(root, "presets")) &&
           read_keys(reading, json_object_get(root, "keys"));
}

/* Secrets are in the table alone from then on, and the table wipes them at its end. */
static void wipe_secrets(const json_t *root) {
    size_t i;
    json_t *key;
    json_array_foreach (json_object_get(root, "keys"), i, key) {
        const char *secret = json_string_value(json_object_get(key, "secret"));
        if (secret) explicit_bzero((char *)secret, strlen(secret));
    }
}

/* The text near a mistake may be a secret, unless it is a name that stands twice. */
static void syntax(const char *path, json_error_t *error, struct failure *failure) {
    char *near = strstr(error->text, " near ");
    if (near && strncmp(error->text, "duplicate", strlen("duplicate")) != 0) *near = '\0';
    fail(failure, STATUS_BAD_PARAM, "%.90s: line %d: %.100s", path, error->line, error->text);
}

struct key_table *key_file_read(const char *path, const struct op_set *ops,
                                const struct overlays *overlays, struct failure *failure) {
    json_error_t error;
    size_t length;
    *failure = (struct failure){ .status = STATUS_OK };
    char *text = text_file_read(path, TEXT_FILE_SECRET, &length, failure);
    if (!text) return NULL;
    struct key_table *table = calloc(1, sizeof *table);
    if (!table) {
        fail(failure, STATUS_NO_MEMORY, "there is no memory for %.150s", path);
        explicit_bzero(text, length);
        return free(text), NULL;
    }
    const size_t mark = utf8_mark(text, length);
    struct reading reading = { path, text + mark, ops, overlays, table, failure, "" };
    table->holders = 1;
    table->json = json_loadb(reading.text, length - mark, JSON_REJECT_DUPLICATES, &error);
    if (!table->json) syntax(path, &error, failure);
    const bool good = table->json && read_root(&reading);
    wipe_secrets(table->json);
    explicit_bzero(text, length);
    free(text);
    if (good) return table;
    key_table_release(table);
    return NULL;
}

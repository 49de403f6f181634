// SPDX-License-Identifier: Apache-2.0
/* How it works. Flags are taken from the arguments first, since one of them names the file, and
 * kept as text. Then four layers follow, each of which overrides the ones before: the defaults of
 * keys.c, the file, the environment, the flags. key_set sets each value, and refuses one out of
 * range with its source; `loaded` keeps the sources for config_print. Last come the rules about
 * several keys.
 */
#include "config/keys.h"

#include "config/text_file.h"
#include "pipeline/param.h"
#include "pipeline/utf8.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum source { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };
static const char *const source_names[] = { "default", "file", "environment", "flag" };

enum { KEYS_MAX = 128, NAME_LENGTH_MAX = 64 };

/* The sources of the last config_load, for config_print. Written before there are threads. */
static struct {
    unsigned char source[KEYS_MAX];
    char file[PATH_MAX]; /* "": none was read */
} loaded;

/* Sets KEY and records the source. */
static enum status set(struct config *config, int key, const char *text, enum source source,
                       const char *where, struct failure *failure) {
    enum status status = key_set(keys_at(key), config, text, where, failure);
    if (status == STATUS_OK) loaded.source[key] = (unsigned char)source;
    return status;
}

/* ---- the file */

static enum status unknown_in_file(const char *name, const char *path, struct failure *failure) {
    char shown[PARAM_SHOWN_MAX];
    const char *near = keys_nearest(name);
    param_shown(name, shown);
    if (!near)
        return fail(failure, STATUS_BAD_PARAM,
                    "%.100s: there is no key \"%s\"; burin serve --help lists them", path, shown);
    return fail(failure, STATUS_BAD_PARAM, "%.100s: there is no key \"%s\"; did you mean \"%s\"?",
                path, shown, near);
}

static enum status check_about(const json_t *about, const char *path, struct failure *failure) {
    if (!json_is_object(about))
        return fail(failure, STATUS_BAD_PARAM, "%.100s: \"about\" must be an object", path);
    for (void *at = json_object_iter((json_t *)about); at;
         at = json_object_iter_next((json_t *)about, at)) {
        const char *name = json_object_iter_key(at);
        if (keys_find(name) < 0) return unknown_in_file(name, path, failure);
    }
    return STATUS_OK;
}

static enum status set_from_json(struct config *config, const char *name, const json_t *value,
                                 const char *path, struct failure *failure) {
    int index = keys_find(name);
    if (index < 0) return unknown_in_file(name, path, failure);
    const struct key *key = keys_at(index);
    if (json_is_string(value))
        return set(config, index, json_string_value(value), FROM_FILE, path, failure);
    if (key->type == KEY_TEXT || key->type == KEY_CHOICE)
        return fail(failure, STATUS_BAD_PARAM, "%.100s: %s must be text in quotes", path,
                    key->name);
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!text) return fail(failure, STATUS_NO_MEMORY, "out of memory for the configuration");
    enum status status = set(config, index, text, FROM_FILE, path, failure);
    free(text);
    return status;
}

static enum status load_file(struct config *config, const char *path, enum text_file kind,
                             struct failure *failure) {
    json_error_t error;
    size_t length;
    char *text = text_file_read(path, kind, &length, failure);
    if (!text) return failure->status;
    const size_t mark = utf8_mark(text, length);
    json_t *root = json_loadb(text + mark, length - mark, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!root)
        return fail(failure, STATUS_BAD_PARAM, "%.100s: line %d: %.100s", path, error.line,
                    error.text);
    enum status status = STATUS_OK;
    if (!json_is_object(root))
        status = fail(failure, STATUS_BAD_PARAM, "%.100s: the file must hold one object", path);
    for (void *at = json_object_iter(root); at && status == STATUS_OK;
         at = json_object_iter_next(root, at)) {
        const char *name = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        status = strcmp(name, "about") == 0 ? check_about(value, path, failure)
                                            : set_from_json(config, name, value, path, failure);
    }
    json_decref(root);
    snprintf(loaded.file, sizeof loaded.file, "%s", path);
    return status;
}

/* Finds config/burin.json beside the program, or beside the folder build if the program is in it or
 * in a folder within it, or else the system's file; false: none exists. */
static bool search_file(char path[PATH_MAX]) {
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(path, '/');
        if (!slash || (up == 2 && strcmp(slash, "/build") != 0)) break;
        const size_t room = PATH_MAX - (size_t)(slash - path);
        const int written = snprintf(slash, room, "/config/burin.json");
        if (written < (int)room && access(path, F_OK) == 0) return true;
        *slash = '\0';
    }
    snprintf(path, PATH_MAX, "/etc/burin/burin.json");
    return access(path, F_OK) == 0;
}

/* ---- the environment */

/* Other code reads BURIN_CONFIG and BURIN_CC, the compiler of users' operators. Kubernetes and
 * Docker links set the other variables for a service with the name burin. */
static bool environment_ignored(const char *name) {
    static const char *const whole[] = { "config", "cc", "port", "service_host", "service_port" };
    static const char *const begin[] = { "port_", "service_port_" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(name, whole[i]) == 0) return true;
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0) return true;
    return false;
}

static void upper(const char *name, char *text, size_t size) {
    size_t i = 0;
    for (; name[i] && i + 1 < size; i++) text[i] = (char)toupper((unsigned char)name[i]);
    text[i] = '\0';
}

static enum status unknown_in_environment(const char *name, struct failure *failure) {
    char shown[PARAM_SHOWN_MAX], given[PARAM_SHOWN_MAX], proposal[NAME_LENGTH_MAX];
    const char *near = keys_nearest(name);
    upper(param_shown(name, shown), given, sizeof given);
    if (!near)
        return fail(failure, STATUS_BAD_PARAM,
                    "BURIN_%s in the environment: there is no such key; burin serve --help lists "
                    "them",
                    given);
    upper(near, proposal, sizeof proposal);
    return fail(failure, STATUS_BAD_PARAM,
                "BURIN_%s in the environment: there is no such key; did you mean BURIN_%s?", given,
                proposal);
}

/* ENTRY is "BURIN_SOME_KEY=value". */
static enum status set_from_entry(struct config *config, const char *entry,
                                  struct failure *failure) {
    static const size_t prefix = sizeof "BURIN_" - 1;
    const char *equals = strchr(entry, '=');
    if (!equals) return STATUS_OK;
    char name[NAME_LENGTH_MAX], where[NAME_LENGTH_MAX + 8];
    size_t length = 0;
    for (const char *c = entry + prefix; c < equals && length + 1 < sizeof name; c++)
        name[length++] = (char)tolower((unsigned char)*c);
    name[length] = '\0';
    if (environment_ignored(name)) return STATUS_OK;
    int key = keys_find(name);
    if (key < 0) return unknown_in_environment(name, failure);
    snprintf(where, sizeof where, "%.*s", (int)(equals - entry), entry);
    return set(config, key, equals + 1, FROM_ENVIRONMENT, where, failure);
}

static enum status load_environment(struct config *config, struct failure *failure) {
    enum status status = STATUS_OK;
    for (char **entry = environ; entry && *entry && status == STATUS_OK; entry++)
        if (strncmp(*entry, "BURIN_", 6) == 0) status = set_from_entry(config, *entry, failure);
    return status;
}

/* ---- flags */

/* Writes the key of a flag: "--body-bytes-max=1" becomes body_bytes_max. */
static void flag_name(const char *flag, char name[NAME_LENGTH_MAX]) {
    size_t length = 0;
    for (const char *c = flag + 2; *c && *c != '=' && length + 1 < NAME_LENGTH_MAX; c++)
        name[length++] = *c == '-' ? '_' : *c;
    name[length] = '\0';
}

static enum status unknown_flag(const char *flag, const char *name, struct failure *failure) {
    char shown[PARAM_SHOWN_MAX], proposal[NAME_LENGTH_MAX];
    const char *near = keys_nearest(name);
    param_shown(flag, shown);
    shown[strcspn(shown, "=")] = '\0';
    if (!near)
        return fail(failure, STATUS_BAD_PARAM, "there is no flag %s; --help lists them", shown);
    key_flag(near, proposal, sizeof proposal);
    return fail(failure, STATUS_BAD_PARAM, "there is no flag %s; did you mean %s?", shown,
                proposal);
}

/* The value of the flag at argv[*i]: after its =, or the next argument if that is no flag, over
 * which it moves *I. NULL: there is no value. */
static const char *flag_value(const struct key *key, int argc, char **argv, int *i) {
    const char *equals = strchr(argv[*i], '=');
    const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
    if (equals) return equals + 1;
    if (next && strncmp(next, "--", 2) != 0) return argv[++*i];
    return key && key->type == KEY_BOOL ? "true" : NULL;
}

/* The flags' values, kept until the file and the environment are read: the last layer wins. */
struct flags {
    const char *file;
    const char *value[KEYS_MAX];
};

static enum status take_flag(struct flags *flags, int argc, char **argv, int *i,
                             struct failure *failure) {
    const char *flag = argv[*i];
    char name[NAME_LENGTH_MAX];
    flag_name(flag, name);
    bool is_file = strcmp(name, "config") == 0;
    int key = keys_find(name);
    if (key < 0 && !is_file) return unknown_flag(flag, name, failure);
    const char *value = flag_value(is_file ? NULL : keys_at(key), argc, argv, i);
    if (!value) return fail(failure, STATUS_BAD_PARAM, "%.60s needs a value", flag);
    *(is_file ? &flags->file : &flags->value[key]) = value;
    return STATUS_OK;
}

static enum status take_flags(struct flags *flags, int *argc, char **argv,
                              struct failure *failure) {
    int left = *argc > 0;
    bool ended = false;
    for (int i = left; i < *argc; i++) {
        if (ended || strncmp(argv[i], "--", 2) != 0) {
            argv[left++] = argv[i];
            continue;
        }
        ended = argv[i][2] == '\0';
        if (ended) continue;
        enum status status = take_flag(flags, *argc, argv, &i, failure);
        if (status != STATUS_OK) return status;
    }
    *argc = left;
    argv[left] = NULL;
    return STATUS_OK;
}

static enum status load_flags(struct config *config, const struct flags *flags,
                              struct failure *failure) {
    for (int i = 0; i < keys_count(); i++) {
        if (!flags->value[i]) continue;
        char where[NAME_LENGTH_MAX];
        key_flag(keys_at(i)->name, where, sizeof where);
        enum status status = set(config, i, flags->value[i], FROM_FLAG, where, failure);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

/* ---- all together */

enum status config_load(struct config *config, const char *path, int *argc, char **argv,
                        struct failure *failure) {
    struct flags flags = { .file = NULL };
    char found[PATH_MAX];
    assert(keys_count() <= KEYS_MAX);
    memset(&loaded, 0, sizeof loaded);
    keys_defaults(config);

    enum status status = argc ? take_flags(&flags, argc, argv, failure) : STATUS_OK;
    if (flags.file) path = flags.file;
    if (!path) path = getenv("BURIN_CONFIG");
    if (!path && search_file(found)) path = found;
    if (status == STATUS_OK && path)
        status = load_file(config, path, argc ? TEXT_FILE_ANY : TEXT_FILE_REGULAR, failure);
    if (status == STATUS_OK) status = load_environment(config, failure);
    if (status == STATUS_OK) status = load_flags(config, &flags, failure);
    if (status == STATUS_OK && config->connections_max < config->io_threads)
        return fail(failure, STATUS_BAD_PARAM,
                    "connections_max is %ld, but io_threads is %ld: give each thread at least one "
                    "connection",
                    config->connections_max, config->io_threads);
    return status;
}

const char *config_file(void) {
    return loaded.file;
}

/* Whether KEY may change while the daemon runs: requests or the end read it each time, and nothing
 * was laid out by it, but for slots by body_bytes_max, which may therefore only become smaller. */
static bool may_change(const struct key *key, const struct config *first,
                       const struct config *next) {
    static const char *const names[] = { "cors_origins",   "log_level",        "body_bytes_max",
                                         "parts_max",      "encode_still_ms",  "refuse_times",
                                         "drain_delay_ms", "drain_timeout_ms", "drain_client_ms" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], key->name) == 0)
            return i != 2 || next->body_bytes_max <= first->body_bytes_max;
    return false;
}

void config_take(struct config *config, const struct config *next, json_t *restart) {
    static struct config first; /* as it was at the start */
    static bool known;
    if (!known) first = *config;
    known = true;
    for (int i = 0; i < keys_count(); i++) {
        const struct key *key = keys_at(i);
        char now[KEY_VALUE_MAX], then[KEY_VALUE_MAX];
        void *to = (char *)config + key->offset;
        key_print(key, config, now);
        key_print(key, next, then);
        if (loaded.source[i] == FROM_FLAG || strcmp(now, then) == 0) continue;
        if (!may_change(key, &first, next))
            json_array_append_new(restart, json_string(key->name));
        else if (key->type == KEY_TEXT || key->type == KEY_CHOICE)
            memcpy(to, (const char *)next + key->offset, key->size);
        else /* other threads read it */
            __atomic_store_n((long *)to, key_number(key, next), __ATOMIC_RELAXED);
    }
}

/* ---- printing */

static json_t *value_json(const struct key *key, const struct config *config) {
    char text[KEY_VALUE_MAX];
    if (key->type == KEY_BOOL) return json_boolean(key_number(key, config));
    if (key->type == KEY_INTEGER || key->type == KEY_SIZE)
        return json_integer(key_number(key, config));
    key_print(key, config, text);
    return json_string(text);
}

static void print_json(const struct config *config, FILE *out) {
    json_t *root = json_object();
    for (int i = 0; i < keys_count(); i++)
        json_object_set_new(root, keys_at(i)->name,
                            json_pack("{s:o, s:s}", "value", value_json(keys_at(i), config), "from",
                                      source_names[loaded.source[i]]));
    json_dumpf(root, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(root);
}

void config_print(const struct config *config, FILE *out, bool as_json) {
    if (as_json) {
        print_json(config, out);
        return;
    }
    for (int i = 0; i < keys_count(); i++) {
        char value[KEY_VALUE_MAX];
        enum source source = loaded.source[i];
        key_print(keys_at(i), config, value);
        fprintf(out, "%-20s %-18s %s %s\n", keys_at(i)->name, *value ? value : "(empty)",
                source_names[source], source == FROM_FILE ? loaded.file : "");
    }
    if (*loaded.file)
        fprintf(out, "\nThe file that was read is %s.\n", loaded.file);
    else
        fputs("\nNo file was read: there is no config/burin.json beside the program or the folder\n"
              "it was built in, no /etc/burin/burin.json, and --config names none.\n",
              out);
}

// SPDX-License-Identifier: Apache-2.0
/* burin keys: makes a key for a client, or checks a file of keys.
 *
 * How it works. A new key has a secret, for signatures, and a token, which the file keeps only the
 * digest of. A file that gets a further key is written anew beside it, read as the daemon reads it,
 * and renamed. */
#include "pipeline/registry.h"
#include "pipeline/utf8.h"
#include "server/access/base64url.h"
#include "server/access/key_file.h"
#include "server/cli/command.h"
#include "server/files.h"
#include "server/user_operators.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_MAX = 128, SECRET_TEXT = BASE64URL_LENGTH(SECRET_BYTES) + 1 };

static int usage(FILE *out, int code) {
    fputs("usage: burin keys new [--id ID] [--may NAME,...] [--not-after TIME] [--add FILE]\n"
          "       burin keys check [--operators-dir DIR] FILE\n\n"
          "new prints a key for a file of keys on standard output, and on standard error the\n"
          "token that its client sends (Authorization: Bearer TOKEN): it is kept nowhere else.\n"
          "--may limits it to operators, info, pipeline and preset:NAME; --not-after ends it, as\n"
          "in 2027-03-01T00:00:00Z; --add puts it into FILE, which is made if there is none.\n"
          "check reads FILE as `burin serve --keys-file FILE` would.\n",
          out);
    return code;
}

static int complain(const char *what) {
    fprintf(stderr, "burin keys: %s\n", what);
    return 1;
}

/* ---- new */

struct wanted {
    const char *id, *may, *not_after, *add;
};

static json_t *list_of(const char *names) {
    json_t *list = json_array();
    for (; *names; names += *names == ',') {
        const size_t length = strcspn(names, ",");
        json_array_append_new(list, json_stringn(names, length));
        names += length;
    }
    return list;
}

/* NULL: the library failed. TOKEN: what its client sends. */
static json_t *make_key(const struct wanted *wanted, char token[TOKEN_MAX]) {
    uint8_t bytes[2 * SECRET_BYTES + 4], digest[DIGEST_BYTES];
    char id[16], secret[SECRET_TEXT], random[SECRET_TEXT], hex[2 * DIGEST_BYTES + 1];
    struct hasher *hasher = hasher_open();
    bool good = hasher && hasher_random(bytes, sizeof bytes);
    const uint8_t *last = bytes + 2 * SECRET_BYTES;
    snprintf(id, sizeof id, "key-%02x%02x%02x%02x", last[0], last[1], last[2], last[3]);
    base64url_print(bytes, SECRET_BYTES, secret);
    base64url_print(bytes + SECRET_BYTES, SECRET_BYTES, random);
    snprintf(token, TOKEN_MAX, "burin_%s_%s", wanted->id ? wanted->id : id, random);
    good = good && hasher_begin(hasher) && hasher_add(hasher, token, strlen(token)) &&
           hasher_end(hasher, digest);
    hasher_close(hasher);
    for (int i = 0; i < DIGEST_BYTES && good; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    json_t *key = good ? json_pack("{s:s, s:s, s:s, s:s}", "id", wanted->id ? wanted->id : id,
                                   "secret", secret, "token_sha256", hex, "state", "active")
                       : NULL;
    if (key && wanted->not_after)
        json_object_set_new(key, "not_after", json_string(wanted->not_after));
    if (key && wanted->may) json_object_set_new(key, "may", list_of(wanted->may));
    return key;
}

/* The JSON of the file at PATH, or of a file without keys. NULL: it is wrong, with a sentence. */
static json_t *load(const char *path, struct failure *failure) {
    if (access(path, F_OK) != 0) return json_pack("{s:[]}", "keys");
    struct key_table *table = key_file_read(path, registry_set(), NULL, failure);
    uint8_t *text = NULL;
    size_t length = 0;
    json_t *root = NULL;
    json_error_t error;
    if (table &&
        !files_read(path, &text, &length, failure)) { /* the table has no secrets in JSON */
        const size_t mark = utf8_mark((char *)text, length);
        root = json_loadb((char *)text + mark, length - mark, 0, &error);
        explicit_bzero(text, length);
        if (!root) fail(failure, STATUS_BAD_PARAM, "%.150s has just changed", path);
    }
    free(text);
    key_table_release(table);
    return root;
}

/* A file that is there keeps its owner and mode, and a link its file: the daemon may read it by its
 * group. */
static int write_file(const char *path, const json_t *root, struct failure *failure) {
    char beside[PATH_MAX], real[PATH_MAX];
    struct stat facts;
    if (realpath(path, real)) path = real;
    snprintf(beside, sizeof beside, "%.4000s.new", path);
    unlink(beside);
    const bool is_there = stat(path, &facts) == 0;
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && is_there &&
        (fchown(fd, facts.st_uid, facts.st_gid) != 0 || fchmod(fd, facts.st_mode & 07777) != 0)) {
        close(fd);
        fd = -1;
    }
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good = file && json_dumpf(root, file, JSON_INDENT(2)) == 0 && fputc('\n', file) >= 0;
    if (file && fclose(file) != 0) good = false;
    struct key_table *table = good ? key_file_read(beside, registry_set(), NULL, failure) : NULL;
    if (table && rename(beside, path) == 0) return key_table_release(table), 0;
    if (!failure->status)
        fail(failure, STATUS_INTERNAL, "cannot write %.150s: %s", path, strerror(errno));
    key_table_release(table);
    unlink(beside);
    return complain(failure->message);
}

static int print_key(const struct wanted *wanted) {
    char token[TOKEN_MAX];
    struct failure failure = { 0 };
    if (wanted->id && !key_file_is_name(wanted->id))
        return complain("an id has 1 to 32 letters, digits and - _ .");
    json_t *key = make_key(wanted, token);
    json_t *root = key && wanted->add ? load(wanted->add, &failure) : NULL;
    int code = key ? 0 : complain("there are no random bytes");
    if (root) {
        json_array_append(json_object_get(root, "keys"), key);
        code = write_file(wanted->add, root, &failure);
    } else if (key && wanted->add) {
        code = complain(failure.message);
    } else if (key) {
        json_dumpf(key, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(root);
    json_decref(key);
    if (!code) fprintf(stderr, "The token, which is shown this once: %s\n", token);
    explicit_bzero(token, sizeof token);
    return code;
}

static int make_new(int argc, char **argv) {
    struct wanted wanted = { NULL };
    for (int i = 1; i < argc; i += 2) {
        const char **option = strcmp(argv[i], "--id") == 0          ? &wanted.id
                              : strcmp(argv[i], "--may") == 0       ? &wanted.may
                              : strcmp(argv[i], "--not-after") == 0 ? &wanted.not_after
                              : strcmp(argv[i], "--add") == 0       ? &wanted.add
                                                                    : NULL;
        if (!option || i + 1 == argc) return usage(stderr, 2);
        *option = argv[i + 1];
    }
    return print_key(&wanted);
}

/* ---- check */

static int check(int argc, char **argv) {
    struct failure failure = { 0 };
    const bool folder = argc == 4 && strcmp(argv[1], "--operators-dir") == 0;
    if (argc != 2 && !folder) return usage(stderr, 2);
    if (folder && user_operators_load(argv[2], &failure)) return complain(failure.message);
    const char *path = argv[argc - 1];
    struct key_table *table = key_file_read(path, registry_set(), NULL, &failure);
    if (!table) return complain(failure.message);
    printf("%s: OK, %d key%s, %d preset%s\n", path, table->key_count,
           table->key_count == 1 ? "" : "s", table->preset_count,
           table->preset_count == 1 ? "" : "s");
    key_table_release(table);
    return 0;
}

int command_keys(int argc, char **argv) {
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout, 0);
    if (argc > 1 && strcmp(argv[1], "new") == 0) return make_new(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "check") == 0) return check(argc - 1, argv + 1);
    return usage(stderr, 2);
}

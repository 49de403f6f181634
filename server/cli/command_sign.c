// SPDX-License-Identifier: Apache-2.0
/* burin sign: makes the address of a request that its holder may send without a key.
 *
 * How it works. Each option adds an argument to the query. The signed address is judged as the
 * daemon will judge it, and its operator and parameters are checked, so what is wrong is refused
 * here. */
#include "config/keys.h"
#include "config/networks.h"
#include "pipeline/param.h"
#include "pipeline/registry.h"
#include "server/access/base64url.h"
#include "server/access/judge.h"
#include "server/access/key_file.h"
#include "server/cli/command.h"
#include "server/files.h"
#include "server/http/route.h"
#include "server/user_operators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VALUE_MAX = 64, EXPIRES_MAX = 10 * 366 * 86400 };

/* The options that become arguments as they are. */
static const struct {
    const char *option, *name;
} as_given[] = { { "--key", "key" },
                 { "--in-types", "in_types" },
                 { "--free", "free" },
                 { "--parts", "parts" },
                 { "--origin", "origin" },
                 { "--client", "client" },
                 { "--pixels-max", "pixels_max" } };

struct signing {
    const char *file;
    struct argument arguments[ARGUMENTS_MAX];
    int count;
    int64_t now;
    struct hasher *hasher;
    char expires[VALUE_MAX], not_before[VALUE_MAX], body_max[VALUE_MAX], digest[VALUE_MAX],
        once[VALUE_MAX];
};

static int usage(FILE *out, int code) {
    fputs("usage: burin sign --keys FILE --key ID [OPTION]... 'POST /resize?width=320'\n\n"
          "Prints the address, with a signature, at which anybody may send this one request. The\n"
          "path may follow http://host; it may be /preset/NAME.\n\n"
          "  --expires SECONDS        from now; default 300\n"
          "  --not-before SECONDS     from now\n"
          "  --body-max SIZE          of the body, such as 8MiB\n"
          "  --pixels-max N           of the image and the result\n"
          "  --in-types jpeg,png      types of the image\n"
          "  --free NAME:RANGE,...    form fields that the holder chooses: width:16..2000 or\n"
          "                           type:jpeg|webp; any other field is refused\n"
          "  --parts image,mask       files of the form; default image\n"
          "  --origin https://shop    the page that sends it\n"
          "  --client 203.0.113.0/24  where it comes from\n"
          "  --digest FILE            this image alone\n"
          "  --operators-dir DIR      that the daemon reads, if its operators are named\n"
          "  --once                   serves one request\n",
          out);
    return code;
}

static enum status add(struct signing *signing, const char *name, const char *value,
                       struct failure *failure) {
    if (signing->count == ARGUMENTS_MAX)
        return fail(failure, STATUS_BAD_PARAM, "there are too many arguments");
    signing->arguments[signing->count++] = (struct argument){ name, value };
    return STATUS_OK;
}

/* ---- options with a value of their own */

static enum status add_time(struct signing *signing, const char *name, const char *seconds,
                            char text[VALUE_MAX], struct failure *failure) {
    long from_now;
    if (!param_integer(seconds, &from_now) || from_now < 0 || from_now > EXPIRES_MAX)
        return fail(failure, STATUS_BAD_PARAM, "%s must be seconds from now, ten years at most",
                    name);
    snprintf(text, VALUE_MAX, "%lld", (long long)(signing->now + from_now));
    return add(signing, name, text, failure);
}

static enum status add_size(struct signing *signing, const char *size, struct failure *failure) {
    long bytes;
    if (!key_read_size(size, &bytes))
        return fail(failure, STATUS_BAD_PARAM, "body_max must be a size such as 8MiB");
    snprintf(signing->body_max, VALUE_MAX, "%ld", bytes);
    return add(signing, "body_max", signing->body_max, failure);
}

static enum status add_digest(struct signing *signing, const char *path, struct failure *failure) {
    uint8_t *bytes, digest[DIGEST_BYTES];
    size_t length;
    static const char hash[] = "sha-256:";
    enum status status = files_read(path, &bytes, &length, failure);
    if (!status && !(hasher_begin(signing->hasher) && hasher_add(signing->hasher, bytes, length) &&
                     hasher_end(signing->hasher, digest)))
        status = fail(failure, STATUS_NO_MEMORY, "there is no memory for the digest");
    free(bytes);
    if (status) return status;
    strcpy(signing->digest, hash);
    base64url_print(digest, sizeof digest, signing->digest + strlen(hash));
    return add(signing, "digest", signing->digest, failure);
}

static enum status add_once(struct signing *signing, struct failure *failure) {
    uint8_t bytes[ONCE_BYTES];
    if (!hasher_random(bytes, sizeof bytes))
        return fail(failure, STATUS_INTERNAL, "there are no random bytes");
    base64url_print(bytes, sizeof bytes, signing->once);
    return add(signing, "once", signing->once, failure);
}

static enum status take_option(struct signing *signing, const char *option, const char *value,
                               struct failure *failure) {
    for (size_t i = 0; i < sizeof as_given / sizeof *as_given; i++)
        if (strcmp(option, as_given[i].option) == 0)
            return add(signing, as_given[i].name, value, failure);
    if (strcmp(option, "--keys") == 0) return signing->file = value, STATUS_OK;
    if (strcmp(option, "--expires") == 0)
        return add_time(signing, "expires", value, signing->expires, failure);
    if (strcmp(option, "--not-before") == 0)
        return add_time(signing, "not_before", value, signing->not_before, failure);
    if (strcmp(option, "--body-max") == 0) return add_size(signing, value, failure);
    if (strcmp(option, "--operators-dir") == 0) return user_operators_load(value, failure);
    if (strcmp(option, "--digest") == 0) return add_digest(signing, value, failure);
    return fail(failure, STATUS_BAD_PARAM, "there is no option %s; see burin sign --help", option);
}

/* ---- the address */

/* One of the clients that the address is for. A list that is wrong is left to the judge. */
static struct client client_of(const struct asking *asking) {
    const char *list = query_find(asking->arguments, asking->count, "client");
    struct client client = { .address = in6addr_any };
    struct networks networks;
    if (!list || !networks_read(list, &networks) || !networks.count) return client;
    client.address = networks.all[0].address;
    if (networks.all[0].bits < 128) client.address.s6_addr[15] |= 1; /* all zeros: a unix socket */
    return client;
}

/* Judges the address with the signature that it ends with, as if it came at its time from its page
 * and client. */
static enum status check(const struct signing *signing, const struct key_table *table,
                         struct asking *asking, struct failure *failure) {
    struct grant grant = { .free = NULL };
    const char *not_before = query_find(asking->arguments, asking->count, "not_before");
    asking->origin = query_find(asking->arguments, asking->count, "origin");
    asking->now = not_before ? atoll(not_before) : signing->now;
    asking->client = client_of(asking);
    return judge(table, signing->hasher, asking, &grant, failure);
}

static bool is_part(const char *name) {
    return strcmp(name, "image") == 0 || registry_aux(name);
}

static bool is_type(const char *name) {
    return format_from_name(name) != FORMAT_NONE;
}

/* LIST: NULL, or names with commas between. */
static enum status check_names(const char *list, const char *option, bool (*is)(const char *),
                               struct failure *failure) {
    char name[VALUE_MAX], shown[PARAM_SHOWN_MAX];
    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(list, ","), list);
        if (!is(name))
            return fail(failure, STATUS_BAD_PARAM, "%s names \"%s\", which is none", option,
                        param_shown(name, shown));
    }
    return STATUS_OK;
}

/* The operator and its parameters. A form may complete them if the address leaves fields free. */
static enum status check_settings(const struct asking *asking, struct failure *failure) {
    const struct grant grant = { .is_signed = true };
    const struct preset *preset = asking->preset;
    const char *name = preset ? preset->op : route_name(asking->path);
    struct settings settings;
    struct imaginary imaginary;
    enum status status = imaginary_begin(&imaginary, &settings, registry_set(), name,
                                         route_is_imaginary(asking->path), failure);
    if (preset && !status) status = preset_apply(preset, &settings, failure);
    for (int i = 0; i < asking->count && !status; i++) {
        const struct argument *argument = &asking->arguments[i];
        if (grant_owns(&grant, argument->name)) continue;
        status = preset ? fail(failure, STATUS_BAD_PARAM, "a preset takes no %s", argument->name)
                        : settings_set(&settings, argument->name, argument->value, failure);
    }
    if (!status && !settings.info && !query_find(asking->arguments, asking->count, "free"))
        status = settings_complete(&settings, failure);
    settings_release(&settings);
    return status;
}

/* Whether the daemon would do what is asked for, apart from users' operators that it alone has. */
static enum status check_work(const struct key_table *table, const struct asking *asking,
                              struct failure *failure) {
    const struct route_match match =
        route_find(registry_set(), table, asking->method, asking->path, false, failure);
    const char *types = query_find(asking->arguments, asking->count, "in_types");
    const char *parts = query_find(asking->arguments, asking->count, "parts");
    if (!match.route) return failure->status;
    if (!asking->preset && route_preset_name(asking->path))
        return fail(failure, STATUS_BAD_PARAM, "there is no %.100s", asking->path);
    if (!match.route->begin)
        return fail(failure, STATUS_BAD_PARAM, "%.100s needs no signature", asking->path);
    if (check_names(types, "in_types", is_type, failure) ||
        check_names(parts, "parts", is_part, failure))
        return failure->status;
    return check_settings(asking, failure);
}

/* The part of an address before its path; it may be empty. */
struct base {
    const char *text;
    int length;
};

static enum status print_address(struct signing *signing, const struct key_table *table,
                                 struct base base, struct asking *asking, struct failure *failure) {
    char message[MESSAGE_MAX], query[MESSAGE_MAX], text[BASE64URL_LENGTH(DIGEST_BYTES) + 1];
    uint8_t mac[DIGEST_BYTES];
    const char *repeated = query_sort(asking->arguments, asking->count);
    const char *id = query_find(asking->arguments, asking->count, "key");
    const struct access_key *key = id ? key_table_find(table, id) : NULL;
    if (repeated) return fail(failure, STATUS_BAD_PARAM, "%s is given twice", repeated);
    if (!key || !key->has_secret || !key->signs)
        return fail(failure, STATUS_BAD_PARAM, "there is no key %s here that signs", id ? id : "");
    const size_t length =
        query_message(asking->method, asking->path, asking->arguments, asking->count, message);
    if (!length || !query_print(asking->arguments, asking->count, query, sizeof query))
        return fail(failure, STATUS_BAD_PARAM, "the address is too long");
    if (!hasher_sign(signing->hasher, key->secret, message, length, mac))
        return fail(failure, STATUS_NO_MEMORY, "there is no memory for the signature");
    base64url_print(mac, sizeof mac, text);
    if (asking->count == ARGUMENTS_MAX)
        return fail(failure, STATUS_BAD_PARAM, "there are too many arguments");
    asking->arguments[asking->count++] = (struct argument){ "signature", text };
    if (check(signing, table, asking, failure) || check_work(table, asking, failure))
        return failure->status;
    printf("%.*s%s?%s&signature=%s\n", base.length, base.text, asking->path, query, text);
    return STATUS_OK;
}

/* REQUEST: "POST http://host/preset/thumb?a=b", of which the host and the query may be left out. It
 * is cut up. */
static enum status sign(struct signing *signing, const struct key_table *table, char *request,
                        struct failure *failure) {
    struct argument given[ARGUMENTS_MAX];
    char what[VALUE_MAX], *query = request, *method = strsep(&query, " "),
                          *base = query ? query : "";
    char *scheme = strstr(base, "://"), *path = scheme ? strchr(scheme + 3, '/') : base;
    if (!path || *path != '/' || (strcmp(method, "POST") != 0 && strcmp(method, "PUT") != 0))
        return fail(failure, STATUS_BAD_PARAM,
                    "the request must be such as 'POST /resize?width=320'");
    strsep(&query, "?");
    const int count = query ? query_read(query, given) : 0;
    if (count < 0)
        return fail(failure, STATUS_BAD_PARAM, "the query is wrong: a %% needs two digits");
    for (int i = 0; i < count; i++)
        if (add(signing, given[i].name, given[i].value, failure)) return failure->status;
    const struct preset *preset = route_preset(table, path);
    snprintf(what, sizeof what, "%s%s", preset ? "preset:" : "", strrchr(path, '/') + 1);
    struct asking asking = { .method = method,
                             .path = path,
                             .what = what,
                             .preset = preset,
                             .arguments = signing->arguments,
                             .count = signing->count };
    return print_address(signing, table, (struct base){ base, (int)(path - base) }, &asking,
                         failure);
}

static enum status read_arguments(struct signing *signing, int argc, char **argv, char **request,
                                  struct failure *failure) {
    enum status status = STATUS_OK;
    for (int i = 1; i < argc && !status; i++) {
        if (strcmp(argv[i], "--once") == 0)
            status = add_once(signing, failure);
        else if (strncmp(argv[i], "--", 2) == 0 && i + 1 < argc)
            status = take_option(signing, argv[i], argv[i + 1], failure), i++;
        else if (!*request && argv[i][0] != '-')
            *request = argv[i];
        else
            status = fail(failure, STATUS_BAD_PARAM, "\"%.60s\" is not understood", argv[i]);
    }
    if (!status && !*signing->expires)
        status = add_time(signing, "expires", "300", signing->expires, failure);
    if (!status && (!*request || !signing->file))
        status = fail(failure, STATUS_BAD_PARAM, "a request and --keys are needed");
    return status;
}

int command_sign(int argc, char **argv) {
    struct signing signing = { .now = time(NULL), .hasher = hasher_open() };
    struct failure failure = { 0 };
    char *request = NULL;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return hasher_close(signing.hasher), usage(stdout, 0);
    if (argc < 2) return hasher_close(signing.hasher), usage(stderr, 2);
    if (!signing.hasher) fail(&failure, STATUS_NO_MEMORY, "there is no memory for a signature");
    const bool good = signing.hasher && !read_arguments(&signing, argc, argv, &request, &failure);
    struct key_table *table =
        good ? key_file_read(signing.file, registry_set(), NULL, &failure) : NULL;
    if (table) sign(&signing, table, request, &failure);
    key_table_release(table);
    hasher_close(signing.hasher);
    if (failure.status) fprintf(stderr, "burin sign: %s\n", failure.message);
    return failure.status ? 1 : 0;
}

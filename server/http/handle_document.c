// SPDX-License-Identifier: Apache-2.0
/* Documents with an ETag: the page's files, and the lists of operators and paths as JSON. A client
 * that has one asks whether it is still the same, so that it sees a change, such as a reload of
 * operators, at once, and nothing is sent otherwise.
 *
 * How it works. Accept-Encoding decides which form of a file is sent; each form has its own ETag,
 * and If-None-Match says whether the client has it. Header values that cannot be read allow nothing
 * and name nothing (RFC 9110, 8.8.3, 12.5.3 and 13.1.2). */
#include "server/http/reply.h"
#include "server/http/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the headers */

/* Whether the weight in PARAMETERS is zero: "q=0", "q=0.", "q=0.000". */
static bool forbids(const char *parameters, size_t length) {
    for (size_t i = 0; i + 2 < length; i++) {
        if (strncasecmp(parameters + i, "q=0", 3) != 0) continue;
        i += 3;
        if (i < length && parameters[i] == '.') i++;
        while (i < length && parameters[i] == '0') i++;
        return i == length || strchr(" \t;", parameters[i]);
    }
    return false;
}

/* The statements about gzip in the lines of Accept-Encoding so far; zeroed: none. */
struct codings {
    bool named, gzip, any;
};

static void add_codings(struct codings *codings, const char *line) {
    for (const char *at = line; *(at += strspn(at, " \t,"));) {
        const size_t length = strcspn(at, ","), name = strcspn(at, " \t;,");
        const bool allowed = !forbids(at + name, length - name);
        if ((name == 4 && strncasecmp(at, "gzip", 4) == 0) ||
            (name == 6 && strncasecmp(at, "x-gzip", 6) == 0)) {
            codings->named = true;
            codings->gzip = allowed;
        }
        if (name == 1 && *at == '*') codings->any = allowed;
        at += length;
    }
}

static bool allows_gzip(const struct codings *codings) {
    return codings->named ? codings->gzip : codings->any;
}

/* Whether a line of If-None-Match names ETAG, which has its quotes. The comparison is weak: a W/
 * before a name changes nothing. */
static bool names_etag(const char *line, const char *etag) {
    const size_t etag_length = strlen(etag);
    for (const char *at = line; *(at += strspn(at, " \t,"));) {
        if (*at == '*') return true;
        if (strncmp(at, "W/", 2) == 0) at += 2;
        if (*at != '"') return false;
        const char *end = strchr(at + 1, '"');
        if (!end) return false;
        end++;
        if ((size_t)(end - at) == etag_length && memcmp(at, etag, etag_length) == 0) return true;
        at = end;
    }
    return false;
}

static bool takes_gzip(const struct exchange *exchange) {
    struct codings codings = { 0 };
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT_ENCODING, &lines);
    for (int i = 0; i < lines.count; i++) add_codings(&codings, lines.values[i]);
    return allows_gzip(&codings);
}

static bool is_known(const struct exchange *exchange, const char *etag) {
    struct header_lines lines;
    bool known = false;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_IF_NONE_MATCH, &lines);
    for (int i = 0; i < lines.count; i++) known |= names_etag(lines.values[i], etag);
    return known;
}

static void add(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

/* KNOWN: the client has it; a 304 has the length, too. */
static struct reply tagged_reply(const void *bytes, size_t length, enum MHD_ResponseMemoryMode mode,
                                 const char *media_type, const char *etag, bool known) {
    struct reply reply = { .http_status = known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK,
                           .bytes = known ? 0 : length };
    reply.response = MHD_create_response_from_buffer(length, (void *)bytes, mode);
    if (!reply.response) return reply;
    add(reply.response, MHD_HTTP_HEADER_ETAG, etag);
    if (!known) add(reply.response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
    return reply;
}

/* ---- lists */

/* A copy, so that a slow reader does not hold the generation. */
static struct reply document_reply(const struct exchange *exchange,
                                   const struct generation_document *document) {
    struct reply reply =
        tagged_reply(document->text, document->length, MHD_RESPMEM_MUST_COPY, "application/json",
                     document->etag, is_known(exchange, document->etag));
    if (reply.response) add(reply.response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    return reply;
}

enum status handle_ops(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)failure;
    struct generation *generation = exchange->request.generation;
    pthread_mutex_lock(&generation->list_lock);
    *reply = document_reply(exchange, &generation->list);
    pthread_mutex_unlock(&generation->list_lock);
    return STATUS_OK;
}

enum status handle_openapi(struct exchange *exchange, struct reply *reply,
                           struct failure *failure) {
    (void)failure;
    *reply = document_reply(exchange, &exchange->request.generation->openapi);
    return STATUS_OK;
}

/* ---- the page */

/* A file of server/web/ as it is built into the program: plain and compressed. */
struct page_file {
    const char *name; /* in server/web/ */
    const char *media_type;
    const unsigned char *bytes, *gzip_bytes;
    size_t length, gzip_length;
    const char *etag, *gzip_etag; /* with their quotes; they change with the content */
};

/* Made by server/web_files.sh: the bytes, `page_version`, a digest of all files in hexadecimal, and
 * `static const struct page_file page_files[]`. */
#include "web_files.inc"

enum { VERSION_LENGTH = sizeof page_version - 1 };

/* The version in PATH, /web/VERSION/NAME; NULL: it has none. */
static const char *version_in(const char *path) {
    if (strncmp(path, "/web/", strlen("/web/")) != 0) return NULL;
    const char *version = path + strlen("/web/");
    if (strspn(version, "0123456789abcdef") != VERSION_LENGTH) return NULL;
    return version[VERSION_LENGTH] == '/' ? version : NULL;
}

/* The file for PATH: / is the page, /web/NAME and /web/VERSION/NAME its parts. A page of another
 * daemon may name a version that is not this one's. NULL: there is none. */
static const struct page_file *find_file(const char *path) {
    const char *name = strcmp(path, "/") == 0 ? "index.html" : NULL;
    if (!name && strncmp(path, "/web/", strlen("/web/")) == 0) name = path + strlen("/web/");
    if (version_in(path)) name = version_in(path) + VERSION_LENGTH + 1;
    for (size_t i = 0; name && i < sizeof page_files / sizeof *page_files; i++)
        if (strcmp(name, page_files[i].name) == 0) return &page_files[i];
    return NULL;
}

bool page_has(const char *path) {
    return find_file(path);
}

/* The page may load only from this daemon, and run nothing inline. */
static const char content_security_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

enum status handle_page(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)failure;
    const struct page_file *file = find_file(exchange->path);
    const bool gzip = takes_gzip(exchange), is_page = strcmp(exchange->path, "/") == 0;
    const char *version = version_in(exchange->path), *etag = gzip ? file->gzip_etag : file->etag;
    const bool is_own = version && memcmp(version, page_version, VERSION_LENGTH) == 0;
    const bool known = is_known(exchange, etag);
    /* The content at this address never changes. */
    const bool lasting = is_own && strcmp(file->name, "index.html") != 0;
    *reply =
        tagged_reply(gzip ? file->gzip_bytes : file->bytes, gzip ? file->gzip_length : file->length,
                     MHD_RESPMEM_PERSISTENT, file->media_type, etag, known);
    if (!reply->response) return STATUS_OK;
    add(reply->response, MHD_HTTP_HEADER_CACHE_CONTROL,
        lasting ? "public, max-age=31536000, immutable" : "no-cache");
    add(reply->response, "Content-Security-Policy", content_security_policy);
    add(reply->response, "Cross-Origin-Opener-Policy", "same-origin");
    add(reply->response, "Referrer-Policy", "no-referrer");
    add(reply->response, MHD_HTTP_HEADER_VARY,
        is_page ? "Accept, Accept-Encoding" : "Accept-Encoding");
    if (gzip && !known) add(reply->response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    return STATUS_OK;
}

/* A browser names HTML in Accept; programs accept anything, or JSON. */
bool page_is_wanted(const struct exchange *exchange) {
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT, &lines);
    for (int i = 0; i < lines.count; i++)
        if (strstr(lines.values[i], "text/html")) return true;
    return false;
}

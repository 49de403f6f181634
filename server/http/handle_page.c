// SPDX-License-Identifier: Apache-2.0
/* The page and its files. A browser that has one asks whether it is still the same; what a newer
 * program has is seen at once, therefore, and costs nothing where nothing has changed. */
#include "server/http/reply.h"
#include "server/http/representation.h"
#include "server/http/route.h"

#include <string.h>

/* A file of server/web/, as the program carries it: plain and compressed. */
struct page_file {
    const char *name; /* in server/web/ */
    const char *media_type;
    const unsigned char *bytes, *gzip_bytes;
    size_t length, gzip_length;
    const char *etag, *gzip_etag; /* with their quotes; other content has others */
};

/* Made by server/web_files.sh: the bytes, and `static const struct page_file page_files[]`. */
#include "web_files.inc"

/* The file that answers PATH: / is the page, /web/NAME are its parts. NULL: there is none. */
static const struct page_file *find_file(const char *path) {
    static const char folder[] = "/web/";
    const char *name = strcmp(path, "/") == 0 ? "index.html" : NULL;
    if (!name && strncmp(path, folder, strlen(folder)) == 0) name = path + strlen(folder);
    for (size_t i = 0; name && i < sizeof page_files / sizeof *page_files; i++)
        if (strcmp(name, page_files[i].name) == 0) return &page_files[i];
    return NULL;
}

bool page_has(const char *path) {
    return find_file(path);
}

/* Nothing but this daemon, and nothing that stands in the text itself. */
static const char content_security_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void add(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

static bool takes_gzip(const struct exchange *exchange) {
    struct representation_codings codings = { 0 };
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT_ENCODING, &lines);
    for (int i = 0; i < lines.count; i++) representation_add_codings(&codings, lines.values[i]);
    return representation_takes_gzip(&codings);
}

static struct reply file_reply(const struct page_file *file, bool gzip, bool known) {
    const size_t length = gzip ? file->gzip_length : file->length;
    struct reply reply = { .http_status = known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK,
                           .bytes = known ? 0 : length };
    reply.response =
        MHD_create_response_from_buffer(/* a 304 tells the length, too */
                                        length, (void *)(gzip ? file->gzip_bytes : file->bytes),
                                        MHD_RESPMEM_PERSISTENT);
    if (!reply.response) return reply;
    add(reply.response, MHD_HTTP_HEADER_ETAG, gzip ? file->gzip_etag : file->etag);
    add(reply.response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    add(reply.response, "Content-Security-Policy", content_security_policy);
    add(reply.response, "Cross-Origin-Opener-Policy", "same-origin");
    add(reply.response, "Referrer-Policy", "no-referrer");
    if (known) return reply;
    add(reply.response, MHD_HTTP_HEADER_CONTENT_TYPE, file->media_type);
    if (gzip) add(reply.response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    return reply;
}

enum status handle_page(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    (void)failure;
    const struct page_file *file = find_file(exchange->path);
    const bool gzip = takes_gzip(exchange);
    *reply =
        file_reply(file, gzip, exchange_is_known(exchange, gzip ? file->gzip_etag : file->etag));
    const bool is_page = strcmp(exchange->path, "/") == 0;
    if (reply->response)
        add(reply->response, MHD_HTTP_HEADER_VARY,
            is_page ? "Accept, Accept-Encoding" : "Accept-Encoding");
    return STATUS_OK;
}

/* Programs ask for anything, or for JSON; what names HTML is a browser. */
bool page_is_wanted(const struct exchange *exchange) {
    struct header_lines lines;
    connection_header_lines(exchange->library, MHD_HTTP_HEADER_ACCEPT, &lines);
    for (int i = 0; i < lines.count; i++)
        if (strstr(lines.values[i], "text/html")) return true;
    return false;
}

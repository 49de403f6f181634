// SPDX-License-Identifier: Apache-2.0
/* Any header block through the check: what it accepts must be as request_check.h promises, judged
 * here by other means. Input: method, target and version, then name and value in turn, a line each.
 * */
#include "server/http/engine/request_check.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(const struct request_head *request, const char *name) {
    int found = 0;
    for (int i = 0; i < request->header_count; i++)
        found += request->headers[i].name_length == strlen(name) &&
                 strncasecmp(request->headers[i].name, name, strlen(name)) == 0;
    return found;
}

static void must(bool truth) {
    if (!truth) abort();
}

static void judge(const struct request_head *request, const struct request_facts *facts) {
    must(request->target.bytes[0] == '/');
    for (const char *bad = " \t\r\n#"; *bad; bad++)
        must(!memchr(request->target.bytes, *bad, request->target.length));
    must(!memchr(request->target.bytes, '\0', request->target.length));
    must(request->version.length == 8);
    must(facts->http_1_1 == (memcmp(request->version.bytes, "HTTP/1.1", 8) == 0));
    must(count(request, "host") == 1 || (!facts->http_1_1 && count(request, "host") == 0));
    must(count(request, "content-length") == facts->has_length);
    must(count(request, "transfer-encoding") == facts->chunked);
    must(!(facts->chunked && (facts->has_length || !facts->http_1_1)));
    must(facts->length >= 0 && (facts->has_length || facts->length == 0));
    for (int i = 0; i < request->header_count; i++) {
        const struct header_field *header = &request->headers[i];
        must(header->name_length > 0 && !memchr(header->name, ' ', header->name_length));
        must(!memchr(header->value, '\r', header->value_length));
        must(!memchr(header->value, 0, header->value_length));
    }
}

/* Cuts a line off the input; no terminator follows it, so an over-read is seen. */
static char *take(const uint8_t **data, size_t *size, size_t *length) {
    const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
    *length = end ? (size_t)(end - *data) : *size;
    char *line = malloc(*length ? *length : 1);
    if (*length) memcpy(line, *data, *length);
    size_t used = *length + (end != NULL);
    *data += used;
    *size -= used;
    return line;
}

static struct text_slice take_text(const uint8_t **data, size_t *size) {
    struct text_slice text;
    text.bytes = take(data, size, &text.length);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct request_head request = { 0 };
    struct request_facts facts;
    struct failure failure;
    request.method = take_text(&data, &size);
    request.target = take_text(&data, &size);
    request.version = take_text(&data, &size);
    while (size && request.header_count < HEADERS_MAX) {
        struct header_field *header = &request.headers[request.header_count++];
        header->name = take(&data, &size, &header->name_length);
        header->value = take(&data, &size, &header->value_length);
    }
    request.too_many = size > 0;
    if (request_check_head(&request, &facts, &failure) == STATUS_OK) judge(&request, &facts);
    for (int i = 0; i < request.header_count; i++) {
        free((char *)request.headers[i].name);
        free((char *)request.headers[i].value);
    }
    free((char *)request.method.bytes);
    free((char *)request.target.bytes);
    free((char *)request.version.bytes);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* load_request.h - a request as it is sent again and again: its head and a file, as bytes and as a
 * memfd for sendfile.
 *
 * Used by:  load.c, overload.c.
 * Fails:    by a message, and the end of the program.
 */
#ifndef BURIN_LOAD_REQUEST_H
#define BURIN_LOAD_REQUEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct request {
    int file;    /* memfd */
    char *bytes; /* its mapping */
    size_t length;
};

/* Other threads still run: exit() would release what they use. */
static void die(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "not understood; see --help");
    fflush(stdout);
    _exit(1);
}

static char *request_read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*length + 1);
    if (!bytes || fread(bytes, 1, *length, file) != *length) die(path);
    fclose(file);
    return bytes;
}

/* In pages that lie together, where the system has such: sendfile then sends more at once. */
static void request_keep(struct request *request, const char *text) {
    enum { HUGE = 2 << 20 };
    const size_t room = (request->length + HUGE - 1) / HUGE * HUGE;
    request->file = memfd_create("request", MFD_CLOEXEC);
    if (request->file < 0 || ftruncate(request->file, (off_t)room) < 0) die("memory for a request");
    request->bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, request->file, 0);
    if (request->bytes == MAP_FAILED) die("memory for a request");
    madvise(request->bytes, room, MADV_HUGEPAGE);
    memcpy(request->bytes, text, request->length);
}

/* A POST of the file PATH to TARGET; ACCEPT and ORIGIN may be NULL; RAW: the file is the body, else
 * it is the part of a form. */
static struct request request_make(const char *target, const char *accept, const char *origin,
                                   bool raw, const char *path) {
    size_t length;
    char *file = request_read_file(path, &length), *text = NULL;
    struct request request = { 0 };
    FILE *out = open_memstream(&text, &request.length);
    static const char head[] = "--b7\r\nContent-Disposition: form-data; name=\"image\"; "
                               "filename=\"f\"\r\nContent-Type: image/jpeg\r\n\r\n";
    static const char tail[] = "\r\n--b7--\r\n";
    const size_t body = length + (raw ? 0 : sizeof head + sizeof tail - 2);
    fprintf(out, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n", target, body);
    if (accept) fprintf(out, "Accept: %s\r\n", accept);
    if (origin) fprintf(out, "Origin: %s\r\n", origin);
    fprintf(out, "Content-Type: %s\r\n\r\n",
            raw ? "application/octet-stream" : "multipart/form-data; boundary=b7");
    if (!raw) fputs(head, out);
    fwrite(file, 1, length, out);
    if (!raw) fputs(tail, out);
    fclose(out);
    free(file);
    request_keep(&request, text);
    free(text);
    return request;
}

#endif

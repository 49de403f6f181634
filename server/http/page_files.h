// SPDX-License-Identifier: Apache-2.0
/* page_files.h - the files of server/web/, as the program carries them: plain and compressed.
 *
 * Used by:  route.c and handle_page.c.
 * Owns:     nothing that anyone must free: the bytes are the program's.
 * Fails:    page_file_find returns NULL for a name that is no file's.
 * Threads:  any; no state.
 */
#ifndef BURIN_PAGE_FILES_H
#define BURIN_PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const char *name; /* in server/web/ */
    const char *media_type;
    const unsigned char *bytes, *gzip_bytes;
    size_t length, gzip_length;
    const char *etag, *gzip_etag; /* with their quotes; other content has others */
};

/* The file that answers PATH: / is the page, /web/NAME are its parts. */
const struct page_file *page_file_find(const char *path);

#endif

// SPDX-License-Identifier: Apache-2.0
/* base64url.h - bytes as text that needs no escape in a URL: base 64 with - and _, not padded.
 *
 * Used by:  everything in access/ that reads or prints secrets, digests and signatures.
 * Fails:    base64url_read: false.
 * Threads:  any; no state.
 * Source:   RFC 4648, section 5.
 */
#ifndef BURIN_BASE64URL_H
#define BURIN_BASE64URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The characters of LENGTH bytes. */
#define BASE64URL_LENGTH(length) (((length)*4 + 2) / 3)

/* Writes BASE64URL_LENGTH(LENGTH) characters and a zero byte. */
void base64url_print(const uint8_t *bytes, size_t length, char *text);

/* Reads all of TEXT as LENGTH bytes. Bits of the last character that belong to no byte must be 0:
 * only one text stands for the same bytes. */
bool base64url_read(const char *text, uint8_t *bytes, size_t length);

#endif

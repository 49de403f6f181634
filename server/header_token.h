// SPDX-License-Identifier: Apache-2.0
/* header_token.h - recognises tokens, such as a header's name or a method, and control characters.
 *
 * Used by:  http/engine (heads and framing), request/multipart_parser.c, request/upload.c (names).
 * Threads:  any; no state.
 * Source:   RFC 9110, section 5.6.2.
 */
#ifndef BURIN_HEADER_TOKEN_H
#define BURIN_HEADER_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool token_has(unsigned char c) {
    /* Bit c of the pair is set if byte c may stand in a token. */
    static const uint64_t bits[2] = { 0x03ff6cfa00000000, 0x57ffffffc7fffffe };
    return c < 128 && (bits[c >> 6] >> (c & 63) & 1);
}

/* Whether the LENGTH bytes at TEXT are a token; a token has at least one. */
static inline bool token_is(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!token_has((unsigned char)text[i])) return false;
    return length > 0;
}

/* Whether C is a control character other than a tab. Bytes from 128 up are not: old clients send
 * file names with them. */
static inline bool token_is_control(unsigned char c) {
    return (c < 32 && c != '\t') || c == 127;
}

static inline bool token_has_control(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (token_is_control((unsigned char)text[i])) return true;
    return false;
}

#endif

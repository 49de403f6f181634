// SPDX-License-Identifier: Apache-2.0
/* hasher.h - SHA-256, HMAC-SHA-256 and comparison in constant time, by OpenSSL's libcrypto, of
 * which nothing else is used but random bytes.
 *
 * A hasher keeps the library's contexts from one use to the next: making them takes longer than a
 * short text's digest.
 *
 * Used by:  everything in access/; http/front.c, which has one for each I/O thread;
 *           request/upload.c, for the digest of a body.
 * Owns:     the contexts, from hasher_open to hasher_close.
 * Fails:    NULL or false without memory: then nothing may be let in.
 * Threads:  a hasher: one at a time. hasher_is_same, hasher_random: any.
 * Source:   RFC 2104, FIPS 180-4.
 */
#ifndef BURIN_HASHER_H
#define BURIN_HASHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = 32, SECRET_BYTES = 32 };

struct hasher;

struct hasher *hasher_open(void);
void hasher_close(struct hasher *hasher); /* accepts NULL */

/* The SHA-256 of bytes that come in pieces: begin, add any number of times, end. */
bool hasher_begin(struct hasher *hasher);
bool hasher_add(struct hasher *hasher, const void *bytes, size_t length);
bool hasher_end(struct hasher *hasher, uint8_t digest[DIGEST_BYTES]);

/* The HMAC-SHA-256 of BYTES. */
bool hasher_sign(struct hasher *hasher, const uint8_t secret[SECRET_BYTES], const void *bytes,
                 size_t length, uint8_t mac[DIGEST_BYTES]);

/* Takes the same time wherever A and B differ. */
bool hasher_is_same(const void *a, const void *b, size_t length);

bool hasher_random(uint8_t *bytes, size_t length);

#endif

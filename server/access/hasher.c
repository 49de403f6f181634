// SPDX-License-Identifier: Apache-2.0
#include "server/access/hasher.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>

struct hasher {
    EVP_MD *sha256;
    EVP_MD_CTX *digest;
    EVP_MAC_CTX *mac;
};

static EVP_MAC_CTX *open_mac(void) {
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest,
                                                                   0),
                                  OSSL_PARAM_construct_end() };
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *mac = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    EVP_MAC_free(hmac); /* the context holds it */
    if (mac && EVP_MAC_CTX_set_params(mac, params)) return mac;
    EVP_MAC_CTX_free(mac);
    return NULL;
}

struct hasher *hasher_open(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL); /* the machine's settings are for TLS */
    struct hasher *hasher = calloc(1, sizeof *hasher);
    if (!hasher) return NULL;
    hasher->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    hasher->digest = EVP_MD_CTX_new();
    hasher->mac = open_mac();
    if (hasher->sha256 && hasher->digest && hasher->mac) return hasher;
    hasher_close(hasher);
    return NULL;
}

void hasher_close(struct hasher *hasher) {
    if (!hasher) return;
    EVP_MD_CTX_free(hasher->digest);
    EVP_MD_free(hasher->sha256);
    EVP_MAC_CTX_free(hasher->mac);
    free(hasher);
}

bool hasher_begin(struct hasher *hasher) {
    return EVP_DigestInit_ex2(hasher->digest, hasher->sha256, NULL) == 1;
}

bool hasher_add(struct hasher *hasher, const void *bytes, size_t length) {
    return EVP_DigestUpdate(hasher->digest, bytes, length) == 1;
}

bool hasher_end(struct hasher *hasher, uint8_t digest[DIGEST_BYTES]) {
    return EVP_DigestFinal_ex(hasher->digest, digest, NULL) == 1;
}

bool hasher_sign(struct hasher *hasher, const uint8_t secret[SECRET_BYTES], const void *bytes,
                 size_t length, uint8_t mac[DIGEST_BYTES]) {
    size_t written = 0;
    return EVP_MAC_init(hasher->mac, secret, SECRET_BYTES, NULL) == 1 &&
           EVP_MAC_update(hasher->mac, bytes, length) == 1 &&
           EVP_MAC_final(hasher->mac, mac, &written, DIGEST_BYTES) == 1 && written == DIGEST_BYTES;
}

bool hasher_is_same(const void *a, const void *b, size_t length) {
    return CRYPTO_memcmp(a, b, length) == 0;
}

bool hasher_random(uint8_t *bytes, size_t length) {
    return RAND_bytes(bytes, (int)length) == 1;
}

// SPDX-License-Identifier: Apache-2.0
#include "server/access/base64url.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_print(const uint8_t *bytes, size_t length, char *text) {
    uint32_t bits = 0;
    int count = 0;
    for (size_t i = 0; i < length; i++) {
        bits = bits << 8 | bytes[i];
        for (count += 8; count >= 6; count -= 6) *text++ = digits[bits >> (count - 6) & 63];
    }
    if (count) *text++ = digits[bits << (6 - count) & 63];
    *text = '\0';
}

bool base64url_read(const char *text, uint8_t *bytes, size_t length) {
    uint32_t bits = 0;
    int count = 0;
    if (strlen(text) != BASE64URL_LENGTH(length)) return false;
    for (; *text; text++) {
        const char *digit = strchr(digits, *text);
        if (!digit) return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        *bytes++ = (uint8_t)(bits >> count);
    }
    return (bits & ((UINT32_C(1) << count) - 1)) == 0;
}

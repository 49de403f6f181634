// SPDX-License-Identifier: Apache-2.0
/* Digests and signatures: examples of the standards. */
#include "server/access/hasher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *hex(const uint8_t digest[DIGEST_BYTES]) {
    static char text[2 * DIGEST_BYTES + 1];
    for (int i = 0; i < DIGEST_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

/* FIPS 180-4's examples, whole and in pieces; the hasher is used again and again. */
static void digests(void **state) {
    struct hasher *hasher = *state;
    uint8_t digest[DIGEST_BYTES];
    for (int times = 0; times < 2; times++) {
        assert_true(hasher_begin(hasher) && hasher_add(hasher, "abc", 3));
        assert_true(hasher_end(hasher, digest));
        assert_string_equal(hex(digest),
                            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_true(hasher_begin(hasher) && hasher_add(hasher, "abcdbcdecdefdefgefgh", 20));
        assert_true(hasher_add(hasher, "fghighijhijkijkljklmklmnlmnomnopnopq", 36));
        assert_true(hasher_end(hasher, digest));
        assert_string_equal(hex(digest),
                            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        assert_true(hasher_begin(hasher) && hasher_end(hasher, digest));
        assert_string_equal(hex(digest),
                            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}

/* RFC 4231, cases 1, 2 and 4. A key that is shorter than a block counts as if zeros followed. */
static void signatures(void **state) {
    struct hasher *hasher = *state;
    uint8_t secret[SECRET_BYTES] = { 0 }, mac[DIGEST_BYTES];
    memset(secret, 0x0b, 20);
    assert_true(hasher_sign(hasher, secret, "Hi There", 8, mac));
    assert_string_equal(hex(mac),
                        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    memset(secret, 0, sizeof secret);
    memcpy(secret, "Jefe", 4);
    assert_true(hasher_sign(hasher, secret, "what do ya want for nothing?", 28, mac));
    assert_string_equal(hex(mac),
                        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    uint8_t text[50];
    memset(secret, 0, sizeof secret);
    for (int i = 0; i < 25; i++) secret[i] = (uint8_t)(i + 1);
    memset(text, 0xcd, sizeof text);
    assert_true(hasher_sign(hasher, secret, text, sizeof text, mac));
    assert_string_equal(hex(mac),
                        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}

static void comparisons(void **state) {
    (void)state;
    uint8_t a[DIGEST_BYTES] = { 0 }, b[DIGEST_BYTES] = { 0 };
    assert_true(hasher_is_same(a, b, sizeof a));
    for (int bit = 0; bit < 8 * DIGEST_BYTES; bit++) {
        b[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(hasher_is_same(a, b, sizeof a));
        b[bit / 8] = 0;
    }
    assert_true(hasher_random(a, sizeof a) && hasher_random(b, sizeof b));
    assert_false(hasher_is_same(a, b, sizeof a));
}

static int open_one(void **state) {
    *state = hasher_open();
    return *state ? 0 : 1;
}

static int close_one(void **state) {
    hasher_close(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(digests), cmocka_unit_test(signatures),
                                        cmocka_unit_test(comparisons) };
    return cmocka_run_group_tests_name("hasher", tests, open_one, close_one);
}

// SPDX-License-Identifier: Apache-2.0
/* Clients: which ones count as one, how they are compared and printed. */
#include "server/client.h"

#include "config/networks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void units(void **state) {
    (void)state;
    static const struct {
        const char *address, *unit;
    } cases[] = {
        { "192.0.2.1", "192.0.2.1" },
        { "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::" },
        { "2001:db8:1:2::", "2001:db8:1:2::" },
        { "::", "unix" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct client client;
        char text[CLIENT_TEXT_MAX];
        assert_true(networks_read_address(cases[i].address, &client.address));
        const struct client unit = client_unit(&client);
        client_print(&unit, text);
        assert_string_equal(text, cases[i].unit);
    }
}

static void same_and_hash(void **state) {
    (void)state;
    static const uint64_t seeds[2][2] = { { 1, 2 }, { 3, 4 } };
    struct client a = { IN6ADDR_LOOPBACK_INIT }, b = a, unknown = { IN6ADDR_ANY_INIT };
    assert_true(client_is_same(&a, &b));
    assert_true(client_hash(&a, seeds[0]) == client_hash(&b, seeds[0]));
    assert_true(client_hash(&a, seeds[0]) != client_hash(&a, seeds[1]));
    for (int bit = 0; bit < 128; bit++) {
        b = a;
        b.address.s6_addr[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(client_is_same(&a, &b));
        assert_true(client_hash(&a, seeds[0]) != client_hash(&b, seeds[0]));
    }
    assert_true(client_is_unknown(&unknown));
    assert_false(client_is_unknown(&a));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(units), cmocka_unit_test(same_and_hash) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

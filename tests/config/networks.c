// SPDX-License-Identifier: Apache-2.0
/* Which lists of networks are right, and which addresses they have. */
#include "config/networks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void lists(void **state) {
    (void)state;
    static const char *const right[] = {
        "",
        "unix",
        "127.0.0.1",
        "10.0.0.0/8",
        "0.0.0.0/0",
        "10.1.2.3/32",
        "::1",
        "::/0",
        "2001:db8::/32",
        "2001:db8::1/128",
        "fe80::/10",
        "::ffff:10.0.0.0/104",
        "10.0.0.0/8,unix,2001:db8:0:4000::/50,192.168.1.0/24",
    };
    struct networks networks;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (!networks_read(right[i], &networks)) fail_msg("\"%s\" is no list", right[i]);
}

static void no_lists(void **state) {
    (void)state;
    static const char *const wrong[] = {
        ",",
        "unix,",
        ",unix",
        "10.0.0.0/8,,::1",
        "UNIX",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/+8",
        "10.0.0.0/08",
        "10.0.0.0/8 ",
        " 10.0.0.0/8",
        "10.0.0.1/8",
        "128.0.0.0/0",
        "10.0.0.0/8/8",
        "10.0.0",
        "10.0.0.256",
        "010.0.0.1",
        "a.example",
        "*",
        "::1/129",
        "2001:db8::1/64",
        "[::1]",
        "fe80::1%lo",
        "127.0.0.1:80",
        "unix:/run/a",
        "10.0.0.0/1000",
        "2001:db8:0000:0000:0000:0000:0000:0000:0000/128",
    };
    struct networks networks;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (networks_read(wrong[i], &networks)) fail_msg("\"%s\" is a list", wrong[i]);
}

static void most(void **state) {
    (void)state;
    char text[NETWORKS_MAX * 8 + 16] = "";
    struct networks networks;
    for (int i = 0; i < NETWORKS_MAX; i++) strcat(text, i ? ",1.2.3.4" : "1.2.3.4");
    assert_true(networks_read(text, &networks));
    assert_int_equal(networks.count, NETWORKS_MAX);
    strcat(text, ",unix");
    assert_true(networks_read(text, &networks));
    strcat(text, ",::1");
    assert_false(networks_read(text, &networks));
}

static bool have(const char *list, const char *text) {
    struct networks networks;
    struct in6_addr address;
    assert_true(networks_read(list, &networks));
    assert_true(networks_read_address(text, &address));
    return networks_have(&networks, &address);
}

static void addresses(void **state) {
    (void)state;
    static const struct {
        const char *list, *address;
        bool in;
    } cases[] = {
        { "", "127.0.0.1", false },
        { "unix", "::", false },
        { "127.0.0.1", "127.0.0.1", true },
        { "127.0.0.1", "127.0.0.2", false },
        { "127.0.0.1", "::ffff:127.0.0.1", true },
        { "10.0.0.0/8", "10.255.255.255", true },
        { "10.0.0.0/8", "11.0.0.0", false },
        { "10.0.0.0/8", "9.255.255.255", false },
        { "172.16.0.0/12", "172.31.255.255", true },
        { "172.16.0.0/12", "172.32.0.0", false },
        { "0.0.0.0/0", "255.1.2.3", true },
        { "0.0.0.0/0", "2001:db8::1", false },
        { "::/0", "2001:db8::1", true },
        { "::/0", "1.2.3.4", true },
        { "2001:db8:0:4000::/50", "2001:db8:0:7fff:ffff::", true },
        { "2001:db8:0:4000::/50", "2001:db8:0:8000::", false },
        { "10.0.0.0/8,::1", "::1", true },
        { "10.0.0.0/8,::1", "::2", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (have(cases[i].list, cases[i].address) != cases[i].in)
            fail_msg("%s in \"%s\"?", cases[i].address, cases[i].list);
}

static void no_addresses(void **state) {
    (void)state;
    static const char *const wrong[] = { "",    "unknown",  "1.2.3",     "1.2.3.4:80", "[::1]",
                                         "_id", "1.2.3.4 ", "fe80::1%1", "0x7f.1",     "1" };
    struct in6_addr address;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (networks_read_address(wrong[i], &address)) fail_msg("\"%s\" is one", wrong[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),     cmocka_unit_test(no_lists),     cmocka_unit_test(most),
        cmocka_unit_test(addresses), cmocka_unit_test(no_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

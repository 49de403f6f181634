// SPDX-License-Identifier: Apache-2.0
/* The client of a request: from the connection's address and the headers that proxies add. */
#include "server/http/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LINES = 3 };

/* "unix", an address, or "" for an unknown peer. */
static const struct sockaddr *peer_of(const char *text, struct sockaddr_storage *memory) {
    struct in6_addr address;
    memset(memory, 0, sizeof *memory);
    if (!*text) return NULL;
    if (strcmp(text, "unix") == 0) {
        memory->ss_family = AF_UNIX;
    } else if (strchr(text, ':')) {
        assert_true(networks_read_address(text, &address));
        memory->ss_family = AF_INET6;
        ((struct sockaddr_in6 *)(void *)memory)->sin6_addr = address;
    } else {
        assert_true(networks_read_address(text, &address));
        memory->ss_family = AF_INET;
        memcpy(&((struct sockaddr_in *)(void *)memory)->sin_addr, address.s6_addr + 12, 4);
    }
    return (const struct sockaddr *)(const void *)memory;
}

static void found(void **state) {
    (void)state;
    static const struct {
        const char *trusted, *peer, *lines[LINES], *client;
    } cases[] = {
        /* no trusted proxy: headers are ignored */
        { "", "192.0.2.1", { "198.51.100.7" }, "192.0.2.1" },
        { "10.0.0.0/8", "192.0.2.1", { "198.51.100.7" }, "192.0.2.1" },
        { "", "2001:db8::1", { NULL }, "2001:db8::1" },
        { "", "::ffff:192.0.2.1", { NULL }, "192.0.2.1" },
        { "", "unix", { "198.51.100.7" }, "unix" },
        { "", "", { "198.51.100.7" }, "unix" },
        /* a proxy without such a header */
        { "10.0.0.0/8", "10.1.2.3", { NULL }, "10.1.2.3" },
        { "10.0.0.0/8", "10.1.2.3", { "" }, "10.1.2.3" },
        /* one proxy: the client may have written what stands before the proxy's entry */
        { "10.0.0.0/8", "10.1.2.3", { "198.51.100.7" }, "198.51.100.7" },
        { "10.0.0.0/8", "10.1.2.3", { "1.1.1.1, 198.51.100.7" }, "198.51.100.7" },
        { "10.0.0.0/8", "::ffff:10.1.2.3", { "1.1.1.1,198.51.100.7" }, "198.51.100.7" },
        { "10.0.0.0/8", "10.1.2.3", { "198.51.100.7:4711" }, "198.51.100.7" },
        { "10.0.0.0/8", "10.1.2.3", { "2001:db8::7" }, "2001:db8::7" },
        { "10.0.0.0/8", "10.1.2.3", { "[2001:db8::7]" }, "2001:db8::7" },
        { "10.0.0.0/8", "10.1.2.3", { "[2001:db8::7]:80" }, "2001:db8::7" },
        { "unix", "unix", { "198.51.100.7" }, "198.51.100.7" },
        { "::1", "::1", { " \t198.51.100.7 \t" }, "198.51.100.7" },
        /* several proxies and header lines: one list */
        { "10.0.0.0/8", "10.1.2.3", { "198.51.100.7, 10.9.9.9" }, "198.51.100.7" },
        { "10.0.0.0/8", "10.1.2.3", { "1.1.1.1", "198.51.100.7", "10.9.9.9" }, "198.51.100.7" },
        { "10.0.0.0/8",
          "10.1.2.3",
          { "1.1.1.1, 198.51.100.7", "10.9.9.9, 10.8.8.8" },
          "198.51.100.7" },
        /* only proxies: the first of them */
        { "10.0.0.0/8", "10.1.2.3", { "10.7.7.7, 10.8.8.8", "10.9.9.9" }, "10.7.7.7" },
        /* an entry that is no address ends the list: the last trusted entry counts */
        { "10.0.0.0/8", "10.1.2.3", { "unknown" }, "10.1.2.3" },
        { "10.0.0.0/8", "10.1.2.3", { "198.51.100.7, unknown" }, "10.1.2.3" },
        { "10.0.0.0/8", "10.1.2.3", { "198.51.100.7, junk, 10.9.9.9" }, "10.9.9.9" },
        { "10.0.0.0/8", "10.1.2.3", { "198.51.100.7,, 10.9.9.9" }, "10.9.9.9" },
        { "10.0.0.0/8", "10.1.2.3", { "198.51.100.7, 10.9.9.9," }, "10.1.2.3" },
        { "10.0.0.0/8", "10.1.2.3", { "[2001:db8::7" }, "10.1.2.3" },
        { "10.0.0.0/8", "10.1.2.3", { "[2001:db8::7]80" }, "10.1.2.3" },
        { "10.0.0.0/8",
          "10.1.2.3",
          { "198.51.100.7, 11111111111111111111111111111111111111111111111111111111111" },
          "10.1.2.3" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sockaddr_storage memory;
        struct networks trusted;
        char text[CLIENT_TEXT_MAX];
        int count = 0;
        while (count < LINES && cases[i].lines[count]) count++;
        assert_true(networks_read(cases[i].trusted, &trusted));
        const struct client client =
            identity_find(&trusted, peer_of(cases[i].peer, &memory), cases[i].lines, count);
        client_print(&client, text);
        if (strcmp(text, cases[i].client) != 0)
            fail_msg("case %zu: %s, not %s", i, text, cases[i].client);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

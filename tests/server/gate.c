// SPDX-License-Identifier: Apache-2.0
/* The header gate: a table of good and bad requests on the pure function, then the same through
 * libmicrohttpd, with what the library refuses or hides on its own. */
#include "server/http/gate.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* HEADERS: "Name: value" lines ended by \n; the value is everything behind ": ". */
struct request_case {
    const char *version, *target, *headers;
    const char *wrong; /* NULL: accepted; else a part of the sentence */
};

static void build(struct gate_request *request, const char *version, const char *target,
                  const char *headers) {
    *request = (struct gate_request){ .method = "POST", .target = target, .version = version };
    for (const char *line = headers; *line;) {
        const char *end = strchr(line, '\n'), *colon = memchr(line, ':', (size_t)(end - line));
        assert_true(request->header_count < GATE_HEADERS_MAX);
        request->headers[request->header_count++] = (struct gate_header){
            .name = line,
            .name_length = (size_t)(colon - line),
            .value = colon + 2,
            .value_length = (size_t)(end - colon - 2),
        };
        line = end + 1;
    }
}

static const struct request_case cases[] = {
    { "HTTP/1.1", "/", "Host: x\n", NULL },
    { "HTTP/1.1", "/edge?threshold=40&a=%20b", "Host: localhost:8080\n", NULL },
    { "HTTP/1.1", "/", "host: \n", NULL },
    { "HTTP/1.1", "/", "HOST: [::1]:80\n", NULL },
    { "HTTP/1.1", "/", "Host: 127.0.0.1\n", NULL },
    { "HTTP/1.1", "/", "Host: x \t\n", NULL },
    { "HTTP/1.1", "/", "Host: x:\n", NULL },
    { "HTTP/1.0", "/", "", NULL },
    { "HTTP/1.0", "/", "Host: x\nContent-Length: 5\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 0\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 007\n", NULL },
    { "HTTP/1.1", "/", "Host: x\ncontent-length: 9223372036854775807\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked\n", NULL },
    { "HTTP/1.1", "/", "Host: x\ntransfer-encoding: ChUnKeD\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nExpect: 100-Continue\nContent-Length: 1\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nX-Empty: \nX-Tab: a\tb\nX-Latin: \xe4\xff\n", NULL },
    { "HTTP/1.1", "/", "Host: x\n!#$%&'*+-.^_`|~09azAZ: v\n", NULL },

    { "HTTP/1.1", "/", "", "Host is missing" },
    { "HTTP/1.1", "/", "Content-Length: 1\n", "Host is missing" },
    { "HTTP/1.1", "/", "Host: x\nHost: x\n", "more than one Host" },
    { "HTTP/1.1", "/", "Host: x\nhOST: y\n", "more than one Host" },
    { "HTTP/1.0", "/", "Host: x\nHost: x\n", "more than one Host" },
    { "HTTP/1.1", "/", "Host: a b\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a,b\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: u@h\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a/b\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a:8x\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a:1:2\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: :80\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: [::1\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: [x]\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a\x01\n", "control character" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1\nContent-Length: 1\n", "more than one Content" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1\ncontent-length: 2\n", "more than one Content" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: \n", "is empty" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: +1\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: -1\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1, 1\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 0x10\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1 2\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 9223372036854775808\n", "63 bits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 99999999999999999999999\n", "63 bits" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked\nContent-Length: 1\n", "exclude" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1\nTransfer-Encoding: chunked\n", "exclude" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: gzip\n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: gzip, chunked\n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked \n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: \n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: xchunked\n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: \"chunked\"\n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n",
      "more than one Transfer" },
    { "HTTP/1.0", "/", "Transfer-Encoding: chunked\n", "HTTP/1.0 has no" },
    { "HTTP/1.1", "/", "Host: x\nExpect: 200-ok\n", "Expect" },
    { "HTTP/1.1", "/", "Host: x\nExpect: \n", "Expect" },
    { "HTTP/1.1", "/", "Host: x\nX Y: a\n", "name of a header" },
    { "HTTP/1.1", "/", "Host: x\nX : a\n", "name of a header" },
    { "HTTP/1.1", "/", "Host: x\n X: a\n", "name of a header" },
    { "HTTP/1.1", "/", "Host: x\n: a\n", "name of a header" },
    { "HTTP/1.1", "/", "Host: x\nX\xe4: a\n", "name of a header" },
    { "HTTP/1.1", "/", "Host: x\nX(): a\n", "name of a header" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length : 4\n", "name of a header" },
    { "HTTP/1.1", "/", "Host: x\nX: a\rb\n", "X holds a control" },
    { "HTTP/1.1", "/", "Host: x\nX: a\x07\n", "X holds a control" },
    { "HTTP/1.1", "/", "Host: x\nX: \x7f\n", "X holds a control" },
    { "HTTP/1.9", "/", "Host: x\n", "version" },
    { "HTTP/1.10", "/", "Host: x\n", "version" },
    { "HTTP/2.0", "/", "Host: x\n", "version" },
    { "http/1.1", "/", "Host: x\n", "version" },
    { "", "/", "Host: x\n", "version" },
    { "HTTP/1.1", "", "Host: x\n", "target" },
    { "HTTP/1.1", "*", "Host: x\n", "target" },
    { "HTTP/1.1", "http://x/", "Host: x\n", "target" },
    { "HTTP/1.1", "/a b", "Host: x\n", "target" },
    { "HTTP/1.1", "/a\r", "Host: x\n", "target" },
    { "HTTP/1.1", "/a#b", "Host: x\n", "target" },
    { "HTTP/1.1", "/\xc3\xa4", "Host: x\n", "target" },
};

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gate_request request;
        struct gate_facts facts;
        struct failure failure = { 0 };
        build(&request, cases[i].version, cases[i].target, cases[i].headers);
        enum status status = gate_check(&request, &facts, &failure);
        bool right = cases[i].wrong
                         ? status == STATUS_BAD_REQUEST && strstr(failure.message, cases[i].wrong)
                         : status == STATUS_OK;
        if (!right)
            fail_msg("case %zu (%s): %s %s", i, cases[i].headers, status_name(status),
                     failure.message);
    }
}

static void facts_are_told(void **state) {
    (void)state;
    struct gate_request request;
    struct gate_facts facts;
    build(&request, "HTTP/1.1", "/", "Host: x\nContent-Length: 4096\nExpect: 100-continue\n");
    assert_int_equal(gate_check(&request, &facts, NULL), STATUS_OK);
    assert_true(facts.http_1_1 && facts.has_length && facts.expects_continue && !facts.chunked);
    assert_int_equal(facts.length, 4096);
    build(&request, "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked\n");
    assert_int_equal(gate_check(&request, &facts, NULL), STATUS_OK);
    assert_true(facts.chunked && !facts.has_length && !facts.expects_continue);
    build(&request, "HTTP/1.0", "/", "");
    assert_int_equal(gate_check(&request, &facts, NULL), STATUS_OK);
    assert_true(!facts.http_1_1 && !facts.chunked && !facts.has_length && facts.length == 0);
}

static void line_and_flags(void **state) {
    (void)state;
    struct gate_request request;
    struct gate_facts facts;
    const char *bad[] = { "", "G ET", "GET\t", "G\xe4T", "G(T", NULL };
    for (size_t i = 0; i < COUNT(bad); i++) {
        build(&request, "HTTP/1.1", "/", "Host: x\n");
        request.method = bad[i];
        assert_int_equal(gate_check(&request, &facts, NULL), STATUS_BAD_REQUEST);
    }
    build(&request, "HTTP/1.1", NULL, "Host: x\n");
    assert_int_equal(gate_check(&request, &facts, NULL), STATUS_BAD_REQUEST);
    build(&request, NULL, "/", "Host: x\n");
    assert_int_equal(gate_check(&request, &facts, NULL), STATUS_BAD_REQUEST);
    build(&request, "HTTP/1.1", "/", "Host: x\n");
    request.hidden = true;
    assert_int_equal(gate_check(&request, &facts, NULL), STATUS_BAD_REQUEST);
    build(&request, "HTTP/1.1", "/", "Host: x\n");
    request.too_many = true;
    assert_int_equal(gate_check(&request, &facts, NULL), STATUS_BAD_REQUEST);
    build(&request, "HTTP/1.1", "/", "Host: x\n");
    request.headers[0] = (struct gate_header){ "X", "a\0b", 1, 3 };
    assert_int_equal(gate_check(&request, &facts, NULL), STATUS_BAD_REQUEST);
}

static void tokens(void **state) {
    (void)state;
    const char *allowed = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int c = 0; c < 256; c++) {
        char text[1] = { (char)c };
        assert_int_equal(gate_token(text, 1), c != 0 && strchr(allowed, c) != NULL);
    }
    assert_false(gate_token("", 0));
}

/* ---- through libmicrohttpd ---- */

struct exchange {
    char target[512];
    bool judged;
};

static void *begin(void *context, const char *target, struct MHD_Connection *connection) {
    (void)context, (void)connection;
    struct exchange *exchange = calloc(1, sizeof *exchange);
    snprintf(exchange->target, sizeof exchange->target, "%s", target);
    return exchange;
}

static void finish(void *context, struct MHD_Connection *connection, void **exchange,
                   enum MHD_RequestTerminationCode code) {
    (void)context, (void)connection, (void)code;
    free(*exchange);
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned code) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

/* Refuses in the first call, after which the library closes; accepts in the last one, after which
 * it does not. */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **context_of_request) {
    (void)context, (void)url, (void)data;
    struct exchange *exchange = *context_of_request;
    struct gate_request request;
    struct gate_facts facts;
    if (exchange->judged && *size == 0) return reply(connection, 200);
    *size = 0;
    if (exchange->judged) return MHD_YES;
    exchange->judged = true;
    gate_collect(connection, method, exchange->target, version, &request);
    return gate_check(&request, &facts, NULL) ? reply(connection, 400) : MHD_YES;
}

static struct MHD_Daemon *start(int *port) {
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, answer, NULL,
                         MHD_OPTION_URI_LOG_CALLBACK, begin, NULL, MHD_OPTION_NOTIFY_COMPLETED,
                         finish, NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)65536,
                         MHD_OPTION_CONNECTION_TIMEOUT, 5u, MHD_OPTION_END);
    assert_non_null(daemon);
    *port = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    return daemon;
}

static int dial(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* The status code of the last of ANSWERS; STEP bytes a send. */
static int ask(int port, const char *text, size_t length, size_t step, int answers) {
    int fd = dial(port), code = 0;
    char reply[4096] = "";
    size_t got = 0;
    for (size_t at = 0; at < length; at += step)
        if (send(fd, text + at, length - at < step ? length - at : step, MSG_NOSIGNAL) < 0) break;
    struct pollfd wait = { fd, POLLIN, 0 };
    while (got < sizeof reply - 1 && poll(&wait, 1, 3000) > 0) {
        ssize_t n = recv(fd, reply + got, sizeof reply - 1 - got, 0);
        if (n <= 0) break;
        got += (size_t)n;
        int whole = 0;
        for (const char *p = reply; (p = strstr(p, "\r\n\r\n")); p++) whole++;
        if (whole == answers) break;
    }
    close(fd);
    for (const char *p = reply; (p = strstr(p, "HTTP/1.1 ")); p++) code = atoi(p + 9);
    return code;
}

#define LIVE(code, text)                                                                           \
    { text, sizeof text - 1, code, false }
/* What only the places in the buffer of 0.9.75 betray. */
#define HIDDEN(text)                                                                               \
    { text, sizeof text - 1, 400, true }
#define LINE "POST /a?b=%20 HTTP/1.1\r\n"

static const struct live_case {
    const char *text;
    size_t length;
    int code;
    bool hidden;
} live_cases[] = {
    LIVE(200, LINE "Host: x\r\n\r\n"),
    LIVE(200, LINE "Host:x\r\nA:\r\nB:   \r\nC: \t v \t\r\n\r\n"),
    LIVE(200, LINE "Host: x\r\nCookie: a=b; c=d\r\nCookie: e=f\r\n\r\n"),
    LIVE(200, "GET / HTTP/1.0\r\n\r\n"),
    LIVE(200, "\r\nGET / HTTP/1.0\r\n\r\n"),
    LIVE(200, LINE "Host: x\r\nContent-Length: 2\r\n\r\nab"),
    LIVE(200, LINE "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
    LIVE(400, LINE "\r\n"),
    LIVE(400, LINE "Host: x\r\nHost: y\r\n\r\n"),
    LIVE(400, LINE "Host: x\r\nX : y\r\n\r\n"),
    LIVE(400, LINE " Host: x\r\n\r\n"),
    LIVE(400, LINE "Host: x\r\nno colon\r\n\r\n"),
    LIVE(400, LINE "Host: x\r\nX: a\rb\r\n\r\n"),
    LIVE(400, LINE "Host: x\r\nX: a\x07\r\n\r\n"),
    LIVE(400, LINE "Host: x\r\nContent-Length: 2 \r\n\r\nab"),
    LIVE(400, LINE "Host: x\r\nContent-Length: +2\r\n\r\nab"),
    LIVE(400, LINE "Host: x\r\nContent-Length: 9223372036854775808\r\n\r\nab"),
    LIVE(400, LINE "Host: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab"),
    LIVE(400, LINE "Host: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    LIVE(400, LINE "Host: x\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n"),
    LIVE(400, LINE "Host: x\r\nTransfer-Encoding: chunked \r\n\r\n0\r\n\r\n"),
    LIVE(400, "GET / HTTP/1.9\r\nHost: x\r\n\r\n"),
    LIVE(505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
    LIVE(400, "GET / http/1.1\r\nHost: x\r\n\r\n"),
    LIVE(400, "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
    LIVE(400, "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    LIVE(400, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
    LIVE(400, "GET /\rHost: x\r\r HTTP/1.1\r\nHost: x\r\n\r\n"),
    HIDDEN("GET / HTTP/1.1\nHost: x\n\n"),
    HIDDEN("GET / HTTP/1.1\nHost: x\r\n\r\n"),
    HIDDEN(LINE "Host: x\nX: y\r\n\r\n"),
    HIDDEN(LINE "Host: x\r\nX: y\n\r\nGET / HTTP/1.1\r\n"),
    HIDDEN(LINE "Host: x\r\nX: a\0b\r\n\r\n"),
    HIDDEN(LINE "Host: x\0\r\nX: a\r\n\r\n"),
    HIDDEN(LINE "Host: x\r\nX: a\r\n folded\r\n\r\n"),
    HIDDEN(LINE "Host: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    HIDDEN(LINE "Host: x\r\nContent-Length:\r\n\t4\r\nX: y\r\n\r\n"),
    HIDDEN(LINE "Host: x\r\n: nameless\r\n\r\n"),
};

static void live_table(void **state) {
    (void)state;
    int port;
    struct MHD_Daemon *daemon = start(&port);
    bool places = strcmp(MHD_get_version(), "0.9.75") == 0;
    for (size_t i = 0; i < COUNT(live_cases); i++) {
        if (live_cases[i].hidden && !places) continue;
        for (size_t step = 1; step <= 4096; step *= 64) {
            int code = ask(port, live_cases[i].text, live_cases[i].length, step, 1);
            if (code != live_cases[i].code)
                fail_msg("live case %zu in steps of %zu: %d\n%s", i, step, code,
                         live_cases[i].text);
        }
    }
    MHD_stop_daemon(daemon);
}

/* A request of HEADERS headers with values of SIZE bytes; its length. */
static size_t write_request(char *text, size_t room, int headers, int size) {
    static char value[512];
    memset(value, 'v', sizeof value);
    size_t length = (size_t)snprintf(text, room, "%sHost: x\r\n", LINE);
    for (int i = 0; i < headers; i++)
        length += (size_t)snprintf(text + length, room - length, "X: %.*s\r\n", size, value);
    return length + (size_t)snprintf(text + length, room - length, "\r\n");
}

/* Header blocks that make the library's buffer grow, in pieces: none may look like hidden bytes. */
static void live_sizes(void **state) {
    (void)state;
    int port;
    struct MHD_Daemon *daemon = start(&port);
    static char text[80000];
    for (int headers = 0; headers < GATE_HEADERS_MAX; headers += 11)
        for (int size = 0; size <= 440; size += 73) {
            size_t length = write_request(text, sizeof text, headers, size);
            assert_int_equal(ask(port, text, length, 1460, 1), 200);
        }
    size_t length = write_request(text, sizeof text, GATE_HEADERS_MAX, 1);
    assert_int_equal(ask(port, text, length, 4096, 1), 400);
    MHD_stop_daemon(daemon);
}

/* Later requests of a connection stand elsewhere in the buffer. */
static void live_pipeline(void **state) {
    (void)state;
    int port;
    struct MHD_Daemon *daemon = start(&port);
#define KEEP "GET /1 HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n"
    const char good[] = KEEP KEEP "GET /2 HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n";
    const char bad[] = KEEP KEEP "GET /2 HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n";
    for (size_t step = 1; step < sizeof good; step += 7) {
        assert_int_equal(ask(port, good, sizeof good - 1, step, 3), 200);
        assert_int_equal(ask(port, bad, sizeof bad - 1, step, 3), 400);
    }
    MHD_stop_daemon(daemon);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),         cmocka_unit_test(facts_are_told),
        cmocka_unit_test(tokens),        cmocka_unit_test(line_and_flags),
        cmocka_unit_test(live_table),    cmocka_unit_test(live_sizes),
        cmocka_unit_test(live_pipeline),
    };
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}

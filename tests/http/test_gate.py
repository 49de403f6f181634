# SPDX-License-Identifier: Apache-2.0
"""Requests that two parsers could read in two ways: 400 once, the connection closes, and what was hidden
behind them never runs. On raw sockets, for no client library would send them."""
import pytest

from conftest import noise, pnm, responses

LINE = b"POST /histeq HTTP/1.1\r\n"
HOST = b"Host: x\r\n"
PICTURE = pnm(noise(9, 7))
LENGTH = b"Content-Length: %d\r\n" % len(PICTURE)
# Runs, and is counted, if anybody takes it for a request.
SMUGGLED = b"POST /grayscale HTTP/1.1\r\nHost: x\r\n" + LENGTH + b"\r\n" + PICTURE


def request(*headers, line=LINE, body=PICTURE):
    return line + b"".join(headers) + b"\r\n" + body


CASES = {
    # framing
    "TE and CL": request(HOST, LENGTH, b"Transfer-Encoding: chunked\r\n", body=b"0\r\n\r\n"),
    "CL and TE": request(HOST, b"Transfer-Encoding: chunked\r\n", LENGTH, body=b"0\r\n\r\n"),
    "CL 0 and TE": request(HOST, b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", body=b"0\r\n\r\n"),
    "two different CL": request(HOST, LENGTH, b"Content-Length: 5\r\n"),
    "two different CL, short one first": request(HOST, b"Content-Length: 5\r\n", LENGTH),
    "two equal CL": request(HOST, LENGTH, LENGTH),
    "CL beyond 63 bits": request(HOST, b"Content-Length: 9223372036854775808\r\n"),
    "TE gzip": request(HOST, b"Transfer-Encoding: gzip\r\n", body=b"0\r\n\r\n"),
    "TE gzip, chunked": request(HOST, b"Transfer-Encoding: gzip, chunked\r\n", body=b"0\r\n\r\n"),
    "TE chunked, gzip": request(HOST, b"Transfer-Encoding: chunked, gzip\r\n", body=b"0\r\n\r\n"),
    "TE identity": request(HOST, b"Transfer-Encoding: identity\r\n", LENGTH),
    "TE xchunked": request(HOST, b"Transfer-Encoding: xchunked\r\n", body=b"0\r\n\r\n"),
    "TE chunked in quotes": request(HOST, b'Transfer-Encoding: "chunked"\r\n', body=b"0\r\n\r\n"),
    "TE with a blank behind": request(HOST, b"Transfer-Encoding: chunked \r\n", body=b"0\r\n\r\n"),
    "TE with a tab behind": request(HOST, b"Transfer-Encoding: chunked\t\r\n", body=b"0\r\n\r\n"),
    "TE chunked twice": request(HOST, b"Transfer-Encoding: chunked\r\n" * 2, body=b"0\r\n\r\n"),
    "TE chunked, chunked": request(HOST, b"Transfer-Encoding: chunked, chunked\r\n", body=b"0\r\n\r\n"),
    "TE empty": request(HOST, b"Transfer-Encoding:\r\n", body=b"0\r\n\r\n"),
    "TE in HTTP/1.0": request(b"Transfer-Encoding: chunked\r\n", line=b"POST /histeq HTTP/1.0\r\n",
                              body=b"0\r\n\r\n"),
    "TE with a blank before the colon": request(HOST, b"Transfer-Encoding : chunked\r\n", body=b"0\r\n\r\n"),
    "CL with a blank before the colon": request(HOST, b"Content-Length : 5\r\n"),
    "Expect of something else": request(HOST, LENGTH, b"Expect: 200-ok\r\n"),
    # Host
    "no Host": request(LENGTH),
    "no header at all": request(body=b""),
    "two Hosts": request(HOST, b"Host: y\r\n", LENGTH),
    "two equal Hosts": request(HOST, HOST, LENGTH),
    "a list as Host": request(b"Host: x, y\r\n", LENGTH),
    "Host with a user": request(b"Host: u@x\r\n", LENGTH),
    "Host with a path": request(b"Host: x/y\r\n", LENGTH),
    "Host with a port that is none": request(b"Host: x:80a\r\n", LENGTH),
    # bytes that do not belong
    "bell in a value": request(HOST, LENGTH, b"X: a\x07b\r\n"),
    "bare CR in a value": request(HOST, LENGTH, b"X: a\rb\r\n"),
    "bare CR before a header": request(HOST, b"X: a\rContent-Length: 0\r\n", LENGTH),
    "DEL in a value": request(HOST, LENGTH, b"X: \x7f\r\n"),
    "escape in a value": request(HOST, LENGTH, b"X: \x1b[2J\r\n"),
    "folded line": request(HOST, LENGTH, b"X: a\r\n b\r\n"),
    "folded line with a tab": request(HOST, LENGTH, b"X: a\r\n\tb\r\n"),
    "folded TE": request(HOST, b"Transfer-Encoding:\r\n chunked\r\n", body=b"0\r\n\r\n"),
    "blank before the first header": LINE + b" " + HOST + LENGTH + b"\r\n" + PICTURE,
    "NUL in a value": request(HOST, LENGTH, b"X: a\0b\r\n"),
    "bare LF between headers": LINE + b"Host: x\n" + LENGTH + b"\r\n" + PICTURE,
    "bare LF behind the request line": b"POST /histeq HTTP/1.1\n" + HOST + LENGTH + b"\r\n" + PICTURE,
    "blank in a name": request(HOST, LENGTH, b"X Y: a\r\n"),
    "blank before a colon": request(HOST, LENGTH, b"X : a\r\n"),
    "brackets in a name": request(HOST, LENGTH, b"X(): a\r\n"),
    "slash in a name": request(HOST, LENGTH, b"X/Y: a\r\n"),
    "umlaut in a name": request(HOST, LENGTH, b"X\xe4: a\r\n"),
    "no name": request(HOST, LENGTH, b": a\r\n"),
    "101 headers": request(HOST, LENGTH, b"X: a\r\n" * 99),
    # the request line
    "HTTP/1.9": request(HOST, LENGTH, line=b"POST /histeq HTTP/1.9\r\n"),
    "blank in the target": request(HOST, LENGTH, line=b"POST /histeq /x HTTP/1.1\r\n"),
    "whole URL as target": request(HOST, LENGTH, line=b"POST http://x/histeq HTTP/1.1\r\n"),
    "target without a slash": request(HOST, LENGTH, line=b"POST histeq HTTP/1.1\r\n"),
    "fragment": request(HOST, LENGTH, line=b"POST /histeq#a HTTP/1.1\r\n"),
    "raw umlaut in the target": request(HOST, LENGTH, line=b"POST /histeq?\xc3\xa4 HTTP/1.1\r\n"),
    "tab in the target": request(HOST, LENGTH, line=b"POST /histeq?\tx HTTP/1.1\r\n"),
    "method that is no word": request(HOST, LENGTH, line=b"PO(ST /histeq HTTP/1.1\r\n"),
    "asterisk as target": request(HOST, line=b"OPTIONS * HTTP/1.1\r\n", body=b""),
}

# libmicrohttpd judges these before it asks anybody, and may say so twice: server/http/gate.h.
BY_THE_LIBRARY = {
    "CL with a sign": request(HOST, b"Content-Length: +5\r\n"),
    "negative CL": request(HOST, b"Content-Length: -5\r\n"),
    "CL in hexadecimal": request(HOST, b"Content-Length: 0x5\r\n"),
    "CL with a blank behind": request(HOST, b"Content-Length: 5 \r\n"),
    "CL with a blank within": request(HOST, b"Content-Length: 5 5\r\n"),
    "CL of a word": request(HOST, b"Content-Length: five\r\n"),
    "a list as CL": request(HOST, b"Content-Length: 5, 5\r\n"),
    "NUL in a name": request(HOST, LENGTH, b"X\0: a\r\n"),
    "HTTP/1.10": request(HOST, LENGTH, line=b"POST /histeq HTTP/1.10\r\n"),
    "line without a colon": request(HOST, LENGTH, b"nothing\r\n"),
}


def grayscale_runs(daemon):
    return sum(value for name, value in daemon.samples().items()
               if name.startswith('burin_requests_total{op="grayscale"'))


def statuses(data):
    return [status for status, _, _ in responses(data)]


@pytest.mark.parametrize("name", CASES)
def test_refused_once_and_closed(daemon, name):
    before = grayscale_runs(daemon)
    found = responses(daemon.raw(CASES[name] + SMUGGLED))
    assert [status for status, _, _ in found] == [400], found
    _, headers, body = found[0]
    assert headers["connection"] == "close"
    assert headers["content-type"] == "application/problem+json" and b'"message"' in body
    assert grayscale_runs(daemon) == before, "the request behind it has run"
    assert daemon.works()


@pytest.mark.parametrize("name", BY_THE_LIBRARY)
def test_refused_by_the_library(daemon, name):
    before = grayscale_runs(daemon)
    data = daemon.raw(BY_THE_LIBRARY[name] + SMUGGLED)
    assert data.startswith(b"HTTP/1.1 400 ")
    assert data.count(b"HTTP/1.1 ") == data.count(b"HTTP/1.1 400 ") <= 2
    assert grayscale_runs(daemon) == before, "the request behind it has run"
    assert daemon.works()


@pytest.mark.parametrize("data,status", [
    (request(HOST, LENGTH, line=b"POST /histeq HTTP/2.0\r\n"), 505),
    (request(HOST, LENGTH, line=b"POST /histeq HTTP/0.9\r\n"), 505),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    (request(HOST, b"Content-Length: 18446744073709551621\r\n"), 413),
], ids=["HTTP/2.0", "HTTP/0.9", "HTTP/2 preface", "CL beyond 64 bits"])
def test_refused_by_the_library_in_other_ways(daemon, data, status):
    before = grayscale_runs(daemon)
    data = daemon.raw(data + SMUGGLED)
    assert data.startswith(b"HTTP/1.1 %d " % status), data[:300]
    assert data.count(b"HTTP/1.1 ") == data.count(b"HTTP/1.1 %d " % status) <= 2
    assert grayscale_runs(daemon) == before
    assert daemon.works()


@pytest.mark.parametrize("data", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500) + SMUGGLED,
                                  b"GET\r\n\r\n" + SMUGGLED, b"hello there\r\n\r\n" + SMUGGLED,
                                  b"\r\n\r\n\r\n\r\n", bytes(5000)],
                         ids=["TLS", "one word", "no request", "empty lines", "zeros"])
def test_no_http_at_all(daemon, data):
    before = grayscale_runs(daemon)
    with daemon.socket() as s:
        s.sendall(data)
        s.shutdown(1)
        s.settimeout(10)
        answer = b""
        while got := s.recv(65536):
            answer += got
    assert answer.count(b"HTTP/1.1 ") <= 2 and b"HTTP/1.1 200" not in answer
    assert grayscale_runs(daemon) == before
    assert daemon.works()


def test_headers_without_end(daemon):
    """More header bytes than the connection's memory: refused, with nothing kept."""
    line = b"X-Long: " + b"a" * 8000 + b"\r\n"
    data = daemon.raw(LINE + HOST + line * 200)
    assert data[:9] == b"HTTP/1.1 " and data[9:12] in (b"400", b"413", b"431"), data[:200]
    assert data.count(b"HTTP/1.1 ") == 1
    assert daemon.works()


def test_target_too_long(daemon):
    """A target of 4,000 characters is read, one of 100,000 is not."""
    fine = b"POST /histeq?bins=%s16 HTTP/1.1\r\n" % (b"0" * 3900)
    found = responses(daemon.raw(request(HOST, LENGTH, b"Connection: close\r\n", line=fine)))
    assert [status for status, _, _ in found] == [200]
    data = daemon.raw(b"POST /histeq?bins=%s16 HTTP/1.1\r\n" % (b"0" * 100000) + HOST + LENGTH + b"\r\n")
    assert data[9:12] in (b"400", b"414", b"431"), data[:200]
    assert daemon.works()


def test_target_cut_to_its_room_does_not_pass(daemon):
    """The gate sees as much of the target as it has room for; a bad byte behind that must not pass it."""
    line = b"GET /livez?a=%s#x HTTP/1.1\r\n" % (b"0" * 6000)
    status, = statuses(daemon.raw(request(HOST, b"Connection: close\r\n", line=line, body=b"")))
    assert status in (400, 414)
    assert daemon.works()


def test_what_is_good_stays_good(daemon):
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(PICTURE[i:i + 7]), PICTURE[i:i + 7])
                       for i in range(0, len(PICTURE), 7)) + b"0\r\n\r\n"
    close = b"Connection: close\r\n"
    for good in (request(HOST, LENGTH, close),
                 request(b"host:x\r\n", b"CONTENT-LENGTH:%d\r\n" % len(PICTURE), b"connection:close\r\n"),
                 request(b"Host: [::1]:8080\r\n", LENGTH, close),
                 request(b"Host:\r\n", LENGTH, close),
                 request(HOST, b"X-Latin: \xe4\r\nX-Empty:\r\nX-Tab: a\tb\r\nX!#$%&'*+-.^_`|~: y\r\n", LENGTH, close),
                 request(HOST, b"Content-Length: 000%d\r\n" % len(PICTURE), close),
                 request(HOST, b"Transfer-Encoding: chunked\r\n", close, body=chunked),
                 request(HOST, b"transfer-encoding: Chunked\r\n", close,
                         body=chunked.replace(b"0\r\n\r\n", b"0\r\nX-Trailer: a\r\n\r\n")),
                 request(HOST, LENGTH, close, b"X: a\r\n" * 97),
                 request(LENGTH, line=b"POST /histeq HTTP/1.0\r\n"),
                 b"\r\n" + request(HOST, LENGTH, close)):
        found = responses(daemon.raw(good))
        assert [status for status, _, _ in found] == [200], (good[:200], found)
        assert found[0][2].startswith(b"P5")


def test_expect_continue(daemon):
    with daemon.socket() as s:
        s.sendall(request(HOST, LENGTH, b"Expect: 100-continue\r\nConnection: close\r\n", body=b""))
        assert s.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.sendall(PICTURE)
        data = b""
        while got := s.recv(65536):
            data += got
    assert statuses(data) == [200]


def test_expect_continue_is_not_said_to_a_body_too_large(daemon):
    data = daemon.raw(request(HOST, b"Content-Length: 1000000000\r\nExpect: 100-continue\r\n", body=b""))
    assert statuses(data) == [413]
    assert daemon.works()


@pytest.mark.parametrize("step", [1, 61, 1 << 20], ids=lambda s: f"{s} bytes at once")
def test_pipelined_requests_are_answered_in_order(daemon, step):
    """Good ones, refused ones and ones that take a while, all sent before any answer is read."""
    data, expected = b"", []
    for i in range(6):
        picture = pnm(noise(20 + i, 5 + i, seed=i))
        head = b"Host: x\r\nX-Request-ID: %d\r\n"
        data += (b"POST /histeq HTTP/1.1\r\n" + head % (3 * i)
                 + b"Content-Length: %d\r\n\r\n" % len(picture) + picture)
        data += b"GET /livez HTTP/1.1\r\n" + head % (3 * i + 1) + b"\r\n"
        data += (b"POST /histeq?bins=1 HTTP/1.1\r\n" + head % (3 * i + 2)
                 + b"Content-Length: %d\r\n\r\n" % len(picture) + picture)
        expected += [(200, str(3 * i)), (200, str(3 * i + 1)), (400, str(3 * i + 2))]
    data += b"GET /ops HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-ID: last\r\n\r\n"
    with daemon.socket() as s:
        for at in range(0, len(data), step):
            s.sendall(data[at:at + step])
        answer = b""
        while got := s.recv(1 << 16):
            answer += got
    found = responses(answer)
    assert [(status, headers["x-request-id"]) for status, headers, _ in found] == expected + [(200, "last")]
    for i in range(6):
        assert found[3 * i][2].startswith(b"P5\n%d %d\n" % (20 + i, 5 + i))


def test_bad_one_behind_good_ones(daemon):
    """The good ones are answered, the bad one is refused, what follows it is not looked at."""
    good = request(HOST, LENGTH)
    data = daemon.raw(good * 3 + request(HOST, LENGTH, b"X : a\r\n") + SMUGGLED)
    assert statuses(data) == [200, 200, 200, 400]
    assert daemon.works()

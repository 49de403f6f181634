# SPDX-License-Identifier: Apache-2.0
"""Requests that two parsers could read in two ways get one 400, the connection closes, and a request hidden behind them never
runs. Sent on raw sockets, as no client library would send them.

covers: server/http/engine/connection.c server/http/engine/lingering_close.c"""
import json
import socket
import time

import pytest

from conftest import noise, pnm, read_to_end, responses
from request_cases import CASES, HOST, IN_THE_BODY, LENGTH, LINE, PICTURE, SMUGGLED, request


def grayscale_runs(daemon):
    return sum(value for name, value in daemon.samples().items()
               if name.startswith('burin_requests_total{op="grayscale"'))


def statuses(data):
    return [status for status, _, _ in responses(data)]


def refused(daemon, data):
    before = grayscale_runs(daemon)
    found = responses(daemon.raw(data + SMUGGLED))
    assert [status for status, _, _ in found] == [400], found
    _, headers, body = found[0]
    assert headers["connection"] == "close"
    assert headers["content-type"] == "application/problem+json" and b'"message"' in body
    assert grayscale_runs(daemon) == before, "the request behind it has run"
    assert daemon.works()


@pytest.mark.parametrize("name", [*CASES, *IN_THE_BODY])
def test_refused_once_and_closed(daemon, name):
    refused(daemon, {**CASES, **IN_THE_BODY}[name])


@pytest.mark.parametrize("step", [1, 7])
@pytest.mark.parametrize("name", [*CASES, *IN_THE_BODY])
def test_refused_once_in_pieces(daemon, name, step):
    """Their bytes arrive in pieces of every size, behind good requests."""
    data, good = {**CASES, **IN_THE_BODY}[name], request(HOST, LENGTH)
    with daemon.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            s.sendall(good + data[:step])
            for at in range(step, min(len(data), 500), step):
                s.sendall(data[at:at + step])
            s.sendall(data[max(500 // step + 1, 1) * step:])
        except (BrokenPipeError, ConnectionResetError):
            pass  # the answer comes before the end of a malformed body
        answer = b""
        while got := s.recv(1 << 16):
            answer += got
    assert statuses(answer) == [200, 400]


def test_refusal_arrives_whatever_follows(daemon):
    """A client that goes on sending gets all answers, as the connection is not reset."""
    good = request(HOST, b"Content-Length: 240015\r\n", body=b"P5\n600 400\n255\n" + bytes(240000))
    for bad in (CASES["two different CL"], IN_THE_BODY["no size"], request(HOST, LENGTH, b"X : a\r\n")):
        with daemon.socket() as s:
            s.sendall(good * 3 + bad)
            for _ in range(50):
                s.sendall(bytes(20000))
                time.sleep(0.001)
            s.shutdown(socket.SHUT_WR)
            assert statuses(read_to_end(s)) == [200, 200, 200, 400]
    assert daemon.works()


def test_headers_arguments_and_cookies_as_many_as_may_be(daemon):
    """Alone and in a row: the library stores them in the memory of the connection."""
    line = b"POST /histeq?" + b"&".join(b"a%d=b" % i for i in range(64)) + b" HTTP/1.1\r\n"
    good = b"POST /histeq?bins=16 HTTP/1.1\r\n"
    for cookies in (b"cookie: " + b"a=b; " * 3000, b"Cookie: a=" + b"b" * 15000, b"Cookie: " + b",;=" * 5000):
        one = request(HOST, LENGTH, cookies + b"\r\n", line=good)
        assert statuses(daemon.raw(one * 20 + request(HOST, LENGTH, b"Connection: close\r\n", line=good))) == [200] * 21
    full = request(HOST, LENGTH, b"X: a\r\n" * 98, line=line)
    last = request(HOST, LENGTH, b"Connection: close\r\n", b"X: a\r\n" * 97, line=line)
    assert statuses(daemon.raw(full * 10 + last)) == [400] * 11  # the operator refuses a parameter that it does not have


def test_head_in_pieces_counts_from_its_first_byte(daemon):
    with daemon.socket() as s:
        s.sendall(LINE)
        time.sleep(0.3)
        s.sendall(HOST + LENGTH + b"Connection: close\r\nAccept: application/json\r\n\r\n" + PICTURE)
        answer = b""
        while got := s.recv(1 << 16):
            answer += got
    (status, _, body), = responses(answer)
    assert status == 200 and json.loads(body)["ms"]["receive"] > 290


@pytest.mark.parametrize("data,expected", [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500) + SMUGGLED, [400]),
    (b"GET\r\n\r\n" + SMUGGLED, [400]), (b"hello there\r\n\r\n" + SMUGGLED, [400]), (b"\r\n" * 4, []),
    (b"\r\n" * 5, [400]), (bytes(5000), [400])],
    ids=["TLS", "one word", "no request", "four empty lines", "five empty lines", "zeros"])
def test_no_http_at_all(daemon, data, expected):
    """One 400. Up to four empty lines may precede a request: alone they are none."""
    before = grayscale_runs(daemon)
    with daemon.socket() as s:
        s.sendall(data)
        s.shutdown(1)
        s.settimeout(10)
        answer = b""
        while got := s.recv(65536):
            answer += got
    assert statuses(answer) == expected, answer[:200]
    assert grayscale_runs(daemon) == before
    assert daemon.works()


def test_headers_without_end(daemon):
    """More header bytes than the connection's memory are refused, and nothing is kept."""
    line = b"X-Long: " + b"a" * 8000 + b"\r\n"
    (status, _, body), = responses(daemon.raw(LINE + HOST + line * 200))
    assert status == 431 and b"header_bytes" in body
    assert json.loads(body)["code"] == "request_header_fields_too_large"
    assert daemon.works()


@pytest.mark.parametrize("step", [1 << 20, 1000])
@pytest.mark.parametrize("zeros", [16400, 100000])
def test_line_over_header_bytes(daemon, zeros, step):
    """A first line longer than header_bytes alone has a code of its own."""
    line = b"POST /histeq?bins=%s16 HTTP/1.1\r\n" % (b"0" * zeros)
    data = request(HOST, LENGTH, line=line)
    with daemon.socket() as s:
        for at in range(0, len(data), step):
            s.sendall(data[at:at + step])
        (status, headers, body), = responses(read_to_end(s))
    assert status == 414 and json.loads(body)["code"] == "uri_too_long" and b"header_bytes" in body
    assert headers["connection"] == "close"
    assert daemon.works()


@pytest.mark.parametrize("header_bytes,zeros", [("16KiB", 3900), ("16KiB", 8000), ("16KiB", 16100), ("100KiB", 99000)])
def test_target_as_long_as_header_bytes_allows(start, header_bytes, zeros):
    line = b"POST /histeq?bins=%s16 HTTP/1.1\r\n" % (b"0" * zeros)
    daemon = start("--header-bytes", header_bytes)
    assert statuses(daemon.raw(request(HOST, LENGTH, b"Connection: close\r\n", line=line))) == [200]


def test_bad_byte_far_behind_does_not_pass(daemon):
    line = b"GET /livez?a=%s#x HTTP/1.1\r\n" % (b"0" * 6000)
    assert statuses(daemon.raw(request(HOST, b"Connection: close\r\n", line=line, body=b""))) == [400]
    assert daemon.works()


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_whole_urls_as_targets(daemon, step):
    """Only the form of the part before the path is checked (RFC 9112, 3.2.2); in a row, and in pieces."""
    urls = [b"http://x/histeq?bins=16", b"HTTP://127.0.0.1:%d/histeq" % daemon.port, b"https://[::1]:443/histeq",
            b"http://other.example:80/histeq?bins=16"]
    posts = [request(HOST, LENGTH, line=b"POST %s HTTP/1.1\r\n" % url) for url in urls]
    gets = [request(HOST, line=b"GET %s HTTP/1.1\r\n" % url, body=b"")
            for url in (b"http://x/livez", b"http://x", b"http://x?a=b", b"http://x/")]
    data = b"".join(posts + gets) + request(HOST, b"Connection: close\r\n", line=b"GET http://x:/ops HTTP/1.1\r\n", body=b"")
    with daemon.socket() as s:
        for at in range(0, len(data), step):
            s.sendall(data[at:at + step])
        found = responses(read_to_end(s))
    assert [status for status, _, _ in found] == [200] * 9
    plain, = responses(daemon.raw(request(HOST, LENGTH, b"Connection: close\r\n", line=b"POST /histeq?bins=16 HTTP/1.1\r\n")))
    assert found[0][2] == found[3][2] == plain[2]
    assert json.loads(found[4][2]) == {"status": "live"}
    assert found[5][2] == found[6][2] == found[7][2] and json.loads(found[5][2])["name"] == "burin"


def test_a_body_beside_the_library_behind_a_whole_url(daemon):
    """Its head is rewritten in two places before the library parses it."""
    picture = b"P5\n600 400\n255\n" + bytes(240000)
    one = request(HOST, b"Content-Length: %d\r\n" % len(picture), line=b"POST http://x/histeq HTTP/1.1\r\n", body=picture)
    assert statuses(daemon.raw(one + request(HOST, LENGTH, b"Connection: close\r\n"))) == [200, 200]


def test_options_of_the_whole_server(daemon):
    head = request(HOST, line=b"OPTIONS * HTTP/1.1\r\n", body=b"")
    last = request(HOST, b"Connection: close\r\n", line=b"OPTIONS * HTTP/1.1\r\n", body=b"")
    found = responses(daemon.raw(head * 2 + last))
    assert [(status, body) for status, _, body in found] == [(204, b"")] * 3
    assert {headers["allow"] for _, headers, _ in found} == {"GET, HEAD, POST, PUT, OPTIONS"}


def test_extensions_of_chunks(daemon):
    """The daemon knows no extension: well-formed ones are skipped."""
    for extension in (b";a", b";a=b", b';a="b;c\\"d"', b"; a = b ; c", b";a\t=\tb", b";a;b;c=d", b';a=""', b';a="\xe4"'):
        body = b"%x%s\r\n%s\r\n0%s\r\n\r\n" % (len(PICTURE), extension, PICTURE, extension)
        good = request(HOST, b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", body=body)
        assert statuses(daemon.raw(good)) == [200], extension


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


@pytest.mark.parametrize("expected", [b"200-ok", b"100-continue, 200-ok", b"100-continue;q=1", b""])
def test_expectation_of_another_kind(daemon, expected):
    (status, headers, body), = responses(daemon.raw(request(HOST, LENGTH, b"Expect: %s\r\n" % expected) + SMUGGLED))
    assert status == 417 and headers["connection"] == "close"
    assert json.loads(body)["code"] == "expectation_failed" and "100-continue" in json.loads(body)["message"]
    assert daemon.works()


@pytest.mark.parametrize("framing", [b"Content-Length: %d\r\n" % len(PICTURE), b"Content-Length: 3000000\r\n", b"Transfer-Encoding: chunked\r\n"],
                         ids=["small", "large", "chunked"])
@pytest.mark.parametrize("line,status,words", [
    (b"POST /nothing", 404, "/nothing"), (b"DELETE /histeq", 405, "/histeq"), (b"POST /histeq?bins=1", 400, "bins"),
    (b"POST /histeq?bin=16", 400, "bin"), (b"POST /convolve", 400, "taps"), (b"POST /pipeline", 400, "operations is missing"),
    (b"POST /imaginary/fit?width=9", 400, "width and height"), (b"POST /info?bins=16", 400, "bins")])
def test_no_100_for_what_the_head_alone_refuses(daemon, line, status, words, framing):
    """The client gets its refusal at once, in place of the 100, and sends no body."""
    for later in (b"", PICTURE):
        with daemon.socket() as s:
            s.sendall(request(HOST, framing, b"Expect: 100-continue\r\n", line=line + b" HTTP/1.1\r\n", body=b""))
            first = s.recv(1 << 16)
            assert first.startswith(b"HTTP/1.1 %d " % status), first
            if later:
                s.sendall(later)  # the client did not wait
            (_, headers, body), = responses(first + read_to_end(s))
        assert headers["connection"] == "close" and words in json.loads(body)["message"]
    assert daemon.works()


def test_expect_continue_with_a_form(daemon):
    """Its fields may still bring what the query lacks."""
    with daemon.socket() as s:
        s.sendall(request(HOST, LENGTH, b"Content-Type: multipart/form-data; boundary=b\r\nExpect: 100-continue\r\n",
                          line=b"POST /convolve HTTP/1.1\r\n", body=b""))
        assert s.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"


def test_expect_continue_is_not_said_to_a_body_too_large(daemon):
    data = daemon.raw(request(HOST, b"Content-Length: 1000000000\r\nExpect: 100-continue\r\n", body=b""))
    assert statuses(data) == [413]
    assert daemon.works()


@pytest.mark.parametrize("step", [1, 61, 1 << 20], ids=lambda s: f"{s} bytes at once")
def test_pipelined_requests_are_answered_in_order(daemon, step):
    """Good requests, refused ones and slow ones, all sent before any answer is read."""
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
    """The good ones are answered, the bad one is refused, the bytes behind it are not parsed."""
    good = request(HOST, LENGTH)
    data = daemon.raw(good * 3 + request(HOST, LENGTH, b"X : a\r\n") + SMUGGLED)
    assert statuses(data) == [200, 200, 200, 400]
    assert daemon.works()


@pytest.mark.parametrize("target", [b"/livez", b"http://x/livez", b"x:443"])
def test_nothing_follows_a_connect(daemon, target):
    """Bytes behind a CONNECT are for another host."""
    data = daemon.raw(b"CONNECT " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n" + SMUGGLED)
    assert statuses(data) == [400] and b"CONNECT" in data
    assert daemon.works()

# SPDX-License-Identifier: Apache-2.0
"""Answers written directly to the socket, in the middle of a large body that is not used.

covers: server/http/problem.c server/http/request_flow.c server/http/route.c"""
import json
import threading
import time

import pytest

from conftest import noise, pnm, read_to_end, responses

LARGE = 50 << 20  # bytes: within body_bytes_max, and more than the daemon drops to keep the connection


def answer(daemon, method, path, length=LARGE, sent=100000):
    """Announces LENGTH bytes and sends some; returns all that comes until the daemon closes."""
    with daemon.socket() as s:
        s.sendall(b"%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (method, path, length) + bytes(sent))
        return read_to_end(s)


@pytest.mark.parametrize("method,path,allow", [
    (b"DELETE", b"/histeq", "POST, PUT"), (b"GET", b"/pipeline", "POST, PUT"), (b"BREW", b"/info", "POST, PUT"),
    (b"POST", b"/ops", "GET, HEAD"), (b"PUT", b"/livez", "GET, HEAD")])
def test_method_not_allowed_says_which_are(daemon, method, path, allow):
    (status, headers, body), = responses(answer(daemon, method, path))
    assert status == 405 and headers["allow"] == allow
    assert headers["connection"] == "close"
    assert json.loads(body)["code"] == "method_not_allowed"


@pytest.mark.parametrize("path,status", [(b"/histeq", 405), (b"/nothing", 404)])
def test_head_gets_no_body(daemon, path, status):
    """Its Content-Length is that of the body that HEAD leaves out (RFC 9110, 9.3.2)."""
    head, end, rest = answer(daemon, b"HEAD", path).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status) and end
    assert rest == b""
    length, = (int(line.split(b": ")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
    assert length > 100


def test_answers_before_a_refused_body_arrive_whole(daemon):
    """More bytes follow and the client reads late, so the daemon must close the connection without resetting it."""
    image = pnm(noise(600, 700, 3))
    good, refused = (b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path, len(image)) + image
                     for path in (b"/brightness?shift=5", b"/nothing"))
    with daemon.socket() as s:
        sender = threading.Thread(target=s.sendall, args=(good + refused + good,), daemon=True)
        sender.start()
        time.sleep(0.3)
        first, second = responses(read_to_end(s))
        sender.join()
    assert [first[0], second[0]] == [200, 404]
    assert len(first[2]) == len(image)


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_body_that_no_route_wants_is_bounded(start, method):
    """A body that a request does not need is read and dropped, up to body_bytes_max and a little more."""
    daemon = start("--body-bytes-max", str(2 << 20))
    assert daemon.request(method.decode(), "/livez", bytes(2 << 20)).status == 200
    data = answer(daemon, method, b"/livez", 40 << 20, (3 << 20) + 100000)
    assert data.startswith(b"HTTP/1.1 413 "), data[:200]
    assert data.endswith(b"\r\n\r\n") == (method == b"HEAD")
    assert daemon.works()
